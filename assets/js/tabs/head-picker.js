// Which layer, which head: buttons in a row for as many as there are.

import { h, numberedOptions, segmented } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { changeDetector } from "../core/parts.js";
import { state, update } from "../core/state.js";

/** @import { AttentionMaps } from "../core/types.d.ts" */

/** {element, draw(maps)}: `draw` after every change, with the maps of the kind that is shown. */
export function headPicker(names = /** @type {("layer" | "head")[]} */ (["layer", "head"])) {
  const element = h("div", { class: "pickers" });
  const hasNewShape = changeDetector();
  let setters = [() => {}];
  function draw(/** @type {AttentionMaps} */ { layers, heads }) {
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
