"""What contributes to an output token: measures of one run, each with its paper.

None of them is the effect of removing something: `faithfulness` measures how well they agree with that.

S source, T target, L layers, H heads, D model width, d one head's width, V target vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..data.vocabulary import PAD, START
from ..inference.attention_maps import AttentionMap
from ..inference.decoding import evaluating
from ..inference.translator import Translation, Translator, read_only
from ..inference.value_weighted import ValueWeighted, is_recorded, recorded_norms, to_maps
from ..network.int8 import check_float32
from ..network.layers import DecoderLayer
from ..network.probe import chain
from .sublayer import ids, record

IG_STEPS = 50
MAX_TENSOR = 2**24  # numbers, 64 MiB, of what the backward pass needs of all layers


def value_weighted(translator: Translator, run: Translation) -> ValueWeighted:
    """What `run.value_weighted` is, of a run that was made without it, from one full pass."""
    norms = recorded_norms(translator.checkpoint.model, record(translator, run, is_recorded))
    return to_maps({kind: [read_only(each[:, 0]) for each in parts] for kind, parts in norms.items()}, run.attention)


@dataclass(frozen=True, eq=False)
class LogitLens:
    """The token that would come out if a decoder layer were the last, at every step.

    nostalgebraist (2020), "interpreting GPT: the logit lens": the output projection, after the decoder's final norm if
    it has one, reads the layer's output. Only the last layer was trained to be read there, and in a post-norm network
    nothing keeps the others on its scale.

    Attributes:
        tokens: the most likely token of each layer and step, [layer][step].
        probabilities: (L, T), of that token.
        output_probabilities, output_ranks: (L, T), of the run's own output token; a rank of 1 is the most likely.
        agreement: (L,), the share of steps at which the layer's token is the run's.
    """

    tokens: tuple[tuple[str, ...], ...]
    probabilities: np.ndarray
    output_probabilities: np.ndarray
    output_ranks: np.ndarray
    agreement: np.ndarray


def logit_lens(translator: Translator, run: Translation) -> LogitLens:
    """Read every decoder layer of a run as if it were the last; one layer's logits (T, V) are in memory at a time."""
    model, vocab = translator.checkpoint.model, translator.checkpoint.tgt_vocab
    left = "sum3" if model.config.norm_first else "norm3"
    streams = record(translator, run, lambda name: name.startswith("decoder") and name.endswith(left))
    output = torch.tensor([vocab.ids[token] for token in run.output], device=translator.device)
    tokens, rows = [], []
    for stream in streams.values():
        with evaluating(model):
            probabilities = model.output_projection(model.decoder.norm(stream[0])).softmax(dim=-1)  # (T, V)
        highest, best = probabilities.max(dim=-1)
        of_output = probabilities.gather(1, output[:, None])  # (T, 1)
        tokens.append(tuple(vocab.tokens[i] for i in best.tolist()))
        rows.append(torch.stack([highest, of_output[:, 0], 1 + (probabilities > of_output).sum(dim=-1)]))
    first, second, ranks = read_only(torch.stack(rows, dim=1))  # (L, T) each
    agreement = np.array([[token == own for token, own in zip(row, run.output, strict=True)] for row in tokens])
    return LogitLens(tuple(tokens), first, second, ranks.astype(int), agreement.mean(axis=1))


@dataclass(frozen=True, eq=False)
class DirectEffects:
    """What the parts of the last decoder layer add to the logit of each step's output token, or to its difference from
    another token's.

    Elhage et al. (2021), "A Mathematical Framework for Transformer Circuits", §"Logits and the residual stream": the
    output projection is linear, so what adds up to its input adds up to a logit. A LayerNorm on the way is linear once
    its σ is this run's. So the parts sum to the logit, up to rounding. That is not what removing a part does: the norms
    and the feed-forward network would then read something else.

    Attributes:
        self_attention, cross_attention: (T, H), of each head.
        feed_forward: (T,), of the feed-forward network.
        residual: (T,), of the layer's input, that is of all layers below and the embedding.
        biases: (T,), of b_O, b_2, every β and the output projection's bias: constants but for the norms' σ.
        logit: (T,), as the network computed it.
    """

    self_attention: np.ndarray
    cross_attention: np.ndarray
    feed_forward: np.ndarray
    residual: np.ndarray
    biases: np.ndarray
    logit: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """The sum of all parts, (T,): `logit` up to rounding, and up to that of int8 weights."""
        heads = self.self_attention.sum(axis=1) + self.cross_attention.sum(axis=1)
        return heads + self.feed_forward + self.residual + self.biases


def direct_effects(translator: Translator, run: Translation, other: str | None = None) -> DirectEffects:
    """Follow the logit back through the last decoder layer, its norms fixed at this run's.

    Args:
        other: a token whose logit is subtracted at every step.

    Raises:
        ValueError: `other` is not a token that this model can output.
    """
    model = translator.checkpoint.model
    last, layer = f"decoder.{model.config.num_decoder_layers - 1}.", model.decoder.layers[-1]
    assert isinstance(layer, DecoderLayer)
    seen = {
        name.removeprefix(last): value[0].cpu().double()
        for name, value in record(translator, run, lambda n: n.startswith(last) or n == "logits").items()
    }
    norm_first = model.config.norm_first
    steps, output, against = torch.arange(len(run.output)), *_compared(translator, run, other)
    logit = seen["logits"][steps, output]
    toward, bias = _row(model.output_projection, output)  # what the stream's components add to the logit: (T, D)
    if against is not None:
        logit = logit - seen["logits"][:, against]
        toward, bias = (
            one - two for one, two in zip((toward, bias), _row(model.output_projection, against), strict=True)
        )
    toward, bias = _before_norm(model.decoder.norm, seen["sum3" if norm_first else "norm3"], toward, bias)
    parts: dict[str, Tensor] = {}
    sublayers = {3: layer.linear2, 2: layer.cross_attn.out_proj, 1: layer.self_attn.out_proj}
    for number, linear in sublayers.items():
        if not norm_first:
            toward, bias = _before_norm(getattr(layer, f"norm{number}"), seen[f"sum{number}"], toward, bias)
        if linear.bias is not None:
            bias = bias + toward @ linear.bias.detach().cpu().double()
        name = {3: "feed_forward.hidden", 2: "cross_attention.head_output", 1: "self_attention.head_output"}[number]
        inside = toward @ linear.weight.detach().cpu().double()  # (T, F), or (T, H d)
        values = seen[name] if number == 3 else seen[name].transpose(0, 1).flatten(1)
        heads = 1 if number == 3 else model.config.n_heads
        parts[name] = (inside * values).unflatten(1, (heads, -1)).sum(dim=-1)  # (T, H)
        residual = seen[f"residual{number}"]
        parts["residual"] = (toward * residual).sum(dim=-1)  # of the first sublayer in the end
        toward = toward * residual.any()  # an intervention may have dropped it
    feed_forward, cross, own = (parts[name] for name in parts if name != "residual")
    found = (own, cross, feed_forward[:, 0], parts["residual"], bias, logit)
    return DirectEffects(*map(read_only, found))


def _before_norm(norm: nn.Module, x: Tensor, toward: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """From what the components of LayerNorm(x) add to a logit to what those of x do, and the constant beside it."""
    if not isinstance(norm, nn.LayerNorm):
        return toward, bias
    weight, beta = norm.weight.detach().cpu().double(), norm.bias.detach().cpu().double()
    scaled = toward * weight
    sigma = (x.var(dim=-1, correction=0, keepdim=True) + norm.eps).sqrt()
    return (scaled - scaled.mean(dim=-1, keepdim=True)) / sigma, bias + toward @ beta


def _row(projection: nn.Linear, index: Tensor | int) -> tuple[Tensor, Tensor]:
    """Rows of a matrix and their biases."""
    weight = projection.weight.detach()[index].cpu().double()
    return weight, weight.new_zeros(()) if projection.bias is None else projection.bias.detach()[index].cpu().double()


def _compared(translator: Translator, run: Translation, other: str | None) -> tuple[Tensor, int | None]:
    """The ids of the output, (T,), and of the other token."""
    vocab, bias = translator.checkpoint.tgt_vocab, translator.checkpoint.model.output_projection.bias
    output = torch.tensor([vocab.ids[token] for token in run.output])
    if other is None:
        return output, None
    if other not in vocab.ids or other in (PAD, START) or (bias is not None and bias[vocab.ids[other]] == -math.inf):
        raise ValueError(f"{other[:40]!r} is not a word that this model can output.")
    return output, vocab.ids[other]


@dataclass(frozen=True, eq=False)
class Attribution:
    """What each input token adds to the logit of one step's output token, or to its difference from another token's.

    Attributes:
        source: (S,), of the source tokens.
        target: (step + 1,), of the decoder inputs so far.
        logit: with these inputs.
        baseline: the same where every word's embedding is 0 and only the positions are left.
    """

    source: np.ndarray
    target: np.ndarray
    logit: float
    baseline: float

    @property
    def total(self) -> float:
        """The sum over all tokens. That of integrated gradients is complete: it is logit - baseline, up to the error
        of its sum over steps."""
        return float(self.source.sum() + self.target.sum())


def gradient_times_input(translator: Translator, run: Translation, step: int, other: str | None = None) -> Attribution:
    """Gradient × input: Shrikumar et al. (2016), "Not Just a Black Box" (arXiv 1605.01713), §2.

    The input of a token is its embedding times sqrt(d_model), before its position is added: Σ_D embedding · gradient.

    Args:
        step: of which the logit is explained, from 0.
        other: a token whose logit is subtracted.

    Raises:
        ValueError: there is no such step, `other` is not a token that this model can output, or the weights are int8,
            which have no gradients.
    """
    return _attribution(translator, run, step, other, [1.0])


def integrated_gradients(translator: Translator, run: Translation, step: int, other: str | None = None) -> Attribution:
    """Integrated gradients: Sundararajan et al. (2017), "Axiomatic Attribution for Deep Networks", §3 and §5.

    As `gradient_times_input`, but with the mean of the gradients on the straight line from embeddings of 0, of source
    and target together, to those of the run: at the midpoints of IG_STEPS equal parts. ReLU bends the gradient, so the
    sum is not complete to more than a few per cent: `total` against `logit` - `baseline`. (Of the classroom's steps two
    in three are within 1 %, nearly all within 4 %; Gauss-Legendre points do worse there.)
    """
    return _attribution(translator, run, step, other, [(i + 0.5) / IG_STEPS for i in range(IG_STEPS)])


def _attribution(
    translator: Translator, run: Translation, step: int, other: str | None, points: Sequence[float]
) -> Attribution:
    """With the mean gradient at these shares of the embeddings."""
    model, config = translator.checkpoint.model, translator.checkpoint.model.config
    check_float32(model)
    if not 0 <= step < len(run.output):
        raise ValueError(f"The steps of this run are 0 to {len(run.output) - 1}.")
    output, against = _compared(translator, run, other)
    src, tgt = ids(translator, run)
    tgt = tgt[:, : step + 1]
    changed = translator.probe(run.interventions)
    with torch.no_grad():
        embedded = model.src_embedding(src), model.tgt_embedding(tgt)
        whole = [each * config.embedding_scale for each in embedded]  # (1, S, D) and (1, step + 1, D)

    def explained(shares: Tensor) -> tuple[Tensor, list[Tensor]]:
        inputs = [(each * shares[:, None, None]).requires_grad_() for each in whole]
        replaced = dict(zip(("encoder.embedding", "decoder.embedding"), inputs, strict=True))

        def probe(name: str, value: Tensor) -> Tensor:  # the logits of the last row are enough
            return value[:, -1:] if name == "decoder.output" else replaced.get(name, value)

        batch = (src.expand(len(shares), -1), tgt.expand(len(shares), -1))
        logits = model(*batch, need_weights=False, probe=probe if changed is None else chain(changed, probe)).logits
        return logits[:, 0, output[step]] - (0 if against is None else logits[:, 0, against]), inputs

    shares = whole[0].new_tensor([0, 1, *points])
    weights = whole[0].new_tensor([0, 0] + len(points) * [1 / len(points)])  # of both ends only the logit is needed
    longest = max(src.size(1), tgt.size(1))
    layers = config.num_encoder_layers + 2 * config.num_decoder_layers
    size = max(2, MAX_TENSOR // (layers * longest * max(config.n_heads * longest, config.d_ff)))
    gradients, values = [torch.zeros_like(each) for each in whole], []
    for part, weight in zip(shares.split(size), weights.split(size), strict=True):
        with evaluating(model), torch.enable_grad():
            found, inputs = explained(part)
            new = torch.autograd.grad(found @ weight, inputs)
        gradients = [total + each.sum(dim=0) for total, each in zip(gradients, new, strict=True)]
        values += found.tolist()
    source, target = ((each * total).sum(dim=-1)[0] for each, total in zip(whole, gradients, strict=True))
    return Attribution(read_only(source), read_only(target), values[1], values[0])


@dataclass(frozen=True, eq=False)
class Rollout:
    """Attention from each token to the input tokens, through all layers; the weights of each row sum to 1.

    Attributes:
        encoder: (S, S), from the encoder's outputs to the source tokens.
        source, target: (T, S) and (T, T), from each step to the source tokens and to the decoder inputs.
    """

    encoder: np.ndarray
    source: np.ndarray
    target: np.ndarray


def attention_rollout(run: Translation) -> Rollout:
    """Abnar and Zuidema (2020), "Quantifying Attention Flow in Transformers" (arXiv 2005.00928), §3.

    In each sublayer half of a token comes from the residual connection, the other half from what the mean of the heads
    attends to. The paper has an encoder only; in the decoder cross-attention passes on the encoder's rollout.
    """
    encoder = np.eye(len(run.source))
    for m in run.attention.encoder:
        encoder = _half(m, encoder, encoder)
    target, source = np.eye(len(run.decoder_input)), np.zeros((len(run.decoder_input), len(run.source)))
    for own, cross in zip(run.attention.decoder, run.attention.cross, strict=True):
        target, source = _half(own, target, target), _half(own, source, source)
        target, source = (
            _half(cross, target, np.zeros((len(run.source), target.shape[1]))),
            _half(cross, source, encoder),
        )
    return Rollout(encoder, source, target)


def _half(m: AttentionMap, rows: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Of the queries' rows half, and half of the keys that they attend to; all where a query may attend to none."""
    attended = m.weights.astype(np.float64).mean(axis=0)  # (Q, K)
    kept = 1 - attended.sum(axis=1, keepdims=True) / 2
    return kept * rows + attended @ keys / 2
