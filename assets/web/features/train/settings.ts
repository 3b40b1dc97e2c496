// The settings of a training as a form, every one with a sentence on what it does.

import type { Message } from "../../api/types.ts";
import { formatMessage, t } from "../../state/i18n.ts";
import { type Attributes, h, namedChoice } from "../../ui/dom.ts";
import { button, setUnlessTyped, slider } from "../../ui/parts.ts";

type Value = number | string | boolean | null;
export type Settings = { model: Record<string, Value>; training: Record<string, Value>; held_out: number };
/**
 * A number has the values that its − and + go to (any other can be typed), a share its largest value, a choice its
 * values by name, a text its largest length. `only` and `unless` name a schedule.
 */
type Field = {
  numbers?: number[];
  max?: number;
  choices?: Record<string, Value>;
  length?: number;
  only?: string;
  unless?: string;
};
type Control = {
  element: HTMLElement;
  input?: HTMLInputElement;
  set: (value: any) => void;
  shown: (value: any) => string;
};
type ControlOptions = { ids: Attributes; label: string; change: (value: any) => void };
/** A field's error, if it has one. */
export type MessageOf = (field: string) => Message | undefined;

const doubled = (from: number, to: number) => Array.from({ length: Math.log2(to / from) + 1 }, (_, i) => from * 2 ** i);
const counted = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
/** 1, 2, 5, 10 … times the first. */
const decades = (from: number, to: number) =>
  Array.from({ length: 3 * Math.round(Math.log10(to / from)) + 1 }, (_, i) =>
    Number(([1, 2, 5][i % 3] * from * 10 ** Math.floor(i / 3)).toPrecision(1)),
  );

const SWITCH = { on: true, off: false };

/** `more` is folded away at first. */
type Group = { name: string; part: "model" | "training"; fields: Record<string, Field>; more: Record<string, Field> };
const GROUPS: Group[] = [
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
      norm_first: { choices: { after: false, before: true } },
      tie_weights: { choices: SWITCH },
    },
  },
  {
    name: "learning",
    part: "training",
    fields: {
      steps: { numbers: decades(10, 10_000) },
      schedule: { choices: { constant: "constant", warmup: "warmup", "one-cycle": "one-cycle" } },
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

/** The form. `settings()` are what it shows, `changed()` is called after it has changed them. */
type Options = { settings: () => Settings; changed: () => void; presets: () => Record<string, Partial<Settings>> };
export function trainSettings({ settings, changed, presets }: Options) {
  const names = ["shipped", "paper"];
  const takePreset = (name: string) => {
    Object.assign(settings(), structuredClone(presets()[name]));
    changed();
  };
  const preset = namedChoice(t("train.presets"), names, "train.preset", takePreset);
  const groups = GROUPS.map((group) => {
    const head = group.part === "model" ? preset.element : null;
    return settingGroup(group, head, (field, value) => {
      settings()[group.part][field] = value;
      changed();
    });
  });
  return {
    element: groups.map((group) => group.element),
    draw(messageOf: MessageOf) {
      const now = JSON.stringify(settings());
      const isNow = (name: string) => JSON.stringify({ ...settings(), ...presets()[name] }) === now;
      preset.set(names.find(isNow));
      for (const group of groups) group.draw(settings(), messageOf);
    },
  };
}

function settingGroup(
  { name, part, fields, more }: Group,
  head: Element | null,
  change: (field: string, value: Value) => void,
) {
  const rowsOf = (list: Record<string, Field>) =>
    Object.entries(list).map(([field, how]) => settingRow(field, how, (value) => change(field, value)));
  const folded = rowsOf(more);
  const rows = [...rowsOf(fields), ...folded];
  const elements = rows.map((row) => row.element);
  const values = h("small");
  const summary = h("summary", {}, t("train.finer"), values);
  const details = h("details", { class: "finer" }, summary, elements.splice(-folded.length));
  const space = h("span", { class: "space" });
  const title = h("div", { class: "controls" }, h("h2", {}, t(`train.group.${name}`)), space, head);
  return {
    element: h("section", { class: "settings" }, title, elements, details),
    draw(settings: Settings, messageOf: MessageOf) {
      const { schedule } = settings.training;
      for (const { name: field, how, element, draw } of rows) {
        const isUnused = (how.only && how.only !== schedule) || how.unless === schedule;
        element.hidden = isUnused && !messageOf(field);
        draw(settings[part][field], messageOf(field));
      }
      values.textContent = folded.map((row) => row.shown(settings[part][row.name])).join(" · ");
      if (folded.some((row) => messageOf(row.name))) details.open = true;
    },
  };
}

/** A setting with its name, its sentence, and what is wrong with it. */
export function settingRow(name: string, how: Field, change: (value: any) => void) {
  const id = `train-${name}`;
  const label = t(`train.set.${name}`);
  const control = makeControl(how, { ids: { id, "aria-describedby": `${id}-about ${id}-problem` }, label, change });
  const { input } = control;
  const problem = problemLine(id);
  const title = input ? h("label", { class: "name", for: id }, label) : h("span", { class: "name" }, label);
  const about = h("p", { class: "about", id: `${id}-about` }, t(`train.set.${name}.about`));
  const element = h("div", { class: "setting", "data-field": name }, title, control.element, about, problem.element);
  return {
    name,
    how,
    element,
    about,
    draw(value: Value, message: Message | undefined, placeholder = "") {
      control.set(value);
      problem.draw(message);
      element.classList.toggle("wrong", Boolean(message));
      input?.setAttribute("aria-invalid", String(Boolean(message)));
      if (input && how.length) input.placeholder = placeholder;
    },
    shown: (value: Value) => `${label} ${control.shown(value)}`,
  };
}

function makeControl({ numbers, max, choices, length }: Field, options: ControlOptions): Control {
  if (numbers) return stepper(numbers, options);
  if (choices) return choice(choices, options);
  return length ? textBox(length, options) : slider({ max, ...options });
}

/** A line for a field's error, if it has one. @param id of the field */
export function problemLine(id?: string) {
  const element = h("p", { class: "problem", id: id && `${id}-problem`, hidden: true });
  const draw = (message: Message | undefined) => {
    element.hidden = !message;
    element.textContent = message ? formatMessage(message) : "";
  };
  return { element, draw };
}

function textBox(maxlength: number, { ids, change }: ControlOptions): Control {
  const input = h("input", { type: "text", class: "text", maxlength, autocomplete: "off", ...ids });
  input.addEventListener("input", () => change(input.value));
  return { input, element: input, set: (value) => setUnlessTyped(input, value), shown: String };
}

/** A number between − and +. */
function stepper(numbers: number[], { ids, label, change }: ControlOptions): Control {
  const input = h("input", { type: "number", step: "any", min: 0, inputmode: "decimal", ...ids });
  input.addEventListener("input", () => change(input.value === "" ? null : input.valueAsNumber));
  const stepTo = (next: number | undefined) => next !== undefined && change(next);
  const less = () => stepTo(numbers.findLast((each) => each < Number(input.value)));
  const more = () => stepTo(numbers.find((each) => each > Number(input.value)));
  const buttons = {
    less: button(null, "−", less, { "aria-label": t("train.less_of", { name: label }) }),
    more: button(null, "+", more, { "aria-label": t("train.more_of", { name: label }) }),
  };
  return {
    input,
    element: h("span", { class: "stepper" }, buttons.less, input, buttons.more),
    set: (value) => setUnlessTyped(input, Number.isFinite(value) ? String(value) : ""),
    shown: (value) => String(value ?? "–"),
  };
}

function choice(choices: Record<string, Value>, { ids, label, change }: ControlOptions): Control {
  const names = Object.keys(choices);
  const nameOf = (value: Value) => names.find((name) => choices[name] === value);
  const { element, set } = namedChoice(label, names, "train.choice", (name) => change(choices[name]));
  for (const [name, value] of Object.entries(ids)) element.setAttribute(name, value);
  return { element, set: (value) => set(nameOf(value)), shown: (value) => t(`train.choice.${nameOf(value)}`) };
}
