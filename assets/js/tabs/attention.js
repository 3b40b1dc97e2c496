// Attention: every head of a layer small, one large; as heatmap, lines or table. Rows are queries, columns are keys.

import {
  cellTips,
  describeRow,
  heatmap,
  lineDrawing,
  mapHeading,
  markRow,
  paddingMasked,
  repaint,
  thumbnail,
  weightTable,
} from "../charts/attention-map.js";
import { pictureButtons, pictureFrame } from "../charts/export.js";
import { isAblated } from "../core/changes.js";
import { h, isSpecial, namedChoice, scrollBox } from "../core/dom.js";
import { joinSentences, t } from "../core/i18n.js";
import { button, changeDetector, closest, kindPicker, onResize } from "../core/parts.js";
import { argmax, attentionRow, SIDES, state, subscribe, update } from "../core/state.js";
import { headPicker } from "./head-picker.js";

/** @import { Kind, Run, State, View } from "../core/types.d.ts" */

const DRAWINGS = { heatmap, lines: lineDrawing, table: weightTable };
const DRAWING_NAMES = /** @type {State["drawing"][]} */ (Object.keys(DRAWINGS));

/** @param {View} view */
export function mount({ element, signal }) {
  const say = h("p", { class: "say", "aria-live": "polite" });
  const kinds = kindPicker();
  const drawings = namedChoice(t("attention.how"), DRAWING_NAMES, "attention", (drawing) => update({ drawing }));
  const layers = headPicker(["layer"]);
  const overlay = button("pill toggle", t("attention.gold"), () => update({ gold: !state.gold }), { id: "gold" });
  const large = largeMap(signal);
  const small = headGrid(signal);
  let width = 0; // of the large map; 0 until its tab has been open

  function draw() {
    const { run, kind, head, gold, drawing, step } = state;
    kinds.set(kind);
    drawings.set(drawing);
    layers.draw(run.attention[kind]);
    const isAligned = kind === "cross" && Boolean(run.reference?.gold);
    overlay.hidden = !isAligned;
    overlay.setAttribute("aria-pressed", String(gold));
    small.draw(head);
    if (!width) return;
    small.drawAhead();
    const picture = large.draw(width, isAligned && gold);
    const row = kind === "encoder" ? null : step;
    markRow(picture, row);
    say.replaceChildren(...describeMap(row));
    picture.setAttribute("aria-label", say.textContent ?? "");
  }
  const resize = () => {
    const { clientWidth } = large.place;
    if (!clientWidth || clientWidth === width) return;
    width = clientWidth;
    if (state.run) draw();
  };

  const space = h("span", { class: "space" });
  const controls = h("div", { class: "controls" }, kinds.element, layers.element, space, overlay, drawings.element);
  const columns = h("div", { class: "columns" }, large.element, small.element);
  element.replaceChildren(say, h("section", { class: "card" }, controls, columns));
  subscribe(element, draw);
  onResize(large.place, resize, signal);
}

/** @param {string} what */
const fileName = (what) => `${state.kind}-layer-${state.layer + 1}-${what}`;

/** The map of the chosen head. @param {AbortSignal} signal */
function largeMap(signal) {
  const heading = h("h2");
  const large = h("div", { class: "large" });
  const place = scrollBox(large);
  const key = h("p", { class: "hint", hidden: true }, t("attention.gold_key"));
  const silenced = h("p", { class: "hint", hidden: true }, t("silenced.shown"));
  const tip = cellTips(large, signal);
  const buttons = pictureButtons(large, () => fileName(`head-${state.head + 1}`));
  const isNewHead = changeDetector();
  const isNewFrame = changeDetector();
  large.addEventListener("click", (event) => {
    const query = closest(event, "[data-query]")?.dataset.query;
    if (query !== undefined && state.kind !== "encoder") update({ step: Number(query) });
  });
  return {
    element: h("div", { class: "map" }, heading, place, key, silenced, tip, buttons),
    place,
    /** Only its cells are drawn where its frame stays. */
    draw(/** @type {number} */ width, /** @type {boolean} */ hasGold) {
      const { run, kind, layer, head, drawing, gold } = state;
      key.hidden = !hasGold;
      silenced.hidden = !isAblated(kind, layer, head, run.changes);
      const frame = [run, kind, drawing, gold, width];
      if (isNewHead(...frame, layer, head)) {
        const axes = drawing === "lines" ? "attention.axes_lines" : "attention.axes";
        heading.replaceChildren(...mapHeading(kind, layer, head, axes));
        tip.hidden = true;
        const picture = /** @type {SVGElement} */ (large.firstElementChild);
        if (!isNewFrame(...frame) && drawing === "heatmap") repaint(picture, layer, head);
        else large.replaceChildren(DRAWINGS[drawing](kind, layer, head, { width, sides: SIDES[kind] }));
      }
      return /** @type {Element} */ (large.firstElementChild);
    },
  };
}

/** The maps of all heads of a layer. @param {AbortSignal} signal */
function headGrid(signal) {
  const heading = h("h2");
  const grid = h("div", { class: "heads" });
  const about = h("p", { class: "hint" });
  const isNewRun = changeDetector();
  const isNewLayer = changeDetector();
  /** @type {Map<number, SVGElement[]>} */
  const thumbnails = new Map(); // by layer, of this run and kind
  let isDrawingAhead = false;

  function thumbnailsOf(/** @type {number} */ layer) {
    const { run, kind } = state;
    const known = thumbnails.get(layer);
    const drawn = known ?? Array.from({ length: run.attention[kind].heads }, (_, head) => thumbnail(kind, layer, head));
    thumbnails.set(layer, drawn);
    return drawn;
  }
  function draw(/** @type {number} */ chosen) {
    const { run, kind, layer, gold } = state;
    if (isNewRun(run, kind, gold)) thumbnails.clear();
    if (isNewLayer(run, kind, layer, gold)) {
      heading.textContent = t("attention.all_heads", { layer: layer + 1 });
      const buttons = thumbnailsOf(layer).map((picture, head) =>
        button(null, [picture, h("small", {}, t("head_n", { head: head + 1 }))], () => update({ head })),
      );
      grid.replaceChildren(...buttons);
      about.replaceChildren(...describeKind(run, kind));
    }
    [...grid.children].forEach((each, head) => {
      each.setAttribute("aria-pressed", String(head === chosen));
    });
  }
  /** The other layers while the page has nothing else to do, one at a time. */
  function drawAhead() {
    if (isDrawingAhead) return;
    isDrawingAhead = true;
    const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200)); // Safari has none
    whenIdle(() => {
      isDrawingAhead = false;
      const { layers } = state.run.attention[state.kind];
      const next = Array.from({ length: layers }, (_, layer) => layer).find((layer) => !thumbnails.has(layer));
      if (next === undefined || signal.aborted) return;
      thumbnailsOf(next);
      drawAhead();
    });
  }
  return { element: pictureFrame(grid, () => fileName("heads"), [heading, grid, about]), draw, drawAhead };
}

/** What a kind of map shows, as far as it is true of this run. @param {Run} run @param {Kind} kind */
function describeKind(run, kind) {
  const causal = run.attention.decoder.allowed.every((row, query) => row.every((open, key) => open === key <= query));
  if (kind === "decoder" && !causal) return [t("attention.about_changed")];
  const hasMaskedPadding = kind === "encoder" && paddingMasked(run, kind);
  return joinSentences(t(`attention.about.${kind}`), hasMaskedPadding ? t("attention.padding") : "");
}

/**
 * The text alternative of the map: this step's row, or in the encoder the row with the highest weight.
 * @param {number | null} row
 */
function describeMap(row) {
  const { run, kind, layer, head } = state;
  if (row !== null) return describeRow(kind, layer, head, row, run.output[row]);
  const highest = run.attention[kind].queries.map((token, query) =>
    isSpecial(token) ? 0 : Math.max(...attentionRow(kind, layer, head, query)),
  );
  return describeRow(kind, layer, head, argmax(highest), null);
}
