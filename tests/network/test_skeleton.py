"""A network without numbers, which is filled later."""

import sys

import pytest
import torch

from transformer import Transformer, TransformerConfig
from transformer.network.skeleton import init_empty_weights


def test_nothing_is_allocated_drawn_or_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # an import of PyTorch's compiler fails
    drawn = torch.get_rng_state()
    with init_empty_weights():
        model = Transformer(TransformerConfig(10**6, 10**6))
    assert all(weight.is_meta for weight in model.parameters())
    assert torch.equal(drawn, torch.get_rng_state())
    assert float(model.positions[0, 1]) == 1  # of cos 0: positions are computed
    assert not torch.nn.Linear(1, 1).weight.is_meta
