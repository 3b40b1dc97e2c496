// Is what you see right? Four checks of this run, made anew by the server for every run.

import { hasFullyMaskedRow } from "../charts/attention-map.js";
import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { askAboutRun } from "../core/server-cache.js";
import { state, subscribe } from "../core/state.js";

const LATER_MS = 300; // a run that is looked at, not one that is passed by

/** A badge for the header. */
export function badge(server, signal) {
  const mark = h("span");
  const body = h("div", { class: "popover" });
  const element = h("details", { class: "pill", id: "checks" }, h("summary", {}, mark), body);
  let timer = null;
  let shown = null;
  subscribe(element, () => {
    const { run } = state;
    if (shown === run) return;
    shown = run;
    say("…", t("checks.running"));
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const said = await askAboutRun("checks", server).catch(() => null);
      if (shown !== run) return;
      if (!said) return say("–", t("checks.failed"));
      const right = said.checks.every(({ ok }) => ok);
      say(right ? "✓" : "✗", t(right ? "checks.right" : "checks.wrong"), checksTable(said.checks));
    }, LATER_MS);
  });
  signal.addEventListener("abort", () => clearTimeout(timer));
  document.addEventListener("keydown", ({ key }) => key === "Escape" && close(), { signal });
  function close() {
    if (!element.open) return;
    if (element.contains(document.activeElement)) element.firstChild.focus(); // its summary: what is hidden has no focus
    element.open = false;
  }
  function say(sign, text, ...more) {
    mark.textContent = `${sign} ${t("checks")}`;
    element.dataset.state = sign;
    body.replaceChildren(h("p", {}, text), ...more);
  }
  return element;
}

/** What a check looks at in this run. */
const told = (name) =>
  t(
    name === "rows" && Object.keys(state.run.attention).some((kind) => hasFullyMaskedRow(state.run, kind))
      ? "checks.rows_open"
      : `checks.${name}`,
  );

/** Every check with its largest error, and how large it may be. */
export const checksTable = (checks) =>
  h(
    "table",
    { class: "checks" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["what", "error", "limit"].map((name) => h("th", { scope: "col" }, t(`checks.${name}`))),
      ),
    ),
    h(
      "tbody",
      {},
      checks.map(({ name, error, limit, ok }) =>
        h(
          "tr",
          { "data-check": name, "data-error": error, "data-ok": ok },
          h("th", { scope: "row" }, `${ok ? "✓" : "✗"} ${told(name)}`),
          h("td", {}, tiny(error)),
          h("td", {}, tiny(limit)),
        ),
      ),
    ),
  );

/** 1.8 × 10⁻⁷ */
function tiny(value) {
  if (!value) return String(value);
  const [digits, power] = value.toExponential(1).split("e");
  const raised = [...String(Number(power))].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("");
  return `${digits.replace(".0", "")} × 10${raised}`;
}
