// The controls of What if: each makes a change or undoes it. What is changed is shown from the run, never kept here.

import { contrastClass } from "../charts/attention-map.js";
import {
  changes,
  editMask,
  findChange,
  isSilenced,
  replaceChange,
  requestChanges,
  toggleChange,
} from "../core/changes.js";
import { h, replaceKeepingFocus, scrollBox, segmented, word } from "../core/dom.js";
import { formatPercent, formatPercents, joinSentences, nodes, t } from "../core/i18n.js";
import { fixed } from "../core/numbers.js";
import { askOnce } from "../core/server-cache.js";
import { KINDS, SIDES, state, update } from "../core/state.js";

const STACKS = { encoder: ["self", "ffn"], decoder: ["self", "cross", "ffn"] };
const TEMPERATURES = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20];
const LEAST = 0.0005; // a loss that is seen in the digits that are shown
const SEEN = 0.01; // a probability of which a loss can be seen

const open = new Set(["heads"]); // the groups that the visitor has unfolded
let only = false; // a click on a head silences all others of its layer
let on = "sentence"; // what a sweep is made on
let swept = false; // somebody asked which heads matter: from then on every run is swept

/** {element, draw}: `draw` after every change. */
export function changeControls({ server }) {
  const groups = [heads(server), masks(), temperatures(), positions(), words(server), residuals()];
  const element = h(
    "div",
    { class: "panel" },
    groups.map(({ name, body, draw }) => {
      const group = h(
        "details",
        { class: "group", "data-group": name, open: open.has(name) },
        h("summary", {}, h("h3", {}, t(`panel.${name}`)), h("small", {}, t(`panel.${name}.about`))),
        body,
      );
      group.addEventListener("toggle", () => {
        if (group.open) open.add(name);
        else open.delete(name);
        draw();
      });
      return group;
    }),
  );
  return { element, draw: () => groups.forEach((each) => each.draw()) };
}

const pressed = (text, one, more = {}) =>
  h(
    "button",
    {
      type: "button",
      class: "pill toggle",
      "aria-pressed": Boolean(findChange(one)),
      onclick: () => toggleChange(one),
      ...more,
    },
    h("span", {}, text),
  );
const choice = (label, options, now, onchange) => {
  const select = h(
    "select",
    { "aria-label": label },
    options.map(([value, text]) => h("option", { value, selected: String(value) === String(now) }, text)),
  );
  select.addEventListener("change", () => onchange(select.value));
  return select;
};

// ---- heads ----

function heads(server) {
  const kind = segmented(
    t("attention.which"),
    KINDS.map((name) => [name, t(`kind.${name}`)]),
    (value) => update({ kind: value }),
  );
  const mode = segmented(
    t("panel.heads.how"),
    [
      ["no", t("panel.heads.silence")],
      ["yes", t("panel.heads.only")],
    ],
    (value) => {
      only = value === "yes";
      draw();
    },
  );
  const grid = h("div", { class: "score-grid" });
  const sample = segmented(
    t("panel.sweep.on"),
    ["sentence", "held_out"].map((name) => [name, t(`panel.sweep.${name}`)]),
    (value) => {
      on = value;
      ask();
    },
  );
  const which = h(
    "button",
    { type: "button", class: "pill", id: "sweep", onclick: ask },
    h("span", {}, t("panel.sweep")),
  );
  const told = h("p", { class: "hint", "aria-live": "polite" });
  let answer = null; // the sweep that the grid is coloured by
  let about = ""; // what it answers

  const question = () => ({ checkpoint: state.run.checkpoint, sentence: state.run.sentence, on });
  async function ask() {
    swept = true;
    const asked = question();
    about = JSON.stringify(asked);
    const said = await askOnce("sweep", asked, server.sweep).catch((error) => ({ error }));
    if (about !== JSON.stringify(asked)) return; // something else is wanted by now
    answer = said.error ? null : said;
    draw();
    if (said.error) told.textContent = t("panel.sweep.none");
  }

  function draw() {
    if (swept && about !== JSON.stringify(question())) ask();
    const { kind: name } = state;
    const { layers, heads: count } = state.run.attention[name];
    kind.set(name);
    mode.set(only ? "yes" : "no");
    sample.set(on);
    const cells = [];
    for (let layer = 0; layer < layers; layer++) {
      cells.push(
        h(
          "button",
          {
            type: "button",
            class: "axis",
            "data-place": layer,
            title: t("panel.layer"),
            onclick: () => whole(name, layer, count),
          },
          t("layer_n", { layer: layer + 1 }),
        ),
      );
      for (let head = 0; head < count; head++) cells.push(cell(name, layer, head, count));
    }
    const names = Array.from({ length: count }, (_, head) => h("small", { class: "axis" }, String(head + 1)));
    grid.style.setProperty("--heads", count);
    replaceKeepingFocus(grid, [h("small", { class: "axis" }, t("head")), ...names, ...cells]);
    told.replaceChildren(...(answer ? summary(answer, name) : [t("panel.sweep.about")]));
  }

  function cell(name, layer, head, count) {
    const off = isSilenced(name, layer, head);
    const drop = answer?.drop[name][layer][head] ?? null;
    const strength = 96 * Math.abs(drop ?? 0); // % of the hue
    const places = { layer: layer + 1, head: head + 1, points: drop === null ? "" : fixed(-100 * drop, 1) };
    return h(
      "button",
      {
        type: "button",
        class: `score ${contrastClass(strength, drop < 0)} ${off ? "off" : drop < 0 ? "gain" : ""}`.trim(),
        style: `--score: ${strength.toFixed(1)}%`,
        "aria-pressed": off,
        "aria-label": t(off ? "panel.head_silenced" : drop === null ? "panel.head" : "panel.head_drop", places),
        "data-place": `${layer} ${head}`,
        "data-drop": drop,
        onclick: () => press(name, layer, head, count),
      },
      off ? "×" : drop === null ? "" : fixed(100 * drop, Math.abs(drop) < 0.095 ? 1 : 0).replace(/^−?0\.0$/, "0"),
    );
  }

  /** Silence every head of a layer, or let all speak again. */
  function whole(name, layer, count) {
    const others = changes().filter(
      (each) => !(["silence", "isolate"].includes(each.do) && each.kind === name && each.layer === layer),
    );
    const every = Array.from({ length: count }, (_, head) => ({ do: "silence", kind: name, layer, head }));
    requestChanges(every.every(({ head }) => isSilenced(name, layer, head)) ? others : [...others, ...every]);
  }

  /** Silence a head or let it speak again; or keep it, and silence the others of its layer. */
  function press(name, layer, head, count) {
    const here = { kind: name, layer };
    const isolated = findChange({ do: "isolate", ...here });
    const silenced = { do: "silence", ...here, head };
    if (only) {
      const kept = isolated?.heads ?? [];
      const next = kept.includes(head) ? kept.filter((each) => each !== head) : [...kept, head].sort((a, b) => a - b);
      const others = changes().filter(
        (each) => each !== isolated && !(each.do === "silence" && each.kind === name && each.layer === layer),
      );
      requestChanges([
        ...others,
        ...(next.length && next.length < count ? [{ do: "isolate", ...here, heads: next }] : []),
      ]);
    } else if (isolated && !isolated.heads.includes(head)) {
      const next = [...isolated.heads, head].sort((a, b) => a - b); // it may speak again
      replaceChange({ do: "isolate", ...here }, next.length < count ? { ...isolated, heads: next } : null);
    } else toggleChange(silenced);
    update({ layer, head }); // while the server is at work
  }

  const body = h(
    "div",
    {},
    h("div", { class: "controls" }, kind.element, mode.element),
    scrollBox(grid),
    h("div", { class: "controls sweep" }, which, sample.element),
    told,
  );
  return { name: "heads", body, draw };
}

/** Which head of a kind is worth most, and what the numbers are. */
function summary({ drop, unbroken, sentences, reference }, kind) {
  const all = drop[kind].flatMap((row, layer) => row.map((value, head) => ({ value, layer, head })));
  const most = all.reduce((best, each) => (Math.abs(each.value) > Math.abs(best.value) ? each : best));
  const [whole, left] = formatPercents(unbroken, Math.max(0, unbroken - most.value));
  const places = {
    layer: most.layer + 1,
    head: most.head + 1,
    whole,
    left,
    sentences,
    said: reference && word(reference, "target"),
  };
  const key = unbroken < SEEN ? "small" : Math.abs(most.value) < LEAST ? "same" : most.value < 0 ? "better" : "said";
  const told = nodes(reference || key === "small" ? `panel.sweep.${key}` : `panel.sweep.${key}_many`, places);
  return joinSentences(told, state.baseline ? t("panel.sweep.unbroken") : "");
}

// ---- masks ----

function masks() {
  const removed = h("div", { class: "controls" });
  const cell = h("div", { class: "controls" });
  const at = { query: 0, key: 0 };
  function draw() {
    const { run, baseline, kind } = state;
    const before = (baseline ?? run).attention;
    const removals = KINDS.map((name) => {
      const nothing = before[name].allowed.flat().every(Boolean);
      return pressed(
        t(`panel.masks.${name}`),
        { do: "remove_mask", kind: name },
        nothing ? { disabled: true, title: t("panel.masks.nothing") } : {},
      );
    });
    replaceKeepingFocus(removed, removals);
    const { queries, keys, allowed } = run.attention[kind];
    at.query = Math.min(at.query, queries.length - 1);
    at.key = Math.min(at.key, keys.length - 1);
    const numbers = (tokens) => tokens.map((token, i) => [i, `${i + 1} ${token}`]);
    const pick = (axis, tokens) =>
      choice(t(`panel.masks.${axis}`), numbers(tokens), at[axis], (value) => {
        at[axis] = Number(value);
        draw();
      });
    const button = h(
      "button",
      { type: "button", class: "pill", onclick: () => editMask(kind, at.query, at.key) },
      h("span", {}, t(allowed[at.query][at.key] ? "panel.masks.close" : "panel.masks.open")),
    );
    const [from, to] = SIDES[kind];
    replaceKeepingFocus(cell, [
      h("small", {}, t(`kind.${kind}`)),
      h("span", { class: from }, pick("query", queries)),
      "→",
      h("span", { class: to }, pick("key", keys)),
      button,
    ]);
  }
  return { name: "masks", body: h("div", {}, removed, cell), draw };
}

// ---- temperature ----

function temperatures() {
  let kind = "all";
  const range = h("input", {
    type: "range",
    min: 0,
    max: TEMPERATURES.length - 1,
    step: 1,
    "aria-label": t("panel.temperature"),
  });
  const output = h("output");
  const select = h("span");
  range.addEventListener("input", () => {
    const value = TEMPERATURES[range.valueAsNumber];
    output.textContent = `÷ ${value}`;
    replaceChange({ do: "temperature", kind }, value === 1 ? null : { do: "temperature", kind, temperature: value });
  });
  function draw() {
    const now = findChange({ do: "temperature", kind })?.temperature ?? 1;
    const distance = (value) => Math.abs(Math.log(value / now));
    const at = TEMPERATURES.reduce(
      (nearest, value, i) => (distance(value) < distance(TEMPERATURES[nearest]) ? i : nearest),
      0,
    );
    if (document.activeElement !== range) range.value = at;
    range.setAttribute("aria-valuetext", `÷ ${now}`);
    output.textContent = `÷ ${now}`;
    const choose = (value) => {
      kind = value;
      draw();
    };
    replaceKeepingFocus(select, [
      choice(
        t("panel.temperature.of"),
        ["all", ...KINDS].map((name) => [name, t(`change.of.${name}`)]),
        kind,
        choose,
      ),
    ]);
  }
  return { name: "temperature", body: h("div", { class: "controls" }, select, range, output), draw };
}

// ---- positions ----

function positions() {
  const body = h("div", {});
  function draw() {
    if (!state.run.model.positions) return body.replaceChildren(h("p", { class: "hint" }, t("panel.positions.none")));
    replaceKeepingFocus(
      body,
      Object.keys(STACKS).map((stack) => {
        const now = findChange({ do: "positions", stack });
        const set = (how, seed = 0) =>
          replaceChange({ do: "positions", stack }, how === "kept" ? null : { do: "positions", stack, how, seed });
        const how = segmented(
          t(`change.of.${stack}`),
          ["kept", "removed", "shuffled"].map((name) => [name, t(`panel.positions.${name}`)]),
          (value) => set(value),
        );
        how.set(now?.how ?? "kept");
        const again =
          now?.how === "shuffled"
            ? h(
                "button",
                { type: "button", class: "link", onclick: () => set("shuffled", now.seed + 1) },
                t("panel.positions.again"),
              )
            : null;
        return h(
          "div",
          { class: "controls" },
          h("span", { class: "name" }, t(`side.${stack === "encoder" ? "source" : "target"}`)),
          how.element,
          again,
        );
      }),
    );
  }
  return { name: "positions", body, draw };
}

// ---- words ----

function words(server) {
  const swap = h("div", { class: "controls" });
  const force = h("div", { class: "controls" });
  const nothing = { source: [], target: [] };
  let known = { checkpoint: null, ...nothing }; // the words of the model
  let place = 0;
  async function learn() {
    const { checkpoint } = state.run;
    known = { checkpoint, ...nothing };
    const said = await askOnce("vocabulary", { checkpoint }, server.vocabulary).catch(() => nothing);
    if (known.checkpoint !== checkpoint) return;
    known = { checkpoint, ...said };
    draw();
  }
  function draw() {
    if (!open.has("words")) return;
    if (known.checkpoint !== state.run.checkpoint) learn();
    const { run, baseline, step } = state;
    const { source } = baseline ?? run;
    const count = source.filter((token) => token !== "P").length;
    place = Math.min(place, count - 1);
    const swapped = findChange({ do: "swap_word", position: place })?.word ?? "";
    replaceKeepingFocus(swap, [
      h("span", { class: "name" }, t("panel.words.swap")),
      choice(
        t("panel.words.which"),
        source.slice(0, count).map((token, i) => [i, token]),
        place,
        (value) => {
          place = Number(value);
          draw();
        },
      ),
      "→",
      choice(
        t("panel.words.by"),
        [
          ["", t("panel.words.as_it_is")],
          ...[...new Set([...known.source, swapped])].filter(Boolean).map((each) => [each, each]),
        ],
        swapped,
        (value) =>
          replaceChange(
            { do: "swap_word", position: place },
            value ? { do: "swap_word", position: place, word: value } : null,
          ),
      ),
    ]);
    const forced = findChange({ do: "force_word", step })?.word ?? "";
    const { candidates } = run.steps[step];
    const likely = candidates.map(({ token, probability }) => [token, `${token}  ${formatPercent(probability)}`]);
    const others = known.target
      .filter((token) => !candidates.some((each) => each.token === token))
      .map((token) => [token, token]);
    replaceKeepingFocus(force, [
      h("span", { class: "name" }, t("panel.words.force", { step: step + 1 })),
      choice(t("panel.words.say"), [["", t("panel.words.own")], ...likely, ...others], forced, (value) =>
        replaceChange({ do: "force_word", step }, value ? { do: "force_word", step, word: value } : null),
      ),
    ]);
  }
  return { name: "words", body: h("div", {}, swap, force), draw };
}

// ---- residual connections ----

function residuals() {
  const body = h("div", { class: "residuals" });
  function draw() {
    const { attention } = state.run;
    replaceKeepingFocus(
      body,
      Object.entries(STACKS).map(([stack, sublayers]) =>
        h(
          "div",
          {},
          h("h4", {}, t(`change.of.${stack}`)),
          Array.from({ length: attention[stack].layers }, (_, layer) =>
            h(
              "div",
              {
                class: "controls",
                role: "group",
                "aria-label": `${t(`change.of.${stack}`)}, ${t("layer_n", { layer: layer + 1 })}`,
              },
              h("small", { class: "axis" }, t("layer_n", { layer: layer + 1 })),
              sublayers.map((name, i) =>
                pressed(t(`panel.residuals.${name}`), { do: "drop_residual", stack, layer, sublayer: i + 1 }),
              ),
            ),
          ),
        ),
      ),
    );
  }
  return { name: "residuals", body, draw };
}
