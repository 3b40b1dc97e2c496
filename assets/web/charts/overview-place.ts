// The places of the picture of the whole: what each is called, where it leads, and a small picture of where one is.

import type { Kind, Run, Stack, State } from "../api/types.ts";
import { range } from "../engine/arrays.ts";
import { t } from "../state/i18n.ts";
import { LESSON_STOPS, type StopName } from "../state/lesson-plan.ts";
import { baselineRun, STACKS, shownHead, state, subscribe, update } from "../state/state.ts";
import { svg } from "../ui/dom.ts";
import { button, changeDetector } from "../ui/parts.ts";
import type { Box } from "./overview-layout.ts";
import { type Stage, wanted } from "./sublayer-stages.ts";

export type Place =
  | { what: "head"; kind: Kind; layer: number; head: number }
  | { what: "sublayer"; kind: Kind; layer: number }
  | { what: "layer" | "ffn"; stack: Stack; layer: number }
  | { what: "positions" | "tokens" | "stack"; stack: Stack }
  | { what: "memory" | "candidates" | "whole" };

export const placeKey = (place: Place) => Object.values(place).join(".");

export function placeName(place: Place) {
  if (place.what === "head") return t(`overview.head.${place.kind}`, { layer: place.layer + 1, head: place.head + 1 });
  if (place.what === "sublayer") return t(`overview.sublayer.${place.kind}`, { layer: place.layer + 1 });
  if ("layer" in place) return t(`overview.${place.what}.${place.stack}`, { layer: place.layer + 1 });
  if ("stack" in place) return t(`overview.${place.what}.${place.stack}`);
  return t(`overview.${place.what}`);
}

export function targetOf(place: Place, run: Run): { tab: string; stage?: Stage } & Partial<State> {
  if (place.what === "head") return { tab: "attention", kind: place.kind, layer: place.layer, head: place.head };
  if (place.what === "sublayer") return { tab: "inside", kind: place.kind, layer: place.layer };
  if (place.what === "layer") return { tab: "inside", kind: place.stack, layer: place.layer };
  if (place.what === "ffn") return { tab: "inside", kind: place.stack, layer: place.layer, stage: "ffn" };
  if (place.what === "positions") return { tab: "positions", stack: place.stack };
  if (place.what === "memory")
    return { tab: "inside", kind: "encoder", layer: run.attention.encoder.layers - 1, stage: "ffn_residual" };
  return { tab: "translate" };
}

export function openPlace(place: Place) {
  const { stage = null, ...target } = targetOf(place, state.run);
  wanted.stage = stage;
  update(target);
  if (wanted.stage === stage) enterPanel(); // else it was there, and the focus is at it
}

/** To the beginning of the tab that was opened, from wherever in the picture; the focus goes there, too. */
function enterPanel() {
  const panel = document.getElementById(`panel-${state.tab}`) as HTMLElement;
  const bar = document.querySelector(".tab-bar") as HTMLElement; // it stays in sight
  const above = bar.getBoundingClientRect().bottom - panel.getBoundingClientRect().top;
  if (above > 0) scrollBy(0, -above);
  panel.tabIndex = -1;
  panel.focus({ preventScroll: true });
}

const STOP_PLACES: Record<StopName, () => Place> = {
  tokens: () => ({ what: "tokens", stack: "encoder" }),
  embeddings: () => ({ what: "positions", stack: "encoder" }),
  positions: () => ({ what: "positions", stack: "encoder" }),
  qkv: () => head("encoder"),
  scores: () => head("encoder"),
  softmax: () => head("encoder"),
  heads: () => sublayer("encoder"),
  residual: () => sublayer("encoder"),
  ffn: () => ({ what: "ffn", stack: "encoder", layer: shownHead("encoder", baselineRun()).layer }),
  stack: () => ({ what: "stack", stack: "encoder" }),
  masked: () => head("decoder"),
  align: () => sublayer("cross"),
  cross: () => head("cross"),
  logits: () => ({ what: "candidates" }),
  loop: () => ({ what: "tokens", stack: "decoder" }),
  recap: () => ({ what: "whole" }),
  since: () => ({ what: "whole" }),
  knows: () => ({ what: "stack", stack: "decoder" }),
  explains: () => ({ what: "candidates" }),
};

const head = (kind: Kind): Place => ({ what: "head", kind, ...shownHead(kind, baselineRun()) });
const sublayer = (kind: Kind): Place => ({ what: "sublayer", kind, layer: shownHead(kind, baselineRun()).layer });

function currentPlace(): Place {
  const { tab, stack, kind, stop } = state;
  if (tab === "lesson") return STOP_PLACES[LESSON_STOPS[stop]]();
  if (tab === "translate") return { what: "candidates" };
  if (tab === "positions") return { what: "positions", stack };
  if (tab === "attention" || tab === "inside") return head(kind);
  return { what: "whole" };
}

/** The place that the picture of the whole is asked to show when it opens. */
let asked: Place | null = null;

export function takeAskedPlace() {
  const place = asked;
  asked = null;
  return place;
}

// ---- "you are here": the picture of the whole, small, with the visitor's place lit ----

const [WIDTH, HEIGHT] = [100, 34];
const COLUMN = 36; // of a stack
const LEFT: Record<Stack, number> = { encoder: 0, decoder: 44 };
const OUTPUT = { x: 86, y: 9, width: 14, height: 16 };
const [INPUTS, TOP] = [4, 9]; // height of what a stack reads, and where its layers begin

export function hereButton() {
  const [ground, lit, lines] = ["ground", "lit", "lines"].map((name) => svg("path", { class: name }));
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, lines, ground, lit);
  const element = button("here", picture, () => {
    asked = currentPlace();
    update({ tab: "overview" });
  });
  const isNew = changeDetector();
  subscribe(element, () => {
    const place = currentPlace();
    const name = t("overview.here", { place: placeName(place) });
    if (!isNew(name, state.run)) return;
    element.setAttribute("aria-label", name);
    element.title = name;
    ground.setAttribute("d", outline(allBoxes()));
    lit.setAttribute("d", outline(boxesOf(place)));
    const memory = HEIGHT - 1.5;
    lines.setAttribute("d", `M18 ${memory - 2}V${memory}H40V14H44M62 ${memory - 2}V${memory}H93V25`);
  });
  return element;
}

const outline = (boxes: Box[]) =>
  boxes.map(({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}z`).join("");

function layerBox(stack: Stack, layer: number): Box {
  const pitch = (HEIGHT - TOP - 4) / state.run.attention[stack].layers;
  return { x: LEFT[stack], y: TOP + layer * pitch, width: COLUMN, height: Math.max(1, pitch - 1) };
}

const layersOf = (stack: Stack) => range(state.run.attention[stack].layers).map((layer) => layerBox(stack, layer));

const inputBox = (stack: Stack): Box => ({ x: LEFT[stack], y: 2, width: COLUMN, height: INPUTS });

const allBoxes = () => [...STACKS.flatMap((stack) => [inputBox(stack), ...layersOf(stack)]), OUTPUT];

function boxesOf(place: Place): Box[] {
  const { attention } = state.run;
  if ("kind" in place) {
    const box = sublayerBox(place.kind, place.layer);
    if (place.what === "sublayer") return [box];
    const { heads } = attention[place.kind];
    const width = Math.max(3, box.width / heads);
    return [{ ...box, x: Math.min(box.x + (place.head * box.width) / heads, box.x + box.width - width), width }];
  }
  if ("layer" in place) {
    const box = layerBox(place.stack, place.layer);
    return [place.what === "ffn" ? { ...box, x: box.x + 0.8 * box.width, width: 0.2 * box.width } : box];
  }
  if ("stack" in place) return place.what === "stack" ? layersOf(place.stack) : [inputBox(place.stack)];
  if (place.what === "memory") return [layerBox("encoder", attention.encoder.layers - 1)];
  return place.what === "candidates" ? [OUTPUT] : allBoxes();
}

/** In a layer its sublayers stand side by side here, self-attention first. */
function sublayerBox(kind: Kind, layer: number) {
  const box = layerBox(kind === "encoder" ? "encoder" : "decoder", layer);
  const width = kind === "encoder" ? 0.78 * box.width : 0.38 * box.width;
  return { ...box, x: kind === "cross" ? box.x + 0.4 * box.width : box.x, width };
}
