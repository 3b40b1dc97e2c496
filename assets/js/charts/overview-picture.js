// The picture of the whole: the paper's Figure 1 of one run. Built once a run; a step only moves marks and changes
// words.

import { findChange } from "../core/changes.js";
import { h, isSpecial, svg, textWidth, typeScale } from "../core/dom.js";
import { formatPercent, t } from "../core/i18n.js";
import { argmax } from "../core/state.js";
import { outputToken } from "../core/words.js";
import { keepPainted, paintMap, sharpCanvas } from "./map-canvas.js";
import { overviewLayout, SHOWN_CANDIDATES } from "./overview-layout.js";
import { openPlace, placeKey, placeName, targetOf } from "./overview-place.js";

/** @import { Kind, Run, Side, Stack } from "../core/types.d.ts" */
/** @import { Attention, Box, Column, Layer, Layout } from "./overview-layout.js" */
/** @import { Place } from "./overview-place.js" */
/** A token that is followed through the picture. @typedef {{ side: Side, at: number }} Token */
/** @typedef {ReturnType<typeof overviewPicture>} Picture */

const WORD_SIZE = 13;
const MARK = 1.5; // px beyond a row that is marked

/** @type {Record<Side, Stack>} */
const STACK_OF = { source: "encoder", target: "decoder" };
const SIDES = /** @type {Side[]} */ (["source", "target"]);

/**
 * @param {Run} run
 * @param {{ width: number, room: number, isWhole: boolean, isUnfolded: boolean, unfold: (stack: Stack) => void,
 *   follow: (token: Token | null) => void, goTo: (step: number) => void }} options `room`: px of height, which it keeps
 *   to if `isWhole`; `follow` is called when a token is pointed at or has the focus
 */
export function overviewPicture(run, { unfold, follow, goTo, ...place }) {
  const { encoder, decoder, cross } = run.attention;
  const usual = typeScale();
  const tokens = { source: run.source, target: run.decoder_input };
  const isCausal = decoder.allowed.every((row, query) => row.every((open, key) => open <= (key <= query)));
  const captions = {
    encoder: t("overview.self"),
    decoder: t(isCausal ? "overview.masked" : "overview.self"),
    cross: t("overview.cross"),
  };
  const measured = (/** @type {string[]} */ words) => words.map((each) => textWidth(each, WORD_SIZE * usual));
  const layout = overviewLayout({
    layers: { encoder: encoder.layers, decoder: decoder.layers },
    heads: { encoder: encoder.heads, decoder: decoder.heads, cross: cross.heads },
    words: { source: measured(tokens.source), target: measured(tokens.target) },
    caption: 0.93 * Math.max(...Object.values(captions).map((each) => textWidth(each, 12 * usual))), // of bold type
    type: usual,
    ...place,
  });
  const { type } = layout;
  const picture = svg("svg", {
    viewBox: `0 0 ${layout.width} ${layout.height}`,
    width: layout.width,
    height: layout.height,
    role: "group",
    "aria-label": t("overview.picture", { encoder: encoder.layers, decoder: decoder.layers, heads: encoder.heads }),
  });
  const canvas = paintedMaps(layout, run);
  const marks = { ...rowMarks(layout), lane: svg("path", { class: "lane" }), ring: svg("rect", { class: "ring" }) };
  const chips = { source: tokenChips("source"), target: tokenChips("target") };
  const paid = svg("path", { class: "paid" });
  const output = drawOutput(layout, run);
  picture.append(
    ...streams(layout),
    marks.lane,
    ...connections(layout, run),
    ...SIDES.flatMap((side) => column(side)),
    paid,
    control({ what: "memory" }, layout.memory, run, t("overview.memory_short"), type, layout.name),
    output.element,
    ...marks.elements,
    marks.ring,
  );
  const element = h("div", { class: "overview" }, canvas, picture);

  /** @param {Side} side */
  function column(side) {
    const stack = STACK_OF[side];
    const { title, input, layers, fold } = layout[stack];
    const name = t(run.model.positions ? "overview.input" : "overview.input_bare");
    const heading = svg("text", { ...title, class: "stack-name", style: `font-size: ${14 * type}px` });
    heading.append(t(`overview.${stack}`));
    const folded = fold && foldButton(stack, fold, () => unfold(stack), type);
    return [
      heading,
      svg("g", { role: "group", "aria-label": t(`overview.tokens.${stack}`) }, chips[side]),
      control({ what: "positions", stack }, input, run, name, type, layout.name),
      ...layers.map((layer) => drawLayer(stack, layer, run, captions, layout)),
      ...(folded ? [folded] : []),
    ];
  }

  /** @param {Side} side */
  function tokenChips(side) {
    const { boxes, isStrip } = layout[STACK_OF[side]].tokens;
    return tokens[side].map((token, at) => {
      const chip = tokenChip(token, at, side, boxes[at], isStrip, type);
      const enter = () => follow({ side, at });
      for (const each of ["pointerenter", "focus"]) chip.addEventListener(each, enter);
      chip.addEventListener("pointerleave", () => follow(null));
      chip.addEventListener("blur", () => follow(null));
      if (side === "target") onPress(chip, () => goTo(at));
      return chip;
    });
  }

  return {
    element,
    layout,
    /** Marks, candidates and words of a step; `token` is followed. */
    draw(/** @type {number} */ step, /** @type {Token | null} */ token) {
      const row = rowOfAllHeads(run, "cross", step);
      const top = token?.side === "source" ? row[token.at] : strongest(row);
      marks.draw(run, step, token);
      paid.setAttribute("d", paidBars(layout, row));
      chips.source.forEach((chip, at) => {
        chip.classList.toggle("now", at === top.key && top.weight > 0);
        chip.dataset.weight = String(row[at].mean);
        chip.classList.toggle("followed", token?.side === "source" && token.at === at);
      });
      chips.target.forEach((chip, at) => {
        chip.classList.toggle("future", at > step);
        chip.classList.toggle("now", at === step);
        chip.classList.toggle("followed", token?.side === "target" && token.at === at);
        if (at === step) chip.setAttribute("aria-current", "step");
        else chip.removeAttribute("aria-current");
      });
      const followed = token ?? { side: /** @type {Side} */ ("target"), at: step };
      marks.lane.setAttribute("class", `lane ${followed.side}`);
      marks.lane.setAttribute("d", lanePath(layout, followed, tokens[followed.side].length));
      const box = headBox(layout, "cross", top.layer, top.head);
      marks.ring.setAttribute("visibility", box && top.weight > 0 ? "visible" : "hidden");
      if (box) setBox(marks.ring, grown(box, 2));
      output.draw(step);
    },
    /** Go to where the visitor was, and mark it; null for nowhere. */
    show(/** @type {Place | null} */ place) {
      for (const each of picture.querySelectorAll("[aria-current=location]")) each.removeAttribute("aria-current");
      const found = place && picture.querySelector(`[data-place="${placeKey(place)}"]`);
      if (!(found instanceof SVGElement)) return;
      found.setAttribute("aria-current", "location");
      found.focus({ preventScroll: true });
      found.scrollIntoView({ block: "center" });
    },
    travel: (/** @type {number} */ step) => travel(picture, layout, run, step),
  };
}

// ---- what stays ----

/** All heads on one canvas, painted once a run and theme. @param {Layout} layout @param {Run} run */
function paintedMaps(layout, run) {
  const { canvas, context } = sharpCanvas(layout.width, layout.height);
  canvas.setAttribute("aria-hidden", "true"); // its numbers are a click away, each map's in its tab
  keepPainted(canvas, () => {
    context.clearRect(0, 0, layout.width, layout.height);
    for (const { kind, layer, heads } of sublayersOf(layout)) {
      const { queries, keys } = run.attention[kind];
      heads.forEach(({ x, y, width, height }, head) => {
        const cells = { cellWidth: width / keys.length, cellHeight: height / queries.length };
        paintMap(context, run, kind, layer, head, { x, y, ...cells });
      });
    }
  });
  return canvas;
}

/** @param {Box} box @param {number} by */
const grown = ({ x, y, width, height }, by) => ({
  x: x - by,
  y: y - by,
  width: width + 2 * by,
  height: height + 2 * by,
});

/** @param {Element} element @param {Box} box */
const setBox = (element, box) => {
  for (const [name, value] of Object.entries(box)) element.setAttribute(name, String(value));
};

/**
 * A part of the picture that leads to its place.
 * @param {Place} place @param {Box} box @param {Run} run @param {string} words that stand in it @param {number} type
 * @param {number} size px of the words
 */
function control(place, box, run, words = "", type = 1, size = 12 * type) {
  const { tab } = targetOf(place, run);
  const name = t("overview.opens", { place: placeName(place), tab: t(`tab.${tab}`) });
  const attributes = { role: "button", tabindex: 0, "aria-label": name, "data-place": placeKey(place) };
  const element = svg(
    "g",
    { class: `part ${place.what}`, ...attributes },
    svg("rect", { ...box, rx: place.what === "head" ? 2 : 5 * type }),
  );
  if (words) {
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 + 1 };
    element.append(svg("text", { ...middle, class: "name middle", style: `font-size: ${size}px` }, words));
  }
  onPress(element, () => openPlace(place));
  return element;
}

/** @param {SVGElement} element @param {() => void} act */
function onPress(element, act) {
  element.addEventListener("click", act);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // Space would play
    act();
  });
}

/**
 * @param {Stack} stack @param {Layer} layer @param {Run} run @param {Record<Kind, string>} captions
 * @param {{ type: number, name: number }} sizes `name`: px of a name
 */
function drawLayer(stack, { layer, box, label, attention, feedForward }, run, captions, { type, name: px }) {
  const number = control({ what: "layer", stack, layer }, label, run, String(layer + 1), type, 14 * type);
  const sublayers = attention.flatMap((each) => {
    const { kind, heads, caption } = each;
    const place = /** @type {Place} */ ({ what: "sublayer", kind, layer });
    const size = { width: textWidth(captions[kind], px) + 8, height: 24 * type };
    const name = control(place, { x: caption.x - 2, y: caption.y - size.height / 2, ...size }, run);
    name.append(svg("text", { ...caption, class: "name", style: `font-size: ${px}px` }, captions[kind]));
    const parts = heads.map((map, head) => control({ what: "head", kind, layer, head }, map, run));
    return [name, ...parts];
  });
  const words = t("overview.ffn");
  const network = control({ what: "ffn", stack, layer }, feedForward.box, run, words, type, px);
  const frame = svg("rect", { ...box, rx: 8 * type, class: "layer-frame" });
  return svg("g", { "data-layer": `${stack} ${layer}` }, frame, number, ...sublayers, network);
}

/**
 * @param {Stack} stack @param {{ from: number, to: number, box: Box }} fold @param {() => void} act
 * @param {number} type
 */
function foldButton(stack, { from, to, box }, act, type) {
  const name = t(`overview.folded.${stack}`, { from: from + 1, to: to + 1 });
  const element = svg("g", { class: "part folded", role: "button", tabindex: 0, "aria-label": name });
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 + 1, class: "name middle" };
  const text = svg("text", { ...middle, style: `font-size: ${12 * type}px` });
  text.append(t("overview.folded", { from: from + 1, to: to + 1 }));
  element.append(svg("rect", { ...box, rx: 5 * type }), text);
  onPress(element, act);
  return element;
}

/**
 * @param {string} token @param {number} at @param {Side} side @param {Box} box @param {boolean} isStrip
 * @param {number} type
 */
function tokenChip(token, at, side, box, isStrip, type) {
  const isStep = side === "target" && !isStrip; // a click goes there
  const name = isStep ? `${t("step_n", { step: at + 1 })}: ${token}` : token;
  const attributes = { tabindex: 0, role: isStep ? "button" : "img", "aria-label": name };
  const ground = svg("rect", { ...box, rx: isStrip ? 0 : 5 * type, class: "ground" });
  const above = isStrip ? box.y - 10 * type : box.y + box.height / 2;
  const middle = { x: box.x + box.width / 2, y: above, class: `label ${side} middle` };
  const text = svg("text", { ...middle, style: `font-size: ${WORD_SIZE * type}px` }, token);
  const kind = `${isSpecial(token) ? " special" : ""}${isStrip ? " slim" : ""}`;
  return svg("g", { class: `token ${side}${kind}`, ...attributes }, ground, text);
}

/**
 * How much a step attends to each source token: a bar under each, or in the cells of a strip.
 * @param {Layout} layout @param {ReturnType<typeof rowOfAllHeads>} row
 */
function paidBars({ encoder }, row) {
  const { boxes, isStrip } = encoder.tokens;
  const bars = boxes.map(({ x, y, width, height }, at) => {
    const bar = isStrip ? { across: width, down: height * row[at].mean } : { across: width * row[at].mean, down: 3 };
    return `M${x} ${y + height}h${bar.across}v${-bar.down}h${-bar.across}z`;
  });
  return bars.join("");
}

/** @param {Layout} layout */
const streams = ({ encoder, decoder }) =>
  [encoder, decoder].map(({ stream: { x, width, top, bottom } }) =>
    svg("rect", { x, y: top, width, height: bottom - top, class: "stream" }),
  );

/**
 * What joins the parts: residual paths, branches, the encoder's output, and the way to the word.
 * @param {Layout} layout @param {Run} run
 */
function connections(layout, run) {
  const { encoder, decoder, memory, busX, type } = layout;
  const lines = [];
  const arrow = (
    /** @type {number} */ x,
    /** @type {number} */ y,
    /** @type {number} */ dx,
    /** @type {number} */ dy,
  ) => {
    const size = 4 * type;
    const side = (/** @type {number} */ by) => `${x - dx * size + dy * by} ${y - dy * size + dx * by}`;
    return `M${side(size * 0.7)}L${x} ${y}L${side(-size * 0.7)}`;
  };
  for (const column of [encoder, decoder]) {
    const { stream, tokens, input, layers } = column;
    const isMirrored = column === decoder;
    const near = isMirrored ? stream.x : stream.x + stream.width;
    const middle = stream.x + stream.width / 2;
    const down = tokens.box.x + tokens.box.width / 2;
    const from = tokens.box.y + tokens.box.height + 2;
    const flow = [`M${down} ${from}V${input.y - 1}`, arrow(down, input.y - 1, 0, 1)];
    const sides = isMirrored ? -1 : 1;
    for (const { attention, feedForward } of layers)
      for (const { box, enters, leaves } of [...attention, feedForward]) {
        const edge = (isMirrored ? box.x + box.width : box.x) - sides * 2;
        flow.push(`M${near} ${enters}H${edge}`, arrow(edge, enters, sides, 0));
        flow.push(
          `M${edge} ${leaves}H${middle + sides * 5 * type}`,
          arrow(middle + sides * 5 * type, leaves, -sides, 0),
        );
      }
    lines.push(svg("path", { d: flow.join(""), class: "flow" }));
    for (const { attention, feedForward } of layers)
      for (const { enters, leaves } of [...attention, feedForward]) {
        const normAt = run.model.norm_first ? { x: near + (isMirrored ? -6 : 4) * type, y: enters - 5 * type } : null;
        lines.push(svg("circle", { cx: middle, cy: leaves, r: 5 * type, class: "add" }));
        lines.push(
          svg("path", {
            d: `M${middle - 3 * type} ${leaves}h${6 * type}M${middle} ${leaves - 3 * type}v${6 * type}`,
            class: "plus",
          }),
        );
        const bar = normAt
          ? { ...normAt, width: 2 * type, height: 10 * type }
          : { x: middle - 6 * type, y: leaves + 6 * type, width: 12 * type, height: 2 * type };
        lines.push(svg("rect", { ...bar, class: "norm" }));
      }
  }
  const start = { x: layout.isWide ? memory.x + memory.width : busX, y: memory.y + memory.height / 2 };
  const reads = decoder.layers.flatMap(({ attention }) => attention.filter(({ kind }) => kind === "cross"));
  const ends = reads.map(({ heads }) => heads[0].y + heads[0].height / 2);
  const bus = layout.isWide
    ? [`M${start.x} ${start.y}H${busX}V${Math.min(start.y, ...ends)}M${busX} ${start.y}V${Math.max(start.y, ...ends)}`]
    : [`M${busX} ${memory.y + memory.height}V${Math.max(...ends)}`];
  reads.forEach(({ heads }, i) => {
    bus.push(`M${busX} ${ends[i]}H${heads[0].x - 3}`, arrow(heads[0].x - 3, ends[i], 1, 0));
  });
  lines.push(svg("path", { d: bus.join(""), class: "bus" }));
  lines.push(svg("path", { d: outputPath(layout, arrow).join(""), class: "flow" }));
  return lines;
}

/**
 * From the decoder's last layer to the word, and back to the decoder's inputs.
 * @param {Layout} layout @param {(x: number, y: number, dx: number, dy: number) => string} arrow
 */
function outputPath({ decoder, output, isWide, type, height }, arrow) {
  const { word, candidates, linear } = output;
  const middle = word.x + word.width / 2;
  const { stream } = decoder;
  const from = stream.x + stream.width / 2;
  if (!isWide) {
    const order = [linear, candidates, word];
    const down = order.flatMap((box, i) => {
      const above = i ? order[i - 1].y + order[i - 1].height : stream.bottom;
      return [`M${middle} ${above + 1}V${box.y - 2}`, arrow(middle, box.y - 2, 0, 1)];
    });
    return [`M${from} ${stream.bottom}H${middle}`, ...down];
  }
  const foot = Math.min(height - 6, stream.bottom + 6 * type);
  const tokens = decoder.tokens.box;
  const back = Math.min(word.y + word.height / 2, tokens.y + tokens.height / 2);
  return [
    `M${from} ${stream.bottom}V${foot}H${middle}V${linear.y + linear.height + 2}`,
    arrow(middle, linear.y + linear.height + 2, 0, -1),
    `M${middle} ${linear.y - 1}V${candidates.y + candidates.height + 2}`,
    arrow(middle, candidates.y + candidates.height + 2, 0, -1),
    `M${middle} ${candidates.y - 1}V${word.y + word.height + 2}`,
    arrow(middle, word.y + word.height + 2, 0, -1),
    `M${word.x - 2} ${back}H${tokens.x + tokens.width + 4}`,
    arrow(tokens.x + tokens.width + 4, back, -1, 0),
  ];
}

/** Candidates, and the word that comes out. @param {Layout} layout @param {Run} run */
function drawOutput({ output }, run) {
  const { word, candidates: box, linear, row, type } = output;
  const place = /** @type {Place} */ ({ what: "candidates" });
  const group = control(place, box, run);
  const size = `font-size: ${WORD_SIZE * type}px`;
  const longest = Math.max(
    ...run.steps.flatMap(({ candidates }) =>
      candidates.slice(0, SHOWN_CANDIDATES).map(({ token }) => textWidth(token, WORD_SIZE * type)),
    ),
  );
  const [left, right] = [Math.min(longest, box.width * 0.4) + 20 * type, 58 * type];
  const room = box.width - left - right;
  const rows = Array.from({ length: SHOWN_CANDIDATES }, (_, i) => {
    const y = box.y + 4 * type + (i + 0.5) * row;
    const name = svg("text", { x: box.x + 10 * type, y, class: "label", style: size });
    const bar = svg("rect", { x: box.x + left, y: y - 7 * type, height: 14 * type, rx: 3, class: "share" });
    const share = svg("text", {
      x: box.x + box.width - 8 * type,
      y,
      class: "name end",
      style: `font-size: ${12 * type}px`,
    });
    const element = svg("g", { class: "candidate" }, name, bar, share);
    return { element, name, bar, share };
  });
  group.append(...rows.map(({ element }) => element));
  const small = `font-size: ${12 * type}px`;
  const middle = word.x + word.width / 2;
  const says = svg("text", { x: middle, y: word.y + 14 * type, class: "name middle", style: small });
  const out = svg("text", {
    x: middle,
    y: word.y + 38 * type,
    class: "label target middle",
    style: `font-size: ${20 * type}px`,
  });
  const next = svg("text", { x: middle, y: word.y + 62 * type, class: "name middle", style: small });
  const logits = svg("text", {
    x: linear.x + linear.width / 2,
    y: linear.y + linear.height / 2 + 1,
    class: "name middle",
    style: small,
  });
  logits.append(t("overview.linear"));
  const element = svg(
    "g",
    {},
    svg("g", { class: "linear" }, svg("rect", { ...linear, rx: 5 * type }), logits),
    group,
    svg("g", { class: "word-out" }, svg("rect", { ...word, rx: 8 * type }), says, out, next),
  );
  return {
    element,
    draw(/** @type {number} */ step) {
      const { token, candidates } = run.steps[step];
      const shown = candidates.slice(0, SHOWN_CANDIDATES);
      rows.forEach(({ element, name, bar, share }, i) => {
        const each = shown[i];
        element.setAttribute("visibility", each ? "inherit" : "hidden");
        if (!each) return;
        element.setAttribute("class", `candidate ${each.token === outputToken(run.steps[step]) ? "chosen" : ""}`);
        element.setAttribute("data-probability", String(each.probability));
        name.textContent = each.token;
        bar.setAttribute("width", String(Math.max(2, room * each.probability)));
        share.textContent = formatPercent(each.probability);
      });
      const list = shown.map((each) => `${each.token} ${formatPercent(each.probability)}`).join(", ");
      const where = t("overview.candidates_at", { step: step + 1, list });
      group.setAttribute("aria-label", t("overview.opens", { place: where, tab: t("tab.translate") }));
      const isForced = Boolean(findChange({ do: "force_word", step }, run.changes));
      says.textContent = t(isForced ? "overview.forced_out" : "overview.out", { step: step + 1 });
      out.textContent = token;
      const hasNext = step + 1 < run.steps.length;
      next.textContent = hasNext
        ? t("overview.becomes", { next: step + 2 })
        : t(token === "E" ? "overview.ends" : "overview.stops");
    },
  };
}

// ---- what a step and a token change ----

/** @param {Layout} layout */
const sublayersOf = ({ encoder, decoder }) =>
  [encoder, decoder].flatMap(({ layers }) =>
    layers.flatMap(({ layer, attention }) => attention.map((each) => ({ layer, ...each }))),
  );

/** @param {Layout} layout @param {Kind} kind @param {number} layer @param {number} head */
const headBox = (layout, kind, layer, head) =>
  sublayersOf(layout).find((each) => each.kind === kind && each.layer === layer)?.heads[head];

/** One path for each sublayer and mark, over all of its heads. @param {Layout} layout */
function rowMarks(layout) {
  const all = sublayersOf(layout).map(({ kind, heads }) => {
    const path = (/** @type {string} */ name) => svg("path", { class: name, "data-kind": kind });
    return { kind, heads, veil: path("veil"), row: path("row"), followed: path("path") };
  });
  const rect = (
    /** @type {number} */ x,
    /** @type {number} */ y,
    /** @type {number} */ width,
    /** @type {number} */ height,
  ) => `M${x} ${y}h${width}v${height}h${-width}z`;
  return {
    elements: all.flatMap(({ veil, row, followed }) => [veil, row, followed]),
    /** @param {Run} run @param {number} step @param {Token | null} token */
    draw(run, step, token) {
      for (const { kind, heads, veil, row, followed } of all) {
        const { queries, keys } = run.attention[kind];
        const rowOf = (/** @type {Box} */ { x, y, width, height }, /** @type {number} */ at) =>
          rect(
            x - MARK,
            y + (at * height) / queries.length - MARK / 2,
            width + 2 * MARK,
            Math.max(2, height / queries.length) + MARK,
          );
        const columnOf = (/** @type {Box} */ { x, y, width, height }, /** @type {number} */ at) =>
          rect(
            x + (at * width) / keys.length - MARK / 2,
            y - MARK,
            Math.max(2, width / keys.length) + MARK,
            height + 2 * MARK,
          );
        const later = (/** @type {Box} */ { x, y, width, height }) => {
          const top = ((step + 1) * height) / queries.length;
          return rect(x, y + top, width, Math.max(0, height - top));
        };
        if (kind !== "encoder") {
          veil.setAttribute("d", heads.map(later).join(""));
          row.setAttribute("d", heads.map((box) => rowOf(box, step)).join(""));
        }
        const isRow = token && token.side === (kind === "encoder" ? "source" : "target");
        const isColumn = token && token.side === (kind === "decoder" ? "target" : "source");
        const d = token
          ? heads.map((box) => (isRow ? rowOf(box, token.at) : "") + (isColumn ? columnOf(box, token.at) : "")).join("")
          : "";
        followed.setAttribute("d", d);
        followed.setAttribute("class", `path ${token?.side ?? ""}`);
      }
    },
  };
}

/**
 * A token's way down its stack's stream.
 * @param {Layout} layout @param {Token} token @param {number} count of its side
 */
function lanePath(layout, { side, at }, count) {
  const { tokens, input, stream } = layout[STACK_OF[side]];
  const chip = tokens.boxes[at];
  const x = stream.x + ((at + 0.5) * stream.width) / count;
  const foot = chip.x + chip.width / 2;
  const [top, bottom] = [chip.y + chip.height, input.y + input.height / 2];
  return `M${foot} ${top}C${foot} ${(top + bottom) / 2} ${x} ${(top + bottom) / 2} ${x} ${bottom}V${stream.bottom}`;
}

/**
 * A row of all heads of a kind: for each key the mean weight, and the head with the highest.
 * @param {Run} run @param {Kind} kind @param {number} query
 */
export function rowOfAllHeads(run, kind, query) {
  const { layers, heads, queries, keys, values } = run.attention[kind];
  const size = queries.length * keys.length;
  return keys.map((_, key) => {
    let sum = 0;
    let best = 0;
    const first = query * keys.length + key;
    for (let head = 0; head < layers * heads; head++) {
      const value = values[head * size + first];
      sum += value;
      if (value > values[best * size + first]) best = head;
    }
    const weight = values[best * size + first];
    return { key, mean: sum / (layers * heads), layer: Math.floor(best / heads), head: best % heads, weight };
  });
}

/** The key with the highest weight of all heads. @param {ReturnType<typeof rowOfAllHeads>} row */
export const strongest = (row) => row[argmax(row.map(({ weight }) => weight))];

// ---- a step that travels ----

const MOVE_MS = 300; // of a word that becomes an input
const STACK_MS = 450; // from a stack's inputs to its end

/**
 * Light up what a step passes through: the encoder before the first one, then the decoder; the last word comes in
 * first.
 * @param {SVGElement} picture @param {Layout} layout @param {Run} run @param {number} step
 */
function travel(picture, layout, run, step) {
  const { encoder, decoder, memory, output } = layout;
  picture.querySelector(".travelling")?.remove();
  const group = svg("g", { class: "travelling", "aria-hidden": "true" });
  picture.append(group);
  const light = (/** @type {Box[]} */ boxes, /** @type {number} */ start) =>
    boxes.map((box, i) => {
      const glow = svg("rect", { ...grown(box, 1), rx: 8, class: "glow" });
      group.append(glow);
      const delay = start + (i * STACK_MS) / boxes.length;
      return glow.animate([{ opacity: 0 }, { opacity: 1, offset: 0.3 }, { opacity: 0 }], {
        duration: 320,
        delay,
        fill: "backwards",
      });
    });
  const layersOf = (/** @type {Column} */ { layers }) => layers.map(({ box }) => box);
  let start = 0;
  if (step === 0) {
    light([encoder.tokens.box, encoder.input, ...layersOf(encoder), memory], 0);
    start = STACK_MS;
  } else {
    const [from, to] = [output.word, decoder.tokens.boxes[step]];
    const place = { x: to.x + to.width / 2, y: to.y + to.height / 2, class: "label target middle" };
    const coming = svg("text", { ...place, style: `font-size: ${WORD_SIZE * layout.type}px` }, run.decoder_input[step]);
    group.append(coming);
    const [x, y] = [from.x + from.width / 2 - place.x, from.y + from.height / 2 - place.y];
    coming.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], {
      duration: MOVE_MS,
      easing: "ease-in-out",
    });
    start = MOVE_MS;
  }
  const boxes = [
    decoder.tokens.boxes[step],
    decoder.input,
    ...layersOf(decoder),
    output.linear,
    output.candidates,
    output.word,
  ];
  const last = light(boxes, start).at(-1);
  last?.finished.then(() => group.remove()).catch(() => {});
}
