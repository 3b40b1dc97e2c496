// Which layer, which head: buttons in a row for as many as there are.

import type { AttentionMaps } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { state, update } from "../state/state.ts";
import { h, numberedOptions, segmented } from "./dom.ts";
import { changeDetector } from "./parts.ts";

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
