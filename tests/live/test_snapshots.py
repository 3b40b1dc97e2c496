"""Snapshots of a training show the weights of their step, and taking them changes nothing."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer import Translator
from transformer.data.vocabulary import SentenceError
from transformer.inference.attention_maps import KINDS
from transformer.inference.translator import Translation
from transformer.live import snapshots as module
from transformer.live.snapshots import MAX_SNAPSHOTS, Snapshot, SnapshotRecorder
from transformer.storage.checkpoint import Checkpoint

from ..models import small

WATCH, RIGHT = "wort1 wort2 wort0", "wort3 wort4"


@pytest.fixture
def checkpoint() -> Checkpoint:
    return small(dropout=0.5)


def recorder(checkpoint: Checkpoint, steps: int = 100, right: str | None = RIGHT) -> SnapshotRecorder:
    return SnapshotRecorder(checkpoint, WATCH, right, steps)


def changed(checkpoint: Checkpoint, seed: int) -> None:
    """Change the weights as a step of training would."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for values in checkpoint.model.parameters():
            values.add_(torch.randn_like(values) * 0.1)


def same(one: Translation | None, two: Translation | None) -> bool:
    """Up to rounding, which may differ where weights lie elsewhere in memory."""
    if one is None or two is None:
        return one is two
    maps = (pair for kind in KINDS for pair in zip(one.attention.of(kind), two.attention.of(kind), strict=True))
    return one.output == two.output and all(np.allclose(a.weights, b.weights, atol=1e-5) for a, b in maps)


def expected(checkpoint: Checkpoint) -> tuple[Translation, Translation]:
    model = checkpoint.model
    mode = model.training
    translator = Translator(Checkpoint(**(vars(checkpoint) | {"model": model.eval()})), "")
    found = translator.translate(WATCH), translator.translate(WATCH, forced=[*RIGHT.split(), "E"])
    model.train(mode)
    return found


def test_a_snapshot_is_a_translation_with_the_current_weights(checkpoint: Checkpoint) -> None:
    taken = recorder(checkpoint)
    for step in range(3):
        frame, (free, forced) = taken.take(step) if step else taken.first, expected(checkpoint)
        assert frame.step == step
        assert same(frame.free, free)
        assert same(frame.forced, forced)
        assert same(taken.translate(), free)
        changed(checkpoint, step)
    assert (forced.decoder_input, forced.output) == (("S", "wort3", "wort4"), ("wort3", "wort4", "E"))
    assert recorder(checkpoint, right=None).take(3).forced is None


@pytest.mark.parametrize("training", [True, False])
def test_snapshots_change_no_weight_no_mode_and_no_random_state(checkpoint: Checkpoint, training: bool) -> None:
    model = checkpoint.model.train(training)
    before, state = {name: value.clone() for name, value in model.state_dict().items()}, torch.get_rng_state()
    taken = recorder(checkpoint)
    taken.take(1)
    taken.translate()
    taken.defer(1)
    assert model.training is training
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(values.requires_grad for values in model.parameters())


def test_a_deferred_snapshot_equals_a_live_one(checkpoint: Checkpoint) -> None:
    taken, live = recorder(checkpoint), {}
    for step in (2, 5, 9):
        changed(checkpoint, step)
        live[step] = taken.take(step)
        taken.defer(step)
    changed(checkpoint, 10)
    frames: Iterator[Snapshot] = taken.deferred()
    for step in (2, 5, 9):
        frame = next(frames)
        assert frame.step == step
        assert same(frame.free, live[step].free)
        assert same(frame.forced, live[step].forced)
        assert same(frame.free, expected(checkpoint)[0])  # the model holds the snapshot's weights
    assert next(frames, None) is None


def test_deferred_copies_stay_within_their_memory_limit(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(values.nbytes for values in checkpoint.model.parameters())
    monkeypatch.setattr(module, "MAX_COPY_BYTES", 3 * size - 1)
    taken = recorder(checkpoint)
    for step in range(5):
        taken.defer(step)
    assert [frame.step for frame in taken.deferred()] == [0, 1]


def test_a_deferred_snapshot_of_tied_weights_keeps_them_tied() -> None:
    tied = small(tie_weights=True, tgt_vocab_size=11)
    taken = recorder(tied)
    changed(tied, 1)
    taken.defer(1)
    now = taken.take(1)
    changed(tied, 2)
    (deferred,) = taken.deferred()
    assert same(deferred.free, now.free)
    assert tied.model.src_embedding.weight is tied.model.output_projection.weight


@given(st.integers(1, 200) | st.integers(1, 100_000))
@settings(max_examples=10)
def test_due_steps_lie_between_first_and_last_and_are_limited(steps: int) -> None:
    taken = recorder(CHECKPOINT, steps)
    due = sorted(taken.due)
    assert all(0 < step < steps for step in due)
    assert len(due) == min(MAX_SNAPSHOTS, steps + 1) - 2  # besides the first and the last
    runs = (taken.first.free, taken.first.forced)
    sizes: list[int] = [m.weights.size for run in runs for kind in KINDS for m in run.attention.of(kind)]
    weights = sum(sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_WEIGHTS", 10 * weights)  # large maps have few
        assert len(recorder(CHECKPOINT, steps).due) == min(10, steps + 1) - 2


CHECKPOINT = small()


def test_snapshots_are_dense_at_first_and_sparse_later() -> None:
    due = [0, *sorted(recorder(CHECKPOINT, 1000).due), 1000]
    gaps = [after - before for before, after in pairwise(due)]
    assert gaps[0] == 1
    assert gaps[-1] > 50
    assert all(after >= before - 1 for before, after in pairwise(gaps))


@pytest.mark.parametrize("watch", ["", "wasser", "wort1 " * 6])
def test_an_unusable_sentence_is_refused(watch: str) -> None:
    with pytest.raises(SentenceError):
        SnapshotRecorder(CHECKPOINT, watch, None, 10)
