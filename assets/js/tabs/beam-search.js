// Beam search: the tree of everything that was considered, and the sentences that it chose from, beside greedy's.

import { beamTree, branchPath, highlightPath } from "../charts/beam-tree.js";
import { pictureButtons } from "../charts/export.js";
import { h, isSpecial, scrollBox, segmented, word } from "../core/dom.js";
import { formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { fixed } from "../core/numbers.js";
import { onResize, rowHeading, table } from "../core/parts.js";
import { DECODING_SETTINGS } from "../core/schema.js";
import { state, update } from "../core/state.js";
import { namedSetting, settingSlider } from "./decoding-settings.js";

/** @import { GreedyText, Hypothesis, ShownBeamSearch as Search } from "#schema" */
/** @import { Strategy } from "./decoding.js" */
/** @typedef {ReturnType<typeof build>} Parts */

/** @param {AbortSignal} signal @returns {Strategy} */
export function beamSearch(signal) {
  const parts = build();
  const { width, alpha, treePlace, path, sentences, more } = parts;
  const resize = () => {
    const { clientWidth } = treePlace;
    if (parts.search && clientWidth && Math.abs(clientWidth - parts.drawnWidth) > 1) drawTree(parts, parts.search);
  };
  onResize(treePlace, resize, signal);
  const file = () => `beam-${parts.search?.width}`;
  return {
    asks: "beam",
    controls: [namedSetting("width", width.element), alpha.element],
    figure: [
      h("h2", {}, t("decoding.tree")),
      h("div", { class: "kept" }, treePlace, pictureButtons(treePlace, file)),
      path,
      more,
      h("h2", { class: "later" }, t("decoding.sentences")),
      h(
        "div",
        { class: "kept" },
        sentences,
        pictureButtons(sentences, () => `${file()}-sentences`),
      ),
      h("p", { class: "hint" }, t("decoding.score")),
    ],
    question: () => ({ width: state.width, alpha: state.alpha }),
    drawControls() {
      width.set(state.width);
      alpha.draw();
    },
    draw(/** @type {Search} */ search) {
      parts.search = search;
      drawTree(parts, search);
      more.textContent = search.left_out.some(Boolean) ? t("decoding.left_out") : t("decoding.all_in");
      sentences.replaceChildren(sentenceTable(search, (n) => readPath(parts, search, n)));
    },
    describe: describeSearch,
  };
}

function build() {
  const widths = Array.from({ length: DECODING_SETTINGS.width.max }, (_, i) => String(i + 1));
  return {
    width: segmented(
      t("decoding.set.width"),
      widths.map((each) => [each, each]),
      (value) => update({ width: Number(value) }),
    ),
    alpha: settingSlider("alpha"),
    treePlace: h("div", { class: "scroll tree-place" }),
    path: h("p", { class: "reading" }),
    sentences: scrollBox(),
    more: h("p", { class: "hint" }),
    search: /** @type {Search | null} */ (null),
    drawnWidth: 0,
  };
}

/** @param {Parts} parts @param {Search} search */
function drawTree(parts, search) {
  const { treePlace } = parts;
  parts.drawnWidth = treePlace.clientWidth;
  const hadFocus = treePlace.contains(document.activeElement);
  const { scrollLeft } = treePlace;
  treePlace.replaceChildren(beamTree(search, parts.drawnWidth, (n) => readPath(parts, search, n)));
  treePlace.scrollLeft = scrollLeft;
  if (hadFocus) /** @type {SVGElement | null} */ (treePlace.querySelector("[tabindex='0']"))?.focus();
  readPath(parts, search, null);
}

/**
 * Highlight the path to a branch and say it in words; the chosen one's where none is pointed at (null).
 * @param {Parts} parts @param {Search} search @param {number | null} n
 */
function readPath({ treePlace, path }, search, n) {
  if (treePlace.firstElementChild) highlightPath(treePlace.firstElementChild, search.branches, n);
  path.replaceChildren(...describePath(search, n ?? search.best));
}

/** Tokens without the special ones, as a sentence. @param {string[]} tokens */
export const tokensAsText = (tokens) => sentenceWord(tokens.filter((token) => !isSpecial(token)).join(" "));

/** A sentence of the model; one that ends at once has no word. @param {string} sentence */
export const sentenceWord = (sentence) => (sentence ? word(sentence, "target") : t("decoding.nothing"));

/** A branch's words from the first one on, each with its probability. @param {Search} search @param {number} n */
function describePath({ branches }, n) {
  const { fate, step, log_probability: log } = branches[n];
  const words = branchPath(branches, n).flatMap((each) => [
    " ",
    word(branches[each].token, "target"),
    h("small", {}, ` ${formatPercent(branches[each].probability)}`),
  ]);
  const places = { words: words.slice(1), share: formatPercent(Math.exp(log)), log: fixed(log, 2), count: step + 1 };
  return joinSentences(nodes("decoding.path", places), t(`decoding.fate.${fate}`));
}

/** @param {Search} search @param {(n: number | null) => void} read */
function sentenceTable({ hypotheses, branches, best, greedy }, read) {
  const numbers = (/** @type {Hypothesis | GreedyText} */ each) =>
    [formatPercent(each.probability), fixed(each.log_probability, 2), "score" in each ? fixed(each.score, 2) : "–"].map(
      (text) => h("td", {}, text),
    );
  const tag = (/** @type {string} */ name) => [" ", h("small", { class: "tag" }, t(`decoding.tag.${name}`))];
  const ofGreedy = hypotheses.findIndex((each) => each.text === greedy.text);
  const row = (/** @type {Hypothesis} */ each, /** @type {number} */ i) => {
    const isBest = each.branch === best;
    const marks = [isBest ? tag("chosen") : [], i === ofGreedy ? tag("greedy") : []];
    return h(
      "tr",
      {
        class: isBest ? "marked" : "",
        "data-branch": each.branch,
        "data-score": each.score,
        "data-log": each.log_probability,
        onpointerenter: () => read(each.branch),
        onpointerleave: () => read(null),
      },
      rowHeading([sentenceWord(each.text), ...marks]),
      numbers(each),
    );
  };
  const lost = () =>
    h(
      "tr",
      { class: "lost", "data-log": greedy.log_probability },
      rowHeading([sentenceWord(greedy.text), tag("greedy"), tag("lost")]),
      numbers(greedy),
    );
  const element = table(
    { class: "sentences", "data-count": branches.length },
    ["sentence", "probability", "log", "score"].map((name) => t(`decoding.column.${name}`)),
    [...hypotheses.map(row), ofGreedy < 0 ? lost() : null],
  );
  element.prepend(h("caption", { class: "visually-hidden" }, t("decoding.sentences")));
  return element;
}

/** What the search found, beside greedy. @param {Search} search */
function describeSearch(search) {
  const { text, hypotheses, branches, best, greedy, width } = search;
  const { probability = 0, finished } = hypotheses.find(({ branch }) => branch === best) ?? {};
  const places = {
    beam: sentenceWord(text),
    share: formatPercent(probability),
    greedy: sentenceWord(greedy.text),
    greedy_share: formatPercent(greedy.probability),
    width,
    count: hypotheses.length,
  };
  return joinSentences(
    nodes(`decoding.beam.say_${besideGreedy(search, probability)}`, places),
    greedy.complete ? "" : t("decoding.beam.greedy_unfinished"),
    finished ? "" : t("decoding.beam.unfinished", { steps: branches[best].step + 1 }),
  );
}

/** @param {Search} search @param {number} probability of its sentence */
function besideGreedy({ text, hypotheses, greedy, width }, probability) {
  if (width === 1) return "one";
  if (text === greedy.text) return "same";
  if (probability >= greedy.probability) return "better";
  return hypotheses.some((each) => each.text === greedy.text) ? "penalty" : "lost";
}
