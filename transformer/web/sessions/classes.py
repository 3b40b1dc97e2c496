"""Classes that follow their teacher and answer questions together.

They are kept in a store (see class_store.py), which other replicas may share, and which outlives the process. Here is a
copy of it, which changes only by what is read from it, so that a change of another replica and one of this process do
the same. Nothing about a person is kept: a student is a random id that the student's tab has made.
"""

import asyncio
import json
import secrets
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...messages import MessageError
from .. import access_log
from ..fair_queue import TryAgainError
from ..settings import settings
from .class_store import ClassStore, Fields, class_store

LETTERS = "ACDEFHJKMNPQRTWXY3479"  # of codes: none looks like another, also in handwriting
CODE_LENGTH = 4
MAX_CLASSES, MAX_CLASSES_OF_ADDRESS, MAX_STUDENTS, MAX_QUESTIONS = 50, 10, 300, 100
IDLE_SECONDS = 3 * 3600  # after which a class ends
ROUNDS = 2  # of one question: before and after the class has discussed it
UPDATE_SECONDS, HEARTBEAT_SECONDS = 0.25, 10  # between two updates of a stream, at least and at most
READ_SECONDS = 0.1  # between two looks at what other replicas have changed, while a page is connected here
CONNECTED_SECONDS, LEFT = 25, "-inf"  # a replica says every HEARTBEAT_SECONDS who is connected to it
PAUSE_SECONDS = 1  # in which nothing is asked of a store that has failed
# Wrong codes of an address within this time, then each takes a second. A school may come back to a class that is gone.
FREE_GUESSES, GUESS_SECONDS = 300, 300
ABANDONED_SECONDS = 60  # without anybody's page: longer than a reload


class StoreError(TryAgainError):
    """The store of classes cannot be read or written now."""


class ShownQuestion(TypedDict):
    """A question and its present state."""

    id: int  # its number in this class, from 1
    about: str  # what it asks, as the teacher's page writes it and a student's page reads it
    choices: list[str]  # their texts, in the teacher's language
    state: Literal["open", "closed", "revealed"]
    round: int  # of the votes, from 0
    answered: int | None  # students who have answered in this round; None for a student
    seconds: float | None  # left until it closes by itself; None without a timer
    tallies: list[list[int]] | None  # the votes for each choice, by round; None where the receiver may not see them yet
    right: int | None  # the right choice once it is revealed, if there is one
    mine: list[int | None]  # this student's choices by round


class ClassEvent(TypedDict):
    """A class as a student or its teacher sees it."""

    event: Literal["class"]
    code: str
    replica: str  # the cookie by which a proxy finds the teacher's replica, which has the teacher's own models, or ""
    place: str  # where the teacher is: the parameters of a link
    students: int | None  # those whose page is connected; None for a student
    question: ShownQuestion | None
    past: list[ShownQuestion] | None  # the revealed questions before this one, for the teacher


class ClassEnded(TypedDict):
    event: Literal["ended"]


class ClassBeat(TypedDict):
    """The connection lives."""

    event: Literal["beat"]


Votes = dict[str, int]  # student -> choice


@dataclass(frozen=True)
class Question:
    """A question that was put to the class."""

    id: int
    about: str
    choices: list[str]
    closes: float | None = None
    is_open: bool = True
    is_revealed: bool = False
    right: int | None = None
    rounds: int = 1

    def takes_votes(self, now: float) -> bool:
        return self.is_open and (self.closes is None or now < self.closes)

    def shown(self, now: float, student: str | None, rounds: list[Votes]) -> ShownQuestion:
        """As a student sees it, or its teacher (None)."""
        is_open = self.takes_votes(now)
        is_visible = self.is_revealed or student is None  # whose notes nobody else sees
        counted = [Counter(votes.values()) for votes in rounds]
        tallies = [[votes[choice] for choice in range(len(self.choices))] for votes in counted]
        return {
            "id": self.id,
            "about": self.about,
            "choices": self.choices,
            "state": "revealed" if self.is_revealed else "open" if is_open else "closed",
            "round": self.rounds - 1,
            "answered": len(rounds[-1]) if student is None else None,
            "seconds": self.closes - now if is_open and self.closes is not None else None,
            "tallies": tallies if is_visible else None,
            "right": self.right,
            "mine": [] if student is None else [votes.get(student) for votes in rounds],
        }


@dataclass(eq=False)
class LiveClass:
    """A class of one teacher, as this process has read it from the store."""

    code: str
    secret: str  # its teacher's; those who have it lead the class
    address: str  # the teacher's
    replica: str  # the cookie by which a proxy finds the teacher's replica; "" without one
    used: float = 0  # when the teacher or a student last did something, or a page of theirs came or left
    place: str = ""
    questions: list[Question] = field(default_factory=list)
    votes: dict[tuple[int, int], Votes] = field(default_factory=dict)  # by the id of a question and the round
    # When a replica was last connected to a student, also to those who have left, or to the teacher ("").
    seen: dict[str, float] = field(default_factory=dict)
    # Open ones of this process, by student, or the teacher's (""); 0 until the store hears of it.
    streams: Counter[str] = field(default_factory=Counter)
    is_ended: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # what all see
    counted: asyncio.Event = field(default_factory=asyncio.Event)  # the teacher's counts changed

    @property
    def question(self) -> Question | None:
        return self.questions[-1] if self.questions else None

    def connected(self, now: float) -> int:
        return sum(at > now - CONNECTED_SECONDS for student, at in self.seen.items() if student)

    def is_abandoned(self, now: float) -> bool:
        return not self.streams.total() and max(self.used, *self.seen.values(), 0) < now - ABANDONED_SECONDS

    def take(self, fields: Fields) -> None:
        """Become what the store has, and wake the streams that show what is new."""
        self.place = fields.get("place", self.place)
        self.used = float(fields.get("used", self.used))
        for name, value in fields.items():
            kind, _, of = name.partition(" ")
            if kind == "seen":
                self.seen[of] = float(value)
            elif kind == "vote":
                _, round_number, student = of.split(" ", 2)
                question_id, choice = map(int, value.split())
                self.votes.setdefault((question_id, int(round_number)), {})[student] = choice
        if "questions" in fields:
            self.questions = [Question(**each) for each in json.loads(fields["questions"])]
            ids = {question.id for question in self.questions}
            self.votes = {key: votes for key, votes in self.votes.items() if key[0] in ids}
        self.tell(everybody="place" in fields or "questions" in fields)

    def tell(self, everybody: bool) -> None:
        """Wake the streams; only the teacher's of what others do not see: two hundred students hear of no vote."""
        self.counted.set()
        self.counted = asyncio.Event()
        if everybody:
            self.changed.set()
            self.changed = asyncio.Event()

    def shown(self, now: float, student: str | None) -> ClassEvent:
        def of(question: Question) -> ShownQuestion:
            rounds = [self.votes.get((question.id, number), {}) for number in range(question.rounds)]
            return question.shown(now, student, rounds)

        return {
            "event": "class",
            "code": self.code,
            "replica": self.replica,
            "place": self.place,
            "students": self.connected(now) if student is None else None,
            "question": of(self.question) if self.question else None,
            "past": [of(each) for each in self.questions[:-1]] if student is None else None,
        }


class LiveClasses:
    """All classes of a store, as one process has them. They belong to one event loop. The store is used in one thread,
    in order, so each change is read once."""

    def __init__(self, store: ClassStore, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._classes: dict[str, LiveClass] = {}
        self._guesses: dict[str, deque[float]] = {}  # the times of wrong codes, by address
        self._thread = ThreadPoolExecutor(1, "classes")
        self._known: dict[str, int] = {}  # the version of each class that was read; the thread's, as is the next
        self._failed = -float("inf")
        self._opening = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    async def _sync(self, *changes: Callable[[], object]) -> list[Any]:
        """Change the store, and read what it has now; returns what the changes did. Raises StoreError if it could
        not be done."""
        loop = asyncio.get_running_loop()

        def work() -> list[Any]:
            if time.monotonic() < self._failed + PAUSE_SECONDS:
                raise StoreError
            try:
                results = [change() for change in changes]
                found = self._store.read(self._known)
            except self._store.errors as error:
                self._failed = time.monotonic()
                access_log.fault("classes", error)
                raise StoreError from error
            loop.call_soon_threadsafe(self._take, found)  # before the results, and also if nobody waits for them now
            self._known = {code: version for code, (version, _) in found.items()}
            return results

        return await asyncio.wrap_future(self._thread.submit(work))

    def _take(self, found: Mapping[str, tuple[int, Fields]]) -> None:
        for code in self._classes.keys() - found.keys():
            ended = self._classes.pop(code)
            ended.is_ended = True
            ended.tell(everybody=True)
        for code, (_, fields) in found.items():
            if "class" in fields:
                self._classes[code] = LiveClass(code, **json.loads(fields["class"]))
            if fields and code in self._classes:
                self._classes[code].take(fields)

    async def _write(self, live: LiveClass, **fields: str) -> None:
        """Raises MessageError if the class has ended, and StoreError."""
        used = {"used": str(self._clock())}
        (is_there,) = await self._sync(partial(self._store.write, live.code, fields | used))
        if not is_there:
            raise MessageError("room.unknown", code=live.code)

    async def open(self, address: str, replica: str = "") -> LiveClass:
        """A new class, with the cookie by which a proxy finds this replica. For an address with many, its oldest
        abandoned one ends; nobody can end a class like that. Raises MessageError if there are too many, and StoreError
        if it cannot be kept."""
        async with self._opening:  # so that two at once are counted
            await self._end_idle()
            now = self._clock()
            mine = [each for each in self._classes.values() if each.address == address]
            if len(mine) >= MAX_CLASSES_OF_ADDRESS:
                abandoned = [each for each in mine if each.is_abandoned(now)]
                if not abandoned:
                    raise MessageError("room.too_many")
                await self.end(min(abandoned, key=lambda each: each.used))
            if len(self._classes) >= MAX_CLASSES:
                raise MessageError("room.too_many")
            about = {"secret": secrets.token_urlsafe(16), "address": address, "replica": replica}
            fields = {"class": json.dumps(about), "used": str(now)}
            is_new = False
            while not is_new:
                code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))
                (is_new,) = await self._sync(partial(self._store.write, code, fields, is_new=True))
            return self._classes[code]

    async def find(self, code: str, address: str, student: str | None = None, secret: str | None = None) -> LiveClass:
        """The class of a code. Where an address has sent many wrong codes, its next ones take a second each, but not
        for a `student` who has been in the class, nor for its teacher, by the `secret`. Raises MessageError if the
        class does not exist, or no longer, or the secret is another; StoreError if nobody can say now."""
        await self._end_idle()
        code = code.upper()
        live = self._classes.get(code)
        is_teacher = bool(live and secret and secrets.compare_digest(secret.encode(), live.secret.encode()))
        if live and (is_teacher or student in live.seen):
            return live
        was_slowed = await self._slow_down(address)
        live = self._classes.get(code)
        if live is None:
            if not was_slowed:
                self._guesses.setdefault(address, deque(maxlen=FREE_GUESSES)).append(self._clock())
            raise MessageError("room.unknown", code=code[:CODE_LENGTH])
        if secret is not None:
            raise MessageError("room.not_yours")
        return live

    async def _slow_down(self, address: str) -> bool:
        """Wait until it is this address's turn to try another code; returns whether it had to."""
        now = self._clock()
        for known, times in list(self._guesses.items()):
            while times and times[0] < now - GUESS_SECONDS:
                times.popleft()
            if not times:
                del self._guesses[known]
        wrong = self._guesses.get(address, deque())
        if len(wrong) < FREE_GUESSES:
            return False
        turn = max(now, wrong[-1]) + 1
        wrong.append(turn)
        await asyncio.sleep(turn - now)
        return True

    # All that follows raises MessageError where it is refused, and StoreError where it may not have been written.

    async def show(self, live: LiveClass, place: str) -> None:
        """Take those who follow to a place."""
        await self._write(live, place=place)

    async def ask(self, live: LiveClass, about: str, choices: list[str], seconds: float | None) -> None:
        """Put a question to the class; an unrevealed one before it is dropped."""
        last = live.question.id if live.question else 0  # also a dropped one: a late vote for it must not count here
        revealed = [each for each in live.questions if each.is_revealed]
        if len(revealed) >= MAX_QUESTIONS:
            raise MessageError("room.many_questions", most=MAX_QUESTIONS)
        closes = None if seconds is None else self._clock() + seconds
        await self._put(live, [*revealed, Question(last + 1, about, choices, closes)])

    async def close(self, live: LiveClass) -> None:
        """End the votes of this round."""
        if live.question:
            await self._put(live, [*live.questions[:-1], replace(live.question, is_open=False)])

    async def vote_again(self, live: LiveClass) -> None:
        """Open a second round, beside the first, before the question is revealed."""
        question = live.question
        if question is None or question.is_revealed or question.rounds == ROUNDS:
            raise MessageError("room.no_vote")
        again = replace(question, is_open=True, closes=None, rounds=ROUNDS)
        await self._put(live, [*live.questions[:-1], again])

    async def reveal(self, live: LiveClass, right: int | None) -> None:
        """Show the votes and the right choice."""
        question = live.question
        if question is None or (right is not None and right >= len(question.choices)):
            raise MessageError("room.no_vote")
        revealed = replace(question, is_open=False, is_revealed=True, right=right)
        await self._put(live, [*live.questions[:-1], revealed])

    async def _put(self, live: LiveClass, questions: list[Question]) -> None:
        await self._write(live, questions=json.dumps([vars(each) for each in questions]))

    async def vote(self, live: LiveClass, student: str, question_id: int, round_number: int, choice: int) -> None:
        """A student's choice, which may be changed as long as the question is open. It is kept when this returns."""
        question = live.question
        if question is None or student not in live.seen:
            raise MessageError("room.no_vote")
        current = question.id == question_id and question.rounds - 1 == round_number
        if not current or not question.takes_votes(self._clock()):
            raise MessageError("room.closed")
        if choice >= len(question.choices):
            raise MessageError("room.no_vote")
        if live.votes.get((question_id, round_number), {}).get(student) != choice:
            # The place of a dropped question's votes is used for the next one's, which bounds them.
            name = f"vote {len(live.questions)} {round_number} {student}"
            await self._write(live, **{name: f"{question.id} {choice}"})

    async def stream(self, live: LiveClass, student: str | None) -> AsyncGenerator[ClassEvent | ClassEnded | ClassBeat]:
        """The class as one student or the teacher (None) sees it: now, and after each change."""
        who = student or ""
        if student and len({*live.seen, *live.streams, student} - {""}) > MAX_STUDENTS:
            raise MessageError("room.full", most=MAX_STUDENTS)
        live.streams[who] += 1
        try:
            await self._write(live, **{f"seen {who}": str(self._clock())})
            if self._watching is None or self._watching.done():
                self._watching = asyncio.create_task(self._watch())
            while not live.is_ended:
                changed, question = live.counted if student is None else live.changed, live.question
                closes = question.closes if question and question.takes_votes(self._clock()) else None
                yield live.shown(self._clock(), student)
                await asyncio.sleep(UPDATE_SECONDS)  # joins the changes of this time
                while not changed.is_set():
                    due = HEARTBEAT_SECONDS if closes is None else min(HEARTBEAT_SECONDS, closes - self._clock())
                    with suppress(TimeoutError):
                        async with asyncio.timeout(max(due, 0)):
                            await changed.wait()
                    if not changed.is_set():
                        if closes is not None and self._clock() >= closes:
                            break
                        yield {"event": "beat"}
            yield {"event": "ended"}
        finally:
            live.streams[who] -= 1

    async def _watch(self) -> None:
        """Hear what other replicas change, and tell them who is connected to this one, as long as anybody is."""
        beat = self._clock()
        while any(each.streams for each in self._classes.values()):
            await asyncio.sleep(READ_SECONDS)
            now, news = self._clock(), list[Callable[[], bool]]()
            is_due = now >= beat + HEARTBEAT_SECONDS
            beat = now if is_due else beat
            for live in self._classes.values():
                left = {f"seen {who}": LEFT for who, count in live.streams.items() if not count}
                live.streams = +live.streams
                fields = left | ({"used": str(now)} if left else {})
                fields |= {f"seen {who}": str(now) for who in live.streams if is_due}
                if fields:
                    news.append(partial(self._store.write, live.code, fields))
            with suppress(StoreError):  # those who have left are missed a little later
                await self._sync(*news)

    async def _end_idle(self) -> None:
        await self._sync()
        oldest = self._clock() - IDLE_SECONDS
        for live in [each for each in self._classes.values() if each.used < oldest]:
            await self.end(live)

    async def end(self, live: LiveClass) -> None:
        """Those who listen hear of it."""
        await self._sync(partial(self._store.delete, live.code))


@cache
def live_classes() -> LiveClasses:
    """This process's. Raises ValueError if the store that the settings name cannot be used."""
    return LiveClasses(class_store(settings().classes))
