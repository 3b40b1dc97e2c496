// Stops of the lesson: from vectors to words, and what explains a word.

import { around } from "../../../charts/key-order.ts";
import { agreeing, fetchLens, lensTable, readings } from "../../../charts/lens.ts";
import { candidate, comparisonTable, MAX_CANDIDATES } from "../../../charts/outputs.ts";
import { type Measure, measuresOf, pointedTo, type Shares, sharesOf, whyTable } from "../../../charts/why.ts";
import { contributionShares, fetchContributions } from "../../../state/contributions.ts";
import { findExperiment, openExperiment } from "../../../state/experiments.ts";
import { formatList, formatNumber, formatPercent, joinSentences, nodes, t } from "../../../state/i18n.ts";
import { askAboutRun, askOnce } from "../../../state/server-cache.ts";
import { argmax, attentionRow } from "../../../state/state.ts";
import { h, scrollBox, word } from "../../../ui/dom.ts";
import { fixed } from "../../../ui/numbers.ts";
import { hint, link, rowHeading, table } from "../../../ui/parts.ts";
import { type Choice, type LessonView, namedQuiz, orderedQuiz, type Stop, valueQuiz } from "../stop.ts";

export const logits: Stop = {
  hides: true,
  variants: ({ run: { model } }) => [
    model.tied && "tied",
    model.tied_output && "tied_output",
    model.silent.length > 0 && "silent",
  ],
  headline: ({ run }) => [
    run.model.tied_output ? "p = softmax(x E^T + b)" : "p = softmax(x W + b)",
    [1, run.output.length, run.model.d_model],
    [1, run.output.length, run.model.target_words],
  ],
  draw({ run, step }) {
    const shown = run.steps[step].candidates.slice(0, MAX_CANDIDATES);
    const items = shown.map((each) => candidate(each, each.token === run.output[step]));
    return h("ol", { class: "candidates" }, items);
  },
  ask({ run, step }) {
    const [first, second] = run.steps[step].candidates;
    const ratio = first.probability / second.probability;
    const difference = Math.log(ratio); // of their logits
    const places = {
      words: run.model.target_words,
      silent: formatList(run.model.silent.map((token) => word(token, "target"))),
      step: step + 1,
      read: word(run.decoder_input.slice(0, step + 1).join(" "), "target"),
      first: word(first.token, "target"),
      share: formatPercent(first.probability),
      second: word(second.token, "target"),
      second_share: formatPercent(second.probability),
      difference: fixed(difference, 2),
      ratio: about(ratio),
    };
    const wrong = { difference, square: difference ** 2, two: 2 ** difference };
    return valueQuiz("logits", ratio, wrong, places, (value) => t("lesson.logits.times", { times: about(value) }));
  },
};

/** Two digits, which is enough to tell how large a number is. */
const about = (value: number) => formatNumber(Number(value.toPrecision(2)));

export const loop: Stop = {
  hides: true,
  headline: ({ run }) => ["y_t = argmax p(y | S, y_1 … y_{t−1})", [1, "t"], [1, "t", run.model.target_words], [1, 1]],
  variants: ({ run }) => [run.output.length < 2 && "alone", !run.reference && "own"],
  draw: async (view) => {
    const comparison = await divergingRun(view);
    return comparison.mistake === null ? null : scrollBox(comparisonTable(comparison, false));
  },
  async ask(view) {
    const { teacher, free, mistake, recovered: outcome } = await divergingRun(view);
    if (mistake === null) return orderedQuiz([{ text: "" }], { forced: "" });
    const places = {
      step: mistake + 1,
      forced: word(free[mistake].output, "target"),
      right_word: word(teacher[mistake].wanted ?? "", "target"),
      free: word(free.map(({ output }) => output).join(" "), "target"),
      chance: formatPercent(free[mistake].probability),
      recovers: outcome.free ? t("lesson.loop.recovers") : "",
    };
    const right = outcome.teacher ? (outcome.free ? "both" : "only_teacher") : outcome.free ? "only_free" : "neither";
    const names = ["both", "only_teacher", "only_free", "neither"];
    return namedQuiz("loop", names, right, places, (name) => whyNot(name, outcome));
  },
};

function whyNot(name: string, outcome: { teacher: boolean; free: boolean }) {
  const saysTeacher = name === "both" || name === "only_teacher";
  if (saysTeacher !== outcome.teacher) return outcome.teacher ? "teacher" : "astray";
  return outcome.free ? "recovers" : "free";
}

/** Teacher forcing beside free running, after an error that free running does not recover from. */
const divergingRun = ({ run }: LessonView) => askAboutRun("diverging", {}, run);

const MAX_ROWS = 9; // of a long sentence those around the step

export const knows: Stop = {
  hides: true,
  headline: ({ run }) => [
    "p_n = softmax(x_n W + b),  n = 1 … N",
    [run.attention.cross.layers, run.output.length, run.model.d_model],
    [run.attention.cross.layers, run.output.length, run.model.target_words],
  ],
  variants: ({ run }) => [run.model.norm_first && "first"],
  evidence: async (view) => [await lensOf(view, true), attended(view)],
  draw: async (view) => [await lensOf(view, false), attended(view)],
  async ask({ run, step }) {
    const lens = await fetchLens(run);
    const { layers, turn } = readings(lens, run, step);
    const choices = layers.map((each, layer): Choice => {
      const text = t("lesson.knows.after", { layer: layer + 1 });
      if (layer === turn) return { text };
      const isSaid = each.token === run.output[step];
      const why = layer > turn ? "late" : isSaid ? "again" : "other";
      const places = { chosen: layer + 1, said: word(each.token, "target"), share: formatPercent(each.probability) };
      return { text, why: `lesson.knows.why.${why}`, places };
    });
    const before = layers[turn - 1];
    const said = before && nodes("lesson.knows.before", { layer: turn, said: word(before.token, "target") });
    return orderedQuiz(choices, {
      count: run.output.length,
      agree: agreeing(lens, run),
      step: step + 1,
      output: word(run.output[step], "target"),
      layer: turn + 1,
      share: formatPercent(layers[turn].probability),
      before: said ? h("span", {}, said) : t("lesson.knows.at_once"),
    });
  },
};

async function lensOf({ run, step }: LessonView, isAsked: boolean) {
  const steps = around(step, run.output.length, MAX_ROWS);
  return scrollBox(lensTable(run, await fetchLens(run), steps, step, isAsked));
}

function attended({ run, step }: LessonView) {
  const { layers } = run.attention.cross;
  const found = Array.from({ length: layers }, (_, layer) => {
    const weights = attentionRow("cross", layer, null, step, run);
    const key = argmax(weights);
    const places = { layer: layer + 1, key: word(run.source[key], "source"), share: formatPercent(weights[key]) };
    return nodes("lesson.knows.attended", places);
  });
  return hint(nodes("lesson.knows.attends", { found: formatList(found) }));
}

const MAX_JUDGED = 5; // without a gold alignment, around the one in view: a large model takes seconds for each

export const explains: Stop = {
  hides: true,
  headline: ({ run }) => ["argmax_j a_j,  a = ∇, w, ‖w v Wᴼ‖, −Δp", [4, run.output.length, run.source.length]],
  variants: ({ run }) => [!run.reference?.gold && "own"],
  async evidence(view) {
    const { keys, shares } = await fetchShares(view, view.step);
    const links = [...(goldOf(view, view.step) ?? [])];
    const words = keys.map((key) => view.run.source[key]);
    const heading = t(`lesson.explains.measures${view.run.reference?.gold ? "" : "_own"}`);
    const gold = links.map((key) => keys.indexOf(key));
    const found = whyTable(words, shares, [...keys.keys()], gold);
    return [h("h4", {}, heading), scrollBox(found)];
  },
  async draw(view) {
    const { run } = view;
    const { judged, measures, right } = await agreement(view);
    const hasGold = Boolean(run.reference?.gold);
    const names = (keys: number[]) => keys.map((key) => [word(run.source[key], "source"), " "]);
    const rows = judged.map(({ step, wanted, pointed }) => {
      const found = measures.map((measure) => {
        const key = pointed[measure];
        const isWrong = key === null || !wanted.includes(key);
        return h("td", { class: isWrong ? "wrong" : "" }, key === null ? "–" : word(run.source[key], "source"));
      });
      const isHere = step === view.step;
      const heading = rowHeading(word(run.output[step], "target"));
      return h("tr", { class: isHere ? "marked" : "" }, heading, h("td", {}, names(wanted)), found);
    });
    const headings = [t(hasGold ? "lesson.align.gold" : "why.removal"), ...measures.map((name) => t(`why.${name}`))];
    const counts = measures.map((name) => h("td", {}, right[name]));
    const foot = h("tfoot", {}, h("tr", {}, rowHeading("Σ"), h("td", {}, judged.length), counts));
    const found = table({ class: "ways two-ways" }, [t("lesson.knows.output"), ...headings], rows, foot);
    return h("div", {}, scrollBox(found), hint(hasGold ? await scored(run.checkpoint) : ""));
  },
  async ask(view) {
    const { judged, measures, right } = await agreement(view);
    const count = judged.length;
    if (!count) return orderedQuiz([{ text: "" }], { count, verdict: t("lesson.explains.nothing") });
    const most = Math.max(...measures.map((measure) => right[measure]));
    const best = measures.filter((measure) => right[measure] === most);
    const isTie = best.length > 1;
    const choices = measures.map((measure): Choice => {
      const isBest = right[measure] === most;
      const why = isBest ? (isTie ? "tied" : undefined) : "fewer";
      const places = { right: right[measure] };
      return { text: t(`why.${measure}`), why: why && `lesson.explains.why.${why}`, places };
    });
    choices.push({ text: t("lesson.explains.tie"), why: isTie ? undefined : "lesson.explains.why.tie" });
    const counted = measures.map((name) =>
      t("lesson.explains.found", { name: t(`why.${name}`), right: right[name], count }),
    );
    const agreed = t("lesson.explains.agreement", { found: formatList(counted) });
    const verdict = t(`lesson.explains.attention_${best.includes("attention") ? "agrees" : "misleads"}`);
    return orderedQuiz(choices, {
      count,
      verdict: joinSentences(agreed, verdict, best.length === measures.length ? elsewhere(view) : ""),
    });
  },
};

/** From a sentence where all measures agree, a way to one where they differ, if one was found. */
function elsewhere({ run }: LessonView) {
  const found = findExperiment("explains");
  if (!found || found.sentence === run.sentence) return "";
  return nodes("lesson.explains.elsewhere", { sentence: link(found.sentence, () => openExperiment(found, {})) });
}

/** How the measures but masking do on held-out sentences. */
async function scored(checkpoint: string) {
  const found = await askOnce("scored", { checkpoint });
  if (!Object.keys(found.correlation).length) return "";
  const list = (of: "error_rate" | "correlation") =>
    formatList(Object.entries(found[of]).map(([name, score]) => `${t(`why.${name}`)} ${score.toFixed(2)}`));
  const places = { count: found.sentences, rates: list("error_rate"), correlations: list("correlation") };
  return t("lesson.explains.scored", places);
}

const goldOf = ({ run }: LessonView, step: number) => run.reference?.gold?.sure[step];

async function fetchShares({ run, signal }: LessonView, step: number) {
  signal.throwIfAborted(); // a newer question aborts the older one: that of another stop must not be aborted by this one
  const answer = await askAboutRun("why", { step, other: null, words: false }, run);
  const contribution = contributionShares(await fetchContributions(run), step, answer.keys);
  const shares: Shares<Measure> = { ...sharesOf(answer, false), contribution };
  return { keys: answer.keys, shares };
}

/** At how many steps each measure points to a gold word; without gold, to the word whose masking changes most. */
async function agreement(view: LessonView) {
  const { run } = view;
  const hasGold = Boolean(run.reference?.gold);
  const steps = hasGold
    ? [...run.output.keys()].filter((step) => goldOf(view, step)?.length)
    : around(view.step, run.output.length, MAX_JUDGED);
  let measures: Measure[] = [];
  const judged: { step: number; wanted: number[]; pointed: Record<Measure, number | null> }[] = [];
  for (const step of steps) {
    const { keys, shares } = await fetchShares(view, step);
    measures = measuresOf(shares).filter((measure) => hasGold || measure !== "removal");
    const tops = Object.entries(pointedTo(shares)).map(([measure, i]) => [measure, i === null ? null : keys[i]]);
    const pointed = Object.fromEntries(tops) as Record<Measure, number | null>;
    const wanted = hasGold ? (goldOf(view, step) ?? []) : pointed.removal === null ? [] : [pointed.removal];
    if (wanted.length && keys.length > 1) judged.push({ step, wanted: [...wanted], pointed });
  }
  const isRight = (measure: Measure) =>
    judged.filter(({ wanted, pointed }) => wanted.some((each) => each === pointed[measure])).length;
  const right = Object.fromEntries(measures.map((each) => [each, isRight(each)])) as Record<Measure, number>;
  return { judged, measures, right };
}
