"""Rooms in which a class follows its teacher and answers questions together.

They are kept in the memory of one process, bounded in number, size and age. Nothing about a person is in them: a
student is a random id that the student's tab has made.
"""

import asyncio
import secrets
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...messages import MessageError
from ..client import Client
from ..settings import settings

LETTERS = "ACDEFHJKMNPQRTWXY3479"  # of codes: none looks like another, also in handwriting
CODE_LENGTH = 4
MAX_ROOMS, MAX_ROOMS_OF_ADDRESS, MAX_STUDENTS, MAX_QUESTIONS = 50, 10, 300, 100
IDLE_SECONDS = 3 * 3600  # after which a room ends
ROUNDS = 2  # of one question: before and after the class has discussed it
UPDATE_SECONDS, HEARTBEAT_SECONDS = 0.25, 10  # between two updates of a stream, at least and at most
# Wrong codes of an address within this time, then each takes a second. A restart throws out a whole school at once.
FREE_GUESSES, GUESS_SECONDS = 300, 300
ABANDONED_SECONDS = 60  # without anybody's page: longer than a reload


class RoomError(MessageError):
    """A room refuses a request."""


class Tally(TypedDict):
    """The votes of one round: how many students chose each choice."""

    votes: list[int]
    answered: int


class ShownQuestion(TypedDict):
    """A question and its present state.

    Attributes:
        id: its number in this room, from 1.
        about: what it asks, as the teacher's page says it and a student's page reads it.
        choices: their texts, in the teacher's language.
        round: of the votes, from 0.
        answered: students who have answered in this round; None for a student.
        seconds: left until it closes by itself; None without a timer.
        tallies: of each round; None as long as the receiver may not see them.
        right: the right choice once it is revealed, if there is one.
        mine: this student's choices by round.
    """

    id: int
    about: str
    choices: list[str]
    state: Literal["open", "closed", "revealed"]
    round: int
    answered: int | None
    seconds: float | None
    tallies: list[Tally] | None
    right: int | None
    mine: list[int | None]


class RoomEvent(TypedDict):
    """A room as a student or its teacher sees it.

    Attributes:
        place: where the teacher is: the parameters of a link.
        students: those whose page is connected; None for a student.
        past: the revealed questions before this one, for the teacher.
    """

    event: Literal["room"]
    code: str
    place: str
    students: int | None
    question: ShownQuestion | None
    past: list[ShownQuestion] | None


class RoomEnded(TypedDict):
    """The room has ended."""

    event: Literal["ended"]


@dataclass(eq=False)
class Question:
    """A question that was put to the class."""

    id: int
    about: str
    choices: tuple[str, ...]
    closes: float | None = None
    is_open: bool = True
    is_revealed: bool = False
    right: int | None = None
    rounds: list[dict[str, int]] = field(default_factory=lambda: [{}])  # student -> choice

    def close_if_due(self, now: float) -> None:
        self.is_open = self.is_open and (self.closes is None or now < self.closes)

    def shown(self, now: float, student: str | None) -> ShownQuestion:
        """As a student sees it, or its teacher (None)."""
        self.close_if_due(now)
        is_visible = self.is_revealed or (student is None and not self.is_open)
        counted = [Counter(votes.values()) for votes in self.rounds]
        tallies: list[Tally] = [
            {"votes": [votes[choice] for choice in range(len(self.choices))], "answered": votes.total()}
            for votes in counted
        ]
        return {
            "id": self.id,
            "about": self.about,
            "choices": list(self.choices),
            "state": "revealed" if self.is_revealed else "open" if self.is_open else "closed",
            "round": len(self.rounds) - 1,
            "answered": len(self.rounds[-1]) if student is None else None,
            "seconds": max(0.0, self.closes - now) if self.is_open and self.closes is not None else None,
            "tallies": tallies if is_visible else None,
            "right": self.right,
            "mine": [] if student is None else [votes.get(student) for votes in self.rounds],
        }


@dataclass(eq=False)
class Room:
    """A teacher's room.

    Attributes:
        secret: its teacher's; those who have it lead the room.
        used: when the teacher or a student last did something, or a page of theirs came or left.
    """

    code: str
    secret: str
    client: Client
    used: float
    place: str = ""
    questions: list[Question] = field(default_factory=list)
    students: Counter[str] = field(default_factory=Counter)  # open streams by student, also of those who have left
    teachers: int = 0  # open streams
    is_ended: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # what all see
    counted: asyncio.Event = field(default_factory=asyncio.Event)  # the teacher's counts changed

    @property
    def connected(self) -> int:
        return sum(streams > 0 for streams in self.students.values())

    @property
    def question(self) -> Question | None:
        return self.questions[-1] if self.questions else None

    def tell(self) -> None:
        """Wake all streams."""
        self.changed.set()
        self.changed = asyncio.Event()
        self.tell_teacher()

    def tell_teacher(self) -> None:
        """Wake the teacher's streams: two hundred students need not hear of each vote."""
        self.counted.set()
        self.counted = asyncio.Event()


class Rooms:
    """All rooms of this process. They belong to one event loop.

    Args:
        replica: the first letter of every code, by which a proxy finds this process; "" for a single one.
    """

    def __init__(self, replica: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._replica, self._clock = replica, clock
        self._rooms: dict[str, Room] = {}
        self._guesses: dict[str, deque[float]] = {}  # the times of wrong codes, by address

    def open(self, client: Client) -> Room:
        """A new room. For an address with many, its oldest abandoned one ends; nobody can end a class like that.

        Raises:
            RoomError: there are too many.
        """
        self._end_idle()
        mine = [room for room in self._rooms.values() if room.client.address == client.address]
        if len(mine) >= MAX_ROOMS_OF_ADDRESS:
            abandoned = [room for room in mine if self._is_abandoned(room)]
            if not abandoned:
                raise RoomError("room.too_many")
            self.end(min(abandoned, key=lambda room: room.used))
        if len(self._rooms) >= MAX_ROOMS:
            raise RoomError("room.too_many")
        code = ""
        while not code or code in self._rooms:
            code = self._replica + "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH - len(self._replica)))
        room = self._rooms[code] = Room(code, secrets.token_urlsafe(16), client, self._clock())
        return room

    async def find(self, code: str, client: Client, student: str = "", secret: str = "") -> Room:
        """The room of a code. Where an address has sent many wrong codes, its next ones take a second each.

        Args:
            student: one who has been in the room does not wait.
            secret: its teacher does not wait either.

        Raises:
            RoomError: the room does not exist, or no longer.
        """
        self._end_idle()
        room = self._rooms.get(code.upper())
        if room and (student in room.students or _is_secret(room, secret)):
            return room
        was_slowed = await self._slow_down(client.address)
        room = self._rooms.get(code.upper())
        if room is None:
            if not was_slowed:
                self._guesses.setdefault(client.address, deque(maxlen=FREE_GUESSES)).append(self._clock())
            raise RoomError("room.unknown", code=code[:CODE_LENGTH].upper())
        return room

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

    def check_teacher(self, room: Room, secret: str) -> None:
        """Check that a teacher's request is one, before it changes the room.

        Raises:
            RoomError: it is not.
        """
        if not _is_secret(room, secret):
            raise RoomError("room.not_yours")
        room.used = self._clock()

    def show(self, room: Room, place: str) -> None:
        """Take those who follow to a place."""
        room.place = place
        room.tell()

    def ask(self, room: Room, about: str, choices: tuple[str, ...], seconds: float | None) -> None:
        """Put a question to the class; an unrevealed one before it is dropped.

        Raises:
            RoomError: there were too many.
        """
        last = room.question.id if room.question else 0  # also a dropped one: a late vote for it must not count here
        if room.question and not room.question.is_revealed:
            room.questions.pop()
        if len(room.questions) >= MAX_QUESTIONS:
            raise RoomError("room.many_questions", most=MAX_QUESTIONS)
        closes = None if seconds is None else self._clock() + seconds
        room.questions.append(Question(last + 1, about, choices, closes))
        room.tell()

    def close(self, room: Room) -> None:
        """End the votes of this round."""
        if room.question:
            room.question.is_open = False
            room.tell()

    def vote_again(self, room: Room) -> None:
        """Open a second round, beside the first.

        Raises:
            RoomError: the question is revealed, or this was the second.
        """
        question = room.question
        if question is None or question.is_revealed or len(question.rounds) == ROUNDS:
            raise RoomError("room.no_vote")
        question.rounds.append({})
        question.is_open, question.closes = True, None
        room.tell()

    def reveal(self, room: Room, right: int | None) -> None:
        """Show the votes and the right choice.

        Raises:
            RoomError: the choice does not exist.
        """
        question = room.question
        if question is None or (right is not None and right >= len(question.choices)):
            raise RoomError("room.no_vote")
        question.is_open, question.is_revealed, question.right = False, True, right
        room.tell()

    def vote(self, room: Room, student: str, question_id: int, round_number: int, choice: int) -> None:
        """A student's choice, which may be changed as long as the question is open.

        Raises:
            RoomError: the question is closed, another or without that choice, or the student is not in the room.
        """
        question, now = room.question, self._clock()
        if question is None or student not in room.students:
            raise RoomError("room.no_vote")
        question.close_if_due(now)
        current = question.id == question_id and len(question.rounds) - 1 == round_number
        if not current or not question.is_open:
            raise RoomError("room.closed")
        if choice >= len(question.choices):
            raise RoomError("room.no_vote")
        room.used = now
        if question.rounds[-1].get(student) != choice:
            question.rounds[-1][student] = choice
            room.tell_teacher()

    async def stream(self, room: Room, student: str | None) -> AsyncGenerator[RoomEvent | RoomEnded | str]:
        """The room as one student or the teacher (None) sees it: now, and after each change; "\\n" as a heartbeat.

        Raises:
            RoomError: the room is full.
        """
        if student is not None:
            if student not in room.students and len(room.students) >= MAX_STUDENTS:
                raise RoomError("room.full", most=MAX_STUDENTS)
            room.students[student] += 1
            room.tell_teacher()
        else:
            room.teachers += 1
        room.used = self._clock()
        try:
            while not room.is_ended:
                changed = room.counted if student is None else room.changed
                yield self._shown(room, student)
                await asyncio.sleep(UPDATE_SECONDS)  # joins the changes of this time
                while not changed.is_set():
                    closes = room.question.closes if room.question and room.question.is_open else None
                    due = HEARTBEAT_SECONDS if closes is None else min(HEARTBEAT_SECONDS, closes - self._clock())
                    with suppress(TimeoutError):
                        async with asyncio.timeout(max(due, 0)):
                            await changed.wait()
                    if not changed.is_set():
                        if closes is not None and self._clock() >= closes:
                            break
                        yield "\n"
            yield {"event": "ended"}
        finally:
            if student is not None:
                room.students[student] -= 1
                room.tell_teacher()
            else:
                room.teachers -= 1
            room.used = self._clock()

    def _shown(self, room: Room, student: str | None) -> RoomEvent:
        now, question = self._clock(), room.question
        return {
            "event": "room",
            "code": room.code,
            "place": room.place,
            "students": room.connected if student is None else None,
            "question": question.shown(now, student) if question else None,
            "past": [each.shown(now, None) for each in room.questions[:-1]] if student is None else None,
        }

    def _is_abandoned(self, room: Room) -> bool:
        return not (room.teachers or room.connected) and room.used < self._clock() - ABANDONED_SECONDS

    def _end_idle(self) -> None:
        oldest = self._clock() - IDLE_SECONDS
        for room in [room for room in self._rooms.values() if room.used < oldest]:
            self.end(room)

    def end(self, room: Room) -> None:
        """Those who listen hear of it."""
        self._rooms.pop(room.code, None)
        room.is_ended = True
        room.tell()


def _is_secret(room: Room, secret: str) -> bool:
    return secrets.compare_digest(secret.encode(), room.secret.encode())


@cache
def rooms() -> Rooms:
    """This process's."""
    return Rooms(settings().replica)
