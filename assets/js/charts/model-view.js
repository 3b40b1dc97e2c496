// Every head of every layer at once, as BertViz's model view shows them: rows are layers, columns are heads.

import { h, setChildren } from "../core/dom.js";
import { formatPercent, t } from "../core/i18n.js";
import { button } from "../core/parts.js";
import { argmax, state } from "../core/state.js";
import { thumbnail } from "./attention-map.js";

/** @import { Kind } from "../core/types.d.ts" */

/**
 * @param {Kind} kind @param {number} layer @param {number} head the chosen one
 * @param {(place: { layer: number, head: number }) => void} open
 */
export function modelView(kind, layer, head, open) {
  const { layers, heads } = state.run.attention[kind];
  const numbers = Array.from({ length: heads }, (_, i) => h("small", { class: "head-number" }, i + 1));
  const picture = h("div", { class: "model-view", role: "group", style: `--heads: ${heads}` });
  const rows = Array.from({ length: layers }, (_, ofLayer) => [
    h("small", { class: "layer-number" }, t("layer_n", { layer: ofLayer + 1 })),
    Array.from({ length: heads }, (_, ofHead) => {
      const name = describeHead(kind, ofLayer, ofHead);
      const opens = () => open({ layer: ofLayer, head: ofHead });
      return button(null, thumbnail(kind, ofLayer, ofHead), opens, { "aria-label": name, title: name });
    }),
  ]);
  setChildren(picture, h("span", { class: "layer-number" }), numbers, rows);
  markHead(picture, kind, layer, head);
  return picture;
}

/** @param {Element} picture @param {Kind} kind @param {number} layer @param {number} head */
export function markHead(picture, kind, layer, head) {
  const chosen = layer * state.run.attention[kind].heads + head;
  [...picture.querySelectorAll("button")].forEach((each, i) => {
    each.setAttribute("aria-pressed", String(i === chosen));
  });
}

/** A head, and its strongest link. @param {Kind} kind @param {number} layer @param {number} head */
function describeHead(kind, layer, head) {
  const { heads, queries, keys, values } = state.run.attention[kind];
  const size = queries.length * keys.length;
  const start = (layer * heads + head) * size;
  const at = argmax(values.slice(start, start + size));
  return t("attention.open_head", {
    layer: layer + 1,
    head: head + 1,
    from: queries[Math.floor(at / keys.length)],
    to: keys[at % keys.length],
    share: formatPercent(values[start + at]),
  });
}
