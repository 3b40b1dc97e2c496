"""A part of the page that a module of assets/js draws."""

import gzip
import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import gradio as gr
from starlette.requests import Request
from starlette.responses import Response

from ..files import shipped
from .server.logged_calls import logged

ASSETS = shipped("assets")

# The template is empty and stays so: Gradio would run what a visitor typed if it ever stood in a template. The module
# gets the value as data and writes it as text.
_MOUNT = """
const view = element.querySelector(`.view`);
const mounting = async (name) => (await import(await window.moduleAddress(`core/mount.js`))).mount(name, {{
    element: view, props, watch, trigger, server,
}});
mounting(`{module}.js`).catch((error) => {{
    view.textContent = `This part could not be loaded. Reload the page.`;
    throw error;
}});
/* Gradio makes an event of every name that stands in this script in quotes: {events} */
"""


async def modules(request: Request) -> Response:
    """All modules of assets/js by name, in one answer, which assets/js/core/load.js takes apart."""
    files = sorted((ASSETS / "js").rglob("*.js"))
    body, etag = _packed(tuple(files), max(file.stat().st_mtime_ns for file in files))
    headers = {"Cache-Control": "no-cache", "Content-Encoding": "gzip", "ETag": etag}
    if request.headers.get("if-none-match") == etag:
        return Response(None, 304, headers)
    return Response(body, 200, headers, "application/json")


@lru_cache(maxsize=1)
def _packed(files: tuple[Path, ...], _changed: int) -> tuple[bytes, str]:
    sources = {file.relative_to(ASSETS / "js").as_posix(): file.read_text("utf-8") for file in files}
    body = gzip.compress(json.dumps(sources).encode(), mtime=0)
    return body, f'"{hashlib.sha256(body).hexdigest()[:16]}"'


def component(
    module: str,
    value: Any = None,
    *,
    elem_id: str | None = None,
    events: tuple[str, ...] = (),
    server: tuple[Callable[[Any], Any], ...] = (),
    **props: Any,
) -> gr.HTML:
    """A place for `assets/js/{module}.js`, whose `mount` fills it and receives each new value.

    Not a subclass of gr.HTML, because Gradio writes a .pyi file beside every subclass of a component.

    Args:
        module: the module's folder and name.
        value: its first value (JSON).
        events: names of the events that it triggers.
        server: functions that it may call, `server.name(request)`.
        props: constants, `props.name`.
    """
    return gr.HTML(
        value,
        html_template='<div class="view"></div>',
        js_on_load=_MOUNT.format(module=module, events=", ".join(map(repr, events))),
        apply_default_css=False,
        elem_id=elem_id,
        server_functions=[logged(function) for function in server],
        **props,
    )
