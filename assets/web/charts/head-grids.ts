// Heads in grids: as small maps, or with how well each does.

import type { Child } from "../api/types.ts";
import { range } from "../engine/arrays.ts";
import { formatPercent, t } from "../state/i18n.ts";
import { state, update } from "../state/state.ts";
import { h } from "../ui/dom.ts";
import { button, changeDetectors } from "../ui/parts.ts";
import { type Shown, smallMap } from "./map-canvas.ts";
import { contrastClass } from "./map-parts.ts";

/** On buttons that stay, or else the one with the focus would lose it. */
export function headGrid(choose: (head: number) => void) {
  const element = h("div", { class: "heads" });
  const isNew = changeDetectors();
  let maps: { shown: Shown; repaint: () => void }[] = []; // a new canvas takes longer than to paint one
  const headButton = (head: number) => {
    const name = h("small", {}, t("head_n", { head: head + 1 }));
    return button(null, [h("span", { class: "thumbnail" }), name], () => choose(head));
  };
  function draw({ run, kind, layer, head: chosen }: Shown) {
    const { heads } = run.attention[kind];
    if (isNew("count", heads)) element.replaceChildren(...range(heads).map(headButton));
    const buttons = [...element.children];
    const isPainted = isNew("picture", run, kind, layer, state.gold);
    if (isNew("maps", run, kind)) {
      maps = buttons.map((each, head) => {
        const shown = { run, kind, layer, head };
        const { canvas, repaint } = smallMap(shown);
        each.firstElementChild?.replaceChildren(canvas);
        return { shown, repaint };
      });
    } else if (isPainted)
      for (const { shown, repaint } of maps) {
        shown.layer = layer;
        repaint();
      }
    for (const [head, each] of buttons.entries()) each.ariaPressed = String(head === chosen);
  }
  return { element, draw };
}

type Cell = (layer: number, head: number) => Child;
type Counts = { layers: number; heads: number };

export function gridCells({ layers, heads }: Counts, heading: (layer: number) => Child, cell: Cell): Child[] {
  const rows = range(layers).map((layer) => [heading(layer), range(heads).map((head) => cell(layer, head))]);
  return [axis(t("head")), range(heads).map((head) => axis(head + 1)), rows];
}

const axis = (text: Child) => h("small", { class: "axis" }, text);

export const openCrossHead = (layer: number, head: number) =>
  update({ tab: "attention", kind: "cross", layer, head, averaged: false });

/** How much of each head's alignment is right. `name` tells one grid from another. */
export function scoreGrid(scores: number[][], name: string) {
  const cell = (layer: number, head: number) => {
    const score = scores[layer][head];
    const strength = 4 + 96 * score; // % of the hue
    const places = { layer: layer + 1, head: head + 1, share: formatPercent(score) };
    const attributes = {
      style: `--score: ${strength.toFixed(1)}%`,
      data: { score, layer, head, place: `${name} ${layer} ${head}` },
      "aria-label": t("heads.score", places),
    };
    const open = () => openCrossHead(layer, head);
    return button(`score ${contrastClass(strength, false)}`, Math.round(100 * score), open, attributes);
  };
  const [layers, heads] = [scores.length, scores[0].length];
  const cells = gridCells({ layers, heads }, (layer) => axis(t("layer_n", { layer: layer + 1 })), cell);
  return h("div", { class: "score-grid", style: `--heads: ${heads}` }, cells);
}
