// Are the numbers on the page right? Checks of this run, made by the server for every run.

import type { Check } from "#schema";
import type { Child } from "../../api/types.ts";
import { hasFullyMaskedRow } from "../../charts/attention-map.ts";
import { t } from "../../state/i18n.ts";
import { askAboutRun } from "../../state/server-cache.ts";
import { KINDS, state, subscribe } from "../../state/state.ts";
import { h, setChildren } from "../../ui/dom.ts";
import { formatTiny } from "../../ui/numbers.ts";
import { cells, changeDetector, rowHeading, table } from "../../ui/parts.ts";

const PAUSE_MS = 300; // runs that are passed by in less are not checked

export function badge(signal: AbortSignal) {
  const mark = h("span");
  const summary = h("summary", { class: "entry" }, mark);
  const body = h("div", { class: "unfolded" });
  const element = h("details", { id: "checks" }, summary, body);
  const show = (sign: string, key: string, ...more: Child[]) => {
    mark.textContent = `${sign} ${t("checks")}`;
    element.dataset.state = sign;
    setChildren(body, h("p", {}, t(key)), more);
  };
  const check = async () => {
    const { run } = state;
    show("…", "checks.running");
    await new Promise((done) => setTimeout(done, PAUSE_MS));
    if (run !== state.run || signal.aborted) return;
    const checks = await askAboutRun("checks").catch(() => null);
    if (run !== state.run) return;
    if (!checks) show("–", "checks.failed");
    else if (checks.every(({ ok }) => ok)) show("✓", "checks.right", checksTable(checks));
    else show("✗", "checks.wrong", checksTable(checks));
  };
  const isNew = changeDetector();
  subscribe(element, () => isNew(state.run) && check());
  return element;
}

export function checksTable(checks: Check[]) {
  const headings = ["what", "error", "limit"].map((name) => t(`checks.${name}`));
  const hasMaskedRow = KINDS.some((kind) => hasFullyMaskedRow(state.run, kind));
  const rows = checks.map(({ name, error, limit, ok }) => {
    const text = t(name === "rows" && hasMaskedRow ? "checks.rows_open" : `checks.${name}`);
    const heading = rowHeading(`${ok ? "✓" : "✗"} ${text}`);
    return h("tr", { data: { check: name, error, ok } }, heading, cells([error, limit].map(formatTiny)));
  });
  return table({ class: "checks" }, headings, rows);
}
