"""The computed shapes are those of the tensors."""

from typing import Any

import pytest
import torch

from transformer import Recorder
from transformer.network.shapes import Shape, shapes

from ..networks import network


def is_at(name: str, stage: Shape) -> bool:
    """Whether a probe's name is this stage's, in any layer."""
    return [p for p in name.split(".") if not p.isdigit()] == [p for p in stage.probe.split(".") if p != "0"]


@pytest.mark.parametrize(
    "fields", [{}, {"norm_first": True, "final_norm": "both"}, {"num_encoder_layers": 1, "num_decoder_layers": 3}]
)
def test_the_shapes_are_those_of_the_tensors(fields: dict[str, Any]) -> None:
    """Every stage that a probe sees, in every layer that has it."""
    model, recorder, (batch, source, target) = network(**fields), Recorder(), (3, 4, 7)
    model(*(torch.ones(batch, length, dtype=torch.long) for length in (source, target)), probe=recorder)
    computed = shapes(model.config, source, target, batch)
    for stage in (stage for stage in computed if stage.probe):
        in_layers = [name for name in recorder.values if is_at(name, stage)]
        assert len(in_layers) == stage.layers
        for name in in_layers:
            assert [tuple(value.shape) for value in recorder.values[name]] == [stage.shape], name
    by_stage = {stage.stage: stage.shape for stage in computed}
    assert (by_stage["source_ids"], by_stage["target_ids"]) == ((batch, source), (batch, target))
    assert by_stage["loss_logits"] == tuple(recorder.values["logits"][0].flatten(0, 1).shape)
