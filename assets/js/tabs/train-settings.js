// The settings of a training as a form, every one with a sentence on what it does.

import { h, segmented } from "../core/dom.js";
import { formatPercent, t, formatMessage } from "../core/i18n.js";

const doubled = (from, to) => Array.from({ length: Math.log2(to / from) + 1 }, (_, i) => from * 2 ** i);
const counted = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const decades = (from, to) =>
  Array.from({ length: 3 * Math.round(Math.log10(to / from)) + 1 }, (_, i) =>
    Number(([1, 2, 5][i % 3] * from * 10 ** Math.floor(i / 3)).toPrecision(1)),
  );
const SWITCH = [
  [true, "on"],
  [false, "off"],
];
const SHARE = 0.05; // what a slider of shares moves by

// A number has the values that its − and + go to (any other can be typed), a share its largest value, a choice its values
// and what they are called. What stands in `more` is folded away at first.
const GROUPS = [
  {
    name: "network",
    part: "model",
    fields: {
      d_model: { numbers: doubled(8, 1024) },
      n_heads: { numbers: counted(1, 16) },
      layers: { numbers: counted(1, 12) },
      d_ff: { numbers: doubled(16, 4096) },
    },
    more: {
      dropout: { max: 0.5 },
      positional_encoding: { choices: SWITCH },
      norm_first: {
        choices: [
          [false, "after"],
          [true, "before"],
        ],
      },
      tie_weights: { choices: SWITCH },
    },
  },
  {
    name: "learning",
    part: "training",
    fields: {
      steps: { numbers: decades(10, 10_000) },
      schedule: { choices: ["constant", "warmup", "one-cycle"].map((name) => [name, name]) },
      learning_rate: { numbers: decades(0.0001, 0.1), unless: "warmup" },
      warmup_steps: { numbers: decades(10, 10_000), only: "warmup" },
    },
    more: {
      batch_size: { numbers: doubled(1, 512) },
      label_smoothing: { max: 0.3 },
      seed: { numbers: counted(0, 99) },
    },
  },
];

/** A setting with its name, its sentence, and what is wrong with it: {element, draw(value, problem)}. */
function field(name, how, change) {
  const id = `train-${name}`;
  const ids = { id, "aria-describedby": `${id}-about ${id}-problem` };
  const label = t(`train.set.${name}`);
  const make = how.numbers ? stepper : how.max ? slider : choice;
  const control = make({ how, ids, label, change });
  const problem = h("p", { class: "problem", id: `${id}-problem`, hidden: true });
  const title = how.choices ? h("span", { class: "name" }, label) : h("label", { class: "name", for: id }, label);
  const element = h(
    "div",
    { class: "setting", "data-field": name },
    title,
    control.element,
    h("p", { class: "about", id: `${id}-about` }, t(`train.set.${name}.about`)),
    problem,
  );
  function draw(value, message) {
    control.set(value);
    problem.hidden = !message;
    problem.textContent = message ? formatMessage(message) : "";
    element.classList.toggle("wrong", Boolean(message));
    control.input?.setAttribute("aria-invalid", Boolean(message));
  }
  return { element, draw, shown: (value) => `${label} ${control.shown(value)}` };
}

/** A number between − and +. */
function stepper({ how, ids, label, change }) {
  const input = h("input", { type: "number", step: "any", min: 0, inputmode: "decimal", ...ids });
  const now = () => (input.value === "" ? 0 : input.valueAsNumber);
  const nearest = (up) =>
    up ? how.numbers.find((each) => each > now()) : how.numbers.findLast((each) => each < now());
  const button = (sign, up) =>
    h(
      "button",
      {
        type: "button",
        "aria-label": t(up ? "train.more_of" : "train.less_of", { name: label }),
        onclick: () => nearest(up) !== undefined && change(nearest(up)),
      },
      sign,
    );
  input.addEventListener("input", () => change(input.value === "" ? null : input.valueAsNumber));
  return {
    input,
    element: h("span", { class: "stepper" }, button("−", false), input, button("+", true)),
    set: (value) => document.activeElement === input || (input.value = Number.isFinite(value) ? value : ""), // while it is typed it is the visitor's
    shown: (value) => String(value ?? "–"),
  };
}

/** A number from `min` to `max`, with what it is called; a share unless `shown` calls it otherwise. */
export function slider({ how: { min = 0, max, step = SHARE, shown = formatPercent }, ids, change }) {
  const input = h("input", { type: "range", min, max, step, ...ids });
  const output = h("output", { for: ids.id });
  input.addEventListener("input", () => change(input.valueAsNumber));
  return {
    input,
    element: h("span", { class: "share-slider" }, input, output),
    set(value) {
      input.value = value;
      output.textContent = shown(value);
      input.setAttribute("aria-valuetext", shown(value));
    },
    shown,
  };
}

function choice({ how, ids, label, change }) {
  const { element, set } = segmented(
    label,
    how.choices.map(([value, name]) => [String(value), t(`train.choice.${name}`)]),
    (value) => change(how.choices.find((each) => String(each[0]) === value)[0]),
  );
  for (const [name, value] of Object.entries(ids)) element.setAttribute(name, value);
  return { element, set, shown: (value) => t(`train.choice.${how.choices.find((each) => each[0] === value)[1]}`) };
}

/**
 * `settings()` are those that the form shows, `changed()` is called after it has changed them; `presets()` are
 * [[name, settings]]. Returns {element, draw(problems)}.
 */
export function trainSettings({ settings, changed, presets }) {
  const preset = segmented(
    t("train.presets"),
    ["shipped", "paper"].map((name) => [name, t(`train.preset.${name}`)]),
    (name) => {
      Object.assign(settings(), structuredClone(presets()[name]));
      changed();
    },
  );
  const groups = GROUPS.map(({ name: group, part, fields, more }) => {
    const rows = (list) =>
      Object.entries(list).map(([name, how]) => {
        const change = (value) => {
          settings()[part][name] = value;
          changed();
        };
        return { name, how, ...field(name, how, change) };
      });
    const [first, rest] = [rows(fields), rows(more)];
    const values = h("small");
    const details = h(
      "details",
      { class: "finer" },
      h("summary", {}, t("train.finer"), values),
      rest.map((row) => row.element),
    );
    const element = h(
      "section",
      { class: "settings" },
      h(
        "div",
        { class: "controls" },
        h("h2", {}, t(`train.group.${group}`)),
        h("span", { class: "space" }),
        part === "model" ? preset.element : null,
      ),
      first.map((row) => row.element),
      details,
    );
    function draw(problems) {
      const now = settings();
      const wrong = (name) => problems.find((each) => each.field === name)?.message;
      for (const { name, how, element: row, draw: show } of [...first, ...rest]) {
        row.hidden =
          !wrong(name) && ((how.only && now.training.schedule !== how.only) || now.training.schedule === how.unless);
        show(now[part][name], wrong(name));
      }
      values.textContent = rest.map(({ name, shown }) => shown(now[part][name])).join(" · ");
      if (rest.some(({ name }) => wrong(name))) details.open = true;
    }
    return { element, draw };
  });
  function draw(problems) {
    const now = JSON.stringify(settings());
    preset.set(Object.entries(presets()).find(([, each]) => JSON.stringify({ ...settings(), ...each }) === now)?.[0]);
    groups.forEach((group) => group.draw(problems));
  }
  return { element: groups.map((group) => group.element), draw };
}
