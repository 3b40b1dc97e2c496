"""The actions for programs, as Gradio offers them: `gr.api`, `/gradio_api/info`, gradio_client and MCP."""

import inspect
import re
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr
import numpy as np
from anyio import to_thread
from pydantic_core import to_jsonable_python

from .. import access_log
from ..api.question import message, sentence
from ..api.turns import turn
from ..client import NOBODY, client_of
from ..sessions.model_store import is_own_model
from ..sessions.models import log_action, no_checkpoint
from .guard import FAULT


def as_action(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that Gradio calls: it waits for a turn, and its ValueErrors are sentences in English. One that is a
    coroutine takes its turns itself, for the `client` that it is called with."""
    waits = inspect.iscoroutinefunction(function)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "client"]

    @wraps(function)
    async def action(request: gr.Request, *args: Any, **named: Any) -> Any:
        bound = inspect.signature(function).bind(*args, **named)
        bound.apply_defaults()
        values, started, outcome = bound.arguments, time.perf_counter(), "fault"
        client = client_of(request.request.scope, str(request.session_hash or "")) if request.request else NOBODY
        try:
            if is_own_model(values.get("checkpoint")):  # the page's; its answers as lists would hold others up
                raise no_checkpoint()
            if waits:
                answer = plain(await function(**values | {"client": client}))
            else:
                async with turn(values.get("checkpoint"), client):
                    answer = await to_thread.run_sync(lambda: plain(function(**values)))
            outcome = "ok"
            return answer
        except ValueError as error:
            outcome = message(error).key
            raise gr.Error(sentence(error), print_exception=False) from None
        except Exception as error:
            access_log.fault(function.__name__, error)
            raise gr.Error(FAULT, print_exception=False) from None
        finally:
            log_action(function.__name__, started, outcome, values.get("checkpoint"), values.get("sentence"))

    first = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request)
    action.__signature__ = inspect.signature(function).replace(parameters=[first, *parameters])  # type: ignore[attr-defined]
    action.__annotations__ = {**function.__annotations__, "request": gr.Request}
    action.__doc__ = _unwrapped(inspect.getdoc(function) or "")
    return action


def _unwrapped(docstring: str) -> str:
    """Each value that an action takes on one line and its answer on another, as Gradio reads them for MCP's clients."""
    values, _, answers = docstring.partition("Returns:")
    return "\n".join((re.sub(r"\n {8,}", " ", values), "Returns:", " ".join(answers.split())))


def plain(value: Any) -> Any:
    """An answer as JSON has it: arrays are lists."""
    return to_jsonable_python(value, fallback=np.ndarray.tolist)
