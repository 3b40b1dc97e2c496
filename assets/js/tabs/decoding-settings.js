// The settings of the decoding strategies, each with its name and a sentence on what it does.

import { h } from "../core/dom.js";
import { formatNumber, t } from "../core/i18n.js";
import { DECODING_SETTINGS } from "../core/schema.js";
import { state, update } from "../core/state.js";
import { slider } from "./train-settings.js";

/** @import { Child } from "../core/types.d.ts" */

/** @param {string} name @param {Child} title @param {Child} control */
const setting = (name, title, control) =>
  h(
    "div",
    { class: "setting", "data-setting": name },
    title,
    control,
    h("p", { class: "about", id: `setting-${name}-about` }, t(`decoding.set.${name}.about`)),
  );

/** @param {string} name */
const ids = (name) => ({ id: `setting-${name}`, "aria-describedby": `setting-${name}-about` });

/** A setting without a control that a label could name. @param {string} name @param {Child} control */
export const namedSetting = (name, control) =>
  setting(name, h("span", { class: "name" }, t(`decoding.set.${name}`)), control);

/**
 * A setting whose label names an input or a select.
 * @param {string} name @param {Element} input @param {Child} control
 */
export const labelledSetting = (name, input, control = input) => {
  for (const [key, value] of Object.entries(ids(name))) input.setAttribute(key, value);
  return setting(name, h("label", { class: "name", for: `setting-${name}` }, t(`decoding.set.${name}`)), control);
};

/**
 * A slider of a setting; `max()` and `shown(value)` where they are not the setting's own.
 * @param {keyof import("#schema").DecodingSettings} name
 * @param {{ max?: () => number, shown?: (value: number) => string }} options
 */
export function settingSlider(name, { max = () => DECODING_SETTINGS[name].max, shown = formatNumber } = {}) {
  const { min, max: limit, step } = DECODING_SETTINGS[name];
  const change = (/** @type {number} */ value) => update({ [name]: value });
  const range = slider({ min, max: limit, step, shown, ids: ids(name), change });
  return {
    element: labelledSetting(name, range.input, range.element),
    draw() {
      range.input.max = String(max());
      range.set(state[name]);
    },
  };
}
