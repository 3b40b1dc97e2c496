import { around } from "../../../charts/key-order.ts";
import { type Measure, measuresOf, NEEDED, pointedTo, type Shares, sharesOf, whyTable } from "../../../charts/why.ts";
import { contributionShares, fetchContributions } from "../../../state/contributions.ts";
import { findExperiment, openExperiment } from "../../../state/experiments.ts";
import { formatList, formatPercent, joinSentences, nodes, t } from "../../../state/i18n.ts";
import { askAboutRun, askOnce } from "../../../state/server-cache.ts";
import { distinctWord } from "../../../state/words.ts";
import { h, scrollBox, word, wordAt } from "../../../ui/dom.ts";
import { hint, link, rowHeading, table } from "../../../ui/parts.ts";
import { type Choice, type LessonView, orderedQuiz, type Stop } from "../stop.ts";

const MAX_STEPS = 5; // without a gold alignment, around the one in view: a large model takes seconds for each

export const explains: Stop = {
  hides: true,
  headline: ({ run }) => ["argmax_j a_j,  a = ∇, w, ‖w v Wᴼ‖, −Δp", [4, run.output.length, run.source.length]],
  variants: ({ run }) => [!run.reference?.gold && "own"],
  async evidence(view) {
    const { keys, shares } = await fetchShares(view, view.step);
    const links = [...(goldOf(view, view.step) ?? [])];
    const words = keys.map((key) => distinctWord(view.run.source, key));
    const heading = t(`lesson.explains.measures${view.run.reference?.gold ? "" : "_own"}`);
    const gold = links.map((key) => keys.indexOf(key));
    const found = whyTable(words, shares, [...keys.keys()], gold);
    return [h("h4", {}, heading), scrollBox(found)];
  },
  async draw(view) {
    const { run } = view;
    const { judged, measures, right } = await agreement(view);
    const hasGold = Boolean(run.reference?.gold);
    const name = (key: number) => wordAt(run.source, key, "source");
    const names = (keys: number[]) => keys.map((key) => [name(key), " "]);
    const rows = judged.map(({ step, wanted, pointed }) => {
      const found = measures.map((measure) => {
        const key = pointed[measure];
        const isWrong = key === null || !wanted.includes(key);
        return h("td", { class: isWrong ? "wrong" : "" }, key === null ? "–" : name(key));
      });
      const isHere = step === view.step;
      const heading = rowHeading(word(run.output[step], "target"));
      return h("tr", { class: isHere ? "marked" : "" }, heading, h("td", {}, names(wanted)), found);
    });
    const headings = [t(hasGold ? "lesson.align.gold" : "why.removal"), ...measures.map((name) => t(`why.${name}`))];
    const counts = measures.map((name) => h("td", {}, right[name]));
    const foot = h("tfoot", {}, h("tr", {}, rowHeading("Σ"), h("td", {}, judged.length), counts));
    const found = table({ class: "ways two-ways" }, [t("lesson.knows.output"), ...headings], rows, foot);
    const isPointless = judged.some(({ pointed }) => measures.some((measure) => pointed[measure] === null));
    const none = isPointless ? t("lesson.explains.none", { share: formatPercent(NEEDED) }) : "";
    return h("div", {}, scrollBox(found), hint(joinSentences(none, hasGold ? await scored(run.checkpoint) : "")));
  },
  async ask(view) {
    const { judged, measures, right } = await agreement(view);
    const count = judged.length;
    if (!count) {
      const isAlone = view.run.source.filter((token) => token !== "P").length === 1;
      const verdict = t(`lesson.explains.${isAlone ? "one_word" : "nothing"}`);
      return orderedQuiz([{ text: "" }], { count, verdict });
    }
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
    : around(view.step, run.output.length, MAX_STEPS);
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
