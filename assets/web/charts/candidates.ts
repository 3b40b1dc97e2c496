// The words that could come next.

import type { Candidate } from "../api/types.ts";
import { formatPercent, t } from "../state/i18n.ts";
import { h, word } from "../ui/dom.ts";
import { button } from "../ui/parts.ts";

export const MAX_CANDIDATES = 8;

export function candidate({ token, probability }: Candidate, isOutput: boolean, choose?: () => void) {
  const attributes = { title: t("translate.force"), "aria-label": t("translate.force_word", { word: token }) };
  const name = word(token, "target");
  const item = { class: isOutput ? "chosen" : "", data: { probability } };
  const bar = [h("i", { style: `--share: ${probability}` }), h("small", {}, formatPercent(probability))];
  return h("li", item, choose ? button(null, name, choose, attributes) : name, bar);
}
