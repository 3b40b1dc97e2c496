"""Frames of a model that learns are of its weights at that step, and taking them leaves no trace."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer import Translator
from transformer.data.vocabulary import SentenceError
from transformer.inference.attention_maps import KINDS
from transformer.inference.translator import Translation
from transformer.live import snapshots as film
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
    """As if a step had been taken."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for values in checkpoint.model.parameters():
            values.add_(torch.randn_like(values) * 0.1)


def same(one: Translation | None, two: Translation | None) -> bool:
    if one is None or two is None:
        return one is two
    maps = [zip(one.attention.of(kind), two.attention.of(kind), strict=True) for kind in KINDS]
    alike = all((ours.weights == theirs.weights).all() for layers in maps for ours, theirs in layers)
    return (one.output, one.steps) == (two.output, two.steps) and alike


def by_hand(checkpoint: Checkpoint) -> tuple[Translation, Translation]:
    model = checkpoint.model
    mode = model.training
    translator = Translator(Checkpoint(**(vars(checkpoint) | {"model": model.eval()})), "")
    found = translator.translate(WATCH), translator.translate(WATCH, forced=[*RIGHT.split(), "E"])
    model.train(mode)
    return found


def test_a_frame_has_what_a_translator_makes_of_the_weights_of_now(checkpoint: Checkpoint) -> None:
    taken = recorder(checkpoint)
    for step in range(3):
        frame = taken.take(step)
        free, forced = by_hand(checkpoint)
        assert frame.step == step
        assert same(frame.free, free)
        assert same(frame.forced, forced)
        assert same(taken.translate(), free)
        changed(checkpoint, step)


def test_the_first_frame_is_of_the_untrained_model(checkpoint: Checkpoint) -> None:
    free, forced = by_hand(checkpoint)
    taken = recorder(checkpoint)
    changed(checkpoint, 1)
    assert taken.first.step == 0
    assert same(taken.first.free, free)
    assert same(taken.first.forced, forced)


def test_forced_rows_are_the_references_words(checkpoint: Checkpoint) -> None:
    forced = recorder(checkpoint).first.forced
    assert forced.decoder_input == ("S", "wort3", "wort4")
    assert forced.output == ("wort3", "wort4", "E")


def test_without_a_reference_nothing_is_forced(checkpoint: Checkpoint) -> None:
    assert recorder(checkpoint, right=None).take(3).forced is None


@pytest.mark.parametrize("training", [True, False])
def test_looking_changes_no_weight_no_mode_and_no_random_number(checkpoint: Checkpoint, training: bool) -> None:
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


def test_what_is_developed_later_is_what_would_have_been_seen(checkpoint: Checkpoint) -> None:
    taken, seen = recorder(checkpoint), {}
    for step in (2, 5, 9):
        changed(checkpoint, step)
        seen[step] = taken.take(step)
        taken.defer(step)
    changed(checkpoint, 10)
    frames: Iterator[Snapshot] = taken.deferred()
    for step in (2, 5, 9):
        frame = next(frames)
        assert frame.step == step
        assert same(frame.free, seen[step].free)
        assert same(frame.forced, seen[step].forced)
        assert same(frame.free, by_hand(checkpoint)[0])  # the model is that of the frame
    assert next(frames, None) is None


def test_copies_take_no_more_room_than_there_is(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(values.nbytes for values in checkpoint.model.parameters())
    monkeypatch.setattr(film, "MAX_COPY_BYTES", 3 * size - 1)
    taken = recorder(checkpoint)
    for step in range(5):
        taken.defer(step)
    assert [frame.step for frame in taken.deferred()] == [0, 1]


def test_a_copy_of_tied_weights_is_developed_too() -> None:
    tied = small(tie_weights=True, tgt_vocab_size=11)
    taken = recorder(tied)
    changed(tied, 1)
    taken.defer(1)
    now = taken.take(1)
    changed(tied, 2)
    (developed,) = taken.deferred()
    assert same(developed.free, now.free)
    assert tied.model.src_embedding.weight is tied.model.output_projection.weight


@given(st.integers(1, 200) | st.integers(1, 100_000))
def test_frames_are_between_the_first_and_the_last_and_not_too_many(steps: int) -> None:
    taken = recorder(CHECKPOINT, steps)
    due = sorted(taken.due)
    assert all(0 < step < steps for step in due)
    assert len(due) == min(MAX_SNAPSHOTS, steps + 1) - 2  # besides the first and the last


CHECKPOINT = small()


def test_frames_stand_close_in_the_beginning_and_apart_later() -> None:
    due = [0, *sorted(recorder(CHECKPOINT, 1000).due), 1000]
    gaps = [after - before for before, after in pairwise(due)]
    assert gaps[0] == 1
    assert gaps[-1] > 50
    assert all(after >= before - 1 for before, after in pairwise(gaps))


def test_large_maps_have_few_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    first = recorder(CHECKPOINT).first
    assert first.forced
    weights = sum(
        int(m.weights.size) for run in (first.free, first.forced) for kind in KINDS for m in run.attention.of(kind)
    )
    for most, frames in ((10 * weights, 10), (10 * weights - 1, 9), (2 * weights, 2), (weights, 2), (1, 2)):
        monkeypatch.setattr(film, "MAX_WEIGHTS", most)
        assert len(recorder(CHECKPOINT).due) == frames - 2


@pytest.mark.parametrize("watch", ["", "wasser", "wort1 " * 6])
def test_a_sentence_that_the_model_cannot_take_is_refused(watch: str) -> None:
    with pytest.raises(SentenceError):
        SnapshotRecorder(CHECKPOINT, watch, None, 10)
