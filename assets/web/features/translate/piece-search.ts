// Any piece of a long vocabulary, found by typing: its rank, its probability and its logit at a step.

import type { FoundCandidate } from "#schema";
import { canAsk } from "../../api/client.ts";
import { schema } from "../../api/schema.ts";
import { forceButton } from "../../charts/outputs.ts";
import { formatNumber, formatPercent, t } from "../../state/i18n.ts";
import { askAboutRun } from "../../state/server-cache.ts";
import { state } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";
import { h, scrollBox, word } from "../../ui/dom.ts";
import { fixed } from "../../ui/numbers.ts";
import { cells, changeDetector, table } from "../../ui/parts.ts";

const PAUSE_MS = 200; // in typing, before the server is asked

export function pieceSearch(force: (token: string, step: number) => void, signal: AbortSignal) {
  const box = searchBox();
  const status = h("p", { class: "hint", role: "status" });
  const place = scrollBox();
  const element = h("div", { class: "piece-search", hidden: true }, box, status, place);
  const isNew = changeDetector();
  let step = 0; // of pieces
  let pause: ReturnType<typeof setTimeout> | undefined;

  async function find() {
    const [text, at, run] = [box.value.trim(), step, tokenRun(state.run)];
    place.hidden = !text;
    if (!text) {
      status.textContent = t("candidates.of", { count: formatNumber(run.model.target_words) });
      return;
    }
    const answer = await askAboutRun("candidates", { step, text }, run).catch(() => null);
    if (signal.aborted || text !== box.value.trim() || at !== step || run !== tokenRun(state.run)) return;
    if (!answer) {
      status.textContent = t("candidates.failed");
      place.replaceChildren();
      return;
    }
    const { count, found } = answer;
    const shown = found.length;
    status.textContent = t(shown < count ? "candidates.first" : "candidates.found", { count, shown });
    place.replaceChildren(...(found.length ? [resultTable(found, (token) => force(token, step))] : []));
  }
  box.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(find, PAUSE_MS);
  });
  return {
    element,
    draw(now: number) {
      const run = tokenRun(state.run);
      element.hidden = !run.words || !canAsk("candidates");
      step = now;
      if (!element.hidden && isNew(run, now)) find();
    },
  };
}

function searchBox() {
  const label = t("candidates.find");
  const names = { id: "find-piece", placeholder: label, "aria-label": label };
  return h("input", { type: "search", class: "text", ...names, autocomplete: "off", maxlength: schema.max_piece });
}

function resultTable(found: FoundCandidate[], force: (token: string) => void) {
  const rows = found.map(({ token, rank, probability, logit }) => {
    const chosen = logit === null ? word(token, "target") : forceButton(token, () => force(token));
    const text = logit === null ? "−∞" : fixed(logit, 2);
    return h("tr", {}, cells([chosen, formatNumber(rank), formatPercent(probability), text]));
  });
  const headings = ["token", "rank", "probability", "logit"].map((name) => t(`candidates.column.${name}`));
  return table({ class: "found-pieces" }, headings, rows);
}
