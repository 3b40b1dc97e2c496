// Pieces or words: of a model whose tokens are pieces of words, the visitor chooses which of them the page shows.

import { t } from "../../state/i18n.ts";
import { canShowWords, state, update } from "../../state/state.ts";
import { h, namedChoice } from "../../ui/dom.ts";

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
