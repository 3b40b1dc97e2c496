"""Snapshots of a training are spread over its steps within a bounded memory. What they show is in test_stream.py."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.inference.attention_maps import KINDS
from transformer.live import snapshots as module
from transformer.live.snapshots import MAX_SNAPSHOTS, SnapshotRecorder

from ..models import small

WATCH, RIGHT = "wort1 wort2 wort0", "wort3 wort4"
CHECKPOINT = small()


def recorder(steps: int = 100) -> SnapshotRecorder:
    return SnapshotRecorder(CHECKPOINT, WATCH, RIGHT, steps)


@pytest.mark.parametrize("training", [True, False])
def test_snapshots_change_neither_the_mode_nor_the_random_state(training: bool) -> None:
    checkpoint = small(dropout=0.5)
    model, state = checkpoint.model.train(training), torch.get_rng_state()
    taken = SnapshotRecorder(checkpoint, WATCH, RIGHT, 100)
    taken.take(1)
    taken.translate()
    taken.defer(1)
    assert model.training is training
    assert torch.equal(torch.get_rng_state(), state)
    assert all(values.requires_grad for values in model.parameters())


def test_deferred_copies_stay_within_their_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(values.nbytes for values in CHECKPOINT.model.parameters())
    monkeypatch.setattr(module, "MAX_COPY_BYTES", 3 * size - 1)
    taken = recorder()
    for step in range(5):
        taken.defer(step)
    assert [frame.step for frame in taken.deferred()] == [0, 1]


@given(st.integers(1, 200) | st.integers(1, 100_000))
@settings(max_examples=10)
def test_due_steps_lie_between_first_and_last_and_are_limited(steps: int) -> None:
    taken = recorder(steps)
    assert all(0 < step < steps for step in taken.due)
    assert len(taken.due) == min(MAX_SNAPSHOTS, steps + 1) - 2  # besides the first and the last
    runs = (taken.first.free, taken.first.forced)
    sizes: list[int] = [m.weights.size for run in runs for kind in KINDS for m in run.attention.of(kind)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_WEIGHTS", 10 * sum(sizes))  # large maps have few
        assert len(recorder(steps).due) == min(10, steps + 1) - 2


def test_snapshots_are_dense_at_first_and_sparse_later() -> None:
    due = [0, *sorted(recorder(1000).due), 1000]
    gaps = [after - before for before, after in pairwise(due)]
    assert gaps[0] == 1
    assert gaps[-1] > 50
    assert all(after >= before - 1 for before, after in pairwise(gaps))
