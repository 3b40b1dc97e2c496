"""`make live`: the cost of live charts for a training, and the cost of trainings for visitors who click.

Each figure is a ratio of two things run in turn on this machine; nothing here is a test.
"""

import http.client
import itertools
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import torch

from tests.visitors import ask
from transformer.data import encode_pairs
from transformer.data.classroom.corpus import HELD_OUT_SENTENCES, held_out
from transformer.data.vocabulary import Vocabulary
from transformer.live.form import DEFAULTS
from transformer.live.job import Job
from transformer.live.limits import Limits
from transformer.live.plan import plan
from transformer.live.stream import live
from transformer.network.config import TransformerConfig
from transformer.training import TrainingConfig, seeded_model, train

from .served import served, spread

ROUNDS = 5
CLICKS = 60  # per round, idle and with trainings
RUNS = 2  # trainings at once
JSON = {"Content-Type": "application/json"}


def question(corpus: str, **training: Any) -> dict[str, Any]:
    settings = DEFAULTS[corpus]
    return settings | {
        "name": "bench",
        "corpus": corpus,
        "pairs": [],
        "watch": "",
        "training": settings["training"] | training,
    }


def alone(job: Job) -> float:
    """Seconds of a training without a stream."""
    words = Vocabulary(job.source_words), Vocabulary(job.target_words)
    data = encode_pairs(job.pairs, *words, job.source_length if job.pad_source else 0)
    config = TrainingConfig(**job.training)
    model = seeded_model(TransformerConfig(**job.model), config.seed)
    begin = time.perf_counter()
    for _ in train(model, data, config):
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


def watching(corpus: str, steps: int) -> str:
    job = plan(question(corpus, steps=steps), Limits()).job
    assert job
    torch.set_num_threads(job.threads)
    alone(job)  # warm up
    pairs = [(alone(job), *watched(job)) for _ in range(ROUNDS)]
    ratios = [seconds / bare for bare, seconds, _ in pairs]
    rate = statistics.median(updates for *_, updates in pairs)
    return f"| {corpus}, {steps} steps | {spread(ratios)} | ≤ 1.10 | {rate:.0f} updates a second |"


def click(port: int, sentence: str) -> float:
    """Seconds of the request of a click on Translate, for a sentence that is new to the server."""
    question = ask("translate", "translate", "live", checkpoint="classroom", sentence=sentence)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    begin = time.perf_counter()
    connection.request("POST", f"/{question.path}", json.dumps(question.body), JSON)
    answer = json.loads(connection.getresponse().read())
    took = time.perf_counter() - begin
    connection.close()
    assert answer["run"]["sentence"] == sentence
    return took


def training(port: int, number: int, stop: threading.Event) -> None:
    """One training after another, until the event is set."""
    while not stop.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        asked = json.dumps(question("classroom", steps=2000))
        connection.request("POST", "/api/train", asked, JSON | {"Session": f"bench {number}"})
        answer = connection.getresponse()
        while answer.readline() and not stop.is_set():
            pass
        connection.close()


def clicking() -> str:
    sentences = itertools.cycle(pair.spelling for pair in held_out(HELD_OUT_SENTENCES))
    idle: list[float] = []
    busy: list[float] = []
    with served() as port:
        for _ in range(20):
            click(port, next(sentences))
        for _ in range(3):
            idle += [click(port, next(sentences)) for _ in range(CLICKS)]
            stop = threading.Event()
            runs = [threading.Thread(target=training, args=(port, i, stop)) for i in range(RUNS)]
            for each in runs:
                each.start()
            time.sleep(6)  # both trainings are running
            busy += [click(port, next(sentences)) for _ in range(CLICKS)]
            stop.set()
            for each in runs:
                each.join()
            time.sleep(2)
    before, during = statistics.median(idle), statistics.median(busy)
    return (
        f"| a click, {RUNS} trainings at once | {during / before:.2f} | < 2 | median {before * 1e3:.1f} ms idle,"
        f" {during * 1e3:.1f} ms then |"
    )


def main() -> None:
    print("| what | ratio | target | |\n| --- | --- | --- | --- |")
    for corpus, steps in (("toy", 120), ("classroom", 300)):
        print(watching(corpus, steps), flush=True)
    print(clicking())


if __name__ == "__main__":
    main()
