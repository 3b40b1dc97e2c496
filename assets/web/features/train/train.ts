// Train: choose pairs and a network, start, and watch it learn. What outlives a mounting stands in this module, in
// training-stream.ts (the training), replay.ts and own-pairs.ts.

import type { Problem, TrainingPlan } from "#schema";
import { api, isAborted, type RequestOf, reasonOf } from "../../api/client.ts";
import { checkpointFromAddress, models } from "../../api/models.ts";
import { opening, schema } from "../../api/schema.ts";
import { readSession, saveOnLeave } from "../../api/session.ts";
import { isTraining, onTrainingChange, restoreTraining, startTraining, training } from "../../api/training-stream.ts";
import type { OwnModel, View } from "../../api/types.ts";
import { t } from "../../state/i18n.ts";
import { state, subscribe } from "../../state/state.ts";
import { h, namedChoice } from "../../ui/dom.ts";
import { changeDetector, isOpen, onSight } from "../../ui/parts.ts";
import { isStill } from "../../ui/theme.ts";
import { dataCard } from "./data.ts";
import { liveCard } from "./live.ts";
import { ownModelList } from "./own-models.ts";
import { ownPairs, teachSentence, unsettledPairs, untranslated } from "./own-pairs.ts";
import { trainingReplay } from "./replay.ts";
import { type MessageOf, type Settings, settingRow, textBox, trainSettings } from "./settings.ts";
import { startBar } from "./start-bar.ts";

/** The server's plan of a training, or why there is none. */
export type Plan = Pick<TrainingPlan, "problems"> & Partial<TrainingPlan>;

const PAUSE_MS = 250; // after the last change, until the server is asked for a plan of it
const RETRY_MS = 4000;
const CORPORA = ["toy", "classroom", "own"];
const { limits, defaults, sentences } = opening.train as any;
const SESSION_KEY = "attention-bitte-train";

/** The visitor's choices: one of the corpora, and of each the sentence to watch and the settings. */
const chosen = {
  corpus: "toy",
  name: "",
  watch: { toy: "", classroom: "", own: "" } as Record<string, string>,
  settings: {} as Record<string, Settings>,
};
type Front = "data" | "replay";
/** The first view of the large column. */
let first: Front = "data";
/** The latest plan, and the question (as text) that it answers. */
const planned: { plan: Plan | null; question: string } = { plan: null, question: "" };

const question = () =>
  ({
    name: chosen.name.trim() || t("train.name.default"),
    corpus: chosen.corpus,
    pairs: chosen.corpus === "own" ? ownPairs() : [],
    watch: watched(),
    ...settings(),
  }) as unknown as RequestOf<"plan">;

/** The sentence to watch: one that is to be learned has to have its translation first. */
const watched = () => {
  const sentence = chosen.watch[chosen.corpus].trim();
  return chosen.corpus === "own" && sentence === untranslated().trim() ? "" : sentence;
};
const settings = () => chosen.settings[chosen.corpus];

/** Whether the server has not answered yet about what is chosen now. */
const isStale = () => planned.question !== JSON.stringify(question());

/** Why it cannot be started: the server's reasons, and rows that the visitor has not decided about. */
function problems(): Problem[] {
  const found: Problem[] = [];
  const add = (field: string, key: string, values: object) =>
    found.push({ field, message: { key, values: { ...values }, english: "" } });
  const [count, sentence] = chosen.corpus === "own" ? [unsettledPairs(), untranslated()] : [0, ""];
  if (sentence) add("taught", "train.untranslated", { sentence });
  if (count) add("rows", "train.undecided", { count });
  return [...found, ...(planned.plan?.problems ?? [])];
}

/**
 * Open on a sentence that a model is to learn: the visitor writes its translation.
 * @param pairs that are suggested beside it
 */
export function teach(sentence: string, pairs: [string, string][]) {
  restore();
  teachSentence(sentence, pairs);
  chosen.corpus = "own";
  chosen.watch.own = sentence;
  first = "data";
  document.dispatchEvent(new Event("train:taught"));
  setTimeout(() => {
    // By then the tab is open.
    const box = document.querySelector<HTMLElement>('.pairs [data-row="0"][data-column="1"]');
    box?.focus();
    box?.scrollIntoView({ block: "center" });
  });
}

export function mount({ element, signal }: View) {
  restore();
  const live = liveCard(signal);
  const replay = trainingReplay(signal);
  const corpus = corpusPicker(() => {
    picture.bringToFront("data");
    changed();
  });
  const forms = formCard(changed);
  const data = dataCard(limits, settings, changed, () => picture.bringToFront("data"), signal);
  const own = h("section", { class: "card", id: "own-models" }, ownModelList(signal));
  const picture = pictureColumn(data.element, replay.element, own);
  const bar = startBar(begin, limits.seconds);
  const side = h("div", { class: "train-side" }, live.element, corpus.element, forms.element, bar.element);
  const whole = h("div", { class: "train" }, picture.element, side);
  const realNote = h("p", { class: "hint" }, t("train.real"));
  element.replaceChildren(realNote, whole);
  const plan = planner(element, draw, signal);
  const isNewPhase = changeDetector();

  function draw() {
    picture.arrange();
    corpus.set(chosen.corpus);
    forms.draw(messageOf);
    data.draw(chosen.corpus, planned.plan, messageOf);
    bar.draw(planned.plan, problems());
    bar.element.classList.toggle("stale", isStale());
    whole.classList.toggle("unplanned", !planned.plan);
  }
  function drawTraining() {
    picture.arrange();
    live.element.hidden = training.phase === "idle";
    for (const each of [corpus.element, forms.element, data.element]) each.disabled = isTraining();
    live.draw();
    replay.draw();
    bar.draw(planned.plan, problems());
    if (!isNewPhase(training.phase) || isTraining()) return;
    planned.question = ""; // an estimate learns from what has ended
    plan.askSoon();
  }
  function changed() {
    draw();
    plan.askSoon();
  }
  async function begin() {
    if (!(await startChosen(plan, bar))) return;
    picture.bringToFront("replay");
    showTraining(whole, live.element);
  }
  function learnTaught() {
    drawTraining();
    changed();
  }

  subscribe(element, () => {
    realNote.hidden = !state.run.model.pieces;
  });
  onTrainingChange(drawTraining, signal);
  addEventListener("beforeunload", warnOfLoss, { signal });
  document.addEventListener("train:taught", learnTaught, { signal });
  draw();
  drawTraining();
}

/** The error of a field. */
const messageOf = (name: string) => problems().find(({ field }) => field === name)?.message;

/** Start what is chosen; returns whether it could be. */
async function startChosen(plan: ReturnType<typeof planner>, bar: ReturnType<typeof startBar>) {
  await plan.ask(); // about what was changed a moment ago
  if (isTraining() || isStale() || !planned.plan) return false;
  if (problems().length) {
    bar.showFirstProblem();
    return false;
  }
  startTraining(question(), planned.plan.uniform ?? 0);
  return true;
}

/** Scroll to a training that begins. @param whole the columns */
function showTraining(whole: Element, live: Element) {
  const isBeside = getComputedStyle(whole).display === "grid"; // else the columns stand below each other
  const behavior = isStill() ? "auto" : "smooth";
  (isBeside ? whole : live).scrollIntoView({ block: "start", behavior });
}

/** A training ends with the page. */
function warnOfLoss(event: Event) {
  if (isTraining() && training.phase !== "developing") event.preventDefault();
}

/** Once: the defaults, and over them what was chosen before a reload, as far as there still is such a choice. */
function restore() {
  if (chosen.settings.toy) return;
  const { toy, classroom, own } = defaults;
  Object.assign(chosen, overlay({ ...chosen, settings: { toy, classroom, own } }, readSession(SESSION_KEY)));
  if (!CORPORA.includes(chosen.corpus)) chosen.corpus = "toy";
  const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  if (navigation?.type !== "reload") chosen.corpus = corpusOfPage();
  saveOnLeave(SESSION_KEY, () => chosen);
  if (restoreTraining()) first = "replay";
}

/** The corpus of the model that the address names, or that is shown. */
function corpusOfPage() {
  const asked = new URLSearchParams(location.search).get("checkpoint");
  const checkpoint = (asked && checkpointFromAddress(asked)) || state.run.checkpoint;
  const { corpus } = (models()[checkpoint] ?? {}) as Partial<OwnModel>;
  return CORPORA.find((name) => name === (corpus ?? checkpoint)) ?? "toy";
}

const overlay = (usual: any, found: any): any => {
  if (usual === null || typeof usual !== "object") return typeof found === typeof usual ? found : usual;
  return Object.fromEntries(Object.entries(usual).map(([name, value]) => [name, overlay(value, found?.[name])]));
};

/** Asks the server for a plan of what is chosen while the tab is open, and again until it answers. */
function planner(element: HTMLElement, draw: () => void, signal: AbortSignal) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const askIn = (pause: number) => {
    clearTimeout(timer);
    timer = setTimeout(ask, pause);
  };
  async function ask() {
    if (!isStale() || !isOpen(element)) return;
    const text = JSON.stringify(question()); // the settings in it change meanwhile
    const failed = (error: unknown) => ({ problems: [{ field: "", message: reasonOf(error) }] });
    const plan = await api.plan(JSON.parse(text)).catch((error) => (isAborted(error) ? null : failed(error)));
    // The same was asked once more, or something else is chosen by now.
    if (!plan || signal.aborted || text !== JSON.stringify(question())) return;
    const isAnswered = "parameters" in plan;
    Object.assign(planned, { plan, question: isAnswered ? text : "" });
    if (!isAnswered) askIn(RETRY_MS);
    draw();
  }
  onSight(element, ask, signal);
  signal.addEventListener("abort", () => clearTimeout(timer));
  return { ask, askSoon: () => askIn(PAUSE_MS) };
}

function corpusPicker(changed: () => void) {
  const title = t("train.corpus");
  const { element, set } = namedChoice(title, CORPORA, "train.corpus", (name) => {
    chosen.corpus = name;
    changed();
  });
  const legend = h("legend", { class: "visually-hidden" }, title);
  const controls = h("div", { class: "controls" }, h("h2", {}, title), element);
  return { element: h("fieldset", { class: "card forms-head" }, legend, controls), set };
}

/** The settings of a training. */
function formCard(changed: () => void) {
  const form = trainSettings(settings, changed, presets);
  const name = settingRow("name", textBox(limits.name), (text) => {
    chosen.name = text;
    changed();
  });
  const watch = settingRow("watch", textBox(schema.max_sentence), (text) => {
    chosen.watch[chosen.corpus] = text;
    changed();
  });
  const legend = h("legend", { class: "visually-hidden" }, t("train.settings"));
  const rows = h("section", { class: "settings" }, h("h2", {}, t("train.group.this")), name.element, watch.element);
  return {
    element: h("fieldset", { class: "card forms" }, legend, form.element, rows),
    draw(messageOf: MessageOf) {
      const watched = chosen.watch[chosen.corpus];
      form.draw(messageOf);
      name.draw(chosen.name, messageOf("name"), t("train.name.default"));
      watch.draw(watched, messageOf("watch"), (!watched && planned.plan?.watch) || sentences[chosen.corpus]);
    },
  };
}

function presets() {
  const shipped = defaults[chosen.corpus];
  // A learning rate that suits one width is too high for a wider one.
  const scaled = (shipped.training.learning_rate * shipped.model.d_model) / defaults.paper.d_model;
  const learning_rate = Number(scaled.toPrecision(3));
  return { shipped, paper: { model: defaults.paper, training: { ...settings().training, learning_rate } } };
}

/**
 * The large column. The replay of a training stands first in it, unless it only waits, or the visitor is at the data
 * again.
 */
function pictureColumn(data: HTMLElement, replay: HTMLElement, own: HTMLElement) {
  const element = h("div", { class: "train-picture" }, data, replay, own);
  const arrange = () => {
    replay.hidden = ["idle", "waiting"].includes(training.phase);
    const isReplayFirst = !replay.hidden && (isTraining() || first === "replay");
    const order = isReplayFirst ? [replay, own, data] : [data, replay, own];
    if (element.firstElementChild === order[0]) return;
    // The others move around what has the focus, or else it would lose it.
    const focused = order.findIndex((each) => each.contains(document.activeElement));
    const still = Math.max(0, focused);
    order[still].before(...order.slice(0, still));
    order[still].after(...order.slice(still + 1));
  };
  /** Whatever the visitor is at stays where it is on the screen. */
  const bringToFront = (what: Front) => {
    if (first === what) return;
    first = what;
    const { top } = data.getBoundingClientRect();
    arrange();
    if (data.contains(document.activeElement)) scrollBy(0, data.getBoundingClientRect().top - top);
  };
  return { element, arrange, bringToFront };
}
