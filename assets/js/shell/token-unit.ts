// Pieces or words: of a model whose tokens are pieces of words, the visitor chooses which of them the page shows.

import { h, namedChoice } from "../core/dom.ts";
import { t } from "../core/i18n.ts";
import { canShowWords, state, update } from "../core/state.ts";

const UNITS = ["pieces", "words"] as const;

export function tokenUnit() {
  const choice = namedChoice(t("unit"), UNITS, "unit", (unit) => update({ inWords: unit === "words" }));
  const about = h("small", {});
  const element = h("div", { class: "unit", id: "unit", hidden: true }, choice.element, about);
  return {
    element,
    draw() {
      const { run, inWords } = state;
      element.hidden = !run.words;
      choice.set(inWords ? "words" : "pieces");
      about.textContent = t(!inWords ? "unit.pieces.about" : canShowWords() ? "unit.words.about" : "unit.elsewhere");
    },
  };
}
