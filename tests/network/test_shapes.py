"""The computed shapes are those of the tensors."""

from typing import Any

import pytest
import torch

from transformer import Recorder, TransformerConfig
from transformer.network.model import Transformer
from transformer.network.shapes import Shape, shapes

from ..networks import network


def is_at(name: str, stage: Shape) -> bool:
    """Whether a probe's name is this stage's, in any layer."""
    return [p for p in name.split(".") if not p.isdigit()] == [p for p in stage.probe.split(".") if p != "0"]


def checked_shapes(model: Transformer, batch: int, source: int, target: int) -> dict[str, tuple[int, ...]]:
    """Compare every stage that a probe sees, in every layer that has it; returns the shapes by stage."""
    recorder = Recorder()
    with torch.no_grad():
        model.eval()(*(torch.ones(batch, length, dtype=torch.long) for length in (source, target)), probe=recorder)
    computed = shapes(model.config, source, target, batch)
    for stage in (stage for stage in computed if stage.probe):
        in_layers = [name for name in recorder.values if is_at(name, stage)]
        assert len(in_layers) == stage.layers
        for name in in_layers:
            assert [tuple(value.shape) for value in recorder.values[name]] == [stage.shape], name
    by_stage = {stage.stage: stage.shape for stage in computed}
    assert tuple(recorder.values["logits"][0].flatten(0, 1).shape) == by_stage["loss_logits"]
    return by_stage


def test_of_the_toy_in_the_papers_size() -> None:
    base = Transformer(TransformerConfig(src_vocab_size=6, tgt_vocab_size=9))
    assert checked_shapes(base, 2, 5, 6) == {
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


@pytest.mark.parametrize(
    "fields",
    [
        {"norm_first": True, "final_norm": "both"},
        {"num_encoder_layers": 1, "num_decoder_layers": 3},
        {"src_vocab_size": 10_000, "tgt_vocab_size": 10_000},
    ],
)
def test_of_other_configurations(fields: dict[str, Any]) -> None:
    checked_shapes(network(**fields), 3, 4, 7)
