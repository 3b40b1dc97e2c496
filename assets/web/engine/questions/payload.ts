// A run as the page draws it: transformer/web/api/payload.py.

import type { Candidate, FloatArray, KnownPair, PageMaps, Reference, Run, Step as ShownStep } from "#schema";
import { encodeBytes } from "../../api/bytes.ts";
import type { Kind } from "../../api/types.ts";
import { joined, parts, range, ranked } from "../arrays.ts";
import type { Step } from "../decoding.ts";
import { ofKinds } from "../interventions.ts";
import type { Translation, Translator } from "../translator.ts";
import { END } from "../vocabulary.ts";

export const MAX_CANDIDATES = 10; // of a step
/** Base64 of little-endian float32, as every browser's processor has it. */
export const floats = ({ buffer, byteOffset, byteLength }: Float32Array) =>
  encodeBytes(new Uint8Array(buffer, byteOffset, byteLength));

export const array = (values: Float32Array, ...shape: number[]): FloatArray => ({ shape, data: floats(values) });

export const axes = ({ tokens: { source, input } }: Translation, kind: Kind) => ({
  queries: kind === "encoder" ? source : input,
  keys: kind === "decoder" ? input : source,
});

export const allowed = (mask: Float32Array, queries: number) =>
  parts(mask, queries).map((row) => Array.from(row, Boolean));

export function pageRun(translator: Translator, run: Translation, baseline?: Translation): Run {
  const { data, target } = translator;
  const { source, input, output } = run.tokens;
  const reference = translator.reference(run);
  return {
    sentence: run.sentence,
    text: target.decode(run.output),
    checkpoint: data.checkpoint,
    changes: run.changes,
    complete: output.at(-1) === END,
    source,
    typed: run.typed,
    decoder_input: input,
    output,
    steps: run.steps.map((step) => shownStep(translator, step)),
    ids: { source: run.source, decoder_input: run.input },
    model: data.facts,
    attention: ofKinds((kind) => pageMaps(run, kind)),
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

function pageMaps(run: Translation, kind: Kind): PageMaps {
  const { queries, keys } = axes(run, kind);
  return {
    layers: run.maps[kind].length,
    heads: run.network.config.heads,
    queries,
    keys,
    allowed: allowed(run.masks[kind], queries.length),
    weights: floats(joined(run.maps[kind])),
  };
}

/** Gold links belong to the reference's words: a run with other words has none. */
function shownReference(translator: Translator, run: Translation, pair: KnownPair): Reference {
  const { target, gold, held_out } = pair;
  const same = translator.target.decode(run.output) === target;
  const aligned = gold.sure.concat(gold.possible).some((links) => links.length);
  return { text: target, same, aligned, held_out, gold: same && aligned ? gold : null };
}

/** What is left of each step's probability in the modified run. */
function comparison(baseline: Translation, modified: Translation): Run["comparison"] {
  return range(Math.max(baseline.output.length, modified.output.length)).map((t) => ({
    new_probability: modified.steps[t]?.distribution[baseline.output[t]] ?? null,
    same_input: `${baseline.output.slice(0, t)}` === `${modified.output.slice(0, t)}`,
  }));
}
