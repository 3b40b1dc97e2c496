"""A class room: who may do what, what each sees and when, and the bounds."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from transformer.web.fair_queue import Client
from transformer.web.sessions import rooms as module
from transformer.web.sessions.rooms import (
    ABANDONED_SECONDS,
    CODE_LENGTH,
    FREE_GUESSES,
    IDLE_SECONDS,
    LETTERS,
    MAX_QUESTIONS,
    MAX_ROOMS,
    MAX_ROOMS_OF_ADDRESS,
    MAX_STUDENTS,
    Room,
    RoomError,
    Rooms,
)

from ..loop import async_test
from .clock import Clock

SCHOOL, STRANGER = Client("school"), Client("stranger")
CHOICES = ("a", "b", "c")


@pytest.fixture
def rooms(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Rooms:
    monkeypatch.setattr(module, "UPDATE_SECONDS", 0)
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.01)
    return Rooms(clock=clock)


def key(error: pytest.ExceptionInfo[RoomError]) -> str:
    return error.value.message.key


async def event(stream: AsyncGenerator[Any]) -> Any:
    """The next one that is not a heartbeat."""
    async for each in stream:
        if each != "\n":
            return each


async def class_of(rooms: Rooms, *students: str) -> tuple[Room, list[AsyncGenerator[Any]]]:
    """A room with these students, whose pages are connected."""
    room = rooms.open(SCHOOL)
    streams = [rooms.stream(room, student) for student in students]
    for stream in streams:
        await event(stream)
    return room, streams


async def left(streams: list[AsyncGenerator[Any]]) -> None:
    for stream in streams:
        await stream.aclose()


@async_test
async def test_a_lesson_with_one_question(rooms: Rooms) -> None:
    room, (ann, bob) = await class_of(rooms, "ann", "bob")
    async with aclosing(rooms.stream(room, None)) as teacher:
        assert (await event(teacher))["students"] == 2
        rooms.show(room, "?tab=lesson&stop=3")
        assert {(await event(each))["place"] for each in (ann, bob, teacher)} == {"?tab=lesson&stop=3"}
        rooms.ask(room, "stop.3", CHOICES, None)
        asked = (await event(ann))["question"]
        assert (asked["state"], asked["choices"], asked["tallies"], asked["right"]) == ("open", [*CHOICES], None, None)
        rooms.vote(room, "ann", asked["id"], 0, 0)
        rooms.vote(room, "ann", asked["id"], 0, 2)  # changes it
        rooms.vote(room, "bob", asked["id"], 0, 1)
        while (seen := await event(teacher))["question"]["answered"] < 2:
            pass
        assert (seen["question"]["tallies"], seen["students"]) == (None, 2)
        rooms.close(room)
        assert (await event(bob))["question"]["tallies"] is None  # only the teacher sees them before
        rooms.vote_again(room)
        with pytest.raises(RoomError):
            rooms.vote(room, "ann", asked["id"], 0, 0)  # of the first round
        rooms.vote(room, "ann", asked["id"], 1, 1)
        rooms.reveal(room, 1)
        while (shown := (await event(ann))["question"])["state"] != "revealed":
            pass
        assert (shown["right"], shown["mine"]) == (1, [2, 1])
        assert [(each["votes"], each["answered"]) for each in shown["tallies"]] == [([0, 1, 1], 2), ([0, 1, 0], 1)]
        rooms.ask(room, "stop.4", CHOICES, None)
        while not (seen := await event(teacher))["past"]:
            pass
        assert (seen["past"][0]["about"], seen["past"][0]["right"]) == ("stop.3", 1)
        rooms.end(room)
        for each in (ann, bob, teacher):
            while (last := await event(each))["event"] != "ended":
                pass
            assert last == {"event": "ended"}
    with pytest.raises(RoomError) as error:
        await rooms.find(room.code, SCHOOL)
    assert key(error) == "room.unknown"


@async_test
async def test_votes_are_checked_against_the_question(rooms: Rooms, clock: Clock) -> None:
    room, streams = await class_of(rooms, "ann")
    with pytest.raises(RoomError):
        rooms.vote(room, "ann", 1, 0, 0)  # nothing is asked
    rooms.ask(room, "stop.1", CHOICES, 20)
    for student, question, number, choice in (("eve", 1, 0, 0), ("ann", 2, 0, 0), ("ann", 1, 1, 0), ("ann", 1, 0, 3)):
        with pytest.raises(RoomError):
            rooms.vote(room, student, question, number, choice)
    rooms.vote(room, "ann", 1, 0, 0)
    clock.now = 20
    with pytest.raises(RoomError) as error:
        rooms.vote(room, "ann", 1, 0, 1)
    assert key(error) == "room.closed"
    assert (await event(streams[0]))["question"]["mine"] == [0]
    with pytest.raises(RoomError):
        rooms.reveal(room, 3)
    rooms.reveal(room, None)
    with pytest.raises(RoomError):
        rooms.vote_again(room)
    await left(streams)


@async_test
async def test_a_timer_closes_a_question_for_those_who_listen(rooms: Rooms, clock: Clock) -> None:
    room, (ann,) = await class_of(rooms, "ann")
    rooms.ask(room, "stop.1", CHOICES, 0.02)
    assert (await event(ann))["question"]["seconds"] == 0.02
    clock.now = 0.02
    assert (await event(ann))["question"]["state"] == "closed"
    await left([ann])


@async_test
async def test_a_student_who_comes_back_is_the_same_one(rooms: Rooms) -> None:
    room, (first,) = await class_of(rooms, "ann")
    rooms.ask(room, "stop.1", CHOICES, None)
    rooms.vote(room, "ann", 1, 0, 2)
    await first.aclose()
    assert (room.connected, len(room.students)) == (0, 1)
    second, third = rooms.stream(room, "ann"), rooms.stream(room, "ann")  # two tabs
    assert (await event(second))["question"]["mine"] == [2]
    await event(third)
    assert room.connected == 1
    await left([second, third])


@async_test
async def test_a_silent_room_has_a_heart(rooms: Rooms) -> None:
    _, streams = await class_of(rooms, "ann")
    assert await anext(streams[0]) == "\n"
    await left(streams)


def test_only_the_secret_leads(rooms: Rooms) -> None:
    room = rooms.open(SCHOOL)
    rooms.check_teacher(room, room.secret)
    for secret in ("", "ö", room.code, rooms.open(SCHOOL).secret):
        with pytest.raises(RoomError) as error:
            rooms.check_teacher(room, secret)
        assert key(error) == "room.not_yours"


@async_test
async def test_codes_are_short_and_unmistakable_and_say_which_replica(rooms: Rooms) -> None:
    code = Rooms("K").open(SCHOOL).code
    assert (code[0], len(code)) == ("K", CODE_LENGTH)
    room = rooms.open(SCHOOL)
    assert set(room.code) <= set(LETTERS)
    assert await rooms.find(room.code.lower(), STRANGER) is room


@async_test
async def test_guesses_are_slowed_but_not_a_student_who_has_been_in(
    rooms: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, streams = await class_of(rooms, "ann")
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for _ in range(FREE_GUESSES + 3):
        with pytest.raises(RoomError):
            await rooms.find("XXXX", STRANGER)
    assert slept == [1, 2, 3]
    await rooms.find(room.code, STRANGER)
    assert slept[3:] == [4]  # a right guess says no more than a wrong one
    await rooms.find(room.code, STRANGER, "ann")
    await rooms.find(room.code, STRANGER, secret=room.secret)
    await rooms.find(room.code, SCHOOL)
    assert len(slept) == 4
    await left(streams)


@async_test
async def test_rooms_are_bounded_in_number_and_age(rooms: Rooms, clock: Clock) -> None:
    mine = [rooms.open(SCHOOL) for _ in range(MAX_ROOMS_OF_ADDRESS)]
    teacher = rooms.stream(mine[0], None)
    await anext(teacher)
    with pytest.raises(RoomError):
        rooms.open(SCHOOL)  # none is abandoned yet
    clock.now = ABANDONED_SECONDS + 1
    mine.append(rooms.open(SCHOOL))
    assert [room.is_ended for room in mine] == [False, True] + [False] * (MAX_ROOMS_OF_ADDRESS - 1)
    await left([teacher])
    for n in range(MAX_ROOMS - MAX_ROOMS_OF_ADDRESS):
        rooms.open(Client(f"{n}"))
    with pytest.raises(RoomError) as error:
        rooms.open(STRANGER)
    assert key(error) == "room.too_many"
    clock.now += IDLE_SECONDS + 1
    rooms.open(STRANGER)
    assert all(room.is_ended for room in mine)


@async_test
async def test_a_vote_for_a_question_that_was_dropped_does_not_count_for_the_next(rooms: Rooms) -> None:
    room, streams = await class_of(rooms, "ann")
    rooms.ask(room, "stop.1", CHOICES, None)
    dropped = room.questions[0].id
    rooms.ask(room, "stop.2", CHOICES, None)
    with pytest.raises(RoomError) as error:
        rooms.vote(room, "ann", dropped, 0, 0)
    assert key(error) == "room.closed"
    await left(streams)


@async_test
async def test_a_room_is_bounded_in_students_and_questions(rooms: Rooms) -> None:
    room, streams = await class_of(rooms, *(f"{n}" for n in range(MAX_STUDENTS)))
    with pytest.raises(RoomError) as error:
        await anext(rooms.stream(room, "late"))
    assert key(error) == "room.full"
    await left(streams)
    for _ in range(MAX_QUESTIONS):
        rooms.ask(room, "stop.1", CHOICES, None)
        rooms.reveal(room, 0)
    with pytest.raises(RoomError) as error:
        rooms.ask(room, "stop.1", CHOICES, None)
    assert key(error) == "room.many_questions"
