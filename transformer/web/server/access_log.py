"""What the server says of itself: one line an action, and faults. Never what a visitor wrote, nor who it was.

`$TRANSFORMER_LOG` is "json" for every action and fault as a line of JSON on standard error; unset, only faults are
written, as text. A line has `time` (UTC), `level` and `action`, and of an action

    checkpoint   its name if it is a shipped one, "own" for a visit's, null where none was asked for
    characters   of the sentence
    ms           that it took
    outcome      "ok", the key of a refusal (see assets/locales) or "refused", "left" (the visitor went before the end
                 of a stream), "full" (of the action "wait": the line was), or "fault"

or of a request for one of our own addresses `status`, `received` and `sent` (bytes) instead of the first two. A fault
has `error`, the type, and `where`, the lines of code that led to it: its message could quote a visitor.
"""

import inspect
import json
import logging
import os
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
from ..sessions.model_store import OWN_MODEL_PREFIX

ENVIRONMENT = "TRANSFORMER_LOG"
LOG = logging.getLogger("transformer.actions")
OURS = gr.Error("The server made a mistake. It is in the server's log.", print_exception=False)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": when, "level": record.levelname.lower(), **record.__dict__.get("told", {})})


def start() -> None:
    """Write what the environment asks for.

    Raises:
        ValueError: it asks for what there is not.
    """
    wanted = os.environ.get(ENVIRONMENT, "")
    if wanted not in ("", "json"):
        raise ValueError(f"{ENVIRONMENT}={wanted!r} is no kind of log: it is json, or unset")
    if wanted:
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        LOG.handlers = [handler]
        LOG.setLevel(logging.INFO)
        LOG.propagate = False


def silence(package: str) -> None:
    """For a package whose messages quote what it was sent."""
    logging.getLogger(package).setLevel(logging.CRITICAL)


def action(name: str, started: float, outcome: str, **told: Any) -> None:
    """Note what was done since `started` (of time.perf_counter)."""
    ms = round((time.perf_counter() - started) * 1000, 1)
    LOG.info("%s: %s", name, outcome, extra={"told": {"action": name, **told, "ms": ms, "outcome": outcome}})


def fault(name: str, error: BaseException) -> None:
    """Note an error of our own."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    told = {"action": name, "error": type(error).__name__, "where": where}
    LOG.error("%s failed: %s at %s", name, type(error).__name__, " > ".join(where), extra={"told": told})


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose calls are logged."""
    signature = inspect.signature(function)

    @contextmanager
    def noting(args: Any, named: Any) -> Iterator[Callable[[Any], Any]]:
        """Around a call, whose answer goes through what is given."""
        started, outcome = time.perf_counter(), "fault"

        def told(answer: Any) -> Any:
            nonlocal outcome
            outcome = _outcome(answer)
            return answer

        try:
            yield told
        except gr.Error as error:
            outcome = _key(error.__cause__)
            raise
        finally:
            if LOG.isEnabledFor(logging.INFO):
                action(function.__name__, started, outcome, **_about(signature, args, named))

    @wraps(function)
    def ask(*args: Any, **named: Any) -> Any:
        with noting(args, named) as told:
            return told(function(*args, **named))

    @wraps(function)
    async def ask_and_wait(*args: Any, **named: Any) -> Any:
        with noting(args, named) as told:
            return told(await function(*args, **named))

    return ask_and_wait if inspect.iscoroutinefunction(function) else ask


def _about(signature: inspect.Signature, args: Any, named: Any) -> dict[str, Any]:
    """Of a question (a dict of anything), of an event, or of named arguments."""
    bound = signature.bind_partial(*args, **named)
    bound.apply_defaults()
    given = bound.arguments
    about = given.get("question", given.get("event", given))
    get = about.get if isinstance(about, dict) else lambda name: getattr(about, name, None)
    checkpoint, sentence = get("checkpoint"), get("sentence")
    if not isinstance(checkpoint, str):
        checkpoint = None
    elif checkpoint not in available_checkpoints():
        checkpoint = "own" if checkpoint.startswith(OWN_MODEL_PREFIX) else None
    return {"checkpoint": checkpoint, "characters": len(sentence) if isinstance(sentence, str) else None}


def _outcome(answer: Any) -> str:
    """Of what a handler answers: a dict, or a tuple that ends on one."""
    answer = answer[-1] if isinstance(answer, tuple) else answer
    error = answer.get("error") if isinstance(answer, dict) else None
    if error is None:
        return "ok"
    return str(error["key"]) if isinstance(error, dict) else "refused"


def _key(error: BaseException | None) -> str:
    return str(getattr(getattr(error, "message", None), "key", "refused"))
