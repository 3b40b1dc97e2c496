"""Logs the calls of handlers; see access_log.py."""

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import gradio as gr

from ...inference.translator import available_checkpoints
from .. import access_log
from ..fair_queue import ClientLeftError
from ..sessions.model_store import is_own_model
from ..sessions.real_models import real_models

SERVER_FAULT = gr.Error("Internal error. It is in the server's log.", print_exception=False)


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
        except (ClientLeftError, asyncio.CancelledError):
            outcome = "left"
            raise
        except gr.Error as error:
            outcome = str(getattr(getattr(error.__cause__, "message", None), "key", "refused"))
            raise
        finally:
            if access_log.LOG.isEnabledFor(logging.INFO):
                access_log.action(function.__name__, started, outcome, **_details(signature, args, kwargs))

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
