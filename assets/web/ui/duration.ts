// How long something takes, who waits for it, and how far it is.

import { type HeadStream, secondsLeft } from "../api/head-stream.ts";
import type { Child } from "../api/types.ts";
import { formatMessage, formatNumber, joinSentences, nodes, t } from "../state/i18n.ts";
import { h } from "./dom.ts";
import { link } from "./parts.ts";

export const describeWaiting = ({ place, left }: { place: number | null; left: number | null }) =>
  nodes("train.bar.waiting", { place: h("b", {}, formatNumber(place ?? 1)), time: formatDuration(left ?? 0) });

export function formatDuration(seconds: number) {
  if (seconds < 90) return t("train.seconds", { n: Math.max(1, Math.round(seconds)) });
  return t("train.minutes", { n: formatNumber(Math.round(seconds / 30) / 2) });
}

/** Nothing once all heads are done. */
export function headProgress(stream: HeadStream, again: () => void): Child {
  const { phase, done, of, message } = stream;
  const places = { done, of, time: formatDuration(Math.ceil(secondsLeft(stream) ?? 0)) };
  if (phase === "done") return null;
  if (phase === "running") {
    const text = t(done ? "heads.progress" : "heads.starting", places);
    const bar = h("progress", { max: of || 1, value: of ? done : null, "aria-label": text });
    return h("span", { class: "head-progress" }, bar, h("span", {}, text), link(t("heads.stop"), stream.stop));
  }
  const text = t(done ? "heads.stopped" : "heads.not_started", places);
  const why = phase === "failed" ? (message ? formatMessage(message) : t("error.no_answer")) : "";
  return h("span", { class: "head-progress" }, joinSentences(why, text), " ", link(t("heads.again"), again));
}
