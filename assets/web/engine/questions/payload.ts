// A run as the page draws it: transformer/web/api/payload.py.

import type { Candidate, FloatArray, HeadTable, PageMaps, Reference, Run, Step as ShownStep } from "#schema";
import { encodeBytes } from "../../api/bytes.ts";
import type { Kind } from "../../api/types.ts";
import { argmax, joined, parts, range, ranked } from "../arrays.ts";
import type { Step } from "../decoding.ts";
import { KINDS, ofKinds } from "../interventions.ts";
import type { Pair, Translation, Translator } from "../translator.ts";
import { END } from "../vocabulary.ts";

const MAX_CANDIDATES = 10;
/** Base64 of little-endian float32, as every browser's processor has it. */
export const floats = ({ buffer, byteOffset, byteLength }: Float32Array) =>
  encodeBytes(new Uint8Array(buffer, byteOffset, byteLength));

export const array = (values: Float32Array, ...shape: number[]): FloatArray => ({ shape, data: floats(values) });

/** The queries and the keys of a kind of attention. */
export function axes(translator: Translator, run: Translation, kind: Kind) {
  const source = run.source.map((id) => translator.source.tokens[id]);
  const input = translator.targetTokens(run.input);
  return { queries: kind === "encoder" ? source : input, keys: kind === "decoder" ? input : source };
}

export const allowed = (mask: Float32Array, queries: number) =>
  parts(mask, queries).map((row) => Array.from(row, Boolean));

export function pageRun(translator: Translator, run: Translation, baseline?: Translation): Run {
  const { data, source, target } = translator;
  const output = translator.targetTokens(run.output);
  const reference = translator.reference(run);
  return {
    sentence: run.sentence,
    text: target.decode(run.output),
    checkpoint: data.checkpoint,
    changes: run.changes,
    complete: output.at(-1) === END,
    source: run.source.map((id) => source.tokens[id]),
    typed: run.typed,
    decoder_input: translator.targetTokens(run.input),
    output,
    steps: run.steps.map((step) => shownStep(translator, step)),
    ids: { source: run.source, decoder_input: run.input },
    model: data.facts,
    attention: ofKinds((kind) => pageMaps(translator, run, kind)),
    heads: headTable(translator, run),
    reference: reference ? shownReference(translator, run, reference) : null,
    ...(baseline && { comparison: comparison(baseline, run) }),
  };
}

/** The likeliest tokens, and the one that was output, which may not be among them where it was forced. */
function shownStep(translator: Translator, { token, distribution }: Step): ShownStep {
  const candidate = (id: number): Candidate => ({ token: translator.target.tokens[id], probability: distribution[id] });
  const ids = ranked(distribution, MAX_CANDIDATES);
  if (!ids.includes(token)) ids.push(token);
  return { ...candidate(token), candidates: ids.map(candidate) };
}

function pageMaps(translator: Translator, run: Translation, kind: Kind): PageMaps {
  const { queries, keys } = axes(translator, run, kind);
  return {
    layers: run.maps[kind].length,
    heads: translator.network.config.n_heads,
    queries,
    keys,
    allowed: allowed(run.masks[kind], queries.length),
    weights: floats(joined(run.maps[kind])),
  };
}

/** The mean entropy (nats) and the mean attention distance (positions) of every head. */
function headTable(translator: Translator, run: Translation): HeadTable {
  const heads = translator.network.config.n_heads;
  const rounded = (value: number) => Math.round(value * 1e4) / 1e4;
  const data = KINDS.flatMap((kind) => {
    const keys = axes(translator, run, kind).keys.length;
    return run.maps[kind].flatMap((weights, layer) =>
      parts(weights, heads).map((map, head) => {
        return [kind, layer, head, rounded(entropy(map, keys)), rounded(distance(map, keys))];
      }),
    );
  });
  return { columns: ["kind", "layer", "head", "entropy", "distance"], data };
}

/** Of a map's rows, the mean entropy in nats. */
export const entropy = (map: Float32Array, keys: number) =>
  -map.reduce((sum, weight) => sum + (weight > 0 ? weight * Math.log(weight) : 0), 0) / (map.length / keys);

const distance = (map: Float32Array, keys: number) =>
  map.reduce((sum, weight, at) => sum + weight * Math.abs(Math.floor(at / keys) - (at % keys)), 0) /
  (map.length / keys);

/** Gold links and scores belong to the reference's words: a run with other words has none. */
function shownReference(translator: Translator, run: Translation, { target, gold, heldOut }: Pair): Reference {
  const same = translator.target.decode(run.output) === target;
  const aligned = gold.sure.concat(gold.possible).some((links) => links.length);
  const linked = same && aligned;
  return {
    text: target,
    same,
    aligned,
    held_out: translator.data.held_out[heldOut] ?? "",
    gold: linked ? gold : null,
    error_rates: linked ? run.maps.cross.map((map) => errorRates(translator, map, run.source.length, gold)) : null,
  };
}

/** The alignment error rate of each head of a layer (Och and Ney 2003): every aligned word predicts the source word with
 * the head's highest weight. */
function errorRates(translator: Translator, map: Float32Array, keys: number, { sure, possible }: Pair["gold"]) {
  const heads = translator.network.config.n_heads;
  return parts(map, heads).map((head) => {
    const rows = parts(head, head.length / keys);
    let [predicted, links, right] = [0, 0, 0];
    sure.forEach((sureLinks, t) => {
      if (!sureLinks.length && !possible[t].length) return;
      links += sureLinks.length;
      const highest = argmax(rows[t]);
      if (!rows[t][highest]) return; // a fully masked row predicts none
      predicted++;
      right += sureLinks.includes(highest) ? 2 : +possible[t].includes(highest);
    });
    return predicted + links ? 1 - right / (predicted + links) : 0;
  });
}

/** What is left of each step's probability in the modified run. */
function comparison(baseline: Translation, modified: Translation): Run["comparison"] {
  return range(Math.max(baseline.output.length, modified.output.length)).map((t) => ({
    new_probability: modified.steps[t]?.distribution[baseline.output[t]] ?? null,
    same_input: `${baseline.output.slice(0, t)}` === `${modified.output.slice(0, t)}`,
  }));
}
