// The visitor's own sentence pairs: a table to type and paste into, or a file. They stay when the view is built again.

import type { BadRow } from "#schema";
import { encodeBytes } from "../../api/bytes.ts";
import { api, type Refused, reasonOf } from "../../api/client.ts";
import { assetAddress } from "../../api/schema.ts";
import { readSession, saveOnLeave } from "../../api/session.ts";
import type { Child, Message, Side } from "../../api/types.ts";
import { formatMessage, formatNumber, nodes, t } from "../../state/i18n.ts";
import { h, word } from "../../ui/dom.ts";
import { button, closest, columnHeading, link, rowHeading, setContent, table } from "../../ui/parts.ts";

/** A file and whether its first row is a heading; null to find out. */
type PairFile = { name: string; base64: string; header: boolean | null };
type Answer = { pairs?: string[][]; bad?: BadRow[]; header?: boolean; error?: Message };

const PAGE_ROWS = 20;
const MAX_LISTED = 5; // rows that cannot be used, with their reasons
const PAUSE_MS = 250;
const FILE_TYPES = ".csv,.tsv,.txt,text/csv,text/tab-separated-values";
const SIDES = ["source", "target"] as Side[];
const SESSION_KEY = "attention-bitte-pairs";
const emptyRow = () => ["", ""];

const own = {
  rows: [emptyRow(), emptyRow(), emptyRow()],
  file: null as PairFile | null, // while the table is what a file held
  refused: [] as BadRow[], // of the file
  pairs: [] as string[][], // that can be used
  bad: [] as BadRow[], // of the table
  agreed: true, // to go on without the rows that cannot be used
  fault: null as string | null, // why a file could not be read
  firstRow: 0, // that is shown
  taught: "", // the sentence that the first row is to translate
  isRestored: false,
};
let asked = 0; // questions to the server: only the latest is heard

export const ownPairs = () => own.pairs;
export const unsettledPairs = () => (own.agreed ? 0 : own.refused.length + own.bad.length);

/** The sentence that a model is to learn and that has no translation yet; "" for none. */
export const untranslated = () => (own.rows.some(isUntranslated) ? own.taught : "");
const isTaught = ([source]: string[]) => own.taught !== "" && source === own.taught;
const isUntranslated = (row: string[]) => isTaught(row) && !row[1].trim();
const isFilled = (row: string[]) => row.some((text) => text.trim());

/** After a reload the table is the visitor's own: a file has to be opened again to be read otherwise. */
function restore() {
  if (own.isRestored) return;
  own.isRestored = true;
  const before = readSession(SESSION_KEY);
  if (Array.isArray(before?.rows) && before.rows.length) Object.assign(own, before);
  const saved = () => ({ rows: own.rows, refused: own.refused, agreed: own.agreed, bad: own.bad, taught: own.taught });
  saveOnLeave(SESSION_KEY, saved);
}

/** Begin the table with a sentence to translate; what the visitor has typed stays, and other pairs follow. */
export function teachSentence(sentence: string, pairs: string[][]) {
  restore();
  const typed = own.rows.filter((row) => isFilled(row) && row[0] !== sentence && !isUntranslated(row));
  const known = new Set(typed.map(([source]) => source));
  const others = pairs.filter(([source]) => !known.has(source) && source !== sentence).map((pair) => [...pair]);
  const translation = own.rows.find(([source]) => source === sentence)?.[1] ?? "";
  const rows = [[sentence, translation], ...typed, ...others, emptyRow()];
  Object.assign(own, { rows, taught: sentence, file: null, fault: null, firstRow: 0 });
}

/** The table and all that belongs to it. `changed()` is called when there are other pairs, or other faults in them. */
export function pairEditor(maxBytes: number, changed: () => void, signal: AbortSignal) {
  restore();
  const fill = link(t("train.pairs.fill"), async () => {
    const more = await french();
    replaceRows([...own.rows.filter(isFilled), ...more]); // with what has been typed meanwhile
  });
  const clear = link(t("train.pairs.clear"), () => replaceRows([emptyRow(), emptyRow()]));
  const readAgain = () => own.file && check({ ...own.file, header: tick.checked });
  const tick = h("input", { type: "checkbox", id: "train-header", onchange: readAgain });
  const heading = h("label", { class: "heading-tick" }, tick, " ", t("train.pairs.header"));
  const editor = editorParts();
  editor.controls.append(...fileOpener(editor.element, open), fill, clear, heading);

  function draw() {
    editor.body.replaceChildren(...shownRows().map(tableRow));
    drawFindings();
  }
  function drawFindings() {
    clear.hidden = !own.rows.some(isFilled);
    heading.hidden = !own.file; // whose first row it may be
    tick.checked = Boolean(own.file?.header);
    drawPager(editor.pager, draw);
    markFindings(editor, agree);
  }
  function agree() {
    own.agreed = true;
    drawFindings();
    changed();
  }
  function edited() {
    own.file = null; // the table is the visitor's from now on; what the file had refused stays refused
    drawFindings();
    check();
  }
  function replaceRows(rows: string[][]) {
    Object.assign(own, { rows: [...rows, emptyRow()], firstRow: 0, refused: [], fault: null });
    replaced();
  }
  function replaced() {
    edited();
    draw();
  }
  async function open(file: File) {
    own.fault = file.size > maxBytes ? t("pairs.too_large", { most: maxBytes / 2 ** 20 }) : null;
    if (own.fault) drawFindings();
    else check({ name: file.name, base64: await asBase64(file), header: null });
  }
  async function check(chosen: PairFile | null = null) {
    if (!(await ask(chosen)) || signal.aborted) return;
    (chosen ? draw : drawFindings)();
    changed();
  }
  reactToTable(editor.body, edited, draw);
  document.addEventListener("train:taught", replaced, { signal });
  draw();
  if (!own.file && own.rows.some(isFilled)) check(); // the view before may have ended before it could
  return editor.element;
}

function editorParts() {
  const headings = SIDES.map((side) => columnHeading(word(t(`train.pairs.${side}`), side)));
  const pairs = table({ class: "pairs", "data-field": "pairs" }, [h("td"), ...headings, h("td")], []);
  const controls = h("div", { class: "controls" });
  const lesson = h("p", { class: "lead" });
  const found = h("div", { class: "found", id: "train-found", "data-field": "rows", "aria-live": "polite" });
  const pager = h("div", { class: "pager" });
  const about = h("p", { class: "hint" }, t("train.pairs.about"));
  const element = h("div", { class: "editor" }, controls, lesson, found, pairs, pager, about);
  return { element, controls, lesson, found, body: pairs.tBodies[0], pager };
}

function markFindings({ lesson, found, body }: ReturnType<typeof editorParts>, agree: () => void) {
  const isTeaching = own.rows.some(isTaught);
  setContent(lesson, isTeaching ? nodes("train.teach", { sentence: word(own.taught, "source") }) : null);
  const wrong = new Set(own.bad.map(({ row }) => row - 1));
  for (const row of body.rows) row.classList.toggle("wrong", wrong.has(Number(row.dataset.row)));
  setContent(found, describeFindings(agree));
}

// ---- the table ----

const pairCount = () => own.rows.length - 1;

function shownRows() {
  const count = pairCount();
  own.firstRow = Math.min(own.firstRow, Math.max(0, Math.floor((count - 1) / PAGE_ROWS) * PAGE_ROWS));
  const end = own.firstRow + PAGE_ROWS;
  return [...own.rows.keys()].slice(own.firstRow, end < count ? end : undefined);
}

function tableRow(i: number) {
  const cells = SIDES.map((side, column) => {
    const label = t(`train.pairs.${side}_of`, { row: i + 1 });
    const place = { "data-row": i, "data-column": column };
    const placeholder = column === 1 && isTaught(own.rows[i]) ? t("train.teach.translation") : null;
    const content = { value: own.rows[i][column], "aria-label": label, placeholder };
    return h("td", {}, h("input", { type: "text", class: side, ...content, ...place }));
  });
  const title = t("train.pairs.remove", { row: i + 1 });
  const remove = h("button", { type: "button", class: "remove", "aria-label": title, title }, "×");
  return h("tr", { "data-row": i }, rowHeading(formatNumber(i + 1)), cells, h("td", {}, remove));
}

function reactToTable(body: HTMLTableSectionElement, edited: () => void, draw: () => void) {
  const placeOf = (event: Event) => {
    const { row, column } = (event.target as HTMLElement).dataset;
    return column === undefined ? null : { row: Number(row), column: Number(column) };
  };
  const focusCell = (row: number, column: number) =>
    body.querySelector<HTMLElement>(`[data-row="${row}"][data-column="${column}"]`)?.focus();
  const redraw = (row: number, column: number) => {
    const last = own.rows.at(-1);
    if (!last || isFilled(last)) own.rows.push(emptyRow()); // which waits to be filled
    edited();
    draw();
    focusCell(Math.min(row, pairCount()), column);
  };
  body.addEventListener("input", (event) => {
    const cell = placeOf(event);
    if (!cell) return;
    const { value } = event.target as HTMLInputElement;
    own.rows[cell.row][cell.column] = value;
    if (value && cell.row === pairCount()) body.append(tableRow(own.rows.push(emptyRow()) - 1));
    edited();
  });
  body.addEventListener("click", (event) => {
    const row = closest(event, ".remove")?.closest("tr")?.dataset.row;
    if (row === undefined) return;
    own.rows.splice(Number(row), 1);
    redraw(Number(row), 0);
  });
  body.addEventListener("keydown", (event) => {
    const cell = placeOf(event);
    const by = { Enter: 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!cell || !by || event.isComposing) return;
    event.preventDefault();
    focusCell(cell.row + by, cell.column);
  });
  body.addEventListener("paste", (event) => {
    const cell = placeOf(event);
    const text = event.clipboardData?.getData("text") ?? "";
    if (!cell || !/[\t\n]/.test(text.trim())) return; // one cell: as everywhere
    event.preventDefault();
    const lines = text.replace(/[\r\n]+$/, "").split(/\r\n?|\n/);
    lines.forEach((line, i) => {
      const texts = line.split("\t");
      const last = SIDES.length - cell.column - 1;
      if (texts.length > last) texts.splice(last, texts.length, texts.slice(last).join(" ").trim()); // a third column is seen
      own.rows[cell.row + i] ??= emptyRow();
      own.rows[cell.row + i].splice(cell.column, texts.length, ...texts);
    });
    redraw(cell.row + lines.length, cell.column);
  });
}

/** Ten pairs in which an adjective changes its place, so that heads have to cross. */
async function french() {
  const text = await (await fetch(assetAddress("/french.tsv"))).text();
  const [, ...lines] = text.trim().split("\n");
  return lines.map((line) => line.split("\t"));
}

function drawPager(pager: HTMLElement, draw: () => void) {
  const count = pairCount();
  pager.hidden = count <= PAGE_ROWS;
  const open = (first: number) => {
    own.firstRow = first;
    draw();
  };
  const turn = (name: string, to: number) =>
    button("pill", t(`train.pairs.${name}`), () => open(to), { disabled: to < 0 || to >= count });
  const places = { from: own.firstRow + 1, to: Math.min(own.firstRow + PAGE_ROWS, count), count };
  const shown = h("span", {}, t("train.pairs.shown", places));
  pager.replaceChildren(turn("back", own.firstRow - PAGE_ROWS), shown, turn("next", own.firstRow + PAGE_ROWS));
}

// ---- a file ----

function fileOpener(editor: HTMLElement, open: (file: File) => void) {
  const input = h("input", { type: "file", class: "visually-hidden", id: "train-file", accept: FILE_TYPES });
  input.addEventListener("change", () => {
    if (input.files?.[0]) open(input.files[0]);
    input.value = ""; // so that the same file can be opened again when it has been corrected
  });
  editor.addEventListener("dragover", (event) => {
    event.preventDefault();
    editor.classList.add("over");
  });
  editor.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && editor.contains(relatedTarget))) editor.classList.remove("over");
  });
  editor.addEventListener("drop", (event) => {
    event.preventDefault();
    editor.classList.remove("over");
    if (event.dataTransfer?.files[0]) open(event.dataTransfer.files[0]);
  });
  return [input, h("label", { class: "pill file", for: "train-file" }, t("train.pairs.open"))];
}

const asBase64 = async (file: File) => encodeBytes(new Uint8Array(await file.arrayBuffer()));

// ---- what the server finds ----

/** Ask about the rows of a file, which become the table, or of the table (null). Returns whether it is heard. */
async function ask(file: PairFile | null) {
  asked += 1;
  const mine = asked;
  if (!file) await new Promise((done) => setTimeout(done, PAUSE_MS)); // somebody types
  if (mine !== asked) return false;
  const filled = [...own.rows.keys()].filter((i) => isFilled(own.rows[i]) && !isUntranslated(own.rows[i]));
  const question = file ? { file: file.base64, header: file.header } : { rows: filled.map((i) => own.rows[i]) };
  const refused = (error: unknown) => ({ ...((error as Refused).answer as Answer), error: reasonOf(error) });
  const answering = file || filled.length ? api.pairs(question).catch(refused) : {};
  const { pairs = [], bad = [], header = file?.header ?? null, error } = (await answering) as Answer;
  if (mine !== asked) return false;
  Object.assign(own, { pairs, fault: error ? formatMessage(error) : null });
  if (file) {
    const rows = [...pairs.map((pair) => [...pair]), emptyRow()];
    const agreed = !bad.length;
    Object.assign(own, { rows, firstRow: 0, bad: [], refused: bad, agreed, file: { ...file, header } });
  } else {
    const found = bad.map(({ row, message }) => ({ row: filled[row - 1] + 1, message }));
    if (JSON.stringify(own.bad) !== JSON.stringify(found)) own.agreed = !(found.length + own.refused.length);
    own.bad = found;
  }
  return true;
}

function describeFindings(agree: () => void) {
  const { file, fault, pairs, agreed } = own;
  const refused = [...own.refused, ...own.bad];
  const count = pairs.length;
  const key = file?.header ? "train.pairs.file_with" : "train.pairs.file_without";
  const findings: Child[] = [
    fault && h("p", { class: "problem" }, fault),
    file && count ? h("p", {}, t(key, { name: file.name, count })) : null,
  ];
  if (!refused.length) return findings;
  const reasons = refused
    .slice(0, MAX_LISTED)
    .map(({ row, message }) => h("li", {}, t("train.pairs.row", { row, why: formatMessage(message) })));
  const rest = refused.length - reasons.length;
  if (rest) reasons.push(h("li", {}, t("train.pairs.and_more", { rest })));
  const title = t(agreed ? "train.pairs.left_out" : "train.pairs.bad", { count: refused.length });
  const others = t("train.pairs.use_others", { count });
  const useOthers = !agreed && count ? button("pill primary", others, agree, { id: "train-use-others" }) : null;
  return [findings, h("p", { class: agreed ? "" : "problem" }, title), h("ul", {}, reasons), useOthers];
}
