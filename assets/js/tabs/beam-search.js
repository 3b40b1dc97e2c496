// Beam search: the tree of everything that was tried, and the sentences that it chose from, beside greedy's.

import { labelledChoice, settingSlider } from "./decoding-settings.js";
import { h, isSpecial, scrollBox, segmented, word } from "../core/dom.js";
import { formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { fixed } from "../core/numbers.js";
import { pictureButtons } from "../charts/export.js";
import { DECODING_SETTINGS } from "../core/schema.js";
import { state, update } from "../core/state.js";
import { highlightPath, branchPath, beamTree } from "../charts/beam-tree.js";

export function beamSearch(signal) {
  const widths = Array.from({ length: DECODING_SETTINGS.width.max }, (_, i) => String(i + 1));
  const width = segmented(
    t("roads.set.width"),
    widths.map((each) => [each, each]),
    (value) => update({ width: Number(value) }),
  );
  const alpha = settingSlider("alpha");
  const place = h("div", { class: "scroll tree-place" });
  const reading = h("p", { class: "reading" });
  const table = scrollBox();
  const more = h("p", { class: "hint" });

  let drawn = null;
  let at = 0; // how wide the place was
  const read = (n) => {
    highlightPath(place.firstChild, drawn.branches, n);
    reading.replaceChildren(...aloud(drawn, n ?? drawn.best));
  };
  function picture() {
    at = place.clientWidth;
    const focused = place.contains(document.activeElement);
    const { scrollLeft } = place;
    place.replaceChildren(beamTree(drawn, at, read));
    place.scrollLeft = scrollLeft;
    if (focused) place.querySelector("[tabindex='0']").focus();
    read(null);
  }
  const sized = new ResizeObserver(
    () => drawn && place.clientWidth && Math.abs(place.clientWidth - at) > 1 && picture(),
  );
  sized.observe(place);
  signal.addEventListener("abort", () => sized.disconnect());

  return {
    asks: "beam",
    controls: [labelledChoice("width", width), alpha.element],
    figure: [
      h("h2", {}, t("roads.tree")),
      h(
        "div",
        { class: "kept" },
        place,
        pictureButtons(place, () => `beam-${drawn.width}`),
      ),
      reading,
      more,
      h("h2", { class: "later" }, t("roads.sentences")),
      h(
        "div",
        { class: "kept" },
        table,
        pictureButtons(table, () => `beam-${drawn.width}-sentences`),
      ),
      h("p", { class: "hint" }, t("roads.score")),
    ],
    question: () => ({ width: state.width, alpha: state.alpha }),
    set() {
      width.set(state.width);
      alpha.set();
    },
    draw(said) {
      drawn = said;
      picture();
      more.textContent = said.left_out.some(Boolean) ? t("roads.left_out") : t("roads.all_in");
      table.replaceChildren(sentences(said, read));
    },
    say,
  };
}

/** What was said, without special tokens, as a sentence. */
export const tokensAsText = (tokens) => sentenceWord(tokens.filter((token) => !isSpecial(token)).join(" "));

/** A sentence of the model; one that ends at once has no word. */
export const sentenceWord = (sentence) => (sentence ? word(sentence, "target") : t("roads.nothing"));

/** A branch's words from the first one on, each with its probability. */
function aloud({ branches }, n) {
  const { fate, step, log_probability: log } = branches[n];
  const words = branchPath(branches, n).flatMap((each) => [
    " ",
    word(branches[each].token, "target"),
    h("small", {}, ` ${formatPercent(branches[each].probability)}`),
  ]);
  const so_far = { words: words.slice(1), share: formatPercent(Math.exp(log)), log: fixed(log, 2), count: step + 1 };
  return joinSentences(nodes("roads.path", so_far), t(`roads.fate.${fate}`));
}

function sentences({ hypotheses, branches, best, greedy }, read) {
  const figures = ({ probability, log_probability: log, score }) =>
    [formatPercent(probability), fixed(log, 2), score === undefined ? "–" : fixed(score, 2)].map((each) =>
      h("td", {}, each),
    );
  const tag = (key) => [" ", h("small", { class: "tag" }, t(key))];
  const found = hypotheses.some((each) => each.text === greedy.text);
  const rows = hypotheses.map((each, i) => {
    const same = each.text === greedy.text && hypotheses.findIndex((one) => one.text === greedy.text) === i;
    const marks = [each.branch === best ? tag("roads.tag.chosen") : [], same ? tag("roads.tag.greedy") : []];
    const attributes = {
      class: each.branch === best ? "marked" : "",
      "data-branch": each.branch,
      "data-score": each.score,
      "data-log": each.log_probability,
    };
    return h(
      "tr",
      { ...attributes, onpointerenter: () => read(each.branch), onpointerleave: () => read(null) },
      h("th", { scope: "row" }, sentenceWord(each.text), marks),
      figures(each),
    );
  });
  if (!found)
    rows.push(
      h(
        "tr",
        { class: "lost", "data-log": greedy.log_probability },
        h("th", { scope: "row" }, sentenceWord(greedy.text), tag("roads.tag.greedy"), tag("roads.tag.lost")),
        figures(greedy),
      ),
    );
  const head = ["sentence", "probability", "log", "score"].map((name) =>
    h("th", { scope: "col" }, t(`roads.column.${name}`)),
  );
  const caption = h("caption", { class: "visually-hidden" }, t("roads.sentences"));
  return h(
    "table",
    { class: "sentences", "data-count": branches.length },
    caption,
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, rows),
  );
}

/** What the search found, beside greedy. */
function say({ text: found, hypotheses, branches, best, greedy, width }) {
  const { probability, finished } = hypotheses.find(({ branch }) => branch === best);
  const places = {
    beam: sentenceWord(found),
    share: formatPercent(probability),
    greedy: sentenceWord(greedy.text),
    greedy_share: formatPercent(greedy.probability),
    width,
    count: hypotheses.length,
  };
  const kept = hypotheses.some((each) => each.text === greedy.text);
  const key =
    width === 1
      ? "one"
      : found === greedy.text
        ? "same"
        : probability >= greedy.probability
          ? "better"
          : kept
            ? "penalty"
            : "lost";
  return joinSentences(
    nodes(`roads.beam.say_${key}`, places),
    greedy.complete ? "" : t("roads.beam.greedy_unfinished"),
    finished ? "" : t("roads.beam.unfinished", { steps: branches[best].step + 1 }),
  );
}
