// What the other roads of decoding are set to, each with its name and a sentence on what it does.

import { slider } from "./train-settings.js";
import { h } from "../core/dom.js";
import { number, t } from "../core/i18n.js";
import { DIALS, state, update } from "../core/state.js";

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
export const chosen = (name, { element }) =>
  labelled(name, h("span", { class: "name" }, t(`roads.set.${name}`)), element);

/** Anything that a label can name. */
export const named = (name, input, control = input) => {
  for (const [key, value] of Object.entries(ids(name))) input.setAttribute(key, value);
  return labelled(name, h("label", { class: "name", for: `road-${name}` }, t(`roads.set.${name}`)), control);
};

/** A slider of a dial. `most()` and `shown(value)` where they are not the dial's own. */
export function dial(name, { most = () => DIALS[name].most, shown = number } = {}) {
  const { least, step } = DIALS[name];
  const range = slider({
    how: { least, most: DIALS[name].most, step, shown },
    ids: ids(name),
    change: (value) => update({ [name]: value }),
  });
  return {
    element: named(name, range.input, range.element),
    set() {
      range.input.max = most();
      range.set(state[name]);
    },
  };
}
