// The visitor's own sentence pairs: a table to type and paste into, or a file. They outlive every mounting.

import { h, word } from "../core/dom.js";
import { formatNumber, t, formatMessage } from "../core/i18n.js";
import { saveOnLeave, readSession } from "../net/session.js";

const PAGE = 20; // rows that are shown at a time
const NAMED = 5; // rows that cannot be used, that are listed with their reasons
const PAUSE_MS = 250;
const MAX_FILE_BYTES = 2 ** 22; // bytes of a file
const SIDES = ["source", "target"];
const KEPT = "attention-bitte-pairs";
const empty = () => ["", ""];

/** What the table holds, and what the server has found in it. */
const own = {
  rows: [empty(), empty(), empty()],
  file: null, // {name, base64, header} while the table is what a file held
  refused: [], // [{row, message}] of the file
  pairs: [], // that can be used
  bad: [], // [{row, message}] of the table, counted as the table counts
  agreed: true, // to go on without the rows that cannot be used
  fault: null, // why a file could not be read: a text
  first: 0, // row that is shown
};

// After a reload the table is the visitor's own; the file that it came from has to be opened again to be read otherwise.
const before = readSession(KEPT);
if (Array.isArray(before?.rows) && before.rows.length) Object.assign(own, before);
saveOnLeave(KEPT, () => ({ rows: own.rows, refused: own.refused, agreed: own.agreed, bad: own.bad }));

export const ownPairs = () => own.pairs;
export const unsettledPairs = () => (own.agreed ? 0 : own.refused.length + own.bad.length);

const filled = (row) => row.some((text) => text.trim());

/** The table and all that belongs to it. `changed()` is called when there are other pairs, or other faults in them. */
export function pairEditor({ server, changed, signal }) {
  const body = h("tbody");
  const table = h(
    "table",
    { class: "pairs", "data-field": "pairs" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td"),
        SIDES.map((side) => h("th", { scope: "col" }, word(t(`train.pairs.${side}`), side))),
        h("td"),
      ),
    ),
    body,
  );
  const pager = h("div", { class: "pager" });
  const file = h("input", {
    type: "file",
    class: "visually-hidden",
    id: "train-file",
    accept: ".csv,.tsv,.txt,text/csv,text/tab-separated-values",
  });
  const opener = h("label", { class: "pill file", for: "train-file" }, t("train.pairs.open"));
  const header = h("input", { type: "checkbox", id: "train-header" });
  const heading = h("label", { class: "heading-tick", hidden: true }, header, " ", t("train.pairs.header"));
  const fill = h("button", { type: "button", class: "link", onclick: french }, t("train.pairs.fill"));
  const clear = h(
    "button",
    { type: "button", class: "link", onclick: () => replace([empty(), empty(), empty()]) },
    t("train.pairs.clear"),
  );
  const found = h("div", { class: "found", id: "train-found", "data-field": "rows", "aria-live": "polite" });
  const element = h(
    "div",
    { class: "editor" },
    h("div", { class: "controls" }, file, opener, fill, clear, heading),
    found,
    table,
    pager,
    h("p", { class: "hint" }, t("train.pairs.about")),
  );

  // ---- the table ----

  function line(i) {
    const inputs = SIDES.map((side, c) => {
      const input = h("input", {
        type: "text",
        class: side,
        value: own.rows[i][c],
        "aria-label": t(`train.pairs.${side}_of`, { row: i + 1 }),
        "data-row": i,
        "data-column": c,
      });
      input.addEventListener("input", () => typed(i, c, input.value));
      return h("td", {}, input);
    });
    const remove = h(
      "button",
      {
        type: "button",
        class: "remove",
        "aria-label": t("train.pairs.remove", { row: i + 1 }),
        title: t("train.pairs.remove", { row: i + 1 }),
        onclick: () => removed(i),
      },
      "×",
    );
    return h("tr", { "data-row": i }, h("th", { scope: "row" }, formatNumber(i + 1)), inputs, h("td", {}, remove));
  }

  function typed(row, column, text) {
    own.rows[row][column] = text;
    if (row === own.rows.length - 1 && text) {
      own.rows.push(empty());
      body.append(line(row + 1));
    }
    edited();
  }

  function removed(row) {
    own.rows.splice(row, 1);
    if (!own.rows.length || filled(own.rows.at(-1))) own.rows.push(empty());
    edited();
    draw();
    focus(Math.min(row, own.rows.length - 1), 0);
  }

  function replace(rows) {
    Object.assign(own, { rows, first: 0, file: null, refused: [], fault: null });
    edited();
    draw();
  }

  const focus = (row, column) => body.querySelector(`[data-row="${row}"][data-column="${column}"]`)?.focus();

  table.addEventListener("keydown", (event) => {
    const { row, column } = event.target.dataset;
    const to = { Enter: 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!column || !to || event.isComposing) return;
    event.preventDefault();
    focus(Number(row) + to, column);
  });
  table.addEventListener("paste", (event) => {
    const { row, column } = event.target.dataset;
    const text = event.clipboardData.getData("text");
    if (!column || !/[\t\n]/.test(text.trim())) return; // one cell: as everywhere
    event.preventDefault();
    const lines = text.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n");
    lines.forEach((each, i) => {
      const at = (own.rows[Number(row) + i] ??= empty());
      each
        .split("\t")
        .slice(0, SIDES.length - column)
        .forEach((cell, c) => (at[Number(column) + c] = cell));
    });
    if (filled(own.rows.at(-1))) own.rows.push(empty());
    edited();
    draw();
    focus(Math.min(Number(row) + lines.length, own.rows.length - 1), column);
  });

  /** Ten pairs in which an adjective changes its place, so that heads have to cross. */
  async function french() {
    const text = await (await fetch(new URL("../../french.tsv", import.meta.url))).text();
    const rows = text
      .trim()
      .split("\n")
      .slice(1)
      .map((each) => each.split("\t"));
    replace([...own.rows.filter(filled), ...rows, empty()]);
  }

  // ---- a file ----

  file.addEventListener("change", () => file.files[0] && open(file.files[0]));
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    element.classList.add("over");
  });
  element.addEventListener(
    "dragleave",
    (event) => element.contains(event.relatedTarget) || element.classList.remove("over"),
  );
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    element.classList.remove("over");
    if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
  header.addEventListener("change", () => read({ ...own.file, header: header.checked }));

  async function open(chosen) {
    if (chosen.size > MAX_FILE_BYTES) return fail(t("train.pairs.too_large", { size: MAX_FILE_BYTES / 2 ** 20 }));
    const bytes = new Uint8Array(await chosen.arrayBuffer());
    const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    file.value = ""; // so that the same file can be opened again when it has been corrected
    read({ name: chosen.name, base64, header: null });
  }

  /** The table becomes what the file holds. `wanted`: whether its first row is a heading; null to find out. */
  async function read({ name, base64, header: wanted }) {
    const answer = await server
      .pairs({ file: base64, header: wanted })
      .catch(() => ({ error: { key: "error.no_answer", values: {} } }));
    clearTimeout(waiting);
    asked += 1;
    const { pairs = [], bad = [], header: found = wanted, error } = answer;
    const rows = [...pairs.map((pair) => [...pair]), empty()];
    Object.assign(own, {
      rows,
      first: 0,
      pairs,
      bad: [],
      refused: bad,
      agreed: !bad.length,
      fault: error ? formatMessage(error) : null,
      file: { name, base64, header: found },
    });
    draw();
    changed();
  }

  function fail(text) {
    own.fault = text;
    draw();
  }

  // ---- what the server finds in it ----

  let waiting = null;
  let asked = 0;
  function edited() {
    if (own.file) own.file = null; // the table is the visitor's from now on; what the file had refused stays refused
    clearTimeout(waiting);
    waiting = setTimeout(check, PAUSE_MS);
    drawAbout();
  }

  async function check() {
    const mine = (asked += 1);
    const numbers = own.rows.flatMap((row, i) => (filled(row) ? [i] : []));
    const asking = numbers.length ? server.pairs({ rows: numbers.map((i) => own.rows[i]) }) : Promise.resolve({});
    const {
      pairs = [],
      bad: found = [],
      error,
    } = await asking.catch(() => ({ error: { key: "error.no_answer", values: {} } }));
    if (mine !== asked) return;
    const bad = found.map(({ row, message }) => ({ row: numbers[row - 1] + 1, message }));
    const known = JSON.stringify(own.bad) === JSON.stringify(bad);
    Object.assign(own, { pairs, bad, fault: error ? formatMessage(error) : null });
    if (!known) own.agreed = !(bad.length + own.refused.length);
    drawAbout();
    changed();
  }

  // ---- drawing ----

  function draw() {
    const count = own.rows.length - 1; // the last one waits to be filled
    own.first = Math.min(own.first, Math.max(0, Math.floor((count - 1) / PAGE) * PAGE));
    const end = own.first + PAGE >= count ? own.rows.length : own.first + PAGE;
    body.replaceChildren(...Array.from({ length: end - own.first }, (_, i) => line(own.first + i)));
    drawAbout();
  }

  function drawAbout() {
    const count = own.rows.length - 1;
    const turn = (name, first) =>
      h(
        "button",
        {
          type: "button",
          class: "pill",
          disabled: first < 0 || first >= count,
          onclick: () => ((own.first = first), draw()),
        },
        t(`train.pairs.${name}`),
      );
    pager.hidden = count <= PAGE;
    pager.replaceChildren(
      turn("back", own.first - PAGE),
      h("span", {}, t("train.pairs.shown", { from: own.first + 1, to: Math.min(own.first + PAGE, count), count })),
      turn("next", own.first + PAGE),
    );
    clear.hidden = !own.rows.some(filled);
    heading.hidden = !own.file;
    header.checked = Boolean(own.file?.header);
    const wrong = new Set(own.bad.map(({ row }) => row - 1));
    body.querySelectorAll("tr").forEach((row) => row.classList.toggle("wrong", wrong.has(Number(row.dataset.row))));

    const list = [...own.refused, ...own.bad];
    const said = [];
    if (own.fault) said.push(h("p", { class: "problem" }, own.fault));
    if (own.file && own.pairs.length)
      said.push(
        h(
          "p",
          {},
          t(own.file.header ? "train.pairs.file_with" : "train.pairs.file_without", {
            name: own.file.name,
            count: own.pairs.length,
          }),
        ),
      );
    if (list.length) {
      said.push(
        h(
          "p",
          { class: own.agreed ? "" : "problem" },
          t(own.agreed ? "train.pairs.left_out" : "train.pairs.bad", { count: list.length }),
        ),
        h(
          "ul",
          {},
          list
            .slice(0, NAMED)
            .map(({ row, message }) => h("li", {}, t("train.pairs.row", { row, why: formatMessage(message) }))),
          list.length > NAMED ? h("li", {}, t("train.pairs.and_more", { rest: list.length - NAMED })) : null,
        ),
      );
      if (!own.agreed && own.pairs.length)
        said.push(
          h(
            "button",
            { type: "button", class: "pill primary", id: "train-use-others", onclick: agree },
            t("train.pairs.use_others", { count: own.pairs.length }),
          ),
        );
    }
    const key = said.map((each) => each.textContent).join("\n");
    if (found.dataset.said === key) return; // read aloud only what is new
    found.dataset.said = key;
    found.replaceChildren(...said);
  }

  function agree() {
    own.agreed = true;
    drawAbout();
    changed();
  }

  signal.addEventListener("abort", () => clearTimeout(waiting));
  draw();
  if (!own.file && own.rows.some(filled)) check(); // the mounting before may have ended before it could
  return element;
}
