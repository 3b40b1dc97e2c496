// The progress bar of the lesson, and the choice of its stops: how long it may take, which they are, in which order.

import { t } from "../../state/i18n.ts";
import { LESSON_STOPS, PLANS, planMinutes, plannedStops, stopOrder, withStop } from "../../state/lesson-plan.ts";
import { lessonStops, state, update } from "../../state/state.ts";
import { dialog, h, replaceKeepingFocus, segmented } from "../../ui/dom.ts";
import { button, changeDetector, hint } from "../../ui/parts.ts";

const FITTING = 14; // names of stops that stand on one line as they are

export function progressBar(open: (stop: number) => void) {
  const element = h("ol", { class: "stops" });
  const isNew = changeDetector();
  const draw = () => {
    const order = lessonStops();
    element.classList.toggle("many", order.length > FITTING);
    if (isNew(state.stops, isReal())) element.replaceChildren(...order.map((stop, i) => h("li", {}, opener(stop, i))));
    for (const [i, each] of element.querySelectorAll("button").entries())
      each.ariaCurrent = order[i] === state.stop ? "step" : "false";
  };
  const opener = (stop: number, i: number) => {
    const name = LESSON_STOPS[stop];
    const label = `${i + 1}. ${t(`lesson.${name}`)} (${t("lesson.minutes", { minutes: planMinutes([stop]) })})`;
    const attributes = { title: label, "aria-label": label };
    return button(null, h("span", {}, t(`lesson.${name}.short`)), () => open(stop), attributes);
  };
  return { element, draw };
}

/** How long the lesson takes, of three lengths, and a button that opens the choice of its stops. */
export function planChooser() {
  const opener = button("pill", "", () => panel.showModal(), { id: "plan-open" });
  const list = h("ol", { class: "plan-stops" });
  const place = h("span");
  const panel = dialog({ class: "plan", "aria-label": t("lesson.plan.title") }, [
    h("b", {}, t("lesson.plan.title")),
    hint(t("lesson.plan.about")),
    list,
  ]);
  const isNew = changeDetector();

  function draw() {
    if (!isNew(state.stops, isReal())) return;
    const order = lessonStops();
    const lengths = planLengths();
    replaceKeepingFocus(place, [lengths.element]);
    opener.textContent = t("lesson.plan", { count: order.length });
    lengths.set(PLANS.find((minutes) => stopsOf(minutes).join() === order.join()) ?? "");
    const others = [...LESSON_STOPS.keys()].filter((stop) => !order.includes(stop));
    replaceKeepingFocus(list, [...order, ...others].map(row));
  }
  return { element: h("span", { class: "plan-choice" }, place, opener, panel), draw };
}

const isReal = () => state.run.model.pieces;
const stopsOf = (minutes: number) => stopOrder(plannedStops(minutes, isReal()), isReal());

function planLengths() {
  const text = (plan: number) => t("lesson.minutes", { minutes: planMinutes(stopsOf(plan)) });
  const options = PLANS.map((plan): [string, string] => [`${plan}`, text(plan)]);
  return segmented(t("lesson.plan.length"), options, (plan) => choose(plannedStops(Number(plan), isReal())));
}

const choose = (stops: number[] | null) => update({ stops, stop: state.stop });

function row(stop: number) {
  const order = lessonStops();
  const at = order.indexOf(stop);
  const name = t(`lesson.${LESSON_STOPS[stop]}`);
  const onchange = () => choose(at >= 0 ? order.toSpliced(at, 1) : withStop(order, stop));
  const box = h("input", { type: "checkbox", "data-place": `${stop}`, onchange });
  box.checked = at >= 0;
  box.disabled = order.length === 1 && at >= 0; // a lesson has a stop
  const move = (by: 1 | -1) => {
    const label = t(by < 0 ? "lesson.plan.earlier" : "lesson.plan.later", { name });
    const attributes = { "aria-label": label, title: label, "data-place": `${stop}.${by}` };
    const swap = () => choose(order.with(at, order[at + by]).with(at + by, order[at]));
    const mover = button("icon-button", by < 0 ? "↑" : "↓", swap, attributes);
    mover.disabled = at < 0 || !(at + by in order);
    return mover;
  };
  const minutes = h("small", {}, t("lesson.minutes", { minutes: planMinutes([stop]) }));
  return h("li", { class: at < 0 ? "left-out" : "" }, h("label", {}, box, " ", name), minutes, move(-1), move(1));
}
