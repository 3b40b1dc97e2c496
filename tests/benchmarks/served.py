"""A server for a benchmark of the page, with classes of its own and without a log."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser.conftest import Server


@contextmanager
def served(**how: Any) -> Iterator[Server]:
    """What is given goes to `Server`."""
    with (
        tempfile.TemporaryDirectory() as classes,
        Server(log=Path(os.devnull), TRANSFORMER_CLASSES=classes, **how) as server,
    ):
        yield server
