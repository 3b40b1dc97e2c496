// A change of the run in words.

import { word } from "../core/dom.js";
import { formatList, nodes, t } from "../core/i18n.js";
import { SIDES, state } from "../core/state.js";
import { tokenRun } from "../core/words.js";

/** @import { Change, ChangeOf, Places, Run } from "../core/types.d.ts" */

/** @param {Change} change @param {Run} run */
export function describeChange(change, run = tokenRun(state.run)) {
  const fields = /** @type {Places & Partial<Record<"kind" | "stack", string>>} */ (/** @type {unknown} */ (change));
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

/** @param {Change} change */
function textOf(change) {
  if (change.do === "remove_mask") return `change.remove_mask.${change.kind}`;
  if (change.do === "edit_mask") return `change.edit_mask.${change.allowed ? "open" : "closed"}`;
  return change.do === "positions" ? `change.positions.${change.how}` : `change.${change.do}`;
}

/** The query and the key of a cell of the mask. @param {ChangeOf<"edit_mask">} change @param {Run} run */
function cellTokens({ kind, query, key }, run) {
  const { queries, keys } = run.attention[kind];
  const token = (/** @type {string[]} */ tokens, /** @type {number} */ i, /** @type {0 | 1} */ side) => {
    if (i >= tokens.length) return String(i + 1);
    const isRepeated = tokens.filter((each) => each === tokens[i]).length > 1;
    return [word(tokens[i], SIDES[kind][side]), ...(isRepeated ? [` (${i + 1})`] : [])];
  };
  return { from: token(queries, query, 0), at: token(keys, key, 1) };
}
