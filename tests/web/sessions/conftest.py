"""What the tests of sessions share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from transformer.web.sessions import class_store

from ..redis import real_redis
from .clock import Clock

OpenStore = Callable[[], class_store.ClassStore]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def redis_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with real_redis(tmp_path_factory.mktemp("redis")) as address:
        yield address


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.slow)])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    """Opens an empty store, and that one again."""
    where = str(tmp_path / "classes")
    if request.param == "redis":
        where = request.getfixturevalue("redis_address")
        class_store.RedisStore(where)._redis.flushall()
    return lambda: class_store.class_store(where)
