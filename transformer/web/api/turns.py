"""Requests that compute something wait for a turn: those about small models in one lane; slow ones, and those about
large models, which are sessions' own and real ones, in another, so that they delay nobody else. An address has all
turns of a lane but one, so that another address always finds a free one.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from ..client import Client
from ..fair_queue import FairQueue
from ..sessions.models import is_large
from ..sessions.real_models import real_models
from ..settings import settings

QUEUE_SIZE = 500  # requests that may wait in each lane


@cache
def _lanes() -> tuple[FairQueue, FairQueue]:
    concurrency = settings().concurrency
    small, large = (FairQueue(concurrency, QUEUE_SIZE, max(1, concurrency - 1)) for _ in range(2))
    return small, large


def counts() -> dict[str, int]:
    """Requests at work and waiting, of both lanes together."""
    return {name: sum(lane.counts()[name] for lane in _lanes()) for name in ("working", "waiting")}


def others(client: Client) -> int:
    """Requests at work and waiting that are not this client's."""
    return sum(lane.others(client) for lane in _lanes())


@asynccontextmanager
async def turn(checkpoint: object, client: Client, is_slow: bool = False) -> AsyncIterator[None]:
    """A turn around the work inside. A real model is in memory before it begins, and stays there until it ends.
    Raises QueueFullError if the queue is full."""
    async with real_models().in_use(checkpoint), _lanes()[is_slow or is_large(checkpoint)].turn(client):
        yield
