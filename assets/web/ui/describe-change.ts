// A change of the run in words.

import type { Change, ChangeOf, Places, Run } from "../api/types.ts";
import { formatList, nodes, t } from "../state/i18n.ts";
import { SIDES, state } from "../state/state.ts";
import { tokenRun } from "../state/words.ts";
import { word } from "./dom.ts";

export function describeChange(change: Change, run: Run = tokenRun(state.run)) {
  const fields = change as unknown as Places & Partial<Record<"kind" | "stack", string>>;
  const places = { ...fields };
  for (const name of ["layer", "head", "step", "position"]) if (name in fields) places[name] = Number(fields[name]) + 1;
  if (fields.kind) places.kind = t(`change.of.${fields.kind}`);
  if (fields.stack) places.stack = t(`change.of.${fields.stack}`);
  if (change.do === "isolate") places.heads = formatList(change.heads.map((head) => t("head_n", { head: head + 1 })));
  if (change.do === "edit_mask") Object.assign(places, cellTokens(change, run));
  if (change.do === "swap_word") places.word = word(change.word, "source");
  if (change.do === "force_word") places.word = word(change.word, "target");
  if (change.do === "temperature") places.temperature = String(change.temperature);
  return nodes(textOf(change), places);
}

function textOf(change: Change) {
  if (change.do === "remove_mask") return `change.remove_mask.${change.kind}`;
  if (change.do === "edit_mask") return `change.edit_mask.${change.allowed ? "open" : "closed"}`;
  return change.do === "positions" ? `change.positions.${change.how}` : `change.${change.do}`;
}

/** The query and the key of a cell of the mask. */
function cellTokens({ kind, query, key }: ChangeOf<"edit_mask">, run: Run) {
  const { queries, keys } = run.attention[kind];
  const token = (tokens: string[], i: number, side: 0 | 1) => {
    if (i >= tokens.length) return String(i + 1);
    const isRepeated = tokens.filter((each) => each === tokens[i]).length > 1;
    return [word(tokens[i], SIDES[kind][side]), ...(isRepeated ? [` (${i + 1})`] : [])];
  };
  return { from: token(queries, query, 0), at: token(keys, key, 1) };
}
