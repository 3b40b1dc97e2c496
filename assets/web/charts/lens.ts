// What each decoder layer would output if it were the last: the logit lens of a run, a step at a time.

import type { Lens } from "#schema";
import type { Run } from "../api/types.ts";
import { formatList, formatPercent, nodes, t } from "../state/i18n.ts";
import { askAboutRun } from "../state/server-cache.ts";
import { tokenRun } from "../state/words.ts";
import { h, word } from "../ui/dom.ts";
import { columnHeading, rowHeading, table } from "../ui/parts.ts";

/** `turn` is the first layer from which on all say what the last one says. */
export type Readings = { layers: { token: string; probability: number }[]; turn: number };

export const fetchLens = (run: Run) => askAboutRun("lens", {}, tokenRun(run));

/** @param step of a run by words or by tokens: of a word it is the first piece's */
export function readings({ tokens, probabilities }: Lens, run: Run, step: number): Readings {
  const at = run.steps[step].first ?? step;
  const layers = tokens.map((row, layer) => ({ token: row[at], probability: probabilities[layer][at] }));
  return { layers, turn: layers.findLastIndex(({ token }) => token !== layers.at(-1)?.token) + 1 };
}

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

/** At how many steps each layer says what is output; layers in a row that do so equally often are named together. */
export function agreeing(lens: Lens, run: Run) {
  const { output } = tokenRun(run);
  const steps = lens.tokens.map((row) => row.filter((token, step) => token === output[step]).length);
  const firsts = [...steps.keys()].filter((layer) => steps[layer] !== steps[layer - 1]);
  const parts = firsts.map((first, i) => {
    const last = firsts[i + 1] ?? steps.length;
    const places = { layer: first + 1, last, steps: steps[first] };
    return t(last > first + 1 ? "overview.lens.agree_equally" : "overview.lens.agrees", places);
  });
  return formatList(parts);
}

/** How far the layers before the last can be believed. */
export const lensCaveat = (lens: Lens, run: Run) =>
  nodes(`overview.lens.${run.model.norm_first ? "pre" : "post"}_norm`, {
    count: lens.tokens[0].length,
    agree: agreeing(lens, run),
  });
