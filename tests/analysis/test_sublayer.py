"""Every value of a sublayer follows from the previous ones by the paper's formulas."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

from transformer import Translation, Translator
from transformer.analysis.sublayer import (
    PARTS,
    SublayerValues,
    inspect_sublayer,
    parameter_row,
    record,
    residual_stream,
    value_output,
)
from transformer.inference.attention_maps import KINDS, LOCATIONS, Kind
from transformer.inference.interventions import DropResidual, Interventions

from ..models import babbling
from ..networks import network

CASES: dict[str, dict[str, Any]] = {  # name -> the settings of a random network
    "post": {},
    "pre": {"norm_first": True, "final_norm": "both", "num_encoder_layers": 1, "num_decoder_layers": 3},
    "no qkv bias": {"qkv_bias": False},
    "no bias": {"norm_first": True, "bias": False},
}


def babbler_of(**special: Any) -> Translator:
    """A translator with a random network; its biases and norms are random too, since initial ones would hide a swap."""
    model = network(**special)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "norm" in name or name.endswith("bias"):
                value.add_(torch.randn_like(value) * 0.3)
    return babbling(model)


Runs = tuple[Translator, Translation]


@pytest.fixture(scope="module", params=["toy", "classroom", *CASES])
def ran(request: pytest.FixtureRequest) -> Runs:
    if request.param in CASES:
        translator = babbler_of(**CASES[request.param])
        return translator, translator.translate("wort3 wort1 wort4 wort1")
    translator = Translator.load(request.param, device="cpu")
    sentences = {"toy": "Ich möchte ein Bier", "classroom": "Heute habe ich ein kaltes Bier getrunken"}
    return translator, translator.translate(sentences[request.param])


def every(ran: Runs) -> list[SublayerValues]:
    return [inspect_sublayer(*ran, kind, layer) for kind in KINDS for layer in range(len(ran[1].attention.of(kind)))]


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    """A sum of large numbers rounds as they do."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * max(1, np.abs(expected).max()))


def layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps) * weight + bias


def matrix(translator: Translator, seen: SublayerValues, part: str) -> tuple[np.ndarray, np.ndarray]:
    """A matrix (out, in) and its biases (out,), collected row by row."""
    width = seen.ff_hidden.shape[1] if part == "linear1" else seen.x.shape[1]
    rows = [parameter_row(translator, seen.kind, seen.layer, part, row) for row in range(width)]
    config = translator.checkpoint.model.config
    has_bias = config.qkv_bias if part in PARTS[:3] else config.bias
    assert all((bias is not None) == has_bias for _, bias in rows)
    return np.stack([weights for weights, _ in rows]), np.array([bias or 0.0 for _, bias in rows])


def test_queries_keys_and_values_are_projections_of_the_input(ran: Runs) -> None:
    for seen in every(ran):
        assert not seen.x.flags.writeable
        for part, read in (("q", seen.x), ("k", seen.memory), ("v", seen.memory)):
            weights, bias = matrix(ran[0], seen, f"{part}_proj")
            flat = read @ weights.T + bias
            close(flat.reshape(len(read), -1, seen.head_dim).transpose(1, 0, 2), getattr(seen, part))


def test_attention_is_the_papers_formula(ran: Runs) -> None:
    for seen in every(ran):
        assert seen.q.shape[-1] == seen.head_dim
        close(seen.q @ seen.k.transpose(0, 2, 1) / math.sqrt(seen.head_dim), seen.scores)
        scores = np.where(seen.allowed, seen.scores, -np.inf)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        close(powers / powers.sum(axis=-1, keepdims=True), seen.weights)
        close(seen.weights @ seen.v, seen.head_output)
        weights, bias = matrix(ran[0], seen, "out_proj")
        close(np.concatenate(seen.head_output, axis=-1) @ weights.T + bias, seen.output)


def test_the_sublayer_joins_the_residual_stream(ran: Runs) -> None:
    for seen in every(ran):
        norm = (seen.norm_weight, seen.norm_bias, seen.norm_eps)
        np.testing.assert_array_equal(seen.residual + seen.output, seen.sum)
        if seen.norm_first:
            close(layer_norm(seen.residual, *norm), seen.norm)
            np.testing.assert_array_equal(seen.x, seen.norm)
        else:
            close(layer_norm(seen.sum, *norm), seen.norm)
            np.testing.assert_array_equal(seen.x, seen.residual)


def test_the_feed_forward_network_is_the_papers_formula_and_ends_the_layer(ran: Runs) -> None:
    for seen in every(ran):
        weights, bias = matrix(ran[0], seen, "linear1")
        close(np.maximum(seen.ff_input @ weights.T + bias, 0), seen.ff_hidden)
        weights, bias = matrix(ran[0], seen, "linear2")
        close(seen.ff_hidden @ weights.T + bias, seen.ff_output)
        np.testing.assert_array_equal(seen.ff_residual + seen.ff_output, seen.ff_sum)
        norm = (seen.ff_norm_weight, seen.ff_norm_bias, seen.norm_eps)
        close(layer_norm(seen.ff_residual if seen.norm_first else seen.ff_sum, *norm), seen.ff_norm)
        np.testing.assert_array_equal(seen.ff_input, seen.ff_norm if seen.norm_first else seen.ff_residual)
        np.testing.assert_array_equal(seen.layer_output, seen.ff_sum if seen.norm_first else seen.ff_norm)
        if seen.kind != "decoder":  # cross-attention lies between them there
            np.testing.assert_array_equal(seen.ff_residual, seen.sum if seen.norm_first else seen.norm)


def test_each_layer_reads_the_output_of_the_previous_one(ran: Runs) -> None:
    translator, run = ran
    streams, seen = residual_stream(translator, run), record(translator, run)
    kinds: dict[str, Kind] = {"encoder": "encoder", "decoder": "decoder"}
    for (stack, kind), read in zip(kinds.items(), (run.source_input, run.target_input), strict=True):
        close(streams[stack][0], read.input)
        for i, (before, after) in enumerate(itertools.pairwise(streams[stack])):
            layer = inspect_sublayer(*ran, kind, i)
            np.testing.assert_array_equal(layer.residual, before)
            np.testing.assert_array_equal(layer.layer_output, after)
            if stack == "decoder":  # cross-attention lies between self-attention and feed-forward
                cross = inspect_sublayer(*ran, "cross", i)
                np.testing.assert_array_equal(cross.residual, layer.sum if layer.norm_first else layer.norm)
                np.testing.assert_array_equal(cross.ff_residual, cross.sum if layer.norm_first else cross.norm)
                np.testing.assert_array_equal(cross.memory, seen["encoder.output"][0].numpy())
        assert i + 1 == len(run.attention.of(kind))
        out = getattr(translator.checkpoint.model, stack).norm(torch.tensor(streams[stack][-1]))
        close(out.detach().numpy(), seen[f"{stack}.output"][0].numpy())


@pytest.mark.parametrize(
    ("layer", "part", "row", "message"),
    [
        *((layer, "q_proj", 0, "0 to 1") for layer in (-1, 2, 10**30)),
        (0, "q_proj", 16, "q_proj are 0 to 15"),
        (0, "linear1", 32, "linear1 are 0 to 31"),
        (0, "linear2", -1, "linear2 are 0 to 15"),
        (0, "norm1", 0, "one of q_proj, k_proj"),
        (0, "__class__", 0, "one of q_proj, k_proj"),
    ],
)
def test_a_missing_layer_part_or_row_is_refused(
    babbler: Translator, layer: int, part: str, row: int, message: str
) -> None:
    for kind in KINDS:
        with pytest.raises(ValueError, match=message):
            parameter_row(babbler, kind, layer, part, row)
        if layer:
            with pytest.raises(ValueError, match=message):
                inspect_sublayer(babbler, babbler.translate("wort1"), kind, layer)


def test_a_missing_kind_is_refused(toy: Translator, beer: Translation) -> None:
    unknown: Any = "self"
    for ask in (
        lambda: beer.attention.of(unknown),
        lambda: inspect_sublayer(toy, beer, unknown, 0),
        lambda: value_output(toy, beer, unknown, 0, 0, 0),
        lambda: parameter_row(toy, unknown, 0, "q_proj", 0),
    ):
        with pytest.raises(ValueError, match="the kind 'self' is not one of encoder, decoder, cross"):
            ask()


@pytest.mark.parametrize("special", ["post", "pre"])
@pytest.mark.parametrize("kind", KINDS)
def test_without_its_residual_the_norm_reads_the_sublayers_output(special: str, kind: Kind) -> None:
    translator = babbler_of(**CASES[special])
    stack, _, n, last = LOCATIONS[kind]
    for sublayer, part in ((n, ""), (last, "ff_")):
        change = Interventions((DropResidual(stack, 0, sublayer),))
        seen = inspect_sublayer(translator, translator.translate("wort3 wort1", interventions=change), kind, 0)
        value = {name: getattr(seen, part + name) for name in ("residual", "sum", "output", "norm_input", "norm")}
        assert not value["residual"].any()
        np.testing.assert_array_equal(value["sum"], value["output"])
        norm = getattr(seen, f"{part}norm_weight"), getattr(seen, f"{part}norm_bias"), seen.norm_eps
        close(layer_norm(value["norm_input"], *norm), value["norm"])
        assert value["norm_input"].any()
