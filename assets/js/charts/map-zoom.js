// How large the cells of a long sentence are: as wide as their place, or enlarged.

import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { button } from "../core/parts.js";
import { nextZoom } from "./long-map.js";

/** @param {() => void} redraw */
export function zoomControl(redraw) {
  let zoom = 1;
  const set = (/** @type {number} */ value) => {
    zoom = value;
    redraw();
  };
  const step = (/** @type {string} */ sign, /** @type {string} */ name, /** @type {1 | -1} */ way) =>
    button(null, sign, () => set(nextZoom(zoom, way)), { "aria-label": t(name), title: t(name) });
  const [out, closer] = [step("−", "zoom.out", -1), step("+", "zoom.in", 1)];
  const fit = button(null, t("zoom.fit"), () => set(1), { title: t("zoom.fit_title") });
  const element = h("div", { class: "segmented zoom", role: "group", "aria-label": t("zoom.title") }, out, fit, closer);
  element.hidden = true;
  return {
    element,
    value: () => zoom,
    /** Set the first value; `draw` follows. */
    begin(/** @type {number} */ value) {
      zoom = value;
    },
    /** `range`: of what is shown; null where it cannot be zoomed. */
    draw(/** @type {{ canGrow: boolean } | null} */ range) {
      element.hidden = !range;
      out.disabled = zoom === 1;
      closer.disabled = !range?.canGrow || nextZoom(zoom, 1) === zoom;
      fit.setAttribute("aria-pressed", String(zoom === 1));
    },
  };
}
