"""One training as a stream of events."""

import itertools
import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors import SafetensorError

from ..data import Batch, Pair, encode_pairs
from ..data.vocabulary import END, START, Vocabulary
from ..inference.attention_maps import AttentionMap, StackedMaps, stacked
from ..inference.device import pick_device
from ..inference.translation import Translation
from ..messages import Message
from ..network.config import TransformerConfig
from ..network.cost import count_parameters
from ..storage.checkpoint import Checkpoint
from ..storage.portable import PortableModel, save_portable
from ..training import Progress, TrainingConfig, evaluate, measure, output_limit, seeded_model, train
from .events import DecodedSnapshot, DecodedWords, End, LiveEvent, Scores, TrainedFile
from .job import Job
from .snapshots import Snapshot, SnapshotRecorder

NO_SPACE = Message("train.no_space")
SNAPSHOT_SHARE = 0.08  # at most this share of the training time goes into translations and snapshots
TRANSLATION_SECONDS, SNAPSHOT_SECONDS = 0.2, 1  # between two translations, and two snapshots
SEND_SECONDS = 0.1  # between two progress events
SCORED, LARGE = 200, 5_000_000  # sentences scored at the end; a tenth of them for a model of this many weights
MONITORED = 50  # held-out sentences whose loss is measured during training


def live(
    job: Job, file: Path, stopped: Callable[[], bool] = lambda: False, device: torch.device | None = None
) -> Iterator[LiveEvent | TrainedFile]:
    """Train, report, and write the model to `file`. Watching does not change the weights. As soon as `stopped`, which
    is called after every step, returns True, training ends, and the model is saved."""
    torch.set_num_threads(job.threads)
    src_vocab, tgt_vocab = (Vocabulary(words, folds=True) for words in (job.source_words, job.target_words))
    training, config = TrainingConfig(**job.training), TransformerConfig(**job.model)
    model = seeded_model(config, training.seed).to(device or pick_device())
    padded_to = job.source_length if job.pad_source else 0

    def batch(pairs: Sequence[Pair]) -> Batch:
        return encode_pairs(pairs, src_vocab, tgt_vocab, padded_to)

    data = batch(job.pairs)
    longest = output_limit(batch((*job.pairs, *job.held_out)).target_length, config)
    checkpoint = Checkpoint(model, src_vocab, tgt_vocab, job.source_length, longest, job.pad_source)
    yield {
        "event": "started",
        "steps": training.steps,
        "uniform": math.log(len(tgt_vocab)),
        "parameters": count_parameters(config),
        "watch": job.watch,
        "reference": job.reference,
    }
    recorder = SnapshotRecorder(checkpoint, job.watch, job.reference, training.steps)
    yield _snapshot(recorder.first)
    observer = _Observer(recorder, batch(job.held_out[:MONITORED]) if job.held_out else None)
    ended = yield from _trained(job, train(model, data, training), observer, stopped)
    if not ended:
        return
    scores = _scores(job, checkpoint, batch)
    if not all(math.isfinite(found["loss"]) for found in scores.values() if found):  # the last step may have diverged
        yield _diverged(ended["step"])
        return
    settings = job.training | {"held_out_pairs": len(job.held_out), "steps_taken": ended["step"]}
    try:
        save_portable(
            PortableModel(checkpoint, job.name, job.corpus, job.pairs, settings, _card(job, ended, scores)), file
        )
    except (OSError, SafetensorError):
        file.unlink(missing_ok=True)
        yield {"event": "error", "message": NO_SPACE.for_page()}
        return
    yield {"event": "trained", "file": str(file), **ended, "scores": scores}
    for snapshot in itertools.chain([recorder.take(ended["step"])], recorder.deferred()):
        yield from observer.report(snapshot)


class _Observer:
    """Translates the watched sentence and takes snapshots during training, for a small share of its time."""

    def __init__(self, recorder: SnapshotRecorder, held_out: Batch | None) -> None:
        self._recorder, self._held_out = recorder, held_out
        self._begin = self._translated_at = self._snapshot_at = time.perf_counter()
        self._spent = self._translation_cost = self._snapshot_cost = 0.0  # seconds: of all, and of the last of each
        self._due = False  # whether a snapshot is to be shown as soon as there is time

    def observe(self, step: int) -> Iterator[LiveEvent]:
        """A snapshot, a translation or nothing, as the time allows.

        A planned snapshot without time is deferred: not shown during training. Now and then one is taken at once.
        """
        now = time.perf_counter()
        planned = step in self._recorder.due
        self._due = self._due or planned
        spare = SNAPSHOT_SHARE * (now - self._begin - self._spent) - self._spent
        translates = (
            now - self._translated_at >= TRANSLATION_SECONDS
            and spare > self._translation_cost
            and (self._recorder.has_space or not planned)
        )
        shows = (
            self._due
            and spare > self._snapshot_cost + (0 if translates else self._translation_cost)
            and (now - self._snapshot_at >= SNAPSHOT_SECONDS or not translates)
        )
        if shows:
            yield from self.report(self._recorder.take(step))
            self._translated_at = self._snapshot_at = time.perf_counter()
            self._snapshot_cost, self._due = self._snapshot_at - now, False
        else:
            if translates:
                run = self._recorder.translate()
                if _is_finite(run):
                    yield {"event": "translation", "step": step, **_words(run)}
                self._translated_at = time.perf_counter()
                self._translation_cost = self._translated_at - now
            if planned:
                self._recorder.defer(step)
        self._spent += time.perf_counter() - now

    def report(self, snapshot: Snapshot) -> Iterator[LiveEvent]:
        """A snapshot, and the loss on the held-out sentences by the model's present weights."""
        if not _is_finite(snapshot.free, snapshot.forced):
            return
        yield _snapshot(snapshot)
        if self._held_out:
            loss, accuracy = measure(self._recorder.model, self._held_out)
            if math.isfinite(loss):
                yield {"event": "held_out", "step": snapshot.step, "loss": loss, "accuracy": accuracy}


def _trained(
    job: Job, training: Iterator[Progress], observer: _Observer, stopped: Callable[[], bool]
) -> Generator[LiveEvent, None, End | None]:
    """Train, report, and return how it ended; None after a loss that is not finite."""
    steps = job.training["steps"]
    points: list[list[float]] = []
    processor_begin, begin = time.process_time(), time.perf_counter()
    sent, step = begin, 0
    why: Literal["steps", "stop", "time"] = "steps"
    for progress in training:
        step = progress.step
        if not math.isfinite(progress.loss):
            yield _diverged(step)
            return None
        points.append([step, progress.loss, progress.token_accuracy])
        late = time.perf_counter() - begin > job.seconds
        if step < steps and (late or stopped()):  # no observation: the last snapshot is of this step
            why = "time" if late else "stop"
            break
        if step < steps:
            yield from observer.observe(step)
        now = time.perf_counter()
        if now - sent >= SEND_SECONDS or step == steps:
            left = (now - begin) / step * (steps - step)
            yield {"event": "progress", "points": points, "seconds": now - begin, "left": left}
            points, sent = [], now
    seconds = time.perf_counter() - begin
    if points:
        yield {"event": "progress", "points": points, "seconds": seconds, "left": 0}
    processor_seconds = (time.process_time() - processor_begin) / job.threads
    ended: End = {"step": step, "seconds": seconds, "processor_seconds": processor_seconds, "why": why}
    yield {"event": "ended", **ended}
    return ended


def _scores(
    job: Job, checkpoint: Checkpoint, batch: Callable[[Sequence[Pair]], Batch]
) -> dict[Literal["training", "held_out"], Scores | None]:
    """The scores of the first training and held-out pairs."""
    measured = SCORED if count_parameters(checkpoint.model.config) < LARGE else SCORED // 10
    start, end = (checkpoint.tgt_vocab.ids[token] for token in (START, END))

    def scored(pairs: Sequence[Pair]) -> Scores | None:
        if not pairs:
            return None
        found = evaluate(checkpoint.model, batch(pairs[:measured]), start, end)
        return Scores(**asdict(found), sentences=len(pairs[:measured]))  # type: ignore[typeddict-item]

    return {"training": scored(job.pairs), "held_out": scored(job.held_out)}


def _snapshot(snapshot: Snapshot) -> LiveEvent:
    return {
        "event": "snapshot",
        "step": snapshot.step,
        "source": snapshot.free.source,
        "encoder": _maps(snapshot.free.attention.encoder),
        "free": _decoded(snapshot.free),
        "forced": _decoded(snapshot.forced) if snapshot.forced else None,
    }


def _decoded(run: Translation) -> DecodedSnapshot:
    return {
        "text": run.text,
        "decoder_input": run.decoder_input,
        **_words(run),
        "decoder": _maps(run.attention.decoder),
        "cross": _maps(run.attention.cross),
    }


def _words(run: Translation) -> DecodedWords:
    return {"output": run.output, "probabilities": [round(step.probability, 4) for step in run.steps]}


def _is_finite(*runs: Translation | None) -> bool:
    """False after an overflow, which the next loss will report."""
    return all(math.isfinite(step.probability) for run in runs if run for step in run.steps)


def _diverged(step: int) -> LiveEvent:
    return {"event": "error", "message": Message("train.diverged", {"step": step}).for_page()}


def _maps(layers: tuple[AttentionMap, ...]) -> StackedMaps:
    return stacked(layers, lambda weights: np.rint(weights * 65535).astype("<u2"))


def _card(job: Job, ended: End, scores: Mapping[Any, Scores | None]) -> str:
    rows = [("trained", f"{ended['step']} steps in {ended['seconds']:.1f} s, until: {ended['why']}")]
    for name, found in scores.items():
        if found:
            rows += [
                (f"{name}: loss", f"{found['loss']:.4f} nats per token, over {found['sentences']} sentences"),
                (f"{name}: token accuracy, teacher-forced", f"{found['token_accuracy']:.1%}"),
                (f"{name}: exact match, free-running", f"{found['exact_match']:.1%}"),
            ]
    rows += [(name, value) for values in (job.model, job.training) for name, value in values.items()]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    head = f"{len(job.pairs)} sentence pairs to learn from ({job.corpus}), {len(job.held_out)} held out."
    return f"# {job.name}\n\n{head} Trained on the page.\n\n| | |\n| --- | --- |\n{table}\n"
