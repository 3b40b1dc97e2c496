// The small maps of a layer's heads, on buttons that stay, or else the one with the focus would lose it.

import { t } from "../state/i18n.ts";
import { state } from "../state/state.ts";
import { h } from "../ui/dom.ts";
import { button, changeDetector } from "../ui/parts.ts";
import { type Shown, thumbnail } from "./map-canvas.ts";

export function headGrid(choose: (head: number) => void) {
  const element = h("div", { class: "heads" });
  const hasNewCount = changeDetector();
  const isNew = changeDetector();
  const headButton = (head: number) => {
    const name = h("small", {}, t("head_n", { head: head + 1 }));
    return button(null, [h("span", { class: "thumbnail" }), name], () => choose(head));
  };
  function draw({ run, kind, layer, head: chosen }: Shown) {
    const { heads } = run.attention[kind];
    if (hasNewCount(heads)) element.replaceChildren(...Array.from({ length: heads }, (_, head) => headButton(head)));
    const areNew = isNew(run, kind, layer, state.gold);
    for (const [head, each] of [...element.children].entries()) {
      if (areNew) each.firstElementChild?.replaceChildren(thumbnail(kind, layer, head, run));
      each.ariaPressed = String(head === chosen);
    }
  }
  return { element, draw };
}
