// The settings of a training as a form, every one with a sentence on what it does.

import { formatMessage, t } from "../../state/i18n.ts";
import { type Attributes, h, namedChoice } from "../../ui/dom.ts";
import { button, setContent, setUnlessTyped, slider } from "../../ui/parts.ts";
import { messageOf, presets, settings, type Value } from "./choices.ts";

type Control = {
  element: HTMLElement;
  input?: HTMLInputElement;
  set: (value: any, placeholder: string) => void;
  shown: (value: any) => string;
};
type Field = (ids: Attributes, label: string, change: (value: any) => void) => Control;

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
      d_model: stepper(doubled(8, 1024)),
      n_heads: stepper(counted(1, 16)),
      layers: stepper(counted(1, 12)),
      d_ff: stepper(doubled(16, 4096)),
    },
    more: {
      dropout: share(0.5),
      positional_encoding: choice(SWITCH),
      norm_first: choice({ after: false, before: true }),
      tie_weights: choice(SWITCH),
    },
  },
  {
    name: "learning",
    part: "training",
    fields: {
      steps: stepper(decades(10, 10_000)),
      schedule: choice({ constant: "constant", warmup: "warmup", "one-cycle": "one-cycle" }),
      learning_rate: stepper(decades(0.0001, 0.1)),
      warmup_steps: stepper(decades(10, 10_000)),
    },
    more: { batch_size: stepper(doubled(1, 512)), label_smoothing: share(0.3), seed: stepper(counted(0, 99)) },
  },
];

const isUnused = (name: string, schedule: Value) => name === (schedule === "warmup" ? "learning_rate" : "warmup_steps");

export function trainSettings(changed: () => void) {
  const names = ["shipped", "paper"];
  const preset = namedChoice(t("train.presets"), names, "train.preset", (name) => {
    Object.assign(settings(), structuredClone(presets()[name]));
    changed();
  });
  const groups = GROUPS.map((group) =>
    settingGroup(group, group.part === "model" ? preset.element : null, (field, value) => {
      settings()[group.part][field] = value;
      changed();
    }),
  );
  return {
    element: groups.map((group) => group.element),
    draw() {
      const now = JSON.stringify(settings());
      preset.set(names.find((name) => JSON.stringify({ ...settings(), ...presets()[name] }) === now));
      for (const group of groups) group.draw();
    },
  };
}

type Change = (field: string, value: Value) => void;

function settingGroup({ name, part, fields, more }: Group, head: Element | null, change: Change) {
  const rowsOf = (list: Record<string, Field>) =>
    Object.entries(list).map(([field, make]) => settingRow(field, make, (value) => change(field, value)));
  const [shown, folded] = [rowsOf(fields), rowsOf(more)];
  const elements = (rows: typeof shown) => rows.map(({ element }) => element);
  const described = h("small");
  const details = h("details", { class: "finer" }, h("summary", {}, t("train.finer"), described), elements(folded));
  const space = h("span", { class: "space" });
  const title = h("div", { class: "controls" }, h("h2", {}, t(`train.group.${name}`)), space, head);
  return {
    element: h("section", { class: "settings" }, title, elements(shown), details),
    draw() {
      const { [part]: values, training } = settings();
      for (const { name: field, element, draw } of [...shown, ...folded]) {
        element.hidden = isUnused(field, training.schedule) && !messageOf(field);
        draw(values[field]);
      }
      described.textContent = folded.map((row) => row.shown(values[row.name])).join(" · ");
      if (folded.some((row) => messageOf(row.name))) details.open = true;
    },
  };
}

export function settingRow(name: string, make: Field, change: (value: any) => void) {
  const id = `train-${name}`;
  const label = t(`train.set.${name}`);
  const control = make({ id, "aria-describedby": `${id}-about ${id}-problem` }, label, change);
  const { input } = control;
  const problem = h("p", { class: "problem", id: `${id}-problem` });
  const title = h(input ? "label" : "span", { class: "name", for: input && id }, label);
  const about = h("p", { class: "about", id: `${id}-about` }, t(`train.set.${name}.about`));
  const attributes = { class: "setting", title: about.textContent, "data-field": name };
  const element = h("div", attributes, title, control.element, about, problem);
  return {
    name,
    element,
    about,
    draw(value: Value, placeholder = "") {
      const message = messageOf(name);
      control.set(value, placeholder);
      setContent(problem, message && formatMessage(message));
      element.classList.toggle("wrong", Boolean(message));
      input?.setAttribute("aria-invalid", String(Boolean(message)));
    },
    shown: (value: Value) => `${label} ${control.shown(value)}`,
  };
}

export function textBox(maxlength: number): Field {
  return (ids, _, change) => {
    const input = h("input", { type: "text", class: "text", maxlength, autocomplete: "off", ...ids });
    input.addEventListener("input", () => change(input.value));
    const set = (value: string, placeholder: string) => {
      setUnlessTyped(input, value);
      input.placeholder = placeholder;
    };
    return { input, element: input, set, shown: String };
  };
}

export function share(max: number): Field {
  return (ids, _, change) => slider({ max, ids, change });
}

/** A number between − and +, which go to these values; any other can be typed. */
function stepper(numbers: number[]): Field {
  return (ids, label, change) => {
    const input = h("input", { type: "number", step: "any", min: 0, inputmode: "decimal", ...ids });
    input.addEventListener("input", () => change(input.value === "" ? null : input.valueAsNumber));
    const stepTo = (next: number | undefined) => next !== undefined && change(next);
    const less = () => stepTo(numbers.findLast((each) => each < Number(input.value)));
    const more = () => stepTo(numbers.find((each) => each > Number(input.value)));
    const stepButton = (key: string, sign: string, step: () => void) =>
      button(null, sign, step, { "aria-label": t(key, { name: label }) });
    const buttons = [stepButton("train.less_of", "−", less), stepButton("train.more_of", "+", more)];
    return {
      input,
      element: h("span", { class: "stepper" }, buttons[0], input, buttons[1]),
      set: (value) => setUnlessTyped(input, Number.isFinite(value) ? String(value) : ""),
      shown: (value) => String(value ?? "–"),
    };
  };
}

function choice(choices: Record<string, Value>): Field {
  const names = Object.keys(choices);
  const nameOf = (value: Value) => names.find((name) => choices[name] === value);
  return (ids, label, change) => {
    const { element, set } = namedChoice(label, names, "train.choice", (name) => change(choices[name]));
    for (const [name, value] of Object.entries(ids)) element.setAttribute(name, value);
    return { element, set: (value) => set(nameOf(value)), shown: (value) => t(`train.choice.${nameOf(value)}`) };
  };
}
