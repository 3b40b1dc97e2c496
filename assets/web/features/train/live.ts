// A training while it goes on: its losses and accuracies as curves, what the model outputs by now, and then its scores.

import { isTraining, type Point, training } from "../../api/training-stream.ts";
import { lineChart, topLoss } from "../../charts/line-chart.ts";
import { formatMessage, formatPercent, joinSentences, t } from "../../state/i18n.ts";
import { h } from "../../ui/dom.ts";
import { describeWaiting, formatDuration } from "../../ui/duration.ts";
import { pictureFrame } from "../../ui/export.ts";
import { setContent } from "../../ui/parts.ts";
import { translationChips } from "./replay.ts";

const wholePercent = (share: number) => formatPercent(Math.round(share * 100) / 100);

export function liveCard(signal: AbortSignal) {
  const loss = lineChart(216, signal);
  const accuracy = lineChart(136, signal);
  const title = h("h2", { id: "train-status" });
  const trouble = h("p", { class: "message", id: "train-trouble", role: "alert" });
  const queue = h("p", { class: "queue" });
  const lossTitle = h("h3", {}, t("train.curve.loss"));
  const accuracyTitle = h("h3", {}, t("train.curve.accuracy"));
  const charts = [lossTitle, loss.element, accuracyTitle, accuracy.element];
  const curves = pictureFrame(loss.element, () => `${training.name}-loss`, charts);
  const now = h("p", { class: "now-says" });
  const reading = h("p", { class: "say" });
  const scores = h("div", { class: "verdict", id: "train-scores", role: "status" });
  const outcome = h("div", { class: "outcome" }, reading, scores);
  const content = [h("div", { role: "status" }, title), trouble, queue, curves, now, outcome];

  function draw() {
    const { phase, message, keeps, smoothing } = training;
    const isIdle = phase === "idle";
    setContent(title, describeStatus());
    const why = message ? formatMessage(message) : t("train.broken");
    setContent(trouble, phase === "failed" ? why : null);
    const isWaiting = phase === "waiting";
    setContent(queue, isWaiting ? describeWaiting(training) : null);
    for (const each of [curves, now, outcome]) each.hidden = isWaiting || isIdle;
    if (isWaiting || isIdle) return;
    const label = describeCurves();
    drawCurves(loss, accuracy, label);
    setContent(now, describeOutput());
    setContent(reading, joinSentences(label, smoothing && keeps ? t("train.smoothed") : ""));
    setContent(scores, describeScores());
    reading.hidden = Boolean(training.scores); // the scores take its place, so that nothing moves
  }
  return { element: h("section", { class: "card", id: "train-live" }, content), draw };
}

function describeStatus() {
  const { phase, name, why, step = 0, seconds = 0 } = training;
  if (!why || phase === "failed") return t(`train.status.${phase}`, { name });
  return t(`train.ended.${why}`, { name, step, time: formatDuration(seconds) });
}

type Chart = ReturnType<typeof lineChart>;
function drawCurves(loss: Chart, accuracy: Chart, label: string) {
  const { uniform, span: steps } = training;
  const places = { words: Math.round(Math.exp(uniform)), uniform: uniform.toFixed(3) };
  loss.draw({
    steps,
    yaxis: { range: [0, topLoss(training)], nticks: 5 },
    curves: curves(1, (value) => value.toFixed(2), "%{y:.3f}"),
    level: { at: uniform, name: t("train.uniform", places) },
    label,
  });
  const yaxis = { range: [0, 1.02], tickvals: [0, 0.5, 1], tickformat: ".0%" };
  accuracy.draw({ steps, yaxis, curves: curves(2, wholePercent, "%{y:.1%}"), label });
}

function curves(column: number, format: (value: number) => string, hover: string) {
  const curve = (key: string, points: Point[], style: { colour: string; dash?: string }) => {
    const name = t(`train.curve.${key}`);
    const last = points.at(-1);
    return {
      name: last ? `${name} ${format(last[column])}` : name,
      points,
      column,
      hover: `${name} ${hover}`,
      ...style,
    };
  };
  const learned = curve("training", training.points, { colour: "accent" });
  return training.keeps ? [learned, curve("held_out", training.heldOut, { colour: "ink", dash: "dot" })] : [learned];
}

function describeCurves() {
  const { points, steps, uniform } = training;
  const last = points.at(-1);
  const guess = uniform.toFixed(3);
  if (!last) return t("train.reads_nothing", { uniform: guess, words: Math.round(Math.exp(uniform)) });
  const [step, loss, accuracy] = last;
  return t("train.reads", { step, steps, loss: loss.toFixed(3), uniform: guess, accuracy: formatPercent(accuracy) });
}

function describeOutput() {
  const { translation, watch } = training;
  const heading = translation ? t("train.says", { step: translation.step, sentence: watch }) : t("train.says_nothing");
  return [h("span", { class: "after" }, heading), translation && translationChips(translation)];
}

function describeScores() {
  const { scores } = training;
  if (!scores) return isTraining() ? h("p", { class: "later" }, t("train.scores.later")) : null;
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
  return [line("training"), scores.held_out && line("held_out"), h("p", {}, t("train.use"))];
}
