// The bar that is always in sight: what a training would take, why it cannot be started, Start and Stop, and how far it
// is.

import { h } from "../core/dom.js";
import { formatMessage, formatNumber, hasText, language, nodes, t } from "../core/i18n.js";
import { isTraining, stopTraining, training } from "../net/training-stream.js";

/** @import { Problem } from "#schema" */
/** @import { Point } from "../net/training-stream.js" */
/** @import { Plan } from "./train.js" */

/** @typedef {ReturnType<typeof build>} Parts */

const ESTIMATE_FROM = { steps: 3, ms: 500 }; // before that the time that is left cannot be estimated

/** Whether there is nothing left to stop. */
const isOver = () => ["measuring", "developing"].includes(training.phase);

/** `begin()` is called for Start. @param {() => void} begin */
export function startBar(begin) {
  const parts = build(begin);
  const { progress, reasons, facts, start, stop } = parts;
  return {
    element: h("div", { class: "start-bar" }, progress, reasons, h("div", { class: "start-line" }, facts, start, stop)),
    draw: (/** @type {Plan | null} */ plan, /** @type {Problem[]} */ problems) => draw(parts, plan, problems),
    showFirstProblem: () => reasons.querySelector("button")?.click(),
  };
}

/** @param {() => void} begin */
function build(begin) {
  const onStop = (/** @type {MouseEvent} */ { detail }) => {
    if (detail <= 1 && !isOver()) stopTraining(); // the second click of two was meant for Start
  };
  return {
    facts: h("p", { class: "facts", id: "train-facts" }),
    reasons: h("div", { class: "reasons", id: "train-problems", role: "status" }),
    start: h(
      "button",
      {
        type: "button",
        class: "go",
        id: "train-start",
        "aria-describedby": "train-facts train-problems",
        onclick: begin,
      },
      t("train.start"),
    ),
    stop: h("button", { type: "button", class: "go halt", id: "train-stop", onclick: onStop }, t("train.stop")),
    progress: h("progress", { id: "train-progress", "aria-label": t("train.progress"), max: 1 }),
    reasonsShown: "",
    // Of which training, and when it was first seen to run.
    clock: { points: /** @type {Point[] | null} */ (null), since: 0 },
  };
}

/** @param {Parts} parts @param {Plan | null} plan @param {Problem[]} problems */
function draw(parts, plan, problems) {
  const { facts, start, stop, progress } = parts;
  const isRunning = isTraining();
  const hadFocus = document.activeElement === start || document.activeElement === stop;
  start.hidden = isRunning;
  stop.hidden = !isRunning;
  stop.setAttribute("aria-disabled", String(isOver())); // it keeps the focus, until Start takes it
  if (hadFocus) (isRunning ? stop : start).focus({ preventScroll: true });
  progress.style.visibility = isRunning ? "visible" : "hidden";
  // The Tab key still reaches it and its reasons.
  start.setAttribute("aria-disabled", String(!plan || problems.length > 0));
  drawReasons(parts, isRunning ? [] : problems);
  if (isRunning) {
    const step = training.points.at(-1)?.[0] ?? 0;
    progress.value = step / training.span;
    stop.textContent = t(training.phase === "waiting" ? "train.leave" : "train.stop");
    facts.replaceChildren(...describeProgress(parts, step));
  } else facts.replaceChildren(...describePlan(plan));
}

/** @param {Parts} parts @param {Problem[]} problems */
function drawReasons(parts, problems) {
  const reasons = problems.map(({ field, message }) => {
    const why = formatMessage(message);
    const name = `train.set.${field}`;
    return { field, text: hasText(name) ? t("train.problem", { name: t(name), why }) : why };
  });
  const shown = JSON.stringify(reasons);
  if (parts.reasonsShown === shown) return;
  parts.reasonsShown = shown;
  parts.reasons.replaceChildren(
    ...reasons.map(({ field, text }) => h("button", { type: "button", onclick: () => showField(field) }, text)),
  );
}

/** Go to the setting with a problem. @param {string} field */
function showField(field) {
  const place = document.querySelector(`[data-field="${field}"]`) ?? document.querySelector("#train-data");
  place?.scrollIntoView({ block: "center" });
  /** @type {HTMLElement | null | undefined} */ (place?.querySelector("input:not([type=file]), button"))?.focus({
    preventScroll: true,
  });
}

/** @param {Plan | null} plan */
function describePlan(plan) {
  if (!plan?.parameters) return [plan ? t("train.facts_none") : "…"];
  const { parameters, bytes = null, seconds = null } = plan;
  const weights = { parameters: formatCompact(parameters), bytes: bytes === null ? "" : formatBytes(bytes) };
  const time = (/** @type {number} */ value) =>
    h("b", { class: "time" }, t("train.facts.time", { time: formatDuration(value) }));
  return [
    ...(seconds === null ? [] : [time(seconds)]),
    h("span", {}, t(bytes === null ? "train.facts.weights" : "train.facts.size", weights)),
  ];
}

/** @param {Parts} parts @param {number} step */
function describeProgress({ clock }, step) {
  const { phase, place, points, steps, left } = training;
  if (phase === "waiting") return nodes("train.bar.waiting", { place: h("b", {}, formatNumber(place ?? 1)) });
  if (phase !== "running") return nodes(`train.bar.${phase}`);
  if (clock.points !== points) Object.assign(clock, { points, since: performance.now() });
  const isEarly = left === null || step < ESTIMATE_FROM.steps || performance.now() - clock.since < ESTIMATE_FROM.ms;
  const places = { step: h("b", {}, formatNumber(step)), steps, left: formatDuration(left ?? 0) };
  return nodes(isEarly ? "train.bar.step" : "train.bar.running", places);
}

/** @param {number} value */
const formatCompact = (value) =>
  new Intl.NumberFormat(language, { notation: "compact", maximumSignificantDigits: 3 }).format(value);

/** @param {number} bytes */
function formatBytes(bytes) {
  const unit = bytes < 1e6 ? "kilobyte" : bytes < 1e9 ? "megabyte" : "gigabyte";
  const value = bytes / { kilobyte: 1e3, megabyte: 1e6, gigabyte: 1e9 }[unit];
  return new Intl.NumberFormat(language, { style: "unit", unit, maximumSignificantDigits: 2 }).format(value);
}

/** @param {number} seconds */
export function formatDuration(seconds) {
  if (seconds < 90) return t("train.seconds", { n: Math.max(1, Math.round(seconds)) });
  return t("train.minutes", { n: formatNumber(Math.round(seconds / 30) / 2) });
}
