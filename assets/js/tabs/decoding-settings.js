// What the other roads of decoding are set to, each with its name and a sentence on what it does.

import { slider } from "./train-settings.js";
import { h } from "../core/dom.js";
import { formatNumber, t } from "../core/i18n.js";
import { DECODING_SETTINGS } from "../core/schema.js";
import { state, update } from "../core/state.js";

const labelled = (name, title, control) =>
  h(
    "div",
    { class: "setting", "data-dial": name },
    title,
    control,
    h("p", { class: "about", id: `road-${name}-about` }, t(`roads.set.${name}.about`)),
  );

const ids = (name) => ({ id: `road-${name}`, "aria-describedby": `road-${name}-about` });

/** A choice of a few. */
export const labelledChoice = (name, { element }) =>
  labelled(name, h("span", { class: "name" }, t(`roads.set.${name}`)), element);

/** Anything that a label can name. */
export const labelledInput = (name, input, control = input) => {
  for (const [key, value] of Object.entries(ids(name))) input.setAttribute(key, value);
  return labelled(name, h("label", { class: "name", for: `road-${name}` }, t(`roads.set.${name}`)), control);
};

/** A slider of a dial. `max()` and `shown(value)` where they are not the dial's own. */
export function settingSlider(name, { max = () => DECODING_SETTINGS[name].max, shown = formatNumber } = {}) {
  const { min, max: limit, step } = DECODING_SETTINGS[name];
  const range = slider({
    how: { min, max: limit, step, shown },
    ids: ids(name),
    change: (value) => update({ [name]: value }),
  });
  return {
    element: labelledInput(name, range.input, range.element),
    set() {
      range.input.max = max();
      range.set(state[name]);
    },
  };
}
