// The stages of Inside a head: an index that leads to each, and the figures of those in view.

import { STAGES, type Stage, type SublayerView, stageContent } from "../../charts/sublayer-stages.ts";
import { t } from "../../state/i18n.ts";
import { h, scrollToMiddle, setChildren } from "../../ui/dom.ts";
import { button, onSight } from "../../ui/parts.ts";

const AHEAD = "400px 0px"; // of the screen: what is that near is drawn before it comes into view
const READ = "-20% 0px -60% 0px"; // of the screen: where the stage is that the index marks
const EXPECTED = 400; // px of a stage that was not drawn yet

const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work)); // Safari has none

/** A figure far from the screen is a space as high as it was, until it comes near, has the focus or is printed. */
export function stageList(signal: AbortSignal) {
  let view: SublayerView | null = null;
  const pending = new Set(STAGES);
  const near: Set<Stage> = new Set();
  const sectionOf = (stage: Stage) => h("section", { class: "stage", id: `stage-${stage}`, tabindex: -1 });
  const sections = Object.fromEntries(STAGES.map((each) => [each, sectionOf(each)])) as Record<Stage, HTMLElement>;
  const index = stageIndex(open);
  const element = h("div", { class: "stages" }, Object.values(sections));

  function draw(stage: Stage) {
    if (!view || !pending.delete(stage)) return;
    sections[stage].style.removeProperty("min-height");
    setChildren(sections[stage], stageContent(stage, { ...view, width: element.clientWidth }));
  }
  const drawNear = () => {
    for (const stage of near) draw(stage);
  };

  /** Draw another view: at once what is on the screen, soon what is near it and what the others say in words. */
  function show(next: SublayerView) {
    const places = STAGES.map((stage) => sections[stage].getBoundingClientRect());
    view = next;
    for (const [i, stage] of STAGES.entries()) {
      const { top, bottom, height } = places[i];
      pending.add(stage);
      if (bottom > 0 && top < innerHeight) draw(stage);
      else empty(sections[stage], height);
    }
    whenIdle(() => {
      drawNear();
      if (view === next) for (const stage of pending) setChildren(sections[stage], stageContent(stage, next, false));
    });
  }

  function open(stage: Stage) {
    const at = STAGES.indexOf(stage);
    for (const each of STAGES.slice(Math.max(0, at - 1), at + 2)) draw(each); // so that nothing moves afterwards
    sections[stage].scrollIntoView({ block: "start" });
    sections[stage].focus({ preventScroll: true });
  }

  for (const stage of STAGES) {
    empty(sections[stage], EXPECTED);
    sections[stage].addEventListener("focusin", () => draw(stage));
  }
  const lookAhead = (changes: IntersectionObserverEntry[]) => {
    for (const { target, isIntersecting } of changes) near[isIntersecting ? "add" : "delete"](stageOf(target));
    drawNear();
  };
  const lookWhereOneReads = (changes: IntersectionObserverEntry[]) => {
    const reached = changes.find(({ isIntersecting }) => isIntersecting);
    if (reached) index.mark(stageOf(reached.target));
  };
  onSight(element.children, lookAhead, signal, AHEAD);
  onSight(element.children, lookWhereOneReads, signal, READ);
  addEventListener("beforeprint", () => STAGES.forEach(draw), { signal });
  return { index: index.element, element, show, open };
}

function empty(section: HTMLElement, height: number) {
  section.style.minHeight = `${height || EXPECTED}px`;
  for (const figure of section.querySelectorAll(".stage-figure")) figure.remove();
}

function stageIndex(open: (stage: Stage) => void) {
  const links = new Map(STAGES.map((stage) => [stage, button("pill", t(`inside.index.${stage}`), () => open(stage))]));
  const element = h("nav", { class: "stage-index", "aria-label": t("inside.index") }, [...links.values()]);
  return {
    element,
    mark(stage: Stage) {
      for (const [each, link] of links) link.setAttribute("aria-current", String(each === stage));
      scrollToMiddle(element, links.get(stage) as HTMLElement);
    },
  };
}

const stageOf = (section: Element) => section.id.replace("stage-", "") as Stage;
