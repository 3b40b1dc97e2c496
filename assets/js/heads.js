// How well each cross-attention head aligns the words, what every head is like, and what a look does not prove.

import { h, percent, word } from "./dom.js";
import { argmax, enough, follow, state, update } from "./store.js";

const HIGH = 0.5; // a weight that a map shows as a clear look
const KINDS = { encoder: "encoder", decoder: "decoder", cross: "cross" };
const COLUMNS = [
  ["layer", "layer", (row) => String(row.layer + 1)],
  ["head", "head", (row) => String(row.head + 1)],
  ["entropy", "entropy (nats)", (row) => row.entropy.toFixed(2)],
  ["distance", "distance (words)", (row) => row.distance.toFixed(2)],
  ["aligned", "aligns this sentence", (row) => share(row.aligned)],
  ["silenced", "translation without it", (row) => share(row.silenced)],
];
const ABOUT_ALIGNMENT =
  "A head aligns when, for each word being said, it looks hardest at the German word that it stands for. The score is " +
  "1 − AER, the alignment error rate: 100 % points at every gold word and at no wrong one. Click a head to open it.";
const LUCK = "Over so few words, one of many heads aligns them all by chance.";
const ABOUT_TABLE =
  "Entropy: 0 looks at one word, ln n at n words alike. Distance: how many places away a head looks, on average.";
const ABOUT_SILENCE =
  "Translation without it: the probability of this very translation with that head silent; with all heads it is";
const LIMITS = [
  "A high weight says which word's value a head read; whether that changed what was said depends on all that came before and after it.",
  "So a map is evidence to be tested, not an explanation: here is the test.",
];

const share = (value) => (value === null || value === undefined ? "–" : percent(value));

export function mount({ element, server }) {
  const about = h("p", { class: "hint" });
  const here = h("div", { class: "scores" });
  const there = h("div", { class: "scores" });
  const verdict = h("p", { id: "silenced", "aria-live": "polite" });
  const tableHeading = h("h2");
  const tableHolder = h("div", { class: "scroll" });
  const aboutTable = h("p", { class: "hint" });
  const section = h(
    "section",
    { class: "card below" },
    h(
      "div",
      { class: "columns even" },
      h(
        "div",
        {},
        h("h2", {}, "How well each cross-attention head aligns the words"),
        h("div", { class: "pair-of-scores" }, here, there),
        about,
        h("h2", { class: "later" }, "What a map does not prove"),
        h("p", {}, LIMITS.join(" ")),
        verdict,
      ),
      h("div", {}, tableHeading, tableHolder, aboutTable),
    ),
  );
  element.replaceChildren(section);

  let answer = null; // what the server said of the run in `asked`
  let asked = null;
  let sort = { by: "layer", down: false };
  async function know() {
    const { run } = state;
    if (asked === run || !element.offsetParent) return;
    asked = run;
    answer = null;
    const said = await server.heads({ checkpoint: run.checkpoint, sentence: run.sentence }).catch(() => null);
    if (asked !== run) return; // another sentence by now
    if (!said || said.error) asked = null; // the next look asks again
    else answer = said;
    draw();
  }

  const rate = (rates) => (layer, head) => (rates ? 1 - rates[layer][head] : null);

  function draw() {
    const { run } = state;
    const cross = run.attention.cross;
    const rates = run.reference?.error_rates ?? null;
    const held = answer?.held_out ?? null;
    about.textContent = rates && !enough(run) ? `${ABOUT_ALIGNMENT} ${LUCK}` : ABOUT_ALIGNMENT;
    here.replaceChildren(
      h("h3", {}, "this sentence"),
      rates ? grid(cross, rate(rates)) : h("p", { class: "hint" }, missing(run)),
    );
    there.hidden = Boolean(answer) && !held;
    there.replaceChildren(
      h("h3", {}, held ? `${held.sentences.toLocaleString("en")} held-out sentences` : "held-out sentences"),
      held ? grid(cross, rate(held.error_rates)) : h("p", { class: "hint" }, "…"),
    );
    verdict.replaceChildren(...(answer ? demonstrate(run, answer.silenced) : ["…"]));
    drawTable();
  }

  function drawTable() {
    const { run, kind } = state;
    const silenced = answer?.silenced ?? [];
    const names = run.heads.columns;
    const rows = run.heads.data
      .map((values) => Object.fromEntries(values.map((value, i) => [names[i], value])))
      .filter((row) => row.kind === kind)
      .map((row) => ({
        ...row,
        aligned: kind === "cross" && run.reference?.error_rates ? 1 - run.reference.error_rates[row.layer][row.head] : null,
        silenced: kind === "cross" ? (silenced.find((each) => each.layer === row.layer && each.head === row.head)?.probability ?? null) : null,
      }));
    const columns = COLUMNS.filter(([name]) => kind === "cross" || !["aligned", "silenced"].includes(name));
    if (!columns.some(([name]) => name === sort.by)) sort = { by: "layer", down: false };
    rows.sort((a, b) => (sort.down ? -1 : 1) * (a[sort.by] - b[sort.by]) || a.layer - b.layer || a.head - b.head);
    aboutTable.textContent = kind === "cross" ? `${ABOUT_TABLE} ${ABOUT_SILENCE} ${percent(probability(run))}.` : ABOUT_TABLE;
    tableHeading.textContent = `Every ${KINDS[kind]} head, this sentence`;
    const focused = tableHolder.contains(document.activeElement) ? document.activeElement.dataset.by : null;
    const table = h(
      "table",
      { class: "sortable" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map(([name, text]) =>
            h(
              "th",
              { scope: "col", "aria-sort": sort.by === name ? (sort.down ? "descending" : "ascending") : "none" },
              h("button", { type: "button", "data-by": name, onclick: () => sortBy(name) }, text),
            ),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) => {
          const chosen = row.layer === state.layer && row.head === state.head;
          const open = () => update({ layer: row.layer, head: row.head });
          return h(
            "tr",
            { class: chosen ? "marked" : "", onclick: open, "data-layer": row.layer, "data-head": row.head },
            columns.map(([, , text]) => h("td", {}, text(row))),
          );
        }),
      ),
    );
    tableHolder.replaceChildren(table);
    if (focused) table.querySelector(`[data-by="${focused}"]`)?.focus();
  }

  function sortBy(name) {
    sort = { by: name, down: sort.by === name ? !sort.down : !["layer", "head"].includes(name) };
    drawTable();
  }

  let drawn = [];
  follow(element, () => {
    know();
    const depends = [state.run, state.kind, state.layer, state.head];
    if (depends.every((value, i) => value === drawn[i])) return;
    drawn = depends;
    draw();
  });
  new IntersectionObserver(() => state.run && know()).observe(element);
}

/** Layers × heads: rows are layers, columns are heads; a cell opens its head. */
function grid({ layers, heads }, score) {
  const cells = [];
  for (let layer = 0; layer < layers; layer++) {
    cells.push(h("small", { class: "axis" }, `layer ${layer + 1}`));
    for (let head = 0; head < heads; head++) {
      const value = score(layer, head);
      const chosen = state.kind === "cross" && state.layer === layer && state.head === head;
      const shade = value > 0.77 ? "full" : value > 0.6 ? "half" : "faint";
      cells.push(
        h(
          "button",
          {
            type: "button",
            class: `score ${shade}`,
            style: `--score: ${(4 + 96 * value).toFixed(1)}%`,
            "aria-pressed": chosen,
            "data-score": value,
            "aria-label": `layer ${layer + 1}, head ${head + 1}: ${percent(value)}`,
            onclick: () => update({ kind: "cross", layer, head, averaged: false }),
          },
          String(Math.round(100 * value)),
        ),
      );
    }
  }
  const names = Array.from({ length: heads }, (_, head) => h("small", { class: "axis" }, String(head + 1)));
  return h("div", { class: "score-grid", style: `--heads: ${heads}` }, h("small", { class: "axis" }, "head"), names, cells);
}

const probability = (run) => run.steps.reduce((product, step) => product * step.probability, 1);

const missing = (run) =>
  run.reference
    ? `The model says something else than the right translation, “${run.reference.text}”, so gold links have no words to belong to.`
    : "This sentence is not one of this model's corpus, so nobody knows its gold alignment.";

/** The head with the highest weight that changes nothing when it is silent; if there is none, the one that matters least. */
function demonstrate(run, silenced) {
  const text = run.output.filter((token) => token !== "E").join(" ");
  const whole = probability(run);
  const idle = silenced.filter((each) => each.text === text && each.weight >= HIGH);
  const most = argmax(idle.map((each) => each.weight));
  const open = ({ layer, head }) =>
    h("button", { type: "button", class: "link", onclick: () => update({ kind: "cross", layer, head, averaged: false }) }, `Head ${head + 1} of layer ${layer + 1}`);
  const look = (each) => [
    open(each),
    ` puts ${percent(each.weight)} of its weight on `,
    word(run.source[each.key], "source"),
    " while the model says ",
    word(run.output[each.query], "target"),
  ];
  const count = silenced.filter((each) => each.text === text).length;
  const all = ` Of all ${silenced.length} cross-attention heads, ${count} can be silenced, one at a time, without changing a word.`;
  if (idle.length) {
    const each = idle[most];
    return [...look(each), `. Silenced, so that it adds nothing, the translation stays the same word for word; its probability goes from ${percent(whole)} to ${percent(each.probability)}.`, all];
  }
  const strong = silenced.filter((each) => each.weight >= HIGH);
  if (!strong.length) return [`No head puts more than ${percent(HIGH)} of its weight on one word here.`, all];
  const least = strong[argmax(strong.map((each) => each.probability))];
  return [
    `Here every head that looks hard at a word is needed. The least of them: `,
    ...look(least),
    `; silenced, the model says “${least.text}”, and the probability of what it said before falls from ${percent(whole)} to ${percent(least.probability)}.`,
    all,
  ];
}
