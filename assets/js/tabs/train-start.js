// The bar that is always in sight: what a training would take, why it cannot be started, Start and Stop, and how far it
// is.

import { h } from "../core/dom.js";
import { formatBytes, formatMessage, formatNumber, hasText, language, nodes, t } from "../core/i18n.js";
import { button } from "../core/parts.js";
import { isTraining, stopTraining, training } from "../net/training-stream.js";

/** @import { Problem } from "#schema" */
/** @import { Plan } from "./train.js" */

const ESTIMATE_FROM = { steps: 3, ms: 500 }; // before that the time that is left cannot be estimated

/** Of which training, and when it was first seen to run. */
const clock = { points: training.points, since: 0 };

/** Whether there is nothing left to stop. */
const isOver = () => ["measuring", "developing"].includes(training.phase);

/**
 * `begin()` is called for Start; the server stops a training after `limit` seconds.
 * @param {() => void} begin @param {number} limit
 */
export function startBar(begin, limit) {
  const onStop = (/** @type {MouseEvent} */ { detail }) => {
    if (detail <= 1 && !isOver()) stopTraining(); // the second click of two was meant for Start
  };
  const described = { id: "train-start", "aria-describedby": "train-facts train-problems" };
  const start = button("go", t("train.start"), begin, described);
  const stop = button("go halt", t("train.stop"), onStop, { id: "train-stop" });
  const facts = h("p", { class: "facts", id: "train-facts" });
  const reasons = h("div", { class: "reasons", id: "train-problems", role: "status" });
  const progress = h("progress", { id: "train-progress", "aria-label": t("train.progress"), max: 1 });
  const line = h("div", { class: "start-line" }, facts, start, stop);
  return {
    element: h("div", { class: "start-bar" }, progress, reasons, line),
    showFirstProblem: () => reasons.querySelector("button")?.click(),
    draw(/** @type {Plan | null} */ plan, /** @type {Problem[]} */ problems) {
      const isRunning = isTraining();
      const hadFocus = document.activeElement === start || document.activeElement === stop;
      start.hidden = isRunning;
      stop.hidden = !isRunning;
      stop.setAttribute("aria-disabled", String(isOver())); // it keeps the focus, until Start takes it
      if (hadFocus) (isRunning ? stop : start).focus({ preventScroll: true });
      // The Tab key still reaches it and its reasons.
      start.setAttribute("aria-disabled", String(!plan || problems.length > 0));
      stop.textContent = t(training.phase === "waiting" ? "train.leave" : "train.stop");
      drawReasons(reasons, isRunning ? [] : problems);
      const step = training.points.at(-1)?.[0] ?? 0;
      progress.style.visibility = isRunning ? "visible" : "hidden";
      if (isRunning) progress.value = step / training.span;
      facts.replaceChildren(...(isRunning ? describeProgress(step) : describePlan(plan, limit)));
    },
  };
}

/** @param {Element} element @param {Problem[]} problems */
function drawReasons(element, problems) {
  const reasons = problems.map(({ field, message }) => {
    const why = formatMessage(message);
    const name = `train.set.${field}`;
    const text = hasText(name) ? t("train.problem", { name: t(name), why }) : why;
    return button(null, text, () => showField(field));
  });
  const shown = [...element.children].map((each) => each.textContent).join("\n");
  if (shown === reasons.map((each) => each.textContent).join("\n")) return; // what is new is read aloud
  element.replaceChildren(...reasons);
}

/** Go to the setting with a problem. @param {string} field */
function showField(field) {
  const place = document.querySelector(`[data-field="${field}"]`) ?? document.querySelector("#train-data");
  place?.scrollIntoView({ block: "center" });
  const control = /** @type {HTMLElement | null} */ (place?.querySelector("input:not([type=file]), button") ?? null);
  control?.focus({ preventScroll: true });
}

/** @param {Plan | null} plan @param {number} limit */
function describePlan(plan, limit) {
  if (!plan?.parameters) return [plan ? t("train.facts_none") : "…"];
  const { parameters, bytes = null, seconds = null } = plan;
  const weights = { parameters: formatCompact(parameters), bytes: bytes === null ? "" : formatBytes(bytes) };
  const size = h("span", {}, t(bytes === null ? "train.facts.weights" : "train.facts.size", weights));
  if (seconds === null) return [size];
  const whole = formatDuration(seconds);
  const time = seconds > limit ? t("train.facts.cut", { time: formatDuration(limit), whole }) : null;
  return [h("b", { class: "time" }, time ?? t("train.facts.time", { time: whole })), size];
}

/** @param {{ place: number | null, left: number | null }} training one that waits for its turn */
export const describeWaiting = ({ place, left }) =>
  nodes("train.bar.waiting", { place: h("b", {}, formatNumber(place ?? 1)), time: formatDuration(left ?? 0) });

/** @param {number} step */
function describeProgress(step) {
  const { phase, points, steps, left } = training;
  if (phase === "waiting") return describeWaiting(training);
  if (phase !== "running") return nodes(`train.bar.${phase}`);
  if (clock.points !== points) Object.assign(clock, { points, since: performance.now() });
  const isEarly = left === null || step < ESTIMATE_FROM.steps || performance.now() - clock.since < ESTIMATE_FROM.ms;
  const places = { step: h("b", {}, formatNumber(step)), steps, left: formatDuration(left ?? 0) };
  return nodes(isEarly ? "train.bar.step" : "train.bar.running", places);
}

/** @param {number} value @param {Intl.NumberFormatOptions} options */
const format = (value, options) => new Intl.NumberFormat(language, options).format(value);
/** @param {number} value */
const formatCompact = (value) => format(value, { notation: "compact", maximumSignificantDigits: 3 });

/** @param {number} seconds */
export function formatDuration(seconds) {
  if (seconds < 90) return t("train.seconds", { n: Math.max(1, Math.round(seconds)) });
  return t("train.minutes", { n: formatNumber(Math.round(seconds / 30) / 2) });
}
