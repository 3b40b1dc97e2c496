"""Logs one line per action, and faults; never a visitor's text or identity.

With $TRANSFORMER_LOG=json every action and fault is a line of JSON on standard error; unset, only faults are logged, as
text. A line has `time` (UTC), `level` and `action`; that of an action also has

    checkpoint   the name of a shipped one, "own" for a session's own model, else null
    characters   of the sentence
    ms           duration
    outcome      "ok", the key of a refusal (see assets/locales) or "refused" (the body was too large), "left" (the
                 client disconnected before its answer ended), "full" (the queue was), or "fault"

An upload has no checkpoint and no characters. A fault has `error`, the type, and `where`, the code that led to it: its
message could quote a visitor.

A second has at most LINES_A_SECOND lines of actions, and MESSAGES_A_SECOND of faults and of each library; then a line
says how many were left out.
"""

import json
import logging
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .settings import settings

LOG = logging.getLogger("transformer.actions")
LINES_A_SECOND = 200  # a class of thirty writes 30, three hundred at once 150
MESSAGES_A_SECOND = 10
LIBRARIES = ("asyncio", "uvicorn.error")  # which would write a line for every broken connection


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": when, "level": record.levelname.lower(), **record.__dict__.get("logged", {})})


class RateLimit(logging.Filter):
    """Lets a number of lines of a level and above pass in each second, and says in the next how many it did not."""

    def __init__(self, level: int, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._level, self._most, self._clock = level, most, clock
        self._second, self._lines = -1, 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < self._level:
            return True
        second, left_out = int(self._clock()), self._lines - self._most
        if second != self._second:
            self._second, self._lines = second, 0
            if left_out > 0:
                record.msg = f"{record.msg} ({left_out} lines before it were left out)"
                record.__dict__.get("logged", {})["left_out"] = left_out
        self._lines += 1
        return self._lines <= self._most


def start() -> None:
    """Set up logging as the settings ask, within the rate limits."""
    LOG.addFilter(RateLimit(logging.INFO, LINES_A_SECOND))
    LOG.addFilter(RateLimit(logging.ERROR, MESSAGES_A_SECOND))
    for library in LIBRARIES:
        logging.getLogger(library).addFilter(RateLimit(logging.NOTSET, MESSAGES_A_SECOND))
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # it would quote the name of a tool that does not exist
    if settings().log == "json":
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        LOG.handlers = [handler]
        LOG.setLevel(logging.INFO)
        LOG.propagate = False


def action(name: str, started: float, outcome: str, **details: Any) -> None:
    """Log an action that began at `started` (of time.perf_counter)."""
    ms = round((time.perf_counter() - started) * 1000, 1)
    logged = {"action": name, **details, "ms": ms, "outcome": outcome}
    LOG.info("%s: %s", name, outcome, extra={"logged": logged})


def fault(name: str, error: BaseException) -> None:
    """Log an error of our own."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    logged = {"action": name, "error": type(error).__name__, "where": where}
    LOG.error("%s failed: %s at %s", name, type(error).__name__, " > ".join(where), extra={"logged": logged})
