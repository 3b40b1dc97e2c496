"""One training that somebody watches, as a stream of events that can be written as JSON.

{"event": "started", "steps", "uniform", "parameters", "watch", "reference"}
{"event": "progress", "points": [[step, loss, token accuracy], ...] since the last, "seconds", "left"}
{"event": "says", "step", "output", "probabilities"}            the watched sentence, as the model says it now
{"event": "held_out", "step", "loss", "accuracy"}
{"event": "snapshot", "step", "source", "encoder", "free", "forced"}   see `_frame`
{"event": "ended", "step", "seconds", "why"}                    "steps", "stop" or "time"; what follows is measuring
{"event": "trained", "file", "step", "seconds", "why", "scores"}   the model can be used; more snapshots may follow
{"event": "error", "message"}                                   nothing was learned
"""

import base64
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError

from ..data import Pair, encode_pairs
from ..data.vocabulary import END, START, Vocabulary
from ..inference.attention_maps import AttentionMap, stacked
from ..inference.device import pick_device
from ..inference.translator import Translation
from ..messages import Message
from ..network.config import TransformerConfig
from ..network.cost import count_parameters
from ..storage.checkpoint import Checkpoint
from ..storage.portable import PortableModel, save_portable
from ..training import Evaluation, TrainingConfig, evaluate, measure, output_limit, seeded_model, train
from .job import Job
from .snapshots import Camera, Frame

NO_ROOM = Message("train.no_room")
SHARE = 0.08  # of training's time goes at most into looking at the model
LOOK_SECONDS, FRAME_SECONDS = 0.2, 1  # between two looks at what it says, and at its maps
SEND_SECONDS = 0.1  # between two reports of progress
MEASURED, LARGE = 200, 5_000_000  # sentences that a model is scored on at its end; a tenth from so many weights on,
GLANCED = 50  # and that its loss is measured on, of those held out, while it learns
Event = dict[str, Any]


def live(job: Job, file: Path, stopped: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Train, look on, and write the model to `file`. The weights are those that training alone would give.

    Args:
        stopped: asked after every step; training ends when it says so, and what was learned is kept.
    """
    torch.set_num_threads(job.threads)
    src_vocab, tgt_vocab = Vocabulary(job.source_words), Vocabulary(job.target_words)
    training, config = TrainingConfig(**job.training), TransformerConfig(**job.model)
    model = seeded_model(config, training.seed).to(pick_device())
    parameters = count_parameters(config)
    padded_to = job.source_length if job.pad_source else 0

    def batch(pairs: Sequence[Pair]) -> Any:
        return encode_pairs(pairs, src_vocab, tgt_vocab, padded_to)

    data = batch(job.pairs)
    longest = output_limit(batch((*job.pairs, *job.held_out)).target_length, config)
    checkpoint = Checkpoint(model, src_vocab, tgt_vocab, job.source_length, longest, job.pad_source)
    start, end = tgt_vocab.ids[START], tgt_vocab.ids[END]
    held_out = batch(job.held_out[:GLANCED]) if job.held_out else None

    yield {
        "event": "started",
        "steps": training.steps,
        "uniform": math.log(len(tgt_vocab)),
        "parameters": parameters,
        "watch": job.watch,
        "reference": job.reference,
    }
    camera = Camera(checkpoint, job.watch, job.reference, training.steps)
    yield _frame(camera.first)

    def looks(frame: Frame) -> Iterator[Event]:
        if not _are_numbers(frame.free, frame.forced):
            return
        yield _frame(frame)
        if held_out:
            loss, accuracy = measure(model, held_out)
            if math.isfinite(loss):
                yield {"event": "held_out", "step": frame.step, "loss": loss, "accuracy": accuracy}

    def says(step: int) -> Iterator[Event]:
        run = camera.says()
        if _are_numbers(run):
            yield {"event": "says", "step": step, **_words(run)}

    points: list[list[float]] = []
    begin = sent = looked_at = framed_at = time.perf_counter()
    looking = says_cost = frame_cost = 0.0  # seconds: of all looks, and of the last of each kind
    step, why, wanted = 0, "steps", False
    for progress in train(model, data, training):
        step, now = progress.step, time.perf_counter()
        if not math.isfinite(progress.loss):
            yield _diverged(step)
            return
        points.append([step, progress.loss, progress.token_accuracy])
        late = now - begin > job.seconds
        if step < training.steps and (late or stopped()):  # before a look: the last frame is of this step
            why = "time" if late else "stop"
            break
        spare = SHARE * (now - begin - looking) - looking
        due = step in camera.due
        wanted = wanted or due
        look = now - looked_at >= LOOK_SECONDS and spare > says_cost and (camera.room or not due)
        # What is kept for later is not seen while it learns: a frame now and then is.
        if (
            wanted
            and spare > frame_cost + (0 if look else says_cost)
            and (now - framed_at >= FRAME_SECONDS or not look)
        ):
            yield from looks(camera.frame(step))
            looked_at = framed_at = time.perf_counter()
            frame_cost, wanted = looked_at - now, False
        else:
            if look:
                yield from says(step)
                looked_at = time.perf_counter()
                says_cost = looked_at - now
            if due:
                camera.keep(step)
        looking += time.perf_counter() - now
        seconds = time.perf_counter() - begin
        if seconds - (sent - begin) >= SEND_SECONDS or step == training.steps:
            left = seconds / step * (training.steps - step)
            yield {"event": "progress", "points": points, "seconds": seconds, "left": left}
            points, sent = [], time.perf_counter()
    seconds = time.perf_counter() - begin
    if points:
        yield {"event": "progress", "points": points, "seconds": seconds, "left": 0}
    ended = {"step": step, "seconds": seconds, "why": why}
    yield {"event": "ended", **ended}
    measured = MEASURED if parameters < LARGE else MEASURED // 10
    scores = {
        name: _scores(evaluate(model, batch(pairs[:measured]), start, end), len(pairs[:measured])) if pairs else None
        for name, pairs in (("training", job.pairs), ("held_out", job.held_out))
    }
    if not all(math.isfinite(found["loss"]) for found in scores.values() if found):  # after the last step of all
        yield _diverged(step)
        return
    settings = job.training | {"held_out_pairs": len(job.held_out), "steps_taken": step}
    try:
        save_portable(
            PortableModel(checkpoint, job.name, job.corpus, job.pairs, settings, _card(job, ended, scores)), file
        )
    except (OSError, SafetensorError):
        file.unlink(missing_ok=True)
        yield {"event": "error", "message": NO_ROOM.for_page()}
        return
    yield {"event": "trained", "file": str(file), **ended, "scores": scores}
    yield from looks(camera.frame(step))
    for frame in camera.develop():
        yield from looks(frame)


def _frame(frame: Frame) -> Event:
    """For the browser: the encoder's maps are the same in both ways to decode."""
    return {
        "event": "snapshot",
        "step": frame.step,
        "source": frame.free.source,
        "encoder": _maps(frame.free.attention.encoder),
        "free": _decoded(frame.free),
        "forced": frame.forced and _decoded(frame.forced),
    }


def _decoded(run: Translation) -> dict[str, Any]:
    maps = {"decoder": _maps(run.attention.decoder), "cross": _maps(run.attention.cross)}
    return {"text": run.text, "decoder_input": run.decoder_input, **_words(run), **maps}


def _words(run: Translation) -> dict[str, Any]:
    return {"output": run.output, "probabilities": [round(step.probability, 4) for step in run.steps]}


def _are_numbers(*runs: Translation | None) -> bool:
    """Not so where weights have overflowed, as the next loss will tell."""
    return all(math.isfinite(step.probability) for run in runs if run for step in run.steps)


def _diverged(step: int) -> Event:
    return {"event": "error", "message": Message("train.diverged", {"step": step}).for_page()}


def _maps(layers: tuple[AttentionMap, ...]) -> dict[str, Any]:
    """Weights as base64 of little-endian 16-bit shares of 65535: exact to 0.00001."""
    maps = stacked(layers)
    weights = np.rint(maps["weights"] * 65535).astype("<u2")
    return maps | {"weights": base64.b64encode(weights.tobytes()).decode()}


def _scores(found: Evaluation, sentences: int) -> dict[str, Any]:
    return asdict(found) | {"sentences": sentences}


def _card(job: Job, ended: dict[str, Any], scores: dict[str, Any]) -> str:
    rows = [("trained", f"{ended['step']} steps in {ended['seconds']:.1f} s, until: {ended['why']}")]
    for name, found in scores.items():
        if found:
            rows += [
                (f"{name}: loss", f"{found['loss']:.4f} nats a token, over {found['sentences']} sentences"),
                (f"{name}: token accuracy, teacher-forced", f"{found['token_accuracy']:.1%}"),
                (f"{name}: exact match, free-running", f"{found['exact_match']:.1%}"),
            ]
    rows += [(name, value) for values in (job.model, job.training) for name, value in values.items()]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    head = f"{len(job.pairs)} sentence pairs to learn from ({job.corpus}), {len(job.held_out)} held out."
    return f"# {job.name}\n\n{head} Trained on the page.\n\n| | |\n| --- | --- |\n{table}\n"
