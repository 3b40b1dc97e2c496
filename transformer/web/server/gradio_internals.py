"""Gradio's blocks as this page needs them: they work in line, and say nothing of what a visitor typed."""

import json
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi.exceptions import RequestValidationError
from gradio.route_utils import FnIndexInferError
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .access_log import OURS, fault
from .request_queue import QueueFullError, turn

UNREADABLE = "This is no question that the server can read."
UNKNOWN = "There is no such action here."
PACKAGE = Path(__file__).resolve().parents[2]


class Blocks(gr.Blocks):
    """Everything but the server's functions comes through here: clicks, calls, and Gradio's own queue."""

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        if len(inputs) < len(block_fn.inputs):
            raise gr.Error(f"This action takes {len(block_fn.inputs)} values, and {len(inputs)} came.")

    async def process_api(self, block_fn: Any, inputs: Any, *args: Any, **named: Any) -> Any:
        named["root_path"] = None  # for addresses of files, in search of which Gradio walks through every answer
        try:
            async with turn(block_fn.name, (inputs, getattr(named.get("event_data"), "_data", None))):
                return await super().process_api(block_fn, inputs, *args, **named)
        except QueueFullError as error:
            raise gr.Error(str(error), print_exception=False) from None
        except gr.Error as error:  # for the visitor; Gradio would print its message, and so what was typed
            error.print_exception = False
            raise
        except Exception as error:
            fault(block_fn.name, error)
            raise OURS from None


def _refusal(why: str, status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refuse(_: Request, error: Exception) -> Response:
        if any(PACKAGE in Path(frame.filename).parents for frame in traceback.extract_tb(error.__traceback__)):
            raise error  # no question's fault
        return JSONResponse({"error": why}, status)

    return refuse


REFUSALS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    **{kind: _refusal(UNREADABLE, 422) for kind in (RequestValidationError, ValidationError, json.JSONDecodeError)},
    **{kind: _refusal(UNKNOWN, 404) for kind in (FnIndexInferError, KeyError)},  # looked up in vain
}
