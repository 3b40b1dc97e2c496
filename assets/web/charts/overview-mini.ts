// "You are here": the picture of the whole, small, with the visitor's place lit; a click leads back to it.

import type { Kind, Stack } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { state, subscribe } from "../state/state.ts";
import { svg } from "../ui/dom.ts";
import { button, changeDetector } from "../ui/parts.ts";
import type { Box } from "./overview-layout.ts";
import { currentPlace, openOverview, type Place, placeName } from "./overview-place.ts";

const [WIDTH, HEIGHT] = [100, 34];
const COLUMN = 36; // of a stack
const LEFT: Record<Stack, number> = { encoder: 0, decoder: 44 };
const OUTPUT = { x: 86, y: 9, width: 14, height: 16 };
const [INPUTS, TOP] = [4, 9]; // height of what a stack reads, and where its layers begin

export function hereButton() {
  const [ground, lit, lines] = ["ground", "lit", "lines"].map((name) => svg("path", { class: name }));
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, lines, ground, lit);
  const element = button("here", picture, openOverview);
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

const layersOf = (stack: Stack) =>
  Array.from({ length: state.run.attention[stack].layers }, (_, layer) => layerBox(stack, layer));

const inputBox = (stack: Stack): Box => ({ x: LEFT[stack], y: 2, width: COLUMN, height: INPUTS });

const allBoxes = () => [
  ...["encoder", "decoder"].flatMap((stack) => [inputBox(stack as Stack), ...layersOf(stack as Stack)]),
  OUTPUT,
];

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
