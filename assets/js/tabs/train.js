// Train: choose pairs and a network, start, and watch it learn. What must survive another mounting stands in this module,
// in training-stream.js (the training), training-replay.js and own-pairs.js.

import { chip, h, scrollBox, segmented } from "../core/dom.js";
import { trainSettings, slider } from "./train-settings.js";
import { lossAxis, lineChart } from "../charts/line-chart.js";
import { trainingReplay, translationChips } from "../charts/training-replay.js";
import {
  formatMessage,
  formatNumber,
  formatPercent,
  hasText,
  joinSentences,
  language,
  nodes,
  t,
} from "../core/i18n.js";
import { isTraining, onTrainingChange, startTraining, stopTraining, training } from "../net/training-stream.js";
import { ownModelList } from "./own-models.js";
import { pairEditor, ownPairs, unsettledPairs } from "./own-pairs.js";
import { pictureButtons } from "../charts/export.js";
import { saveOnLeave, readSession } from "../net/session.js";

const PAUSE_MS = 250; // after the last change, until the server is asked what it would be
const RETRY_MS = 4000;
const MAX_NAME_LENGTH = 40;
const MAX_SENTENCE_LENGTH = 500;
const CORPORA = ["toy", "classroom", "own"];
const MAX_HELD_OUT = 0.5;
const KEPT = "attention-bitte-train";
const SOON = { steps: 3, ms: 500 }; // before that nobody can say how long it takes
const MANY = 24; // words of a vocabulary, from which on they stand closer

/** What the visitor has chosen. */
const chosen = { corpus: "toy", name: "", watch: { toy: "", classroom: "", own: "" }, settings: {} };
const before = readSession(KEPT);
saveOnLeave(KEPT, () => chosen);

/** What was chosen before a reload, laid over what would be chosen else: only what there still is. */
const laid = (usual, found) => {
  if (usual === null || typeof usual !== "object") return typeof found === typeof usual ? found : usual;
  return Object.fromEntries(Object.entries(usual).map(([name, value]) => [name, laid(value, found?.[name])]));
};

let fronted = "data"; // what stands first in the large column: the data, or the film

/** What the server said it would be, and the question (as text) that it answered. */
let plan = null;
let planned = "";

const question = () => ({
  name: chosen.name.trim() || t("train.name.default"),
  corpus: chosen.corpus,
  pairs: chosen.corpus === "own" ? ownPairs() : [],
  watch: chosen.watch[chosen.corpus].trim(),
  ...chosen.settings[chosen.corpus],
});

export function mount({ element, props, server, signal }) {
  const { limits, defaults, sentences } = props.value;
  if (!chosen.settings.toy) {
    const { toy, classroom, own } = defaults;
    Object.assign(chosen, laid({ ...chosen, settings: { toy, classroom, own } }, before));
    if (!CORPORA.includes(chosen.corpus)) chosen.corpus = "toy";
  }
  const settings = () => chosen.settings[chosen.corpus];
  const presets = () => {
    const shipped = defaults[chosen.corpus];
    // What suits one width is too fast for a wider one.
    const learning_rate = Number(
      ((shipped.training.learning_rate * shipped.model.d_model) / defaults.paper.d_model).toPrecision(3),
    );
    return { shipped, paper: { model: defaults.paper, training: { ...settings().training, learning_rate } } };
  };

  const form = trainSettings({ settings, changed, presets });
  const corpus = segmented(
    t("train.corpus"),
    CORPORA.map((name) => [name, t(`train.corpus.${name}`)]),
    (name) => {
      chosen.corpus = name;
      front("data");
      changed();
    },
  );
  const source = h(
    "fieldset",
    { class: "card forms-head" },
    h("legend", { class: "visually-hidden" }, t("train.corpus")),
    h("div", { class: "controls" }, h("h2", {}, t("train.corpus")), corpus.element),
  );
  const data = dataCard({ server, limits, settings, changed, touched: () => front("data"), signal });
  const live = liveCard(signal);
  const reel = trainingReplay(signal);
  const bar = startBar(begin);
  const own = h("section", { class: "card", id: "own-models" }, ownModelList(signal));

  const name = h("input", {
    type: "text",
    id: "train-name",
    class: "text",
    maxlength: MAX_NAME_LENGTH,
    value: chosen.name,
    placeholder: t("train.name.default"),
    autocomplete: "off",
  });
  name.addEventListener("input", () => {
    chosen.name = name.value;
    changed();
  });
  const watch = h("input", {
    type: "text",
    id: "train-watch",
    class: "text",
    maxlength: MAX_SENTENCE_LENGTH,
    autocomplete: "off",
  });
  watch.addEventListener("input", () => {
    chosen.watch[chosen.corpus] = watch.value;
    changed();
  });
  const entries = [
    ["name", name],
    ["watch", watch],
  ].map(([key, input]) => {
    const problem = h("p", { class: "problem", id: `train-${key}-problem`, hidden: true });
    const about = h("p", { class: "about", id: `train-${key}-about` }, t(`train.set.${key}.about`));
    input.setAttribute("aria-describedby", `${about.id} ${problem.id}`);
    return {
      key,
      problem,
      element: h(
        "div",
        { class: "setting", "data-field": key },
        h("label", { class: "name", for: input.id }, t(`train.set.${key}`)),
        input,
        about,
        problem,
      ),
    };
  });
  const last = h(
    "section",
    { class: "settings" },
    h("h2", {}, t("train.group.this")),
    entries.map((each) => each.element),
  );
  const forms = h(
    "fieldset",
    { class: "card forms" },
    h("legend", { class: "visually-hidden" }, t("train.settings")),
    form.element,
    last,
  );

  const picture = h("div", { class: "train-picture" });
  const whole = h(
    "div",
    { class: "train" },
    picture,
    h("div", { class: "train-side" }, live.element, source, forms, bar.element),
  );
  element.replaceChildren(whole);

  // ---- what it would be ----

  let waiting = null;
  function changed() {
    draw();
    clearTimeout(waiting);
    waiting = setTimeout(ask, PAUSE_MS);
  }

  /** Whether the server has not answered yet about what is chosen now. */
  const stale = () => planned !== JSON.stringify(question());

  async function ask() {
    const asked = question();
    const text = JSON.stringify(asked);
    if (text === planned || !element.offsetParent) return;
    const answer = await server.plan(asked).catch(() => null);
    if (signal.aborted || text !== JSON.stringify(question())) return; // something else is wanted by now
    plan = answer ?? { problems: [{ field: "", message: { key: "error.no_answer", values: {} } }] };
    planned = answer ? text : "";
    if (!answer) waiting = setTimeout(ask, RETRY_MS);
    draw();
  }

  async function begin() {
    await ask(); // about what was changed a moment ago
    if (isTraining() || stale()) return;
    if (faults().length) return bar.complain();
    startTraining(question(), plan.uniform);
    front("film");
    const first = getComputedStyle(whole).display === "grid" ? whole : live.element; // side by side, or below each other
    first.scrollIntoView({
      block: "start",
      behavior: matchMedia("(prefers-reduced-motion)").matches ? "auto" : "smooth",
    });
  }

  /** Why it cannot be started: the server's reasons, and rows that nobody has decided about. */
  function faults() {
    const rows = chosen.corpus === "own" && unsettledPairs();
    const undecided = rows ? [{ field: "rows", message: { key: "train.undecided", values: { count: rows } } }] : [];
    return [...undecided, ...(plan?.problems ?? [])];
  }

  // ---- drawing ----

  /** Bring the data or the film to the front; what the visitor is at stays where it is on the screen. */
  function front(what) {
    if (fronted === what) return;
    fronted = what;
    const at = data.element.getBoundingClientRect().top;
    arrange();
    if (data.element.contains(document.activeElement)) scrollBy(0, data.element.getBoundingClientRect().top - at);
  }

  /** The film of a training stands first in the large column, unless it only waits, or the visitor is at the data again. */
  function arrange() {
    const idle = training.phase === "idle";
    live.element.hidden = idle;
    const filmed = !idle && training.phase !== "waiting" && (isTraining() || fronted === "film");
    const order = filmed
      ? [reel.element, own, data.element]
      : idle || training.phase === "waiting"
        ? [data.element, own]
        : [data.element, reel.element, own];
    if (order.every((each, i) => each === picture.children[i]) && order.length === picture.children.length) return;
    // The others move around what has the focus, or else it would lose it.
    const still = Math.max(
      0,
      order.findIndex((each) => each.contains(document.activeElement)),
    );
    if (order[still].parentElement !== picture) picture.replaceChildren(order[still]);
    [...picture.children].forEach((each) => order.includes(each) || each.remove());
    order[still].before(...order.slice(0, still));
    order[still].after(...order.slice(still + 1));
  }

  function draw() {
    arrange();
    const problems = faults();
    form.draw(problems);
    for (const { key, problem, element: entry } of entries) {
      const wrong = problems.find(({ field }) => field === key);
      problem.hidden = !wrong;
      problem.textContent = wrong ? formatMessage(wrong.message) : "";
      entry.classList.toggle("wrong", Boolean(wrong));
    }
    corpus.set(chosen.corpus);
    data.draw(plan, problems);
    if (document.activeElement !== watch) watch.value = chosen.watch[chosen.corpus];
    watch.placeholder = (!chosen.watch[chosen.corpus] && plan?.watch) || sentences[chosen.corpus] || "";
    bar.draw(plan, problems);
    bar.element.classList.toggle("stale", stale());
  }

  function follow() {
    arrange();
    for (const each of [source, forms, data.element]) each.disabled = isTraining();
    live.draw();
    reel.draw();
    bar.draw(plan, faults());
  }
  onTrainingChange(follow, signal);
  addEventListener(
    "beforeunload",
    (event) => isTraining() && training.phase !== "developing" && event.preventDefault(),
    {
      signal,
    },
  ); // it would end with the page
  const seen = new IntersectionObserver(() => ask());
  seen.observe(element);
  signal.addEventListener("abort", () => {
    seen.disconnect();
    clearTimeout(waiting);
  });
  draw();
  follow();
}

// ---- the data: what it learns from, its words, and a pair as ids ----

function dataCard({ server, limits, settings, changed, touched, signal }) {
  const title = h("h2");
  const about = h("p", { class: "lead" });
  const problem = h("p", { class: "problem", hidden: true });
  const table = h("div", {}, pairEditor({ server, changed, signal }));
  for (const touch of ["click", "input", "drop"]) table.addEventListener(touch, touched);
  const change = (share) => {
    settings().held_out = share;
    changed();
  };
  const held = slider({
    how: { max: MAX_HELD_OUT },
    ids: { id: "train-held_out", "aria-describedby": "train-held_out-about" },
    change,
  });
  const kept = h("p", { class: "about", id: "train-held_out-about" });
  const share = h(
    "div",
    { class: "setting", "data-field": "held_out" },
    h("label", { class: "name", for: "train-held_out" }, t("train.set.held_out")),
    held.element,
    kept,
  );
  const words = h("div", { class: "vocabularies" });
  const ids = h("div", { class: "pair-ids" });
  const built = h(
    "div",
    { class: "built" },
    h("section", {}, h("h2", {}, t("train.words")), words),
    h("section", {}, h("h2", {}, t("train.pair")), ids),
    h("p", { class: "hint" }, t("train.pair.about")),
  );
  const element = h(
    "fieldset",
    { class: "card", id: "train-data" },
    h("legend", { class: "visually-hidden" }, t("train.corpus")),
    title,
    about,
    table,
    problem,
    share,
    built,
  );
  let shown; // the plan that is drawn
  function draw(plan, problems) {
    title.textContent = t(`train.corpus.${chosen.corpus}`);
    about.textContent = t(`train.corpus.${chosen.corpus}.about`, { pairs: limits.pairs });
    table.hidden = chosen.corpus !== "own";
    const wrong = problems.find(({ field }) => field === "pairs" || field === "held_out");
    problem.hidden = !wrong;
    problem.textContent = wrong ? formatMessage(wrong.message) : "";
    held.set(settings().held_out);
    const counts = plan?.pairs;
    kept.replaceChildren(...joinSentences(t("train.set.held_out.about"), counts ? t("train.split", counts) : ""));
    if (shown === plan) return;
    shown = plan;
    built.hidden = !plan?.vocabularies;
    if (built.hidden) return;
    const { source, target, source_size, target_size } = plan.vocabularies;
    words.replaceChildren(vocabulary("source", source, source_size), vocabulary("target", target, target_size));
    ids.replaceChildren(...numbered(plan.example));
  }
  return { element, draw };
}

const vocabulary = (side, tokens, size) =>
  h(
    "section",
    {},
    h("h3", {}, t(`train.words.${side}`, { count: size })),
    h(
      "ol",
      { class: `vocabulary${tokens.length > MANY ? " many" : ""}` },
      tokens.map((token, id) => h("li", { "data-id": id }, chip("span", token, side), h("small", {}, String(id)))),
      size > tokens.length ? h("li", { class: "rest" }, t("train.words.rest", { rest: size - tokens.length })) : null,
    ),
  );

/** The three rows of ids that a pair becomes; the decoder's two stand below each other, so that the shift is seen. */
function numbered({ source, source_ids, decoder_input, decoder_input_ids, target, target_ids }) {
  const row = (name, side, tokens, numbers) => [
    h("h3", {}, t(`train.pair.${name}`)),
    ...tokens.map((token, i) =>
      h(
        "span",
        { class: "token", "data-id": numbers[i] },
        chip("span", token, side),
        h("small", {}, String(numbers[i])),
      ),
    ),
  ];
  const block = (count, ...rows) => scrollBox(h("div", { class: "ids", style: `--count: ${count}` }, rows));
  return [
    block(source.length, row("encoder", "source", source, source_ids)),
    block(
      target.length,
      row("decoder", "target", decoder_input, decoder_input_ids),
      row("target", "target", target, target_ids),
    ),
  ];
}

// ---- while it learns ----

function liveCard(signal) {
  const title = h("h2", { id: "train-status" });
  const trouble = h("p", { class: "message", id: "train-trouble", role: "alert", hidden: true });
  const widest = percentOf(1); // one margin for both plots, so that their steps stand below each other
  const loss = lineChart({ height: 184, widest, signal });
  const accuracy = lineChart({ height: 88, widest, signal });
  const curves = h(
    "div",
    { class: "kept" },
    h("h3", {}, t("train.curve.loss")),
    loss.element,
    h("h3", {}, t("train.curve.accuracy")),
    accuracy.element,
    pictureButtons(loss.element, () => `${training.name}-loss`),
  );
  const now = h("p", { class: "now-says" });
  const say = h("p", { class: "say" });
  const scores = h("div", { class: "verdict", id: "train-scores", role: "status" });
  const outcome = h("div", { class: "outcome" }, say, scores);
  const queue = h("p", { class: "queue" });
  const element = h(
    "section",
    { class: "card", id: "train-live" },
    h("div", { role: "status" }, title),
    trouble,
    queue,
    curves,
    now,
    outcome,
  );
  let drawn = null; // the words that are shown
  let judged; // the scores that are shown, or the phase while there are none

  function draw() {
    if (training.phase === "idle") return;
    const { phase, points, heldOut, keeps, uniform, steps, span, says, place } = training;
    const status = statusOf(training);
    if (title.textContent !== status) title.textContent = status;
    trouble.hidden = phase !== "failed";
    const why = phase === "failed" ? (training.message ? formatMessage(training.message) : t("train.broken")) : "";
    if (trouble.textContent !== why) trouble.textContent = why;

    const waits = phase === "waiting";
    queue.hidden = !waits;
    for (const each of [curves, now, outcome]) each.hidden = waits;
    if (waits) return queue.replaceChildren(...nodes("train.bar.waiting", { place: h("b", {}, formatNumber(place)) }));

    const words = Math.round(Math.exp(uniform));
    const last = points.at(-1);
    const series = (column, say) => [
      {
        name: "training",
        label: last ? `${keeps ? `${t("train.curve.training")} ` : ""}${say(last[column])}` : "",
        points,
        column,
      },
      {
        name: "held-out",
        label: heldOut.length ? `${t("train.curve.held_out")} ${say(heldOut.at(-1)[column])}` : "",
        points: heldOut,
        column,
      },
    ];
    const smoothed = training.smoothing && keeps ? t("train.smoothed") : "";
    const reading = last
      ? t("train.reads", {
          step: last[0],
          steps,
          loss: last[1].toFixed(3),
          uniform: uniform.toFixed(3),
          accuracy: formatPercent(last[2]),
        })
      : t("train.reads_nothing", { uniform: uniform.toFixed(3), words });
    const line = {
      at: uniform,
      labels: ["train.uniform", "train.uniform.short"].map((key) => t(key, { words, uniform: uniform.toFixed(3) })),
    };
    const longest = [keeps ? t("train.curve.held_out") : "", percentOf(1)].join(" ");
    loss.draw({
      steps: span,
      ...lossAxis(training),
      say: (value) => String(Number(value.toFixed(2))),
      series: series(1, (value) => value.toFixed(2)),
      longest,
      line,
      label: reading,
    });
    accuracy.draw({
      steps: span,
      top: 1,
      ticks: [0, 0.5, 1],
      say: percentOf,
      series: series(2, percentOf),
      longest,
      line: null,
      label: reading,
    });
    say.replaceChildren(...joinSentences(reading, smoothed));

    if (drawn !== says || !now.hasChildNodes()) {
      drawn = says;
      const heading = says ? t("train.says", { step: says.step, sentence: training.watch }) : t("train.says_nothing");
      now.replaceChildren(h("span", { class: "after" }, heading), ...(says ? translationChips(says) : []));
    }
    const result = training.scores ?? phase;
    if (judged !== result) {
      judged = result;
      say.hidden = Boolean(training.scores); // they take its place, so that nothing moves
      scores.replaceChildren(
        ...(training.scores
          ? verdict(training)
          : isTraining()
            ? [h("p", { class: "later" }, t("train.scores.later"))]
            : []),
      );
    }
  }
  return { element, draw };
}

function statusOf({ phase, name, why, step, seconds }) {
  if (why && phase !== "failed") return t(`train.ended.${why}`, { name, step, time: duration(seconds) });
  return t(`train.status.${phase}`, { name });
}

function verdict({ scores }) {
  const score = (set) => {
    const { sentences, exact_match, token_accuracy } = scores[set];
    return h(
      "p",
      {},
      t(`train.scores.${set}`, {
        count: sentences,
        exact: formatPercent(exact_match),
        right: Math.round(exact_match * sentences),
        accuracy: formatPercent(token_accuracy),
      }),
    );
  };
  return [score("training"), ...(scores.held_out ? [score("held_out")] : []), h("p", {}, t("train.use"))];
}

// ---- the bar that is always in sight ----

function startBar(begin) {
  const facts = h("p", { class: "facts", id: "train-facts" });
  const reasons = h("div", { class: "reasons", id: "train-problems", role: "status" });
  const go = h(
    "button",
    { type: "button", class: "go", id: "train-start", "aria-describedby": `${facts.id} ${reasons.id}`, onclick: begin },
    t("train.start"),
  );
  const halt = h(
    "button",
    {
      type: "button",
      class: "go halt",
      id: "train-stop",
      onclick: ({ detail }) => detail > 1 || done() || stopTraining(),
    },
    t("train.stop"),
  ); // the second click of two was meant for Start
  const done = () => ["measuring", "developing"].includes(training.phase); // there is nothing left to stop
  const progress = h("progress", { id: "train-progress", "aria-label": t("train.progress"), max: 1 });
  const element = h(
    "div",
    { class: "start-bar" },
    progress,
    reasons,
    h("div", { class: "start-line" }, facts, go, halt),
  );

  function draw(plan, problems) {
    const running = isTraining();
    const focused = [go, halt].includes(document.activeElement);
    go.hidden = running;
    halt.hidden = !running;
    halt.setAttribute("aria-disabled", done()); // it keeps the focus, until Start takes it
    if (focused) (running ? halt : go).focus({ preventScroll: true });
    progress.style.visibility = running ? "visible" : "hidden";
    const disabled = !plan || problems.length > 0;
    go.setAttribute("aria-disabled", disabled); // it stays in the order of Tab, so that its reasons are read
    const said = running
      ? []
      : problems.map(({ field, message }) => [
          field,
          hasText(`train.set.${field}`)
            ? t("train.problem", { name: t(`train.set.${field}`), why: formatMessage(message) })
            : formatMessage(message),
        ]);
    if (reasons.dataset.said !== JSON.stringify(said)) {
      reasons.dataset.said = JSON.stringify(said);
      reasons.replaceChildren(
        ...said.map(([field, text]) => h("button", { type: "button", onclick: () => show(field) }, text)),
      );
    }
    if (running) {
      const step = training.points.at(-1)?.[0] ?? 0;
      progress.value = step / training.span;
      halt.textContent = t(training.phase === "waiting" ? "train.leave" : "train.stop");
      facts.replaceChildren(...course(step));
    } else if (plan?.parameters) {
      const time =
        plan.seconds === null
          ? null
          : h("b", { class: "time" }, t("train.facts.time", { time: duration(plan.seconds) }));
      const weights = t(plan.bytes === null ? "train.facts.weights" : "train.facts.size", {
        parameters: compact(plan.parameters),
        bytes: size(plan.bytes),
      });
      facts.replaceChildren(...[time, h("span", {}, weights)].filter(Boolean));
    } else facts.replaceChildren(plan ? t("train.facts_none") : "…");
  }

  /** Where a setting is that is not right. */
  function show(field) {
    const place = document.querySelector(`[data-field="${field}"]`) ?? document.querySelector("#train-data");
    const control = place.querySelector("input:not([type=file]), button");
    place.scrollIntoView({ block: "center" });
    control.focus({ preventScroll: true });
  }

  let begun = null; // {points, at}: of which training, and when it was first heard to run
  function course(step) {
    const { phase, place, points, steps, left } = training;
    if (phase === "waiting") return nodes("train.bar.waiting", { place: h("b", {}, formatNumber(place)) });
    if (phase !== "running") return nodes(`train.bar.${phase}`);
    if (begun?.points !== points) begun = { points, at: performance.now() };
    const early = left === null || step < SOON.steps || performance.now() - begun.at < SOON.ms;
    return nodes(early ? "train.bar.step" : "train.bar.running", {
      step: h("b", {}, formatNumber(step)),
      steps,
      left: duration(left ?? 0),
    });
  }
  return { element, draw, complain: () => reasons.firstChild?.click() };
}

// ---- numbers for people ----

const percentOf = (share) => formatPercent(Math.round(share * 100) / 100);
const compact = (value) =>
  new Intl.NumberFormat(language, { notation: "compact", maximumSignificantDigits: 3 }).format(value);
const size = (bytes) => {
  const [unit, value] =
    bytes < 1e6 ? ["kilobyte", bytes / 1e3] : bytes < 1e9 ? ["megabyte", bytes / 1e6] : ["gigabyte", bytes / 1e9];
  return new Intl.NumberFormat(language, { style: "unit", unit, maximumSignificantDigits: 2 }).format(value);
};

function duration(seconds) {
  if (seconds < 90) return t("train.seconds", { n: Math.max(1, Math.round(seconds)) });
  return t("train.minutes", { n: formatNumber(Math.round(seconds / 30) / 2) });
}
