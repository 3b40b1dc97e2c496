"""`make load`: a class of thirty on this machine, and then three hundred.

Visitors without a browser (see tests/visitors.py) send the requests of every action of the page to their own server:

0. warm-up: thirty without a pause, and the session that trains, until the server's (bounded) caches are full
1. paced: thirty with about 2 s between two clicks, over every action, while one trains, for some minutes
2. closed loop: thirty who request the next translation at once, each of a new sentence
3. crowd: three hundred who arrive at once, each with a new sentence, then with about 2 s between two clicks; a visitor
   who waits sees the length of the queue
4. after: a single visitor who requests one new sentence after another
5. a class of thirty and one of two hundred, who follow their teacher and vote while one visitor trains

Prints tables. Nothing here is a test.
"""

import argparse
import asyncio
import itertools
import json
import math
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson

from tests.benchmarks.served import served
from tests.benchmarks.simulated_class import Heard, SimulatedClass
from tests.visitors import Connection, Question, Visitor, alike, ask, problem, sentences, train, train_mistake

VISITORS, CROWD = 30, 300
THINK = (1.0, 3.0)  # s between an answer and the next click
TRANSLATES = 0.4  # of all clicks; the other actions share the rest evenly
PROMPT = 150  # ms: the target for the 95th percentile of translations
QUICK = 100  # translations a second: the target of a closed loop
STEPS = 1500  # of a training: about as long as a visitor waits
NO_THINK = (0.0, 0.0)
FOLLOWED_MS, SHOWN_MS = {30: 700, 200: 1500}, 500  # by the number of students: the targets
CLASS_MB, CLASS_REST = 20, 30  # and after how many seconds
SETTLED = 0.2  # share of the time before memory is measured
FLAT = 1.0  # MB a minute: the limit for a server that runs for a day
POLL_AFTER = 2  # s without an answer before the page requests the length of the queue (client.ts)
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Record:
    """The record of all visitors.

    Attributes:
        took: seconds of each answer, by action.
        refused: answers with status 503, by action; they are repeated a little later, as by the page.
        errors: error messages, by action.
        answers: (question, answer) of the first of its kind; tests/browser/test_hosting.py computes them again.
        reached: the parts of the server that were reached (see Question.reaches).
        waiting: the length of the queue, each time that a visitor requested it.
    """

    took: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    answers: dict[str, tuple[Question, Any]] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)
    waiting: list[int] = field(default_factory=list)

    def fault(self, action: str, why: str) -> None:
        self.errors.setdefault(action, []).append(why)

    async def ask(self, connection: Connection, question: Question) -> Any:
        """The answer to a question. Records its time and checks that every visitor gets the same answer."""
        begun = time.perf_counter()
        self.reached.add(question.reaches)
        try:
            while (response := await connection.ask(question)).status_code == 503:
                self.refused[question.action] = self.refused.get(question.action, 0) + 1
                await asyncio.sleep(int(response.headers["retry-after"]) * random.uniform(0.5, 1.5))
        except httpx.HTTPError as error:
            return self.fault(question.action, repr(error))
        self.took.setdefault(question.action, []).append(time.perf_counter() - begun)
        if why := problem(response):
            return self.fault(question.action, f"{question.path}: {why}")
        answer = question.answer(response.headers["content-type"], response.content)
        if question.check:
            if not question.check(answer):
                self.fault(question.action, f"a wrong answer to {question.path}")
            return answer
        body = question.body if isinstance(question.body, dict) else {}
        key = json.dumps([question.path, body], sort_keys=True)
        if not alike(self.answers.setdefault(key, (question, answer))[1], answer):
            self.fault(question.action, f"two answers to {key}")
        return answer

    def table(self) -> list[dict[str, Any]]:
        rows = []
        for action, took in sorted(self.took.items(), key=lambda each: -len(each[1])):
            p50, p95, most = np.percentile(took, [50, 95, 100]) * 1000
            errors = len(self.errors.get(action, []))
            row = {"action": action, "count": len(took), "p50_ms": p50, "p95_ms": p95, "max_ms": most}
            rows.append(row | {"refused": self.refused.get(action, 0), "errors": errors})
        return rows


def shown(rows: list[dict[str, Any]]) -> None:
    print("| action | count | p50 ms | p95 ms | max ms | errors |\n| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        times = " | ".join(f"{row[name]:.0f}" for name in ("p50_ms", "p95_ms", "max_ms"))
        print(f"| {row['action']} | {row['count']} | {times} | {row['errors']} |")


# ---- memory and CPU of the server ----


def used(pid: int) -> tuple[float, float]:
    """Memory in MB, and CPU time in seconds."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return pages * PAGE_BYTES / 2**20, (int(times[11]) + int(times[12])) / TICKS
    except OSError:
        return 0.0, 0.0


async def watch(pid: int, seen: list[tuple[float, float]]) -> None:
    """Record (second, MB of the server) until cancelled."""
    begun = time.monotonic()
    while True:
        seen.append((time.monotonic() - begun, used(pid)[0]))
        await asyncio.sleep(1)


def fit(seen: list[tuple[float, float]]) -> dict[str, float]:
    """A line through the server's memory after the warm-up."""
    times, server = np.array(seen).T
    late = times >= SETTLED * times[-1]
    slope, _ = np.polyfit(times[late], server[late], 1)
    return {"first_mb": float(server[0]), "last_mb": float(server[-1]), "mb_a_minute": float(slope * 60)}


# ---- visitors ----


async def clicks(
    visitor: Visitor, record: Record, port: int, until: float, think: tuple[float, float], first: str | None
) -> None:
    """One visitor's clicks. After each translation the page requests the checks of the run itself.

    Args:
        first: a sentence to request at once; None lets this visitor start after a random pause.
    """
    rng = visitor.rng
    async with Connection(port) as connection, Connection(port) as beside:

        async def answered(question: Question) -> Any:
            """The page polls the length of the queue until the answer arrives."""
            asked = asyncio.create_task(record.ask(connection, question))
            while not (await asyncio.wait([asked], timeout=POLL_AFTER))[0]:
                if waiting := (await beside.ask(Question("health", "health"))).json()["queue"]["waiting"]:
                    record.waiting.append(waiting)
            return await asked

        async def translates(question: Question) -> None:
            await answered(question)
            await record.ask(connection, visitor.others()["checks"]())  # the visitor does not wait for the checks

        if first:
            await translates(visitor.types(first))
        await asyncio.sleep(rng.uniform(0, think[1]))
        while time.monotonic() < until:
            if rng.random() < TRANSLATES:
                await translates(visitor.translate())
            else:
                await visitor.do(rng.choice(visitor.names()), answered)
            await asyncio.sleep(rng.uniform(*think))


async def trains(port: int, record: Record, until: float) -> None:
    """A training, a stopped training, and the trainings of mistakes, in a loop."""
    while time.monotonic() < until:
        whole = train("load", STEPS)
        await hear(port, record, whole, {"ended by steps", "trained"}, until)
        await hear(port, record, replace(whole, action="train, and stop"), {"ended by stop", "trained"}, until)
        await hear(port, record, train_mistake("load"), {"symptom"}, until)


async def hear(port: int, record: Record, question: Question, wanted: set[str], until: float = math.inf) -> None:
    """All events of a training, or those within the time. A training that is to be stopped is stopped at its first
    progress."""
    record.reached.add(question.reaches)
    begun, events = time.perf_counter(), list[str]()
    try:
        async with (
            Connection(port) as connection,
            Connection(port) as beside,
            aclosing(connection.stream(question)) as lines,
        ):
            async for line in lines:
                event = orjson.loads(line)
                name = event["event"]
                if name == "run":
                    stop = ask("stop a training", "stop_training", "", run=event["run"])
                if name == "progress" and name not in events and "ended by stop" in wanted:
                    await record.ask(beside, replace(stop, check=lambda got: got is None))
                events.append(f"ended by {event['why']}" if name == "ended" else name)
                if time.monotonic() > until:
                    return
    except (httpx.HTTPError, ValueError) as error:
        return record.fault(question.action, repr(error))
    record.took.setdefault(question.action, []).append(time.perf_counter() - begun)
    if not wanted <= set(events) or "error" in events:
        record.fault(question.action, f"its events were {events}")


async def together(*tasks: Awaitable[Any]) -> None:
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(task)  # type: ignore[arg-type]


async def paced(
    port: int,
    count: int,
    seconds: float,
    known: tuple[str, ...],
    think: tuple[float, float] = THINK,
    with_training: bool = False,
    first: Iterable[str | None] = itertools.repeat(None),
) -> Record:
    record = Record()
    until = time.monotonic() + seconds
    visitors = [
        clicks(Visitor(seed, known), record, port, until, think, sentence)
        for seed, sentence in zip(range(count), first, strict=False)
    ]
    await together(*visitors, *([trains(port, record, until)] if with_training else []))
    return record


async def closed(port: int, count: int, seconds: float, fresh: Iterator[str]) -> Record:
    """Translations only, without a pause."""
    record = Record()
    until = time.monotonic() + seconds

    async def one(seed: int) -> None:
        visitor = Visitor(seed, ("",))
        async with Connection(port) as connection:
            while time.monotonic() < until:
                sentence = next(fresh)
                answer = await record.ask(connection, visitor.types(sentence))
                if answer and answer["run"]["sentence"] != sentence:
                    record.fault("translate", "another's answer")

    await together(*(one(seed) for seed in range(count)))
    return record


# ---- the parts and their results ----


def measured(pid: int, work: Callable[[], Awaitable[Record]], title: str) -> dict[str, Any]:
    """A part's answers, its memory and its CPU, which are printed under a title."""
    seen: list[tuple[float, float]] = []
    begun, spent = time.monotonic(), used(pid)[1]

    async def watched() -> Record:
        watcher = asyncio.create_task(watch(pid, seen))
        try:
            return await work()
        finally:
            watcher.cancel()

    record = asyncio.run(watched())
    seconds = time.monotonic() - begun
    found = {
        "seconds": seconds,
        "server_processor": (used(pid)[1] - spent) / seconds,
        "memory": fit(seen),
        "actions": record.table(),
        "errors": record.errors,
        "queued": {"count": len(record.waiting), "most_waiting": max(record.waiting, default=0)},
    }
    say(title, found)
    return found


def in_class(port: int, pid: int, count: int, known: tuple[str, ...]) -> list[dict[str, Any]]:
    """The verdicts on a class while one visitor trains."""

    async def lesson() -> Heard:
        training = asyncio.create_task(trains(port, Record(), math.inf))
        try:
            return await SimulatedClass(port, count, known).lesson()
        finally:
            training.cancel()

    before = used(pid)[0]
    heard = asyncio.run(lesson())
    time.sleep(CLASS_REST)
    return [
        verdict(f"errors of a class of {count}", len(heard.errors), 0),
        verdict("a teacher's step on a phone, 95 of 100 within", heard.p95("followed"), FOLLOWED_MS[count], "ms"),
        verdict("a vote on the projector, 95 of 100 within", heard.p95("shown"), SHOWN_MS, "ms"),
        verdict("memory after the class", used(pid)[0] - before, CLASS_MB, "MB", "+"),
    ]


def say(title: str, found: dict[str, Any]) -> None:
    print(f"\n## {title}\n", flush=True)
    shown(found["actions"])
    memory, a_second = found["memory"], count(found) / found["seconds"]
    print(
        f"\n{count(found)} answers in {found['seconds']:.0f} s ({a_second:.1f} a second), {faults(found)} errors."
        f" The server took {found['server_processor']:.2f} of one processor."
        f"\nMemory of the server: {memory['first_mb']:.0f} MB at first, {memory['last_mb']:.0f} in the end; after"
        f" {SETTLED:.0%} of the time it grows by {memory['mb_a_minute']:+.2f} MB a minute."
    )
    for action, why in found["errors"].items():
        print(f"  {action}: {why[0]}")


def count(found: dict[str, Any]) -> int:
    return sum(row["count"] for row in found["actions"])


def faults(*parts: dict[str, Any]) -> int:
    return sum(len(each) for found in parts for each in found["errors"].values())


def verdict(
    what: str, value: float, bound: float, unit: str = "", sign: str = "", least: bool = False
) -> dict[str, Any]:
    """A row of the table of targets.

    Args:
        least: whether the value has to reach the bound, and not to stay within it.
    """
    digits = 2 if unit == "MB a minute" else 0
    return {
        "what": what,
        "value": f"{value:{sign}.{digits}f} {unit}".rstrip(),
        "target": f"{'≥' if least else '≤'} {bound:g} {unit}".rstrip(),
        "held": value >= bound if least else value <= bound,
    }


def verdicts(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    def p95(part: str) -> float:
        return next(row["p95_ms"] for row in found[part]["actions"] if row["action"] == "translate")

    def a_second(part: str) -> float:
        return count(found[part]) / found[part]["seconds"]

    queue, others = found["crowd"]["queued"], [found[part] for part in ("closed", "again", "crowd", "after")]
    told = f"of {CROWD} who come at once, told that they wait (up to {queue['most_waiting']} in the queue)"
    return [
        verdict("errors of a class of thirty", faults(found["paced"]), 0),
        verdict("a translation, 95 of 100 within", p95("paced"), PROMPT, "ms"),
        verdict("memory after warm-up", found["paced"]["memory"]["mb_a_minute"], FLAT, "MB a minute", "+"),
        verdict("translations a second, closed loop, sentences asked before", a_second("again"), QUICK, least=True),
        verdict("the same, each sentence new to the server", a_second("closed"), QUICK, least=True),
        verdict(f"errors of closed loop and {CROWD} visitors", faults(*others), 0),
        verdict(told, queue["count"], 1, least=True),
        verdict("a new sentence after the crowd, 95 of 100 within", p95("after"), PROMPT, "ms"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5, help="of the paced part; the others follow it")
    asked = parser.parse_args()
    drawn = sentences(12_000 + CROWD)
    first, known, new, fresh = drawn[:300], drawn[300:600], drawn[600 : 600 + CROWD], iter(drawn[600 + CROWD :])
    short = min(60.0, asked.minutes * 12)  # s of each of the other parts
    with served() as server:
        port = server.port
        parts: dict[str, tuple[Callable[[], Awaitable[Record]], str]] = {
            "warm_up": (lambda: paced(port, VISITORS, 4 * short, first, NO_THINK, True), "warm-up, without a pause"),
            "paced": (
                lambda: paced(port, VISITORS, asked.minutes * 60, known, with_training=True),
                f"{VISITORS} visitors, {asked.minutes:g} minutes, one trains",
            ),
            "closed": (lambda: closed(port, VISITORS, short, fresh), "closed loop, translations of new sentences"),
            "again": (
                lambda: closed(port, VISITORS, short / 2, itertools.cycle(known[:200])),
                "closed loop, translations of sentences that were asked before",
            ),
            "crowd": (lambda: paced(port, CROWD, short, known, first=new), f"{CROWD} visitors who come at once"),
            "after": (lambda: closed(port, 1, short / 6, fresh), "one alone afterwards, translations of new sentences"),
        }
        pid = server.process.pid
        found = {part: measured(pid, *how) for part, how in parts.items()}
        classes = [in_class(port, pid, count, known) for count in FOLLOWED_MS]
    held = [*verdicts(found), *itertools.chain(*classes)]
    print("\n| what | measured | target | held |\n| --- | --- | --- | --- |")
    for each in held:
        print(f"| {each['what']} | {each['value']} | {each['target']} | {'yes' if each['held'] else 'NO'} |")


if __name__ == "__main__":
    main()
