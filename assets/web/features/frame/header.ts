// The title line: what this is, which model, which language, and one menu for the rest.

import { canAsk, NO_ANSWER } from "../../api/client.ts";
import { isOwn, isReal, modelName, models, useModel } from "../../api/models.ts";
import { awaitedModel, cancelWait, secondsLeft } from "../../api/real-models.ts";
import { isSavedRun, opening, parametersOf } from "../../api/schema.ts";
import { readPreference, writePreference } from "../../api/session.ts";
import type { Child, View } from "../../api/types.ts";
import { placeParameters } from "../../state/address.ts";
import {
  chooseLanguage,
  formatBytes,
  formatMessage,
  joinSentences,
  LANGUAGES,
  language,
  nodes,
  t,
} from "../../state/i18n.ts";
import { askAboutRun } from "../../state/server-cache.ts";
import { state, subscribe } from "../../state/state.ts";
import { tokenIndex } from "../../state/words.ts";
import { describeModel } from "../../ui/describe.ts";
import { h } from "../../ui/dom.ts";
import { formatDuration } from "../../ui/duration.ts";
import { download } from "../../ui/export.ts";
import { followFrame, listenForFrameKeys, startPresenting } from "../../ui/frame.ts";
import { button, hint, link, option } from "../../ui/parts.ts";
import { handout } from "./handout.ts";
import { badge as checksBadge } from "./self-checks.ts";
import { shareEntry } from "./share.ts";

const PAPER = "https://arxiv.org/abs/1706.03762";
const THEME_KEY = "attention-bitte-theme";

export function mount({ element, signal }: View) {
  restoreTheme();
  const subtitle = h("small", {}, t("header.subtitle"));
  subscribe(subtitle, () => {
    const { checkpoint } = state.run;
    const isGerman = !isReal(checkpoint) && (!isOwn(checkpoint) || models()[checkpoint]?.corpus !== "own");
    subtitle.textContent = t(isGerman ? "header.subtitle" : "header.subtitle_other");
  });
  const title = h("h1", {}, "Attention, bitte", " ", subtitle);
  const controls = [isSavedRun ? null : modelChoice(element, signal), languageChoice(), menu(signal)];
  const header = h("header", {}, title, h("div", { class: "header-controls" }, controls));
  element.replaceChildren(skipLink(), header);
  showAwaitedModel(element.closest(".contain") ?? document.body, signal); // where the stylesheet reaches
  followFrame(signal);
  listenForFrameKeys(signal);
}

/** For the keyboard, the first of the page: past the frame to what the open tab shows. */
function skipLink() {
  const skip = (event: Event) => {
    event.preventDefault(); // an address with # would lead to another page: see <base>
    const panel = document.querySelector<HTMLElement>("[role=tabpanel].open");
    if (!panel) return;
    panel.tabIndex = -1;
    panel.focus();
  };
  return h("a", { class: "skip", href: location.href, onclick: skip }, t("skip"));
}

function restoreTheme() {
  const theme = readPreference(THEME_KEY);
  const isAsked = new URLSearchParams(parametersOf(location)).has("__theme");
  if (theme && !isAsked) document.body.classList.toggle("dark", theme === "dark");
}

function menu(signal: AbortSignal) {
  const element = h("details", { class: "pill", id: "menu" }, h("summary", {}, t("header.menu")));
  const paper = h("a", { href: PAPER, target: "_blank", rel: "noopener" }, "Attention Is All You Need");
  const toggleTheme = () => writePreference(THEME_KEY, document.body.classList.toggle("dark") ? "dark" : "light");
  const device = h("summary", { class: "entry" }, t("header.device", { device: opening.device }));
  const playIntro = () => document.dispatchEvent(new Event("intro:wanted"));
  const entries = [
    button("entry", t("present"), startPresenting, { id: "present", title: t("present.title") }),
    isSavedRun ? null : [shareEntry(), downloadMenu()],
    checksBadge(signal),
    h("details", { id: "device" }, device, h("p", { class: "unfolded" }, formatMessage(opening.why))),
    button("entry", t("header.theme"), toggleTheme, { id: "theme" }),
    isSavedRun ? null : button("entry", t("intro.play"), playIntro, { id: "intro-play" }),
    hint(nodes("header.paper", { paper })),
  ];
  element.append(h("div", { class: "popover" }, entries));
  return element;
}

const pillSelect = (id: string, title: string, options: [string, string][], onchange: () => void) =>
  h("select", { class: "pill", id, title, "aria-label": title, onchange }, options.map(option()));

function modelChoice(element: Element, signal: AbortSignal) {
  const choice = pillSelect("checkpoint", t("header.model"), [], () => {
    useModel(choice.value);
    if (awaitedModel()) draw(); // until it is there, the page has the one before
  });
  const draw = () => {
    choice.value = state.run?.checkpoint;
  };
  const drawOptions = () => {
    const kindOf = (each: string) => (isReal(each) ? "real" : isOwn(each) ? "own" : "shipped");
    const all = Object.keys(models());
    const groups = ["shipped", "own", "real"].flatMap((kind) => {
      const options = all.filter((each) => kindOf(each) === kind).map((each) => option()([each, describeModel(each)]));
      return options.length ? [h("optgroup", { label: t(`header.models.${kind}`) }, options)] : [];
    });
    choice.replaceChildren(...groups);
    draw();
  };
  drawOptions();
  subscribe(element, draw);
  document.addEventListener("models:changed", drawOptions, { signal });
  document.addEventListener("translate:answered", draw, { signal }); // also after a refusal
  return choice;
}

const SHOW_AFTER_MS = 300; // a model in the server's memory is there before

/** How far the model is that was chosen and is not in the server's memory yet: also where the header is folded away. */
function showAwaitedModel(page: Element, signal: AbortSignal) {
  const text = h("span", {});
  const bar = h("progress", { max: 1 });
  const cancel = button("link", t("loading.cancel"), cancelWait);
  const line = h("div", { class: "awaited", id: "awaited-model", role: "status", hidden: true }, text, bar, cancel);
  const showOrHide = () => {
    line.hidden = !awaitedModel();
  };
  const draw = () => {
    const wait = awaitedModel();
    if (!wait) return showOrHide();
    if (line.hidden) setTimeout(showOrHide, SHOW_AFTER_MS);
    const { checkpoint, fetched, size } = wait;
    const isFetched = fetched >= size;
    const amount = { name: modelName(checkpoint), fetched: formatBytes(fetched), size: formatBytes(size) };
    const left = secondsLeft();
    const told = t(isFetched ? "loading.reading" : "loading.fetching", amount);
    const more = isFetched || left === null ? "" : t("loading.left", { time: formatDuration(left) });
    text.replaceChildren(...joinSentences(told, more));
    if (isFetched) bar.removeAttribute("value");
    else bar.value = fetched / size;
  };
  const view = h("div", { class: "view" }, line);
  page.append(view);
  signal.addEventListener("abort", () => view.remove());
  document.addEventListener("model:awaited", draw, { signal });
  draw();
}

function languageChoice() {
  const choice = pillSelect("language", t("header.language"), Object.entries(LANGUAGES), async () => {
    choice.setCustomValidity("");
    try {
      await chooseLanguage(choice.value);
      document.getElementById("language")?.focus(); // of the header that was mounted since
    } catch {
      choice.value = language; // its catalogue cannot be had: the page stays as it is
      choice.setCustomValidity(formatMessage(NO_ANSWER));
      choice.reportValidity();
    }
  });
  choice.value = language;
  return choice;
}

const inUnit = () => ({ words: state.inWords && Boolean(state.run.words) });

function downloadMenu() {
  const failed = h("p", { role: "alert", hidden: true }, t("download.failed"));
  const line = (what: string, type: string, make: () => Promise<{ name: string; text: string }>) => {
    const save = async () => {
      button.disabled = true;
      failed.hidden = true;
      try {
        const { name, text } = await make();
        download(new Blob([text], { type }), name);
      } catch {
        failed.hidden = false;
      }
      button.disabled = false;
    };
    const button = link(t(`download.${what}`), save, { "data-file": what });
    return h("p", {}, button, " ", h("small", {}, t(`download.${what}.about`)));
  };
  const handoutName = () => `${modelName(state.run.checkpoint)}-handout.html`;
  const ofStep = () => ({ ...inUnit(), step: tokenIndex(state.run, "cross", state.step) });
  const thisPlace = () => ({ place: placeParameters(), page: location.href.split(/[?#]/)[0] }); // to which a file leads back
  const files = [
    line("handout", "text/html", async () => ({ name: handoutName(), text: await handout() })),
    canAsk("notebook") && line("notebook", "application/x-ipynb+json", () => askAboutRun("notebook", ofStep())),
    canAsk("interactive") && line("interactive", "text/html", () => askAboutRun("interactive", thisPlace())),
    canAsk("weights_csv") && line("csv", "text/csv", () => askAboutRun("weights_csv", inUnit())),
  ];
  const list = h("div", { class: "unfolded" }, files.filter(Boolean) as Child[], failed);
  return h("details", { id: "downloads" }, h("summary", { class: "entry" }, t("download")), list);
}
