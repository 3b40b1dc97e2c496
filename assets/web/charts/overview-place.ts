// The places of the picture of the whole: what each is called, where it leads, and which of them the visitor is at.

import type { Kind, Run, Stack, State } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { LESSON_STOPS, type StopName } from "../state/lesson-plan.ts";
import { baselineRun, state, update } from "../state/state.ts";

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

export function targetOf(place: Place, run: Run) {
  let target: { tab: string; stage?: string } & Partial<State> = { tab: "translate" };
  if (place.what === "head") target = { tab: "attention", kind: place.kind, layer: place.layer, head: place.head };
  if (place.what === "sublayer") target = { tab: "inside", kind: place.kind, layer: place.layer };
  if (place.what === "layer") target = { tab: "inside", kind: place.stack, layer: place.layer };
  if (place.what === "ffn") target = { tab: "inside", kind: place.stack, layer: place.layer, stage: "ffn" };
  if (place.what === "positions") target = { tab: "positions", stack: place.stack };
  if (place.what === "memory")
    target = { tab: "inside", kind: "encoder", layer: run.attention.encoder.layers - 1, stage: "ffn_residual" };
  return target;
}

export function openPlace(place: Place) {
  const { stage, ...target } = targetOf(place, state.run);
  update(target);
  enterPanel();
  if (stage) scrollToStage(stage);
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

const PATIENCE_MS = 5000; // for the numbers of a head

/** A stage of Inside a head, once it is there. */
function scrollToStage(stage: string, since = performance.now()) {
  if (state.tab !== "inside" || performance.now() - since > PATIENCE_MS) return;
  const found = document.getElementById(`stage-${stage}`);
  if (found) found.scrollIntoView({ block: "start" });
  else requestAnimationFrame(() => scrollToStage(stage, since));
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
  ffn: () => ({ what: "ffn", stack: "encoder", layer: layerOf("encoder") }),
  stack: () => ({ what: "stack", stack: "encoder" }),
  masked: () => head("decoder"),
  align: () => sublayer("cross"),
  cross: () => head("cross"),
  logits: () => ({ what: "candidates" }),
  loop: () => ({ what: "tokens", stack: "decoder" }),
  recap: () => ({ what: "whole" }),
  since: () => ({ what: "whole" }),
};

const layerOf = (kind: Kind) => Math.min(state.layer, baselineRun().attention[kind].layers - 1);

const head = (kind: Kind): Place => ({
  what: "head",
  kind,
  layer: layerOf(kind),
  head: Math.min(state.head, baselineRun().attention[kind].heads - 1),
});

const sublayer = (kind: Kind): Place => ({ what: "sublayer", kind, layer: layerOf(kind) });

export function currentPlace(): Place {
  const { tab, stack, kind, stop } = state;
  if (tab === "lesson") return STOP_PLACES[LESSON_STOPS[stop]]();
  if (tab === "translate") return { what: "candidates" };
  if (tab === "positions") return { what: "positions", stack };
  if (tab === "attention" || tab === "inside") return head(kind);
  return { what: "whole" };
}

/** The place that the picture of the whole is asked to show when it opens. */
let asked: Place | null = null;

export function openOverview() {
  asked = currentPlace();
  update({ tab: "overview" });
}

export function takeAskedPlace() {
  const place = asked;
  asked = null;
  return place;
}
