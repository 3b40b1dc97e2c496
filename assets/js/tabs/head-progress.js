// How far a real model's heads have been measured, with a button that stops it.

import { h } from "../core/dom.js";
import { formatMessage, joinSentences, t } from "../core/i18n.js";
import { link } from "../core/parts.js";
import { secondsLeft } from "../net/head-stream.js";
import { formatDuration } from "./train-start.js";

/** @import { Child } from "../core/types.d.ts" */
/** @import { HeadStream } from "../net/head-stream.js" */

/** Nothing once all heads are done. @param {HeadStream} stream @param {() => void} again @returns {Child} */
export function headProgress(stream, again) {
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
