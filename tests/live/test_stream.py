"""A streamed training gives the weights of a plain one, and its events report that training."""

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
from transformer.live import snapshots as module
from transformer.live import stream as session
from transformer.live.job import Job
from transformer.live.snapshots import MAX_SNAPSHOTS
from transformer.live.stream import live
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.portable import load_portable
from transformer.training import Progress, TrainingConfig, evaluate, measure, output_limit, seeded_model, train

from ..networks import is_clear
from . import test_plan

pytestmark = pytest.mark.slow

TINY: dict[str, Any] = {"d_model": 8, "n_heads": 2, "layers": 1, "d_ff": 16, "dropout": 0.2}
TINY |= {"steps": 8, "batch_size": 2, "schedule": "constant", "learning_rate": 0.01, "seed": 7}
LIVE, DEFERRED = 1e9, -1.0  # shares: every due snapshot is taken at its step, or at the end from a copy


def job(corpus: str = "own", /, **changes: Any) -> Job:
    """A job that a busy machine may take long for."""
    return replace(test_plan.job(test_plan.question(corpus, **(TINY | changes))), seconds=10**6)


def watched(job: Job, file: Path, stopped: Callable[[], bool] = lambda: False) -> list[dict[str, Any]]:
    """All events, through JSON as a client receives them."""
    return [json.loads(json.dumps(event, allow_nan=False)) for event in live(job, file, stopped)]


def of(kind: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] == kind]


def one(kind: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    (event,) = of(kind, events)
    return event


def after(steps: int) -> Callable[[], bool]:
    """Stops the training after this many steps."""
    calls = iter(range(1, 10**9))
    return lambda: next(calls) >= steps


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference training runs on the CPU, too."""
    monkeypatch.setenv(ENVIRONMENT, "cpu")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


@pytest.fixture(params=[LIVE, DEFERRED], ids=["live", "deferred"])
def share(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(session, "SNAPSHOT_SHARE", request.param)
    monkeypatch.setattr(session, "TRANSLATION_SECONDS", math.inf)  # none takes the place of a snapshot
    return request.param


def data_of(job: Job) -> tuple[Vocabulary, Vocabulary, Callable[..., Batch]]:
    source, target = (Vocabulary(words, folds=True) for words in (job.source_words, job.target_words))
    longest = job.source_length if job.pad_source else 0
    return source, target, lambda pairs: encode_pairs(pairs, source, target, longest)


def plain(job: Job) -> Iterator[tuple[Progress | None, Checkpoint]]:
    """A training without a stream: before its first step, and after each."""
    source, target, batch = data_of(job)
    torch.set_num_threads(job.threads)  # as the stream does: sums of several threads round otherwise
    config = TrainingConfig(**job.training)
    model = seeded_model(TransformerConfig(**job.model), config.seed)
    longest = output_limit(batch([*job.pairs, *job.held_out]).target_length, model.config)
    checkpoint = Checkpoint(model, source, target, job.source_length, longest, job.pad_source)
    model.eval()
    yield None, checkpoint
    for progress in train(model, batch(job.pairs), config):
        model.eval()  # `train` restores training mode at every step
        yield progress, checkpoint


def trained_alone(job: Job, steps: int | None = None) -> Checkpoint:
    for progress, checkpoint in plain(job):
        found = checkpoint
        if progress and progress.step == steps:
            break
    return found


def same_weights(one: Transformer, two: Transformer) -> bool:
    ours, theirs = (dict(model.named_parameters()) for model in (one, two))
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def maps(sent: dict[str, Any]) -> np.ndarray:
    """(layers, heads, queries, keys)"""
    shape = sent["layers"], sent["heads"], len(sent["queries"]), len(sent["keys"])
    return np.frombuffer(base64.b64decode(sent["weights"]), "<u2").reshape(shape) / 65535


# A whole training


def assert_shows(frame: dict[str, Any], checkpoint: Checkpoint, job: Job) -> None:
    """A snapshot has the runs of these weights."""
    translator = Translator(checkpoint, "")
    runs = {"free": translator.translate(job.watch)}
    runs["forced"] = translator.translate(job.watch, forced=[*job.reference.split(), END])
    for name, run in runs.items():
        if not is_clear(step.candidates.distribution for step in run.steps):
            continue
        sent = frame[name]
        assert tuple(frame["source"]) == run.source
        assert (tuple(sent["output"]), tuple(sent["decoder_input"])) == (run.output, run.decoder_input)
        assert sent["text"] == run.text
        assert sent["probabilities"] == pytest.approx([step.probability for step in run.steps], abs=1e-4)
        for kind in KINDS:
            sent_maps, expected = frame["encoder"] if kind == "encoder" else sent[kind], run.attention.of(kind)
            np.testing.assert_allclose(maps(sent_maps), np.stack([m.weights for m in expected]), rtol=0, atol=1e-5)
            assert sent_maps["allowed"] == expected[0].allowed.tolist()
            assert tuple(sent_maps["queries"]) == expected[0].query_tokens
            assert tuple(sent_maps["keys"]) == expected[0].key_tokens


@pytest.mark.parametrize(
    ("share", "corpus", "changes"),
    [
        (LIVE, "own", {"steps": 1}),
        (LIVE, "own", {"steps": 40, "dropout": 0.0, "label_smoothing": 0.1, "schedule": "one-cycle"}),
        (DEFERRED, "own", {"steps": 40, "dropout": 0.2}),
        (DEFERRED, "own", {"tie_weights": True, "norm_first": True, "schedule": "warmup", "warmup_steps": 5}),
        (DEFERRED, "own", {"positional_encoding": False, "held_out": 0.4}),
        (LIVE, "classroom", {"steps": 3, "held_out": 0.3}),
    ],
    indirect=["share"],
)
def test_watching_reports_a_training_and_changes_nothing_of_it(
    corpus: str, changes: dict[str, Any], share: float, file: Path
) -> None:
    asked = job(corpus, **changes)
    steps = asked.training["steps"]
    events = watched(asked, file)
    shown = "(snapshot held_out )" if asked.held_out else "(snapshot )"
    order = "".join(f"{event['event']} " for event in events)
    assert re.fullmatch(f"started snapshot (progress |translation |{shown})*progress ended trained {shown}+", order)

    in_order = [event["step"] for event in of("snapshot", events)]
    frames = {event["step"]: event for event in of("snapshot", events)}
    assert len(frames) == len(in_order) == min(MAX_SNAPSHOTS, steps + 1)
    assert (in_order[0], max(in_order)) == (0, steps)
    later = [event["step"] for event in of("snapshot", events[events.index(one("trained", events)) :])]
    assert later == [steps, *sorted(later[1:])]  # the last one comes first
    assert len(later) == (len(frames) - 1 if share == DEFERRED else 1)
    measured = {event["step"]: (event["loss"], event["accuracy"]) for event in of("held_out", events)}
    assert measured.keys() == (frames.keys() - {0} if asked.held_out else set())

    points, (_, _, batch) = [], data_of(asked)
    for progress, checkpoint in plain(asked):
        step = progress.step if progress else 0
        if progress:
            points.append([step, progress.loss, progress.token_accuracy])
        if step in frames:
            assert_shows(frames[step], checkpoint, asked)
        if step in measured:
            assert measured[step] == pytest.approx(
                measure(checkpoint.model, batch(asked.held_out[: session.MONITORED])), abs=1e-5
            )
    assert [point for event in of("progress", events) for point in event["points"]] == points
    assert same_weights(load_portable(file).checkpoint.model, checkpoint.model)


# The events


def test_the_first_event_describes_the_training_and_progress_its_remaining_time(file: Path) -> None:
    asked = job()
    everything = watched(asked, file)
    assert everything[0] == {
        "event": "started",
        "steps": 8,
        "uniform": math.log(len(asked.target_words)),
        "parameters": sum(values.numel() for values in trained_alone(asked, 1).model.parameters()),
        "watch": "Guten Morgen!",
        "reference": "Good morning !",
    }
    assert of("held_out", everything) == []  # no pair is held out by default
    assert one("trained", everything)["scores"]["held_out"] is None
    unknown = watched(job(watch="Danke Morgen"), file)
    assert unknown[0]["reference"] is None
    assert {str(frame["forced"]) for frame in of("snapshot", unknown)} == {"None"}
    events = of("progress", everything)
    assert all(event["seconds"] > 0 for event in events)
    assert [event["left"] > 0 for event in events] == [event["points"][-1][0] < 8 for event in events]


def test_translations_are_sent_between_the_snapshots(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SNAPSHOT_SHARE", LIVE)
    monkeypatch.setattr(session, "TRANSLATION_SECONDS", 0)
    asked = job(steps=40)
    events = watched(asked, file)
    translations = {event["step"]: event for event in events if event["event"] in ("translation", "snapshot")}
    assert sorted(translations) == list(range(41))
    for progress, checkpoint in plain(asked):
        run, step = Translator(checkpoint, "").translate(asked.watch), progress.step if progress else 0
        sent = translations[step] if translations[step]["event"] == "translation" else translations[step]["free"]
        if is_clear(each.candidates.distribution for each in run.steps):
            assert tuple(sent["output"]) == run.output
            assert sent["probabilities"] == pytest.approx([each.probability for each in run.steps], abs=1e-4)


# The model and its scores


def test_the_file_records_its_training(file: Path) -> None:
    asked = job(held_out=0.4)
    expected = trained_alone(asked)
    for event in live(asked, file):
        if event["event"] == "trained":
            assert event["file"] == str(file)
            made = load_portable(file)
            file.unlink()
    assert not file.exists()  # it is complete at its event, and not written again
    assert (made.name, made.corpus, made.pairs) == (asked.name, "own", asked.pairs)
    assert made.training == asked.training | {"held_out_pairs": 1, "steps_taken": 8}
    assert made.checkpoint.model.config == expected.model.config
    assert made.checkpoint.output_limit == expected.output_limit
    assert (made.checkpoint.src_vocab, made.checkpoint.tgt_vocab) == (expected.src_vocab, expected.tgt_vocab)
    assert (made.checkpoint.source_length, made.checkpoint.pad_source) == (asked.source_length, asked.pad_source)
    assert "2 sentence pairs to learn from (own), 1 held out." in made.card
    for row in ("| seed | 7 |", "| d_model | 8 |", "| held_out: loss | ", "| trained | 8 steps in "):
        assert row in made.card


def test_scores_are_those_of_the_model(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = job(held_out=0.4, dropout=0.0, steps=60, learning_rate=0.03)
    monkeypatch.setattr(module, "MAX_SNAPSHOTS", 2)
    scores = one("trained", watched(asked, file))["scores"]
    model, (_, target, batch) = trained_alone(asked).model, data_of(asked)
    for name, pairs in (("training", asked.pairs), ("held_out", asked.held_out)):
        expected = evaluate(model, batch(pairs), target.ids[START], target.ids[END])
        assert scores[name] == vars(expected) | {"sentences": len(pairs)}
    assert scores["training"]["exact_match"] == 1


# The end


def test_a_stop_ends_the_training_after_its_step_and_saves_the_model(share: float, file: Path) -> None:
    asked, steps = job(), 7
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


def test_the_time_limit_ends_the_training_and_saves_the_model(file: Path) -> None:
    last_step = watched(replace(job(steps=1), seconds=0), file, lambda: True)
    assert one("ended", last_step)["why"] == "steps"
    endless = job(steps=10_000)
    events = watched(replace(endless, seconds=0), file, lambda: True)
    assert (one("ended", events)["step"], one("ended", events)["why"]) == (1, "time")
    assert one("trained", events)["why"] == "time"
    assert max(event["step"] for event in of("snapshot", events)) == 1
    assert same_weights(load_portable(file).checkpoint.model, trained_alone(endless, 1).model)


@pytest.mark.parametrize("steps", [1, 8])
def test_a_diverged_training_is_an_error_and_leaves_no_file(steps: int, file: Path) -> None:
    high = job(steps=steps, held_out=0.4)
    events = watched(replace(high, training=high.training | {"learning_rate": 1e30}), file)
    error = one("error", events)
    assert error == events[-1]
    assert error["message"]["key"] == "train.diverged"
    assert error["message"]["values"] == {"step": min(steps, 2)}
    assert of("trained", events) == []
    assert [event["step"] for event in of("snapshot", events)] == [0]
    assert not file.exists()


def test_a_full_disk_is_an_error_and_leaves_no_partial_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(*_: Any) -> None:
        file.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(session, "save_portable", half)
    *_, last = watched(job(), file)
    assert (last["event"], last["message"]["key"]) == ("error", "train.no_space")
    assert not file.exists()


def test_a_closed_stream_leaves_no_file(file: Path) -> None:
    events: Any = live(job(), file)
    assert next(events)["event"] == "started"
    assert next(events)["event"] == "snapshot"
    events.close()
    assert not file.exists()
