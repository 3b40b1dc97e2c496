// Connections between the parts of the overview.

import type { Run } from "../../api/types.ts";
import type { Column, Layout } from "../../charts/overview-layout.ts";
import { findChange } from "../../state/changes.ts";
import { svg } from "../../ui/dom.ts";

export const streams = ({ encoder, decoder }: Layout) =>
  [encoder, decoder].map(({ stream: { x, width, top, bottom } }) =>
    svg("rect", { x, y: top, width, height: bottom - top, class: "stream" }),
  );

export function connections(layout: Layout, run: Run) {
  const { encoder, decoder, type } = layout;
  const path = (parts: string[], name: string) => svg("path", { d: parts.join(""), class: name });
  return [
    ...[encoder, decoder].flatMap((column) => [
      path(branches(column, column === decoder, type), "flow"),
      ...additions(column, column === decoder, run, type),
    ]),
    path(memoryBus(layout), "bus"),
    path(outputPath(layout), "flow"),
  ];
}

function arrow(x: number, y: number, dx: number, dy: number, type: number) {
  const size = 4 * type;
  const side = (by: number) => `${x - dx * size + dy * by} ${y - dy * size + dx * by}`;
  return `M${side(size * 0.7)}L${x} ${y}L${side(-size * 0.7)}`;
}

const streamOf = ({ stream }: Column, isMirrored: boolean) => ({
  near: isMirrored ? stream.x : stream.x + stream.width,
  middle: stream.x + stream.width / 2,
});

const sublayers = ({ layers }: Column) =>
  layers.flatMap(({ layer, attention, feedForward }) =>
    [...attention, feedForward].map((ends, i) => ({ ...ends, layer, sublayer: i + 1 })),
  );

function branches(column: Column, isMirrored: boolean, type: number) {
  const { box } = column.tokens;
  const { near, middle } = streamOf(column, isMirrored);
  const way = isMirrored ? -1 : 1;
  const [down, end] = [box.x + box.width / 2, column.input.y - 1];
  const intoStream = [`M${down} ${box.y + box.height + 2}V${end}`, arrow(down, end, 0, 1, type)];
  const throughSublayers = sublayers(column).flatMap(({ box, enters, leaves }) => {
    const edge = (isMirrored ? box.x + box.width : box.x) - way * 2;
    const back = middle + way * 5 * type;
    return [
      `M${near} ${enters}H${edge}`,
      arrow(edge, enters, way, 0, type),
      `M${edge} ${leaves}H${back}`,
      arrow(back, leaves, -way, 0, type),
    ];
  });
  return [...intoStream, ...throughSublayers];
}

function additions(column: Column, isMirrored: boolean, run: Run, type: number) {
  const { near, middle } = streamOf(column, isMirrored);
  const { x, width } = column.stream;
  const stack = isMirrored ? "decoder" : "encoder";
  return sublayers(column).flatMap(({ enters, leaves, layer, sublayer }) => {
    const isDropped = findChange({ do: "drop_residual", stack, layer, sublayer }, run.changes);
    const gap = svg("rect", { x: x - 1, y: leaves - 12 * type, width: width + 2, height: 6 * type, class: "gap" });
    const plus = `M${middle - 3 * type} ${leaves}h${6 * type}M${middle} ${leaves - 3 * type}v${6 * type}`;
    const norm = run.model.norm_first
      ? { x: near + (isMirrored ? -6 : 4) * type, y: enters - 5 * type, width: 2 * type, height: 10 * type }
      : { x: middle - 6 * type, y: leaves + 6 * type, width: 12 * type, height: 2 * type };
    return [
      ...(isDropped ? [gap] : []),
      svg("circle", { cx: middle, cy: leaves, r: 5 * type, class: "add" }),
      svg("path", { d: plus, class: "plus" }),
      svg("rect", { ...norm, class: "norm" }),
    ];
  });
}

function memoryBus({ decoder, memory, busX, isWide, type }: Layout) {
  const start = { x: isWide ? memory.x + memory.width : busX, y: memory.y + memory.height / 2 };
  const reads = decoder.layers.flatMap(({ attention }) => attention.filter(({ kind }) => kind === "cross"));
  const ends = reads.map(({ heads: [{ x, y, height }] }) => ({ x: x - 3, y: y + height / 2 }));
  const rows = ends.map(({ y }) => y);
  const trunk = isWide
    ? `M${start.x} ${start.y}H${busX}V${Math.min(start.y, ...rows)}M${busX} ${start.y}V${Math.max(start.y, ...rows)}`
    : `M${busX} ${memory.y + memory.height}V${Math.max(...rows)}`;
  return [trunk, ...ends.flatMap(({ x, y }) => [`M${busX} ${y}H${x}`, arrow(x, y, 1, 0, type)])];
}

function outputPath({ decoder, output, isWide, type, height }: Layout) {
  const { word, candidates, linear } = output;
  const middle = word.x + word.width / 2;
  const { stream } = decoder;
  const from = stream.x + stream.width / 2;
  const foot = isWide ? Math.min(height - 6, stream.bottom + 6 * type) : stream.bottom;
  const order = [linear, candidates, word];
  const steps = order.flatMap((box, i) => {
    const end = isWide ? box.y + box.height + 2 : box.y - 2;
    const before = i ? order[i - 1].y + (isWide ? -1 : order[i - 1].height + 1) : stream.bottom + 1;
    const start = isWide && !i ? "" : `M${middle} ${before}`; // there the line goes on
    return [`${start}V${end}`, arrow(middle, end, 0, isWide ? -1 : 1, type)];
  });
  return [`M${from} ${stream.bottom}V${foot}H${middle}`, ...steps];
}

export function returnPath({ decoder, output, isWide, type }: Layout) {
  const { word } = output;
  const tokens = decoder.tokens.box;
  const [end, y] = [tokens.x + tokens.width + 4, Math.min(word.y + word.height / 2, tokens.y + tokens.height / 2)];
  const parts = isWide ? [`M${word.x - 2} ${y}H${end}`, arrow(end, y, -1, 0, type)] : [];
  return svg("path", { d: parts.join(""), class: "flow return" });
}
