"""A training that is watched is the training alone, and its events say what really happened."""

import base64
import errno
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from transformer import Transformer, TransformerConfig, Translator, Vocabulary
from transformer.data import Batch, encode_pairs
from transformer.data.vocabulary import END, START
from transformer.inference.attention_maps import KINDS
from transformer.inference.device import ENVIRONMENT
from transformer.live import snapshots as film
from transformer.live import stream as session
from transformer.live.job import Job
from transformer.live.snapshots import MAX_SNAPSHOTS
from transformer.live.stream import Event, live
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.portable import load_portable
from transformer.training import Progress, TrainingConfig, evaluate, measure, output_limit, seeded_model, train

from . import test_plan

TINY: dict[str, Any] = {"d_model": 8, "n_heads": 2, "layers": 1, "d_ff": 16, "dropout": 0.2}
TINY |= {"steps": 8, "batch_size": 2, "schedule": "constant", "learning_rate": 0.01, "seed": 7}
ONCE, LATER = 1e9, -1.0  # shares: every frame that is due is taken at once, or from a copy in the end


def job(corpus: str = "own", /, **changes: Any) -> Job:
    return test_plan.job(test_plan.question(corpus, **(TINY | changes)))


def watched(job: Job, file: Path, stopped: Callable[[], bool] = lambda: False) -> list[Event]:
    """All events, as they are sent."""
    return [json.loads(json.dumps(event, allow_nan=False)) for event in live(job, file, stopped)]


def of(kind: str, events: list[Event]) -> list[Event]:
    return [event for event in events if event["event"] == kind]


def one(kind: str, events: list[Event]) -> Event:
    (event,) = of(kind, events)
    return event


def after(steps: int) -> Callable[[], bool]:
    """Says stop when it is asked the so-many-th time, and from then on."""
    asked = iter(range(1, 10**9))
    return lambda: next(asked) >= steps


@pytest.fixture(autouse=True)
def _on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the training alone is, too."""
    monkeypatch.setenv(ENVIRONMENT, "cpu")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


@pytest.fixture(params=[ONCE, LATER], ids=["at once", "later"])
def share(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(session, "SNAPSHOT_SHARE", request.param)
    return request.param


def data_of(job: Job) -> tuple[Vocabulary, Vocabulary, Callable[..., Batch]]:
    source, target = Vocabulary(job.source_words), Vocabulary(job.target_words)
    longest = job.source_length if job.pad_source else 0
    return source, target, lambda pairs: encode_pairs(pairs, source, target, longest)


def alone(job: Job) -> Iterator[tuple[Progress | None, Checkpoint]]:
    """The same training without anybody who watches: before its first step, and after each."""
    source, target, batch = data_of(job)
    config = TrainingConfig(**job.training)
    model = seeded_model(TransformerConfig(**job.model), config.seed)
    longest = output_limit(batch([*job.pairs, *job.held_out]).target_length, model.config)
    checkpoint = Checkpoint(model, source, target, job.source_length, longest, job.pad_source)
    yield None, checkpoint
    for progress in train(model, batch(job.pairs), config):
        yield progress, checkpoint


def trained_alone(job: Job, steps: int | None = None) -> Checkpoint:
    for progress, checkpoint in alone(job):
        found = checkpoint
        if progress and progress.step == steps:
            break
    return found


def weights(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: value.detach() for name, value in model.named_parameters()}


def same_weights(one: Transformer, two: Transformer) -> bool:
    ours, theirs = weights(one), weights(two)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def maps(sent: dict[str, Any]) -> np.ndarray:
    """(layers, heads, queries, keys)"""
    shape = sent["layers"], sent["heads"], len(sent["queries"]), len(sent["keys"])
    return np.frombuffer(base64.b64decode(sent["weights"]), "<u2").reshape(shape) / 65535


NETWORKS: list[dict[str, Any]] = [
    {},
    {"dropout": 0.0, "label_smoothing": 0.1, "schedule": "one-cycle"},
    {"tie_weights": True},
    {"norm_first": True, "schedule": "warmup", "warmup_steps": 5},
    {"positional_encoding": False, "held_out": 0.4},
]


# Its events


@pytest.mark.parametrize("held_out", [0, 0.4])
def test_events_come_in_the_order_that_is_promised(share: float, held_out: float, file: Path) -> None:
    events = watched(job(held_out=held_out), file)
    letters = {
        "started": "S",
        "progress": "p",
        "says": "w",
        "held_out": "h",
        "snapshot": "f",
        "ended": "E",
        "trained": "T",
    }
    order = "".join(letters[event["event"]] for event in events)
    look = "fh" if held_out else "f"
    assert re.fullmatch(f"Sf(p|w|{look})*pE T{look}({look})*".replace(" ", ""), order)


def test_it_begins_with_what_is_trained(file: Path) -> None:
    asked = job()
    assert watched(asked, file)[0] == {
        "event": "started",
        "steps": 8,
        "uniform": math.log(len(asked.target_words)),
        "parameters": sum(values.numel() for values in trained_alone(asked, 1).model.parameters()),
        "watch": "Guten Morgen!",
        "reference": "good morning !",
    }


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2, 40])
def test_every_step_is_a_point_once_and_in_order(steps: int, share: float, file: Path) -> None:
    asked = job(steps=steps)
    points = [point for event in of("progress", watched(asked, file)) for point in event["points"]]
    assert points == [[p.step, p.loss, p.token_accuracy] for p, _ in alone(asked) if p]
    assert [point[0] for point in points] == list(range(1, steps + 1))


def test_progress_tells_how_long_it_takes(file: Path) -> None:
    events = of("progress", watched(job(), file))
    assert all(event["seconds"] > 0 for event in events)
    assert [event["left"] > 0 for event in events] == [event["points"][-1][0] < 8 for event in events]


def test_what_it_says_is_told_between_the_frames(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SNAPSHOT_SHARE", ONCE)
    monkeypatch.setattr(session, "TRANSLATION_SECONDS", 0)
    asked = job(steps=40)
    events = watched(asked, file)
    looks = {event["step"]: event for event in events if event["event"] in ("says", "snapshot")}
    assert sorted(looks) == list(range(41))
    for progress, checkpoint in alone(asked):
        run, step = Translator(evaluated(checkpoint), "").translate(asked.watch), progress.step if progress else 0
        said = looks[step] if looks[step]["event"] == "says" else looks[step]["free"]
        assert tuple(said["output"]) == run.output
        assert said["probabilities"] == [round(each.probability, 4) for each in run.steps]


def evaluated(checkpoint: Checkpoint) -> Checkpoint:
    checkpoint.model.eval()  # training puts it back into its mode at every step
    return checkpoint


# Its model


@pytest.mark.parametrize("changes", NETWORKS)
def test_watching_changes_no_weight(changes: dict[str, Any], share: float, file: Path) -> None:
    asked = job(**changes)
    watched(asked, file)
    assert same_weights(load_portable(file).checkpoint.model, trained_alone(asked).model)


@pytest.mark.slow
def test_the_classrooms_training_is_not_changed_either(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SNAPSHOT_SHARE", ONCE)
    asked = job("classroom", steps=3, held_out=0.3)
    watched(asked, file)
    after = load_portable(file)
    assert same_weights(after.checkpoint.model, trained_alone(asked).model)
    assert after.checkpoint.pad_source is False
    assert after.pairs == asked.pairs


def test_the_file_tells_how_it_was_made(file: Path) -> None:
    asked = job(held_out=0.4)
    end = one("trained", watched(asked, file))
    made, expected = load_portable(file), trained_alone(asked)
    assert (made.name, made.corpus, made.pairs) == (asked.name, "own", asked.pairs)
    assert made.training == asked.training | {"held_out_pairs": 1, "steps_taken": 8}
    assert made.checkpoint.model.config == expected.model.config
    assert made.checkpoint.output_limit == expected.output_limit
    assert (made.checkpoint.src_vocab, made.checkpoint.tgt_vocab) == (expected.src_vocab, expected.tgt_vocab)
    assert (made.checkpoint.source_length, made.checkpoint.pad_source) == (asked.source_length, asked.pad_source)
    assert end["file"] == str(file)
    assert "2 sentence pairs to learn from (own), 1 held out." in made.card
    for row in ("| seed | 7 |", "| d_model | 8 |", "| held_out: loss | ", "| trained | 8 steps in "):
        assert row in made.card


def test_the_file_is_whole_when_its_event_comes(file: Path) -> None:
    for event in live(job(), file):
        if event["event"] == "trained":
            assert same_weights(load_portable(file).checkpoint.model, trained_alone(job()).model)
            file.unlink()
    assert not file.exists()  # and is not touched again


# Its frames


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"tie_weights": True, "norm_first": True}, {"steps": 40}])
def test_every_frame_is_of_the_weights_of_its_step(
    changes: dict[str, Any], share: float, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SNAPSHOT_SECONDS", 1e9)  # or a slow machine is shown more of them
    asked = job(**changes)
    frames = {event["step"]: event for event in of("snapshot", watched(asked, file))}
    assert len(frames) == min(MAX_SNAPSHOTS, asked.training["steps"] + 1)  # none is left out
    for progress, checkpoint in alone(asked):
        if frame := frames.pop(progress.step if progress else 0, None):
            translator = Translator(evaluated(checkpoint), "")
            runs = {"free": translator.translate(asked.watch)}
            runs["forced"] = translator.translate(asked.watch, forced=[*asked.reference.split(), END])
            for name, run in runs.items():
                sent = frame[name]
                assert tuple(sent["output"]) == run.output
                assert tuple(sent["decoder_input"]) == run.decoder_input
                assert sent["text"] == run.text
                assert sent["probabilities"] == [round(step.probability, 4) for step in run.steps]
                assert tuple(frame["source"]) == run.source
                for kind in KINDS:
                    drawn = frame["encoder"] if kind == "encoder" else sent[kind]
                    whole = np.stack([each.weights for each in run.attention.of(kind)])
                    np.testing.assert_allclose(maps(drawn), whole, rtol=0, atol=0.8e-5)
                    assert drawn["allowed"] == run.attention.of(kind)[0].allowed.tolist()
                    assert tuple(drawn["queries"]) == run.attention.of(kind)[0].query_tokens
                    assert tuple(drawn["keys"]) == run.attention.of(kind)[0].key_tokens
    assert frames == {}


@pytest.mark.parametrize("steps", [1, 2, 3, 31, 35])
def test_frames_are_of_the_first_and_the_last_step_and_of_none_twice(steps: int, share: float, file: Path) -> None:
    found = [event["step"] for event in of("snapshot", watched(job(steps=steps), file))]
    assert len(set(found)) == len(found) <= MAX_SNAPSHOTS
    assert found[0] == 0
    assert max(found) == steps


def test_after_the_training_the_last_frame_is_the_first_to_come(share: float, file: Path) -> None:
    events = watched(job(steps=40), file)
    later = [event["step"] for event in events[events.index(one("trained", events)) + 1 :]]
    assert later[0] == 40
    assert later[1:] == sorted(later[1:])
    assert (len(later) == 31) == (share == LATER)


def test_rows_sum_to_1_and_look_only_where_they_may(file: Path) -> None:
    for frame in of("snapshot", watched(job("toy", watch="ich ein"), file)):  # with padding
        for sent in (frame["encoder"], frame["free"]["decoder"], frame["free"]["cross"]):
            weights, allowed = maps(sent), np.array(sent["allowed"])
            np.testing.assert_allclose(weights.sum(-1), 1, rtol=0, atol=len(sent["keys"]) / 65535)
            assert allowed.size == 1 or not allowed.all()
            assert (weights[..., ~allowed] == 0).all()


def test_forced_rows_are_the_words_of_the_reference(file: Path) -> None:
    for frame in of("snapshot", watched(job(), file)):
        assert frame["forced"]["decoder_input"] == ["S", "good", "morning", "!"]
        assert frame["forced"]["output"] == ["good", "morning", "!", "E"]
        assert frame["forced"]["cross"]["queries"] == ["S", "good", "morning", "!"]


def test_without_a_reference_nothing_is_forced(file: Path) -> None:
    events = watched(job(watch="Danke Morgen"), file)
    assert events[0]["reference"] is None
    assert {str(frame["forced"]) for frame in of("snapshot", events)} == {"None"}


# What it scores


@pytest.mark.parametrize("held_out", [0, 0.4])
def test_scores_are_those_of_the_model(held_out: float, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = job(held_out=held_out, dropout=0.0, steps=60, learning_rate=0.03)
    monkeypatch.setattr(film, "MAX_SNAPSHOTS", 2)
    scores = one("trained", watched(asked, file))["scores"]
    model, (_, target, batch) = trained_alone(asked).model, data_of(asked)
    for name, pairs in (("training", asked.pairs), ("held_out", asked.held_out)):
        if not pairs:
            assert scores[name] is None
            continue
        expected = evaluate(model, batch(pairs), target.ids[START], target.ids[END])
        assert scores[name] == vars(expected) | {"sentences": len(pairs)}
    assert scores["training"]["exact_match"] == 1
    assert (scores["held_out"] is None) == (held_out == 0)


def test_held_out_pairs_are_measured_at_every_frame(share: float, file: Path) -> None:
    asked = job(held_out=0.4)
    events = watched(asked, file)
    measured = {event["step"]: (event["loss"], event["accuracy"]) for event in of("held_out", events)}
    assert len(measured) == len(of("held_out", events))
    assert measured.keys() == {event["step"] for event in of("snapshot", events)} - {0}
    _, _, batch = data_of(asked)
    for progress, checkpoint in alone(asked):
        if progress and progress.step in measured:
            assert measured[progress.step] == measure(checkpoint.model, batch(asked.held_out))


def test_nothing_is_held_out_where_nobody_asked(file: Path) -> None:
    assert of("held_out", watched(job(), file)) == []


def test_of_many_sentences_some_are_measured(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SCORED", 2)
    scores = one("trained", watched(job(), file))["scores"]
    assert scores["training"]["sentences"] == 2
    monkeypatch.setattr(session, "SCORED", 20)
    monkeypatch.setattr(session, "LARGE", 1)
    scores = one("trained", watched(job(), file))["scores"]
    assert scores["training"]["sentences"] == 2


# Its end


@pytest.mark.slow
def test_it_looks_only_as_much_as_its_share_of_the_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which nothing takes time but looking: that is seldom, and what is due is kept for later."""

    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            return self.now

    def steps(*arguments: Any) -> Iterator[Progress]:
        for progress in train(*arguments):
            clock.now += 1
            yield progress

    def frame(recorder: film.SnapshotRecorder, step: int) -> film.Snapshot:
        clock.now += 5
        return taken(recorder, step)

    clock, taken = Clock(), film.SnapshotRecorder.take
    monkeypatch.setattr(session, "time", clock)
    monkeypatch.setattr(session, "train", steps)
    monkeypatch.setattr(session, "TRANSLATION_SECONDS", math.inf)  # frames alone
    monkeypatch.setattr(film.SnapshotRecorder, "take", frame)
    events = watched(replace(job(steps=200), seconds=1000), file)
    live_ones = [event["step"] for event in of("snapshot", events[: events.index(one("ended", events))])]
    assert 1 < len(live_ones) < MAX_SNAPSHOTS <= len(of("snapshot", events)) < 2 * MAX_SNAPSHOTS
    ended = one("ended", events)
    assert ended["seconds"] <= 200 * (1 + session.SNAPSHOT_SHARE) + 5


@pytest.mark.parametrize("steps", range(1, 8))
def test_a_stop_ends_it_after_the_step_and_the_model_is_kept(steps: int, share: float, file: Path) -> None:
    asked = job()
    events = watched(asked, file, after(steps))
    ended, trained = one("ended", events), one("trained", events)
    assert (ended["step"], ended["why"]) == (trained["step"], trained["why"]) == (steps, "stop")
    made = load_portable(file)
    assert same_weights(made.checkpoint.model, trained_alone(asked, steps).model)
    assert made.training["steps_taken"] == steps
    points = [point[0] for event in of("progress", events) for point in event["points"]]
    assert points == list(range(1, steps + 1))
    frames = [event["step"] for event in of("snapshot", events)]
    assert len(set(frames)) == len(frames)
    assert max(frames) == steps


def test_time_ends_it_and_the_model_is_kept(share: float, file: Path) -> None:
    endless = job(steps=10_000)
    events = watched(replace(endless, seconds=0), file, lambda: True)
    assert (one("ended", events)["step"], one("ended", events)["why"]) == (1, "time")
    assert one("trained", events)["why"] == "time"
    assert max(event["step"] for event in of("snapshot", events)) == 1
    assert same_weights(load_portable(file).checkpoint.model, trained_alone(endless, 1).model)


def test_the_last_step_is_the_end_whoever_stops_it(file: Path) -> None:
    events = watched(replace(job(steps=1), seconds=0), file, lambda: True)
    assert one("ended", events)["why"] == "steps"


@pytest.mark.parametrize("held_out", [0, 0.4])
@pytest.mark.parametrize("steps", [1, 2, 8])
def test_a_rate_that_is_much_too_high_is_told_and_nothing_is_kept(
    steps: int, held_out: float, share: float, file: Path
) -> None:
    high = job(steps=steps, held_out=held_out)
    events = watched(replace(high, training=high.training | {"learning_rate": 1e30}), file)
    error = one("error", events)
    assert error == events[-1]
    assert error["message"]["key"] == "train.diverged"
    assert error["message"]["values"] == {"step": min(steps, 2)}
    assert of("trained", events) == []
    assert [event["step"] for event in of("snapshot", events)] == [0]
    assert not file.exists()


@pytest.mark.parametrize("frames", [2, MAX_SNAPSHOTS])  # with the others, all steps are due
def test_weights_that_are_no_numbers_are_never_looked_at(
    frames: int, share: float, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a gradient had overflowed in the third step."""

    def broken(model: Transformer, *rest: Any) -> Iterator[Progress]:
        for progress in train(model, *rest):
            if progress.step == 3:
                model.src_embedding.weight.data.fill_(float("nan"))
            yield progress

    monkeypatch.setattr(film, "MAX_SNAPSHOTS", frames)
    monkeypatch.setattr(session, "TRANSLATION_SECONDS", 0)
    monkeypatch.setattr(session, "train", broken)
    events = watched(job(held_out=0.4), file)
    assert one("error", events)["message"]["values"] == {"step": 4}
    assert {event["step"] for event in events if event["event"] in ("snapshot", "translate", "held_out")} <= {0, 1, 2}
    assert not file.exists()


def test_a_full_disk_is_told_and_nothing_half_is_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(*_: Any) -> None:
        file.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(session, "save_portable", half)
    *_, last = watched(job(), file)
    assert (last["event"], last["message"]["key"]) == ("error", "train.no_room")
    assert not file.exists()


def test_half_a_stream_leaves_nothing_behind(file: Path) -> None:
    events: Any = live(job(), file)
    assert next(events)["event"] == "started"
    assert next(events)["event"] == "snapshot"
    events.close()
    assert not file.exists()
