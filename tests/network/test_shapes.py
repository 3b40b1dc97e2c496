"""The shapes that are worked out are those of the tensors."""

from typing import Any

import pytest
import torch

from transformer import Recorder, Transformer, TransformerConfig, Translator
from transformer.data import Batch
from transformer.network.shapes import Shape, shapes

from ..networks import network

STAGES = [
    *("source_ids", "source_embedding", "source_input", "encoder_qkv", "encoder_attention", "encoder_hidden", "memory"),
    *("target_ids", "target_embedding", "target_input", "decoder_qkv", "decoder_attention"),
    *("cross_q", "cross_kv", "cross_attention", "decoder_hidden", "logits", "loss_logits"),
]


def agree_with_a_pass(model: Transformer, src: torch.Tensor, tgt: torch.Tensor) -> dict[str, tuple[int, ...]]:
    """Compare every stage that a probe sees, in every layer that has it; returns the shapes by stage."""
    recorder = Recorder()
    with torch.no_grad():
        model.eval()(src, tgt, probe=recorder)
    found = shapes(model.config, src.size(1), tgt.size(1), src.size(0))
    assert [each.stage for each in found] == STAGES
    by_stage = {each.stage: each.shape for each in found}
    assert {each.stage for each in found if not each.probe} == {"source_ids", "target_ids", "loss_logits"}
    for each in found:
        in_layers = [name for name in recorder.values if each.probe and same_place(name, each)]
        assert len(in_layers) == (each.layers if each.probe else 0)
        for name in in_layers:
            assert [tuple(value.shape) for value in recorder.values[name]] == [each.shape], name
    for q, part in (("encoder.0.self_attention", "encoder_qkv"), ("decoder.0.self_attention", "decoder_qkv")):
        assert {tuple(recorder.values[f"{q}.{one}"][0].shape) for one in "qkv"} == {by_stage[part]}
    assert tuple(recorder.values["decoder.0.cross_attention.v"][0].shape) == by_stage["cross_kv"]
    assert tuple(recorder.values["logits"][0].flatten(0, 1).shape) == by_stage["loss_logits"]
    assert (by_stage["source_ids"], by_stage["target_ids"]) == (tuple(src.shape), tuple(tgt.shape))
    return by_stage


def same_place(name: str, each: Shape) -> bool:
    """Whether a probe's name is this stage's, in any layer."""
    return [part for part in name.split(".") if not part.isdigit()] == [p for p in each.probe.split(".") if p != "0"]


def test_of_the_toy(toy: Translator, toy_data: Batch) -> None:
    by_stage = agree_with_a_pass(toy.checkpoint.model, toy_data.src[:1], toy_data.tgt_in[:1])
    assert by_stage["cross_attention"] == (1, 8, 6, 5)


def test_of_the_papers_size(toy_data: Batch) -> None:
    model = Transformer(TransformerConfig(src_vocab_size=6, tgt_vocab_size=9))
    by_stage = agree_with_a_pass(model, toy_data.src, toy_data.tgt_in)
    assert by_stage == {
        "source_ids": (2, 5),
        "source_embedding": (2, 5, 512),
        "source_input": (2, 5, 512),
        "encoder_qkv": (2, 8, 5, 64),
        "encoder_attention": (2, 8, 5, 5),
        "encoder_hidden": (2, 5, 2048),
        "memory": (2, 5, 512),
        "target_ids": (2, 6),
        "target_embedding": (2, 6, 512),
        "target_input": (2, 6, 512),
        "decoder_qkv": (2, 8, 6, 64),
        "decoder_attention": (2, 8, 6, 6),
        "cross_q": (2, 8, 6, 64),
        "cross_kv": (2, 8, 5, 64),
        "cross_attention": (2, 8, 6, 5),
        "decoder_hidden": (2, 6, 2048),
        "logits": (2, 6, 9),
        "loss_logits": (12, 9),
    }


def test_of_large_vocabularies() -> None:
    config = TransformerConfig(10_000, 10_000, num_encoder_layers=1, num_decoder_layers=1)
    ids = [torch.randint(1, 10_000, (32, length)) for length in (10, 12)]
    by_stage = agree_with_a_pass(Transformer(config), *ids)
    assert (by_stage["logits"], by_stage["loss_logits"]) == ((32, 12, 10_000), (384, 10_000))


@pytest.mark.parametrize(
    "special", [{"norm_first": True, "final_norm": "both"}, {"num_encoder_layers": 1, "num_decoder_layers": 3}]
)
def test_of_other_configurations(special: dict[str, Any]) -> None:
    agree_with_a_pass(network(**special), torch.ones(3, 4, dtype=torch.long), torch.ones(3, 7, dtype=torch.long))
