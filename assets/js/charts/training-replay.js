// The film of a training: one map at every snapshot, with a slider over them. All snapshots are here, so no step of it asks
// the server.

import { chip, h, icon, isSpecial, numberedOptions, scrollBox, segmented, word } from "../core/dom.js";
import { lossAxis, sparkline } from "./line-chart.js";
import { nodes, formatNumber, formatPercent, t } from "../core/i18n.js";
import { isTraining, measurementAt, training } from "../net/training-stream.js";
import { describeRow, mapHeading, heatmap, markRow, thumbnail, cellTips } from "./attention-map.js";
import { pictureButtons } from "./export.js";
import { argmax, attentionRow, SIDES } from "../core/state.js";

const PLAY_MS = 300;
const MORE = 1; // words that are shown of a translation beyond the right one's
const THUMB = 9; // px, half the slider's

/** What the visitor looks at; it outlives every mounting. */
const look = { of: null, at: null, kind: "cross", layer: 0, head: 0, query: null, words: "forced", chosen: false };

/** Start a film of its own for every training: it follows the newest snapshot until the visitor takes the slider. */
function startReplay() {
  if (look.of === training.snapshots) return;
  Object.assign(look, { of: training.snapshots, at: null, layer: 0, head: 0, query: null, chosen: false });
}

/** The last snapshot whose loss is known as well: losses come in bundles, a little later. */
const newest = () =>
  Math.max(
    0,
    training.snapshots.findLastIndex(({ step }) => measurementAt(step)),
  );
const current = () => (look.at === null ? newest() : training.snapshots.findIndex(({ step }) => step === look.at));
const words = () => (training.snapshots[0]?.forced ? look.words : "free");
const runOf = (snapshot) => snapshot[words()];

/** Whether a row stands for the same word in every snapshot, so that its looks can be compared over time. */
const rowsAreComparable = () => look.kind === "encoder" || words() === "forced";

/** How much the largest weight of each row of a head has grown since the first snapshot, or, where rows change, how large it is. */
function rowGains(layer, head, run = runOf(training.snapshots.at(-1))) {
  const first = runOf(training.snapshots[0]);
  const content = contentRows(run);
  return run.attention[look.kind].queries.map((_, query) => {
    if (!content[query]) return -Infinity;
    const looks = attentionRow(look.kind, layer, head, query, run);
    const key = argmax(looks);
    return rowsAreComparable() ? looks[key] - attentionRow(look.kind, layer, head, query, first)[key] : looks[key];
  });
}

/** Rows whose word (the one to be said there, of the encoder its own) tells more than others: no sign, and none of the short ones. */
function contentRows(run) {
  const { queries } = run.attention[look.kind];
  const words = look.kind === "encoder" ? queries : rowsAreComparable() ? [...queries.slice(1), "E"] : run.output; // the right words move one place
  const lengths = words.map((word) => (!isSpecial(word) && /\p{L}/u.test(word) ? [...word].length : 0));
  const known = lengths.filter(Boolean);
  const mean = known.reduce((sum, length) => sum + length, 0) / known.length;
  return lengths.map((length) => length > 0 && length >= mean);
}

/** What it makes of the sentence, decoding freely: the underline of a word is its probability. */
export function translationChips({ output, probabilities }) {
  const most = (training.reference?.split(" ").length ?? 0) + MORE; // an untrained model goes on and on
  const shown = output.length > most + 1 ? output.slice(0, most) : output;
  const chips = shown.flatMap((token, i) => [
    chip("span", token, "target", { style: `--share: ${probabilities[i]}`, title: formatPercent(probabilities[i]) }),
    " ",
  ]);
  return shown === output
    ? chips
    : [...chips, h("span", { class: "and-more" }, t("film.words_more", { rest: output.length - most }))];
}

/** Open on the head that tells most. */
function openTellingHead() {
  const { layers, heads } = runOf(training.snapshots.at(-1)).attention[look.kind];
  const most = Array.from({ length: layers * heads }, (_, i) =>
    Math.max(...rowGains(Math.floor(i / heads), i % heads)),
  );
  const best = argmax(most);
  Object.assign(look, { layer: Math.floor(best / heads), head: best % heads, query: null });
}

export function trainingReplay(signal) {
  const change = (changes) => {
    Object.assign(look, changes);
    draw();
  };
  const choose = (changes) => change({ ...changes, chosen: true });

  // ---- the slider ----

  const slider = h("input", { type: "range", id: "film-step", min: 0, step: 1, "aria-label": t("film.slider") });
  const above = sparkline({ height: 40, inset: THUMB, name: "training", signal });
  const below = sparkline({ height: 24, inset: THUMB, name: "look", signal });
  const story = h("p", { class: "film-story" });
  const play = h("button", {
    type: "button",
    class: "round",
    id: "film-play",
    onclick: () => (timer ? pause() : run()),
  });
  const at = h("span", { class: "film-at" });
  const follow = h(
    "button",
    { type: "button", class: "link", id: "film-follow", onclick: () => go(newest()) },
    t("film.follow"),
  );
  const said = h("p", { class: "film-said" });

  /** Show a snapshot; the newest one of a running training is followed from then on. */
  const go = (i) =>
    change({ at: i >= newest() && isTraining() ? null : training.snapshots[Math.max(0, Math.min(i, newest()))].step });
  const nearest = (step) =>
    training.snapshots.reduce(
      (best, each, i) => (Math.abs(each.step - step) < Math.abs(training.snapshots[best].step - step) ? i : best),
      0,
    );
  slider.addEventListener("input", () => {
    const wanted = nearest(slider.valueAsNumber); // before drawing puts the slider back
    pause();
    go(wanted);
  });
  let timer = null;
  function run() {
    if (current() === newest()) go(0);
    timer = setInterval(() => (current() < newest() ? go(current() + 1) : pause()), PLAY_MS);
    draw();
  }
  function pause() {
    clearInterval(timer);
    timer = null;
    draw();
  }
  signal.addEventListener("abort", () => clearInterval(timer));

  // ---- the map ----

  const kind = segmented(
    t("attention.which"),
    Object.keys(SIDES).map((name) => [name, t(`kind.${name}`)]),
    (name) => choose({ kind: name, query: null }),
  );
  const layers = h("span", { class: "pickers" });
  const whose = segmented(
    t("film.words"),
    ["free", "forced"].map((name) => [name, t(`film.words.${name}`)]),
    (name) => change({ words: name, query: null }),
  );
  const meaning = h("p", { class: "hint meaning" });
  const heading = h("h2");
  const large = h("div", { class: "large" });
  const tip = cellTips(large, signal);
  const file = (what) =>
    `${training.name}-step-${training.snapshots[current()].step}-${look.kind}-layer-${look.layer + 1}-${what}`;
  const gridHeading = h("h2");
  const grid = h("div", { class: "heads" });
  const most = h("button", {
    type: "button",
    class: "link",
    id: "film-most",
    onclick: () => (openTellingHead(), choose({})),
  });
  const rows = h("select", {
    id: "film-row",
    onchange: () => choose({ query: rows.value === "" ? null : Number(rows.value) }),
  });
  const say = h("p", { class: "say", id: "film-say" });
  const limits = h("p", { class: "hint", hidden: true }, t("limits.toy"));
  large.addEventListener("click", ({ target }) => {
    const query = target.closest("[data-query]")?.dataset.query;
    if (query !== undefined) choose({ query: Number(query) });
  });

  const waiting = h("p", { class: "hint film-waiting" }, t("film.waiting"));
  const body = h(
    "div",
    { class: "film-body" },
    h(
      "div",
      { class: "film-bar" },
      play,
      h("div", { class: "film-slide" }, above.element, slider, below.element, story, follow),
    ),
    said,
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "map" },
        heading,
        scrollBox(large),
        tip,
        pictureButtons(large, () => file(`head-${look.head + 1}`)),
      ),
      h(
        "div",
        {},
        h("div", { class: "controls" }, kind.element, whose.element, layers),
        h(
          "div",
          { class: "kept" },
          gridHeading,
          grid,
          most,
          pictureButtons(grid, () => file("heads")),
        ),
      ),
    ),
    h("p", { class: "pickers rows" }, h("label", { for: "film-row" }, t("film.row")), rows),
    say,
    meaning,
    limits,
  );
  const head = h("div", { class: "film-head" }, h("h2", {}, t("film.title")), h("span", { class: "space" }), at);
  const element = h("section", { class: "card", id: "film" }, head, waiting, body);

  // Here the keys of the page's own steps move the film: Space on a button presses that button, and nothing else.
  slider.addEventListener("keydown", (event) => {
    const to = {
      ArrowLeft: current() - 1,
      ArrowDown: current() - 1,
      ArrowRight: current() + 1,
      ArrowUp: current() + 1,
      Home: 0,
      End: newest(),
      " ": null,
    }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (to === null) return timer ? pause() : run();
    pause();
    go(to);
  });
  element.addEventListener(
    "keydown",
    (event) => event.key === " " && event.target.closest("button") && event.stopPropagation(),
  );

  let layer;
  let shape = "";
  let height = 0; // px
  const drawn = {};
  /** Run `again` only where something that it depends on has changed. */
  const redraw = (part, depends, again) => {
    if (drawn[part]?.every((value, i) => value === depends[i])) return;
    drawn[part] = depends;
    again();
  };

  function draw() {
    if (training.phase === "idle") return;
    startReplay();
    const any = training.snapshots.length > 0;
    waiting.hidden = any;
    limits.hidden = training.corpus !== "toy"; // two sentences: only one word decides anything
    body.hidden = !any;
    if (!any) return;
    if (training.phase === "trained" && !look.chosen && look.at === null) {
      openTellingHead();
      look.chosen = true; // once: from here on the visitor decides
    }
    const snapshot = training.snapshots[Math.max(0, current())];
    drawSlider(snapshot, measurementAt(snapshot.step));
    drawMap(snapshot, runOf(snapshot));
  }

  function drawSlider(snapshot, point) {
    slider.max = training.span;
    slider.value = snapshot.step;
    at.replaceChildren(
      ...nodes(point ? "film.at" : "film.at_step", {
        step: formatNumber(snapshot.step),
        steps: formatNumber(training.steps),
        loss: point?.[1].toFixed(3),
        accuracy: point && formatPercent(point[2]),
      }),
    );
    slider.setAttribute("aria-valuetext", `${at.textContent}: ${snapshot.free.text}`);
    follow.hidden = !isTraining() || look.at === null;
    const marked = training.snapshots.map(({ step }) => step);
    above.draw({
      points: training.points,
      marked,
      steps: training.span,
      top: lossAxis(training).top,
      step: snapshot.step,
      value: point?.[1] ?? null,
    });
    redraw("play", [Boolean(timer)], () => {
      play.replaceChildren(icon(timer ? "pause" : "play"));
      play.setAttribute("aria-label", t(timer ? "film.pause" : "film.play"));
    });
    redraw("said", [snapshot, said.clientWidth], () => {
      const source = snapshot.source.filter((token) => token !== "P");
      said.replaceChildren(
        ...source.flatMap((token) => [chip("span", token, "source", { style: "--share: 0" }), " "]),
        h("span", { class: "arrow" }, "→"),
        " ",
        ...translationChips(snapshot.free),
      );
      redraw("lines", [look.of, said.clientWidth], () => (said.style.minHeight = ""));
      said.style.minHeight = `${said.clientHeight}px`; // never less than before: what stands below does not move
    });
  }

  function drawMap(snapshot, shown) {
    const map = shown.attention[look.kind];
    look.layer = Math.min(look.layer, map.layers - 1);
    look.head = Math.min(look.head, map.heads - 1);
    redraw("layers", [map.layers], () => {
      layer = segmented(t("layer"), numberedOptions(map.layers), (value) => choose({ layer: Number(value) }));
      layers.replaceChildren(h("span", {}, t("layer")), layer.element);
    });
    kind.set(look.kind);
    layer.set(look.layer);
    whose.element.hidden = !snapshot.forced;
    whose.set(words());
    meaning.textContent = look.kind === "encoder" ? t("film.about.encoder") : t(`film.about.${words()}`);

    // The buttons of the heads stay, or else the one that has the focus would lose it at every snapshot.
    if (shape !== `${map.heads}`) {
      shape = `${map.heads}`;
      grid.replaceChildren(
        ...Array.from({ length: map.heads }, (_, i) =>
          h(
            "button",
            { type: "button", onclick: () => choose({ head: i }) },
            h("span"),
            h("small", {}, t("head_n", { head: i + 1 })),
          ),
        ),
      );
    }
    redraw("grid", [shown, look.kind, look.layer, shape], () => {
      gridHeading.textContent = t("attention.all_heads", { layer: look.layer + 1 });
      [...grid.children].forEach((button, i) =>
        button.firstChild.replaceChildren(thumbnail(look.kind, look.layer, i, shown)),
      );
    });
    [...grid.children].forEach((button, i) => button.setAttribute("aria-pressed", i === look.head));

    const query = Math.min(
      look.query ??
        argmax(rowsAreComparable() ? rowGains(look.layer, look.head) : rowGains(look.layer, look.head, shown)),
      map.queries.length - 1,
    );
    const spokenAt = (i) => (look.kind === "encoder" ? null : shown.output[i]);
    most.textContent = t(rowsAreComparable() ? "film.most" : "film.hardest");
    redraw("rows", [shown, look.kind], () => {
      const options = map.queries.map((token, i) =>
        h("option", { value: i }, look.kind === "encoder" ? token : t("film.row_of", { token, said: spokenAt(i) })),
      );
      rows.replaceChildren(
        h("option", { value: "" }, t(rowsAreComparable() ? "film.row_most" : "film.row_hardest")),
        ...options,
      );
    });
    rows.value = look.query === null ? "" : String(query);
    drawStory(snapshot, query);

    say.replaceChildren(
      ...nodes("film.step", { step: formatNumber(snapshot.step) }),
      ...describeRow(look.kind, look.layer, look.head, query, spokenAt(query), shown),
      ...since(query, shown),
    );
    const width = large.parentElement.clientWidth;
    if (!width) return; // the tab is not open
    redraw("large", [shown, look.kind, look.layer, look.head, width], () => {
      heading.replaceChildren(...mapHeading(look.kind, look.layer, look.head));
      tip.hidden = true;
      large.style.minHeight = `${tallest(width)}px`;
      large.replaceChildren(heatmap(look.kind, look.layer, look.head, { width, sides: SIDES[look.kind], run: shown }));
    });
    markRow(large.firstChild, query);
    large.firstChild.setAttribute("aria-label", say.textContent);
    const key = argmax(attentionRow(look.kind, look.layer, look.head, query, shown));
    redraw("sight", [look.kind, look.layer, look.head, query, key, width], () =>
      reveal(large.querySelector(`rect[data-query="${query}"][data-key="${key}"]`)),
    );
  }

  /** Scroll a map that is wider than its place, so that a cell of it is in sight. */
  function reveal(cell) {
    const place = large.parentElement;
    if (place.scrollWidth <= place.clientWidth) return;
    const [inner, outer] = [cell.getBoundingClientRect(), place.getBoundingClientRect()];
    if (inner.left >= outer.left && inner.right <= outer.right) return;
    place.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  }

  /** The largest weight of the marked row in every snapshot: the film in one line. Where rows change there is no such line. */
  function drawStory(snapshot, query) {
    const { snapshots, span } = training;
    for (const each of [below.element, story]) each.style.visibility = rowsAreComparable() ? "visible" : "hidden";
    if (!rowsAreComparable()) return;
    const points = snapshots.map((each) => [
      each.step,
      Math.max(...attentionRow(look.kind, look.layer, look.head, query, runOf(each))),
    ]);
    below.draw({
      points,
      marked: [],
      steps: span,
      top: 1,
      step: snapshot.step,
      value: points[snapshots.indexOf(snapshot)][1],
    });
    const token = runOf(snapshot).attention[look.kind].queries[query];
    story.replaceChildren(
      ...nodes("film.story", {
        row: word(token, SIDES[look.kind][0]),
        first: formatPercent(points[0][1]),
        last: formatPercent(points.at(-1)[1]),
      }),
    );
  }

  /** As high as the map of the most words, so that the page does not jump when there are fewer. */
  function tallest(width) {
    const count = (run) => run.attention[look.kind].queries.length;
    const longest = training.snapshots.map(runOf).reduce((most, run) => (count(run) > count(most) ? run : most));
    redraw(
      "tallest",
      [longest, look.kind, width],
      () =>
        (height = Number(
          heatmap(look.kind, 0, 0, { width, sides: SIDES[look.kind], run: longest }).getAttribute("height"),
        )),
    );
    return height;
  }

  /** How the weight that is read aloud has changed since the first snapshot. */
  function since(query, shown) {
    const first = training.snapshots[0];
    if (!rowsAreComparable() || runOf(first) === shown) return [];
    const looks = attentionRow(look.kind, look.layer, look.head, query, shown);
    if (looks.filter((share) => share > 0).length < 2) return [];
    const before = attentionRow(look.kind, look.layer, look.head, query, runOf(first))[argmax(looks)];
    return nodes("film.since", {
      step: formatNumber(first.step),
      share: formatPercent(looks[argmax(looks)]),
      before: formatPercent(before),
    });
  }

  const sized = new ResizeObserver(() => draw());
  sized.observe(element);
  signal.addEventListener("abort", () => sized.disconnect());
  return { element, draw };
}
