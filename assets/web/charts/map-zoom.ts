// How large the cells of a long sentence are: as wide as their place, or enlarged.

import { t } from "../state/i18n.ts";
import { h } from "../ui/dom.ts";
import { button } from "../ui/parts.ts";
import { nextZoom } from "./attention-map.ts";

export function zoomControl(redraw: () => void) {
  let zoom = 1;
  const set = (value: number) => {
    zoom = value;
    redraw();
  };
  const step = (sign: string, name: string, way: 1 | -1) =>
    button(null, sign, () => set(nextZoom(zoom, way)), { "aria-label": t(name), title: t(name) });
  const [out, closer] = [step("−", "zoom.out", -1), step("+", "zoom.in", 1)];
  const fit = button(null, t("zoom.fit"), () => set(1), { title: t("zoom.fit_title") });
  const element = h("div", { class: "segmented zoom", role: "group", "aria-label": t("zoom.title") }, out, fit, closer);
  element.hidden = true;
  return {
    element,
    value: () => zoom,
    /** Set the first value; `draw` follows. */
    begin(value: number) {
      zoom = value;
    },
    /** `range`: of what is shown; null where it cannot be zoomed. */
    draw(range: { canGrow: boolean } | null) {
      element.hidden = !range;
      out.disabled = zoom === 1;
      closer.disabled = !range?.canGrow || nextZoom(zoom, 1) === zoom;
      fit.setAttribute("aria-pressed", String(zoom === 1));
    },
  };
}
