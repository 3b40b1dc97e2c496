// A training while it goes on: its losses and accuracies as curves, what the model outputs by now, and then its scores.

import { isTraining, type Point, training } from "../../api/training-stream.ts";
import { lineChart, topLoss } from "../../charts/line-chart.ts";
import { formatMessage, formatPercent, joinSentences, t } from "../../state/i18n.ts";
import { h } from "../../ui/dom.ts";
import { describeWaiting, formatDuration } from "../../ui/duration.ts";
import { pictureButtons } from "../../ui/export.ts";
import { changeDetector } from "../../ui/parts.ts";
import { translationChips } from "./replay.ts";

type Parts = ReturnType<typeof build>;

/** A share in whole per cent. */
const wholePercent = (share: number) => formatPercent(Math.round(share * 100) / 100);

export function liveCard(signal: AbortSignal) {
  const parts = build(signal);
  const { title, trouble, queue, curves, now, outcome } = parts;
  const content = [h("div", { role: "status" }, title), trouble, queue, curves, now, outcome];
  return { element: h("section", { class: "card", id: "train-live" }, content), draw: () => draw(parts) };
}

function build(signal: AbortSignal) {
  const loss = lineChart(216, signal);
  const accuracy = lineChart(136, signal);
  const reading = h("p", { class: "say" });
  const scores = h("div", { class: "verdict", id: "train-scores", role: "status" });
  return {
    title: h("h2", { id: "train-status" }),
    trouble: h("p", { class: "message", id: "train-trouble", role: "alert", hidden: true }),
    queue: h("p", { class: "queue" }),
    loss,
    accuracy,
    curves: h(
      "div",
      { class: "kept" },
      h("h3", {}, t("train.curve.loss")),
      loss.element,
      h("h3", {}, t("train.curve.accuracy")),
      accuracy.element,
      pictureButtons(loss.element, () => `${training.name}-loss`),
    ),
    now: h("p", { class: "now-says" }),
    reading,
    scores,
    outcome: h("div", { class: "outcome" }, reading, scores),
    hasNewOutput: changeDetector(),
    hasNewResult: changeDetector(),
  };
}

function draw(parts: Parts) {
  const { phase, message, says, scores } = training;
  if (phase === "idle") return;
  const { title, trouble, queue, curves, now, outcome } = parts;
  setText(title, describeStatus());
  trouble.hidden = phase !== "failed";
  setText(trouble, phase !== "failed" ? "" : message ? formatMessage(message) : t("train.broken"));
  const isWaiting = phase === "waiting";
  queue.hidden = !isWaiting;
  for (const each of [curves, now, outcome]) each.hidden = isWaiting;
  if (isWaiting) {
    queue.replaceChildren(...describeWaiting(training));
    return;
  }
  drawCurves(parts);
  if (parts.hasNewOutput(says)) drawOutput(parts);
  if (parts.hasNewResult(scores ?? phase)) drawResult(parts);
}

/** A status is announced where it is written: only a new one is. */
function setText(element: Element, text: string) {
  if (element.textContent !== text) element.textContent = text;
}

function describeStatus() {
  const { phase, name, why, step = 0, seconds = 0 } = training;
  if (!why || phase === "failed") return t(`train.status.${phase}`, { name });
  return t(`train.ended.${why}`, { name, step, time: formatDuration(seconds) });
}

function drawCurves({ loss, accuracy, reading }: Parts) {
  const { keeps, uniform, span: steps } = training;
  const label = describeCurves();
  const places = { words: Math.round(Math.exp(uniform)), uniform: uniform.toFixed(3) };
  const level = { at: uniform, name: t("train.uniform", places) };
  loss.draw({
    steps,
    yaxis: { range: [0, topLoss(training)], nticks: 5 },
    curves: curves(1, (value) => value.toFixed(2), "%{y:.3f}"),
    level,
    label,
  });
  const yaxis = { range: [0, 1.02], tickvals: [0, 0.5, 1], tickformat: ".0%" };
  accuracy.draw({ steps, yaxis, curves: curves(2, wholePercent, "%{y:.1%}"), label });
  reading.replaceChildren(...joinSentences(label, training.smoothing && keeps ? t("train.smoothed") : ""));
}

/** One column of the measurements as curves, each with its last value. */
function curves(column: number, format: (value: number) => string, hover: string) {
  const { points, heldOut } = training;
  const curve = (name: string, points: Point[], style: { colour: string; dash?: string }) => {
    const last = points.at(-1);
    return {
      name: last ? `${name} ${format(last[column])}` : name,
      points,
      column,
      hover: `${name} ${hover}`,
      ...style,
    };
  };
  const learned = curve(t("train.curve.training"), points, { colour: "accent" });
  return training.keeps
    ? [learned, curve(t("train.curve.held_out"), heldOut, { colour: "ink", dash: "dot" })]
    : [learned];
}

function describeCurves() {
  const { points, steps, uniform } = training;
  const last = points.at(-1);
  const guess = uniform.toFixed(3);
  if (!last) return t("train.reads_nothing", { uniform: guess, words: Math.round(Math.exp(uniform)) });
  const [step, loss, accuracy] = last;
  return t("train.reads", {
    step,
    steps,
    loss: loss.toFixed(3),
    uniform: guess,
    accuracy: formatPercent(accuracy),
  });
}

/** Draw the model's current output for the watched sentence. */
function drawOutput({ now }: Parts) {
  const { says, watch } = training;
  const heading = says ? t("train.says", { step: says.step, sentence: watch }) : t("train.says_nothing");
  now.replaceChildren(h("span", { class: "after" }, heading), ...(says ? translationChips(says) : []));
}

/** The scores; they take the place of the curves' reading, so that nothing moves. */
function drawResult({ reading, scores: place }: Parts) {
  const { scores } = training;
  reading.hidden = Boolean(scores);
  if (!scores) {
    place.replaceChildren(...(isTraining() ? [h("p", { class: "later" }, t("train.scores.later"))] : []));
    return;
  }
  const line = (name: "training" | "held_out") => {
    const { sentences, exact_match, token_accuracy } = scores[name];
    const places = {
      count: sentences,
      exact: formatPercent(exact_match),
      right: Math.round(exact_match * sentences),
      accuracy: formatPercent(token_accuracy),
    };
    return h("p", {}, t(`train.scores.${name}`, places));
  };
  place.replaceChildren(line("training"), ...(scores.held_out ? [line("held_out")] : []), h("p", {}, t("train.use")));
}
