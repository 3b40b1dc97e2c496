// Attention: every head of a layer small, one large; as heatmap, lines or table. Rows are queries, columns are keys.

import { isSilenced } from "../core/changes.js";
import { pictureButtons } from "../charts/export.js";
import { argmax, subscribe, attentionRow, state, update, KINDS, SIDES } from "../core/state.js";
import { h, isSpecial, numberedOptions, scrollBox, segmented } from "../core/dom.js";
import { joinSentences, t } from "../core/i18n.js";
import {
  describeRow,
  mapHeading,
  heatmap,
  lineDrawing,
  markRow,
  paddingMasked,
  repaint,
  weightTable,
  thumbnail,
  cellTips,
} from "../charts/attention-map.js";

const DRAW = { heatmap, lines: lineDrawing, table: weightTable };
const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200)); // Safari has none

export function mount({ element, signal }) {
  const kind = segmented(
    t("attention.which"),
    KINDS.map((name) => [name, t(`kind.${name}`)]),
    (value) => update({ kind: value }),
  );
  const drawing = segmented(
    t("attention.how"),
    Object.keys(DRAW).map((name) => [name, t(`attention.${name}`)]),
    (value) => update({ drawing: value }),
  );
  const layers = h("span", { class: "pickers" });
  const overlay = h(
    "button",
    { type: "button", class: "pill toggle", id: "gold", onclick: () => update({ gold: !state.gold }) },
    t("attention.gold"),
  );
  const key = h("p", { class: "hint", hidden: true }, t("attention.gold_key"));
  const hush = h("p", { class: "hint", hidden: true }, t("silenced.shown"));
  const heading = h("h2");
  const about = h("p", { class: "hint" });
  const large = h("div", { class: "large" });
  const file = (what) => `${state.kind}-layer-${state.layer + 1}-${what}`;
  const keep = pictureButtons(large, () => file(`head-${state.head + 1}`));
  const tip = cellTips(large, signal);
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
        h("div", { class: "map" }, heading, scrollBox(large), key, hush, tip, keep),
        h(
          "div",
          { class: "kept" },
          gridHeading,
          grid,
          about,
          pictureButtons(grid, () => file("heads")),
        ),
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

  const small = new Map(); // layer -> the small maps of this run and kind
  const smallOf = (layer) => {
    if (!small.has(layer))
      small.set(
        layer,
        Array.from({ length: state.run.attention[state.kind].heads }, (_, i) => thumbnail(state.kind, layer, i)),
      );
    return small.get(layer);
  };
  let ahead = null;
  /** Layers that nobody has looked at yet are drawn while the page has nothing else to do, one at a time. */
  const drawAhead = () => {
    ahead ??= whenIdle(() => {
      ahead = null;
      const { layers } = state.run.attention[state.kind];
      const next = Array.from({ length: layers }, (_, i) => i).find((i) => !small.has(i));
      if (next === undefined || signal.aborted) return;
      smallOf(next);
      drawAhead();
    });
  };

  const draw = () => {
    const { run, step, head } = state;
    const map = run.attention[state.kind];
    const sides = SIDES[state.kind];
    const marked = state.kind === "encoder" ? null : step;
    redraw("layers", [map.layers], () => {
      layer = segmented(t("layer"), numberedOptions(map.layers), (value) => update({ layer: Number(value) }));
      layers.replaceChildren(h("span", {}, t("layer")), layer.element);
    });
    kind.set(state.kind);
    drawing.set(state.drawing);
    layer.set(state.layer);
    const aligned = state.kind === "cross" && Boolean(run.reference?.gold);
    overlay.hidden = !aligned;
    overlay.setAttribute("aria-pressed", state.gold);
    key.hidden = !(aligned && state.gold);
    redraw("small", [run, state.kind, state.gold], () => small.clear());
    redraw("grid", [run, state.kind, state.layer, state.gold], () => {
      gridHeading.textContent = t("attention.all_heads", { layer: state.layer + 1 });
      grid.replaceChildren(
        ...smallOf(state.layer).map((picture, i) =>
          h(
            "button",
            { type: "button", onclick: () => update({ head: i }) },
            picture,
            h("small", {}, t("head_n", { head: i + 1 })),
          ),
        ),
      );
      about.replaceChildren(...explained(run, state.kind));
    });
    [...grid.children].forEach((button, i) => button.setAttribute("aria-pressed", i === head));
    hush.hidden = !isSilenced(state.kind, state.layer, head, run.changes);
    if (!width) return; // the tab is not open, and has not been yet
    drawAhead();
    const frame = [run, state.kind, state.drawing, state.gold, width];
    redraw("large", [...frame, state.layer, head], () => {
      heading.replaceChildren(
        ...mapHeading(
          state.kind,
          state.layer,
          head,
          state.drawing === "lines" ? "attention.axes_lines" : "attention.axes",
        ),
      );
      tip.hidden = true;
      let whole = state.drawing !== "heatmap";
      redraw("frame", frame, () => (whole = true));
      if (whole) large.replaceChildren(DRAW[state.drawing](state.kind, state.layer, head, { width, sides }));
      else repaint(large.firstChild, state.layer, head);
    });
    markRow(large.firstChild, marked);
    say.replaceChildren(...read(marked));
    large.firstChild.setAttribute("aria-label", say.textContent);
  };
  subscribe(element, draw);
  // The browser tells the width when it knows it: to ask in between would have it lay out the page once more.
  const sized = new ResizeObserver(() => {
    const now = large.parentElement.clientWidth;
    if (!now || now === width) return;
    width = now;
    if (state.run) draw();
  });
  sized.observe(large.parentElement);
  signal.addEventListener("abort", () => sized.disconnect());

  large.addEventListener("click", ({ target }) => {
    const query = target.closest("[data-query]")?.dataset.query;
    if (query !== undefined && state.kind !== "encoder") update({ step: Number(query) });
  });
}

/** What a kind of map shows, as far as it is true of this run. */
function explained(run, kind) {
  const causal = run.attention.decoder.allowed.every((row, query) => row.every((open, key) => open === key <= query));
  if (kind === "decoder" && !causal) return [t("attention.about_changed")];
  return joinSentences(
    t(`attention.about.${kind}`),
    kind === "encoder" && paddingMasked(run, kind) ? t("attention.padding") : "",
  );
}

/** The picture read aloud: the row of this step, or in the encoder the row that looks hardest. */
function read(marked) {
  const { run, kind, layer, head } = state;
  const { queries } = run.attention[kind];
  const hardest = () =>
    argmax(queries.map((token, query) => (isSpecial(token) ? 0 : Math.max(...attentionRow(kind, layer, head, query)))));
  return describeRow(kind, layer, head, marked ?? hardest(), marked === null ? null : run.output[marked]);
}
