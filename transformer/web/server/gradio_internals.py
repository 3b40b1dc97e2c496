"""Everything that relies on Gradio's internals; tests/web/server/test_gradio_internals.py names each reliance.

The rest of the package uses what Gradio documents.
"""

import inspect
import json
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi.exceptions import RequestValidationError
from gradio.route_utils import FnIndexInferError
from pydantic import ValidationError
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from .access_log import SERVER_FAULT, fault
from .request_limits import MAX_BODY, MAX_CALL, RequestLimits
from .request_queue import QueueFullError, QueueMiddleware, queued

API = "/gradio_api/"
CALLS = (f"{API}run/", f"{API}api/")  # events and actions
SERVER_FUNCTIONS = f"{API}component_server"
UPLOAD = "/models"  # our own: routes.py bounds it by what a model can have
UNREADABLE = "The server could not read this request."
UNKNOWN = "This server does not have this action."
PACKAGE = Path(__file__).resolve().parents[2]


class Blocks(gr.Blocks):
    """Makes what comes through Gradio's own queue wait in ours, and logs errors without what a visitor typed.

    Events, actions and Gradio's queue all end in `process_api`; server functions of components do not.
    """

    def queue(self, *args: Any, **options: Any) -> "Blocks":
        super().queue(*args, **options)
        self._queue.sleep_when_free = 0.01  # s; at Gradio's 0.001 an empty queue takes 5% of a processor
        return self

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        """Gradio's own message quotes the values."""
        if len(inputs) < len(block_fn.inputs):
            raise gr.Error(f"This action takes {len(block_fn.inputs)} values, and {len(inputs)} came.")

    async def process_api(self, block_fn: Any, inputs: Any, *args: Any, **options: Any) -> Any:
        options["root_path"] = None  # else Gradio walks through every answer to prefix the addresses of files
        try:
            async with queued(_checkpoint(block_fn, inputs, event_payload(options.get("event_data")))):
                return await super().process_api(block_fn, inputs, *args, **options)
        except QueueFullError as error:
            raise gr.Error(str(error), print_exception=False) from None
        except gr.Error as error:
            error.print_exception = False  # its message may quote the visitor
            raise
        except Exception as error:
            fault(block_fn.name, error)
            raise SERVER_FAULT from None


def event_payload(event: gr.EventData | None) -> Any:
    """What an event carries, which anybody may have written."""
    return getattr(event, "_data", None)


def _checkpoint(block_fn: Any, inputs: object, event: object) -> object:
    """The checkpoint that an action takes as an argument, or that an event carries."""
    names = list(inspect.signature(block_fn.fn).parameters) if block_fn and block_fn.fn else []
    if "checkpoint" not in names:
        return event.get("checkpoint") if isinstance(event, dict) else None
    position = names.index("checkpoint")
    return inputs[position] if isinstance(inputs, list) and position < len(inputs) else None


def requested_checkpoint(scope: Scope, body: dict[str, Any]) -> object:
    """The same from a request, before Gradio reads it."""
    data, path, index = body.get("data"), scope["path"], body.get("fn_index")
    if path.startswith(SERVER_FUNCTIONS):
        return data.get("checkpoint") if isinstance(data, dict) else None
    functions = scope["app"].get_blocks().fns
    if index is None:
        name = path.strip("/").rsplit("/")[-1]
        block_fn = next((each for each in functions.values() if each.api_name == name), None)
    else:
        block_fn = functions.get(index) if isinstance(index, int) else None
    return _checkpoint(block_fn, data, body.get("event_data"))


def max_body(path: str) -> int | None:
    """The most bytes of a body; Gradio keeps those of calls as long as a session."""
    if path == UPLOAD:
        return None
    return MAX_CALL if path.startswith(API) and not path.startswith(SERVER_FUNCTIONS) else MAX_BODY


MIDDLEWARE = [
    Middleware(RequestLimits, max_body=max_body),
    Middleware(QueueMiddleware, paths=(*CALLS, SERVER_FUNCTIONS), checkpoint_of=requested_checkpoint),
]


def _refusal(why: str, status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refuse(_: Request, error: Exception) -> Response:
        if any(PACKAGE in Path(frame.filename).parents for frame in traceback.extract_tb(error.__traceback__)):
            raise error  # our own fault
        return JSONResponse({"error": why}, status)

    return refuse


# What Gradio lets escape from a request that it cannot read, or in which it looks up something that does not exist.
EXCEPTION_HANDLERS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    **{kind: _refusal(UNREADABLE, 422) for kind in (RequestValidationError, ValidationError, json.JSONDecodeError)},
    **{kind: _refusal(UNKNOWN, 404) for kind in (FnIndexInferError, KeyError)},
}
