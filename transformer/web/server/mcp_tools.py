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

from ...inference.attention_maps import KINDS
from ...inference.translator import positional_encoding
from ..api import runs as handlers
from ..api.runs import REFUSALS, run
from . import access_log
from .request_queue import QueueFullError, queued
from .settings import settings

PATH = "/gradio_api/mcp"
MAX_VALUES = 4096  # of a positional encoding: about 30 KB
MAX_CANDIDATES = 3  # of a step


def translate(sentence: str, checkpoint: str = "toy") -> dict[str, Any]:
    """Translate a German sentence into English, word by word, with the original Transformer.

    The models are small and know few words; a sentence that they cannot take is refused with the reason.

    Args:
        sentence: German words that the checkpoint knows, such as "Ich möchte ein Bier".
        checkpoint: "toy" (two sentences) or "classroom" (a grammar of everyday German).

    Returns:
        text; source and output (the model's tokens: S start, E end, P padding); steps: for each output token its
        probability and the most probable candidates.
    """
    found = handlers.translate(sentence, checkpoint)
    steps = [step | {"candidates": step["candidates"][:MAX_CANDIDATES]} for step in found["steps"]]
    return {"text": found["text"], "source": found["source"], "output": found["output"], "steps": steps}


def attention(
    sentence: str, kind: str = "cross", layer: int = 0, head: int = 0, checkpoint: str = "toy"
) -> dict[str, Any]:
    """Return the attention weights of one head while the model translated a German sentence.

    Args:
        sentence: German words that the checkpoint knows, such as "Ich möchte ein Bier".
        kind: "encoder" (the source attends to itself), "decoder" (the output so far attends to itself) or "cross" (the
            output attends to the source).
        layer: from 0.
        head: from 0.
        checkpoint: "toy" (6 layers of 8 heads) or "classroom" (2 layers of 4 heads).

    Returns:
        text (the translation), kind, layer, head, query_tokens, key_tokens, and weights [query][key]: rows sum to 1.
    """
    if not isinstance(sentence, str) or not isinstance(checkpoint, str):
        raise gr.Error("sentence and checkpoint are texts.")
    if kind not in KINDS:
        raise gr.Error("kind is encoder, decoder or cross.")
    try:
        translation = run(checkpoint, sentence)
    except REFUSALS as error:
        raise gr.Error(str(error)) from error
    maps = translation.attention.of(kind)
    heads = maps[0].n_heads
    if not (type(layer) is type(head) is int and 0 <= layer < len(maps) and 0 <= head < heads):
        raise gr.Error(f"layer is from 0 to {len(maps) - 1}, and head from 0 to {heads - 1}.")
    chosen = maps[layer]
    return {
        "text": translation.text,
        "kind": kind,
        "layer": layer,
        "head": head,
        "query_tokens": chosen.query_tokens,
        "key_tokens": chosen.key_tokens,
        "weights": [[round(float(weight), 4) for weight in row] for row in chosen.weights[head]],
    }


def positions(length: int = 10, d_model: int = 64) -> dict[str, Any]:
    """Compute the sinusoidal positional encoding of "Attention Is All You Need".

    Args:
        length: how many positions.
        d_model: how many dimensions, an even number; length × d_model is at most 4096.

    Returns:
        length, d_model, and values [position][dimension]: sines at even dimensions, cosines at odd ones.
    """
    if not (type(length) is type(d_model) is int and length >= 1 and d_model >= 2 and d_model % 2 == 0):
        raise gr.Error("length is a whole number from 1, and d_model an even one from 2.")
    if length * d_model > MAX_VALUES:
        raise gr.Error(f"length × d_model is at most {MAX_VALUES}.")
    encoding = positional_encoding(length, d_model)
    values = [[round(float(value), 4) for value in row] for row in encoding]
    return {"length": length, "d_model": d_model, "values": values}


TOOLS: tuple[Callable[..., dict[str, Any]], ...] = (translate, attention, positions)


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
        logged = access_log.logged(function)

        @wraps(function)
        async def call(**arguments: Any) -> dict[str, Any]:
            try:
                async with queued(arguments.get("checkpoint")):
                    return await run_in_threadpool(logged, **arguments)
            except QueueFullError as error:
                raise ToolError(str(error)) from None
            except gr.Error as error:
                raise ToolError(error.message) from None
            except Exception as error:
                access_log.fault(function.__name__, error)
                raise ToolError(access_log.SERVER_FAULT.message) from None

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
