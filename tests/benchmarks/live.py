"""`make live`: the cost of live charts for a training, and the cost of trainings for visitors who click.

Each figure is a ratio of two things run in turn on this machine; nothing here is a test.
"""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from tests.visitors import Connection, Visitor, problem, train
from transformer.data import encode_pairs
from transformer.data.classroom.corpus import HELD_OUT_SENTENCES, held_out
from transformer.data.vocabulary import Vocabulary
from transformer.live.job import Job
from transformer.live.limits import Limits
from transformer.live.plan import plan
from transformer.live.stream import live
from transformer.network.config import TransformerConfig
from transformer.training import TrainingConfig, seeded_model
from transformer.training import train as train_alone

from .ratio import HEADING, Ratio, alternate, ratio
from .served import served

ROUNDS = 5
CLICKS = 60  # per round, idle and with trainings
RUNS = 2  # trainings at once


def alone(job: Job) -> float:
    """Seconds of a training without a stream."""
    words = Vocabulary(job.source_words), Vocabulary(job.target_words)
    data = encode_pairs(job.pairs, *words, job.source_length if job.pad_source else 0)
    config = TrainingConfig(**job.training)
    model = seeded_model(TransformerConfig(**job.model), config.seed)
    begin = time.perf_counter()
    for _ in train_alone(model, data, config):
        pass
    return time.perf_counter() - begin


def watched(job: Job) -> tuple[float, float]:
    """Seconds of the same training with all events of the page, and their number per second."""
    with tempfile.TemporaryDirectory() as folder:
        updates = 0
        for event in live(job, Path(folder) / "model.safetensors"):
            json.dumps(event)
            updates += event["event"] in ("progress", "translation", "snapshot")
            if event["event"] == "ended":
                return event["seconds"], updates / event["seconds"]
    raise AssertionError("a training ends")


def watching(corpus: str, steps: int) -> Ratio:
    asked: Any = train("bench", steps, corpus).body
    job = plan(asked, Limits()).job
    assert job
    torch.set_num_threads(job.threads)
    rates = list[float]()

    def ours() -> float:
        seconds, rate = watched(job)
        rates.append(rate)
        return seconds

    took = alternate(ours, lambda: alone(job), ROUNDS)
    note = f"{statistics.median(rates):.0f} updates a second"
    return ratio(f"{corpus}, {steps} steps, watched", "the training alone", 1.1, *took, unit="s", note=note)


async def trains(port: int, number: int) -> None:
    """One training after another."""
    async with Connection(port) as connection:
        while True:
            async for _ in connection.stream(train(f"bench {number}", 2000)):
                pass


async def clicking(port: int) -> Ratio:
    """Translations of sentences that are new to the server, beside trainings and without them."""
    sentences: Iterator[str] = (pair.spelling for pair in held_out(HELD_OUT_SENTENCES))
    visitor = Visitor(0, ())

    async def clicks(count: int) -> list[float]:
        """ms of each, on a connection of its own."""
        took = []
        for _ in range(count):
            async with Connection(port) as connection:
                begin = time.perf_counter()
                answer = await connection.ask(visitor.types(next(sentences)))
                took.append(1000 * (time.perf_counter() - begin))
            assert not problem(answer), problem(answer)
        return took

    busy, idle = list[float](), list[float]()
    await clicks(20)
    for _ in range(3):
        idle += await clicks(CLICKS)
        runs = [asyncio.create_task(trains(port, number)) for number in range(RUNS)]
        await asyncio.sleep(6)  # both are running
        busy += await clicks(CLICKS)
        for each in runs:
            each.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        await asyncio.sleep(2)
    return ratio(f"a click, {RUNS} trainings at once", "a click on an idle server", 2.0, busy, idle)


def main() -> None:
    print(HEADING)
    for corpus, steps in (("toy", 120), ("classroom", 300)):
        print(watching(corpus, steps), flush=True)
    with served() as server:
        print(asyncio.run(clicking(server.port)))


if __name__ == "__main__":
    main()
