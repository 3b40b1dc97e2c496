"""One training that any number of visitors listen to: a class that opens an exercise together trains it once."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

Event = dict[str, Any]
Events = AsyncGenerator[Event | str]  # events, also as lines of JSON


def line_of(*names: str) -> tuple[str, ...]:
    """The beginnings of the lines of events with these names."""
    return tuple(f'{{"event": "{name}"' for name in names)


class Joined(TypedDict):
    """The training is another visitor's and began `seconds` ago; its events so far follow immediately."""

    event: Literal["joined"]
    seconds: float


class SharedRun:
    """A run that continues while it has a listener, and whose events can be replayed after its end.

    It begins at the first listener's first event. All methods belong to one event loop.

    Args:
        events: of the run; closing them ends it.
    """

    def __init__(self, events: Events) -> None:
        self.ended = False
        self.failed = False  # also where everybody left before its end
        self._source = events
        self._events: list[Event | str] = []
        self._place: Event | None = None  # in the queue, as last announced
        self._listeners = 0
        self._began = time.monotonic()
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._changed = asyncio.Event()

    async def listen(self) -> Events:
        """Every event, from the first one on; of the places in the queue the latest.

        Raises:
            Exception: what the run's events raise.
        """
        self._listeners += 1
        try:
            if self._task is None:
                self._task = asyncio.create_task(self._read())
            else:
                yield Joined(event="joined", seconds=time.monotonic() - self._began)  # type: ignore[misc]
            heard, place = 0, None
            while True:
                changed = self._changed
                if self._place is not place and not self._events:
                    yield (place := self._place)  # type: ignore[misc]
                    continue
                if heard < len(self._events):
                    heard += 1
                    yield self._events[heard - 1]
                    continue
                if self._error:
                    raise self._error
                if self.ended:
                    return
                await changed.wait()
        finally:
            self._listeners -= 1
            if not self._listeners and not self.ended:
                self.failed = True
                assert self._task
                self._task.cancel()

    async def _read(self) -> None:
        try:
            async with aclosing(self._source) as events:
                async for event in events:
                    if isinstance(event, dict) and event["event"] == "waiting":
                        self._place = event
                    else:
                        self._events.append(event)
                        self.failed = self.failed or _is_error(event)
                    self._tell()
        except Exception as error:
            self.failed, self._error = True, error
        finally:
            self.ended = True
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _is_error(event: Event | str) -> bool:
    return event.startswith(line_of("error")) if isinstance(event, str) else event["event"] == "error"
