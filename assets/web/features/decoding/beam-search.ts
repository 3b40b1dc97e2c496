// Beam search: the tree of everything that was considered, and the sentences that it chose from, beside greedy's.

import type { ShownBeamSearch as Search } from "#schema";
import { DECODING_SETTINGS } from "../../api/schema.ts";
import { formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { baselineRun, state, update } from "../../state/state.ts";
import { experimentLink, explainLikelihood } from "../../ui/describe.ts";
import { type Attributes, h, isSpecial, numberedOptions, scrollBox, segmented, word } from "../../ui/dom.ts";
import { pictureFrame } from "../../ui/export.ts";
import { fixed } from "../../ui/numbers.ts";
import { cells, hint, onResize, rowHeading, table } from "../../ui/parts.ts";
import { beamTree, branchPath, highlightPath } from "./beam-tree.ts";
import type { Strategy } from "./decoding.ts";
import { setting, settingSlider } from "./settings.ts";

const MAX_SPOKEN = 24; // words of a sentence within another one
const LAST_SPOKEN = 4;

export function beamSearch(signal: AbortSignal): Strategy {
  const widths = numberedOptions(DECODING_SETTINGS.width.max);
  const width = segmented(t("decoding.set.width"), widths, (value) => update({ width: Number(value) + 1 }));
  const alpha = settingSlider("alpha");
  const treePlace = h("div", { class: "scroll tree-place" });
  const path = h("p", { class: "reading" });
  const more = hint();
  const sentences = scrollBox();
  let search = null as Search | null;
  let drawnWidth = 0;

  function drawTree() {
    if (!search) return;
    drawnWidth = treePlace.clientWidth;
    const hadFocus = treePlace.contains(document.activeElement);
    const { scrollLeft } = treePlace;
    treePlace.replaceChildren(beamTree(search, drawnWidth, readPath));
    treePlace.scrollLeft = scrollLeft;
    if (hadFocus) treePlace.querySelector<SVGElement>("[tabindex='0']")?.focus();
    readPath(null);
  }
  function readPath(n: number | null) {
    if (!search) return;
    if (treePlace.firstElementChild) highlightPath(treePlace.firstElementChild, search.branches, n);
    path.replaceChildren(...describePath(search, n ?? search.best));
  }
  const isResized = () => treePlace.clientWidth && Math.abs(treePlace.clientWidth - drawnWidth) > 1;
  onResize(treePlace, () => isResized() && drawTree(), signal);

  const file = () => `beam-${search?.width}`;
  return {
    asks: "beam",
    controls: [setting("width", width.element), alpha.element],
    figure: [
      h("h2", {}, t("decoding.tree")),
      pictureFrame(treePlace, file),
      path,
      more,
      h("h2", { class: "later" }, t("decoding.sentences")),
      pictureFrame(sentences, () => `${file()}-sentences`),
      hint(t("decoding.score")),
    ],
    question: () => ({ width: state.width, alpha: state.alpha }),
    drawControls() {
      width.set(state.width - 1);
      alpha.draw();
    },
    draw(found: Search) {
      search = found;
      drawTree();
      more.textContent = t(search.left_out.some(Boolean) ? "decoding.left_out" : "decoding.all_in");
      sentences.replaceChildren(sentenceTable(search, readPath));
    },
    describe: describeSearch,
  };
}

export const tokensAsText = (tokens: string[]) => spokenSentence(tokens.filter((token) => !isSpecial(token)).join(" "));

/** A sentence within another one: a long one without its middle. */
export function spokenSentence(sentence: string) {
  const words = sentence.split(" ");
  if (words.length <= MAX_SPOKEN) return sentenceWord(sentence);
  return sentenceWord([...words.slice(0, MAX_SPOKEN / 2), "…", ...words.slice(-LAST_SPOKEN)].join(" "));
}

export const sentenceWord = (sentence: string) => (sentence ? word(sentence, "target") : t("decoding.nothing"));

function describePath({ branches }: Search, n: number) {
  const { fate, step, log_probability: log } = branches[n];
  const words = branchPath(branches, n).flatMap((each) => [
    " ",
    word(branches[each].token, "target"),
    h("small", {}, ` ${formatPercent(branches[each].probability)}`),
  ]);
  const places = { words: words.slice(1), share: formatPercent(Math.exp(log)), log: fixed(log, 2), count: step + 1 };
  return joinSentences(nodes("decoding.path", places), t(`decoding.fate.${fate}`));
}

function sentenceTable({ hypotheses, branches, best, greedy }: Search, read: (n: number | null) => void) {
  const ofGreedy = hypotheses.findIndex((each) => each.text === greedy.text);
  const rows = hypotheses.map((each, i) => {
    const isBest = each.branch === best;
    const tags = [...(isBest ? ["chosen"] : []), ...(i === ofGreedy ? ["greedy"] : [])];
    return sentenceRow(each, tags, {
      class: isBest ? "marked" : "",
      data: { branch: each.branch, score: each.score },
      onpointerenter: () => read(each.branch),
      onpointerleave: () => read(null),
    });
  });
  if (ofGreedy < 0) rows.push(sentenceRow(greedy, ["greedy", "lost"], { class: "lost" }));
  const headings = ["sentence", "probability", "log", "score"].map((name) => t(`decoding.column.${name}`));
  const element = table({ class: "sentences", "data-count": branches.length }, headings, rows);
  element.prepend(h("caption", { class: "visually-hidden" }, t("decoding.sentences")));
  return element;
}

type Sentence = Search["hypotheses"][number] | Search["greedy"];

function sentenceRow(sentence: Sentence, tags: string[], attributes: Attributes) {
  const { text, probability, log_probability, ...rest } = sentence;
  const score = "score" in rest ? fixed(rest.score, 2) : "–";
  const numbers = cells([formatPercent(probability), fixed(log_probability, 2), score]);
  const marks = tags.map((name) => [" ", h("small", { class: "tag" }, t(`decoding.tag.${name}`))]);
  const heading = rowHeading([sentenceWord(text), ...marks]);
  return h("tr", { "data-log": log_probability, ...attributes }, heading, numbers);
}

function describeSearch(search: Search) {
  const { text, hypotheses, branches, best, greedy, width } = search;
  const { probability = 0, finished } = hypotheses.find(({ branch }) => branch === best) ?? {};
  const places = {
    beam: spokenSentence(text),
    share: formatPercent(probability),
    greedy: spokenSentence(greedy.text),
    greedy_share: formatPercent(greedy.probability),
    width,
    count: hypotheses.length,
  };
  const compared = besideGreedy(search, probability);
  return joinSentences(
    nodes(`decoding.beam.say_${compared}`, places),
    greedy.complete ? "" : t("decoding.beam.greedy_unfinished"),
    finished ? "" : t("decoding.beam.unfinished", { steps: branches[best].step + 1 }),
    compared === "same" ? experimentLink("beam") : "",
    explainLikelihood(baselineRun()),
  );
}

function besideGreedy({ text, hypotheses, greedy, width }: Search, probability: number) {
  if (width === 1) return "one";
  if (text === greedy.text) return "same";
  if (probability >= greedy.probability) return "better";
  return hypotheses.some((each) => each.text === greedy.text) ? "penalty" : "lost";
}
