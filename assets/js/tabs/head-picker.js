// Which layer, which head: buttons in a row for as many as there are.

import { h, numberedOptions, segmented } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { state, update } from "../core/state.js";

/** {element, draw(map)}: `draw` after every change, with the maps of the kind that is shown. */
export function headPicker() {
  const element = h("div", { class: "pickers" });
  let shape = null;
  let layer, head;
  function draw({ layers, heads }) {
    if (shape !== `${layers} ${heads}`) {
      shape = `${layers} ${heads}`;
      layer = segmented(t("layer"), numberedOptions(layers), (value) => update({ layer: Number(value) }));
      head = segmented(t("head"), numberedOptions(heads), (value) => update({ head: Number(value) }));
      element.replaceChildren(
        h("span", { class: "pair" }, t("layer"), layer.element),
        h("span", { class: "pair" }, t("head"), head.element),
      );
    }
    layer.set(state.layer);
    head.set(state.head);
  }
  return { element, draw };
}
