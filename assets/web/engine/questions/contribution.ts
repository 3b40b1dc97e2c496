// What contributes to a word: heads that are ablated, the logit lens, and source words that are masked.
// transformer/analysis/head_ablation.py, contribution.py and word_removal.py.

import type { HeadAblation, Lens, Sweep, Why } from "#schema";
import type { Kind } from "../../api/types.ts";
import { cachedDecoder, decode, mostLikely } from "../decoding.ts";
import { LOCATIONS, probeName, withoutHeads } from "../interventions.ts";
import { type Encoded, logSoftmax, type Network, type Probe, range, softmax, startCache } from "../network.ts";
import { Tape } from "../tape.ts";
import { SLACK, type Translation, type Translator } from "../translator.ts";
import { PAD } from "../vocabulary.ts";
import { looksAhead, there } from "./sublayers.ts";

/** The network without a head, whose output becomes zero before W_O (§3.2.2). */
function without({ network }: Translator, kind: Kind, layer: number, head: number) {
  const place = probeName(kind, layer, "head_output");
  return network.watchedBy((name, value, width) =>
    name === place ? withoutHeads(value, width, network.headDim, (each) => each === head) : value,
  );
}

/** The probability of a whole output, token by token, by teacher forcing. */
function probabilityOf({ ends }: Translator, network: Network, encoded: Encoded, output: number[]) {
  const logits = network.logits(network.decode([ends.start, ...output.slice(0, -1)], encoded, startCache()));
  const size = logits.length / output.length;
  return Math.exp(output.reduce((sum, id, t) => sum + logSoftmax(logits.subarray(t * size, (t + 1) * size))[id], 0));
}

/** A run without each head of cross-attention. */
export function crossAblations(translator: Translator, run: Translation): HeadAblation[] {
  const { network, ends, target } = translator;
  const { n_heads, num_decoder_layers } = network.config;
  const encoded = network.encode(run.source);
  return range(num_decoder_layers * n_heads).map((at) => {
    const [layer, head] = [Math.floor(at / n_heads), at % n_heads];
    const size = run.maps.cross[layer].length / n_heads;
    const map = run.maps.cross[layer].subarray(head * size, (head + 1) * size);
    const highest = mostLikely(map);
    const ablated = without(translator, "cross", layer, head);
    const limit = run.output.length + SLACK;
    const output = decode(cachedDecoder(ablated, encoded), { ...ends, limit }).map(({ token }) => token);
    return {
      layer,
      head,
      weight: map[highest],
      query: Math.floor(highest / run.source.length),
      key: highest % run.source.length,
      probability: probabilityOf(translator, ablated, encoded, run.output),
      text: target.decode(output),
    };
  });
}

/** What the loss of each head costs of the probability of a sentence's translation in the corpus or, where it has none,
 * of the run's own output. */
export function sweep(translator: Translator, run: Translation): Sweep {
  const { network, target, ends } = translator;
  const pair = translator.reference(run);
  const output = pair ? [...target.encode(pair.target), ends.end] : run.output;
  const plain = network.encode(run.source);
  const baseline = probabilityOf(translator, network, plain, output);
  const dropOf = (kind: Kind) =>
    range(network.layers(LOCATIONS[kind].stack)).map((layer) =>
      range(network.config.n_heads).map((head) => {
        const ablated = without(translator, kind, layer, head);
        const encoded = kind === "encoder" ? ablated.encode(run.source) : plain;
        return baseline - probabilityOf(translator, ablated, encoded, output);
      }),
    );
  const drop = { encoder: dropOf("encoder"), decoder: dropOf("decoder"), cross: dropOf("cross") };
  return { sentences: 1, baseline, reference: pair?.target ?? target.decode(run.output), drop };
}

/** The token that each decoder layer would output if it were the last: the logit lens. */
export function lens(translator: Translator, run: Translation): Lens {
  const { network, target } = translator;
  const { d_model: width, num_decoder_layers } = network.config;
  const isStream = (name: string) => name.startsWith("decoder") && name.endsWith("norm3");
  // Where the mask was opened, each step had read its own inputs only.
  const isOpen = looksAhead(run);
  const passes = run.output.map((_, t) => (isOpen ? translator.record(run, isStream, t + 1) : undefined));
  const whole = isOpen ? undefined : translator.record(run, isStream);
  const highest = range(num_decoder_layers).map((layer) =>
    run.output.map((_, t) => {
      const rows = there((whole ?? there(passes[t])).get(`decoder.${layer}.norm3`));
      const probabilities = softmax(network.logits(rows.subarray(t * width, (t + 1) * width)));
      const id = mostLikely(probabilities);
      return { token: target.tokens[id], probability: probabilities[id] };
    }),
  );
  return {
    tokens: highest.map((steps) => steps.map(({ token }) => token)),
    probabilities: highest.map((steps) => steps.map(({ probability }) => probability)),
  };
}

/** What each source word has to do with a step's output token, or with its lead over another one: attribution,
 * attention, and the effect of masking it. */
export function why(translator: Translator, run: Translation, step: number, other: number | null): Why {
  const { network } = translator;
  const { source, maps } = run;
  const keys = range(source.length).filter((key) => translator.source.tokens[source[key]] !== PAD);
  const input = run.input.slice(0, step + 1);
  const token = there(run.output[step]);
  const encoded = network.watchedBy(run.probe).encode(source);
  const scoreWithout = (hidden: number) => {
    const probe: Probe = (name, value, columns) => {
      const changed = run.probe ? run.probe(name, value, columns) : value;
      const isMask = name.endsWith("cross_attention.mask");
      return isMask ? changed.map((open, at) => (at % columns === hidden ? 0 : open)) : changed;
    };
    const x = network.watchedBy(probe).decode(input, encoded, startCache());
    const logits = network.logits(x.slice(-network.config.d_model));
    return other === null ? Math.exp(logSoftmax(logits)[token]) : logits[token] - logits[other];
  };
  const weightOn = (key: number) => {
    const rows = maps.cross.flatMap((map) => {
      const size = map.length / network.config.n_heads;
      return range(network.config.n_heads).map((head) => map[head * size + step * source.length + key]);
    });
    return rows.reduce((sum, weight) => sum + weight) / rows.length;
  };
  const found = integratedGradients(translator, run, step, other);
  return {
    keys,
    attribution: keys.map((key) => found.source[key]),
    complete: found.complete,
    attention: keys.map(weightOn),
    score: scoreWithout(-1),
    without: keys.map(scoreWithout),
  };
}

const IG_STEPS = 50;

/**
 * Integrated gradients (Sundararajan et al. 2017, §3 and §5): what each source token adds to the logit of a step's output
 * token, perhaps minus another's, and which share of the whole all tokens together explain. The gradient is the mean on
 * the line from embeddings of 0, at the midpoints of IG_STEPS parts.
 */
function integratedGradients({ network }: Translator, run: Translation, step: number, other: number | null) {
  const { d_model: width, tgt_vocab_size } = network.config;
  const input = run.input.slice(0, step + 1);
  const explained = new Float32Array(input.length * tgt_vocab_size);
  explained[step * tgt_vocab_size + run.output[step]] += 1;
  if (other !== null) explained[step * tgt_vocab_size + other] -= 1;
  const pass = (share: number) => {
    const [tape, embedded] = [new Tape(), {} as Record<string, Float32Array>];
    const probe: Probe = (name, value, columns) => {
      const changed = run.probe?.(name, value, columns) ?? value;
      if (!name.endsWith(".embedding")) return changed;
      embedded[name] ??= changed.map((each) => each * share);
      return embedded[name];
    };
    const logits = network.watchedBy(probe, tape).forward(run.source, input);
    const logit = logits.reduce((sum, each, at) => sum + each * explained[at], 0);
    return { tape, logits, logit, inputs: [embedded["encoder.embedding"], embedded["decoder.embedding"]] };
  };
  const whole = pass(1);
  const added = [run.source, input].map((ids) => new Float64Array(ids.length)); // by each token of both sides
  for (let i = 0; i < IG_STEPS; i++) {
    const { tape, logits, inputs } = pass((i + 0.5) / IG_STEPS);
    const gradients = tape.gradients(logits, explained);
    inputs.forEach((each, side) => {
      there(gradients.get(each)).forEach((gradient, at) => {
        added[side][Math.floor(at / width)] += (gradient * whole.inputs[side][at]) / IG_STEPS;
      });
    });
  }
  const total = added.flatMap((each) => [...each]).reduce((sum, each) => sum + each, 0);
  const difference = whole.logit - pass(0).logit;
  return { source: added[0], complete: difference ? total / difference : 1 };
}
