"""Every number of one attention sublayer and its layer, from input to output.

Q queries, K keys, S source, T target, H heads, D model width, d one head's width, F feed-forward width, L layers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..inference.attention_maps import LOCATIONS, Kind, check_kind
from ..inference.decoding import evaluating
from ..inference.translation import Translation
from ..inference.translator import Translator, read_only
from ..inference.value_weighted import head_factors, value_lengths
from ..network.attention import MultiHeadAttention
from ..network.layers import Layer
from ..network.model import Transformer
from ..network.probe import Recorder, chain

PARTS = ("q_proj", "k_proj", "v_proj", "out_proj", "linear1", "linear2")


@dataclass(frozen=True, eq=False)
class SublayerValues:
    """One attention sublayer and the feed-forward of its layer, as one run computed them. Arrays are read-only float32.

    Post-norm (§3.1): residual = x, sum = norm_input = residual + output, norm = LayerNorm(norm_input). Pre-norm:
    residual = norm_input, x = norm = LayerNorm(norm_input), sum = residual + output. If an intervention dropped the
    residual connection, only `residual` is 0. The feed-forward's `ff_` arrays relate in the same way.
    """

    kind: Kind
    layer: int
    queries: tuple[str, ...]  # the tokens of the rows
    keys: tuple[str, ...]  # the tokens of the columns
    norm_first: bool
    head_dim: int
    norm_eps: float

    x: np.ndarray  # (Q, D), the input of the query projection
    memory: np.ndarray  # (K, D), the input of the key and value projections
    q: np.ndarray  # (H, Q, d), projected and split into heads (§3.2.2)
    k: np.ndarray  # (H, K, d)
    v: np.ndarray  # (H, K, d)
    scores: np.ndarray  # (H, Q, K), q kᵀ / sqrt(d) of every cell, masked ones included
    allowed: np.ndarray  # (Q, K), bool, True = may attend
    weights: np.ndarray  # (H, Q, K), softmax over the allowed scores
    head_output: np.ndarray  # (H, Q, d), the values weighted by it
    value_norm: np.ndarray  # (H, K), ‖v W_O‖, the length of what a value adds to the model's width at a weight of 1
    output: np.ndarray  # (Q, D), the concatenated heads after W_O
    residual: np.ndarray  # (Q, D)
    sum: np.ndarray  # (Q, D)
    norm_input: np.ndarray  # (Q, D)
    norm: np.ndarray  # (Q, D)
    norm_weight: np.ndarray  # (D,)
    norm_bias: np.ndarray  # (D,)

    ff_input: np.ndarray  # (Q, D)
    ff_hidden: np.ndarray  # (Q, F), after the activation (§3.3)
    ff_output: np.ndarray  # (Q, D)
    ff_residual: np.ndarray  # (Q, D)
    ff_sum: np.ndarray  # (Q, D)
    ff_norm_input: np.ndarray  # (Q, D)
    ff_norm: np.ndarray  # (Q, D)
    ff_norm_weight: np.ndarray  # (D,)
    ff_norm_bias: np.ndarray  # (D,)

    layer_output: np.ndarray  # (Q, D), the input of the next layer, or of what follows the stack


def ids(translator: Translator, run: Translation) -> tuple[Tensor, Tensor]:
    """The ids that the encoder and the decoder of a run read, (1, S) and (1, T). Raises ValueError: the run was made
    with a probe, which the pass that is to follow would lack, or by another model, which has words that this one lacks.
    """
    if run.probed:
        raise ValueError("This run was made with a probe, so that no other pass has its numbers.")
    checkpoint = translator.checkpoint
    try:
        source = [checkpoint.src_vocab.ids[token] for token in run.source]
        read = [checkpoint.tgt_vocab.ids[token] for token in run.decoder_input]
    except KeyError as error:
        raise ValueError(f"{translator.name} has no word {error}: this run was made by {run.checkpoint}.") from None
    return torch.tensor([source], device=translator.device), torch.tensor([read], device=translator.device)


def record(
    translator: Translator,
    run: Translation,
    wanted: Callable[[str], bool] = lambda name: True,
    steps: int | None = None,
) -> dict[str, Tensor]:
    """Every intermediate whose probe name is `wanted`, of one full pass over a run's own tokens, or over those of its
    first steps; batch of 1."""
    model, recorder = translator.checkpoint.model, Recorder(wanted)
    changed = translator.probe(run.interventions)
    with evaluating(model):
        src, tgt = ids(translator, run)
        model(src, tgt[:, :steps], probe=recorder if changed is None else chain(changed, recorder))
    return {name: value for name, (value,) in recorder.values.items()}


def inspect_sublayer(translator: Translator, run: Translation, kind: Kind, layer: int) -> SublayerValues:
    """The values of one attention sublayer in a run.

    Args:
        run: of this translator, made without a probe; its interventions are applied.
        layer: from 0.

    Raises:
        ValueError: there is no such kind or layer.
    """
    model = translator.checkpoint.model
    owner, norm_first = _layer(model, kind, layer), model.config.norm_first
    seen, (stack, sublayer, n, last) = record(translator, run), LOCATIONS[kind]
    left = "sum" if norm_first else "norm"  # the name of what a sublayer leaves behind

    def of(name: str) -> np.ndarray:
        return read_only(seen[f"{stack}.{layer}.{name}"][0])

    def joined(n: int, prefix: str) -> dict[str, np.ndarray]:
        """The input, the residual connection and the LayerNorm of the n-th sublayer."""
        norm: torch.nn.LayerNorm = getattr(owner, f"norm{n}")
        before = f"{stack}.{layer - 1}.{left}{last}" if layer else f"{stack}.input"
        # Of the residual stream, whether or not an intervention drops it.
        stream = of(f"{left}{n - 1}") if n > 1 else read_only(seen[before][0])
        values = {
            "input": of(f"norm{n}") if norm_first else stream,
            "residual": of(f"residual{n}"),
            "sum": of(f"sum{n}"),
            "norm_input": stream if norm_first else of(f"sum{n}"),
            "norm": of(f"norm{n}"),
            "norm_weight": read_only(norm.weight.detach()),
            "norm_bias": read_only(norm.bias.detach()),
        }
        return {prefix + name: value for name, value in values.items()}

    attention = joined(n, "")
    x = attention.pop("input")
    queries = run.source if kind == "encoder" else run.decoder_input
    keys = run.decoder_input if kind == "decoder" else run.source
    allowed = seen[f"{stack}.{layer}.{sublayer}.mask"][0, 0].expand(len(queries), len(keys)).cpu().numpy().copy()
    allowed.flags.writeable = False
    parts = ("q", "k", "v", "scores", "weights", "head_output", "output")
    return SublayerValues(
        kind=kind,
        layer=layer,
        queries=queries,
        keys=keys,
        norm_first=norm_first,
        head_dim=model.config.head_dim,
        norm_eps=getattr(owner, f"norm{n}").eps,
        x=x,
        memory=read_only(seen["encoder.output"][0]) if kind == "cross" else x,
        allowed=allowed,
        **{part: of(f"{sublayer}.{part}") for part in parts},
        value_norm=read_only(_value_lengths(owner, kind, seen[f"{stack}.{layer}.{sublayer}.v"][0])),
        **attention,
        **joined(last, "ff_"),
        **{f"ff_{part}": of(f"feed_forward.{part}") for part in ("hidden", "output")},
        layer_output=of(f"{left}{last}"),
    )


def value_norms(translator: Translator, run: Translation) -> dict[Kind, np.ndarray]:
    """‖v W_O‖ of every key of every head, (L, H, K); 0 in an ablated head, which adds nothing.

    Times its weights it is what `ValueWeighted.maps` has: Kobayashi et al. (2020), §3.
    """
    model = translator.checkpoint.model
    seen = record(translator, run, lambda name: name.endswith((".v", ".head_output")))
    found: dict[Kind, np.ndarray] = {}
    for kind, place in LOCATIONS.items():
        layers = range(model.config.layers(place.stack))
        norms = [_value_lengths(_layer(model, kind, i), kind, seen[place.probe_name(i, "v")][0]) for i in layers]
        outputs = torch.stack([seen[place.probe_name(i, "head_output")][0] for i in layers])  # (L, H, Q, d)
        found[kind] = read_only(torch.stack(norms) * outputs.flatten(2).any(dim=2, keepdim=True))
    return found


def value_output(translator: Translator, run: Translation, kind: Kind, layer: int, head: int, key: int) -> np.ndarray:
    """v W_O of one key of a head, (D,). Raises ValueError: there is no such kind, layer, head or key."""
    owner, name = _layer(translator.checkpoint.model, kind, layer), LOCATIONS[kind].probe_name(layer, "v")
    v = record(translator, run, name.__eq__)[name][0]
    if not (0 <= head < v.size(0) and 0 <= key < v.size(1)):
        raise ValueError(f"The heads are 0 to {v.size(0) - 1}, and the keys 0 to {v.size(1) - 1}.")
    w_o = _attention(owner, kind).out_proj.weight.detach().unflatten(-1, (v.size(0), -1))  # (D, H, d)
    return read_only(w_o[:, head] @ v[head, key])  # b_O belongs to no key


def _value_lengths(owner: Layer, kind: Kind, v: Tensor) -> Tensor:
    """‖v W_O‖ of every key, (H, K), of v (H, K, d)."""
    return value_lengths(v, head_factors(_attention(owner, kind).out_proj.weight.detach(), v.size(0)))


def residual_stream(translator: Translator, run: Translation) -> dict[str, np.ndarray]:
    """Each token's vector before the first layer and after every layer: encoder (L + 1, S, D), decoder (L + 1, T, D).

    Without the final LayerNorm of a stack.
    """
    config, seen = translator.checkpoint.model.config, record(translator, run)
    left = "sum" if config.norm_first else "norm"
    found = {}
    for stack, last in (("encoder", 2), ("decoder", 3)):
        layers = (f"{stack}.{i}.{left}{last}" for i in range(config.layers(stack)))
        found[stack] = read_only(torch.cat([seen[name] for name in (f"{stack}.input", *layers)]))
    return found


def parameter_row(
    translator: Translator, kind: Kind, layer: int, part: str, row: int
) -> tuple[np.ndarray, float | None]:
    """One row of a matrix: output[row] = Σ input[j] · weights[j] + bias.

    Args:
        part: one of PARTS; linear1 and linear2 belong to the feed-forward of the same layer.

    Returns:
        The weights (n,), one per input, and the bias, None if there is none.

    Raises:
        ValueError: there is no such kind, layer, part or row.
    """
    owner = _layer(translator.checkpoint.model, kind, layer)
    if part not in PARTS:
        raise ValueError(f"The part is one of {', '.join(PARTS)}.")
    linear: torch.nn.Linear = getattr(owner if part.startswith("linear") else _attention(owner, kind), part)
    if not 0 <= row < linear.out_features:
        raise ValueError(f"The rows of {part} are 0 to {linear.out_features - 1}.")
    return read_only(linear.weight[row].detach()), None if linear.bias is None else linear.bias[row].item()


def _layer(model: Transformer, kind: Kind, layer: int) -> Layer:
    check_kind(kind)
    layers = getattr(model, LOCATIONS[kind].stack).layers
    if not 0 <= layer < len(layers):
        raise ValueError(f"The layers of this kind are 0 to {len(layers) - 1}.")
    found = layers[layer]
    assert isinstance(found, Layer)
    return found


def _attention(owner: Layer, kind: Kind) -> MultiHeadAttention:
    attention = owner.cross_attn if kind == "cross" else owner.self_attn
    assert isinstance(attention, MultiHeadAttention)
    return attention
