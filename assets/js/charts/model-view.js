// Every head of every layer at once, as BertViz's model view shows them: rows are layers, columns are heads. A word
// that is pointed at shows what every head attends to from it, or from where it is attended to.

import { chip, h, scrollToMiddle, setChildren, word } from "../core/dom.js";
import { formatPercent, nodes, t } from "../core/i18n.js";
import { button } from "../core/parts.js";
import { argmax, SIDES, state } from "../core/state.js";
import { thumbnail } from "./attention-map.js";
import { paintStrip, weightStrip } from "./map-canvas.js";
import { weightsOfWord } from "./map-parts.js";

/** @import { Kind } from "../core/types.d.ts" */
/** @import { Word } from "./map-parts.js" */

/**
 * @param {Kind} kind @param {number} layer @param {number} head the chosen one
 * @param {(place: { layer: number, head: number }) => void} open
 */
export function modelView(kind, layer, head, open) {
  const { layers, heads } = state.run.attention[kind];
  const numbers = Array.from({ length: heads }, (_, i) => h("small", { class: "head-number" }, i + 1));
  const grid = h("div", { class: "model-view", role: "group", style: `--heads: ${heads}` });
  const buttons = Array.from({ length: layers }, (_, ofLayer) =>
    Array.from({ length: heads }, (_, ofHead) => {
      const name = describeHead(kind, ofLayer, ofHead);
      const opens = () => open({ layer: ofLayer, head: ofHead });
      return button(null, thumbnail(kind, ofLayer, ofHead), opens, { "aria-label": name, title: name });
    }),
  );
  const rows = buttons.map((row, i) => [
    h("small", { class: "layer-number" }, t("layer_n", { layer: i + 1 })),
    row.map((each) => h("span", { class: "thumbnail" }, each)),
  ]);
  setChildren(grid, h("span", { class: "layer-number" }), numbers, rows);
  markHead(grid, kind, layer, head);
  const told = h("p", { class: "hint", "aria-live": "polite" }, t("attention.point_at_word"));
  const point = pointer(kind, grid, buttons, told);
  return h("div", {}, wordLines(kind, point), told, grid);
}

/** @param {Element} picture @param {Kind} kind @param {number} layer @param {number} head */
export function markHead(picture, kind, layer, head) {
  const chosen = layer * state.run.attention[kind].heads + head;
  [...picture.querySelectorAll(".thumbnail > button")].forEach((each, i) => {
    each.setAttribute("aria-pressed", String(i === chosen));
  });
}

/**
 * Mark the words of a row and of the key that it attends to most, and scroll their lines to them.
 * @param {Element} picture @param {number} row @param {number} key
 */
export function markWords(picture, row, key) {
  for (const each of picture.querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
  for (const name of [`query ${row}`, `key ${key}`]) {
    const marked = picture.querySelector(`[data-word="${name}"]`);
    const line = /** @type {HTMLElement | null | undefined} */ (marked?.closest(".word-line"));
    if (!marked || !line) continue;
    marked.setAttribute("aria-current", "true");
    scrollToMiddle(line, marked);
  }
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

/**
 * Shows one word's weights in every head, or the whole maps (null). Only the strips are drawn; the maps are veiled by
 * one style, which all of them inherit.
 * @param {Kind} kind @param {HTMLElement} grid @param {HTMLElement[][]} buttons @param {Element} told
 */
function pointer(kind, grid, buttons, told) {
  /** @type {HTMLCanvasElement[]} */
  let strips = [];
  return (/** @type {Word | null} */ which) => {
    grid.classList.toggle("pointed", which !== null);
    for (const strip of strips) strip.hidden = true;
    if (!which) return told.replaceChildren(t("attention.point_at_word"));
    const { axis, index } = which;
    const { words, open, of, count } = weightsOfWord(kind, which);
    const weights = buttons.flatMap((row, layer) => row.map((_, head) => of(layer, head)));
    const isFirst = strips[0]?.width !== words.length;
    if (isFirst) {
      for (const strip of strips) strip.remove();
      strips = weights.map((each) => weightStrip(each, open));
      buttons.flat().forEach((each, i) => {
        each.append(strips[i]);
      });
    } else
      strips.forEach((strip, i) => {
        paintStrip(strip, weights[i], open);
        strip.hidden = false;
      });
    grid.style.setProperty("--way", axis === "query" ? "to bottom" : "to right");
    grid.style.setProperty("--from", `${(100 * index) / count}%`);
    grid.style.setProperty("--to", `${(100 * (index + 1)) / count}%`);
    told.replaceChildren(...describeStrongest(kind, which, words, open, weights));
  };
}

/**
 * Which of all heads has a word's largest weight.
 * @param {Kind} kind @param {Word} which @param {string[]} words of the other axis @param {boolean[]} open
 * @param {number[][]} weights of every head
 */
function describeStrongest(kind, { axis, index }, words, open, weights) {
  const { heads, queries, keys } = state.run.attention[kind];
  const token = (axis === "query" ? queries : keys)[index];
  const [from, at] = SIDES[kind];
  const [own, other] = axis === "query" ? [from, at] : [at, from];
  if (!open.includes(true)) return [word(token, own), ": ", t("masked")];
  const strongest = argmax(weights.map((each) => Math.max(...each)));
  const found = argmax(weights[strongest]);
  return nodes(`attention.strongest_${axis}`, {
    word: word(token, own),
    other: word(words[found], other),
    share: formatPercent(weights[strongest][found]),
    layer: Math.floor(strongest / heads) + 1,
    head: (strongest % heads) + 1,
  });
}

// ---- the words ----

/**
 * The words of both axes, a line each: one of them is in the way of Tab, and the arrow keys lead to the others.
 * @param {Kind} kind @param {(which: Word | null) => void} point
 */
function wordLines(kind, point) {
  const { queries, keys } = state.run.attention[kind];
  const line = (/** @type {Word["axis"]} */ axis, /** @type {string[]} */ tokens, /** @type {0 | 1} */ i) => {
    const side = SIDES[kind][i];
    const name = `${t(`side.${side}`)} ${["↓", "→"][i]}`;
    const words = tokens.map((token, index) =>
      chip("button", token, side, { type: "button", tabindex: index ? -1 : 0, "data-word": `${axis} ${index}` }),
    );
    const place = h("div", { class: "word-line scroll", role: "group", "aria-label": name }, words);
    return [h("small", { "aria-hidden": "true" }, name), place];
  };
  const element = h("div", { class: "word-lines" }, line("query", queries, 0), line("key", keys, 1));
  /** @type {HTMLElement | null} */
  let kept = null; // the word that was clicked
  const show = (/** @type {EventTarget | null} */ target) => {
    const pointed = target instanceof Element ? target.closest("[data-word]") : null;
    const [axis, index] = (pointed ?? kept)?.getAttribute("data-word")?.split(" ") ?? [];
    point(axis ? { axis: /** @type {Word["axis"]} */ (axis), index: Number(index) } : null);
  };
  for (const name of ["pointerover", "focusin"]) element.addEventListener(name, ({ target }) => show(target));
  for (const name of ["pointerleave", "focusout"]) element.addEventListener(name, () => show(null));
  element.addEventListener("click", ({ target }) => {
    const clicked = target instanceof HTMLElement && target.matches("[data-word]") ? target : null;
    if (!clicked) return;
    kept?.removeAttribute("aria-pressed");
    kept = kept === clicked ? null : clicked;
    kept?.setAttribute("aria-pressed", "true");
    show(clicked);
  });
  element.addEventListener("keydown", moveAlong);
  return element;
}

/** The arrow keys lead from a word to its neighbours. @param {KeyboardEvent} event */
function moveAlong(event) {
  const { target, key } = event;
  if (!(target instanceof HTMLElement) || !["ArrowLeft", "ArrowRight"].includes(key)) return;
  event.preventDefault();
  const next = key === "ArrowLeft" ? target.previousElementSibling : target.nextElementSibling;
  if (!(next instanceof HTMLElement)) return;
  target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
