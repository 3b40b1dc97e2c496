// What contributes to a word: heads that are ablated, the logit lens, and source words that are masked.
// transformer/analysis/head_ablation.py and contribution.py.

import type * as Wire from "#schema";
import type { Kind } from "../../api/types.ts";
import { argmax, dot, parts, range, softmax, sum } from "../arrays.ts";
import { cachedDecoder, decode } from "../decoding.ts";
import { changedNetwork, ofKinds } from "../interventions.ts";
import type { Encoded, Network, Probe } from "../network.ts";
import { there } from "../refusal.ts";
import { Tape } from "../tape.ts";
import { looksAhead, SLACK, type Translation, type Translator } from "../translator.ts";
import { PAD_ID } from "../vocabulary.ts";

const without = ({ network, ends }: Translator, kind: Kind, layer: number, head: number) =>
  changedNetwork(network, [{ do: "ablate", kind, layer, head }], ends.limit);

/** The probability of a whole output, token by token, by teacher forcing. */
function probabilityOf({ ends }: Translator, network: Network, encoded: Encoded, output: number[]) {
  const logits = network.logits(network.decode([ends.start, ...output.slice(0, -1)], encoded));
  return parts(logits, output.length).reduce((all, row, t) => all * softmax(row)[output[t]], 1);
}

/** The scores of every head on the held-out set, and a run without each head of cross-attention. */
export function heads(translator: Translator, run: Translation): Wire.Heads {
  const { data, network, ends, target } = translator;
  const encoded = network.encode(run.source);
  const limit = run.output.length + SLACK;
  const ablations = run.maps.cross.flatMap((maps, layer) =>
    parts(maps, network.config.heads).map((map, head) => {
      const ablated = without(translator, "cross", layer, head);
      const steps = decode(cachedDecoder(ablated, encoded), { ...ends, limit });
      const highest = argmax(map);
      return {
        ...{ layer, head, weight: map[highest] },
        query: Math.floor(highest / run.source.length),
        key: highest % run.source.length,
        probability: probabilityOf(translator, ablated, encoded, run.output),
        text: target.decode(steps.map(({ token }) => token)),
      };
    }),
  );
  return { held_out: data.held_out_scores, ablations };
}

/** What the loss of each head costs of the probability of a sentence's translation in the corpus or, where it has none,
 * of the run's own output. */
export function sweep(translator: Translator, run: Translation): Wire.Sweep {
  const { network, target, ends } = translator;
  const pair = translator.reference(run);
  const output = pair ? [...target.encode(pair.target), ends.end] : run.output;
  const plain = network.encode(run.source);
  const baseline = probabilityOf(translator, network, plain, output);
  const drop = ofKinds((kind) =>
    network.layers.map((layer) =>
      range(network.config.heads).map((head) => {
        const ablated = without(translator, kind, layer, head);
        const encoded = kind === "encoder" ? ablated.encode(run.source) : plain;
        return baseline - probabilityOf(translator, ablated, encoded, output);
      }),
    ),
  );
  return { sentences: 1, baseline, reference: pair?.target ?? target.decode(run.output), drop };
}

/** The token that each decoder layer would output if it were the last: the logit lens. */
export function lens(translator: Translator, run: Translation): Wire.Lens {
  const { network, target } = translator;
  const steps = range(run.output.length);
  const record = (count: number) => translator.record(run, (name) => /^decoder.*\.norm3$/.test(name), count);
  const whole = record(steps.length);
  // Where the mask was opened, each step had read its own inputs only.
  const passes = steps.map((t) => (looksAhead(run) ? record(t + 1) : whole));
  const distributions = network.layers.map((layer) =>
    steps.map((t) => {
      const rows = there(passes[t].get(`decoder.${layer}.norm3`));
      const { d_model: width } = network.config;
      return softmax(network.logits(rows.subarray(t * width, (t + 1) * width)));
    }),
  );
  return {
    tokens: distributions.map((steps) => steps.map((each) => target.tokens[argmax(each)])),
    probabilities: distributions.map((steps) => steps.map((each) => Math.max(...each))),
  };
}

/** What each source word has to do with a step's output token, or with its lead over another one: attribution,
 * attention, and the effect of masking it. */
export function why(translator: Translator, run: Translation, request: Wire.WhyRequest): Wire.Why {
  const { target } = translator;
  const { source, maps, network } = run;
  const { step } = request;
  const other = request.other ? there(target.ids.get(request.other)) : null;
  const input = run.input.slice(0, step + 1);
  const token = there(run.output[step]);
  const encoded = network.encode(source);
  const scoreWithout = (hidden: number) => {
    const watched = network.watchedBy((name, value, columns) => {
      const isMask = name.endsWith("cross_attention.mask");
      return isMask ? value.map((open, at) => (at % columns === hidden ? 0 : open)) : value;
    });
    const logits = network.logits(watched.decode(input, encoded).slice(-network.config.d_model));
    return other === null ? softmax(logits)[token] : logits[token] - logits[other];
  };
  const rows = maps.cross
    .flatMap((map) => parts(map, network.config.heads))
    .map((map) => map.subarray(step * source.length));
  const attention = range(source.length).map((key) => sum(rows.map((row) => row[key])) / rows.length);
  const keys = range(source.length).filter((key) => source[key] !== PAD_ID || attention[key] > 0);
  const { attribution, complete } = integratedGradients(run, step, other);
  return {
    keys,
    attribution: keys.map((key) => attribution[key]),
    complete,
    attention: keys.map((key) => attention[key]),
    score: scoreWithout(-1),
    without: keys.map(scoreWithout),
  };
}

const [IG_STEPS, MAX_IG_STEPS, COMPLETE, DIVIDED] = [50, 400, 0.01, 3];

/**
 * Integrated gradients (Sundararajan et al. 2017, §3 and §5): what each source token adds to the logit of a step's output
 * token, perhaps minus another's, and which share of the whole all tokens together explain. The gradient is the mean on
 * the line from embeddings of 0 in IG_STEPS steps, of each the mean of its ends. The steps that miss most of what the
 * logit gains there are cut in three until the share is within 1 % of 1. The server also ends where cutting does not
 * help, as in random networks, which are not here.
 */
function integratedGradients(run: Translation, step: number, other: number | null) {
  const { d_model: width, target_words } = run.network.config;
  const input = run.input.slice(0, step + 1);
  const explained = new Float32Array(input.length * target_words);
  explained[step * target_words + run.output[step]] += 1;
  if (other !== null) explained[step * target_words + other] -= 1;
  const whole: Record<string, Float32Array> = {}; // embeddings

  /** The logit at a share of all embeddings, and what each token, of the source and then of the target, adds to its
   * slope there: its embedding · gradient. */
  const point = (share: number) => {
    const [tape, scaled] = [new Tape(), {} as Record<string, Float32Array>];
    const scale: Probe = (name, value) => {
      if (!name.endsWith(".embedding")) return value;
      whole[name] ??= value;
      scaled[name] ??= value.map((each) => each * share); // once: a gradient passes here, too
      return scaled[name];
    };
    const logits = run.network.watchedBy(scale, tape).forward(run.source, input);
    const gradients = tape.gradients(logits, explained);
    const slopes = ["encoder.embedding", "decoder.embedding"].flatMap((name) => {
      const products = there(gradients.get(scaled[name])).map((each, i) => each * whole[name][i]);
      return parts(products, products.length / width).map(sum);
    });
    return { share, logit: dot(logits, explained), slopes };
  };

  const stepsOf = (points: ReturnType<typeof point>[]) =>
    points.slice(1).map((end, i) => {
      const start = points[i];
      const added = end.slopes.map((slope, token) => ((start.slopes[token] + slope) / 2) * (end.share - start.share));
      return { start, end, added, missing: end.logit - start.logit - sum(added) };
    });

  const line = range(IG_STEPS + 1).map((i) => point(i / IG_STEPS));
  const difference = line[IG_STEPS].logit - line[0].logit;
  let steps = stepsOf(line);
  for (;;) {
    const missing = sum(steps.map((step) => step.missing));
    if (Math.abs(missing) <= COMPLETE * Math.abs(difference) || steps.length >= MAX_IG_STEPS) {
      const attribution = run.source.map((_, token) => sum(steps.map(({ added }) => added[token])));
      return { attribution, complete: difference ? 1 - missing / difference : 1 };
    }
    steps.sort((a, b) => Math.abs(b.missing) - Math.abs(a.missing));
    const cut = steps.slice(0, DIVIDED).flatMap(({ start, end }) => {
      const between = [1 / 3, 2 / 3].map((part) => point(start.share + (end.share - start.share) * part));
      return stepsOf([start, ...between, end]);
    });
    steps = [...steps.slice(DIVIDED), ...cut];
  }
}
