// Text in, one pure run out: transformer/inference/translator.py.
//
// S source, T target, H heads, Q queries, K keys.

import type { EngineData, KnownPair } from "#schema";
import { refusal } from "../api/source.ts";
import type { Change, Kind } from "../api/types.ts";
import { parts, sinusoidalPositions } from "./arrays.ts";
import { cachedDecoder, decode, fullPassDecoder, type Step } from "./decoding.ts";
import { changedNetwork, ofKinds, parseChanges, probeName } from "./interventions.ts";
import { Network } from "./network.ts";
import { changesRefusal, requestRefusal, there } from "./refusal.ts";
import { readSafetensors } from "./safetensors.ts";
import { END, PAD, PAD_ID, START, Vocabulary } from "./vocabulary.ts";

/** One run: its tokens, its decoding steps and every attention map, (H, Q, K) of each layer. */
export type Translation = {
  sentence: string;
  changes: Change[];
  network: Network; // with the changes inside it
  source: number[];
  typed: string[];
  input: number[]; // of the decoder, S first
  output: number[];
  tokens: Record<"source" | "input" | "output", string[]>;
  steps: Step[];
  maps: Record<Kind, Float32Array[]>;
  masks: Record<Kind, Float32Array>; // (Q, K)
};

/** Whether the decoder's mask was opened, so that in a full pass a step reads inputs that came later. */
export const looksAhead = ({ masks, input }: Translation) =>
  masks.decoder.some((open, at) => open && at % input.length > Math.floor(at / input.length));

type Options = { changes?: Change[]; forced?: string[]; choose?: (distribution: Float32Array) => number };

const MAX_RUNS = 64;
export const SLACK = 5; // tokens that a run without a head may output beyond the original

export class Translator {
  readonly data: EngineData;
  readonly network: Network;
  readonly source: Vocabulary;
  readonly target: Vocabulary;
  readonly pairs: Map<string, KnownPair>; // by the tokens of the source
  private readonly runs = new Map<string, Translation>();

  constructor(data: EngineData, weights: ArrayBuffer) {
    this.data = data;
    const positions = sinusoidalPositions(Math.max(data.source_length, data.output_limit) + SLACK, data.facts.d_model);
    this.network = new Network(data.facts, { ...readSafetensors(weights), positions });
    this.source = new Vocabulary(data.vocabularies.source);
    this.target = new Vocabulary(data.vocabularies.target);
    this.pairs = new Map(data.pairs.map((pair) => [this.source.split(pair.spelling).join(" "), pair]));
  }

  get ends() {
    const [start, end] = [START, END].map((token) => this.target.ids.get(token) as number);
    return { start, end, limit: this.data.output_limit };
  }

  /** The run of a request, computed once while its views ask about it. */
  run(sentence: string, given: unknown[] = []): Translation {
    const changes = parseChanges(given, this.data.changes);
    const key = JSON.stringify([sentence, changes]);
    const run = this.runs.get(key) ?? this.translate(sentence, { changes });
    if (this.runs.size === MAX_RUNS) this.runs.clear(); // each takes milliseconds
    this.runs.set(key, run);
    return run;
  }

  /** Translate, and keep every attention map (§3.2); after the forced tokens the model continues. */
  translate(sentence: string, { changes = [], forced = [], choose }: Options = {}): Translation {
    const source = this.changedSource(sentence, changes);
    const forcedIds = this.forcedIds(forced, changes);
    const network = changedNetwork(this.network, changes, this.data.output_limit);
    const isCached = network === this.network;
    const { passes, watched } = recorded(network, (name) => name.endsWith(".weights") || /\.0\.\w+\.mask$/.test(name));
    /** Rows of all passes, of which each had the next one, or the value of the last pass, which had every row. */
    const value = (kind: Kind, layer: number, part: string, blocks: number) => {
      const found = there(passes.get(probeName(kind, layer, part)));
      return isCached ? joinRows(found, blocks) : found[found.length - 1];
    };
    const next = (isCached ? cachedDecoder : fullPassDecoder)(watched, watched.encode(source));
    const steps = decode(next, this.ends, { forced: forcedIds, choose });
    const output = steps.map(({ token }) => token);
    const input = [this.ends.start, ...output.slice(0, -1)];
    const ofTarget = (ids: number[]) => ids.map((id) => this.target.tokens[id]);
    const words = source.map((id) => this.source.tokens[id]);
    const read = this.source.read(sentence);
    return {
      sentence,
      changes,
      network,
      source,
      typed: words.map((word, i) => (read[i]?.token === word ? read[i].typed : word)), // it may have been swapped
      input,
      output,
      tokens: { source: words, input: ofTarget(input), output: ofTarget(output) },
      steps,
      maps: ofKinds((kind) => network.layers.map((layer) => value(kind, layer, "weights", network.config.heads))),
      masks: ofKinds((kind) => value(kind, 0, "mask", 1)),
    };
  }

  /** Every intermediate of one full pass over a run's own tokens, or over those of its first steps. */
  record(run: Translation, isWanted: (name: string) => boolean = () => true, steps = run.input.length) {
    const { passes, watched } = recorded(run.network, isWanted);
    watched.forward(run.source, run.input.slice(0, steps));
    return new Map([...passes].map(([name, [value]]) => [name, value]));
  }

  reads(sentence: string) {
    try {
      this.sourceIds(sentence);
      return true;
    } catch {
      return false;
    }
  }

  /** The corpus's own translation of a run's sentence. */
  reference = ({ tokens }: Translation) => this.pairs.get(tokens.source.filter((token) => token !== PAD).join(" "));

  /** Padded like the sentences that the model was trained on. */
  sourceIds(sentence: string) {
    const { max_characters: most, source_length: longest, pad_source } = this.data;
    const characters = [...sentence].length;
    if (characters > most) throw refusal("error.too_long", { characters, most });
    const count = this.source.split(sentence).length;
    if (count > longest)
      throw refusal("error.too_many_words", { count, most: longest, known: this.source.someWords() });
    const ids = this.source.encode(sentence);
    return pad_source ? [...ids, ...Array(longest - ids.length).fill(0)] : ids;
  }

  private changedSource(sentence: string, changes: Change[]) {
    const source = this.sourceIds(sentence);
    const length = source.filter((id) => id !== PAD_ID).length;
    for (const change of changes) {
      if (change.do !== "swap_word") continue;
      const isWord = (word: string) => this.source.words.includes(word);
      const word = isWord(change.word) ? change.word : this.source.split(change.word)[0];
      if (change.position >= length || !isWord(word)) throw changesRefusal();
      source[change.position] = this.source.ids.get(word) as number;
    }
    return source;
  }

  private forcedIds(forced: string[], changes: Change[]) {
    const words: (string | undefined)[] = [...forced];
    for (const change of changes)
      if (change.do === "force_word") words[Math.min(change.step, this.ends.limit)] = change.word;
    const refused = changes.length ? changesRefusal : requestRefusal;
    if (words.length > this.ends.limit) throw refused();
    return Array.from(words, (word) => {
      const id = word === undefined ? undefined : this.target.ids.get(word);
      if (word !== undefined && (id === undefined || word === PAD || word === START)) throw refused();
      return id;
    });
  }
}

/** A network of which every wanted value is kept, one per pass. */
function recorded(network: Network, isWanted: (name: string) => boolean) {
  const passes = new Map<string, Float32Array[]>();
  const watched = network.watchedBy((name, value) => {
    if (isWanted(name)) passes.set(name, [...(passes.get(name) ?? []), value]);
    return value;
  });
  return { passes, watched };
}

/** Blocks (heads) of rows, each pass with the next row of every block; a row of decoder self-attention is longer by one
 * than the one before. */
function joinRows(passes: Float32Array[], blocks: number) {
  const width = passes[passes.length - 1].length / blocks;
  const joined = new Float32Array(blocks * passes.length * width);
  passes.forEach((rows, pass) => {
    for (const [block, row] of parts(rows, blocks).entries()) joined.set(row, (block * passes.length + pass) * width);
  });
  return joined;
}
