"""A probe sees every intermediate by a stable name, and can replace each one."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from transformer import Recorder, greedy_decode

from ..networks import network

SRC, TGT = torch.tensor([[3, 4, 5, 6], [1, 2, 7, 8]]), torch.tensor([[7, 8, 9], [10, 11, 12]])
LAYERS = 2


def _names() -> Iterator[str]:
    for stack, attentions in (("encoder", ["self"]), ("decoder", ["self", "cross"])):
        yield from (f"{stack}.{part}" for part in ("embedding", "positions", "input", "output"))
        for layer in (f"{stack}.{i}" for i in range(LAYERS)):
            for attention in (f"{layer}.{kind}_attention" for kind in attentions):
                parts = ("q", "k", "v", "scores", "mask", "weights", "head_output", "output")
                yield from (f"{attention}.{part}" for part in parts)
            yield from (f"{layer}.feed_forward.{part}" for part in ("hidden", "output"))
            for sublayer in range(1, len(attentions) + 2):
                yield from (f"{layer}.{part}{sublayer}" for part in ("residual", "sum", "norm"))
    yield "logits"


NAMES = list(_names())


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_a_pass_shows_every_name_once(norm_first: bool, need_weights: bool, training: bool) -> None:
    recorder = Recorder()
    network(norm_first=norm_first).train(training)(SRC, TGT, need_weights=need_weights, probe=recorder)
    assert {name: len(values) for name, values in recorder.values.items()} == dict.fromkeys(NAMES, 1)
    for name in (name for name in NAMES if name.endswith("mask")):  # cell by cell
        assert recorder.values[name][0].shape == recorder.values[name.replace("mask", "scores")][0].shape


def test_cached_decoding_shows_the_same_names_with_decoder_rows_once_per_step() -> None:
    recorder = Recorder()
    steps = list(greedy_decode(network(), SRC[:1], start_id=1, end_id=-1, max_steps=3, probe=recorder))
    counts = {name: len(values) for name, values in recorder.values.items()}
    projected_once = {f"decoder.{i}.cross_attention.{part}" for i in range(LAYERS) for part in "kv"}
    once = {name for name in NAMES if name.startswith("encoder.")} | projected_once
    assert counts == {name: 1 if name in once else len(steps) for name in NAMES}


@pytest.mark.parametrize("norm_first", [False, True])
def test_replacing_an_intermediate_changes_the_logits(norm_first: bool) -> None:
    model = network(norm_first=norm_first)
    plain = model(SRC, TGT).logits
    for name in NAMES:

        def replace(seen_name: str, value: Tensor, name: str = name) -> Tensor:
            if seen_name != name:
                return value
            return ~value if value.dtype == torch.bool else value + torch.rand_like(value)

        assert (model(SRC, TGT, probe=replace).logits - plain).abs().max() > 1e-3, name


def test_a_probe_that_forgets_to_return_is_named() -> None:
    forgotten = "encoder.1.self_attention.q"
    with pytest.raises(TypeError, match=f"^{forgotten}: a probe returned a NoneType"):
        network()(SRC, TGT, probe=lambda name, value: None if name == forgotten else value)
