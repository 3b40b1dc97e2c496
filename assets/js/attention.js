// Attention: every head of a layer small, one large; as heatmap, lines or table. Rows are queries, columns are keys.

import { pictureButtons } from "./save.js";
import { EVEN, argmax, follow, row, state, update } from "./store.js";
import { h, isSpecial, numbered, segmented, word } from "./dom.js";
import { nodes, percent, t } from "./i18n.js";
import { heatmap, lines, mark, table, thumbnail } from "./maps.js";

const KINDS = ["encoder", "decoder", "cross"];
const DRAW = { heatmap, lines, table };
const SIDES = { encoder: ["source", "source"], decoder: ["target", "target"], cross: ["target", "source"] };
export function mount({ element, signal }) {
  const kind = segmented(t("attention.which"), KINDS.map((name) => [name, t(`kind.${name}`)]), (value) => update({ kind: value }));
  const drawing = segmented(t("attention.how"), Object.keys(DRAW).map((name) => [name, t(`attention.${name}`)]), (value) => update({ drawing: value }));
  const layers = h("span", { class: "pickers" });
  const overlay = h("button", { type: "button", class: "pill toggle", id: "gold", onclick: () => update({ gold: !state.gold }) }, t("attention.gold"));
  const key = h("p", { class: "hint", hidden: true }, t("attention.gold_key"));
  const heading = h("h2");
  const about = h("p", { class: "hint" });
  const large = h("div", { class: "large" });
  const file = (what) => `${state.kind}-layer-${state.layer + 1}-${what}`;
  const keep = pictureButtons(large, () => file(`head-${state.head + 1}`));
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const gridHeading = h("h2");
  const grid = h("div", { class: "heads" });
  const say = h("p", { class: "say", "aria-live": "polite" });
  element.replaceChildren(
    say,
    h(
      "section",
      { class: "card" },
      h("div", { class: "controls" }, kind.element, layers, h("span", { class: "space" }), overlay, drawing.element),
      h(
        "div",
        { class: "columns" },
        h("div", { class: "map" }, heading, h("div", { class: "scroll" }, large), key, tip, keep),
        h("div", { class: "kept" }, gridHeading, grid, about, pictureButtons(grid, () => file("heads"))),
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
      layer = segmented(t("layer"), numbered(map.layers), (value) => update({ layer: Number(value) }));
      layers.replaceChildren(h("span", {}, t("layer")), layer.element);
    });
    kind.set(state.kind);
    drawing.set(state.drawing);
    layer.set(state.layer);
    const aligned = state.kind === "cross" && Boolean(run.reference?.gold);
    overlay.hidden = !aligned;
    overlay.setAttribute("aria-pressed", state.gold);
    key.hidden = !(aligned && state.gold);
    redraw("grid", [run, state.kind, state.layer, state.gold], () => {
      gridHeading.textContent = t("attention.all_heads", { layer: state.layer + 1 });
      grid.replaceChildren(
        ...Array.from({ length: map.heads }, (_, i) =>
          h(
            "button",
            { type: "button", onclick: () => update({ head: i }) },
            thumbnail(state.kind, state.layer, i),
            h("small", {}, t("head_n", { head: i + 1 })),
          ),
        ),
      );
      about.textContent = t(`attention.about.${state.kind}`);
    });
    [...grid.children].forEach((button, i) => button.setAttribute("aria-pressed", i === head));
    width = large.parentElement.clientWidth || width;
    redraw("large", [run, state.kind, state.layer, head, state.drawing, state.gold, width], () => {
      const axis = (i, arrow) => word(`${t(`side.${sides[i]}`)} ${arrow}`, sides[i]);
      const places = { head: head + 1, layer: state.layer + 1, from: axis(0, "↓"), at: axis(1, "→") };
      heading.replaceChildren(...nodes(state.drawing === "lines" ? "attention.axes_lines" : "attention.axes", places));
      tip.hidden = true;
      large.replaceChildren(DRAW[state.drawing](state.kind, state.layer, head, { width, sides }));
    });
    mark(large.firstChild, marked);
    say.replaceChildren(...aloud(marked, sides));
    large.firstChild.setAttribute("aria-label", say.textContent);
  };
  follow(element, draw);
  const sized = new ResizeObserver(() => state.run && draw());
  sized.observe(element);
  signal.addEventListener("abort", () => sized.disconnect());

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
  document.addEventListener("pointerdown", ({ target }) => large.contains(target) || (tip.hidden = true), { signal });
  large.addEventListener("click", ({ target }) => {
    const query = target.closest("[data-query]")?.dataset.query;
    if (query !== undefined && state.kind !== "encoder") update({ step: Number(query) });
  });
}

/** The picture read aloud: the row of this step, or in the encoder the row that looks hardest. */
function aloud(marked, [from, at]) {
  const { run, kind, layer, head } = state;
  const { queries, keys, allowed } = run.attention[kind];
  const rows = queries.map((_, query) => row(kind, layer, head, query));
  const query = marked ?? argmax(rows.map((look, i) => (isSpecial(queries[i]) ? 0 : Math.max(...look))));
  const key = argmax(rows[query]);
  const open = allowed[query].filter(Boolean).length;
  const said = marked !== null && word(run.output[query], "target");
  const places = {
    reading: nodes(said ? "aloud.reading_and_saying" : "aloud.reading", { word: word(queries[query], from), said }),
    head: head + 1,
    layer: layer + 1,
    count: open,
    word: word(keys[key], at),
    share: percent(rows[query][key]),
    equal: percent(1 / open),
  };
  if (open === 1) return nodes("aloud.only", places);
  return nodes(rows[query][key] - 1 / open < EVEN ? "aloud.evenly" : "aloud.mostly", places);
}
