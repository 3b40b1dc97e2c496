"""A class: who may do what, what each sees and when, and the bounds."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import Any

import pytest

from transformer.messages import MessageError
from transformer.web.sessions import classes as module
from transformer.web.sessions.classes import LiveClass, LiveClasses, StoreError

from ..loop import async_test, until
from .conftest import Clock, OpenStore

SCHOOL, STRANGER = "school", "stranger"
CHOICES = ["a", "b", "c"]


@pytest.fixture
def classes(open_store: OpenStore, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> LiveClasses:
    monkeypatch.setattr(module, "UPDATE_SECONDS", 0)
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.01)
    return LiveClasses(open_store(), clock)


@pytest.fixture
def other(classes: LiveClasses, open_store: OpenStore, clock: Clock) -> LiveClasses:
    """Another replica."""
    return LiveClasses(open_store(), clock)


async def refusal(asked: Awaitable[object]) -> str:
    """Its key."""
    with pytest.raises(MessageError) as error:
        await asked
    return error.value.message.key


async def event(stream: AsyncGenerator[Any]) -> Any:
    """The next one that is not a heartbeat."""
    async for each in stream:
        if each["event"] != "beat":
            return each


async def class_of(classes: LiveClasses, *students: str) -> tuple[LiveClass, list[AsyncGenerator[Any]]]:
    """A class with these students, whose pages are connected until the test's event loop ends."""
    live = await classes.open(SCHOOL)
    streams = [classes.stream(live, student) for student in students]
    for stream in streams:
        await event(stream)
    return live, streams


@async_test
async def test_a_lesson_with_one_question(classes: LiveClasses) -> None:
    live, (ann, bob) = await class_of(classes, "ann", "bob")
    async with aclosing(classes.stream(live, None)) as teacher:
        assert (await event(teacher))["students"] == 2
        await classes.show(live, "?tab=lesson&stop=3")
        assert {(await event(each))["place"] for each in (ann, bob, teacher)} == {"?tab=lesson&stop=3"}
        await classes.ask(live, "stop.3", CHOICES, None)
        asked = (await event(ann))["question"]
        assert (asked["state"], asked["choices"], asked["tallies"], asked["right"]) == ("open", CHOICES, None, None)
        await classes.vote(live, "ann", asked["id"], 0, 0)
        await classes.vote(live, "ann", asked["id"], 0, 2)  # changes it
        await classes.vote(live, "bob", asked["id"], 0, 1)
        while (seen := await event(teacher))["question"]["answered"] < 2:
            pass
        assert (seen["question"]["tallies"], seen["students"]) == ([[0, 1, 1]], 2)
        await classes.close(live)
        assert (await event(bob))["question"]["tallies"] is None  # only the teacher sees them before
        await classes.vote_again(live)
        assert await refusal(classes.vote(live, "ann", asked["id"], 0, 0))  # of the first round
        await classes.vote(live, "ann", asked["id"], 1, 1)
        await classes.reveal(live, 1)
        while (shown := (await event(ann))["question"])["state"] != "revealed":
            pass
        assert (shown["right"], shown["mine"]) == (1, [2, 1])
        assert shown["tallies"] == [[0, 1, 1], [0, 1, 0]]
        await classes.ask(live, "stop.4", CHOICES, None)
        while not (seen := await event(teacher))["past"]:
            pass
        assert (seen["past"][0]["about"], seen["past"][0]["right"]) == ("stop.3", 1)
        await classes.end(live)
        for each in (ann, bob, teacher):
            while (last := await event(each))["event"] != "ended":
                pass
            assert last == {"event": "ended"}
    assert await refusal(classes.find(live.code, SCHOOL)) == "room.unknown"


@async_test
async def test_votes_are_checked_against_the_question(classes: LiveClasses, clock: Clock) -> None:
    live, streams = await class_of(classes, "ann")
    assert await refusal(classes.vote(live, "ann", 1, 0, 0))  # nothing is asked
    for about in ("stop.1", "stop.2"):  # the first is dropped
        await classes.ask(live, about, CHOICES, 20)
    for student, question, number, choice in (("eve", 2, 0, 0), ("ann", 1, 0, 0), ("ann", 2, 1, 0), ("ann", 2, 0, 3)):
        assert await refusal(classes.vote(live, student, question, number, choice))
    await classes.vote(live, "ann", 2, 0, 0)
    clock.now = 20
    assert await refusal(classes.vote(live, "ann", 2, 0, 1)) == "room.closed"
    assert (await event(streams[0]))["question"]["mine"] == [0]
    assert await refusal(classes.reveal(live, 3))
    await classes.reveal(live, None)
    assert await refusal(classes.vote_again(live))


@async_test
async def test_a_student_who_comes_back_is_the_same_one(classes: LiveClasses) -> None:
    live, (first,) = await class_of(classes, "ann")
    await classes.ask(live, "stop.1", CHOICES, None)
    await classes.vote(live, "ann", 1, 0, 2)
    await first.aclose()
    await until(lambda: not live.connected(0))
    second, third = classes.stream(live, "ann"), classes.stream(live, "ann")  # two tabs
    assert (await event(second))["question"]["mine"] == [2]
    await event(third)
    assert live.connected(0) == 1


@async_test
async def test_codes_are_short_and_only_the_secret_leads(classes: LiveClasses) -> None:
    live = await classes.open(SCHOOL)
    assert len(live.code) == module.CODE_LENGTH
    assert await classes.find(live.code.lower(), STRANGER) is live
    assert await classes.find(live.code, SCHOOL, secret=live.secret) is live
    for secret in ("", "ö", live.code):
        assert await refusal(classes.find(live.code, SCHOOL, secret=secret)) == "room.not_yours"


@async_test
async def test_guesses_are_slowed_but_not_a_student_who_has_been_in(
    classes: LiveClasses, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, _streams = await class_of(classes, "ann")
    slept, wait = list[float](), asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds < 1:  # between two looks at the store
            return await wait(seconds)
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for _ in range(module.FREE_GUESSES + 3):
        assert await refusal(classes.find("XXXX", STRANGER))
    assert slept == [1, 2, 3]
    await classes.find(live.code, STRANGER)
    assert slept[3:] == [4]  # a right guess says no more than a wrong one
    await classes.find(live.code, STRANGER, "ann")
    await classes.find(live.code, STRANGER, secret=live.secret)
    await classes.find(live.code, SCHOOL)
    assert len(slept) == 4


@async_test
async def test_classes_are_bounded_in_number_and_age(classes: LiveClasses, clock: Clock) -> None:
    mine = [await classes.open(SCHOOL) for _ in range(module.MAX_CLASSES_OF_ADDRESS)]
    teacher = classes.stream(mine[0], None)
    await anext(teacher)
    assert await refusal(classes.open(SCHOOL))  # none is abandoned yet
    clock.now = module.ABANDONED_SECONDS + 1
    mine.append(await classes.open(SCHOOL))
    assert [live.is_ended for live in mine] == [False, True] + [False] * (module.MAX_CLASSES_OF_ADDRESS - 1)
    for n in range(module.MAX_CLASSES - module.MAX_CLASSES_OF_ADDRESS):
        await classes.open(f"{n}")
    assert await refusal(classes.open(STRANGER)) == "room.too_many"
    clock.now += module.IDLE_SECONDS + 1
    await classes.open(STRANGER)
    assert all(live.is_ended for live in mine)


@async_test
async def test_a_class_is_bounded_in_students_and_questions(classes: LiveClasses) -> None:
    live, _streams = await class_of(classes, *(f"{n}" for n in range(module.MAX_STUDENTS)))
    assert await refusal(anext(classes.stream(live, "late"))) == "room.full"
    for _ in range(module.MAX_QUESTIONS):
        await classes.ask(live, "stop.1", CHOICES, None)
        await classes.reveal(live, 0)
    assert await refusal(classes.ask(live, "stop.1", CHOICES, None)) == "room.many_questions"


@async_test
async def test_a_class_goes_on_after_a_restart(classes: LiveClasses, open_store: OpenStore, clock: Clock) -> None:
    live, _streams = await class_of(classes, "ann", "bob")
    await classes.show(live, "?tab=lesson")
    for right in (0, None):
        await classes.ask(live, "stop.1", CHOICES, 60)
        await classes.vote(live, "ann", live.question.id, 0, 1)
        if right is not None:
            await classes.reveal(live, right)
    await classes.vote_again(live)
    await classes.vote(live, "bob", live.question.id, 1, 2)
    classes._watching.cancel()  # the process is killed
    clock.now = module.CONNECTED_SECONDS - 1
    after = LiveClasses(open_store(), clock)
    found = await after.find(live.code, STRANGER, "ann")
    assert (found.secret, found.place, found.connected(clock.now)) == (live.secret, "?tab=lesson", 2)
    assert (found.questions, found.votes) == (live.questions, live.votes)
    assert found.votes == {(1, 0): {"ann": 1}, (2, 0): {"ann": 1}, (2, 1): {"bob": 2}}
    await after.vote(found, "ann", found.question.id, 1, 0)
    clock.now += 2
    assert found.connected(clock.now) == 0  # nobody has come back yet


@async_test
async def test_a_class_is_one_on_two_replicas(classes: LiveClasses, other: LiveClasses) -> None:
    """Its teacher and one student are on the first, another student is on the second."""
    live, (ann,) = await class_of(classes, "ann")
    async with aclosing(classes.stream(live, None)) as teacher:
        there = await other.find(live.code, SCHOOL)
        bob = other.stream(there, "bob")
        await event(bob)
        await classes.ask(live, "stop.1", CHOICES, None)
        asked = (await event(bob))["question"]
        await asyncio.gather(
            classes.vote(live, "ann", asked["id"], 0, 0),
            other.vote(await other.find(live.code, SCHOOL, "bob"), "bob", asked["id"], 0, 2),
        )
        while not (seen := await event(teacher))["question"] or seen["question"]["answered"] < 2:
            pass
        assert seen["students"] == 2
        await other.reveal(await other.find(live.code, SCHOOL, secret=live.secret), 2)  # from the teacher's second page
        while (seen := await event(ann))["question"]["state"] != "revealed":
            pass
        assert seen["question"]["tallies"] == [[1, 0, 1]]
        await other.end(there)
        for each in (ann, teacher):
            while (await event(each))["event"] != "ended":
                pass


@async_test
async def test_two_at_once_are_both_counted(classes: LiveClasses) -> None:
    opened = await asyncio.gather(
        *(classes.open(SCHOOL) for _ in range(module.MAX_CLASSES_OF_ADDRESS + 5)), return_exceptions=True
    )
    assert [each.message.key for each in opened if isinstance(each, MessageError)] == ["room.too_many"] * 5


@async_test
async def test_a_store_that_fails_is_no_end_of_a_class(
    classes: LiveClasses, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests fail for a while, and streams go on."""
    live, (ann,) = await class_of(classes, "ann")
    store = open_store()

    def fail(*_: object) -> Any:
        raise store.errors[0]

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "read", fail)
        with pytest.raises(StoreError):
            await classes.find(live.code, SCHOOL)
        assert await anext(ann) == {"event": "beat"}
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)
    assert await classes.find(live.code, SCHOOL) is live
