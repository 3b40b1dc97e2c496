// How long something takes, and who waits for it.

import { formatNumber, nodes, t } from "../state/i18n.ts";
import { h } from "./dom.ts";

export const describeWaiting = ({ place, left }: { place: number | null; left: number | null }) =>
  nodes("train.bar.waiting", { place: h("b", {}, formatNumber(place ?? 1)), time: formatDuration(left ?? 0) });

export function formatDuration(seconds: number) {
  if (seconds < 90) return t("train.seconds", { n: Math.max(1, Math.round(seconds)) });
  return t("train.minutes", { n: formatNumber(Math.round(seconds / 30) / 2) });
}
