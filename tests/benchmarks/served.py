"""Shared by the benchmarks of the page: a server, and the format of ratios."""

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from tests.browser.conftest import Server


@contextmanager
def served() -> Iterator[int]:
    with tempfile.TemporaryDirectory() as classes:
        server = Server(TRANSFORMER_CLASSES=classes)
        try:
            server.wait()
            yield server.port
        finally:
            server.end()


def spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
