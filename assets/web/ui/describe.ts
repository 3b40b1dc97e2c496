// A change of the run, a model, a probability and an experiment, in words.

import { modelName, models } from "../api/models.ts";
import { opening } from "../api/schema.ts";
import type { Change, ChangeOf, Places, Run } from "../api/types.ts";
import { findExperiment, openExperiment } from "../state/experiments.ts";
import { formatBytes, formatLanguages, formatList, formatPercent, joinSentences, nodes, t } from "../state/i18n.ts";
import { baselineRun, likelihood, SIDES, SUBLAYERS, state } from "../state/state.ts";
import { tokenRun } from "../state/words.ts";
import { h, word, wordAt } from "./dom.ts";
import { link } from "./parts.ts";

export function describeChange(change: Change, run: Run = tokenRun(state.run)) {
  const fields = change as unknown as Places & Partial<Record<"kind" | "stack", string>>;
  const places = { ...fields };
  for (const name of ["layer", "head", "step", "position"]) if (name in fields) places[name] = Number(fields[name]) + 1;
  if (fields.kind) places.kind = t(`change.of.${fields.kind}`);
  if (fields.stack) places.stack = t(`change.of.${fields.stack}`);
  if (change.do === "drop_residual")
    places.sublayer = t(`panel.residuals.${SUBLAYERS[change.stack][change.sublayer - 1]}`);
  if (change.do === "isolate") places.heads = formatList(change.heads.map((head) => t("head_n", { head: head + 1 })));
  if (change.do === "edit_mask") Object.assign(places, cellTokens(change, run));
  if ("word" in change) places.word = word(change.word, change.do === "swap_word" ? "source" : "target");
  if (change.do === "temperature") places.temperature = String(change.temperature);
  return nodes(textOf(change), places);
}

/** Says where a page without a server has one. */
export function describeServer() {
  const address = opening.site?.page;
  const page = address && h("a", { class: "link", href: address, target: "_blank", rel: "noopener" }, address);
  const command = h("code", {}, "make demo");
  return joinSentences(page && nodes("site.page", { page }), nodes("site.own", { command }));
}

function textOf(change: Change) {
  if (change.do === "remove_mask") return `change.remove_mask.${change.kind}`;
  if (change.do === "edit_mask") return `change.edit_mask.${change.allowed ? "open" : "closed"}`;
  if (change.do === "force_word" && opening.drawn?.includes(change.step)) return "change.drawn_word";
  return change.do === "positions" ? `change.positions.${change.how}` : `change.${change.do}`;
}

function cellTokens({ kind, query, key }: ChangeOf<"edit_mask">, run: Run) {
  const { queries, keys } = run.attention[kind];
  const token = (tokens: string[], i: number, side: 0 | 1) =>
    i < tokens.length ? wordAt(tokens, i, SIDES[kind][side]) : String(i + 1);
  return { from: token(queries, query, 0), at: token(keys, key, 1) };
}

export function describeModel(checkpoint: string) {
  const { sentences, real } = models()[checkpoint];
  if (!real) return t("header.model_size", { name: modelName(checkpoint), sentences });
  const facts = [formatLanguages(real.languages), modelName(checkpoint), real.size ? formatBytes(real.size) : ""];
  return [...facts, real.licence].filter(Boolean).join(" · ");
}

const CERTAIN = 0.9; // of a whole sentence: needs no explanation

/** The probability of a correct sentence as a product, and what keeps its factors below 1. */
export function explainLikelihood(run: Run) {
  const whole = likelihood(run);
  if (!run.reference?.same || whole > CERTAIN) return [];
  const count = run.steps.length;
  const smoothing = models()[run.checkpoint]?.label_smoothing ?? 0;
  const limit = 1 - smoothing + smoothing / run.model.target_words;
  const places = { count, mean: formatPercent(whole ** (1 / count)), whole: formatPercent(whole) };
  const spread = { spread: formatPercent(smoothing), limit: formatPercent(limit) };
  return joinSentences(nodes("likelihood.product", places), smoothing ? nodes("likelihood.smoothing", spread) : "");
}

/** A way from a run in which nothing changes to a sentence where it does, if one was found and is not shown. */
export function experimentLink(name: string) {
  const experiment = findExperiment(name);
  const { checkpoint, sentence } = baselineRun();
  if (!experiment) return "";
  const { step, word: forced } = (experiment.settings ?? {}) as { step?: number; word?: string };
  const isForced = forced !== undefined; // this sentence has other words to force
  if (experiment.sentence === sentence && experiment.checkpoint === checkpoint && !isForced) return "";
  const error = isForced ? [{ do: "force_word", step, word: forced }] : [];
  const changes = [...(experiment.changes ?? []), ...error] as unknown as Change[];
  const what = changes.flatMap((change) => [...describeChange(change), " · "]);
  const open = link([...what, word(experiment.sentence, "source")], () => openExperiment(experiment, {}));
  return nodes("whatif.shows", { sentence: open });
}
