// Which layer, which head: buttons in a row for as many as there are.

import { h, numberedOptions, segmented } from "../core/dom.ts";
import { t } from "../core/i18n.ts";
import { changeDetector } from "../core/parts.ts";
import { state, update } from "../core/state.ts";
import type { AttentionMaps } from "../core/types.ts";

/** {element, draw(maps)}: `draw` after every change, with the maps of the kind that is shown. */
export function headPicker(names = ["layer", "head"] as ("layer" | "head")[]) {
  const element = h("div", { class: "pickers" });
  const hasNewShape = changeDetector();
  let setters = [() => {}];
  function draw({ layers, heads }: AttentionMaps) {
    if (hasNewShape(layers, heads)) {
      element.replaceChildren();
      setters = names.map((name) => {
        const options = numberedOptions({ layer: layers, head: heads }[name]);
        const choice = segmented(t(name), options, (value) => update({ [name]: Number(value) }));
        element.append(h("span", { class: "pair" }, t(name), choice.element));
        return () => choice.set(state[name]);
      });
    }
    for (const set of setters) set();
  }
  return { element, draw };
}
