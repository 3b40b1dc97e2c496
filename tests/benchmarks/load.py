"""`make load`: a class of thirty on this machine, and then three hundred.

Visitors without a browser (see tests/visitors.py) click through all that the page has, against a server of their own:

0. warm-up: thirty who never pause, until the server's caches (which are bounded) are full
1. paced: thirty with about 2 s between two clicks, over every action, while one trains, for some minutes
2. closed loop: thirty who ask for another translation as soon as they have one, each of a sentence that is new
3. crowd: three hundred with about 2 s between two clicks, who are told when they wait

Prints tables, and writes tests/benchmarks/load.json. Nothing here is a test.
"""

import argparse
import asyncio
import itertools
import json
import os
import platform
import random
import resource
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tests.browser.conftest import Server
from tests.visitors import Connection, Page, Question, Visitor, right, sentences, training

HERE = Path(__file__).parent
THINK = (1.0, 3.0)  # s between an answer and the next click
TRANSLATES = 0.4  # of all clicks; the other actions share the rest evenly
NO_THINK = (0.0, 0.0)
SETTLED = 0.2  # of the time, before memory is looked at
FLAT = 1.0  # MB a minute: what a server in use for a day may not exceed
TOLD_AFTER = 2  # s without an answer, after which the page asks how many wait (line.js)
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Record:
    """What happened to the visitors.

    Attributes:
        took: seconds of each answer, by action.
        refused: answers of status 503, by action: asked again a little later, as the page does.
        errors: what went wrong, by action.
        answers: (question, answer) of the first of its kind, to be checked when the machine is quiet.
        told: of each that waited long, how many were in line by then.
    """

    took: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    answers: dict[str, tuple[Question, Any]] = field(default_factory=dict)
    told: list[int] = field(default_factory=list)

    def fault(self, action: str, why: str) -> None:
        self.errors.setdefault(action, []).append(why)

    async def ask(self, connection: Connection, question: Question) -> Any:
        """The answer to a question; also how long it took, and whether everybody has had the same one."""
        begun = time.perf_counter()
        try:
            while True:
                status, headers, body = await connection.ask(question)
                if status != 503:
                    break
                self.refused[question.action] = self.refused.get(question.action, 0) + 1
                await asyncio.sleep(int(headers["retry-after"]) * random.uniform(0.5, 1.5))
        except (OSError, EOFError, ValueError) as error:
            connection.close()
            return self.fault(question.action, repr(error))
        self.took.setdefault(question.action, []).append(time.perf_counter() - begun)
        if status != 200:
            return self.fault(question.action, f"status {status}: {body[:200]!r}")
        answer = question.answer(body)
        if isinstance(answer, dict) and answer.get("error"):
            self.fault(question.action, f"{question.body}: {answer['error']}")
        if question.action != "surprise":
            key = json.dumps([question.path, question.body], sort_keys=True).replace(session_of(question), "")
            if self.answers.setdefault(key, (question, answer))[1] != answer:
                self.fault(question.action, f"two answers to {key}")
        elif answer["run"]["checkpoint"] != "classroom":
            self.fault(question.action, "another model's answer")
        return answer

    def check(self, most: int = 400) -> int:
        """Compute so many of the answers again, here; returns how many."""
        chosen = random.Random(0).sample(sorted(self.answers), min(most, len(self.answers)))
        for question, answer in (self.answers[key] for key in chosen):
            if not right(question, answer):
                self.fault(question.action, f"a wrong answer to {question.body}")
        return len(chosen)

    def table(self) -> list[dict[str, Any]]:
        rows = []
        for action, took in sorted(self.took.items(), key=lambda each: -len(each[1])):
            p50, p95, most = np.percentile(took, [50, 95, 100]) * 1000
            errors = len(self.errors.get(action, []))
            row = {"action": action, "count": len(took), "p50_ms": p50, "p95_ms": p95, "max_ms": most}
            rows.append(row | {"refused": self.refused.get(action, 0), "errors": errors})
        return rows


def session_of(question: Question) -> str:
    return str((question.body or {}).get("session_hash", "-"))


def shown(rows: list[dict[str, Any]]) -> None:
    print("| action | count | p50 ms | p95 ms | max ms | errors |\n| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        times = " | ".join(f"{row[name]:.0f}" for name in ("p50_ms", "p95_ms", "max_ms"))
        print(f"| {row['action']} | {row['count']} | {times} | {row['errors']} |")


# ---- what the machine says of the server ----


def processes(pid: int) -> list[int]:
    """A process and all that it started."""
    found, path = [pid], Path(f"/proc/{pid}/task")
    for task in path.iterdir() if path.exists() else ():
        for child in (task / "children").read_text().split():
            found += processes(int(child))
    return found


def used(pid: int) -> tuple[float, float]:
    """MB of memory, and seconds of processor time."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return pages * PAGE_BYTES / 2**20, (int(times[11]) + int(times[12])) / TICKS
    except OSError:
        return 0.0, 0.0


async def watch(pid: int, seen: list[tuple[float, float, float]], seconds: float = 1) -> None:
    """(second, MB of the server, MB of its workers), until it is cancelled."""
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


async def clicks(visitor: Visitor, record: Record, port: int, until: float, think: tuple[float, float]) -> None:
    """One visitor's clicks. After each translation the page asks for the checks of the run by itself."""
    connection, rng = Connection(port), visitor.rng
    await asyncio.sleep(rng.uniform(0, think[1]))
    while time.monotonic() < until:
        others = visitor.others()
        translates = rng.random() < TRANSLATES
        question = visitor.translate() if translates else others[rng.choice(sorted(others))]()
        await patient(connection, record, port, question)
        if translates:
            await record.ask(connection, visitor.others()["checks"]())
        await asyncio.sleep(rng.uniform(*think))
    connection.close()


async def patient(connection: Connection, record: Record, port: int, question: Question) -> Any:
    """Ask, and if it takes long ask beside it how many wait, as the page does."""
    asked = asyncio.create_task(record.ask(connection, question))
    done, _ = await asyncio.wait([asked], timeout=TOLD_AFTER)
    if not done:
        beside = Connection(port)
        _, _, body = await beside.ask(Question("health", "health"))
        beside.close()
        record.told.append(orjson.loads(body).get("line", {}).get("waiting", 0))
    return await asked


async def trains(port: int, record: Record, until: float) -> None:
    """One training after another."""
    for number in itertools.count():
        lines = 0
        connection = Connection(port)
        async for piece in connection.stream(training(f"load {number}", steps=1500)):
            lines += piece.count(b"\n")
            if b'"event": "error"' in piece:
                record.fault("train", piece.decode()[:200])
            if time.monotonic() > until:
                return
        record.took.setdefault("train", []).append(float("nan"))


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
) -> Record:
    page, record = await Page.load(port), Record()
    until = time.monotonic() + seconds
    visitors = [clicks(Visitor(page, seed, known), record, port, until, think) for seed in range(count)]
    await together(*visitors, *([trains(port, record, until)] if with_training else []))
    return record


async def closed(port: int, count: int, seconds: float, fresh: Iterator[str]) -> Record:
    """Translations only, with no pause."""
    page, record = await Page.load(port), Record()
    until = time.monotonic() + seconds

    async def one(seed: int) -> None:
        connection = Connection(port)
        visitor = Visitor(page, seed, ("",))
        while time.monotonic() < until:
            sentence = next(fresh)
            asked = {"checkpoint": "classroom", "sentence": sentence, "changes": []}
            answer = await record.ask(connection, page.click("translate", "ask", visitor.session, asked))
            if answer and answer["run"]["sentence"] != sentence:
                record.fault("translate", "another's answer")
        connection.close()

    await together(*(one(seed) for seed in range(count)))
    return record


# ---- the parts, and what they found ----


def measured(pid: int, work: Callable[[], Awaitable[Record]]) -> tuple[Record, dict[str, Any]]:
    """A part's record, and what it took of the machine."""
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
        "told": {"count": len(record.told), "most_in_line": max(record.told, default=0)},
        "refused": sum(record.refused.values()),
    }


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5, help="of the paced part; the others follow it")
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--crowd", type=int, default=300)
    asked = parser.parse_args()
    first, known = sentences(300), sentences(600)[300:]
    fresh = iter(sentences(9000)[600:])
    short = min(60.0, asked.minutes * 12)  # s of each of the other parts
    server = Server(log=Path(os.devnull))
    port, pid = server.port, server.process.pid
    try:
        server.wait()
        _, warm_found = measured(pid, lambda: paced(port, asked.visitors, 1.5 * short, first, NO_THINK))
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
        crowd, crowd_found = measured(pid, lambda: paced(port, asked.crowd, short, known))
        say(f"{asked.crowd} visitors", crowd_found)
        print(
            f"{len(crowd.told)} waited longer than {TOLD_AFTER} s and asked why, up to {max(crowd.told, default=0)}"
            f" were in line; {crowd_found['refused']} were sent away, and came back."
        )
        _, after_found = measured(pid, lambda: paced(port, 1, 10, known))
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
        verdict("a translation, 95 of 100 within", f"{p95(paced_found):.0f} ms", "≤ 150 ms", p95(paced_found) <= 150),
        verdict(
            "memory after warm-up",
            f"{memory['mb_a_minute']:+.2f} MB a minute",
            f"≤ {FLAT:g}",
            memory["mb_a_minute"] <= FLAT,
        ),
        verdict("translations a second, closed loop, sentences asked before", f"{again:.0f}", "≥ 100", again >= 100),
        verdict("the same, each sentence new to the server", f"{new:.0f}", "≥ 100", new >= 100),
        verdict(f"errors of closed loop and {asked.crowd} visitors", str(lost), "0", lost == 0),
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
    (HERE / "load.json").write_text(json.dumps(found | {"after": after_found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
