// The paper's Figure 1 of one run. Built once a run; a step only moves marks and changes words.

import type { Kind, Run, Side, Stack } from "../../api/types.ts";
import type { Readings } from "../../charts/lens.ts";
import { paintMap } from "../../charts/map-canvas.ts";
import type { Box, Column, Fold, Layer, Layout, Sizes, Tokens } from "../../charts/overview-layout.ts";
import { overviewLayout, SHOWN_CANDIDATES } from "../../charts/overview-layout.ts";
import { openPlace, type Place, placeKey, placeName, targetOf } from "../../charts/overview-place.ts";
import { argmax, range } from "../../engine/arrays.ts";
import { attendsAhead, findChange, insteadOfChoice, isAblated } from "../../state/changes.ts";
import { formatPercent, t } from "../../state/i18n.ts";
import { outputToken } from "../../state/words.ts";
import { type Attributes, fitted, h, isSpecial, isStill, svg, textWidth, typeScale } from "../../ui/dom.ts";
import { paintedCanvas } from "../../ui/painted-canvas.ts";
import { connections, returnPath, streams } from "./connections.ts";

export type Token = { side: Side; at: number };
export type Picture = ReturnType<typeof overviewPicture>;
type Shown = { step: number; token: Token | null; row: HeadsWeight[]; top: HeadsWeight };
type HeadsWeight = ReturnType<typeof rowOfAllHeads>[number];

const WORD_SIZE = 13;
const OUT_SIZE = 20; // of the word that comes out, where it fits
const MARK = 1.5; // px beyond a row that is marked

const STACK_OF: Record<Side, Stack> = { source: "encoder", target: "decoder" };
const SIDES = ["source", "target"] as Side[];

const tokensOf = (run: Run, side: Side) => (side === "source" ? run.source : run.decoder_input);

/** `available`: px of height, kept to if `isWhole` */
type Frame = Pick<Sizes, "width" | "available" | "isUnfolded"> & { isWhole: boolean; open: number };
/** `follow` is called for a token that is pointed at or has the focus, and with null after it. */
type Reactions = {
  unfold: (stack: Stack, from: number, to: number) => void;
  follow: (token: Token | null) => void;
  goTo: (step: number) => void;
};

/** What is drawn: the run, where everything stands, and the names of the kinds of attention. */
type Drawing = { run: Run; layout: Layout; captions: Record<Kind, string> };

export function overviewPicture(run: Run, frame: Frame, { unfold, follow, goTo }: Reactions) {
  const { encoder, decoder } = run.attention;
  const captions = captionsOf(run);
  const layout = layoutOf(run, captions, frame);
  const drawing = { run, layout, captions };
  const { width, height } = layout;
  const name = t("overview.picture", { encoder: encoder.layers, decoder: decoder.layers, heads: encoder.heads });
  const box = { viewBox: `0 0 ${width} ${height}`, width, height };
  const picture = svg("svg", { ...box, role: "group", "aria-label": name });
  const marks = {
    ...rowMarks(layout),
    lane: svg("path", { class: "lane" }),
    ring: svg("rect", { class: "ring" }),
    paid: svg("path", { class: "paid" }),
    back: returnPath(layout),
  };
  const chipsOf = (side: Side) => tokenChips(side, run, layout, follow);
  const chips = { source: chipsOf("source"), target: chipsOf("target") };
  for (const [at, chip] of chips.target.entries()) onPress(chip, () => goTo(at));
  const output = drawOutput(layout, run);
  const said = layerWords(layout);
  picture.append(
    ...streams(layout),
    marks.lane,
    ...connections(layout, run),
    marks.back,
    ...SIDES.flatMap((side) => drawColumn(STACK_OF[side], drawing, chips[side], unfold)),
    marks.paid,
    control({ what: "memory" }, layout.memory, run, t("overview.memory_short"), layout.type, layout.name),
    output.element,
    ...said.elements,
    ...marks.elements,
    marks.ring,
  );
  let drawnStep: number | null = null;
  return {
    element: h("div", { class: "overview" }, paintedMaps(layout, run), picture),
    draw(step: number, token: Token | null) {
      const row = rowOfAllHeads(run, "cross", step);
      const shown = { step, token, row, top: token?.side === "source" ? row[token.at] : strongest(row) };
      drawMarks(marks, layout, run, shown);
      markChips(chips, shown);
      nameCells(chips, layout, run, shown);
      output.draw(step);
      if (drawnStep !== null && drawnStep !== step && !isStill()) travel(picture, layout, run, step);
      drawnStep = step;
    },
    /** The word that each layer of the decoder would output at the step that is shown. */
    read: said.draw,
    show: (place: Place | null) => showPlace(picture, place),
  };
}

const captionsOf = (run: Run): Record<Kind, string> => ({
  encoder: t("overview.self"),
  decoder: t(attendsAhead(run) ? "overview.self" : "overview.masked"),
  cross: t("overview.cross"),
});

function layoutOf(run: Run, captions: Record<Kind, string>, frame: Frame) {
  const { encoder, decoder, cross } = run.attention;
  const type = typeScale();
  const measured = (words: string[]) => words.map((each) => textWidth(each, WORD_SIZE * type));
  return overviewLayout({
    layers: { encoder: encoder.layers, decoder: decoder.layers },
    heads: { encoder: encoder.heads, decoder: decoder.heads, cross: cross.heads },
    words: { source: measured(run.source), target: measured(run.decoder_input) },
    caption: 0.93 * Math.max(...Object.values(captions).map((each) => textWidth(each, 12 * type))), // of bold type
    type,
    ...frame,
  });
}

function showPlace(picture: Element, place: Place | null) {
  for (const each of picture.querySelectorAll("[aria-current=location]")) each.removeAttribute("aria-current");
  const found = place && picture.querySelector(`[data-place="${placeKey(place)}"]`);
  if (!(found instanceof SVGElement)) return;
  found.setAttribute("aria-current", "location");
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: "center" });
}

// ---- what stays ----

function paintedMaps(layout: Layout, run: Run) {
  const { canvas } = paintedCanvas(layout.width, layout.height, (context) => {
    for (const { kind, layer, heads } of sublayersOf(layout))
      for (const [head, box] of heads.entries()) paintMap(context, { run, kind, layer, head }, box);
  });
  canvas.style.cssText = `width: ${layout.width}px; height: ${layout.height}px`;
  canvas.setAttribute("aria-hidden", "true"); // its numbers are a click away, each map's in its tab
  return canvas;
}

const grown = ({ x, y, width, height }: Box, by: number) => ({
  ...{ x: x - by, y: y - by },
  ...{ width: width + 2 * by, height: height + 2 * by },
});

const rect = (x: number, y: number, width: number, height: number) => `M${x} ${y}h${width}v${height}h${-width}z`;
const middleOf = ({ x, y, width, height }: Box) => ({ x: x + width / 2, y: y + height / 2 + 1 });

const label = ({ x, y }: { x: number; y: number }, size: number, words = "", name = "name middle") =>
  svg("text", { x, y, class: name, style: `font-size: ${size}px` }, words);

function pressed(box: Box, rx: number, act: () => void, attributes: Attributes) {
  const element = svg("g", { role: "button", tabindex: 0, ...attributes }, svg("rect", { ...box, rx }));
  onPress(element, act);
  return element;
}

/** A part of the picture that leads to its place. @param words that stand in it @param size px of the words */
function control(place: Place, box: Box, run: Run, words: string = "", type: number = 1, size: number = 12 * type) {
  const { tab } = targetOf(place, run);
  const name = t("overview.opens", { place: placeName(place), tab: t(`tab.${tab}`) });
  const attributes = { class: `part ${place.what}`, "aria-label": name, "data-place": placeKey(place) };
  const element = pressed(box, place.what === "head" ? 2 : 5 * type, () => openPlace(place), attributes);
  if (words) element.append(label(middleOf(box), size, words));
  return element;
}

function onPress(element: SVGElement, act: () => void) {
  element.addEventListener("click", act);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // Space would play
    act();
  });
}

function drawColumn(stack: Stack, drawing: Drawing, chips: SVGElement[], unfold: Reactions["unfold"]) {
  const { run, layout } = drawing;
  const { type } = layout;
  const { title, input, layers, folds } = layout[stack];
  const isBare = !run.model.positions || findChange({ do: "positions", stack, how: "removed" }, run.changes);
  const name = t(isBare ? "overview.input_bare" : "overview.input");
  return [
    label(title, 14 * type, t(`overview.${stack}`), "stack-name"),
    svg("g", { role: "group", "aria-label": t(`overview.tokens.${stack}`) }, chips),
    control({ what: "positions", stack }, input, run, name, type, layout.name),
    ...layers.map((layer) => drawLayer(stack, layer, drawing)),
    ...folds.map((fold) => foldButton(stack, fold, () => unfold(stack, fold.from, fold.to), type)),
  ];
}

function tokenChips(side: Side, run: Run, layout: Layout, follow: (token: Token | null) => void) {
  const { tokens } = layout[STACK_OF[side]];
  return tokensOf(run, side).map((token, at) => {
    const chip = tokenChip(token, at, side, tokens, layout.type);
    for (const each of ["pointerenter", "focus"]) chip.addEventListener(each, () => follow({ side, at }));
    for (const each of ["pointerleave", "blur"]) chip.addEventListener(each, () => follow(null));
    return chip;
  });
}

function drawLayer(stack: Stack, drawn: Layer, { run, layout: { type, name: px }, captions }: Drawing) {
  const { layer, box, label: side, attention, feedForward } = drawn;
  const number = control({ what: "layer", stack, layer }, side, run, String(layer + 1), type, 14 * type);
  const sublayers = attention.flatMap((each) => {
    const { kind, heads, caption } = each;
    const place = { what: "sublayer", kind, layer } as Place;
    const size = { width: textWidth(captions[kind], px) + 8, height: 24 * type };
    const name = control(place, { x: caption.x - 2, y: caption.y - size.height / 2, ...size }, run);
    name.append(label(caption, px, captions[kind], "name"));
    const parts = heads.map((map, head) => {
      const part = control({ what: "head", kind, layer, head }, map, run);
      return isAblated(kind, layer, head, run.changes) ? silenced(part, map) : part;
    });
    return [name, ...parts];
  });
  const network = control({ what: "ffn", stack, layer }, feedForward.box, run, t("overview.ffn"), type, px);
  const frame = svg("rect", { ...box, rx: 8 * type, class: "layer-frame" });
  return svg("g", { "data-layer": `${stack} ${layer}` }, frame, number, ...sublayers, network);
}

function silenced(part: SVGElement, { x, y, width, height }: Box) {
  part.classList.add("silenced");
  part.setAttribute("aria-label", t("overview.silenced", { opens: part.getAttribute("aria-label") ?? "" }));
  const d = `M${x} ${y}l${width} ${height}M${x} ${y + height}l${width} ${-height}`;
  part.append(svg("path", { d, class: "cross" }));
  return part;
}

function foldButton(stack: Stack, { from, to, box }: Fold, act: () => void, type: number) {
  const layers = { from: from + 1, to: to + 1 };
  const isOne = from === to;
  const name = isOne ? placeName({ what: "layer", stack, layer: from }) : t(`overview.folded.${stack}`, layers);
  const element = pressed(box, 5 * type, act, { class: "part folded", "aria-label": name });
  const text = isOne ? t("layer_n", { layer: from + 1 }) : t("overview.folded", layers);
  element.append(label(middleOf(box), 12 * type, text));
  return element;
}

function layerWords({ decoder, type }: Layout) {
  const parts = [...decoder.layers, ...decoder.folds].flatMap((each) => {
    const { said: box } = each;
    if (!box) return [];
    const [text, title] = [label(middleOf(box), WORD_SIZE * type, "", "label target middle"), svg("title")];
    const ground = svg("rect", { ...box, rx: 5 * type, class: "ground" });
    const part = svg("g", { class: "said", role: "img", visibility: "hidden" }, ground, text, title);
    const [from, layer] = "layer" in each ? [each.layer, each.layer] : [each.from, each.to];
    return [{ part, text, title, box, from, layer }];
  });
  return {
    elements: parts.map(({ part }) => part),
    draw({ layers, turn }: Readings) {
      for (const { part, text, title, box, from, layer } of parts) {
        const { token, probability } = layers[layer];
        const size = WORD_SIZE * type;
        const words = { layer: layer + 1, token, share: formatPercent(probability) };
        const isTurn = from <= turn && turn <= layer;
        text.textContent = fitted(token, size, box.width - 8 * type);
        title.textContent = t(isTurn ? "overview.lens.turn" : "overview.lens.layer", words);
        part.setAttribute("aria-label", title.textContent);
        part.setAttribute("class", `said ${isTurn ? "turn" : layer > turn ? "known" : ""}`);
        part.setAttribute("data-layer-said", `${layer}`);
        part.removeAttribute("visibility");
      }
    },
  };
}

function tokenChip(token: string, at: number, side: Side, { boxes, box: line, isStrip }: Tokens, type: number) {
  const box = boxes[at];
  const isStep = side === "target" && !isStrip; // a click goes there
  const name = isStep ? `${t("step_n", { step: at + 1 })}: ${token}` : token;
  const attributes = { tabindex: 0, role: isStep ? "button" : "img", "aria-label": name };
  const ground = svg("rect", { ...box, rx: isStrip ? 0 : 5 * type, class: "ground" });
  const above = isStrip ? box.y - 10 * type : box.y + box.height / 2;
  const size = WORD_SIZE * type;
  const words = fitted(token, size, isStrip ? line.width : box.width - 8 * type);
  const x = isStrip ? cellLabel(token, at, { boxes, box: line }, size).middle : box.x + box.width / 2;
  const text = label({ x, y: above }, size, words, `label ${side} middle`);
  const kind = `${isSpecial(token) ? " special" : ""}${isStrip ? " slim" : ""}`;
  return svg("g", { class: `token ${side}${kind}`, ...attributes }, ground, text);
}

/** Where the word of a slim cell stands: above its cell, and a long one within the line. */
function cellLabel(token: string, at: number, { boxes, box: line }: Pick<Tokens, "boxes" | "box">, size: number) {
  const half = textWidth(fitted(token, size, line.width), size) / 2;
  const above = boxes[at].x + boxes[at].width / 2;
  return { middle: Math.min(Math.max(above, line.x + half), line.x + line.width - half), half };
}

/** Words of slim cells: the followed token's, the step's, and the most attended ones, as far as they fit. */
function nameCells(chips: Record<Side, SVGElement[]>, layout: Layout, run: Run, { step, token, row, top }: Shown) {
  const attended = row.filter(({ mean }) => mean > 1 / row.length).sort((a, b) => b.mean - a.mean);
  const wanted = { source: [...(top.weight > 0 ? [top.key] : []), ...attended.map(({ key }) => key)], target: [step] };
  for (const side of SIDES) {
    const { tokens } = layout[STACK_OF[side]];
    if (!tokens.isStrip) continue;
    const words = tokensOf(run, side);
    const size = WORD_SIZE * layout.type;
    const named: { at: number; middle: number; half: number }[] = [];
    for (const at of [...(token?.side === side ? [token.at] : []), ...wanted[side]]) {
      const own = cellLabel(words[at], at, tokens, size);
      const isFree = named.every(({ middle, half }) => Math.abs(middle - own.middle) > half + own.half + size / 2);
      if (isFree) named.push({ at, ...own });
    }
    const shown = new Set(named.map(({ at }) => at));
    for (const [at, chip] of chips[side].entries()) chip.classList.toggle("named", shown.has(at));
  }
}

function paidBars({ encoder }: Layout, row: HeadsWeight[]) {
  const { boxes, isStrip } = encoder.tokens;
  const bars = boxes.map(({ x, y, width, height }, at) => {
    const bar = isStrip ? { across: width, down: height * row[at].mean } : { across: width * row[at].mean, down: 3 };
    return `M${x} ${y + height}h${bar.across}v${-bar.down}h${-bar.across}z`;
  });
  return bars.join("");
}

function drawOutput({ output }: Layout, run: Run) {
  const { candidates: box, linear, type } = output;
  const logits = label(middleOf(linear), 12 * type, t("overview.linear"));
  const group = control({ what: "candidates" }, box, run);
  const candidates = candidateRows(output, run);
  const word = wordOut(output, run);
  group.append(...candidates.elements);
  const projection = svg("g", { class: "linear" }, svg("rect", { ...linear, rx: 5 * type }), logits);
  return {
    element: svg("g", {}, projection, group, word.element),
    draw(step: number) {
      const shown = run.steps[step].candidates.slice(0, SHOWN_CANDIDATES);
      candidates.draw(shown, outputToken(run.steps[step]));
      const list = shown.map((each) => `${each.token} ${formatPercent(each.probability)}`).join(", ");
      const where = t("overview.candidates_at", { step: step + 1, list });
      group.setAttribute("aria-label", t("overview.opens", { place: where, tab: t("tab.translate") }));
      word.draw(step);
    },
  };
}

function candidateRows({ candidates: box, row, type }: Layout["output"], run: Run) {
  const shown = run.steps.flatMap(({ candidates }) => candidates.slice(0, SHOWN_CANDIDATES));
  const longest = Math.max(...shown.map(({ token }) => textWidth(token, WORD_SIZE * type)));
  const left = Math.min(longest, box.width * 0.4) + 20 * type;
  const full = box.width - left - 58 * type;
  const rows = Array.from({ length: SHOWN_CANDIDATES }, (_, i) => {
    const y = box.y + 4 * type + (i + 0.5) * row;
    const name = label({ x: box.x + 10 * type, y }, WORD_SIZE * type, "", "label");
    const bar = svg("rect", { x: box.x + left, y: y - 7 * type, height: 14 * type, rx: 3, class: "share" });
    const share = label({ x: box.x + box.width - 8 * type, y }, 12 * type, "", "name end");
    return { element: svg("g", { class: "candidate" }, name, bar, share), name, bar, share };
  });
  return {
    elements: rows.map(({ element }) => element),
    draw(candidates: Run["steps"][number]["candidates"], chosen: string) {
      rows.forEach(({ element, name, bar, share }, i) => {
        const each = candidates[i];
        element.setAttribute("visibility", each ? "inherit" : "hidden");
        if (!each) return;
        element.setAttribute("class", `candidate ${each.token === chosen ? "chosen" : ""}`);
        element.setAttribute("data-probability", String(each.probability));
        name.textContent = fitted(each.token, WORD_SIZE * type, left - 16 * type);
        bar.setAttribute("width", String(Math.max(2, full * each.probability)));
        share.textContent = formatPercent(each.probability);
      });
    },
  };
}

function wordOut({ word, type }: Layout["output"], run: Run) {
  const text = (y: number, size: number, name?: string) =>
    label({ x: middleOf(word).x, y: word.y + y * type }, size * type, "", name);
  const [says, out, next] = [text(14, 12), text(38, OUT_SIZE, "label target middle"), text(62, 12)];
  const free = word.width - 16 * type;
  return {
    element: svg("g", { class: "word-out" }, svg("rect", { ...word, rx: 8 * type }), says, out, next),
    draw(step: number) {
      const { token } = run.steps[step];
      const how = insteadOfChoice(step, run);
      says.textContent = t(how ? `overview.${how}_out` : "overview.out", { step: step + 1 });
      const shrunk = (OUT_SIZE * free) / textWidth(token, OUT_SIZE * type);
      const size = type * Math.max(WORD_SIZE, Math.min(OUT_SIZE, shrunk));
      out.setAttribute("style", `font-size: ${size}px`);
      out.textContent = fitted(token, size, free);
      const hasNext = step + 1 < run.steps.length;
      next.textContent = hasNext
        ? t("overview.becomes", { next: step + 2 })
        : t(token === "E" ? "overview.ends" : "overview.stops");
    },
  };
}

// ---- what a step and a token change ----

type Marks = ReturnType<typeof rowMarks> & Record<"lane" | "ring" | "paid" | "back", SVGElement>;

function drawMarks(marks: Marks, layout: Layout, run: Run, { step, token, row, top }: Shown) {
  marks.draw(run, step, token);
  marks.paid.setAttribute("d", paidBars(layout, row));
  const followed = token ?? { side: "target" as Side, at: step };
  marks.lane.setAttribute("class", `lane ${followed.side}`);
  marks.lane.setAttribute("d", lanePath(layout, followed, tokensOf(run, followed.side).length));
  const box = headBox(layout, "cross", top.layer, top.head);
  marks.ring.setAttribute("visibility", box && top.weight > 0 ? "visible" : "hidden");
  for (const [name, px] of Object.entries(box ? grown(box, 2) : {})) marks.ring.setAttribute(name, String(px));
  marks.back.setAttribute("visibility", step + 1 < run.steps.length ? "visible" : "hidden");
}

function markChips({ source, target }: Record<Side, SVGElement[]>, { step, token, row, top }: Shown) {
  for (const [at, chip] of source.entries()) {
    chip.classList.toggle("now", at === top.key && top.weight > 0);
    chip.dataset.weight = String(row[at].mean);
    chip.classList.toggle("followed", token?.side === "source" && token.at === at);
  }
  for (const [at, chip] of target.entries()) {
    chip.classList.toggle("future", at > step);
    chip.classList.toggle("now", at === step);
    chip.classList.toggle("followed", token?.side === "target" && token.at === at);
    chip.ariaCurrent = at === step ? "step" : null;
  }
}

const sublayersOf = ({ encoder, decoder }: Layout) =>
  [encoder, decoder].flatMap(({ layers }) =>
    layers.flatMap(({ layer, attention }) => attention.map((each) => ({ layer, ...each }))),
  );

const headBox = (layout: Layout, kind: Kind, layer: number, head: number) =>
  sublayersOf(layout).find((each) => each.kind === kind && each.layer === layer)?.heads[head] ??
  layout[kind === "encoder" ? "encoder" : "decoder"].folds.find(({ from, to }) => from <= layer && layer <= to)?.box;

function rowMarks(layout: Layout) {
  const all = sublayersOf(layout).map(({ kind, heads }) => {
    const path = (name: string) => svg("path", { class: name, "data-kind": kind });
    return { kind, heads, veil: path("veil"), row: path("row"), followed: path("path") };
  });
  return {
    elements: all.flatMap(({ veil, row, followed }) => [veil, row, followed]),
    draw(run: Run, step: number, token: Token | null) {
      for (const { kind, heads, veil, row, followed } of all) {
        const { queries, keys } = run.attention[kind];
        const rowOf = ({ x, y, width, height }: Box, at: number) => {
          const high = height / queries.length;
          return rect(x - MARK, y + at * high - MARK / 2, width + 2 * MARK, Math.max(2, high) + MARK);
        };
        const columnOf = ({ x, y, width, height }: Box, at: number) => {
          const wide = width / keys.length;
          return rect(x + at * wide - MARK / 2, y - MARK, Math.max(2, wide) + MARK, height + 2 * MARK);
        };
        const later = ({ x, y, width, height }: Box) => {
          const top = ((step + 1) * height) / queries.length;
          return rect(x, y + top, width, Math.max(0, height - top));
        };
        if (kind !== "encoder") {
          veil.setAttribute("d", heads.map(later).join(""));
          row.setAttribute("d", heads.map((box) => rowOf(box, step)).join(""));
        }
        const isRow = token && token.side === (kind === "encoder" ? "source" : "target");
        const isColumn = token && token.side === (kind === "decoder" ? "target" : "source");
        const path = (box: Box) => [isRow ? rowOf(box, token.at) : "", isColumn ? columnOf(box, token.at) : ""];
        followed.setAttribute("d", heads.flatMap(path).join(""));
        followed.setAttribute("class", `path ${token?.side ?? ""}`);
      }
    },
  };
}

function lanePath(layout: Layout, { side, at }: Token, count: number) {
  const { tokens, input, stream } = layout[STACK_OF[side]];
  const chip = tokens.boxes[at];
  const x = stream.x + ((at + 0.5) * stream.width) / count;
  const foot = chip.x + chip.width / 2;
  const [top, bottom] = [chip.y + chip.height, input.y + input.height / 2];
  return `M${foot} ${top}C${foot} ${(top + bottom) / 2} ${x} ${(top + bottom) / 2} ${x} ${bottom}V${stream.bottom}`;
}

/** The heads of a kind that are not silenced, counted through all layers. */
export function workingHeads(run: Run, kind: Kind) {
  const { layers, heads } = run.attention[kind];
  return range(layers * heads).filter((i) => !isAblated(kind, Math.floor(i / heads), i % heads, run.changes));
}

/** A row of all working heads of a kind: for each key the mean weight, and the head with the highest. */
export function rowOfAllHeads(run: Run, kind: Kind, query: number) {
  const { heads, queries, keys, values } = run.attention[kind];
  const size = queries.length * keys.length;
  const working = workingHeads(run, kind);
  return keys.map((_, key) => {
    let sum = 0;
    let [best, weight] = [0, 0];
    for (const each of working) {
      const value = values[each * size + query * keys.length + key];
      sum += value;
      if (value > weight) [best, weight] = [each, value];
    }
    return { key, mean: sum / (working.length || 1), layer: Math.floor(best / heads), head: best % heads, weight };
  });
}

export const strongest = (row: HeadsWeight[]) => row[argmax(row.map(({ weight }) => weight))];

// ---- a step that travels ----

const MOVE_MS = 300; // of a word that becomes an input
const STACK_MS = 450; // from a stack's inputs to its end

/** Light up what a step passes through: before the first one the encoder, else the last word comes in first. */
function travel(picture: SVGElement, layout: Layout, run: Run, step: number) {
  const { encoder, decoder, memory, output } = layout;
  picture.querySelector(".travelling")?.remove();
  const group = svg("g", { class: "travelling", "aria-hidden": "true" });
  picture.append(group);
  const light = (boxes: Box[], start: number) =>
    boxes.map((box, i) => {
      const glow = svg("rect", { ...grown(box, 1), rx: 8, class: "glow" });
      group.append(glow);
      const delay = start + (i * STACK_MS) / boxes.length;
      const shades = [{ opacity: 0 }, { opacity: 1, offset: 0.3 }, { opacity: 0 }];
      return glow.animate(shades, { duration: 320, delay, fill: "backwards" });
    });
  const layersOf = ({ layers }: Column) => layers.map(({ box }) => box);
  let start = 0;
  if (step === 0) {
    light([encoder.tokens.box, encoder.input, ...layersOf(encoder), memory], 0);
    start = STACK_MS;
  } else {
    const [from, to] = [output.word, decoder.tokens.boxes[step]];
    const [begin, end] = [middleOf(from), middleOf(to)];
    const coming = label(end, WORD_SIZE * layout.type, run.decoder_input[step], "label target middle");
    group.append(coming);
    const away = `translate(${begin.x - end.x}px, ${begin.y - end.y}px)`;
    coming.animate([{ transform: away }, { transform: "none" }], { duration: MOVE_MS, easing: "ease-in-out" });
    start = MOVE_MS;
  }
  const { word, candidates, linear } = output;
  const passed = [decoder.tokens.boxes[step], decoder.input, ...layersOf(decoder), linear, candidates, word];
  const last = light(passed, start).at(-1);
  last?.finished.then(() => group.remove()).catch(() => {});
}
