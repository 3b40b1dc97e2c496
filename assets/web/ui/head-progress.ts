// How far a real model's heads have been measured, with a button that stops it.

import { type HeadStream, secondsLeft } from "../api/head-stream.ts";
import type { Child } from "../api/types.ts";
import { formatMessage, joinSentences, t } from "../state/i18n.ts";
import { h } from "./dom.ts";
import { formatDuration } from "./duration.ts";
import { link } from "./parts.ts";

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
