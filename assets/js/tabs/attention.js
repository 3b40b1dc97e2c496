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
import { pictureButtons } from "../charts/export.js";
import { isSilenced } from "../core/changes.js";
import { h, isSpecial, numberedOptions, scrollBox, segmented } from "../core/dom.js";
import { joinSentences, t } from "../core/i18n.js";
import { changeDetector, closest, kindPicker, onResize } from "../core/parts.js";
import { argmax, attentionRow, SIDES, state, subscribe, update } from "../core/state.js";

/** @import { Kind, Run, State, View } from "../core/types.d.ts" */
/** @typedef {ReturnType<typeof build>} Parts */

const DRAWINGS = { heatmap, lines: lineDrawing, table: weightTable };
const DRAWING_NAMES = /** @type {State["drawing"][]} */ (Object.keys(DRAWINGS));

/** @param {View} view */
export function mount({ element, signal }) {
  const parts = build(signal);
  const { say, kind, layers, overlay, drawing, heading, large, key, silenced, tip, gridHeading, grid, about } = parts;
  const file = (/** @type {string} */ what) => `${state.kind}-layer-${state.layer + 1}-${what}`;
  const map = h(
    "div",
    { class: "map" },
    heading,
    scrollBox(large),
    key,
    silenced,
    tip,
    pictureButtons(large, () => file(`head-${state.head + 1}`)),
  );
  const small = h(
    "div",
    { class: "kept" },
    gridHeading,
    grid,
    about,
    pictureButtons(grid, () => file("heads")),
  );
  const controls = [kind.element, layers, h("span", { class: "space" }), overlay, drawing.element];
  element.replaceChildren(
    say,
    h(
      "section",
      { class: "card" },
      h("div", { class: "controls" }, controls),
      h("div", { class: "columns" }, map, small),
    ),
  );
  subscribe(element, () => draw(parts));
  // The observer knows the width without another layout of the page.
  const resize = () => {
    const width = large.parentElement?.clientWidth ?? 0;
    if (!width || width === parts.width) return;
    parts.width = width;
    if (state.run) draw(parts);
  };
  if (large.parentElement) onResize(large.parentElement, resize, signal);
  large.addEventListener("click", (event) => {
    const query = closest(event, "[data-query]")?.dataset.query;
    if (query !== undefined && state.kind !== "encoder") update({ step: Number(query) });
  });
}

/** @param {AbortSignal} signal */
function build(signal) {
  const large = h("div", { class: "large" });
  return {
    signal,
    say: h("p", { class: "say", "aria-live": "polite" }),
    kind: kindPicker(),
    drawing: segmented(
      t("attention.how"),
      DRAWING_NAMES.map((name) => [name, t(`attention.${name}`)]),
      (value) => update({ drawing: /** @type {State["drawing"]} */ (value) }),
    ),
    layers: h("span", { class: "pickers" }),
    overlay: h(
      "button",
      { type: "button", class: "pill toggle", id: "gold", onclick: () => update({ gold: !state.gold }) },
      t("attention.gold"),
    ),
    key: h("p", { class: "hint", hidden: true }, t("attention.gold_key")),
    silenced: h("p", { class: "hint", hidden: true }, t("silenced.shown")),
    heading: h("h2"),
    about: h("p", { class: "hint" }),
    large,
    tip: cellTips(large, signal),
    gridHeading: h("h2"),
    grid: h("div", { class: "heads" }),
    width: 0, // of the large map; 0 until its tab has been open
    setLayer: (/** @type {number} */ _layer) => {},
    thumbnails: /** @type {Map<number, SVGElement[]>} */ (new Map()), // by layer, of this run and kind
    isDrawingAhead: false,
    hasNew: {
      layers: changeDetector(),
      thumbnails: changeDetector(),
      grid: changeDetector(),
      head: changeDetector(),
      frame: changeDetector(),
    },
  };
}

/** @param {Parts} parts */
function draw(parts) {
  const { run, kind, layer, head, gold, drawing, step } = state;
  if (parts.hasNew.layers(run.attention[kind].layers)) buildLayers(parts);
  parts.kind.set(kind);
  parts.drawing.set(drawing);
  parts.setLayer(layer);
  const isAligned = kind === "cross" && Boolean(run.reference?.gold);
  parts.overlay.hidden = !isAligned;
  parts.overlay.setAttribute("aria-pressed", String(gold));
  parts.key.hidden = !(isAligned && gold);
  if (parts.hasNew.thumbnails(run, kind, gold)) parts.thumbnails.clear();
  if (parts.hasNew.grid(run, kind, layer, gold)) drawGrid(parts);
  [...parts.grid.children].forEach((each, i) => {
    each.setAttribute("aria-pressed", String(i === head));
  });
  parts.silenced.hidden = !isSilenced(kind, layer, head, run.changes);
  if (!parts.width) return;
  drawAhead(parts);
  const picture = drawLarge(parts);
  const row = kind === "encoder" ? null : step;
  markRow(picture, row);
  parts.say.replaceChildren(...describeMap(row));
  picture.setAttribute("aria-label", parts.say.textContent ?? "");
}

/** @param {Parts} parts */
function buildLayers(parts) {
  const { layers } = state.run.attention[state.kind];
  const layer = segmented(t("layer"), numberedOptions(layers), (value) => update({ layer: Number(value) }));
  parts.layers.replaceChildren(h("span", {}, t("layer")), layer.element);
  parts.setLayer = layer.set;
}

/** @param {Parts} parts */
function drawGrid(parts) {
  const { run, kind, layer } = state;
  parts.gridHeading.textContent = t("attention.all_heads", { layer: layer + 1 });
  parts.grid.replaceChildren(
    ...thumbnailsOf(parts, layer).map((picture, head) =>
      h(
        "button",
        { type: "button", onclick: () => update({ head }) },
        picture,
        h("small", {}, t("head_n", { head: head + 1 })),
      ),
    ),
  );
  parts.about.replaceChildren(...describeKind(run, kind));
}

/** @param {Parts} parts @param {number} layer */
function thumbnailsOf({ thumbnails }, layer) {
  const { run, kind } = state;
  const known = thumbnails.get(layer);
  if (known) return known;
  const drawn = Array.from({ length: run.attention[kind].heads }, (_, head) => thumbnail(kind, layer, head));
  thumbnails.set(layer, drawn);
  return drawn;
}

/**
 * Draw the thumbnails of the other layers while the page has nothing else to do, a layer at a time.
 * @param {Parts} parts
 */
function drawAhead(parts) {
  if (parts.isDrawingAhead) return;
  parts.isDrawingAhead = true;
  const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200)); // Safari has none
  whenIdle(() => {
    parts.isDrawingAhead = false;
    const { layers } = state.run.attention[state.kind];
    const next = Array.from({ length: layers }, (_, layer) => layer).find((layer) => !parts.thumbnails.has(layer));
    if (next === undefined || parts.signal.aborted) return;
    thumbnailsOf(parts, next);
    drawAhead(parts);
  });
}

/** Draw the large map: only its cells where its frame stays. @param {Parts} parts */
function drawLarge({ large, heading, tip, hasNew, width }) {
  const { run, kind, layer, head, drawing, gold } = state;
  const frame = [run, kind, drawing, gold, width];
  if (hasNew.head(...frame, layer, head)) {
    const key = drawing === "lines" ? "attention.axes_lines" : "attention.axes";
    heading.replaceChildren(...mapHeading(kind, layer, head, key));
    tip.hidden = true;
    const isNewFrame = hasNew.frame(...frame);
    if (drawing === "heatmap" && !isNewFrame) repaint(/** @type {SVGElement} */ (large.firstElementChild), layer, head);
    else large.replaceChildren(DRAWINGS[drawing](kind, layer, head, { width, sides: SIDES[kind] }));
  }
  return /** @type {Element} */ (large.firstElementChild);
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
