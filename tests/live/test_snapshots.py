"""Snapshots of a training are spread over its steps within a bounded memory. What they show is in test_stream.py."""

from itertools import pairwise

import pytest

from transformer.live import snapshots as module
from transformer.live.snapshots import MAX_SNAPSHOTS, SnapshotRecorder

from ..models import small

WATCH, RIGHT = "wort1 wort2 wort0", "wort3 wort4"
CHECKPOINT = small()


def test_deferred_copies_stay_within_their_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(values.nbytes for values in CHECKPOINT.model.parameters())
    monkeypatch.setattr(module, "MAX_COPY_BYTES", 3 * size - 1)
    taken = SnapshotRecorder(CHECKPOINT, WATCH, RIGHT, 100)
    for step in range(5):
        taken.defer(step)
    assert [frame.step for frame in taken.deferred()] == [0, 1]


@pytest.mark.parametrize("steps", [1, 30, 1000])
def test_due_steps_are_limited_dense_at_first_and_sparse_later(steps: int) -> None:
    taken = SnapshotRecorder(CHECKPOINT, WATCH, RIGHT, steps)
    assert len(taken.due) == min(MAX_SNAPSHOTS, steps + 1) - 2  # besides the first and the last
    due = [0, *sorted(taken.due), steps]
    gaps = [after - before for before, after in pairwise(due)]
    assert gaps[0] == 1
    assert all(after >= before - 1 for before, after in pairwise(gaps))
