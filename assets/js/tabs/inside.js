// Inside a head: one query's way through one attention sublayer, stage by stage, with the arithmetic of every number.

import { chip, h, replaceKeepingFocus, scrollBox, segmented, word } from "../core/dom.js";
import { nodes, formatPercent, t } from "../core/i18n.js";
import { askAboutRun, fetchSublayer } from "../core/server-cache.js";
import { headPicker } from "./head-picker.js";
import { STAGES, stageSection } from "../charts/sublayer-stages.js";
import { argmax, subscribe, selectQuery, state, update, KINDS } from "../core/state.js";

export function mount({ element, server, signal }) {
  const kind = segmented(
    t("attention.which"),
    KINDS.map((name) => [name, t(`kind.${name}`)]),
    (value) => update({ kind: value }),
  );
  const which = headPicker();
  const queries = h("p", { class: "queries" });
  const say = h("p", { class: "say", "aria-live": "polite" });
  const stages = h("div", { class: "stages" });
  const title = h("h3");
  const body = h("div", { class: "worked" });
  const close = h(
    "button",
    { type: "button", class: "pill", onclick: () => panel.classList.remove("open") },
    t("close"),
  );
  const panel = h(
    "aside",
    { class: "card arithmetic-panel", "aria-live": "polite" },
    h("div", { class: "panel-title" }, title, close),
    body,
  );
  const shapes = h("section", { class: "card below", id: "shapes" });
  element.replaceChildren(
    say,
    h(
      "section",
      { class: "card" },
      h("div", { class: "controls" }, kind.element, which.element),
      h("div", { class: "pickers" }, t("inside.from"), queries),
    ),
    h(
      "div",
      { class: "columns inside" },
      h("section", { class: "card below" }, h("h2", { class: "visually-hidden" }, t("tab.inside")), stages),
      panel,
    ),
    shapes,
  );

  const tell = (heading, parts) => {
    title.textContent = heading;
    body.replaceChildren(...parts);
    panel.classList.add("open");
  };
  const invite = () => {
    title.textContent = t("inside.arithmetic");
    body.replaceChildren(h("p", { class: "hint" }, t("inside.invite")), h("p", { class: "hint" }, t("inside.digits")));
    panel.classList.remove("open");
  };

  let lifetime = null; // of the stages that are drawn
  let shown = [];
  async function draw() {
    const { run } = state;
    kind.set(state.kind);
    which.draw(run.attention[state.kind]);
    const depends = [run, state.kind, state.layer, state.head, state.query];
    if (!element.offsetParent || depends.every((value, i) => value === shown[i])) return;
    shown = depends;
    const data = await fetchSublayer(server, state.kind, state.layer).catch(() => null);
    if (depends.some((value, i) => value !== shown[i])) return; // something else is wanted by now
    if (!data) {
      shown = [];
      say.textContent = t("positions.failed");
      return;
    }
    replaceKeepingFocus(
      queries,
      data.queries.map((token, i) =>
        chip("button", token, data.from, {
          type: "button",
          "aria-pressed": i === state.query,
          onclick: () => selectQuery(i),
        }),
      ),
    );
    lifetime?.abort();
    lifetime = new AbortController();
    const look = {
      run,
      data,
      kind: state.kind,
      layer: state.layer,
      head: state.head,
      query: state.query,
      server,
      signal: lifetime.signal,
      tell,
    };
    stages.replaceChildren(...STAGES.map((name) => stageSection(name, look)));
    say.replaceChildren(...aloud(look));
    invite();
    drawShapes();
  }

  let shaped = null; // the run whose shapes are shown
  async function drawShapes() {
    const { run } = state;
    if (shaped === run) return;
    const said = await askAboutRun("shapes", server).catch(() => null);
    if (!said || run !== state.run) return;
    shaped = run;
    shapes.replaceChildren(...shapeTable(said), h("p", { class: "hint" }, t("shapes.click")));
  }

  subscribe(element, draw);
  const seen = new IntersectionObserver(() => state.run && draw());
  seen.observe(element);
  signal.addEventListener("abort", () => {
    seen.disconnect();
    lifetime?.abort();
  });
}

/** The whole way in one sentence. */
function aloud({ data, kind, layer, head, query }) {
  const weights = data.at("weights", head, query);
  const scores = data.at("scores", head, query);
  const key = argmax(weights);
  const hidden = data.at("ff_hidden", query);
  return nodes(data.allowed[query].includes(true) ? "inside.say" : "inside.say_nothing", {
    word: word(data.queries[query], data.from),
    layer: layer + 1,
    head: head + 1,
    kind: t(`inside.kind.${kind}`),
    key: word(data.keys[key], data.to),
    score: scores[key].toFixed(2),
    share: formatPercent(weights[key]),
    firing: hidden.filter((value) => value > 0).length,
    of: hidden.length,
  });
}

// Where each row of the table of shapes is drawn: a tab, and what to look at there.
const PLACES = {
  source_ids: { tab: "lesson", stop: 0 },
  source_embedding: { tab: "lesson", stop: 1 },
  source_input: { tab: "positions", stack: "encoder" },
  encoder_qkv: { tab: "inside", kind: "encoder", stage: "qkv" },
  encoder_attention: { tab: "attention", kind: "encoder" },
  encoder_hidden: { tab: "inside", kind: "encoder", stage: "ffn" },
  memory: { tab: "lesson", stop: 9 },
  target_ids: { tab: "lesson", stop: 0 },
  target_embedding: { tab: "lesson", stop: 1 },
  target_input: { tab: "positions", stack: "decoder" },
  decoder_qkv: { tab: "inside", kind: "decoder", stage: "qkv" },
  decoder_attention: { tab: "attention", kind: "decoder" },
  cross_q: { tab: "inside", kind: "cross", stage: "qkv" },
  cross_kv: { tab: "inside", kind: "cross", stage: "qkv" },
  cross_attention: { tab: "attention", kind: "cross" },
  decoder_hidden: { tab: "inside", kind: "decoder", stage: "ffn" },
  logits: { tab: "lesson", stop: 12 },
  loss_logits: { tab: "lesson", stop: 13 },
};

// Stages that are called otherwise in a model without positions.
const BARE = { source_input: "shapes.bare_encoder", target_input: "shapes.bare_decoder" };

export function shapeTable({ rows }) {
  const { positions } = state.run.model;
  const called = (name) => t((!positions && BARE[name]) || `shapes.${name}`);
  const show = (shape) => `(${shape.join(", ")})`;
  const open = ({ stage: name, ...place }) => {
    update(place);
    if (name) requestAnimationFrame(() => document.querySelector(`#stage-${name}`)?.scrollIntoView({ block: "start" }));
  };
  const heading = ["stage", "here", "paper"].map((name) => h("th", { scope: "col" }, t(`shapes.${name}`)));
  return [
    h("h2", {}, t("shapes.title")),
    scrollBox(
      h(
        "table",
        { class: "shapes" },
        h("thead", {}, h("tr", {}, heading)),
        h(
          "tbody",
          {},
          rows.map(({ stage: name, layers, here, paper }) =>
            h(
              "tr",
              { "data-stage": name },
              h(
                "th",
                { scope: "row" },
                h("button", { type: "button", class: "link", onclick: () => open(PLACES[name]) }, called(name)),
                layers > 1 ? h("small", {}, ` × ${layers}`) : null,
              ),
              h("td", {}, show(here)),
              h("td", {}, show(paper)),
            ),
          ),
        ),
      ),
    ),
    h("p", { class: "hint" }, t("shapes.letters")),
  ];
}
