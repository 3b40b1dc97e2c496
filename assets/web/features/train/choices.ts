// What the visitor has chosen to train, and what the server plans of it. Both stay when the view is built again.

import type { Problem, TrainingPlan } from "#schema";
import type { RequestOf } from "../../api/client.ts";
import { checkpointFromAddress, models } from "../../api/models.ts";
import { opening } from "../../api/schema.ts";
import { readSession, saveOnLeave } from "../../api/session.ts";
import type { OwnModel } from "../../api/types.ts";
import { t } from "../../state/i18n.ts";
import { state } from "../../state/state.ts";
import { ownPairs, unsettledPairs, untranslated } from "./own-pairs.ts";

export type Value = number | string | boolean | null;
type Settings = { model: Record<string, Value>; training: Record<string, Value>; held_out: number };
type Plan = Pick<TrainingPlan, "problems"> & Partial<TrainingPlan>;

export const { limits, defaults, sentences } = opening.train as any;
export const CORPORA = ["toy", "classroom", "own"];
const SESSION_KEY = "attention-bitte-train";

export const chosen = {
  corpus: "toy",
  name: "",
  watch: { toy: "", classroom: "", own: "" } as Record<string, string>,
  settings: {} as Record<string, Settings>,
};
/** The latest plan, and the question (as text) that it answers. */
export const planned: { plan: Plan | null; question: string } = { plan: null, question: "" };

export const question = () =>
  ({
    name: chosen.name.trim() || t("train.name.default"),
    corpus: chosen.corpus,
    pairs: chosen.corpus === "own" ? ownPairs() : [],
    watch: watched(),
    ...settings(),
  }) as unknown as RequestOf<"plan">;

/** The sentence to watch: one that is to be learned has to have its translation first. */
function watched() {
  const sentence = chosen.watch[chosen.corpus].trim();
  return chosen.corpus === "own" && sentence === untranslated().trim() ? "" : sentence;
}
export const settings = () => chosen.settings[chosen.corpus];

export function presets(): Record<string, Partial<Settings>> {
  const shipped = defaults[chosen.corpus];
  // A learning rate that suits one width is too high for a wider one.
  const scaled = (shipped.training.learning_rate * shipped.model.d_model) / defaults.paper.d_model;
  const learning_rate = Number(scaled.toPrecision(3));
  return { shipped, paper: { model: defaults.paper, training: { ...settings().training, learning_rate } } };
}

export const isStale = () => planned.question !== JSON.stringify(question());

export function problems(): Problem[] {
  const found: Problem[] = [];
  const add = (field: string, key: string, values: object) =>
    found.push({ field, message: { key, values: { ...values }, english: "" } });
  const [count, sentence] = chosen.corpus === "own" ? [unsettledPairs(), untranslated()] : [0, ""];
  if (sentence) add("taught", "train.untranslated", { sentence });
  if (count) add("rows", "train.undecided", { count });
  return [...found, ...(planned.plan?.problems ?? [])];
}

export const messageOf = (name: string) => problems().find(({ field }) => field === name)?.message;

/** The defaults, and over them what a reload finds. Returns whether that was not done before. */
export function restoreChoices() {
  if (chosen.settings.toy) return false;
  const { toy, classroom, own } = defaults;
  Object.assign(chosen, { settings: structuredClone({ toy, classroom, own }) }, readSession(SESSION_KEY));
  const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  if (navigation?.type !== "reload") chosen.corpus = corpusOfPage();
  saveOnLeave(SESSION_KEY, () => chosen);
  return true;
}

function corpusOfPage() {
  const asked = new URLSearchParams(location.search).get("checkpoint");
  const checkpoint = (asked && checkpointFromAddress(asked)) || state.run?.checkpoint;
  const { corpus } = (models()[checkpoint] ?? {}) as Partial<OwnModel>;
  return CORPORA.find((name) => name === (corpus ?? checkpoint)) ?? "toy";
}
