"""Event loops for tests."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
TIMEOUT = 300  # s, after which a test hangs; a training leaves the processor to the other tests


def in_a_loop(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, in a thread of its own: Playwright may have a loop in this one."""

    async def limited() -> T:
        async with asyncio.timeout(TIMEOUT) as limit:
            result = await work
        assert not limit.expired()  # nor may anything swallow that
        return result

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, limited()).result()


def async_test(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        in_a_loop(test(*args, **kwargs))

    return run


async def until(true: Callable[[], object]) -> None:
    while not true():
        await asyncio.sleep(0.001)
