// The visitor's own sentence pairs: a table to type and paste into, or a file. They outlive every mounting.

import { h, word } from "../core/dom.js";
import { formatMessage, formatNumber, t } from "../core/i18n.js";
import { button, link, rowHeading, table } from "../core/parts.js";
import { readSession, saveOnLeave } from "../net/session.js";

/** @import { BadRow } from "#schema" */
/** @import { Message, Server, Side } from "../core/types.d.ts" */
/**
 * A file and whether its first row is a heading; null to find out.
 * @typedef {{ name: string, base64: string, header: boolean | null }} PairFile
 */
/** @typedef {{ pairs?: string[][], bad?: BadRow[], header?: boolean, error?: Message }} Answer */
/** @typedef {ReturnType<typeof build>} Parts */

const PAGE_ROWS = 20;
const MAX_LISTED = 5; // rows that cannot be used, with their reasons
const PAUSE_MS = 250;
const MAX_FILE_BYTES = 2 ** 22;
/** @type {Side[]} */
const SIDES = ["source", "target"];
const SESSION_KEY = "attention-bitte-pairs";
const emptyRow = () => ["", ""];

/** What the table holds, and what the server has found in it. */
const own = {
  rows: [emptyRow(), emptyRow(), emptyRow()],
  file: /** @type {PairFile | null} */ (null), // while the table is what a file held
  refused: /** @type {BadRow[]} */ ([]), // of the file
  pairs: /** @type {string[][]} */ ([]), // that can be used
  bad: /** @type {BadRow[]} */ ([]), // of the table
  agreed: true, // to go on without the rows that cannot be used
  fault: /** @type {string | null} */ (null), // why a file could not be read
  firstRow: 0, // that is shown
  isRestored: false,
};

export const ownPairs = () => own.pairs;
export const unsettledPairs = () => (own.agreed ? 0 : own.refused.length + own.bad.length);

/** @param {string[]} row */
const isFilled = (row) => row.some((text) => text.trim());

/**
 * After a reload the table is the visitor's own; the file that it came from has to be opened again to be read
 * otherwise.
 */
function restore() {
  if (own.isRestored) return;
  own.isRestored = true;
  const before = readSession(SESSION_KEY);
  if (Array.isArray(before?.rows) && before.rows.length) Object.assign(own, before);
  saveOnLeave(SESSION_KEY, () => ({ rows: own.rows, refused: own.refused, agreed: own.agreed, bad: own.bad }));
}

/**
 * The table and all that belongs to it. `changed()` is called when there are other pairs, or other faults in them.
 * @param {{ server: Server, changed: () => void, signal: AbortSignal }} options
 */
export function pairEditor({ server, changed, signal }) {
  restore();
  const parts = build(server, changed);
  reactToTable(parts);
  reactToFiles(parts);
  signal.addEventListener("abort", () => clearTimeout(parts.timer));
  draw(parts);
  if (!own.file && own.rows.some(isFilled)) check(parts); // the mounting before may have ended before it could
  return parts.element;
}

/** @param {Server} server @param {() => void} changed */
function build(server, changed) {
  const headings = SIDES.map((side) => h("th", { scope: "col" }, word(t(`train.pairs.${side}`), side)));
  const pairs = table({ class: "pairs", "data-field": "pairs" }, [h("td"), ...headings, h("td")], []);
  const file = h("input", {
    type: "file",
    class: "visually-hidden",
    id: "train-file",
    accept: ".csv,.tsv,.txt,text/csv,text/tab-separated-values",
  });
  const header = h("input", { type: "checkbox", id: "train-header" });
  const headerLabel = h("label", { class: "heading-tick", hidden: true }, header, " ", t("train.pairs.header"));
  const clear = link(t("train.pairs.clear"), () => {
    replaceRows(parts, [emptyRow(), emptyRow(), emptyRow()]);
  });
  const fill = link(t("train.pairs.fill"), () => {
    addFrench(parts);
  });
  const pager = h("div", { class: "pager" });
  const found = h("div", { class: "found", id: "train-found", "data-field": "rows", "aria-live": "polite" });
  const controls = [
    file,
    h("label", { class: "pill file", for: "train-file" }, t("train.pairs.open")),
    fill,
    clear,
    headerLabel,
  ];
  const element = h(
    "div",
    { class: "editor" },
    h("div", { class: "controls" }, controls),
    found,
    pairs,
    pager,
    h("p", { class: "hint" }, t("train.pairs.about")),
  );
  const parts = {
    ...{ server, changed, element, pairs, body: pairs.tBodies[0], file, header, headerLabel, clear, pager, found },
    foundShown: "",
    timer: /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined),
    asked: 0, // questions to the server: only the latest is heard
  };
  return parts;
}

// ---- the table ----

/** @param {Parts} parts @param {number} i */
function tableRow(parts, i) {
  const cell = (/** @type {Side} */ side, /** @type {number} */ column) => {
    const input = h("input", {
      type: "text",
      class: side,
      value: own.rows[i][column],
      "aria-label": t(`train.pairs.${side}_of`, { row: i + 1 }),
      "data-row": i,
      "data-column": column,
    });
    input.addEventListener("input", () => onType(parts, i, column, input.value));
    return h("td", {}, input);
  };
  const title = t("train.pairs.remove", { row: i + 1 });
  const remove = button("remove", "×", () => removeRow(parts, i), { "aria-label": title, title });
  return h("tr", { "data-row": i }, rowHeading(formatNumber(i + 1)), SIDES.map(cell), h("td", {}, remove));
}

/** @param {Parts} parts @param {number} row @param {number} column @param {string} text */
function onType(parts, row, column, text) {
  own.rows[row][column] = text;
  if (row === own.rows.length - 1 && text) {
    own.rows.push(emptyRow());
    parts.body.append(tableRow(parts, row + 1));
  }
  onEdit(parts);
}

/** The last row waits to be filled. */
function ensureEmptyRow() {
  const last = own.rows.at(-1);
  if (!last || isFilled(last)) own.rows.push(emptyRow());
}

/** @param {Parts} parts @param {number} row */
function removeRow(parts, row) {
  own.rows.splice(row, 1);
  ensureEmptyRow();
  onEdit(parts);
  draw(parts);
  focusCell(parts, Math.min(row, own.rows.length - 1), 0);
}

/** @param {Parts} parts @param {string[][]} rows */
function replaceRows(parts, rows) {
  Object.assign(own, { rows, firstRow: 0, file: null, refused: [], fault: null });
  onEdit(parts);
  draw(parts);
}

/** @param {Parts} parts @param {number} row @param {number} column */
const focusCell = ({ body }, row, column) =>
  /** @type {HTMLElement | null} */ (body.querySelector(`[data-row="${row}"][data-column="${column}"]`))?.focus();

/**
 * Enter and the arrows move to another row; what is pasted from a spreadsheet fills several cells.
 * @param {Parts} parts
 */
function reactToTable(parts) {
  const cellOf = (/** @type {Event} */ { target }) => {
    const { row, column } = /** @type {HTMLElement} */ (target).dataset;
    return column === undefined ? null : { row: Number(row), column: Number(column) };
  };
  parts.pairs.addEventListener("keydown", (event) => {
    const cell = cellOf(event);
    const by = { Enter: 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!cell || !by || event.isComposing) return;
    event.preventDefault();
    focusCell(parts, cell.row + by, cell.column);
  });
  parts.pairs.addEventListener("paste", (event) => {
    const cell = cellOf(event);
    const text = event.clipboardData?.getData("text") ?? "";
    if (!cell || !/[\t\n]/.test(text.trim())) return; // one cell: as everywhere
    event.preventDefault();
    const lines = text.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n");
    lines.forEach((line, i) => {
      own.rows[cell.row + i] ??= emptyRow();
      const texts = line.split("\t").slice(0, SIDES.length - cell.column);
      own.rows[cell.row + i].splice(cell.column, texts.length, ...texts);
    });
    ensureEmptyRow();
    onEdit(parts);
    draw(parts);
    focusCell(parts, Math.min(cell.row + lines.length, own.rows.length - 1), cell.column);
  });
}

/** Ten pairs in which an adjective changes its place, so that heads have to cross. @param {Parts} parts */
async function addFrench(parts) {
  const text = await (await fetch(new URL("../../french.tsv", import.meta.url))).text();
  const [, ...lines] = text.trim().split("\n");
  replaceRows(parts, [...own.rows.filter(isFilled), ...lines.map((line) => line.split("\t")), emptyRow()]);
}

// ---- a file ----

/** @param {Parts} parts */
function reactToFiles(parts) {
  const { element, file, header } = parts;
  const open = (/** @type {FileList | null | undefined} */ files) => files?.[0] && openFile(parts, files[0]);
  file.addEventListener("change", () => open(file.files));
  header.addEventListener("change", () => own.file && readPairs(parts, { ...own.file, header: header.checked }));
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    element.classList.add("over");
  });
  element.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && element.contains(relatedTarget))) element.classList.remove("over");
  });
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    element.classList.remove("over");
    open(event.dataTransfer?.files);
  });
}

/** @param {Parts} parts @param {File} chosen */
async function openFile(parts, chosen) {
  if (chosen.size > MAX_FILE_BYTES) {
    own.fault = t("train.pairs.too_large", { size: MAX_FILE_BYTES / 2 ** 20 });
    draw(parts);
    return;
  }
  const bytes = new Uint8Array(await chosen.arrayBuffer());
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  parts.file.value = ""; // so that the same file can be opened again when it has been corrected
  readPairs(parts, { name: chosen.name, base64, header: null });
}

/** @returns {Answer} */
const noAnswer = () => ({ error: { key: "error.no_answer", values: {}, english: "" } });

/** The table becomes what the file holds. @param {Parts} parts @param {PairFile} file */
async function readPairs(parts, { name, base64, header }) {
  const answer = /** @type {Answer} */ (await parts.server.pairs({ file: base64, header }).catch(noAnswer));
  clearTimeout(parts.timer);
  parts.asked += 1;
  const { pairs = [], bad = [], error } = answer;
  Object.assign(own, {
    rows: [...pairs.map((pair) => [...pair]), emptyRow()],
    firstRow: 0,
    pairs,
    bad: [],
    refused: bad,
    agreed: !bad.length,
    fault: error ? formatMessage(error) : null,
    file: { name, base64, header: answer.header ?? header },
  });
  draw(parts);
  parts.changed();
}

// ---- what the server finds in the table ----

/** @param {Parts} parts */
function onEdit(parts) {
  own.file = null; // the table is the visitor's from now on; what the file had refused stays refused
  clearTimeout(parts.timer);
  parts.timer = setTimeout(() => check(parts), PAUSE_MS);
  drawFindings(parts);
}

/** @param {Parts} parts */
async function check(parts) {
  parts.asked += 1;
  const { asked } = parts;
  const numbers = own.rows.flatMap((row, i) => (isFilled(row) ? [i] : []));
  const question = { rows: numbers.map((i) => own.rows[i]) };
  const answer = /** @type {Answer} */ (numbers.length ? await parts.server.pairs(question).catch(noAnswer) : {});
  if (asked !== parts.asked) return;
  const bad = (answer.bad ?? []).map(({ row, message }) => ({ row: numbers[row - 1] + 1, message }));
  const isKnown = JSON.stringify(own.bad) === JSON.stringify(bad);
  const fault = answer.error ? formatMessage(answer.error) : null;
  Object.assign(own, { pairs: answer.pairs ?? [], bad, fault });
  if (!isKnown) own.agreed = !(bad.length + own.refused.length);
  drawFindings(parts);
  parts.changed();
}

// ---- drawing ----

/** @param {Parts} parts */
function draw(parts) {
  const count = own.rows.length - 1; // without the row that waits to be filled
  own.firstRow = Math.min(own.firstRow, Math.max(0, Math.floor((count - 1) / PAGE_ROWS) * PAGE_ROWS));
  const isLastPage = own.firstRow + PAGE_ROWS >= count;
  const rows = isLastPage ? own.rows.length - own.firstRow : PAGE_ROWS;
  parts.body.replaceChildren(...Array.from({ length: rows }, (_, i) => tableRow(parts, own.firstRow + i)));
  drawFindings(parts);
}

/** @param {Parts} parts */
function drawFindings(parts) {
  const { clear, header, headerLabel, body, found } = parts;
  drawPager(parts);
  clear.hidden = !own.rows.some(isFilled);
  headerLabel.hidden = !own.file;
  header.checked = Boolean(own.file?.header);
  const wrong = new Set(own.bad.map(({ row }) => row - 1));
  for (const row of body.rows) row.classList.toggle("wrong", wrong.has(Number(row.dataset.row)));
  const findings = describeFindings(parts);
  const shown = findings.map((each) => each.textContent).join("\n");
  if (parts.foundShown === shown) return; // what is new is read aloud
  parts.foundShown = shown;
  found.replaceChildren(...findings);
}

/** @param {Parts} parts */
function drawPager(parts) {
  const { pager } = parts;
  const count = own.rows.length - 1;
  const turn = (/** @type {string} */ name, /** @type {number} */ to) => {
    const open = () => {
      own.firstRow = to;
      draw(parts);
    };
    return button("pill", t(`train.pairs.${name}`), open, { disabled: to < 0 || to >= count });
  };
  const places = { from: own.firstRow + 1, to: Math.min(own.firstRow + PAGE_ROWS, count), count };
  pager.hidden = count <= PAGE_ROWS;
  pager.replaceChildren(
    turn("back", own.firstRow - PAGE_ROWS),
    h("span", {}, t("train.pairs.shown", places)),
    turn("next", own.firstRow + PAGE_ROWS),
  );
}

/** @param {Parts} parts */
function describeFindings(parts) {
  const { file, fault, pairs, agreed } = own;
  const refused = [...own.refused, ...own.bad];
  const findings = [];
  if (fault) findings.push(h("p", { class: "problem" }, fault));
  if (file && pairs.length) {
    const key = file.header ? "train.pairs.file_with" : "train.pairs.file_without";
    findings.push(h("p", {}, t(key, { name: file.name, count: pairs.length })));
  }
  if (!refused.length) return findings;
  const items = refused
    .slice(0, MAX_LISTED)
    .map(({ row, message }) => t("train.pairs.row", { row, why: formatMessage(message) }));
  const rest = refused.length - items.length;
  if (rest) items.push(t("train.pairs.and_more", { rest }));
  const key = agreed ? "train.pairs.left_out" : "train.pairs.bad";
  findings.push(
    h("p", { class: agreed ? "" : "problem" }, t(key, { count: refused.length })),
    h(
      "ul",
      {},
      items.map((text) => h("li", {}, text)),
    ),
  );
  const agree = () => {
    own.agreed = true;
    drawFindings(parts);
    parts.changed();
  };
  const text = t("train.pairs.use_others", { count: pairs.length });
  if (!agreed && pairs.length) findings.push(button("pill primary", text, agree, { id: "train-use-others" }));
  return findings;
}
