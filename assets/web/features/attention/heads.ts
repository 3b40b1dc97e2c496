// How well each cross-attention head aligns the words, what every head is like, and what a high weight does not prove.

import type { HeadAblation, Heads } from "#schema";
import { canAsk } from "../../api/client.ts";
import { type HeadStream, streamHeads } from "../../api/head-stream.ts";
import { hasTab } from "../../api/schema.ts";
import type { Child, Run, View } from "../../api/types.ts";
import { hasFullyMaskedRow } from "../../charts/attention-map.ts";
import { openCrossHead, scoreGrid } from "../../charts/head-grids.ts";
import { argmax } from "../../engine/arrays.ts";
import { formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { LESSON_STOPS } from "../../state/lesson-plan.ts";
import { askOnce } from "../../state/server-cache.ts";
import { errorRates, hasEnoughGold, headShapes, likelihood, state, stopsWith, update } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";
import { h, keepFocus, scrollBox, setChildren, word } from "../../ui/dom.ts";
import { headProgress } from "../../ui/duration.ts";
import { pictureFrame } from "../../ui/export.ts";
import { button, changeDetector, columnHeading, drawInSight, hint, isOpen, link, table } from "../../ui/parts.ts";

type Head = { layer: number; head: number };
type Column = keyof typeof COLUMNS;
type Row = Head & Record<"entropy" | "distance", number> & Record<"aligned" | "ablated", number | null>;

const HIGH = 0.5; // a weight that stands out on a map

const COLUMNS = {
  layer: (row: Row) => String(row.layer + 1),
  head: (row: Row) => String(row.head + 1),
  entropy: (row: Row) => row.entropy.toFixed(2),
  distance: (row: Row) => row.distance.toFixed(2),
  aligned: (row: Row) => share(row.aligned),
  ablated: (row: Row) => share(row.ablated),
};

const ALWAYS = { layer: true, head: true, entropy: true, distance: true };

const share = (value: number | null) => (value === null ? "–" : formatPercent(value));

export function mount({ element, signal }: View) {
  const alignment = alignmentColumn();
  const every = tableColumn(redraw);
  const columns = h("div", { class: "columns even" }, alignment.element, every.element);
  const section = h("section", { class: "card below" }, columns);
  const answer = headAnswer(redraw);
  const isNew = changeDetector();

  function draw() {
    const { run } = state;
    alignment.draw(answer.heads(), run.model.pieces && !run.changes.length ? answer.progress() : null);
    every.draw(answer.heads());
    mark(section);
  }
  function redraw() {
    keepFocus(section, draw);
  }
  function update() {
    answer.follow(isOpen(element));
    if (isNew(state.run, state.kind)) redraw();
    else mark(section);
  }
  element.replaceChildren(section);
  drawInSight(element, update, signal);
}

/** What the server knows of this run's heads: of a real model it is asked for by a click, and comes as a stream. */
function headAnswer(redraw: () => void) {
  let asked = null as Run | null;
  let answer = null as Heads | null; // about this run
  let stream = null as HeadStream | null; // that the answer comes from

  function start() {
    stream?.stop();
    const { run } = state;
    answer = { held_out: null, ablations: [] };
    const mine = streamHeads("ablations", run, (event) => {
      if (stream !== mine) return; // another run is shown by now
      if (event?.event === "ablated") answer?.ablations.push(...event.ablations);
      redraw();
    });
    stream = mine;
    redraw();
  }
  return {
    heads: () => answer,
    progress: () => {
      if (!canAsk("head_events")) return null;
      return stream ? headProgress(stream, start) : button("pill", t("heads.start"), start, { id: "ablate" });
    },
    async follow(isSeen: boolean) {
      const run = tokenRun(state.run);
      if (asked !== run) {
        stream?.stop();
        [asked, answer, stream] = [null, null, null];
      }
      if (asked || !isSeen || !canAsk("heads")) return;
      asked = run;
      if (run.model.pieces && canAsk("head_events")) {
        answer = { held_out: null, ablations: [] };
        return;
      }
      const { checkpoint, sentence } = run;
      const found = await askOnce("heads", { checkpoint, sentence }).catch(() => null);
      if (tokenRun(state.run) !== run) return; // another is shown by now
      answer = found;
      if (!found) asked = null; // the next change asks again
      redraw();
    },
  };
}

function mark(section: Element) {
  for (const each of section.querySelectorAll<HTMLElement>("[data-layer]")) {
    const isChosen = Number(each.dataset.layer) === state.layer && Number(each.dataset.head) === state.head;
    if (each.matches(".score")) each.setAttribute("aria-pressed", String(state.kind === "cross" && isChosen));
    else each.classList.toggle("marked", isChosen);
    each.querySelector("button")?.setAttribute("aria-current", String(isChosen));
  }
}

// ---- what every head aligns, and what that does not prove ----

function alignmentColumn() {
  const here = h("div", { class: "scores" });
  const heldOut = h("div", { class: "scores" });
  const scores = h("div", { class: "pair-of-scores" }, here, heldOut);
  const about = hint();
  const verdict = h("p", { id: "ablation", "aria-live": "polite" });
  const figure = pictureFrame(scores, () => "alignment-of-heads");
  const proof = canAsk("heads")
    ? [h("h2", { class: "later" }, t("heads.proof")), h("p", {}, t("heads.limits")), verdict]
    : null;
  return {
    element: h("div", {}, h("h2", {}, t("heads.title")), figure, about, proof),
    draw(answer: Heads | null, progress: Child) {
      const { run } = state;
      const rates = errorRates(run);
      const elsewhere = answer?.held_out ?? null;
      about.hidden = run.model.pieces; // which has no scores
      about.replaceChildren(...joinSentences(t("heads.about"), rates && !hasEnoughGold(run) ? t("heads.luck") : ""));
      const grid = rates ? errorGrid(rates, "here") : hint(whyNoScores(run));
      here.replaceChildren(h("h3", {}, t("heads.here")), grid);
      heldOut.hidden = (Boolean(answer) || !canAsk("heads")) && !elsewhere;
      const heading = run.changes.length ? "heads.there_original" : "heads.there_count";
      const title = h("h3", {}, elsewhere ? t(heading, { count: elsewhere.sentences }) : t("heads.there"));
      heldOut.replaceChildren(title, elsewhere ? errorGrid(elsewhere.error_rates, "there") : hint("…"));
      const waiting = run.changes.length ? t("ablation.changed") : canAsk("heads") ? "…" : "";
      const isKnown = answer && !run.changes.length;
      const found = isKnown && answer.ablations.length ? describeAblation(run, answer.ablations) : [];
      setChildren(verdict, isKnown ? found : waiting, found.length ? " " : "", progress);
    },
  };
}

function errorGrid(rates: number[][], name: string) {
  const aligned = rates.map((row) => row.map((rate) => 1 - rate));
  return scoreGrid(aligned, name);
}

function whyNoScores({ model, reference }: Run) {
  const stop = LESSON_STOPS.indexOf("align");
  const openAlignment = () => update({ tab: "lesson", stop, stops: stopsWith(stop) });
  if (model.pieces && !hasTab("lesson")) return t("heads.real");
  if (model.pieces) return [t("heads.real"), " ", link(t("heads.draw"), openAlignment)];
  if (!reference) return t("heads.unknown");
  return reference.aligned ? t("heads.mistaken", { right: reference.text }) : t("heads.unaligned");
}

/** The highest weight of a head that changes nothing; without one, of those with a high weight what matters least. */
function describeAblation(run: Run, ablations: HeadAblation[]) {
  const { text } = run;
  const high = ablations.filter((each) => each.weight >= HIGH);
  const idle = high.filter((each) => each.text === text);
  const count = ablations.filter((each) => each.text === text).length;
  const all = nodes("ablation.all", { heads: ablations.length, count });
  if (!high.length) return joinSentences(nodes("ablation.none", { share: formatPercent(HIGH) }), all);
  const likeliest = high[argmax(high.map(({ probability }) => probability))];
  const each = idle.length ? idle[argmax(idle.map(({ weight }) => weight))] : likeliest;
  const name = t("heads.name", { layer: each.layer + 1, head: each.head + 1 });
  const places = {
    head: link(name, () => openCrossHead(each.layer, each.head)),
    share: formatPercent(each.weight),
    word: word(tokenRun(run).source[each.key], "source"),
    output: word(tokenRun(run).output[each.query], "target"),
    text: word(each.text, "target"),
    baseline: formatPercent(likelihood(run)),
    left: formatPercent(each.probability),
  };
  const key = places.baseline === places.left ? "ablation.idle_stays" : "ablation.idle";
  return joinSentences(nodes(idle.length ? key : "ablation.needed", places), all);
}

// ---- what every head is like ----

/** A distance is of the tokens that the maps show. */
const columnName = (name: Column) =>
  name === "distance" && state.run.model.pieces && !state.run.pieces
    ? "heads.column.distance_pieces"
    : `heads.column.${name}`;

function tableColumn(redraw: () => void) {
  const heading = h("h2");
  const place = scrollBox();
  const about = hint();
  let sort = { by: "layer" as Column, down: false };
  const sortHeading = (name: Column) => {
    const { by, down } = sort;
    const onclick = () => {
      sort = { by: name, down: by === name ? !down : !["layer", "head"].includes(name) };
      redraw();
    };
    const sorter = button(null, t(columnName(name)), onclick, { "data-by": name, "data-place": name });
    return columnHeading(sorter, { "aria-sort": by === name ? (down ? "descending" : "ascending") : "none" });
  };
  return {
    element: pictureFrame(place, () => `${state.kind}-heads`, [heading, place, about]),
    draw(answer: Heads | null) {
      const { run, kind } = state;
      const hasAblations = kind === "cross" && !run.changes.length && canAsk("heads"); // each was ablated in the run without changes
      const isShown = { ...ALWAYS, aligned: kind === "cross" && !run.model.pieces, ablated: hasAblations };
      const columns = (Object.keys(COLUMNS) as Column[]).filter((name) => isShown[name]);
      if (!columns.includes(sort.by)) sort = { by: "layer", down: false };
      const { by, down } = sort;
      const rows = headRows(run, answer).sort(
        (a, b) => (down ? -1 : 1) * (Number(a[by]) - Number(b[by])) || a.layer - b.layer || a.head - b.head,
      );
      const key = hasAblations ? "heads.about_table_cross" : "heads.about_table";
      const baseline = formatPercent(likelihood(run));
      const masked = hasFullyMaskedRow(run, kind) ? t("heads.fully_masked") : "";
      about.replaceChildren(...joinSentences(t(key, { baseline }), masked));
      heading.textContent = t(`heads.every.${kind}`);
      const tableRows = rows.map((row) => tableRow(row, columns));
      place.replaceChildren(table({ class: "sortable" }, columns.map(sortHeading), tableRows));
    },
  };
}

function headRows(run: Run, answer: Heads | null): Row[] {
  const isCross = state.kind === "cross";
  const rates = isCross ? errorRates(run) : null;
  return headShapes(run.attention[state.kind]).map((row) => {
    const isRow = ({ layer, head }: Head) => layer === row.layer && head === row.head;
    const ablation = isCross ? answer?.ablations.find(isRow) : undefined;
    return { ...row, aligned: rates && 1 - rates[row.layer][row.head], ablated: ablation?.probability ?? null };
  });
}

/** A row is clicked anywhere; the keyboard has a button in it. */
function tableRow(row: Row, columns: Column[]) {
  const { layer, head } = row;
  const name = t("heads.name", { layer: layer + 1, head: head + 1 });
  const place = `row ${layer} ${head}`;
  const opener = h("button", { type: "button", "aria-label": name, "data-place": place }, COLUMNS.head(row));
  const cells = columns.map((column) => h("td", {}, column === "head" ? opener : COLUMNS[column](row)));
  return h("tr", { onclick: () => update({ layer, head }), "data-layer": layer, "data-head": head }, cells);
}
