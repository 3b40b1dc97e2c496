// How well every head does, as a grid of layers and heads.

import { formatPercent, t } from "../state/i18n.ts";
import { h } from "../ui/dom.ts";
import { button } from "../ui/parts.ts";
import { contrastClass } from "./map-parts.ts";

/** Layers × heads: how much of each head's alignment is right. `name` tells one grid from another. */
export function scoreGrid(scores: number[][], name: string, open: (layer: number, head: number) => void) {
  const axis = (text: string) => h("small", { class: "axis" }, text);
  const score = (layer: number, head: number, value: number) => {
    const strength = 4 + 96 * value; // % of the hue
    const places = { layer: layer + 1, head: head + 1, share: formatPercent(value) };
    return button(`score ${contrastClass(strength, false)}`, String(Math.round(100 * value)), () => open(layer, head), {
      style: `--score: ${strength.toFixed(1)}%`,
      "data-score": value,
      "data-layer": layer,
      "data-head": head,
      "data-place": `${name} ${layer} ${head}`,
      "aria-label": t("heads.score", places),
    });
  };
  const columns = [axis(t("head")), ...scores[0].map((_, head) => axis(String(head + 1)))];
  const rows = scores.map((row, layer) => [
    axis(t("layer_n", { layer: layer + 1 })),
    ...row.map((value, head) => score(layer, head, value)),
  ]);
  return h("div", { class: "score-grid", style: `--heads: ${scores[0].length}` }, columns, rows);
}
