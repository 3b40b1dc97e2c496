"""`make load`: a class of thirty on this machine, and then three hundred.

Visitors without a browser (see tests/visitors.py) send the requests of every action of the page to their own server:

0. warm-up: thirty without a pause, and the session that trains, until the server's (bounded) caches are full
1. paced: thirty with about 2 s between two clicks, over every action, while one trains, for some minutes
2. closed loop: thirty who request the next translation at once, each of a new sentence
3. crowd: three hundred who arrive at once, each with a new sentence, then with about 2 s between two clicks; a visitor
   who waits sees the length of the queue
4. after: a single visitor who requests one new sentence after another
5. a class of thirty and one of two hundred, who follow their teacher and vote while one visitor trains

Prints tables, and writes tests/benchmarks/load.json. Nothing here is a test.
"""

import argparse
import asyncio
import itertools
import json
import math
import os
import platform
import random
import resource
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import torch

from tests.benchmarks.class_room import ClassRoom, Heard
from tests.browser.conftest import Server
from tests.visitors import Connection, Question, Visitor, ask, problem, right, sentences, train, train_mistake

HERE = Path(__file__).parent
THINK = (1.0, 3.0)  # s between an answer and the next click
TRANSLATES = 0.4  # of all clicks; the other actions share the rest evenly
PROMPT = 150  # ms: the target for the 95th percentile of translations
STEPS = 1500  # of a training: about as long as a visitor waits
NO_THINK = (0.0, 0.0)
FOLLOWED_MS, SHOWN_MS = {30: 700, 200: 1500}, 500  # by the number of students: the targets
ROOM_MB, ROOM_REST = 20, 30  # and after how many seconds
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
        answers: (question, answer) of the first of its kind, checked later on the idle machine.
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
        drawn = answer["run"]["sentence"] if question.action == "surprise" else ""
        body = question.body if isinstance(question.body, dict) else {}
        key = json.dumps([question.path, body, drawn], sort_keys=True)
        if self.answers.setdefault(key, (question, answer))[1] != answer:
            self.fault(question.action, f"two answers to {key}")
        return answer

    def check(self, most: int = 400) -> int:
        """Recompute a number of the answers in this process and return that number."""
        chosen = random.Random(0).sample(sorted(self.answers), min(most, len(self.answers)))
        for question, answer in (self.answers[key] for key in chosen):
            if not right(question, answer):
                self.fault(question.action, f"a wrong answer to {question.body!r}")
        return len(chosen)

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


def processes(pid: int) -> list[int]:
    """A process and its descendants."""
    found, path = [pid], Path(f"/proc/{pid}/task")
    for task in path.iterdir() if path.exists() else ():
        for child in (task / "children").read_text().split():
            found += processes(int(child))
    return found


def used(pid: int) -> tuple[float, float]:
    """Memory in MB, and CPU time in seconds."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return pages * PAGE_BYTES / 2**20, (int(times[11]) + int(times[12])) / TICKS
    except OSError:
        return 0.0, 0.0


async def watch(pid: int, seen: list[tuple[float, float, float]], seconds: float = 1) -> None:
    """Record (second, MB of the server, MB of its workers) until cancelled."""
    begun = time.monotonic()
    while True:
        server, *workers = processes(pid)
        seen.append((time.monotonic() - begun, used(server)[0], sum(used(worker)[0] for worker in workers)))
        await asyncio.sleep(seconds)


def fit(seen: list[tuple[float, float, float]]) -> dict[str, float]:
    """A line through the server's memory after the warm-up."""
    times, server, workers = np.array(seen).T
    late = times >= SETTLED * times[-1]
    slope, start = np.polyfit(times[late], server[late], 1)
    return {
        "first_mb": float(server[0]),
        "after_warm_up_mb": float(start + slope * times[late][0]),
        "last_mb": float(server[-1]),
        "mb_a_minute": float(slope * 60),
        "most_workers_mb": float(workers.max()),
    }


# ---- visitors ----


async def clicks(
    visitor: Visitor,
    record: Record,
    port: int,
    until: float,
    think: tuple[float, float],
    first: str | None,
    address: str,
) -> None:
    """One visitor's clicks. After each translation the page requests the checks of the run itself.

    Args:
        first: a sentence to request at once; None lets this visitor start after a random pause.
    """
    rng = visitor.rng
    async with Connection(port, address) as connection, Connection(port, address) as beside:

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
    address: str = "127.0.0.1",
) -> Record:
    record = Record()
    until = time.monotonic() + seconds
    visitors = [
        clicks(Visitor(seed, known), record, port, until, think, sentence, address)
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


def measured(pid: int, work: Callable[[], Awaitable[Record]]) -> tuple[Record, dict[str, Any]]:
    """A part's record, and its memory and CPU."""
    seen: list[tuple[float, float, float]] = []
    begun, ours, theirs = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF), used(pid)[1]

    async def watched() -> Record:
        watcher = asyncio.create_task(watch(pid, seen))
        try:
            return await work()
        finally:
            watcher.cancel()

    record = asyncio.run(watched())
    seconds, now = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_SELF)
    took = now.ru_utime + now.ru_stime - ours.ru_utime - ours.ru_stime
    rows = record.table()
    return record, {
        "seconds": seconds,
        "server_processor": (used(pid)[1] - theirs) / seconds,
        "visitors_processor": took / seconds,
        "memory": fit(seen),
        "actions": rows,
        "errors": record.errors,
        "queued": {"count": len(record.waiting), "most_waiting": max(record.waiting, default=0)},
        "refused": sum(record.refused.values()),
    }


def in_room(port: int, pid: int, count: int, known: tuple[str, ...]) -> tuple[Heard, float]:
    """What was measured of a class in a room while one visitor trains, and by how many MB the server has grown."""

    async def lesson() -> Heard:
        training = asyncio.create_task(trains(port, Record(), math.inf))
        try:
            return await ClassRoom(port, count, known).lesson()
        finally:
            training.cancel()

    before = used(pid)[0]
    heard = asyncio.run(lesson())
    time.sleep(ROOM_REST)
    return heard, used(pid)[0] - before


def say(title: str, found: dict[str, Any]) -> None:
    print(f"\n## {title}\n", flush=True)
    shown(found["actions"])
    asked = sum(row["count"] for row in found["actions"])
    errors = sum(map(len, found["errors"].values()))
    memory = found["memory"]
    print(
        f"\n{asked} answers in {found['seconds']:.0f} s ({asked / found['seconds']:.1f} a second), {errors} errors."
        f" Processors: server {found['server_processor']:.2f}, visitors {found['visitors_processor']:.2f} of one."
        f"\nMemory of the server: {memory['first_mb']:.0f} MB at first, {memory['after_warm_up_mb']:.0f} after"
        f" {SETTLED:.0%} of the time, {memory['last_mb']:.0f} in the end; a line through the rest grows by"
        f" {memory['mb_a_minute']:+.2f} MB a minute. Its workers took up to {memory['most_workers_mb']:.0f} MB."
    )
    for action, why in found["errors"].items():
        print(f"  {action}: {why[0]}")


def p95(found: dict[str, Any], action: str = "translate") -> float:
    return next(row["p95_ms"] for row in found["actions"] if row["action"] == action)


def verdict(what: str, value: str, target: str, held: bool) -> dict[str, Any]:
    print(f"| {what} | {value} | {target} | {'yes' if held else 'NO'} |")
    return {"what": what, "value": value, "target": target, "held": bool(held)}


def prompt(what: str, found: dict[str, Any]) -> dict[str, Any]:
    return verdict(what, f"{p95(found):.0f} ms", f"≤ {PROMPT} ms", p95(found) <= PROMPT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5, help="of the paced part; the others follow it")
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--crowd", type=int, default=300)
    asked = parser.parse_args()
    torch.set_num_threads(
        1
    )  # as in the server: otherwise words whose probabilities agree to 7 digits may change places
    drawn = sentences(12_000 + asked.crowd)
    first, known, new = drawn[:300], drawn[300:600], drawn[600 : 600 + asked.crowd]
    fresh = iter(drawn[600 + asked.crowd :])
    short = min(60.0, asked.minutes * 12)  # s of each of the other parts
    server = Server(log=Path(os.devnull))
    port, pid = server.port, server.process.pid
    try:
        server.wait()
        _, warm_found = measured(pid, lambda: paced(port, asked.visitors, 4 * short, first, NO_THINK, True))
        say("warm-up, without a pause", warm_found)
        calm, paced_found = measured(
            pid, lambda: paced(port, asked.visitors, asked.minutes * 60, known, with_training=True)
        )
        checked = calm.check()
        paced_found["errors"] = calm.errors
        say(
            f"{asked.visitors} visitors, {asked.minutes:g} minutes, one trains ({checked} answers checked)", paced_found
        )
        _, closed_found = measured(pid, lambda: closed(port, asked.visitors, short, fresh))
        say("closed loop, translations of new sentences", closed_found)
        _, again_found = measured(pid, lambda: closed(port, asked.visitors, short / 2, itertools.cycle(known[:200])))
        say("closed loop, translations of sentences that were asked before", again_found)
        _, crowd_found = measured(pid, lambda: paced(port, asked.crowd, short, known, first=new))
        say(f"{asked.crowd} visitors who come at once", crowd_found)
        queue = crowd_found["queued"]
        print(
            f"{queue['count']} times a visitor had waited for {POLL_AFTER} s and saw the length of the queue, at most"
            f" {queue['most_waiting']}; {crowd_found['refused']} were refused, and came back."
        )
        _, after_found = measured(pid, lambda: closed(port, 1, short / 6, fresh))
        say("one alone afterwards, translations of new sentences", after_found)
        classes = {count: in_room(port, pid, count, known) for count in FOLLOWED_MS}
    finally:
        server.end()
    memory = paced_found["memory"]
    errors = sum(map(len, paced_found["errors"].values()))
    new, again = (found["actions"][0]["count"] / found["seconds"] for found in (closed_found, again_found))
    lost = sum(
        len(each)
        for found in (closed_found, again_found, crowd_found, after_found)
        for each in found["errors"].values()
    )
    print("\n| what | measured | target | held |\n| --- | --- | --- | --- |")
    verdicts = [
        verdict("errors of a class of thirty", str(errors), "0", errors == 0),
        prompt("a translation, 95 of 100 within", paced_found),
        verdict(
            "memory after warm-up",
            f"{memory['mb_a_minute']:+.2f} MB a minute",
            f"≤ {FLAT:g}",
            memory["mb_a_minute"] <= FLAT,
        ),
        verdict("translations a second, closed loop, sentences asked before", f"{again:.0f}", "≥ 100", again >= 100),
        verdict("the same, each sentence new to the server", f"{new:.0f}", "≥ 100", new >= 100),
        verdict(f"errors of closed loop and {asked.crowd} visitors", str(lost), "0", lost == 0),
        verdict(
            f"of {asked.crowd} who come at once, told that they wait",
            f"{queue['count']}, up to {queue['most_waiting']} in the queue",
            "> 0",
            queue["count"] > 0,
        ),
        prompt("a new sentence after the crowd, 95 of 100 within", after_found),
    ]
    for count, (heard, grown) in classes.items():
        errors, followed, shown = len(heard.errors), heard.p95("followed"), heard.p95("shown")
        bound = FOLLOWED_MS[count]
        verdicts += [
            verdict(f"errors of a room of {count}", str(errors), "0", errors == 0),
            verdict(
                "a teacher's step on a phone, 95 of 100 within",
                f"{followed:.0f} ms",
                f"≤ {bound} ms",
                followed <= bound,
            ),
            verdict(
                "a vote on the projector, 95 of 100 within", f"{shown:.0f} ms", f"≤ {SHOWN_MS} ms", shown <= SHOWN_MS
            ),
            verdict("memory after the room", f"{grown:+.0f} MB", f"≤ {ROOM_MB}", grown <= ROOM_MB),
        ]
    machine = {"processors": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
    found = {
        "machine": machine,
        "verdicts": verdicts,
        "warm_up": warm_found,
        "paced": paced_found,
        "closed": closed_found,
        "again": again_found,
        "crowd": crowd_found,
    }
    (HERE / "load.json").write_text(json.dumps(found | {"after": after_found}, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
