// The settings of the decoding strategies, each with its name and a sentence on what it does.

import type { DecodingSettings } from "#schema";
import { DECODING_SETTINGS } from "../../api/schema.ts";
import type { Child } from "../../api/types.ts";
import { formatNumber, t } from "../../state/i18n.ts";
import { state, update } from "../../state/state.ts";
import { h } from "../../ui/dom.ts";
import { slider } from "../../ui/parts.ts";

/** A setting; its name is the label of its input or select, where it has one. @param input of the control */
export function setting(name: string, control: Child, input?: Element) {
  const id = `setting-${name}`;
  input?.setAttribute("id", id);
  input?.setAttribute("aria-describedby", `${id}-about`);
  const title = h(input ? "label" : "span", { class: "name", for: input && id }, t(`decoding.set.${name}`));
  const about = h("p", { class: "about", id: `${id}-about` }, t(`decoding.set.${name}.about`));
  return h("div", { class: "setting", "data-setting": name }, title, control, about);
}

type Look = { max?: () => number; shown?: (value: number) => string };

export function settingSlider(name: keyof DecodingSettings, { max, shown = formatNumber }: Look = {}) {
  const { min, max: limit, step } = DECODING_SETTINGS[name];
  const change = (value: number) => update({ [name]: value });
  const range = slider({ min, max: limit, step, shown, ids: { id: `setting-${name}` }, change });
  return {
    element: setting(name, range.element, range.input),
    draw() {
      range.input.max = String(max?.() ?? limit);
      range.set(state[name] ?? min);
    },
  };
}
