// How well every head does, as a grid of layers and heads.

import type { Child } from "../api/types.ts";
import { formatPercent, t } from "../state/i18n.ts";
import { h } from "../ui/dom.ts";
import { button } from "../ui/parts.ts";
import { contrastClass } from "./map-parts.ts";

export function gridCells(
  { layers, heads }: { layers: number; heads: number },
  heading: (layer: number) => Child,
  cell: (layer: number, head: number) => Child,
): Child[] {
  const every = Array.from({ length: heads }, (_, head) => head);
  const rows = Array.from({ length: layers }, (_, i) => [heading(i), every.map((head) => cell(i, head))]);
  return [axis(t("head")), every.map((head) => axis(head + 1)), rows];
}

const axis = (text: Child) => h("small", { class: "axis" }, text);

/** How much of each head's alignment is right. `name` tells one grid from another. */
export function scoreGrid(scores: number[][], name: string, open: (layer: number, head: number) => void) {
  const cell = (layer: number, head: number) => {
    const score = scores[layer][head];
    const strength = 4 + 96 * score; // % of the hue
    const places = { layer: layer + 1, head: head + 1, share: formatPercent(score) };
    return button(`score ${contrastClass(strength, false)}`, Math.round(100 * score), () => open(layer, head), {
      style: `--score: ${strength.toFixed(1)}%`,
      data: { score, layer, head, place: `${name} ${layer} ${head}` },
      "aria-label": t("heads.score", places),
    });
  };
  const [layers, heads] = [scores.length, scores[0].length];
  const cells = gridCells({ layers, heads }, (layer) => axis(t("layer_n", { layer: layer + 1 })), cell);
  return h("div", { class: "score-grid", style: `--heads: ${heads}` }, cells);
}
