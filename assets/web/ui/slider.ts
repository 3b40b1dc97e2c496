// A number from a smallest to a largest, beside its text.

import { formatPercent } from "../state/i18n.ts";
import { type Attributes, h } from "./dom.ts";

const SHARE_STEP = 0.05;

/** A number from `min` to `max` beside its text: a share in per cent unless `shown` writes it otherwise. */
export function slider({
  min = 0,
  max = 1,
  step = SHARE_STEP,
  shown = formatPercent,
  ids,
  change,
}: {
  min?: number;
  max?: number;
  step?: number;
  shown?: (value: number) => string;
  ids: Attributes;
  change: (value: number) => void;
}) {
  const input = h("input", { type: "range", min, max, step, ...ids });
  const output = h("output", { for: ids.id });
  input.addEventListener("input", () => change(input.valueAsNumber));
  return {
    input,
    element: h("span", { class: "share-slider" }, input, output),
    set(value: number) {
      input.value = String(value);
      output.textContent = shown(value);
      input.setAttribute("aria-valuetext", shown(value));
    },
    shown,
  };
}
