// The settings of a training as a form, every one with a sentence on what it does.

import { h, segmented } from "../core/dom.js";
import { formatMessage, formatPercent, t } from "../core/i18n.js";

/** @import { Problem } from "#schema" */
/** @import { Attributes } from "../core/dom.js" */
/** @import { Message } from "../core/types.d.ts" */
/** @typedef {number | string | boolean | null} Value */
/** @typedef {{ model: Record<string, Value>, training: Record<string, Value>, held_out: number }} Settings */
/**
 * A number has the values that its − and + go to (any other can be typed), a share its largest value, a choice its
 * values and what they are called. `only` and `unless` name a schedule.
 * @typedef {{ numbers?: number[], max?: number, choices?: [Value, string][], only?: string, unless?: string }} Field
 */
/**
 * @typedef {{ element: HTMLElement, input?: HTMLInputElement, set: (value: any) => void, shown: (value: any) => string
 *   }} Control
 */
/** @typedef {{ ids: Attributes, label: string, change: (value: any) => void }} ControlOptions */

/** @param {number} from @param {number} to */
const doubled = (from, to) => Array.from({ length: Math.log2(to / from) + 1 }, (_, i) => from * 2 ** i);
/** @param {number} from @param {number} to */
const counted = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
/** 1, 2, 5, 10 … times the first. @param {number} from @param {number} to */
const decades = (from, to) =>
  Array.from({ length: 3 * Math.round(Math.log10(to / from)) + 1 }, (_, i) =>
    Number(([1, 2, 5][i % 3] * from * 10 ** Math.floor(i / 3)).toPrecision(1)),
  );

/** @type {[Value, string][]} */
const SWITCH = [
  [true, "on"],
  [false, "off"],
];
/** @type {[Value, string][]} */
const NORM_FIRST = [
  [false, "after"],
  [true, "before"],
];
/** @type {[Value, string][]} */
const SCHEDULES = ["constant", "warmup", "one-cycle"].map((name) => [name, name]);
const SHARE_STEP = 0.05;

/**
 * `more` is folded away at first.
 * @type {{ name: string, part: "model" | "training", fields: Record<string, Field>, more: Record<string, Field> }[]}
 */
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
      norm_first: { choices: NORM_FIRST },
      tie_weights: { choices: SWITCH },
    },
  },
  {
    name: "learning",
    part: "training",
    fields: {
      steps: { numbers: decades(10, 10_000) },
      schedule: { choices: SCHEDULES },
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

/**
 * The form. `settings()` are what it shows, `changed()` is called after it has changed them.
 * @param {{ settings: () => Settings, changed: () => void, presets: () => Record<string, Partial<Settings>> }} options
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
  const groups = GROUPS.map(({ name, part, fields, more }) => {
    const rows = (/** @type {Record<string, Field>} */ list) =>
      Object.entries(list).map(([field, how]) =>
        settingRow(field, how, (value) => {
          settings()[part][field] = value;
          changed();
        }),
      );
    return settingGroup({ name, part, first: rows(fields), more: rows(more), head: part === "model" ? preset : null });
  });
  return {
    element: groups.map((group) => group.element),
    draw(/** @type {Problem[]} */ problems) {
      const now = JSON.stringify(settings());
      const isNow = (/** @type {Partial<Settings>} */ each) => JSON.stringify({ ...settings(), ...each }) === now;
      preset.set(Object.entries(presets()).find(([, each]) => isNow(each))?.[0]);
      for (const group of groups) group.draw(settings(), problems);
    },
  };
}

/** @typedef {ReturnType<typeof settingRow>} SettingRow */

/**
 * @param {{ name: string, part: "model" | "training", first: SettingRow[], more: SettingRow[], head: { element: Element
 *   } | null }} group
 */
function settingGroup({ name, part, first, more, head }) {
  const values = h("small");
  const details = h(
    "details",
    { class: "finer" },
    h("summary", {}, t("train.finer"), values),
    more.map((row) => row.element),
  );
  const title = h(
    "div",
    { class: "controls" },
    h("h2", {}, t(`train.group.${name}`)),
    h("span", { class: "space" }),
    head?.element,
  );
  return {
    element: h(
      "section",
      { class: "settings" },
      title,
      first.map((row) => row.element),
      details,
    ),
    draw(/** @type {Settings} */ settings, /** @type {Problem[]} */ problems) {
      const messageOf = (/** @type {string} */ field) => problems.find((each) => each.field === field)?.message;
      const { schedule } = settings.training;
      for (const row of [...first, ...more]) {
        const { only, unless } = row.how;
        row.element.hidden = !messageOf(row.name) && ((only && only !== schedule) || unless === schedule);
        row.draw(settings[part][row.name], messageOf(row.name));
      }
      values.textContent = more.map((row) => row.shown(settings[part][row.name])).join(" · ");
      if (more.some((row) => messageOf(row.name))) details.open = true;
    },
  };
}

/**
 * A setting with its name, its sentence, and what is wrong with it.
 * @param {string} name @param {Field} how @param {(value: Value) => void} change
 */
function settingRow(name, how, change) {
  const id = `train-${name}`;
  const label = t(`train.set.${name}`);
  const control = makeControl(how, { ids: { id, "aria-describedby": `${id}-about ${id}-problem` }, label, change });
  const problem = problemLine(id);
  const title = how.choices ? h("span", { class: "name" }, label) : h("label", { class: "name", for: id }, label);
  const about = h("p", { class: "about", id: `${id}-about` }, t(`train.set.${name}.about`));
  const element = h("div", { class: "setting", "data-field": name }, title, control.element, about, problem.element);
  return {
    name,
    how,
    element,
    draw(/** @type {Value} */ value, /** @type {Message | undefined} */ message) {
      control.set(value);
      problem.draw(message);
      element.classList.toggle("wrong", Boolean(message));
      control.input?.setAttribute("aria-invalid", String(Boolean(message)));
    },
    shown: (/** @type {Value} */ value) => `${label} ${control.shown(value)}`,
  };
}

/** @param {Field} how @param {ControlOptions} options @returns {Control} */
function makeControl({ numbers, max, choices }, options) {
  if (numbers) return stepper(numbers, options);
  return choices ? choice(choices, options) : slider({ how: { max: max ?? 1 }, ...options });
}

/** What is wrong with a field, where something is. @param {string} [id] of the field */
export function problemLine(id) {
  const element = h("p", { class: "problem", id: id && `${id}-problem`, hidden: true });
  const draw = (/** @type {Message | null | undefined} */ message) => {
    element.hidden = !message;
    element.textContent = message ? formatMessage(message) : "";
  };
  return { element, draw };
}

/** A number between − and +. @param {number[]} numbers @param {ControlOptions} options @returns {Control} */
function stepper(numbers, { ids, label, change }) {
  const input = h("input", { type: "number", step: "any", min: 0, inputmode: "decimal", ...ids });
  const button = (
    /** @type {string} */ sign,
    /** @type {string} */ key,
    /** @type {(now: number) => any} */ nearest,
  ) => {
    const onclick = () => {
      const next = nearest(input.value === "" ? 0 : input.valueAsNumber);
      if (next !== undefined) change(next);
    };
    return h("button", { type: "button", "aria-label": t(key, { name: label }), onclick }, sign);
  };
  input.addEventListener("input", () => change(input.value === "" ? null : input.valueAsNumber));
  return {
    input,
    element: h(
      "span",
      { class: "stepper" },
      button("−", "train.less_of", (now) => numbers.findLast((each) => each < now)),
      input,
      button("+", "train.more_of", (now) => numbers.find((each) => each > now)),
    ),
    set(value) {
      // While it is typed it is the visitor's.
      if (document.activeElement !== input) input.value = Number.isFinite(value) ? String(value) : "";
    },
    shown: (value) => String(value ?? "–"),
  };
}

/**
 * A number from `min` to `max` beside its text: a share in per cent unless `shown` writes it otherwise.
 * @param {{ how: { min?: number, max: number, step?: number, shown?: (value: number) => string }, ids: Attributes,
 *   change: (value: number) => void }} options
 */
export function slider({ how: { min = 0, max, step = SHARE_STEP, shown = formatPercent }, ids, change }) {
  const input = h("input", { type: "range", min, max, step, ...ids });
  const output = h("output", { for: ids.id });
  input.addEventListener("input", () => change(input.valueAsNumber));
  return {
    input,
    element: h("span", { class: "share-slider" }, input, output),
    set(/** @type {number} */ value) {
      input.value = String(value);
      output.textContent = shown(value);
      input.setAttribute("aria-valuetext", shown(value));
    },
    shown,
  };
}

/** @param {[Value, string][]} choices @param {ControlOptions} options @returns {Control} */
function choice(choices, { ids, label, change }) {
  const { element, set } = segmented(
    label,
    choices.map(([value, name]) => [String(value), t(`train.choice.${name}`)]),
    (value) => change(choices.find((each) => String(each[0]) === value)?.[0]),
  );
  for (const [name, value] of Object.entries(ids)) element.setAttribute(name, value);
  return { element, set, shown: (value) => t(`train.choice.${choices.find((each) => each[0] === value)?.[1]}`) };
}
