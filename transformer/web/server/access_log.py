"""Logs one line per action, and faults; never what a visitor wrote, nor who it was.

With $TRANSFORMER_LOG=json every action and fault is a line of JSON on standard error; unset, only faults are logged, as
text. A line has `time` (UTC), `level` and `action`; that of an action also has

    checkpoint   the name of a shipped one, "own" for a session's own model, else null
    characters   of the sentence
    ms           duration
    outcome      "ok", the key of a refusal (see assets/locales) or "refused", "left" (the client disconnected during a
                 stream), "full" (action "wait": the queue was full), or "fault"

and that of a request to our own routes `status`, `received` and `sent` (bytes) instead of the first two. A fault has
`error`, the type, and `where`, the code that led to it: its message could quote a visitor.

A second has at most LINES_A_SECOND lines of actions, and MESSAGES_A_SECOND of faults and of each library; then a line
says how many were left out.
"""

import inspect
import json
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

import gradio as gr

from ...inference.translator import available_checkpoints
from ..sessions.model_store import is_own_model
from .settings import settings

LOG = logging.getLogger("transformer.actions")
LINES_A_SECOND = 200  # a class of thirty writes 30, three hundred at once 150
MESSAGES_A_SECOND = 10
LIBRARIES = ("asyncio", "uvicorn.error")  # which would write a line for every broken connection
SERVER_FAULT = gr.Error("Internal error. It is in the server's log.", print_exception=False)


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
    """Log what the settings ask for, and no more than can be read."""
    LOG.addFilter(RateLimit(logging.INFO, LINES_A_SECOND))
    LOG.addFilter(RateLimit(logging.ERROR, MESSAGES_A_SECOND))
    for library in LIBRARIES:
        logging.getLogger(library).addFilter(RateLimit(logging.NOTSET, MESSAGES_A_SECOND))
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


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose calls are logged."""
    signature = inspect.signature(function)

    @contextmanager
    def logging_call(args: Any, kwargs: Any) -> Iterator[Callable[[Any], Any]]:
        """Logs the call inside it, and the outcome of the answer that passes through what it yields."""
        started, outcome = time.perf_counter(), "fault"

        def returned(answer: Any) -> Any:
            nonlocal outcome
            outcome = _outcome(answer)
            return answer

        try:
            yield returned
        except gr.Error as error:
            outcome = str(getattr(getattr(error.__cause__, "message", None), "key", "refused"))
            raise
        finally:
            if LOG.isEnabledFor(logging.INFO):
                action(function.__name__, started, outcome, **_details(signature, args, kwargs))

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with logging_call(args, kwargs) as returned:
            return returned(function(*args, **kwargs))

    @wraps(function)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        with logging_call(args, kwargs) as returned:
            return returned(await function(*args, **kwargs))

    return call_async if inspect.iscoroutinefunction(function) else call


def _details(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    """Of the one argument, if it is a request, which may be anything, or of the arguments themselves."""
    bound = signature.bind_partial(*args, **kwargs)
    bound.apply_defaults()
    asked = bound.arguments.get("request", bound.arguments)
    if not isinstance(asked, dict):
        asked = {}
    checkpoint, sentence = asked.get("checkpoint"), asked.get("sentence")
    from ..sessions.real_models import real_models  # which logs its faults here

    if not isinstance(checkpoint, str) or checkpoint not in (*available_checkpoints(), *real_models()):
        checkpoint = "own" if is_own_model(checkpoint) else None
    return {"checkpoint": checkpoint, "characters": len(sentence) if isinstance(sentence, str) else None}


def _outcome(answer: Any) -> str:
    """Of a handler's answer: a dict, or a tuple that ends with one."""
    answer = answer[-1] if isinstance(answer, tuple) else answer
    error = answer.get("error") if isinstance(answer, dict) else None
    if error is None:
        return "ok"
    return str(error["key"]) if isinstance(error, dict) else "refused"
