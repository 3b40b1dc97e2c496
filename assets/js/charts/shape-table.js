// The shapes of the tensors on a sentence's way through the network, here and in the paper's base model.

import { h, scrollBox } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { rowHeading, table } from "../core/parts.js";
import { state } from "../core/state.js";

/** @import { ShapeRow } from "#schema" */
/** @import { Child } from "../core/types.d.ts" */

/** Rows that are called otherwise in a model without positions. @type {Record<string, string>} */
const NAMES_WITHOUT_POSITIONS = { source_input: "shapes.bare_encoder", target_input: "shapes.bare_decoder" };
/** Rows that are called otherwise in a model that does not scale its embeddings. @type {Record<string, string>} */
const NAMES_UNSCALED = { source_embedding: "shapes.plain_source", target_embedding: "shapes.plain_target" };

/**
 * The table, and what its letters mean.
 * @param {ShapeRow[]} rows @param {(name: string, stage: string) => Child} nameCell what stands for a row's name
 */
export function shapeTable(rows, nameCell = (name) => name) {
  const { positions, scaled } = state.run.model;
  const names = { ...(positions ? {} : NAMES_WITHOUT_POSITIONS), ...(scaled ? {} : NAMES_UNSCALED) };
  const name = (/** @type {string} */ stage) => t(names[stage] ?? `shapes.${stage}`);
  const shape = (/** @type {number[]} */ sizes) => h("td", {}, `(${sizes.join(", ")})`);
  const tableRows = rows.map(({ stage, layers, here, paper }) => {
    const heading = rowHeading([nameCell(name(stage), stage), layers > 1 ? h("small", {}, ` × ${layers}`) : null]);
    return h("tr", { "data-stage": stage }, heading, shape(here), shape(paper));
  });
  const headings = ["stage", "here", "paper"].map((each) => t(`shapes.${each}`));
  return [scrollBox(table({ class: "shapes" }, headings, tableRows)), h("p", { class: "hint" }, t("shapes.letters"))];
}
