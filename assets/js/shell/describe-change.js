// A change of the run in words.

import { word } from "../core/dom.js";
import { formatList, nodes, t } from "../core/i18n.js";
import { SIDES, state } from "../core/state.js";

/** A change in words. */
export function describeChange(one, run = state.run) {
  const token = (kind, side, i) => {
    const { queries, keys } = run.attention[kind];
    const tokens = [queries, keys][side];
    if (i >= tokens.length) return String(i + 1);
    const several = tokens.filter((each) => each === tokens[i]).length > 1;
    return [word(tokens[i], SIDES[kind][side]), ...(several ? [` (${i + 1})`] : [])];
  };
  const places = {
    ...one,
    kind: one.kind && t(`change.of.${one.kind}`),
    stack: one.stack && t(`change.of.${one.stack}`),
  };
  for (const name of ["layer", "head", "step", "position"]) if (name in one) places[name] = one[name] + 1;
  if (one.do === "isolate") places.heads = formatList(one.heads.map((head) => t("head_n", { head: head + 1 })));
  if (one.do === "edit_mask")
    Object.assign(places, { from: token(one.kind, 0, one.query), at: token(one.kind, 1, one.key) });
  if ("word" in one) places.word = word(one.word, one.do === "swap_word" ? "source" : "target");
  if (one.do === "temperature") places.temperature = String(one.temperature);
  const finer = {
    remove_mask: () => `change.remove_mask.${one.kind}`,
    edit_mask: () => `change.edit_mask.${one.allowed ? "open" : "closed"}`,
    positions: () => `change.positions.${one.how}`,
  }[one.do];
  return nodes(finer?.() ?? `change.${one.do}`, places);
}
