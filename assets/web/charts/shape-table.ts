// The shapes of the tensors on a sentence's way through the network, here and in the paper's base model.

import type { ShapeRow } from "#schema";
import type { Child } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { state } from "../state/state.ts";
import { h, scrollBox } from "../ui/dom.ts";
import { rowHeading, table } from "../ui/parts.ts";

/** Rows that are called otherwise in a model without positions. */
const NAMES_WITHOUT_POSITIONS: Record<string, string> = {
  source_input: "shapes.bare_encoder",
  target_input: "shapes.bare_decoder",
};
/** Rows that are called otherwise in a model that does not scale its embeddings. */
const NAMES_UNSCALED: Record<string, string> = {
  source_embedding: "shapes.plain_source",
  target_embedding: "shapes.plain_target",
};

/** The table, and what its letters mean. @param nameCell what stands for a row's name */
export function shapeTable(rows: ShapeRow[], nameCell: (name: string, stage: string) => Child = (name) => name) {
  const { positions, scaled } = state.run.model;
  const names = { ...(positions ? {} : NAMES_WITHOUT_POSITIONS), ...(scaled ? {} : NAMES_UNSCALED) };
  const name = (stage: string) => t(names[stage] ?? `shapes.${stage}`);
  const shape = (sizes: number[]) => h("td", {}, `(${sizes.join(", ")})`);
  const tableRows = rows.map(({ stage, layers, here, paper }) => {
    const heading = rowHeading([nameCell(name(stage), stage), layers > 1 ? h("small", {}, ` × ${layers}`) : null]);
    return h("tr", { "data-stage": stage }, heading, shape(here), shape(paper));
  });
  const headings = ["stage", "here", "paper"].map((each) => t(`shapes.${each}`));
  return [scrollBox(table({ class: "shapes" }, headings, tableRows)), h("p", { class: "hint" }, t("shapes.letters"))];
}
