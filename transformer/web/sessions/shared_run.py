"""One training that any number of visitors listen to: a class that opens an exercise together trains it once."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

Event = dict[str, Any]
Events = AsyncGenerator[Event]


class Joined(TypedDict):
    """The training is another visitor's and began `seconds` ago; its events so far follow immediately."""

    event: Literal["joined"]
    seconds: float


class SharedRun:
    """A run that begins with its first listener, continues while it has one, and whose events can be replayed after its
    end. All methods belong to one event loop."""

    def __init__(self, events: Events) -> None:
        self.failed = False  # also where everybody left before its end
        self._source = events
        self._events: list[Event] = []
        self._first = 0  # that a new listener hears: of the places in the queue the latest
        self._listeners = 0
        self._began = time.monotonic()
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    async def listen(self) -> Events:
        """Every event, from the first one on; of the places in the queue the latest. Raises what they raise."""
        self._listeners += 1
        try:
            if self._task is None:
                self._task = asyncio.create_task(self._read())
                self._task.add_done_callback(self._end)
            else:
                yield Joined(event="joined", seconds=time.monotonic() - self._began)  # type: ignore[misc]
            heard = self._first
            while heard < len(self._events) or not self._task.done():
                if heard < len(self._events):
                    heard += 1
                    yield self._events[heard - 1]
                else:
                    await self._changed.wait()
            self._task.result()
        finally:
            self._listeners -= 1
            if not self._listeners and self._task and not self._task.done():
                self.failed = True
                self._task.cancel()

    async def _read(self) -> None:
        waits = True
        async with aclosing(self._source) as events:
            async for event in events:
                if waits:
                    self._first = len(self._events)
                    waits = event["event"] == "waiting"
                self._events.append(event)
                self.failed = self.failed or event["event"] == "error"
                self._tell()

    def _end(self, task: asyncio.Task[None]) -> None:
        self.failed = self.failed or task.cancelled() or task.exception() is not None
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
