// Where the parts of the picture of the whole stand.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Box, Layout, Sizes } from "../../assets/web/charts/overview-layout.ts";
import { MAX_LAYERS, overviewLayout } from "../../assets/web/charts/overview-layout.ts";

const LEAST = 24; // px that a finger hits
const SLACK = 0.01;

const sizes = (layers: number, heads: number, tokens: number, more: Partial<Sizes> = {}): Sizes => ({
  layers: { encoder: layers, decoder: layers },
  heads: { encoder: heads, decoder: heads, cross: heads },
  words: { source: Array(tokens).fill(38), target: Array(tokens + 1).fill(30) },
  ...{ caption: 130, width: 1182, available: 580, type: 1, isUnfolded: false },
  ...more,
});

/** Boxes that stand in nothing but the picture, by name. */
const boxes = ({ encoder, decoder, memory, output }: Layout): [string, Box][] => [
  ["memory", memory],
  ...Object.entries({ word: output.word, candidates: output.candidates, linear: output.linear }),
  ...[encoder, decoder].flatMap(({ tokens, input, layers, folds }, stack) => [
    ...(tokens.boxes.map((box, i) => [`token ${stack} ${i}`, box]) as [string, Box][]),
    [`input ${stack}`, input] as [string, Box],
    ...folds.map(({ from, box }) => [`fold ${stack} ${from}`, box] as [string, Box]),
    ...[...layers, ...folds].flatMap(({ said }, i) => (said ? [[`word of ${i}`, said] as [string, Box]] : [])),
    ...layers.flatMap(({ layer, label, attention, feedForward }) => [
      [`label ${stack} ${layer}`, label] as [string, Box],
      [`network ${stack} ${layer}`, feedForward.box] as [string, Box],
      ...attention.flatMap(({ kind, heads }) => heads.map((box, i) => [`${kind} ${layer} ${i}`, box] as [string, Box])),
    ]),
  ]),
];

const overlap = (a: Box, b: Box) =>
  a.x + a.width > b.x + SLACK &&
  b.x + b.width > a.x + SLACK &&
  a.y + a.height > b.y + SLACK &&
  b.y + b.height > a.y + SLACK;

function expectApart(layout: Layout) {
  const all = boxes(layout);
  for (const [name, { x, y, width, height }] of all) {
    assert.ok(x >= -SLACK && y >= 0 && width > 0 && height > 0, name);
    assert.ok(x + width <= layout.width + SLACK && y + height <= layout.height, name);
  }
  all.forEach(([name, box], i) => {
    for (const [other, beside] of all.slice(i + 1)) assert.ok(!overlap(box, beside), `${name} lies over ${other}`);
  });
}

for (const [layers, heads, tokens, width, type] of [
  [2, 1, 3, 334, 1],
  [6, 8, 5, 1182, 1],
  [6, 8, 5, 334, 1],
  [6, 8, 5, 1216, 1.39],
  [2, 4, 9, 1560, 1.25],
  [12, 16, 128, 1182, 1],
  [12, 16, 128, 334, 1],
])
  test(`${layers} layers of ${heads} heads and ${tokens} tokens stand apart in ${width} px of type ${type}`, () => {
    for (const isUnfolded of [false, true]) {
      const layout = overviewLayout(sizes(layers, heads, tokens, { width, type, isUnfolded }));
      expectApart(layout);
      for (const { layers: drawn, folds } of [layout.encoder, layout.decoder]) {
        const folded = folds.reduce((sum, { from, to }) => sum + to - from + 1, 0);
        assert.equal(drawn.length + folded, layers);
        assert.equal(folded > 0, layers > MAX_LAYERS && !isUnfolded);
        for (const { attention } of drawn)
          for (const { heads: maps } of attention) {
            assert.equal(maps.length, heads);
            for (const { width, height } of maps) assert.ok(width >= LEAST * type - SLACK && width === height);
          }
      }
    }
  });

test("what is presented fits the screen, with an answer in the page's type", () => {
  for (const tokens of [5, 33, 128]) {
    const presented = sizes(6, 8, tokens, { width: 1222, available: 490, type: 1.395, isWhole: true, open: 2 });
    const layout = overviewLayout(presented);
    expectApart(layout);
    assert.ok(layout.height <= presented.available);
    assert.equal(layout.output.type, presented.type);
    const [{ layer, attention }, ...others] = layout.decoder.layers; // one is open
    assert.deepEqual([layer, others.length], [2, 0]);
    assert.equal(layout.decoder.folds.map(({ from, to }) => `${from}-${to}`).join(), "0-1,3-5");
    for (const { box, heads } of attention) {
      const row = box.width / heads.length - 4 * presented.type; // a map's on one line, and its gap
      assert.ok(heads[0].width > (tokens < 10 ? 1.1 : 0.98) * row, "on two lines, where there is room");
    }
  }
});

test("a few long words are shortened, and many give way to a strip", () => {
  const words = (source: number[]) => ({ words: { source, target: [30] } });
  const long = overviewLayout(sizes(2, 4, 0, words([340, 500, 280, 30, 240, 260])));
  assert.ok(!long.encoder.tokens.isStrip);
  expectApart(long);
  assert.ok(overviewLayout(sizes(2, 4, 0, words(Array(33).fill(84)))).encoder.tokens.isStrip);
});

test("stacks of different depth stand beside each other", () => {
  const layout = overviewLayout(sizes(6, 8, 5, { layers: { encoder: 12, decoder: 3 } }));
  assert.ok(layout.isWide);
  assert.equal(layout.decoder.layers.length, 3);
  assert.ok(layout.memory.y + layout.memory.height <= layout.height);
});
