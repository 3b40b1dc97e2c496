// How well each cross-attention head aligns the words, what every head is like, and what a look does not prove.

import { h, keepFocus, scrollBox, word } from "../core/dom.js";
import { formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { hasFullyMaskedRow, contrastClass } from "../charts/attention-map.js";
import { pictureButtons } from "../charts/export.js";
import { argmax, hasEnoughGold, subscribe, likelihood, state, update } from "../core/state.js";

const HIGH = 0.5; // a weight that a map shows as a clear look
const COLUMNS = {
  layer: (row) => String(row.layer + 1),
  head: (row) => String(row.head + 1),
  entropy: (row) => row.entropy.toFixed(2),
  distance: (row) => row.distance.toFixed(2),
  aligned: (row) => share(row.aligned),
  silenced: (row) => share(row.silenced),
};

const share = (value) => (value === null || value === undefined ? "–" : formatPercent(value));

let answer = null; // what the server said of the run in `asked`
let asked = null;
let sort = { by: "layer", down: false };

export function mount({ element, server, signal }) {
  const about = h("p", { class: "hint" });
  const here = h("div", { class: "scores" });
  const there = h("div", { class: "scores" });
  const scores = h("div", { class: "pair-of-scores" }, here, there);
  const verdict = h("p", { id: "silenced", "aria-live": "polite" });
  const tableHeading = h("h2");
  const tableHolder = scrollBox();
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
        h("h2", {}, t("heads.title")),
        h(
          "div",
          { class: "kept" },
          scores,
          pictureButtons(scores, () => "alignment-of-heads"),
        ),
        about,
        h("h2", { class: "later" }, t("heads.proof")),
        h("p", {}, t("heads.limits")),
        verdict,
      ),
      h(
        "div",
        { class: "kept" },
        tableHeading,
        tableHolder,
        aboutTable,
        pictureButtons(tableHolder, () => `${state.kind}-heads`),
      ),
    ),
  );
  element.replaceChildren(section);

  async function know() {
    const { run } = state;
    if (asked === run || !element.offsetParent) return;
    asked = run;
    answer = null;
    const said = await server.heads({ checkpoint: run.checkpoint, sentence: run.sentence }).catch(() => null);
    if (asked !== run) return; // another sentence by now
    if (!said || said.error)
      asked = null; // the next look asks again
    else answer = said;
    keepFocus(section, draw);
  }

  const rate = (rates) => (layer, head) => (rates ? 1 - rates[layer][head] : null);

  function draw() {
    const { run } = state;
    const cross = run.attention.cross;
    const rates = run.reference?.error_rates ?? null;
    const held = answer?.held_out ?? null;
    about.replaceChildren(...joinSentences(t("heads.about"), rates && !hasEnoughGold(run) ? t("heads.luck") : ""));
    here.replaceChildren(
      h("h3", {}, t("heads.here")),
      rates ? grid(cross, rate(rates), "here") : h("p", { class: "hint" }, missing(run)),
    );
    there.hidden = Boolean(answer) && !held;
    there.replaceChildren(
      h(
        "h3",
        {},
        held
          ? t(run.changes.length ? "heads.there_unbroken" : "heads.there_count", { count: held.sentences })
          : t("heads.there"),
      ),
      held ? grid(cross, rate(held.error_rates), "there") : h("p", { class: "hint" }, "…"),
    );
    verdict.replaceChildren(
      ...(run.changes.length ? [t("silenced.changed")] : answer ? demonstrate(run, answer.silenced) : ["…"]),
    );
    drawTable();
  }

  /** The head that is looked at, in what is drawn. */
  function mark() {
    const { kind, layer, head } = state;
    const chosen = ({ dataset }) => Number(dataset.layer) === layer && Number(dataset.head) === head;
    for (const score of scores.querySelectorAll(".score"))
      score.setAttribute("aria-pressed", kind === "cross" && chosen(score));
    for (const row of tableHolder.querySelectorAll("tbody tr")) {
      row.classList.toggle("marked", chosen(row));
      row.querySelector("button").setAttribute("aria-current", chosen(row));
    }
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
        aligned:
          kind === "cross" && run.reference?.error_rates ? 1 - run.reference.error_rates[row.layer][row.head] : null,
        silenced:
          kind === "cross"
            ? (silenced.find((each) => each.layer === row.layer && each.head === row.head)?.probability ?? null)
            : null,
      }));
    const whole = kind === "cross" && !run.changes.length; // the heads were silenced in the unbroken run
    const columns = Object.keys(COLUMNS).filter((name) =>
      name === "aligned" ? kind === "cross" : name !== "silenced" || whole,
    );
    if (!columns.includes(sort.by)) sort = { by: "layer", down: false };
    rows.sort((a, b) => (sort.down ? -1 : 1) * (a[sort.by] - b[sort.by]) || a.layer - b.layer || a.head - b.head);
    const about = t(whole ? "heads.about_table_cross" : "heads.about_table", { whole: formatPercent(likelihood(run)) });
    aboutTable.replaceChildren(...joinSentences(about, hasFullyMaskedRow(run, kind) ? t("heads.blind") : ""));
    tableHeading.textContent = t(`heads.every.${kind}`);
    const table = h(
      "table",
      { class: "sortable" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((name) =>
            h(
              "th",
              { scope: "col", "aria-sort": sort.by === name ? (sort.down ? "descending" : "ascending") : "none" },
              h(
                "button",
                { type: "button", "data-by": name, "data-place": name, onclick: () => sortBy(name) },
                t(`heads.column.${name}`),
              ),
            ),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) => {
          const open = () => update({ layer: row.layer, head: row.head });
          return h(
            "tr",
            { onclick: open, "data-layer": row.layer, "data-head": row.head },
            columns.map((name) => h("td", {}, name === "head" ? opener(row) : COLUMNS[name](row))),
          );
        }),
      ),
    );
    tableHolder.replaceChildren(table);
    mark();
  }

  function sortBy(name) {
    sort = { by: name, down: sort.by === name ? !sort.down : !["layer", "head"].includes(name) };
    keepFocus(section, drawTable);
  }

  let drawn = [];
  subscribe(element, () => {
    know();
    const depends = [state.run, state.kind];
    if (depends.every((value, i) => value === drawn[i])) return mark();
    drawn = depends;
    keepFocus(section, draw);
  });
  const seen = new IntersectionObserver(() => state.run && know());
  seen.observe(element);
  signal.addEventListener("abort", () => seen.disconnect());
}

/** The whole row is clicked; the keyboard has this. */
const opener = (row) =>
  h(
    "button",
    {
      type: "button",
      "aria-label": t("heads.name", { layer: row.layer + 1, head: row.head + 1 }),
      "data-place": `row ${row.layer} ${row.head}`,
    },
    COLUMNS.head(row),
  );

/** Layers × heads: rows are layers, columns are heads; a cell opens its head. `name` tells one grid from another. */
function grid({ layers, heads }, score, name) {
  const cells = [];
  for (let layer = 0; layer < layers; layer++) {
    cells.push(h("small", { class: "axis" }, t("layer_n", { layer: layer + 1 })));
    for (let head = 0; head < heads; head++) {
      const value = score(layer, head);
      const strength = 4 + 96 * value; // % of the hue
      cells.push(
        h(
          "button",
          {
            type: "button",
            class: `score ${contrastClass(strength)}`,
            style: `--score: ${strength.toFixed(1)}%`,
            "data-score": value,
            "data-layer": layer,
            "data-head": head,
            "data-place": `${name} ${layer} ${head}`,
            "aria-label": t("heads.score", { layer: layer + 1, head: head + 1, share: formatPercent(value) }),
            onclick: () => update({ kind: "cross", layer, head, averaged: false }),
          },
          String(Math.round(100 * value)),
        ),
      );
    }
  }
  const names = Array.from({ length: heads }, (_, head) => h("small", { class: "axis" }, String(head + 1)));
  return h(
    "div",
    { class: "score-grid", style: `--heads: ${heads}` },
    h("small", { class: "axis" }, t("head")),
    names,
    cells,
  );
}

function missing({ reference }) {
  if (!reference) return t("heads.unknown");
  return reference.aligned ? t("heads.mistaken", { right: reference.text }) : t("heads.unaligned");
}

/** The head with the highest weight that changes nothing when it is silent; if there is none, the one that matters least. */
function demonstrate(run, silenced) {
  const text = run.output.filter((token) => token !== "E").join(" ");
  const idle = silenced.filter((each) => each.text === text && each.weight >= HIGH);
  const strong = silenced.filter((each) => each.weight >= HIGH);
  const open = ({ layer, head }) =>
    h(
      "button",
      { type: "button", class: "link", onclick: () => update({ kind: "cross", layer, head, averaged: false }) },
      t("heads.name", { layer: layer + 1, head: head + 1 }),
    );
  const places = (each) => ({
    head: open(each),
    share: formatPercent(each.weight),
    word: word(run.source[each.key], "source"),
    said: word(run.output[each.query], "target"),
    text: word(each.text, "target"),
    whole: formatPercent(likelihood(run)),
    left: formatPercent(each.probability),
  });
  const all = nodes("silenced.all", {
    heads: silenced.length,
    count: silenced.filter((each) => each.text === text).length,
  });
  const best = (list, value) => list[argmax(list.map(value))];
  if (idle.length) {
    const shown = places(best(idle, (each) => each.weight));
    return joinSentences(nodes(shown.whole === shown.left ? "silenced.idle_stays" : "silenced.idle", shown), all);
  }
  if (!strong.length) return joinSentences(nodes("silenced.none", { share: formatPercent(HIGH) }), all);
  return joinSentences(nodes("silenced.needed", places(best(strong, (each) => each.probability))), all);
}
