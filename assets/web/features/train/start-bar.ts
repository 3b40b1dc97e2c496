// The bar that is always in sight: what a training would take, why it cannot start, Start, Stop, and how far it is.

import type { Problem } from "#schema";
import { isTraining, stopTraining, training } from "../../api/training-stream.ts";
import { formatBytes, formatMessage, formatNumber, hasText, language, nodes, t } from "../../state/i18n.ts";
import { h } from "../../ui/dom.ts";
import { describeWaiting, formatDuration } from "../../ui/duration.ts";
import { button, setContent } from "../../ui/parts.ts";
import { limits, planned, problems } from "./choices.ts";

const ESTIMATE_FROM = { steps: 3, ms: 500 }; // before that the time that is left cannot be estimated

/** Which training it shows, and when that was first seen to run. */
const clock = { points: training.points, since: 0 };

const isOver = () => ["measuring", "developing"].includes(training.phase);

export function startBar(begin: () => void) {
  const onStop = ({ detail }: MouseEvent) => {
    if (detail <= 1 && !isOver()) stopTraining(); // the second click of two was meant for Start
  };
  const described = { id: "train-start", "aria-describedby": "train-facts train-problems" };
  const start = button("go", t("train.start"), begin, described);
  const stop = button("go halt", t("train.stop"), onStop, { id: "train-stop" });
  const facts = h("p", { class: "facts", id: "train-facts" });
  const list = h("div", { class: "reasons", id: "train-problems", role: "status" });
  const progress = h("progress", { id: "train-progress", "aria-label": t("train.progress"), max: 1 });
  const line = h("div", { class: "start-line" }, facts, start, stop);
  return {
    element: h("div", { class: "start-bar" }, progress, list, line),
    showFirstProblem: () => list.querySelector("button")?.click(),
    draw() {
      const isRunning = isTraining();
      const reasons = problems();
      const hadFocus = document.activeElement === start || document.activeElement === stop;
      start.hidden = isRunning;
      stop.hidden = !isRunning;
      stop.setAttribute("aria-disabled", String(isOver())); // it keeps the focus, until Start takes it
      if (hadFocus) (isRunning ? stop : start).focus({ preventScroll: true });
      // The Tab key still reaches it and its reasons.
      start.setAttribute("aria-disabled", String(!planned.plan || reasons.length > 0));
      stop.textContent = t(training.phase === "waiting" ? "train.leave" : "train.stop");
      setContent(list, isRunning ? null : reasons.map(reasonButton));
      const step = training.points.at(-1)?.[0] ?? 0;
      progress.style.visibility = isRunning ? "visible" : "hidden";
      if (isRunning) progress.value = step / training.span;
      facts.replaceChildren(...(isRunning ? describeProgress(step) : describePlan()));
    },
  };
}

function reasonButton({ field, message }: Problem) {
  const why = formatMessage(message);
  const name = `train.set.${field}`;
  const text = hasText(name) ? t("train.problem", { name: t(name), why }) : why;
  return button(null, text, () => showField(field));
}

function showField(field: string) {
  const place = document.querySelector(`[data-field="${field}"]`) ?? document.querySelector("#train-data");
  place?.scrollIntoView({ block: "center" });
  const control = (place?.querySelector("input:not([type=file]), button") ?? null) as HTMLElement | null;
  control?.focus({ preventScroll: true });
}

function describePlan() {
  const { plan } = planned;
  if (!plan?.parameters) return [plan ? t("train.facts_none") : "…"];
  const { parameters, bytes = null, seconds = null } = plan;
  const weights = { parameters: formatCompact(parameters), bytes: bytes === null ? "" : formatBytes(bytes) };
  const size = h("span", {}, t(bytes === null ? "train.facts.weights" : "train.facts.size", weights));
  if (seconds === null) return [size];
  const whole = formatDuration(seconds);
  const limit = limits.seconds; // the server stops it then
  const time = seconds > limit ? t("train.facts.cut", { time: formatDuration(limit), whole }) : null;
  return [h("b", { class: "time" }, time ?? t("train.facts.time", { time: whole })), size];
}

function describeProgress(step: number) {
  const { phase, points, steps, left } = training;
  if (phase === "waiting") return describeWaiting(training);
  if (phase !== "running") return nodes(`train.bar.${phase}`);
  if (clock.points !== points) Object.assign(clock, { points, since: performance.now() });
  const isEarly = left === null || step < ESTIMATE_FROM.steps || performance.now() - clock.since < ESTIMATE_FROM.ms;
  const places = { step: h("b", {}, formatNumber(step)), steps, left: formatDuration(left ?? 0) };
  return nodes(isEarly ? "train.bar.step" : "train.bar.running", places);
}

const formatCompact = (value: number) =>
  new Intl.NumberFormat(language, { notation: "compact", maximumSignificantDigits: 3 }).format(value);
