// The first minute: three captions over the picture of the whole, once for each visitor, and again from the menu.

import { readPreference, writePreference } from "../../api/session.ts";
import type { View } from "../../api/types.ts";
import { largestCell } from "../../charts/attention-map.ts";
import { isPresenting, openingTab } from "../../state/address.ts";
import { t } from "../../state/i18n.ts";
import { state, subscribe, update } from "../../state/state.ts";
import { h, twoFrames } from "../../ui/dom.ts";
import { narrow } from "../../ui/frame.ts";
import { button } from "../../ui/parts.ts";

const SEEN_KEY = "attention-bitte-intro";
const CAPTION_MS = 10_000;
const sharpestStep = () => largestCell(state.run, "cross", state).query;
/** Each with its step, and the part of the picture that it is about. */
const CAPTIONS = [
  { name: "vectors", about: ".positions", step: () => 0 },
  { name: "heads", about: ".head", step: sharpestStep },
  { name: "word", about: ".word-out", step: sharpestStep },
];

let now = -1; // the caption that is shown; -1 for none
let isDue = !readPreference(SEEN_KEY) && !openingTab(location.search).tab && !isPresenting();

/** The page stays where all of this is seen: its first sight says what it is. A small screen else has it in its middle. */
function reveal(part: Element | null, caption: Element) {
  if (!part) return;
  const { top, bottom } = part.getBoundingClientRect();
  const tabs = document.getElementById("tabs") as HTMLElement;
  if (tabs.getBoundingClientRect().bottom <= top && bottom <= caption.getBoundingClientRect().top) return;
  part.scrollIntoView({ block: narrow.matches ? "center" : "nearest" });
}

export function mount({ element, signal }: View) {
  const text = h("p", { "aria-live": "polite" });
  const dots = h("span", { class: "dots", "aria-hidden": "true" });
  const skip = button("link", t("intro.skip"), () => show(-1), { id: "intro-skip" });
  const box = h("section", { class: "intro", "aria-label": t("intro"), hidden: true }, text, dots, skip);
  const page = document.getElementById("page") as HTMLElement;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let run = state.run; // that the captions are about

  function show(caption: number) {
    clearTimeout(timer);
    now = caption in CAPTIONS ? caption : -1;
    box.hidden = now < 0;
    run = state.run;
    page.dataset.intro = CAPTIONS[now]?.name ?? "";
    if (now < 0) return writePreference(SEEN_KEY, "yes");
    text.textContent = t(`intro.${CAPTIONS[now].name}`);
    dots.replaceChildren(...CAPTIONS.map((_, i) => h("i", { class: i === now ? "now" : "" })));
    update({ step: CAPTIONS[now].step() });
    timer = setTimeout(() => show(now + 1), CAPTION_MS);
    twoFrames().then(() => now >= 0 && reveal(document.querySelector(`.overview ${CAPTIONS[now].about}`), box));
  }

  function play() {
    update({ tab: "overview" });
    show(0);
  }

  element.replaceChildren(box);
  document.addEventListener("intro:wanted", play, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  const onKey = ({ key }: KeyboardEvent) => key === "Escape" && now >= 0 && show(-1);
  document.addEventListener("keydown", onKey, { signal });
  if (now >= 0) show(now); // in another language
  subscribe(box, () => {
    if (isDue) {
      isDue = false;
      show(0);
    } else if (now >= 0 && (state.tab !== "overview" || state.run !== run || isPresenting())) show(-1); // the visitor goes on
  });
}
