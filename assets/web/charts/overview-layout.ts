// Where every part of the picture of the whole stands, in px: a function of counts and sizes, without a page.
//
// As in the paper's Figure 1, a stack's residual stream runs along its outer side, and what a sublayer adds comes back
// to it. Encoder, decoder and output stand side by side where they fit, else one below the other.

import type { Kind, Stack } from "../api/types.ts";
export type Box = { x: number; y: number; width: number; height: number };
/** `isStrip`: too many for words, a slim cell each */
export type Tokens = { boxes: Box[]; box: Box; isStrip: boolean };
export type Fold = { from: number; to: number; box: Box; said: Box | null };
export type Column = ReturnType<typeof drawColumn>;
export type Layer = ReturnType<typeof drawLayer> & { layer: number; box: Box; label: Box };
export type Sizes = {
  layers: Record<Stack, number>;
  heads: Record<Kind, number>;
  words: Record<"source" | "target", number[]>; // px of each token's label
  caption: number; // px of the longest name of a sublayer
  width: number; // px of the picture
  available: number; // px of height to keep to, where the maps stay large enough
  type: number; // how much larger than usual the page's type is
  isUnfolded: boolean; // whether all layers of deep stacks are drawn
  isWhole?: boolean; // whether it keeps to that whatever it takes: one layer open, smaller type, less between parts
  open?: number; // the layer that is then drawn of a stack of several
  isTight?: boolean; // less between its parts
  answerType?: number; // the type of what comes out, where it is not that of the rest
};

export const MAX_LAYERS = 6; // of a stack; of more, those in the middle are folded
const KEPT = 2; // layers on each side of a fold
const MAX_WHOLE = 1; // layers of a stack that fit the screen with maps that a class can read: of more, one is open
export const SHOWN_CANDIDATES = 5;
const WIDE = 720; // px from which the stacks stand side by side
const MIN_SIDE = 24; // px of a map that a finger hits
const CLASS_SIDE = 30; // px of a map in front of a class, if another arrangement gives it that
const READABLE = 28; // px of a map, where its line is wide enough
const MAX_SIDE = 96;
const EDGE = 6; // px under the picture
const DENSE = 24; // tokens from which a map needs
const DENSE_SIDE = 36; // px
const SMALLEST_TYPE = 0.78; // of a picture that `isWhole`
const LARGE_TYPE = 0.9; // of the page's, which larger maps are worth
const NAME = 12; // px of the names of sublayers
const LARGE_NAME = 15; // px, where the rest is smaller than the page's type
const SAID = 92; // px, at most, of the word that a layer of the decoder would output
const LONG_PER_LINE = 4; // long words that are shortened share a line, before a strip replaces the words

export function overviewLayout(sizes: Sizes) {
  const tried = [draw(sizes)];
  if (!sizes.isWhole) return tried[0];
  for (let type = sizes.type; type >= SMALLEST_TYPE; type -= 0.05) {
    const latest = tried[tried.length - 1];
    const fitting = tried.find(({ height }) => height <= sizes.available);
    if (isReadable(latest, sizes)) return latest;
    if (fitting && type < LARGE_TYPE * sizes.type) return fitting;
    const tight = { ...inType(sizes, type), isTight: true };
    tried.push(draw({ ...tight, available: sizes.available - below(tight) }));
  }
  return tried.find(({ height }) => height <= sizes.available) ?? tried[tried.length - 1];
}

/** Whether it fits its place with maps that the back row sees. */
const isReadable = ({ height, decoder, encoder }: Layout, { available, type }: Sizes) =>
  height <= available && Math.min(...[decoder, encoder].map(leastWidth)) >= CLASS_SIDE * type;

export type Layout = ReturnType<typeof draw>;

const draw = (sizes: Sizes) => (sizes.width >= WIDE * sizes.type ? wide(sizes) : stacked(sizes));

function below(sizes: Sizes) {
  const { bar, between } = lengths(sizes);
  return bar + between + EDGE;
}

function inType(sizes: Sizes, type: number): Sizes {
  const scaled = (px: number) => (px * type) / sizes.type;
  const words = { source: sizes.words.source.map(scaled), target: sizes.words.target.map(scaled) };
  const caption = (scaled(sizes.caption) * LARGE_NAME) / NAME;
  return { ...sizes, words, caption, type, answerType: sizes.type };
}

const lengths = ({ type, isTight }: Sizes) => ({
  gap: 4 * type,
  pad: (isTight ? 2 : 6) * type,
  between: (isTight ? 4 : 8) * type, // two layers
  label: 26 * type, // the number of a layer
  branch: 18 * type, // from the stream into a sublayer
  caption: MIN_SIDE * type,
  feedForward: (isTight ? 16 : 18) * type,
  name: (isTight ? LARGE_NAME : NAME) * type,
  bar: (isTight ? 18 : 26) * type, // embeddings and positions, the encoder's output
  chip: (isTight ? 22 : 24) * type,
  title: (isTight ? 20 : 28) * type,
  arrow: (isTight ? 6 : 14) * type,
});

export function foldedLayers(layers: number, { isUnfolded, isWhole, open = 0 }: Omit<Partial<Sizes>, "layers">) {
  const shown = Math.min(open, layers - 1);
  if (isWhole && layers > MAX_WHOLE)
    return [
      { from: 0, to: shown - 1 },
      { from: shown + 1, to: layers - 1 },
    ].filter(({ from, to }) => from <= to);
  return layers > MAX_LAYERS && !isUnfolded && !isWhole ? [{ from: KEPT, to: layers - KEPT - 1 }] : [];
}

function wide(sizes: Sizes) {
  const { width, available, type, answerType = type, layers, words } = sizes;
  const out = Math.min(260 * answerType, Math.max(184 * answerType, 0.18 * width));
  const [bus, margin] = [44 * type, 36 * type];
  const column = (width - out - bus - margin) / 2;
  const origin = { x: 0, y: 0, width: column };
  const lines = Math.max(...Object.values(words).map((each) => drawTokens(each, origin, sizes).box.height));
  const place = { y: 0, width: column, lines };
  const decoder = largest((side, rows) => {
    const drawn = drawColumn("decoder", sizes, { ...place, x: column + bus, side, ...rows });
    return [drawn, foot(drawn) <= available];
  }, sizes);
  const isEven = layers.encoder === layers.decoder;
  const { bar, between, name } = lengths(sizes);
  const limit = Math.max(foot(decoder), available) - bar - between;
  const heights = isEven ? decoder.layers.map(({ box }) => box.height) : []; // so that layers stand beside each other
  const encoder = largest((side, rows) => {
    const drawn = drawColumn("encoder", sizes, { ...place, x: 0, side, ...rows, heights });
    return [drawn, foot(drawn) < (isEven ? foot(decoder) + 0.5 : limit)];
  }, sizes);
  const memory = memoryBox(encoder, sizes);
  const busX = column + bus * 0.4;
  const bottom = Math.max(foot(decoder), memory.y + memory.height);
  const beside = { x: width - out, y: decoder.tokens.box.y, width: out };
  const output = outputBoxes(beside, { ...sizes, type: answerType }, true);
  const height = Math.max(bottom, output.linear.y + output.linear.height) + between + EDGE;
  return { isWide: true, width, height, type, name, encoder, decoder, memory, busX, output };
}

function stacked(sizes: Sizes) {
  const { width, type } = sizes;
  const { title, between, arrow, name } = lengths(sizes);
  const side = Math.max(leastSide(sizes), 48 * type);
  const channel = 18 * type;
  const encoder = drawColumn("encoder", sizes, { x: 0, y: 0, width, side });
  const memory = memoryBox(encoder, sizes);
  const top = memory.y + memory.height + title / 2;
  const decoder = drawColumn("decoder", sizes, { x: channel, y: top, width: width - channel, side });
  const output = outputBoxes({ x: channel, y: foot(decoder) + arrow, width: width - channel }, sizes, false);
  const height = output.word.y + output.word.height + between;
  return { isWide: false, width, height, type, name, encoder, decoder, memory, busX: channel / 3, output };
}

type Rows = Pick<ColumnPlace, "isCompact" | "isWrapped">;

function largest(draw: (side: number, rows?: Rows) => [Column, boolean], sizes: Sizes) {
  const least = leastSide(sizes);
  const fitting = (from: number, rows?: Rows) => {
    for (let side = MAX_SIDE * sizes.type; side > from; side -= 2 * sizes.type) {
      const [drawn, fits] = draw(side, rows);
      if (fits) return drawn;
    }
    return null;
  };
  const usual = fitting(least) ?? draw(least, { isCompact: true })[0];
  return (sizes.isWhole && fitting(leastWidth(usual), { isWrapped: true })) || usual;
}

/** Px of its narrowest map. */
const leastWidth = ({ layers }: Column) =>
  Math.min(...layers.flatMap(({ attention }) => attention.map(({ heads }) => heads[0].width)));

function leastSide({ type, words, isTight }: Sizes) {
  if (isTight) return MIN_SIDE * type;
  return (Math.max(words.source.length, words.target.length) > DENSE ? DENSE_SIDE : READABLE) * type;
}

const foot = ({ stream }: Column) => stream.bottom;

type ColumnPlace = {
  x: number;
  y: number;
  width: number;
  side: number; // px of a map
  lines?: number; // px of the tokens
  isCompact?: boolean; // the maps give way to the names beside them
  isWrapped?: boolean; // the maps stand on several lines of as many, where one has no space for their size
  heights?: number[]; // px that layers have at least
};

/** One stack, from its tokens down; the decoder mirrored, so that the encoder's output comes from the left. */
function drawColumn(stack: Stack, sizes: Sizes, place: ColumnPlace) {
  const { x, y, width, side, lines = 0, isCompact, isWrapped, heights = [] } = place;
  const { type, layers: counts } = sizes;
  const { pad, between, label, branch, bar, title, arrow, gap } = lengths(sizes);
  const isMirrored = stack === "decoder";
  const words = sizes.words[stack === "encoder" ? "source" : "target"];
  const tokens = drawTokens(words, { x, y: y + title, width }, sizes);
  const input = { x, y: tokens.box.y + Math.max(lines, tokens.box.height) + arrow, width, height: bar };
  const lanes = Math.min(20 * type, Math.max(6 * type, words.length * 3 * type));
  const taken = label + gap + lanes + branch; // of a layer's width, beside its sublayers
  const streamX = isMirrored ? x + width - label - gap - lanes : x + label + gap;
  const region = { x: isMirrored ? x + pad : x + taken, width: width - taken - pad };
  const top = input.y + input.height;
  const folded = foldedLayers(counts[stack], sizes);
  const layers: Layer[] = [];
  const folds: Fold[] = [];
  let at = top + arrow;
  for (let layer = 0; layer < counts[stack]; layer++) {
    const hidden = folded.find(({ from, to }) => layer >= from && layer <= to);
    if (hidden?.from === layer) {
      folds.push({ ...hidden, ...besideWord(stack, { ...region, y: at, height: bar }, sizes) });
      at += bar + between;
    }
    if (hidden) continue;
    const { height } = drawLayer(stack, sizes, region, at, { side, isCompact, isWrapped });
    const spare = Math.max(0, (heights[layers.length] ?? 0) - height);
    const drawn = drawLayer(stack, sizes, region, at, { side, isCompact, isWrapped, spare });
    const box = { x, y: at, width, height: drawn.height };
    const labelX = isMirrored ? x + width - label : x;
    layers.push({ ...drawn, layer, box, label: { ...box, x: labelX, width: label } });
    at += drawn.height + between;
  }
  const stream = { x: streamX, width: lanes, top, bottom: at - between + arrow };
  return { title: { x, y: y + 10 * type }, tokens, input, layers, folds, stream };
}

type Region = { x: number; width: number };
type Look = Pick<ColumnPlace, "side" | "isCompact" | "isWrapped"> & { spare?: number };

function drawLayer(stack: Stack, sizes: Sizes, region: Region, y: number, look: Look) {
  const { side, isCompact, isWrapped, spare = 0 } = look;
  const { heads, caption, type } = sizes;
  const { pad, gap, caption: line, feedForward: low, between } = lengths(sizes);
  let at = y + pad + spare / 3;
  const attention = ((stack === "encoder" ? ["encoder"] : ["decoder", "cross"]) as Kind[]).map((kind) => {
    const wanted = isWrapped ? side : MIN_SIDE * type;
    let perLine = Math.max(1, Math.min(heads[kind], Math.floor((region.width + gap) / (wanted + gap))));
    while (isWrapped && heads[kind] % perLine) perLine--;
    const lines = Math.ceil(heads[kind] / perLine);
    const across = Math.ceil(heads[kind] / lines);
    const narrow = (region.width - caption - gap) / across - gap;
    const most = isCompact && narrow >= MIN_SIDE * type ? narrow : (region.width + gap) / across - gap;
    const size = Math.min(side, most);
    const used = across * (size + gap);
    const isBeside = region.width - used >= caption + gap;
    const top = at + (isBeside ? 0 : line);
    const boxes = Array.from({ length: heads[kind] }, (_, i) => {
      const [column, row] = [i % across, Math.floor(i / across)];
      return { x: region.x + column * (size + gap), y: top + row * (size + gap), width: size, height: size };
    });
    const height = lines * (size + gap) - gap;
    const beside = { x: region.x + used + gap, y: top + height / 2 };
    const above = { x: region.x, y: at + line / 2 };
    const box = { ...region, y: at, height: top + height - at };
    at += box.height + between;
    return { kind, box, caption: isBeside ? beside : above, heads: boxes, ...ends({ ...box, y: top, height }) };
  });
  at += spare / 3;
  const { box, said } = besideWord(stack, { ...region, y: at, height: low }, sizes);
  const feedForward = { box, enters: at + 0.25 * low, leaves: at + 0.85 * low };
  return { attention, feedForward, said, height: at + low + pad + spare / 3 - y };
}

/** In the decoder a layer's last line ends, away from the stream, with the word that it would output. */
function besideWord(stack: Stack, line: Box, { type }: Sizes) {
  if (stack === "encoder") return { box: line, said: null };
  const width = Math.min(SAID * type, 0.4 * line.width);
  const start = width + 6 * type;
  return { box: { ...line, x: line.x + start, width: line.width - start }, said: { ...line, width } };
}

const ends = ({ y, height }: Box) => ({ enters: y + 0.2 * height, leaves: y + 0.85 * height });

function drawTokens(words: number[], { x, y, width }: { x: number; y: number; width: number }, sizes: Sizes): Tokens {
  const { chip, gap } = lengths(sizes);
  const most = sizes.isTight ? 2 : 4; // lines
  const inLines = (longest: number) => {
    const boxes: Box[] = [];
    let [left, line] = [0, 0];
    for (const each of words) {
      const own = Math.min(longest, each + 12 * sizes.type);
      if (left > 0 && left + own > width) [left, line] = [0, line + 1];
      boxes.push({ x: x + left, y: y + line * (chip + gap), width: own, height: chip });
      left += own + gap;
    }
    return { boxes, lines: line + 1 };
  };
  let { boxes, lines } = inLines(width);
  for (let perLine = 2; lines > most && perLine <= LONG_PER_LINE; perLine++)
    ({ boxes, lines } = inLines((width + gap) / perLine - gap));
  if (lines <= most) {
    const used = Math.max(...boxes.map((box) => box.x + box.width)) - x;
    return { boxes, box: { x, y, width: used, height: lines * (chip + gap) - gap }, isStrip: false };
  }
  const cell = width / words.length;
  const cells = words.map((_, i) => ({ x: x + i * cell, y: y + chip, width: cell, height: chip }));
  return { boxes: cells, box: { x, y, width, height: 2 * chip }, isStrip: true };
}

function memoryBox({ input, stream }: Column, sizes: Sizes): Box {
  return { x: input.x, y: stream.bottom, width: input.width, height: lengths(sizes).bar };
}

/** The path from the decoder's last layer to the output. Beside the decoder it is read upwards, to its inputs. */
function outputBoxes({ x, y, width }: { x: number; y: number; width: number }, sizes: Sizes, isUpwards: boolean) {
  const { type } = sizes;
  const { bar, arrow } = lengths(sizes);
  const row = 24 * type;
  const heights = { word: 76 * type, candidates: SHOWN_CANDIDATES * row + 8 * type, linear: bar };
  const order = ["word", "candidates", "linear"] as (keyof typeof heights)[];
  if (!isUpwards) order.reverse();
  let at = y;
  const boxes = {} as Record<keyof typeof heights, Box>;
  for (const name of order) {
    boxes[name] = { x, y: at, width, height: heights[name] };
    at += heights[name] + arrow;
  }
  return { ...boxes, row, type };
}
