"""What the tests of sessions share."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from transformer.web.sessions import class_store

OpenStore = Callable[[], class_store.ClassStore]


class Clock:
    """Shows what a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def redis_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Redis that only this test run can reach."""
    if not (program := shutil.which("redis-server")):
        pytest.skip("there is no redis-server (on Debian and Ubuntu: apt install redis-server)")
    folder = tmp_path_factory.mktemp("redis")
    address = f"unix://{folder}/socket"
    command = [program, "--port", "0", "--unixsocket", f"{folder}/socket", "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            while True:
                try:
                    redis.Redis.from_url(address).ping()
                    break
                except redis.ConnectionError:
                    assert process.poll() is None
                    time.sleep(0.01)
            yield address
        finally:
            process.terminate()


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.slow)])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenStore:
    """Opens an empty store, and that one again."""
    monkeypatch.setattr(class_store, "WAIT_SECONDS", 60)  # for a machine that is busy with other tests
    where = str(tmp_path / "classes")
    if request.param == "redis":
        where = request.getfixturevalue("redis_address")
        class_store.RedisStore(where)._redis.flushall()
    return lambda: class_store.class_store(where)
