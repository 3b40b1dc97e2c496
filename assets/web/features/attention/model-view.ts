// Every head of every layer at once, as BertViz's model view shows them: rows are layers, columns are heads. A word
// that is pointed at shows what every head attends to from it, or from where it is attended to.

import type { DrawnRun, Kind } from "../../api/types.ts";
import { largestCell } from "../../charts/attention-map.ts";
import { pointInMaps, type Shown, thumbnail } from "../../charts/map-canvas.ts";
import { formatValue, type Word, weightsOfWord } from "../../charts/map-parts.ts";
import { argmax } from "../../engine/arrays.ts";
import { nodes, t } from "../../state/i18n.ts";
import { eachHead, SIDES } from "../../state/state.ts";
import { chip, h, scrollToMiddle, setChildren, word } from "../../ui/dom.ts";
import { button, rove } from "../../ui/parts.ts";

export function modelView({ run, kind, layer, head }: Shown, open: (place: { layer: number; head: number }) => void) {
  const { heads } = run.attention[kind];
  const numbers = Array.from({ length: heads }, (_, i) => h("small", { class: "head-number" }, i + 1));
  const grid = h("div", { class: "model-view", role: "group", style: `--heads: ${heads}` });
  const buttons = eachHead(run.attention[kind], (layer, head) => {
    const name = describeHead({ run, kind, layer, head });
    const opens = () => open({ layer, head });
    return button(null, thumbnail(kind, layer, head, run), opens, { "aria-label": name, title: name });
  });
  const rows = buttons.map((row, i) => [
    h("small", { class: "layer-number" }, t("layer_n", { layer: i + 1 })),
    row.map((each) => h("span", { class: "thumbnail" }, each)),
  ]);
  setChildren(grid, h("span", { class: "layer-number" }), numbers, rows);
  markHead(grid, heads, layer, head);
  const told = h("p", { class: "hint", "aria-live": "polite" }, t("attention.point_at_word"));
  const point = pointer(run, kind, grid, buttons, told);
  return h("div", {}, wordLines(run, kind, point), told, grid);
}

export function markHead(picture: Element, heads: number, layer: number, head: number) {
  const chosen = layer * heads + head;
  const buttons = picture.querySelectorAll(".thumbnail > button");
  for (const [i, each] of buttons.entries()) each.ariaPressed = String(i === chosen);
}

export function markWords(picture: Element, row: number, key: number) {
  for (const each of picture.querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
  for (const name of [`query ${row}`, `key ${key}`]) {
    const marked = picture.querySelector(`[data-word="${name}"]`);
    const line = marked?.closest<HTMLElement>(".word-line");
    if (!marked || !line) continue;
    marked.setAttribute("aria-current", "true");
    scrollToMiddle(line, marked);
  }
}

function describeHead({ run, kind, layer, head }: Shown) {
  const { from, to, value } = largestCell(run, kind, { layer, head });
  const share = formatValue(value, run.attention[kind]);
  return t("attention.open_head", { layer: layer + 1, head: head + 1, from, to, share });
}

function pointer(run: DrawnRun, kind: Kind, grid: HTMLElement, buttons: HTMLElement[][], told: Element) {
  return (word: Word | null) => {
    const found = weightsOfWord(run, kind, word ?? { axis: "query", index: 0 }, [...buttons.keys()]);
    pointInMaps(grid, buttons.flat(), word, found);
    told.replaceChildren(...(word ? describeStrongest(run, kind, word, found) : [t("attention.point_at_word")]));
  };
}

function describeStrongest(run: DrawnRun, kind: Kind, { axis, index }: Word, theirs: ReturnType<typeof weightsOfWord>) {
  const { words, open, weights, most } = theirs;
  const maps = run.attention[kind];
  const { heads } = maps;
  const token = (axis === "query" ? maps.queries : maps.keys)[index];
  const [from, at] = SIDES[kind];
  const [own, other] = axis === "query" ? [from, at] : [at, from];
  if (!open.includes(true)) return [word(token, own), ": ", t("masked")];
  const strongest = argmax(weights.map((each) => Math.max(...each)));
  const found = argmax(weights[strongest]);
  return nodes(most ? `contribution.strongest_${axis}` : `attention.strongest_${axis}`, {
    word: word(token, own),
    other: word(words[found], other),
    share: formatValue(weights[strongest][found], maps),
    layer: Math.floor(strongest / heads) + 1,
    head: (strongest % heads) + 1,
  });
}

// ---- the words ----

/** The words of both axes, a line each: one of them is in the way of Tab, and the arrow keys lead to the others. */
function wordLines(run: DrawnRun, kind: Kind, point: (which: Word | null) => void) {
  const { queries, keys } = run.attention[kind];
  const line = (axis: Word["axis"], tokens: string[], i: 0 | 1) => {
    const side = SIDES[kind][i];
    const name = `${t(`side.${side}`)} ${["↓", "→"][i]}`;
    const words = tokens.map((token, index) =>
      chip("button", token, side, { type: "button", tabindex: index ? -1 : 0, "data-word": `${axis} ${index}` }),
    );
    const place = h("div", { class: "word-line scroll", role: "group", "aria-label": name }, words);
    rove(place, words, (key, at) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
      return by ? (words[at + by] ?? words[at]) : undefined;
    });
    return [h("small", { "aria-hidden": "true" }, name), place];
  };
  const element = h("div", { class: "word-lines" }, line("query", queries, 0), line("key", keys, 1));
  let kept: HTMLElement | null = null; // the word that was clicked
  const show = (target: EventTarget | null) => {
    const pointed = target instanceof Element ? target.closest("[data-word]") : null;
    const [axis, index] = (pointed ?? kept)?.getAttribute("data-word")?.split(" ") ?? [];
    point(axis ? { axis: axis as Word["axis"], index: Number(index) } : null);
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
  return element;
}
