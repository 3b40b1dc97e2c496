"""The tools of the MCP endpoint, for language models: translate, attention, positions; answers are kept short.

`$TRANSFORMER_MCP` = 1 switches it on, at the address that Gradio's own would have. It is not Gradio's, which offers
every action of a page, sends each call round through the queue, and keeps what a call left behind on the replica.
"""

import os
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
from . import access_log as log
from .request_queue import QueueFullError, turn

ENVIRONMENT = "TRANSFORMER_MCP"
ADDRESS = "/gradio_api/mcp"
MAX_VALUES = 4096  # of an encoding: about 30 KB
CANDIDATES = 3  # a step


def translate(sentence: str, checkpoint: str = "toy") -> dict[str, Any]:
    """Translate a German sentence into English, word by word, with the original Transformer.

    The models are small and know few words; a sentence that they cannot take is refused with the reason.

    Args:
        sentence: German words that the checkpoint knows, such as "Ich möchte ein Bier".
        checkpoint: "toy" (two sentences) or "classroom" (a grammar of everyday German).

    Returns:
        text; source and output (tokens as the model reads and says them: S start, E end, P padding); steps: of each
        output token its probability, and the likeliest candidates.
    """
    found = handlers.translate(sentence, checkpoint)
    steps = [step | {"candidates": step["candidates"][:CANDIDATES]} for step in found["steps"]]
    return {"text": found["text"], "source": found["source"], "output": found["output"], "steps": steps}


def attention(
    sentence: str, kind: str = "cross", layer: int = 0, head: int = 0, checkpoint: str = "toy"
) -> dict[str, Any]:
    """Tell where one attention head looked while the model translated a German sentence.

    Args:
        sentence: German words that the checkpoint knows, such as "Ich möchte ein Bier".
        kind: "encoder" (source looks at source), "decoder" (output so far looks at itself) or "cross" (output looks at
            source).
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
    looks = maps[layer]
    return {
        "text": translation.text,
        "kind": kind,
        "layer": layer,
        "head": head,
        "query_tokens": looks.query_tokens,
        "key_tokens": looks.key_tokens,
        "weights": [[round(float(weight), 4) for weight in row] for row in looks.weights[head]],
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
    """What the server needs for it, as FastAPI calls it: its routes and its lifespan; nothing where it is off.

    Raises:
        ValueError: it is to be on, and the package that it needs is not there.
    """
    if os.environ.get(ENVIRONMENT, "") in ("", "0"):
        return {"routes": []}
    try:
        from mcp.server.fastmcp import FastMCP  # here, because the page does without it
        from mcp.server.fastmcp.exceptions import ToolError
    except ImportError as error:
        raise ValueError(f"{ENVIRONMENT} needs a package that is not here: pip install 'gradio[mcp]'") from error

    def told(tool: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
        logged = log.logged(tool)

        @wraps(tool)
        async def call(**given: Any) -> dict[str, Any]:
            try:
                async with turn(tool.__name__, given):
                    return await run_in_threadpool(logged, **given)
            except QueueFullError as error:
                raise ToolError(str(error)) from None
            except gr.Error as error:
                raise ToolError(error.message) from None
            except Exception as error:
                log.fault(tool.__name__, error)
                raise ToolError(log.OURS.message) from None

        return call

    # Its messages quote what was sent. Any host may ask: these tools tell nothing that the page does not tell.
    log.silence("mcp")
    how: dict[str, Any] = {"host": "0.0.0.0", "streamable_http_path": ADDRESS, "log_level": "ERROR"}
    server = FastMCP("Attention, bitte", stateless_http=True, json_response=True, **how)
    for tool in TOOLS:
        server.add_tool(told(tool))
    (route,) = server.streamable_http_app().routes
    assert isinstance(route, Route)
    return {
        "routes": [route, Route(f"{ADDRESS}/", route.endpoint)],
        "lifespan": lambda _: server.session_manager.run(),
    }
