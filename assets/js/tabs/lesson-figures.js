// What the stops of the lesson draw, and what its colours mean.

import { describeLargestWeights, heatmap, mapHeading, markRow } from "../charts/attention-map.js";
import { fluidPicture, vectorStrips } from "../charts/vector-strip.js";
import { chip, h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { SIDES } from "../core/state.js";
import { encoderInput } from "./lesson-view.js";

/** @import { Row } from "../charts/vector-strip.js" */
/** @import { Kind, Run, Side } from "../core/types.d.ts" */
/** @import { LessonView } from "./lesson-view.js" */

const SMALL = [18, 44]; // px a cell of the maps of many heads, and of few
const FEW = 4;
const MAX_SHARE = 0.72; // of the screen's height that a map takes

/**
 * What the colours of a figure mean: of strips, or of maps of a kind of attention.
 * @param {"strips" | Kind} what @param {Run} run
 */
export function colourLegend(what, run) {
  const isStrips = what === "strips";
  const [from, to] = isStrips ? ["below", "above"] : ["zero", "one"];
  const isMasked = !isStrips && run.attention[what].allowed.some((row) => row.includes(false));
  return h(
    "p",
    { class: `colours ${isStrips ? "strips" : "map"}` },
    h("span", {}, t(`lesson.colours.${from}`), h("i", { class: "ramp" }), t(`lesson.colours.${to}`)),
    isMasked ? h("span", {}, h("i", { class: "swatch hatched" }), t("masked")) : null,
  );
}

/**
 * @param {LessonView} view @param {Row[]} rows @param {string} label
 * @param {(i: number) => void} [explain] called for a cell
 */
export const strips = (view, rows, label, explain) =>
  fluidPicture((width) => {
    const choose = explain && ((/** @type {string} */ _, /** @type {number} */ i) => explain(i));
    return vectorStrips(rows, { width, label, choose });
  }, view.signal);

/**
 * One of the parts of the input as a row a token.
 * @param {LessonView} view @param {"embedding" | "input"} part @returns {Promise<Row[]>}
 */
export async function tokenRows(view, part) {
  const input = await encoderInput(view);
  return input.tokens.map((/** @type {string} */ label, /** @type {number} */ i) => ({
    label,
    side: "source",
    values: input[part][i],
  }));
}

/** @param {Side} side @param {string[]} words @param {number[]} ids */
export function tokenIds(side, words, ids) {
  const items = words.map((token, i) =>
    h("li", { "data-id": ids[i] }, chip("span", token, side), h("small", {}, ids[i])),
  );
  return h("div", { class: "token-ids" }, h("h4", {}, t(`side.${side}`)), h("ol", {}, items));
}

/**
 * A head's map.
 * @param {LessonView} view @param {Kind} kind @param {number} layer @param {number} head @param {number | null} query
 */
export const map = (view, kind, layer, head, query) => [
  h("h4", {}, mapHeading(kind, layer, head)),
  mapPicture(view, kind, layer, head, query),
];

/**
 * The maps of all heads of a layer of the encoder.
 * @param {LessonView} view
 */
export function headMaps(view) {
  const { heads } = view.run.attention.encoder;
  const figures = Array.from({ length: heads }, (_, head) => {
    const picture = mapPicture(view, "encoder", view.layer, head, null, SMALL[heads > FEW ? 0 : 1]);
    return h("figure", { "data-head": head }, picture, h("small", {}, t("head_n", { head: head + 1 })));
  });
  return h("div", { class: heads > FEW ? "heads many" : "heads" }, figures);
}

/**
 * @param {LessonView} view @param {Kind} kind @param {number} layer @param {number} head @param {number | null} query
 * @param {number} [maxCell] px of a small one's cells
 */
const mapPicture = ({ run, signal }, kind, layer, head, query, maxCell) =>
  fluidPicture((width) => {
    const limits = maxCell ? { maxCell, isOnPaper: true } : { maxHeight: innerHeight * MAX_SHARE };
    const picture = heatmap(kind, layer, head, { width, sides: SIDES[kind], run, ...limits });
    markRow(picture, query);
    picture.setAttribute("aria-label", describeLargestWeights(kind, layer, head, run));
    return picture;
  }, signal);
