// The title line: which model, which device and why, which language, light or dark.

import { mapPaint } from "../charts/attention-map.js";
import { h } from "../core/dom.js";
import {
  chooseLanguage,
  formatBytes,
  formatMessage,
  joinSentences,
  LANGUAGES,
  language,
  nodes,
  t,
} from "../core/i18n.js";
import { button, option } from "../core/parts.js";
import { state, subscribe } from "../core/state.js";
import { isOwn, isReal, modelName, models, setShippedModels, useModel } from "../net/models.js";
import { awaitedModel, cancelWait, secondsLeft } from "../net/real-models.js";
import { readPreference, writePreference } from "../net/session.js";
import { describeModel } from "./describe-model.js";
import { downloadMenu } from "./downloads.js";
import { followFrame, listenForFrameKeys, presentButton } from "./frame.js";
import { badge as checksBadge } from "./self-checks.js";
import { shareButton } from "./share.js";

/** @import { View } from "../core/types.d.ts" */

const PAPER = "https://arxiv.org/abs/1706.03762";
const THEME_KEY = "attention-bitte-theme";

/** @param {View} view */
export function mount({ element, props, server, signal }) {
  restoreTheme();
  setShippedModels(props.models);
  const closeOthers = (/** @type {Event} */ { target }) => {
    for (const each of element.querySelectorAll("details"))
      if (!each.contains(/** @type {Node} */ (target))) each.open = false;
  };
  document.addEventListener("click", closeOthers, { signal });
  const paper = h("a", { href: PAPER, target: "_blank", rel: "noopener" }, "Attention Is All You Need");
  const title = h("h1", {}, "Attention, bitte", " ", h("small", {}, nodes("header.subtitle", { paper })));
  const controls = [
    modelChoice(element, signal),
    deviceBadge(props.value),
    checksBadge(server, signal),
    themeButton(),
    languageChoice(),
    downloadMenu(server),
    shareButton(server, props.value.space_host, signal),
    presentButton(),
  ];
  const header = h("header", {}, title, h("div", { class: "header-controls" }, controls));
  element.replaceChildren(skipLink(), mapPaint(), header);
  showAwaitedModel(element.closest(".contain") ?? document.body, signal); // where the stylesheet reaches
  followFrame(signal);
  listenForFrameKeys(header, signal);
}

/** For the keyboard, the first of the page: past the frame to what the open tab shows. */
function skipLink() {
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault(); // an address with # would lead to another page: see <base>
    const panel = /** @type {HTMLElement | null} */ (document.querySelector("[role=tabpanel].open"));
    if (!panel) return;
    panel.tabIndex = -1;
    panel.focus();
  };
  return h("a", { class: "skip", href: location.href, onclick: skip }, t("skip"));
}

/** The visitor's choice, unless the address has one. */
function restoreTheme() {
  const theme = readPreference(THEME_KEY);
  const isAsked = new URLSearchParams(location.search).has("__theme");
  if (theme && !isAsked) document.body.classList.toggle("dark", theme === "dark");
}

function themeButton() {
  const toggle = () => {
    const isDark = document.body.classList.toggle("dark");
    writePreference(THEME_KEY, isDark ? "dark" : "light");
  };
  return button("pill", "◐", toggle, { title: t("header.theme"), "aria-label": t("header.theme") });
}

/** @param {string} id @param {string} title @param {[string, string][]} options */
const pillSelect = (id, title, options) =>
  h("select", { class: "pill", id, title, "aria-label": title }, options.map(option()));

/** @param {Element} element @param {AbortSignal} signal */
function modelChoice(element, signal) {
  const choice = pillSelect("checkpoint", t("header.model"), []);
  const draw = () => {
    choice.value = state.run?.checkpoint;
  };
  const drawOptions = () => {
    /** @type {Record<string, HTMLElement[]>} */
    const groups = { shipped: [], own: [], real: [] };
    for (const checkpoint of Object.keys(models())) {
      const kind = isReal(checkpoint) ? "real" : isOwn(checkpoint) ? "own" : "shipped";
      groups[kind].push(option()([checkpoint, describeModel(checkpoint)]));
    }
    const drawn = Object.entries(groups).filter(([, options]) => options.length);
    const grouped = drawn.map(([kind, options]) => h("optgroup", { label: t(`header.models.${kind}`) }, options));
    choice.replaceChildren(...grouped);
    draw();
  };
  drawOptions();
  choice.addEventListener("change", () => {
    useModel(choice.value);
    if (awaitedModel()) draw(); // until it is there, the page has the one before
  });
  subscribe(element, draw);
  document.addEventListener("models:changed", drawOptions, { signal });
  document.addEventListener("translate:answered", draw, { signal }); // also after a refusal
  return choice;
}

const PATIENCE_MS = 300; // a model in the server's memory is there before

/**
 * How far the model is that was chosen and is not in the server's memory yet: also where the header is folded away.
 * @param {Element} page @param {AbortSignal} signal
 */
function showAwaitedModel(page, signal) {
  const text = h("span", {});
  const bar = h("progress", { max: 1 });
  const cancel = button("link", t("loading.cancel"), cancelWait);
  const line = h("div", { class: "awaited", id: "awaited-model", role: "status", hidden: true }, text, bar, cancel);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const draw = () => {
    const wait = awaitedModel();
    if (!wait) {
      clearTimeout(timer);
      timer = undefined;
      line.hidden = true;
      return;
    }
    timer ??= setTimeout(() => (line.hidden = !awaitedModel()), PATIENCE_MS);
    const { checkpoint, fetched, size } = wait;
    const isFetched = fetched >= size;
    const amount = { name: modelName(checkpoint), fetched: formatBytes(fetched), size: formatBytes(size) };
    const left = secondsLeft();
    const told = isFetched ? t("loading.reading", amount) : t("loading.fetching", amount);
    text.replaceChildren(...joinSentences(told, isFetched || left === null ? "" : t("loading.left", timeLeft(left))));
    if (isFetched) bar.removeAttribute("value");
    else bar.value = fetched / size;
  };
  const view = h("div", { class: "view" }, line);
  page.append(view);
  signal.addEventListener("abort", () => view.remove());
  document.addEventListener("model:awaited", draw, { signal });
  draw();
}

/** @param {number} seconds */
function timeLeft(seconds) {
  const [unit, n] = seconds < 90 ? ["second", Math.max(1, seconds)] : ["minute", seconds / 60];
  const format = new Intl.NumberFormat(language, {
    style: "unit",
    unit,
    unitDisplay: "long",
    maximumFractionDigits: 0,
  });
  return { time: format.format(n) };
}

function languageChoice() {
  const choice = pillSelect("language", t("header.language"), Object.entries(LANGUAGES));
  choice.value = language;
  const choose = async () => {
    try {
      await chooseLanguage(choice.value);
      document.getElementById("language")?.focus(); // of the header that was mounted since
    } catch {
      choice.value = language; // its catalogue cannot be had: the page stays as it is
    }
  };
  choice.addEventListener("change", choose);
  return choice;
}

/** @param {{ device: string, why: import("../core/types.d.ts").Message }} value */
function deviceBadge({ device, why }) {
  const summary = h("summary", {}, h("span", { class: "dot" }), device);
  return h("details", { class: "pill", id: "device" }, summary, h("p", { class: "popover" }, formatMessage(why)));
}
