"""The engine's numbers are the network's, in every kind of network; its matrices are the network's own."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from transformer import Transformer
from transformer.inference.decoding import NetworkDecoding, beam_search, continued
from transformer.network.engine import DecodingEngine, EngineDecoding
from transformer.training.loop import adam

from ..networks import agree, network, padded

PAD, START, NEVER = 0, 11, -1
SOURCES = [[3, 4, 5], [7, 2, 9, 1, 6], [8], [PAD]]  # of which the last attends to nothing
KINDS: list[dict[str, Any]] = [
    {},
    {"norm_first": True, "final_norm": "both"},
    {"final_norm": "encoder", "activation": "gelu"},
    {"activation": "silu", "sinusoid": "halves", "scale_embeddings": False},
    {"qkv_bias": False, "bias": False},
    {"tie_output": True, "positional_encoding": False},
    {"num_encoder_layers": 1, "num_decoder_layers": 3},
]


@pytest.mark.parametrize("fields", KINDS)
def test_a_batch_agrees_step_by_step_with_all_maps(fields: dict[str, Any]) -> None:
    model = network(2, **fields)
    still, src = copy.deepcopy(model), padded(SOURCES)
    inputs = torch.tensor([[START] * 4, [5, PAD, 3, 1], [PAD, 4, 8, 1], [1, 2, 3, PAD]])  # padding that was output, too
    ours, theirs = EngineDecoding(DecodingEngine(model), src, len(inputs)), NetworkDecoding(still, src)
    for row in inputs.tolist():
        for value, expected in zip(ours.step(row), theirs.step(row), strict=True):
            agree(value, expected)
    whole = still(src, inputs.t())
    for maps, expected in zip(ours.attention(), vars(whole.attention).values(), strict=True):
        for each, other in zip(maps, expected, strict=True):
            agree(each, other)
    agree(model(src, inputs.t()).logits, whole.logits)  # the network computes on with the engine's matrices


@pytest.mark.parametrize("penalty", ["paper", "length"])
def test_a_beam_agrees(penalty: Any) -> None:
    model, src = network(3).double(), torch.tensor([[3, 4, 5, PAD]])
    expected = beam_search(model, src, START, NEVER, 5, 4, 0.6, penalty)
    found = beam_search(DecodingEngine(model), src, START, NEVER, 5, 4, 0.6, penalty)
    assert [(one.token, one.parent, one.fate) for one in found.hypotheses] == [
        (one.token, one.parent, one.fate) for one in expected.hypotheses
    ]
    for one, other in zip(found.hypotheses, expected.hypotheses, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability)


def test_of_a_model_that_is_not_trained_nothing_is_kept_twice() -> None:
    model = network(tie_output=True).requires_grad_(False)
    still, src = copy.deepcopy(model), torch.tensor([[3, 4]])
    engine = DecodingEngine(model)
    assert engine.output.weight.data_ptr() == model.tgt_embedding.weight.data_ptr()
    agree(model(src, src).logits, still(src, src).logits)
    places = {name: weight.data_ptr() for name, weight in model.named_parameters()}
    DecodingEngine(model)
    assert places == {name: weight.data_ptr() for name, weight in model.named_parameters()}
    assert engine.is_of(model)
    assert not engine.is_of(model.double())  # which moves the weights elsewhere


def test_a_model_that_had_an_engine_is_trained_as_without_one() -> None:
    model, still, src = network(d_model=32).requires_grad_(False), network(d_model=32), torch.tensor([[3, 4]])
    DecodingEngine(model)
    model.requires_grad_()
    optimizers, engine = [adam(model), adam(still)], DecodingEngine(model)
    for _ in range(3):
        for each, optimizer in zip((model, still), optimizers, strict=True):
            optimizer.zero_grad()
            each(src, src).logits.square().sum().backward()
            optimizer.step()
    for weight, expected in zip(model.parameters(), still.parameters(), strict=True):
        agree(weight, expected)
    assert not engine.is_of(model)
    agree(
        EngineDecoding(DecodingEngine(model), src, 1).step([START]).logits,
        NetworkDecoding(still, src).step([START]).logits,
    )


def freeze(model: Transformer) -> None:
    """As who has trained it does before using it. The engine was made before."""
    for weight in model.parameters():
        weight.data.add_(0.1)
    model.requires_grad_(False)


def replace_a_layers_weight(model: Transformer) -> None:
    model.encoder.layers[0].linear2.weight = nn.Parameter(torch.zeros(16, 32), requires_grad=False)


def replace_its_numbers(model: Transformer) -> None:
    model.decoder.layers[0].self_attn.q_proj.weight.data = torch.zeros(16, 16)


def replace_the_positions(model: Transformer) -> None:
    model.positions = torch.zeros_like(model.positions)


CHANGES = [freeze, replace_a_layers_weight, replace_its_numbers, replace_the_positions]


@pytest.mark.parametrize("change", CHANGES)
def test_an_engine_is_not_that_of_a_model_that_was_changed(change: Callable[[Transformer], None]) -> None:
    model = network(d_model=16, d_ff=32, tgt_vocab_size=9).requires_grad_(change is freeze)
    engine = DecodingEngine(model)
    change(model)
    assert not engine.is_of(model)


def test_an_engine_that_is_made_in_inference_mode_leaves_a_model_that_can_be_trained() -> None:
    model = network().requires_grad_(False)
    with torch.inference_mode():
        DecodingEngine(model)
    assert not any(weight.is_inference() for weight in model.parameters())
    model.requires_grad_()


def test_large_matrices_are_cut_into_a_block_for_each_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the blocks are not of one size."""
    model, src = network(d_model=128, d_ff=1031, tgt_vocab_size=1031, n_heads=2), torch.tensor([[3, 4]])
    expected = NetworkDecoding(copy.deepcopy(model), src).step([START]).logits
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    agree(EngineDecoding(DecodingEngine(model), src, 1).step([START]).logits, expected)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    engine = DecodingEngine(model)
    assert engine.output.blocks
    agree(EngineDecoding(engine, src, 1).step([START]).logits, expected)


def test_an_engine_is_always_in_evaluation_mode() -> None:
    model, still = network(dropout=0.5).train(), network(dropout=0.5)
    steps = list(continued(EngineDecoding(DecodingEngine(model), padded(SOURCES[:1]), 3), START, NEVER, 3))
    expected = list(continued(NetworkDecoding(still, padded(SOURCES[:1])), START, NEVER, 3))
    for step, other in zip(steps, expected, strict=True):
        agree(step.distribution, other.distribution)
        assert not step.distribution.requires_grad
    assert model.training


def test_positions_run_out() -> None:
    model = network(max_len=3)
    with pytest.raises(ValueError, match="a sequence of 4 is longer than max_len"):
        EngineDecoding(DecodingEngine(model), torch.ones(1, 4, dtype=torch.long), 1)
    decoding = EngineDecoding(DecodingEngine(model), torch.ones(1, 3, dtype=torch.long), 4)
    for _ in range(3):
        decoding.step([START])
    with pytest.raises(ValueError, match="a sequence of 4 is longer than max_len"):
        decoding.step([START])
