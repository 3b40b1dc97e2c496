// Attention: every head of a layer small, one large; as heatmap, lines or table; or every head of every layer.

import type { Kind, Run, State, View } from "../../api/types.ts";
import { isLongDrawing, type LineOptions, lineDrawing } from "../../charts/attention-lines.ts";
import {
  cellOf,
  cellTips,
  type DrawnMap,
  describeContribution,
  describeReading,
  describeRow,
  heatmap,
  mapHeading,
  paddingMasked,
  reveal,
  strongestKey,
  zoomControl,
} from "../../charts/attention-map.ts";
import { headGrid } from "../../charts/head-grids.ts";
import { pointInMaps, type Shown } from "../../charts/map-canvas.ts";
import { formatValue, type Word, weightsOfWord } from "../../charts/map-parts.ts";
import { weightTable } from "../../charts/weight-table.ts";
import { argmax } from "../../engine/arrays.ts";
import { isPresenting } from "../../state/address.ts";
import { isAblated } from "../../state/changes.ts";
import { fetchMeasured, measuredRun, movedRows } from "../../state/contributions.ts";
import { joinSentences, t } from "../../state/i18n.ts";
import { failureText } from "../../state/server-cache.ts";
import { attentionRow, state, subscribe, update } from "../../state/state.ts";
import { h, isSpecial, namedChoice, scrollBox, setChildren } from "../../ui/dom.ts";
import { pictureFrame, savable } from "../../ui/export.ts";
import { fixed } from "../../ui/numbers.ts";
import { button, changeDetectors, closest, headPicker, hint, isOpen, kindPicker, onResize } from "../../ui/parts.ts";
import { markHead, markWords, modelView } from "./model-view.ts";

const DRAWING_NAMES = ["heatmap", "lines", "table", "all"] as State["drawing"][];
const MEASURES = ["weight", "contribution"] as State["measure"][];
const FAINT = 0.05; // a weight whose line is left out of a long sentence, until the visitor wants it
const LEAST = 0.01; // the same for all rows, whatever the visitor wants: more lines than a page can have
const MAX_THRESHOLD = 0.5;
const MAX_SHARE = 0.5; // of the screen's height that the map takes in front of a class, which sees all its rows

/** What is chosen in Lines, also when the view is built again; a threshold of null is the usual one. */
const session = { threshold: null as number | null, hasAllRows: false };

/** What the tab shows, with weights or contributions in its maps. */
const seen = () => ({ ...state, run: measuredRun() ?? state.run });

export function mount({ element, signal }: View) {
  const say = h("p", { class: "say", "aria-live": "polite" });
  const kinds = kindPicker();
  const drawings = namedChoice(t("attention.how"), DRAWING_NAMES, "attention", (drawing) => update({ drawing }));
  const measures = namedChoice(t("measure"), MEASURES, "measure", (measure) => update({ measure }));
  const layers = headPicker({ names: ["layer"] });
  const overlay = button("pill toggle", t("attention.gold"), () => update({ gold: !state.gold }), { id: "gold" });
  const open: Open = (place) => {
    update({ ...place, drawing: "heatmap" });
    drawings.element.querySelector<HTMLElement>("[value=heatmap]")?.focus();
  };
  const large = largeMap(open, draw, signal);
  const small = layerMaps();
  for (const name of ["pointerover", "focusin"])
    large.place.addEventListener(name, (event) => small.point(pointedWord(event)));
  for (const name of ["pointerleave", "focusout"]) large.place.addEventListener(name, () => small.point(null));
  let width = 0; // of the large map; 0 until its tab has been open
  let isBehind = false; // something has changed while its tab was closed, where nothing can be scrolled to

  function draw() {
    isBehind = !isOpen(element);
    if (isBehind) return;
    const { run, kind, gold, drawing, measure, step } = seen();
    kinds.set(kind);
    drawings.set(drawing);
    measures.set(measure);
    layers.draw(run.attention[kind]);
    if (!measuredRun()) {
      fetchMeasured().then(draw, (error) => say.replaceChildren(failureText(error))); // what was drawn stays until then
      return;
    }
    const isAligned = kind === "cross" && Boolean(run.reference?.gold);
    overlay.hidden = !isAligned;
    overlay.ariaPressed = String(gold);
    columns.classList.toggle("whole", drawing === "all" || (drawing === "table" && isLongDrawing(run, kind)));
    small.element.hidden = drawing === "all";
    small.draw();
    if (!width) return;
    const row = kind === "encoder" ? null : step;
    const shown = row ?? highestRow(run);
    const drawn = large.draw(width, isAligned && gold, shown);
    drawn.mark(shown);
    large.reveal(shown);
    const said = describe(shown, row === null ? null : run.output[row]);
    const silenced = isAblated(kind, state.layer, state.head, run.changes) ? t("ablation.shown") : "";
    say.replaceChildren(...joinSentences(said, silenced));
    drawn.element.setAttribute("aria-label", say.textContent ?? "");
  }
  const resize = () => {
    const { clientWidth } = large.place;
    if (!clientWidth || (clientWidth === width && !isBehind)) return;
    width = clientWidth;
    if (state.run) draw();
  };

  const space = h("span", { class: "space" });
  const choices = [measures.element, overlay, drawings.element];
  const controls = h("div", { class: "controls" }, kinds.element, layers.element, space, choices);
  const columns = h("div", { class: "columns" }, large.element, small.element);
  element.replaceChildren(say, h("section", { class: "card" }, controls, columns));
  subscribe(element, draw);
  onResize(large.place, resize, signal);
}

function describe(row: number, output: string | null) {
  const shown = seen();
  if (shown.run === state.run) return describeRow(shown, row, output);
  return joinSentences(describeReading(shown, row, output), describeContribution(shown, state.run, row));
}

const fileName = (what: string) => `${state.kind}-layer-${state.layer + 1}-${what}`;

type Open = (place: { layer: number; head: number }) => void;
/** What is drawn large, as a map is; of a long table, its rows to come are drawn by `completeAll`. */
type Drawn = Pick<DrawnMap, "mark" | "reveal" | "zoomRange"> & {
  element: Element;
  map: DrawnMap | null;
  paint?: DrawnMap["paint"];
  completeAll?: () => void;
};

function largeMap(open: Open, redraw: () => void, signal: AbortSignal) {
  const heading = h("h2");
  const large = h("div", { class: "large" });
  const place = scrollBox(large);
  const key = h("p", { class: "hint", hidden: true }, t("attention.gold_key"));
  const scale = hint();
  let drawn = null as Drawn | null;
  const map = () => drawn?.map ?? null;
  const tip = cellTips(large, map, signal);
  const file = () => fileName(state.drawing === "all" ? "all" : `head-${state.head + 1}`);
  const zoom = zoomControl(redraw);
  const lines = lineControls(redraw);
  const tools = h("div", { class: "map-tools" }, zoom.element, lines.element);
  const isNew = changeDetectors();
  large.addEventListener("click", (event) => {
    const cell = cellOf(event, map());
    if (cell && state.kind !== "encoder") update({ step: cell.query });
  });

  addEventListener("beforeprint", () => drawn?.completeAll?.(), { signal });

  /** Only the cells are drawn where the frame stays. */
  function drawPicture(width: number, row: number) {
    const { run, kind, layer, head, drawing, gold } = seen();
    const frame = [run, kind, drawing, gold, width, zoom.value()];
    const shown = drawing === "lines" ? Object.values(lines.options(row)) : [];
    if (!isNew("head", ...frame, layer, head, ...shown)) return;
    heading.replaceChildren(...headingOf(run, kind));
    tip.hidden = true;
    if (!isNew("frame", ...frame) && drawn?.paint) return drawn.paint(layer, head);
    drawn = picture(place, { width, zoom: zoom.value(), ...lines.options(row) }, open);
    large.replaceChildren(drawn.element);
  }

  return {
    element: savable(h("div", { class: "map" }, heading, tools, place, key, scale, tip), large, file),
    place,
    draw(width: number, hasGold: boolean, row: number) {
      key.hidden = !hasGold;
      const shown = seen();
      if (isNew("scale", shown.run, shown.kind)) setChildren(scale, describeScale(shown));
      lines.draw(state.drawing === "lines", row);
      drawPicture(width, row);
      const large = drawn as Drawn;
      zoom.draw(large.zoomRange);
      tools.hidden = zoom.element.hidden && lines.element.hidden;
      return large;
    },
    reveal(row: number) {
      const strongest = strongestKey(seen(), row);
      if (isNew("sight", drawn, row, strongest)) drawn?.reveal(row, strongest);
    },
  };
}

/** What contributions change, what they are, and what their colours mean; of weights nothing. */
function describeScale({ run, kind }: Shown) {
  const maps = run.attention[kind];
  const { layers, heads, most } = maps;
  if (!most) return [];
  const moved = t("contribution.moved", movedRows(state.run.attention[kind], maps));
  const about = t("contribution.about", { layers, heads, most: fixed(most, 2) });
  return joinSentences(moved, about, state.run.pieces ? t("contribution.words") : "");
}

function picture(place: HTMLElement, options: LineOptions, open: Open): Drawn {
  const { run, kind, layer, head, drawing } = seen();
  const chosen = { run, kind, layer, head };
  if (drawing === "heatmap") {
    const maxHeight = isPresenting() ? innerHeight * MAX_SHARE : undefined;
    const map = heatmap(chosen, { ...options, maxHeight });
    return { ...map, map };
  }
  if (drawing === "all") {
    const element = modelView(chosen, open);
    const shown = { element, map: null, zoomRange: null, mark: () => {} };
    const paint = (layer: number, head: number) => markHead(element, run.attention[kind].heads, layer, head);
    return { ...shown, paint, reveal: (row, key) => markWords(element, row, key) };
  }
  const isTable = drawing === "table";
  const table = isTable ? weightTable(chosen) : null;
  const element = table?.element ?? lineDrawing(chosen, options);
  return {
    element,
    map: null,
    zoomRange: !isTable && isLongDrawing(run, kind) ? { canGrow: true } : null,
    completeAll: table?.completeAll,
    mark: (row) => markRow(element, row),
    reveal(row, key) {
      table?.complete(row);
      reveal(place, wordsOf(element, row, key));
    },
  };
}

function headingOf(run: Run, kind: Kind) {
  const { layer, head, drawing } = state;
  if (drawing !== "all") return mapHeading(kind, layer, head, drawing === "lines" ? "attention.axes_lines" : undefined);
  const { layers, heads } = run.attention[kind];
  return mapHeading(kind, layers - 1, heads - 1, "attention.axes_all", { layers, heads });
}

function markRow(picture: Element, query: number | null) {
  for (const [name, rows] of Object.entries({ now: "g[data-query]", marked: "tbody tr" }))
    for (const [i, each] of picture.querySelectorAll(rows).entries()) each.classList.toggle(name, i === query);
}

function wordsOf(drawn: Element, row: number, key: number) {
  if (drawn.matches("table")) {
    const cell = drawn.querySelectorAll("tbody tr")[row]?.children[key + 1];
    const corner = drawn.querySelector("thead td")?.getBoundingClientRect();
    const parts = cell ? [cell.getBoundingClientRect()] : [];
    return { parts, inset: { left: corner?.width ?? 0, top: corner?.height ?? 0 } };
  }
  const words = drawn.querySelectorAll(`g[data-query="${row}"], g[data-key="${key}"]`);
  return { parts: [...words].map((each) => each.getBoundingClientRect()), inset: { left: 0, top: 0 } };
}

function pointedWord(event: Event): Word | null {
  const { query, key } =
    closest(event, "g:is([data-query], [data-key]), th:is([data-query], [data-key])")?.dataset ?? {};
  if (query !== undefined) return { axis: "query", index: Number(query) };
  return key === undefined ? null : { axis: "key", index: Number(key) };
}

function lineControls(redraw: () => void) {
  const output = h("output");
  const oninput = () => {
    session.threshold = slider.valueAsNumber;
    redraw();
  };
  const range = { type: "range", id: "line-threshold", min: 0, max: MAX_THRESHOLD, step: 0.01 };
  const slider = h("input", { ...range, oninput });
  const rows = button("pill toggle", t("attention.all_rows"), () => {
    session.hasAllRows = !session.hasAllRows;
    redraw();
  });
  const isLong = () => isLongDrawing(state.run, state.kind);
  const least = () => (isLong() && session.hasAllRows ? LEAST : 0);
  const usual = (row: number) => {
    const { run, kind, layer, head } = seen();
    const { most = 1 } = run.attention[kind];
    return isLong() ? Math.min(FAINT, Math.max(...attentionRow(kind, layer, head, row, run)) / most / 2) : 0;
  };
  const threshold = (row: number) => Math.max(least(), session.threshold ?? usual(row));
  const label = h("label", { class: "threshold" }, output, slider);
  const element = h("div", { class: "line-controls" }, label, rows);
  return {
    element,
    options: (row: number) => ({ threshold: threshold(row), row: isLong() && !session.hasAllRows ? row : null }),
    draw(isShown: boolean, row: number) {
      element.hidden = !isShown;
      slider.min = String(least());
      slider.value = String(threshold(row));
      const maps = seen().run.attention[state.kind];
      const share = formatValue(threshold(row) * (maps.most ?? 1), maps);
      output.textContent = t(maps.most ? "contribution.threshold" : "attention.threshold", { share });
      slider.ariaLabel = output.textContent; // an output names nothing
      rows.hidden = !isLong();
      rows.ariaPressed = String(session.hasAllRows);
    },
  };
}

function layerMaps() {
  const heading = h("h2");
  const grid = headGrid((head) => update({ head }));
  const about = hint();
  const isNew = changeDetectors();

  function draw() {
    const { run, kind, layer } = seen();
    heading.textContent = t("attention.all_heads", { layer: layer + 1 });
    grid.draw(seen());
    if (!isNew("kind", run, kind)) return;
    about.replaceChildren(...describeKind(run, kind));
    point(null); // what was pointed at is gone
  }
  function point(word: Word | null) {
    const { run, kind, layer } = seen();
    const theirs = weightsOfWord(run, kind, word ?? { axis: "query", index: 0 }, [layer]);
    const { words, open, weights } = theirs;
    const buttons = [...grid.element.children];
    pointInMaps(grid.element, buttons, word, theirs);
    for (const [head, each] of buttons.entries()) {
      const at = argmax(weights[head]);
      const strongest = { head: head + 1, word: words[at], share: formatValue(weights[head][at], run.attention[kind]) };
      const name = open.includes(true) ? t("attention.head_strongest", strongest) : `${head + 1}: ${t("masked")}`;
      setChildren(each.children[1], word ? name : t("head_n", { head: head + 1 }));
    }
  }
  return { element: pictureFrame(grid.element, () => fileName("heads"), [heading, grid.element, about]), draw, point };
}

function describeKind(run: Run, kind: Kind) {
  const causal = run.attention.decoder.allowed.every((row, query) => row.every((open, key) => open === key <= query));
  if (kind === "decoder" && !causal) return [t("attention.about_changed")];
  const hasMaskedPadding = kind === "encoder" && paddingMasked(run, kind);
  return joinSentences(t(`attention.about.${kind}`), hasMaskedPadding ? t("attention.padding") : "");
}

/** The row with the highest weight: what is put into words where no row belongs to the step. */
function highestRow(run: Run) {
  const { kind, layer, head } = state;
  const highest = run.attention[kind].queries.map((token, query) =>
    isSpecial(token) ? 0 : Math.max(...attentionRow(kind, layer, head, query, run)),
  );
  return argmax(highest);
}
