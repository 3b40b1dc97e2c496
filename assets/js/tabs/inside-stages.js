// The stages of Inside a head: an index that leads to each, and the figures of those in view.

import { STAGES, stageContent } from "../charts/sublayer-stages.js";
import { h, setChildren } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { button } from "../core/parts.js";

/** @import { SublayerView } from "../charts/sublayer-view.js" */
/** @import { Stage } from "../charts/sublayer-stages.js" */

const AHEAD = "400px 0px"; // of the screen: what is that near is drawn before it comes into view
const READ = "-20% 0px -60% 0px"; // of the screen: where the stage is that the index marks
const EXPECTED = 400; // px of a stage that was not drawn yet

const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work)); // Safari has none

/**
 * {index, element, show(view), open(stage)}. A figure far from the screen is a space as high as it was; it is drawn
 * when it comes near, when the focus enters its section, when the page is printed, and when `open` leads there.
 *
 * @param {AbortSignal} signal
 */
export function stageList(signal) {
  /** @type {SublayerView | null} */
  let view = null;
  const pending = new Set(STAGES);
  /** @type {Set<Stage>} */
  const near = new Set();
  const sections = new Map(
    STAGES.map((stage) => [stage, h("section", { class: "stage", id: `stage-${stage}`, tabindex: -1 })]),
  );
  const links = new Map(STAGES.map((stage) => [stage, button("pill", t(`inside.index.${stage}`), () => open(stage))]));
  const index = h("nav", { class: "stage-index", "aria-label": t("inside.index") }, [...links.values()]);
  const element = h("div", { class: "stages" }, [...sections.values()]);
  const section = (/** @type {Stage} */ stage) => /** @type {HTMLElement} */ (sections.get(stage));
  const stageOf = (/** @type {Element} */ target) => /** @type {Stage} */ (target.id.replace("stage-", ""));

  function draw(/** @type {Stage} */ stage) {
    if (!view || !pending.delete(stage)) return;
    section(stage).style.removeProperty("min-height");
    setChildren(section(stage), stageContent(stage, { ...view, width: element.clientWidth }));
  }
  const drawNear = () => {
    for (const stage of near) draw(stage);
  };

  /** Draw another view: at once what is on the screen, soon what is near it and what the others say in words. */
  function show(/** @type {SublayerView} */ next) {
    const places = STAGES.map((stage) => section(stage).getBoundingClientRect());
    view = next;
    for (const [i, stage] of STAGES.entries()) {
      const { top, bottom, height } = places[i];
      pending.add(stage);
      if (bottom > 0 && top < innerHeight) draw(stage);
      else {
        section(stage).style.minHeight = `${height || EXPECTED}px`;
        for (const figure of section(stage).querySelectorAll(".stage-figure, .saves")) figure.remove();
      }
    }
    whenIdle(() => {
      drawNear();
      if (view === next) for (const stage of pending) setChildren(section(stage), stageContent(stage, next, false));
    });
  }

  function open(/** @type {Stage} */ stage) {
    const at = STAGES.indexOf(stage);
    for (const each of STAGES.slice(Math.max(0, at - 1), at + 2)) draw(each); // so that nothing moves afterwards
    section(stage).scrollIntoView({ block: "start" });
    section(stage).focus({ preventScroll: true });
  }

  /** @param {Stage} stage */
  function mark(stage) {
    for (const [each, link] of links) link.setAttribute("aria-current", String(each === stage));
    const { offsetLeft, offsetWidth } = /** @type {HTMLElement} */ (links.get(stage));
    index.scrollLeft = offsetLeft + offsetWidth / 2 - index.clientWidth / 2;
  }

  const drawer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) near[isIntersecting ? "add" : "delete"](stageOf(target));
      drawNear();
    },
    { rootMargin: AHEAD },
  );
  const marker = new IntersectionObserver(
    (entries) => {
      const reached = entries.find((entry) => entry.isIntersecting);
      if (reached) mark(stageOf(reached.target));
    },
    { rootMargin: READ },
  );
  for (const [stage, each] of sections) {
    each.style.minHeight = `${EXPECTED}px`;
    drawer.observe(each);
    marker.observe(each);
    each.addEventListener("focusin", () => draw(stage));
  }
  addEventListener("beforeprint", () => STAGES.forEach(draw), { signal });
  signal.addEventListener("abort", () => {
    drawer.disconnect();
    marker.disconnect();
  });
  return { index, element, show, open };
}
