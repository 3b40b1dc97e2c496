// Attention: every head of a layer small, one large; as heatmap, lines or table. Rows are queries, columns are keys.

import { save } from "./save.js";
import { EVEN, argmax, follow, row, state, update } from "./store.js";
import { h, icon, isSpecial, percent, segmented, svg, word } from "./dom.js";
import { heatmap, lines, mark, table, thumbnail } from "./maps.js";

const KINDS = [
  ["encoder", "Encoder"],
  ["decoder", "Decoder"],
  ["cross", "Cross"],
];
const DRAWINGS = [
  ["heatmap", "Heatmap"],
  ["lines", "Lines"],
  ["table", "Table"],
];
const DRAW = { heatmap, lines, table };
const NAMES = { source: "source", target: "decoder input" };
const SIDES = { encoder: ["source", "source"], decoder: ["target", "target"], cross: ["target", "source"] };
const ABOUT = {
  encoder:
    "The German words look at each other, all at once and before anything is said: steps do not change this picture. " +
    "Nobody may look at padding (P).",
  decoder:
    "The English words said so far look at each other. Each may look back and at itself, never at the future: " +
    "those cells are masked.",
  cross:
    "The English words look at the German ones. The row that reads a word decides which word is said next. " +
    "The page opens on the head that aligns the words best or, where none does, on the one that looks hardest.",
};

export function mount({ element }) {
  const kind = segmented("Which attention", KINDS, (value) => update({ kind: value }));
  const drawing = segmented("How to draw it", DRAWINGS, (value) => update({ drawing: value }));
  const layers = h("span", { class: "pickers" });
  const overlay = h("button", { type: "button", class: "pill toggle", id: "gold", onclick: () => update({ gold: !state.gold }) }, "gold alignment");
  const key = h("p", { class: "hint", hidden: true }, "Ringed: the German word that the word being said stands for. Dashed: one may see it so.");
  const heading = h("h2");
  const about = h("p", { class: "hint" });
  const large = h("div", { class: "large" });
  const keep = h("button", { type: "button", class: "save", title: "Save as picture", "aria-label": "Save as picture" }, icon("save"));
  keep.addEventListener("click", () => save(large.firstChild, `${state.kind}-layer-${state.layer + 1}-head-${state.head + 1}`));
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const gridHeading = h("h2");
  const grid = h("div", { class: "heads" });
  const say = h("p", { class: "say", "aria-live": "polite" });
  element.replaceChildren(
    hatching(),
    say,
    h(
      "section",
      { class: "card" },
      h("div", { class: "controls" }, kind.element, layers, h("span", { class: "space" }), overlay, drawing.element),
      h(
        "div",
        { class: "columns" },
        h("div", { class: "map" }, heading, h("div", { class: "scroll" }, large), key, tip, keep),
        h("div", {}, gridHeading, grid, about),
      ),
    ),
  );

  let layer, width;
  const drawn = {};
  /** Run `draw` only where something that it depends on has changed. */
  const redraw = (part, depends, draw) => {
    if (drawn[part]?.every((value, i) => value === depends[i])) return;
    drawn[part] = depends;
    draw();
  };

  const draw = () => {
    const { run, step, head } = state;
    const map = run.attention[state.kind];
    const sides = SIDES[state.kind];
    const marked = state.kind === "encoder" ? null : step;
    redraw("layers", [map.layers], () => {
      const options = Array.from({ length: map.layers }, (_, i) => [String(i), String(i + 1)]);
      layer = segmented("Layer", options, (value) => update({ layer: Number(value) }));
      layers.replaceChildren(h("span", {}, "layer"), layer.element);
    });
    kind.set(state.kind);
    drawing.set(state.drawing);
    layer.set(state.layer);
    const aligned = state.kind === "cross" && Boolean(run.reference?.gold);
    overlay.hidden = !aligned;
    overlay.setAttribute("aria-pressed", state.gold);
    key.hidden = !(aligned && state.gold);
    redraw("grid", [run, state.kind, state.layer, state.gold], () => {
      gridHeading.textContent = `All heads of layer ${state.layer + 1}`;
      grid.replaceChildren(
        ...Array.from({ length: map.heads }, (_, i) =>
          h(
            "button",
            { type: "button", onclick: () => update({ head: i }) },
            thumbnail(state.kind, state.layer, i),
            h("small", {}, `head ${i + 1}`),
          ),
        ),
      );
      about.textContent = ABOUT[state.kind];
    });
    [...grid.children].forEach((button, i) => button.setAttribute("aria-pressed", i === head));
    width = large.parentElement.clientWidth || width;
    redraw("large", [run, state.kind, state.layer, head, state.drawing, state.gold, width], () => {
      const [first, second] = state.drawing === "lines" ? ["left", "right"] : ["rows", "columns"];
      const [from, at] = [word(`${NAMES[sides[0]]} ↓`, sides[0]), word(`${NAMES[sides[1]]} →`, sides[1])];
      const title = `Head ${head + 1} of layer ${state.layer + 1}`;
      heading.replaceChildren(`${title} · ${first}: looks from `, from, ` · ${second}: looks at `, at);
      tip.hidden = true;
      large.replaceChildren(DRAW[state.drawing](state.kind, state.layer, head, { width, sides }));
    });
    keep.hidden = state.drawing === "table";
    mark(large.firstChild, marked);
    say.replaceChildren(...aloud(marked, sides));
    large.firstChild.setAttribute("aria-label", say.textContent);
  };
  follow(element, draw);
  new ResizeObserver(() => state.run && draw()).observe(element);

  large.addEventListener("pointerover", ({ target }) => {
    const text = target.dataset?.look;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const [cell, frame] = [target.getBoundingClientRect(), tip.parentElement.getBoundingClientRect()];
    const left = cell.left - frame.left + cell.width / 2;
    tip.style.left = `${Math.max(tip.offsetWidth / 2, Math.min(left, frame.width - tip.offsetWidth / 2))}px`;
    tip.style.top = `${cell.top - frame.top}px`;
  });
  // A finger leaves as soon as it lifts; what it touched is read until the next touch.
  large.addEventListener("pointerleave", ({ pointerType }) => pointerType === "touch" || (tip.hidden = true));
  document.addEventListener("pointerdown", ({ target }) => large.contains(target) || (tip.hidden = true));
  large.addEventListener("click", ({ target }) => {
    const query = target.closest("[data-query]")?.dataset.query;
    if (query !== undefined && state.kind !== "encoder") update({ step: Number(query) });
  });
}

/** Masked cells are hatched, so that none is taken for a zero. */
const hatching = () =>
  svg(
    "svg",
    { class: "visually-hidden", "aria-hidden": "true" },
    svg(
      "pattern",
      { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { width: 6, height: 6, class: "hatch-ground" }),
      svg("line", { y2: 6, class: "hatch-line" }),
    ),
  );

/** The picture read aloud: the row of this step, or in the encoder the row that looks hardest. */
function aloud(marked, [from, at]) {
  const { run, kind, layer, head } = state;
  const { queries, keys, allowed } = run.attention[kind];
  const rows = queries.map((_, query) => row(kind, layer, head, query));
  const query = marked ?? argmax(rows.map((look, i) => (isSpecial(queries[i]) ? 0 : Math.max(...look))));
  const key = argmax(rows[query]);
  const open = allowed[query].filter(Boolean).length;
  const who = `head ${head + 1} of layer ${layer + 1}`;
  const words = ["Reading ", word(queries[query], from)];
  if (marked !== null) words.push(", about to say ", word(run.output[query], "target"));
  words.push(`, ${who} `);
  if (open === 1) words.push("can look at nothing but ", word(keys[key], at), ".");
  else if (rows[query][key] - 1 / open < EVEN) words.push(`looks at all ${open} words almost alike.`);
  else words.push("looks mostly at ", word(keys[key], at), ` (${percent(rows[query][key])}; looking at all alike would be ${percent(1 / open)}).`);
  return words;
}
