"""A real Redis, where there is one."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def real_redis(folder: Path) -> Iterator[str]:
    """The address of one that only this test run can reach."""
    redis = pytest.importorskip("redis", reason="the package redis is not installed")
    if not (program := shutil.which("redis-server")):
        pytest.skip("there is no redis-server (on Debian and Ubuntu: apt install redis-server)")
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
