// What this visitor looks at. One page, one run, one store: every view draws from it and changes it through `update`.

export const state = {
  run: null, // the latest good run
  step: 0, // decoding step, from 0
  kind: "cross",
  layer: 0,
  head: 0,
  averaged: true, // Translate shows the mean of a layer's heads
  drawing: "heatmap", // of a map: heatmap, lines or table
};

const views = new Map(); // element -> draw

/** Call `draw` now and after every change, for as long as `element` is on the page. */
export function follow(element, draw) {
  views.set(element, draw);
  if (state.run) draw();
}

export function update(changes) {
  Object.assign(state, changes);
  if (!state.run) return;
  state.step = clamp(state.step, state.run.steps.length);
  state.layer = clamp(state.layer, state.run.attention[state.kind].layers);
  state.head = clamp(state.head, state.run.attention[state.kind].heads);
  for (const [element, draw] of views) {
    if (element.isConnected) draw();
    else views.delete(element);
  }
}

const clamp = (value, count) => Math.max(0, Math.min(value, count - 1));

/** Show a run that the server sent. The visitor's place is kept; the first run opens where a head looks hardest. */
export function show(run) {
  for (const map of Object.values(run.attention)) map.values = floats(map.weights);
  const first = state.run === null;
  state.run = run;
  update(first ? hardestLook(run) : {});
}

/** The weight of one head's look from a query to a key. */
export function weight(kind, layer, head, query, key) {
  const { heads, queries, keys, values } = state.run.attention[kind];
  return values[((layer * heads + head) * queries.length + query) * keys.length + key];
}

/** One head's row, or the mean of all heads of the layer. */
export function row(kind, layer, head, query) {
  const { heads, keys } = state.run.attention[kind];
  return keys.map((_, key) => {
    if (head !== null) return weight(kind, layer, head, query, key);
    let sum = 0;
    for (let each = 0; each < heads; each++) sum += weight(kind, layer, each, query, key);
    return sum / heads;
  });
}

/** Base64 of little-endian 32-bit floats. */
export function floats(base64) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

/** A look is called even while its largest weight is so little above an equal share. */
export const EVEN = 0.03;

export const argmax = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

function hardestLook(run) {
  const { heads, queries, keys, values } = run.attention.cross;
  const cell = argmax(values);
  const step = Math.floor(cell / keys.length) % queries.length;
  const stacked = Math.floor(cell / keys.length / queries.length);
  return { step, head: stacked % heads, layer: Math.floor(stacked / heads) };
}
