"""The MCP endpoint, whose tools language models call: translate, attention, positions; answers are kept short.

$TRANSFORMER_MCP=1 switches it on, at the path that Gradio's own endpoint would have. Gradio's would offer every action
of the page, send each call through its queue, and keep what a call leaves behind on the replica.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from .. import access_log
from ..api import runs
from ..api.positions import positions
from ..fair_queue import Client, QueueFullError, client_of
from ..settings import settings
from .logged_calls import SERVER_FAULT, logged
from .request_queue import queued

PATH = "/gradio_api/mcp"
MAX_CANDIDATES = 3  # of a step


def translate(sentence: str, checkpoint: str = "toy") -> dict[str, Any]:
    """Translate a sentence, token by token, with the original Transformer: from German, or as a real model does.

    The shipped models are small and know few words; a sentence that they cannot take is refused with the reason.

    Args:
        sentence: words that the checkpoint knows, such as "Ich möchte ein Bier".
        checkpoint: "toy" (two sentences), "classroom" (a grammar of everyday German), or a real model that the page
            offers, by its name on the Hugging Face Hub: "Helsinki-NLP/opus-mt-de-en".

    Returns:
        text; source and output (the model's tokens: S start, E end, P padding); steps: for each output token its
        probability and the most probable candidates.
    """
    found = runs.translate(sentence, checkpoint)
    steps = [step | {"candidates": step["candidates"][:MAX_CANDIDATES]} for step in found["steps"]]
    return {"text": found["text"], "source": found["source"], "output": found["output"], "steps": steps}


TOOLS: tuple[Callable[..., dict[str, Any]], ...] = (translate, runs.attention, positions)


def endpoint() -> dict[str, Any]:
    """The endpoint's routes and lifespan, as FastAPI takes them; no routes where it is off.

    Raises:
        ValueError: it is on, and the package that it needs is not installed.
    """
    if not settings().mcp:
        return {"routes": []}
    try:
        from mcp.server.fastmcp import FastMCP  # here, because the page does without it
        from mcp.server.fastmcp.exceptions import ToolError
    except ImportError as error:
        raise ValueError("TRANSFORMER_MCP needs a package that is not here: pip install 'gradio[mcp]'") from error

    def as_tool(function: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
        call_logged = logged(function)

        @wraps(function)
        async def call(**arguments: Any) -> dict[str, Any]:
            try:
                asked = server.get_context().request_context.request
                async with queued(arguments.get("checkpoint"), client_of(asked.scope) if asked else Client()):
                    return await run_in_threadpool(call_logged, **arguments)
            except QueueFullError as error:
                raise ToolError(str(error)) from None
            except gr.Error as error:
                raise ToolError(error.message) from None
            except Exception as error:
                access_log.fault(function.__name__, error)
                raise ToolError(SERVER_FAULT.message) from None

        return call

    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # its messages quote what was sent
    # Any host may call: the tools tell nothing that the page does not tell.
    options: dict[str, Any] = {"host": "0.0.0.0", "streamable_http_path": PATH, "log_level": "ERROR"}
    server = FastMCP("Attention, bitte", stateless_http=True, json_response=True, **options)
    for function in TOOLS:
        server.add_tool(as_tool(function))
    (route,) = server.streamable_http_app().routes
    assert isinstance(route, Route)
    return {
        "routes": [route, Route(f"{PATH}/", route.endpoint)],
        "lifespan": lambda _: server.session_manager.run(),
    }
