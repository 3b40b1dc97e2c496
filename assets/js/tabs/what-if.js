// What if: parts of the network taken away, beside the unbroken run. Left as it is, right as it is broken, and the difference.

import { cellTips, heatmap, mapDifference, mapHeading, markRow } from "../charts/attention-map.js";
import { pictureButtons } from "../charts/export.js";
import { editMask, findChange, isSilenced, toggleChange } from "../core/changes.js";
import { h, isSpecial, replaceKeepingFocus, scrollBox, segmented, word } from "../core/dom.js";
import { formatPercent, nodes, t } from "../core/i18n.js";
import { fixed } from "../core/numbers.js";
import { KINDS, likelihood, SIDES, state, subscribe, update } from "../core/state.js";
import { headPicker } from "./head-picker.js";
import { changeControls } from "./what-if-controls.js";

export function mount({ element, server, signal }) {
  const say = h("p", { class: "say", "aria-live": "polite" });
  const steps = scrollBox();
  const tried = h("div", { class: "tried" });
  const kind = segmented(
    t("attention.which"),
    KINDS.map((name) => [name, t(`kind.${name}`)]),
    (value) => update({ kind: value }),
  );
  const which = headPicker();
  const heading = h("h2");
  const maps = ["whole", "broken", "difference"].map((name) => {
    const place = h("div", { class: "large" });
    const title = h("h3", {}, t(`whatif.${name}`));
    const column = h(
      "div",
      { class: "map", "data-map": name },
      title,
      scrollBox(place),
      cellTips(place, signal),
      pictureButtons(place, () => `${state.kind}-layer-${state.layer + 1}-head-${state.head + 1}-${name}`),
    );
    return { name, title, place, column };
  });
  const beside = h(
    "div",
    { class: "maps-beside" },
    maps.map((each) => each.column),
  );
  const hint = h("p", { class: "hint" }, t("whatif.cells"));
  const hush = h("p", { class: "hint", hidden: true }, t("silenced.shown"));
  const controls = changeControls({ server, signal });
  element.replaceChildren(
    say,
    h(
      "div",
      { class: "columns whatif" },
      h("section", { class: "card" }, h("h2", {}, t("whatif.steps")), steps, tried),
      h("section", { class: "card" }, controls.element),
    ),
    h(
      "section",
      { class: "card below" },
      h("div", { class: "controls" }, kind.element, which.element),
      heading,
      beside,
      hush,
      hint,
    ),
  );

  // A cell of the broken map is a part of the mask, too.
  maps[1].place.addEventListener("click", ({ target }) => {
    const cell = target.closest("[data-query][data-key]");
    if (cell) editMask(state.kind, Number(cell.dataset.query), Number(cell.dataset.key));
  });

  let drawn = [];
  let apart = null; // the difference of the two runs that are drawn
  const draw = () => {
    const { run, baseline, step } = state;
    if (!element.offsetParent) return;
    const map = run.attention[state.kind];
    kind.set(state.kind);
    which.draw(map);
    controls.draw();
    maps.forEach(({ name, column }) => (column.hidden = !baseline && name !== "broken")); // with nothing broken there is one map
    const width = maps[1].place.parentElement.clientWidth;
    const depends = [run, baseline, state.kind, state.layer, state.head, step, width];
    if (depends.every((value, i) => value === drawn[i])) return;
    if (baseline && (drawn[0] !== run || drawn[1] !== baseline)) apart = mapDifference(run, baseline);
    drawn = depends;
    say.replaceChildren(...aloud(run, baseline));
    const strayed = run.beside?.some((each, i) => each.kept !== null && !each.same_input && i < run.steps.length);
    replaceKeepingFocus(steps, [
      stepTable(run, baseline ?? run),
      ...(strayed ? [h("p", { class: "hint" }, `* ${t("whatif.other_input")}`)] : []),
    ]);
    replaceKeepingFocus(tried, [
      h("h3", {}, t("whatif.try")),
      h("div", { class: "starters" }, starters(baseline ?? run)),
    ]);
    heading.replaceChildren(...mapHeading(state.kind, state.layer, state.head));
    hush.hidden = !isSilenced(state.kind, state.layer, state.head, run.changes);
    const runs = { whole: baseline, broken: run, difference: apart };
    for (const { name, title, place, column } of maps) {
      if (column.hidden) continue;
      if (name === "broken") title.textContent = t(baseline ? "whatif.broken" : "whatif.whole");
      const picture = heatmap(state.kind, state.layer, state.head, {
        width,
        sides: SIDES[state.kind],
        run: runs[name],
      });
      markRow(
        picture,
        state.kind === "encoder" || step >= runs[name].attention[state.kind].queries.length ? null : step,
      );
      picture.setAttribute("aria-label", spoken(name, runs[name]));
      place.replaceChildren(picture);
    }
  };
  subscribe(element, draw);
  const sized = new ResizeObserver(() => state.run && draw());
  sized.observe(element);
  signal.addEventListener("abort", () => sized.disconnect());
}

const sentence = (run) => word(run.output.join(" "), "target");

/** What the changes did, in a sentence. */
function aloud(run, baseline) {
  if (!baseline) return nodes("whatif.say_whole", { said: sentence(run), share: formatPercent(likelihood(run)) });
  const same = run.output.join(" ") === baseline.output.join(" ");
  const places = {
    before: sentence(baseline),
    share: formatPercent(likelihood(baseline)),
    after: sentence(run),
    left: formatPercent(likelihood(run)),
  };
  if (!same) return nodes("whatif.say_other", places);
  return nodes(places.share === places.left ? "whatif.say_stays" : "whatif.say_same", places);
}

/** What both runs say at every step, and what the broken one gives the unbroken one's word. */
function stepTable(run, baseline) {
  const broken = run !== baseline;
  const count = Math.max(run.steps.length, baseline.steps.length);
  const cell = (each, i) =>
    each.steps[i]
      ? [word(each.output[i], "target"), " ", h("small", {}, formatPercent(each.steps[i].probability))]
      : "–";
  const names = ["step", "whole", ...(broken ? ["broken", "kept"] : [])];
  const rows = Array.from({ length: count }, (_, i) => {
    const kept = run.beside?.[i].kept ?? null;
    const change = kept === null ? null : kept - baseline.steps[i].probability;
    const other = broken && run.output[i] !== baseline.output[i];
    return h(
      "tr",
      {
        onclick: () => i < run.steps.length && update({ step: i }),
        class: [i === state.step ? "marked" : "", other ? "other" : ""].join(" ").trim() || null,
        "data-change": change,
      },
      h(
        "th",
        { scope: "row" },
        h("button", { type: "button", class: "link", disabled: i >= run.steps.length }, String(i + 1)),
      ),
      h("td", {}, cell(baseline, i)),
      broken
        ? [h("td", {}, cell(run, i)), h("td", {}, change === null ? "–" : shift(change, run.beside[i].same_input))]
        : null,
    );
  });
  return h(
    "table",
    { class: "steps-beside" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        names.map((name) => h("th", { scope: "col" }, t(`whatif.column.${name}`))),
      ),
    ),
    h("tbody", {}, rows),
  );
}

const LEAST = 0.0005; // a change that is seen in the digits that are shown

/** By how much a probability has changed: a bar from the middle, and the number in points. */
function shift(change, same) {
  const points = `${change >= LEAST ? "+" : ""}${fixed(100 * change, 1)}`;
  const bar =
    Math.abs(change) < LEAST
      ? null
      : h("i", { class: change < 0 ? "less" : "more", style: `--share: ${Math.abs(change)}` });
  return h(
    "span",
    { class: "shift", title: same ? null : t("whatif.other_input") },
    h("span", { class: "axis", "aria-hidden": "true" }, bar),
    h("small", {}, t("whatif.points", { points }), same ? null : "*"),
  );
}

/** A map in words: its title, and the cell that is largest, or that has changed most. */
function spoken(name, run) {
  const { queries, keys, heads, values } = run.attention[state.kind];
  const size = queries.length * keys.length;
  const start = (state.layer * heads + state.head) * size;
  const here = Array.from(values.slice(start, start + size));
  const at = here.reduce((best, value, i) => (Math.abs(value) > Math.abs(here[best]) ? i : best), 0);
  const places = {
    title: t(`whatif.${name}`),
    from: queries[Math.floor(at / keys.length)],
    to: keys[at % keys.length],
    value: fixed(here[at], 2),
  };
  return t(name === "difference" ? "whatif.map_changed" : "whatif.map_largest", places);
}

/** Changes to begin with, each on a button that makes it and undoes it: one of every sort. `run` is the unbroken one. */
function starters(run) {
  const { cross, decoder } = run.attention;
  const { layers, heads, queries, keys, values } = cross;
  const size = queries.length * keys.length;
  const hardest = Math.floor(values.indexOf(Math.max(...values)) / size);
  const step = run.steps.findLastIndex(({ token }) => !["E", "."].includes(token));
  const other = run.steps[step]?.candidates.find(({ token }) => !isSpecial(token) && !run.output.includes(token));
  const list = {
    head: { do: "silence", kind: "cross", layer: Math.floor(hardest / heads), head: hardest % heads },
    mask: { do: "remove_mask", kind: "decoder" },
    positions: run.model.positions ? { do: "positions", stack: "encoder", how: "removed", seed: 0 } : null,
    temperature: { do: "temperature", kind: "all", temperature: 5 },
    residual: { do: "drop_residual", stack: "decoder", layer: decoder.layers - 1, sublayer: 2 },
    word: other ? { do: "force_word", step, word: other.token } : null,
  };
  return Object.entries(list).flatMap(([name, one]) => {
    const places = {
      layer: 1 + (one?.layer ?? 0),
      head: 1 + (one?.head ?? 0),
      layers,
      word: other && word(other.token, "target"),
    };
    return one
      ? [
          h(
            "button",
            {
              type: "button",
              class: "pill toggle",
              "aria-pressed": Boolean(findChange(one)),
              onclick: () => toggleChange(one),
            },
            h("span", {}, nodes(`whatif.try.${name}`, places)),
          ),
        ]
      : [];
  });
}
