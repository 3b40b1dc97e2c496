"""What contributes to an output token: measures of one run, with its interventions. None is what removing something
would do: `faithfulness` compares them with that.

S source, T target, L decoder layers, H heads, D model width, V target vocabulary.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..data.corpus import batches_by_length, padded
from ..inference.attention_maps import AttentionMap
from ..inference.decoding import evaluating
from ..inference.translation import Translation
from ..inference.translator import Translator, read_only
from ..inference.value_weighted import READ, ValueWeighted, recorded_norms, to_maps
from ..network.int8 import check_float32
from ..network.masks import causal_mask, padding_mask
from ..network.model import Transformer
from ..network.probe import Recorder, apply_probe, chain, scoped
from .sublayer import ids, record

IG_STEPS, MAX_IG_STEPS, COMPLETE = 50, 400, 0.01
DIVIDED = 3  # steps at a time
STALLED = 2 / 3  # of what all steps missed is left after there are twice as many
MAX_TENSOR = 2**23  # numbers in the widest tensor of every layer; a backward pass keeps some ten of that size


def value_weighted(translator: Translator, run: Translation) -> ValueWeighted:
    """`run.value_weighted` of a run that was made without it, by a full pass."""
    norms = recorded_norms(translator.checkpoint.model, record(translator, run, lambda name: name.endswith(READ)))
    return to_maps({kind: [read_only(each[:, 0]) for each in parts] for kind, parts in norms.items()}, run.attention)


@dataclass(frozen=True, eq=False)
class LogitLens:
    """The token that would come out if a decoder layer were the last (nostalgebraist 2020, "interpreting GPT: the logit
    lens"). Only the last was trained to be read there; in a post-norm network the others need not even be on its scale.
    """

    tokens: tuple[tuple[str, ...], ...]  # the likeliest, [layer][step]
    probabilities: np.ndarray  # (L, T), of that token
    output_probabilities: np.ndarray  # (L, T), of the run's own token
    output_ranks: np.ndarray  # (L, T), from 1, the likeliest
    agreement: np.ndarray  # (L,), share of steps at which the layer's token is the run's


def logit_lens(translator: Translator, run: Translation) -> LogitLens:
    """Read every decoder layer's output x by the output projection, after the decoder's final norm if there is one:
    softmax(norm(x) Wᵀ + b). The probabilities (T, V) of one layer are in memory at a time."""
    if not _looks_ahead(run):
        return _lens(translator, run, _streams(translator, run))
    passes = [_streams(translator, run, step + 1) for step in range(len(run.output))]  # each step's own inputs only
    return _lens(translator, run, [torch.cat([rows[-1:] for rows in each]) for each in zip(*passes, strict=True)])


def logit_lenses(translator: Translator, runs: Sequence[Translation], batch_size: int = 32) -> list[LogitLens]:
    """The `logit_lens` of each run; those without interventions pass the network in padded batches."""
    lenses = {i: logit_lens(translator, run) for i, run in enumerate(runs) if run.interventions.changes}
    plain, model = [i for i in range(len(runs)) if i not in lenses], translator.checkpoint.model
    for places in batches_by_length([len(runs[i].output) for i in plain], batch_size):
        batch = [plain[place] for place in places]
        recorder, sides = Recorder(_leaves_layer(model)), zip(*(ids(translator, runs[i]) for i in batch), strict=True)
        src, tgt = (padded([each[0].tolist() for each in side]).to(translator.device) for side in sides)
        with evaluating(model):
            model(src, tgt, need_weights=False, probe=recorder)
        for row, i in enumerate(batch):
            layers = [value[row, : len(runs[i].output)] for (value,) in recorder.values.values()]
            lenses[i] = _lens(translator, runs[i], layers)
    return [lenses[i] for i in range(len(runs))]


def _leaves_layer(model: Transformer) -> Callable[[str], bool]:
    """Whether a probe's name is that of a decoder layer's output."""
    left = "sum3" if model.config.norm_first else "norm3"
    return lambda name: name.startswith("decoder") and name.endswith(left)


def _streams(translator: Translator, run: Translation, steps: int | None = None) -> list[Tensor]:
    """Each decoder layer's output, (T, D)."""
    return [value[0] for value in record(translator, run, _leaves_layer(translator.checkpoint.model), steps).values()]


def _lens(translator: Translator, run: Translation, layers: list[Tensor]) -> LogitLens:
    model, vocab = translator.checkpoint.model, translator.checkpoint.tgt_vocab
    output = torch.tensor([[vocab.ids[token]] for token in run.output], device=translator.device)  # (T, 1)
    found = []
    for stream in layers:
        with evaluating(model):
            probabilities = model.output_projection(model.decoder.norm(stream)).softmax(dim=-1)  # (T, V)
        own = probabilities.gather(1, output)
        found.append([*probabilities.max(dim=-1), own[:, 0], 1 + (probabilities > own).sum(dim=-1)])
    highest, best, owns, ranks = (torch.stack(each).cpu() for each in zip(*found, strict=True))  # (L, T) each
    tokens = tuple(tuple(vocab.tokens[i] for i in row) for row in best.tolist())
    agreement = np.equal(np.array(tokens), np.array(run.output)).mean(axis=1)
    return LogitLens(tokens, read_only(highest), read_only(owns), ranks.numpy(), agreement)


def _looks_ahead(run: Translation) -> bool:
    """Whether the decoder's mask was opened, so that in a full pass a step reads inputs that came later."""
    return bool(np.triu(run.attention.decoder[0].allowed, 1).any())


@dataclass(frozen=True, eq=False)
class DirectEffects:
    """What the parts of the last decoder layer add to each step's logit of the output token, perhaps minus another's:
    direct logit attribution (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").

    A part counts for what it adds to the residual stream, on the straight way to the logit. With every σ fixed at this
    run's a LayerNorm is linear, so the parts add up to the logit, up to rounding; without a part σ and what later
    sublayers read would differ.
    """

    self_attention: np.ndarray  # (T, H)
    cross_attention: np.ndarray  # (T, H)
    feed_forward: np.ndarray  # (T,)
    residual: np.ndarray  # (T,), the layer's input: of all layers below
    biases: np.ndarray  # (T,), all of the layer, its norms and the projection
    logit: np.ndarray  # (T,), as the network computes it

    @property
    def total(self) -> np.ndarray:
        """The sum of the parts, (T,)."""
        heads = self.self_attention.sum(axis=1) + self.cross_attention.sum(axis=1)
        return heads + self.feed_forward + self.residual + self.biases


@torch.inference_mode(False)  # gradients
def direct_effects(translator: Translator, run: Translation, other: str | None = None) -> DirectEffects:
    """Each part times the gradient of the logit, c · ∂logit/∂c, which no part and no σ passes on.

    Args:
        other: a token whose logit is subtracted at every step.

    Raises:
        ValueError: this model cannot output `other`, its weights are int8, which have no gradients, or the decoder's
            mask was opened.
    """
    if _looks_ahead(run):
        raise ValueError("The decoder's mask was opened: a full pass would read more than each step did.")
    model, explained = translator.checkpoint.model, _explained(translator, run, other)
    last, layer = f"decoder.{model.config.num_decoder_layers - 1}.", model.decoder.layers[-1]
    changed = translator.probe(run.interventions)
    parts = ("self_attention.head_output", "cross_attention.head_output", "feed_forward.hidden", "residual1")
    norms = {} if model.config.norm_first else {f"{last}norm{n}": getattr(layer, f"norm{n}") for n in (1, 2, 3)}
    norms |= {"decoder.output": model.decoder.norm} if isinstance(model.decoder.norm, nn.LayerNorm) else {}
    sigmas: dict[str, Tensor] = {}

    def linear(scale: float) -> tuple[Tensor, list[Tensor]]:
        """The logits where every part is scaled, (T,), and the parts; the first call fixes every σ."""
        leaves: dict[str, Tensor] = {}
        stream = torch.empty(0)

        def probe(name: str, value: Tensor) -> Tensor:
            nonlocal stream
            if name.removeprefix(last) in parts:
                value = leaves[name.removeprefix(last)] = (value.detach() * scale).requires_grad_()
            if norm := norms.get(name):
                variance = stream.detach().var(dim=-1, correction=0, keepdim=True)
                sigma = sigmas.setdefault(name, (variance + norm.eps).sqrt())
                value = (stream - stream.mean(dim=-1, keepdim=True)) / sigma * norm.weight + norm.bias
            if name in norms or name.startswith(f"{last}sum"):
                stream = value
            return value

        both = probe if changed is None else chain(changed, probe)
        logits = model(*ids(translator, run), need_weights=False, probe=both).logits
        return explained(logits)[0], [leaves[part] for part in parts]

    with evaluating(model), torch.enable_grad():
        logit, leaves = linear(1)
        gradients = torch.autograd.grad(logit.sum(), leaves, allow_unused=True, materialize_grads=True)
        effects = [(leaf * each)[0].sum(dim=-1) for leaf, each in zip(leaves, gradients, strict=True)]
        own, cross, feed_forward, residual = effects  # (H, T) each, and (T,)
        found = (own.T, cross.T, feed_forward, residual, linear(0)[0], logit)
    return DirectEffects(*(read_only(each.detach()) for each in found))


def _explained(translator: Translator, run: Translation, other: str | None, step: int | None = None) -> Callable:
    """Takes of the logits of all steps, (N, T, V), or of one, (N, 1, V), that of each step's output token, minus that
    of the other token: (N, T) or (N, 1)."""
    model, vocab = translator.checkpoint.model, translator.checkpoint.tgt_vocab
    check_float32(model)
    bias = model.output_projection.bias
    if other is not None and (other not in vocab.ids or (bias is not None and bias[vocab.ids[other]] == -math.inf)):
        raise ValueError(f"{other[:40]!r} is not a word that this model can output.")
    output = torch.tensor([vocab.ids[token] for token in run.output], device=translator.device)
    output = output if step is None else output[step : step + 1]

    def explained(logits: Tensor) -> Tensor:
        own = logits[:, range(len(output)), output]
        return own if other is None else own - logits[..., vocab.ids[other]]

    return explained


@dataclass(frozen=True, eq=False)
class Attribution:
    """What each input token adds to the logit of one step's output token, perhaps minus another's."""

    source: np.ndarray  # (S,)
    target: np.ndarray  # (step + 1,), of the decoder inputs so far
    logit: float
    baseline: float  # the same where all embeddings are 0 and only the positions are left

    @property
    def total(self) -> float:
        """The sum over all tokens; that of integrated gradients should be complete, logit - baseline."""
        return float(self.source.sum() + self.target.sum())


@torch.inference_mode(False)  # gradients
def gradient_times_input(translator: Translator, run: Translation, step: int, other: str | None = None) -> Attribution:
    """Gradient × input (Shrikumar et al. 2016, "Not Just a Black Box", arXiv 1605.01713, §2): over the dimensions of a
    token's embedding, without its position, the sum of embedding · gradient.

    Args:
        step: of which the logit is explained, from 0.
        other: a token whose logit is subtracted.

    Raises:
        ValueError: there is no such step; or as `direct_effects`.
    """
    logits, slopes = _line(translator, run, step, other)(np.array([0.0, 1.0]))
    return _attribution(run, logits, slopes[1])


@torch.inference_mode(False)  # gradients
def integrated_gradients(
    translator: Translator,
    run: Translation,
    step: int,
    other: str | None = None,
    between: Callable[[], object] = lambda: None,
) -> Attribution:
    """Integrated gradients (Sundararajan et al. 2017, "Axiomatic Attribution for Deep Networks", §3 and §5), with the
    arguments of `gradient_times_input`: Σ_d x_d ∫₀¹ ∂F(αx)/∂x_d dα of a token's embedding x. `between` is called
    between the parts of the work, and may raise to cancel it.

    The gradient is the mean on the line from embeddings of 0, source and target together, in IG_STEPS equal steps, of
    each the mean of its ends. It jumps where a ReLU opens; what a step misses there is known, because the logits at its
    ends are: so the DIVIDED steps that miss most are cut in three until `total` is within 1 % of logit - baseline, or
    there are MAX_IG_STEPS. The toy needs 50 steps, and the classroom more for every second word. A random network of a
    real one's size needs more than any number of them: where they miss more than there is to explain, and twice as many
    still more than STALLED of what each missed, they are the last.
    """
    line = _line(translator, run, step, other, between)
    shares = np.linspace(0, 1, IG_STEPS + 1)
    logits, slopes = line(shares)
    counted, before = IG_STEPS / 2, math.inf
    while True:
        widths, means = np.diff(shares), (slopes[1:] + slopes[:-1]) / 2
        missing = np.diff(logits) - widths * means.sum(axis=1)
        gap, whole = abs(missing.sum()), abs(logits[-1] - logits[0])
        complete, stalled = gap <= COMPLETE * whole, False
        if len(widths) >= 2 * counted:
            left = abs(missing).sum()
            stalled, counted, before = gap > whole and left > STALLED * before, len(widths), left
        if complete or stalled or len(widths) >= MAX_IG_STEPS:
            return _attribution(run, logits, widths @ means)
        worst = np.argsort(-abs(missing))[:DIVIDED]
        more = np.concatenate([shares[worst] + widths[worst] * part for part in (1 / 3, 2 / 3)])
        places, found = np.searchsorted(shares, more), (more, *line(more))
        shares, logits, slopes = (
            np.insert(old, places, new, axis=0) for old, new in zip((shares, logits, slopes), found, strict=True)
        )


def _attribution(run: Translation, logits: np.ndarray, added: np.ndarray) -> Attribution:
    source, target = torch.tensor(added).split([len(run.source), len(added) - len(run.source)])
    return Attribution(read_only(source), read_only(target), float(logits[-1]), float(logits[0]))


def _line(
    translator: Translator, run: Translation, step: int, other: str | None, between: Callable[[], object] = lambda: None
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Takes shares of all embeddings, (N,), to the logits, (N,), and to what each token adds to their slopes, its
    embedding · gradient, (N, S + step + 1)."""
    if not 0 <= step < len(run.output):
        raise ValueError(f"The steps of this run are 0 to {len(run.output) - 1}.")
    explained, model = _explained(translator, run, other, step), translator.checkpoint.model
    config, (src, tgt), changed = model.config, ids(translator, run), translator.probe(run.interventions)
    tgt = tgt[:, : step + 1]
    embedded = model.src_embedding(src).detach(), model.tgt_embedding(tgt).detach()
    projection = model.output_projection  # of which a logit, or a difference of two, needs one column
    column = explained(projection.weight.detach().t()[:, None])  # (D, 1)
    bias = 0 if projection.bias is None else explained(projection.bias.detach()[None, None])
    whole = [each * config.embedding_scale for each in embedded]  # (1, S, D) and (1, step + 1, D)
    lengths = {"encoder": src.size(1), "decoder": step + 1}
    positions = [apply_probe(changed, f"{stack}.positions", model.positions[:n]) for stack, n in lengths.items()]
    words: Tensor | None = padding_mask(src, config.pad_id)
    kept = torch.arange(src.size(1), device=src.device)
    if changed is None:  # nothing reads padding: without it attention needs no mask, which would take time
        words, kept = None, kept[src[0] != config.pad_id]
    past = padding_mask(tgt, config.pad_id) & causal_mask(step + 1, device=tgt.device)
    longest, layers = max(lengths.values()), config.num_encoder_layers + 2 * config.num_decoder_layers
    size = max(2, MAX_TENSOR // (layers * longest * max(config.n_heads * longest, config.d_ff)))

    def logit(source: Tensor, target: Tensor) -> Tensor:
        """The step's logit, (N,). No probe puts the embeddings in: attention is fused only where there is none."""
        memory, _ = model.encoder((source + positions[0])[:, kept], words, False, scoped(changed, "encoder"))
        stream, *_ = model.decoder(target + positions[1], memory, past, words, False, scoped(changed, "decoder"))
        return (stream[:, -1] @ column + bias)[:, 0]

    def line(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, slopes = [], []
        with evaluating(model), torch.enable_grad():
            for part in whole[0].new_tensor(shares).split(size):
                between()
                inputs = [(each * part[:, None, None]).requires_grad_() for each in whole]
                logits.append(logit(*inputs))
                gradients = torch.autograd.grad(logits[-1].sum(), inputs)
                added = [(each * gradient).sum(dim=-1) for each, gradient in zip(whole, gradients, strict=True)]
                slopes.append(torch.cat(added, dim=1))
        found = [torch.cat(parts).detach().cpu().double().numpy() for parts in (logits, slopes)]
        return found[0], found[1]

    return line


class Rollout(NamedTuple):
    """How much of each input token attention passes on through all layers; the weights of a row sum to 1."""

    encoder: np.ndarray  # (S, S), from the encoder's outputs to the source tokens
    source: np.ndarray  # (T, S), from each step to the source tokens
    target: np.ndarray  # (T, T), from each step to the decoder inputs


def attention_rollout(run: Translation) -> Rollout:
    """Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers" (arXiv 2005.00928), §3: in each sublayer a
    half of a token comes from its residual connection, the other from what the mean of the heads attends to:
    R_l = (½ I + ½ mean_h A_h) R_(l-1). The paper has an encoder only; here cross-attention passes on the encoder's
    rollout. An ablated head still attends."""
    s, t = len(run.source), len(run.decoder_input)
    encoder = np.eye(s)
    for m in run.attention.encoder:
        encoder = _rolled(m, encoder, encoder)
    decoder, memory = np.eye(t, s + t, s), np.concatenate([encoder, np.zeros((s, t))], axis=1)  # source, then target
    for own, cross in zip(run.attention.decoder, run.attention.cross, strict=True):
        decoder = _rolled(own, decoder, decoder)
        decoder = _rolled(cross, decoder, memory)
    return Rollout(encoder, decoder[:, :s], decoder[:, s:])


def _rolled(m: AttentionMap, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Half of the queries' rows, half of the keys' that they attend to; all, where a query may attend to no key."""
    mean = m.weights.astype(np.float64).mean(axis=0)  # (Q, K)
    return (1 - mean.sum(axis=1, keepdims=True) / 2) * queries + mean @ keys / 2
