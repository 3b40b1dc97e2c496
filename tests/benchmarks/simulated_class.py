"""A class, for `make load`: all students follow their teacher and vote, while a visitor trains.

A student is a stream of the class's events and a connection for votes; where the teacher shows another sentence, each
student's page requests its run, as a browser's does.
"""

import asyncio
import random
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
import numpy as np
import orjson

from tests.visitors import Connection, Question, Visitor, ask, problem

STEPS = 20  # of the lesson: places that the teacher goes to
NEW_SENTENCE = 5  # every so often the place has another sentence
THINK_SECONDS = (0.5, 4.0)  # of a student, before a vote
CHOICES = ["first", "second", "third", "fourth"]


@dataclass
class Heard:
    """What was measured, s."""

    followed: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)  # from a vote to the projector
    errors: list[str] = field(default_factory=list)

    def p95(self, what: str) -> float:
        """In ms."""
        return float(np.percentile(getattr(self, what), 95)) * 1000


class SimulatedClass:
    """One teacher and many students, who are all at one address."""

    def __init__(self, port: int, students: int, sentences: tuple[str, ...]) -> None:
        self._port, self._sentences = port, sentences
        self._names = [f"student-{n:03}" for n in range(students)]
        self._heard = Heard()
        self._sent: dict[str, float] = {}  # when the teacher went to a place
        self._arrived: dict[str, int] = {}  # students there
        self._votes: list[float] = []  # when each vote of the question was sent, in this order
        self._counted = 0  # of them, that the projector has shown
        self._class: dict[str, Any] = {}

    async def lesson(self) -> Heard:
        async with Connection(self._port) as teacher:
            self._class = (
                await teacher.ask(ask("open a class", "open_class", "", page=f"http://127.0.0.1:{self._port}/"))
            ).json()
            tasks = [asyncio.create_task(self._student(name)) for name in self._names]
            tasks.append(asyncio.create_task(self._projector()))
            try:
                await self._until(lambda: self._arrived.get("") == len(self._names))
                for step in range(STEPS):
                    await self._show(teacher, step)
                    await self._ask(teacher, step)
                await self._lead(teacher, do="end")
                for ended in await asyncio.gather(*tasks, return_exceptions=True):
                    if isinstance(ended, Exception):
                        self._heard.errors.append(repr(ended))
            finally:
                for task in tasks:
                    task.cancel()
        return self._heard

    async def _until(self, true: Any) -> None:
        try:
            async with asyncio.timeout(60):
                while not true():
                    await asyncio.sleep(0.02)
        except TimeoutError:
            self._heard.errors.append("not everybody came")

    async def _lead(self, teacher: Connection, **asked: Any) -> None:
        teachers = {"code": self._class["code"], "secret": self._class["secret"]}
        await self._heard_answer(teacher, ask("lead", "lead_class", "", **teachers, **asked))

    async def _show(self, teacher: Connection, step: int) -> None:
        sentence = self._sentences[step // NEW_SENTENCE]
        place = "?" + urlencode({"checkpoint": "classroom", "sentence": sentence, "tab": "lesson", "stop": step + 1})
        self._sent[place] = time.perf_counter()
        await self._lead(teacher, do="show", place=place)
        await self._until(lambda: self._arrived.get(place) == len(self._names))

    async def _ask(self, teacher: Connection, step: int) -> None:
        self._votes, self._counted = [], 0
        await self._lead(teacher, do="ask", about=f"stop.{step}", choices=CHOICES)
        await self._until(lambda: self._counted == len(self._names))
        await self._lead(teacher, do="reveal", right=0)

    async def _projector(self) -> None:
        async for seen in self._events({"secret": self._class["secret"]}):
            question, now = seen["question"], time.perf_counter()
            if question and question["state"] == "open":
                self._heard.shown += [now - sent for sent in self._votes[self._counted : question["answered"]]]
                self._counted = question["answered"]

    async def _student(self, name: str) -> None:
        rng, voted, sentence = random.Random(name), 0, ""
        place: str | None = None
        visitor = Visitor(rng.randrange(10**6), self._sentences)
        async with Connection(self._port) as connection, asyncio.TaskGroup() as work:
            async for seen in self._events({"student": name}):
                if seen["place"] != place:
                    place, now = seen["place"], time.perf_counter()
                    self._arrived[place] = self._arrived.get(place, 0) + 1
                    if place:
                        self._heard.followed.append(now - self._sent[place])
                        shown = httpx.QueryParams(place[1:])["sentence"]
                        if shown != sentence:
                            sentence = shown
                            work.create_task(self._heard_answer(connection, visitor.types(sentence)))
                question = seen["question"]
                if question and question["state"] == "open" and question["id"] != voted:
                    voted = question["id"]
                    work.create_task(self._vote(connection, name, voted, rng))

    async def _heard_answer(self, connection: Connection, question: Question) -> None:
        if why := problem(await connection.ask(question)):
            self._heard.errors.append(f"{question.action}: {why}")

    async def _vote(self, connection: Connection, name: str, question: int, rng: random.Random) -> None:
        await asyncio.sleep(rng.uniform(*THINK_SECONDS))
        choice = {"question": question, "round": 0, "choice": rng.randrange(len(CHOICES))}
        self._votes.append(time.perf_counter())
        vote = ask("vote", "vote", "", code=self._class["code"], student=name, **choice)
        await self._heard_answer(connection, vote)

    async def _events(self, guest: dict[str, str]) -> Any:
        """The class as a guest sees it, without heartbeats."""
        followed = ask("follow", "follow_class", "", code=self._class["code"], **guest)
        async with Connection(self._port) as connection, aclosing(connection.stream(followed)) as lines:
            async for line in lines:
                event = orjson.loads(line)
                if event["event"] == "ended":
                    return
                if event["event"] == "class":
                    yield event
