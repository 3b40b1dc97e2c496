// What each decoder layer would output, a step a row: the logit lens.

import type { Lens } from "#schema";
import type { Run } from "../api/types.ts";
import { formatList, formatPercent, nodes, t } from "../state/i18n.ts";
import { agreements, type Readings, readings } from "../state/lens.ts";
import { h, word } from "../ui/dom.ts";
import { columnHeading, rowHeading, table } from "../ui/parts.ts";

/** @param marked the step whose row is marked @param isAsked whether that row hides what its layers say */
export function lensTable(run: Run, lens: Lens, steps: number[], marked = -1, isAsked = false) {
  const rows = steps.map((step) => {
    const said =
      isAsked && step === marked ? lens.tokens.map(() => h("td", {}, "?")) : saidCells(readings(lens, run, step));
    return h("tr", { class: step === marked ? "marked" : "" }, rowHeading(word(run.output[step], "target")), said);
  });
  const layers = lens.tokens.map((_, layer) => columnHeading(t("layer_n", { layer: layer + 1 })));
  return table({ class: "ways lens" }, [t("lesson.knows.output"), ...layers], rows);
}

const saidCells = ({ layers, turn }: Readings) =>
  layers.map(({ token, probability }, layer) => {
    const name = layer === turn ? "turn" : layer > turn ? "known" : "";
    return h("td", { class: name }, word(token, "target"), " ", h("small", {}, formatPercent(probability)));
  });

/** At how many steps each layer says what is output. */
export const agreeing = (lens: Lens, run: Run) =>
  formatList(agreements(lens, run).map((steps, layer) => t("overview.lens.agrees", { layer: layer + 1, steps })));

/** How far the layers before the last can be believed. */
export const lensCaveat = (lens: Lens, run: Run) =>
  nodes(`overview.lens.${run.model.norm_first ? "pre" : "post"}_norm`, {
    count: lens.tokens[0].length,
    agree: agreeing(lens, run),
  });
