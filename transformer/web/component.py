"""A part of the page that a module of assets/js draws."""

import posixpath
import re
from collections.abc import Callable
from typing import Any

import gradio as gr

from ..files import shipped
from .server.access_log import logged

ASSETS = shipped("assets")

# The template is empty and stays so: Gradio would run what a visitor typed if it ever stood in a template. The module
# gets the value as data and writes it as text.
_MOUNT = """
const at = (name) => new URL(`gradio_api/file={js}/${{name}}.js`, document.baseURI).href;
const view = element.querySelector(`.view`);
import(at(`core/mount`))
    .then(({{ mount }}) => mount(at(`{module}`), {{ element: view, props, watch, trigger, server }}))
    .catch((error) => {{ view.textContent = `This part could not be loaded. Reload the page.`; throw error; }});
/* Gradio makes an event of every name that stands in this script in quotes: {events} */
"""


def preloads(*modules: str) -> str:
    """For the page's head: modules and all that they import, which the browser else finds one after another."""
    found: dict[str, None] = {}
    wanted = list(modules)
    while wanted:
        name = wanted.pop(0)
        if name not in found:
            found[name] = None
            module = (ASSETS / "js" / f"{name}.js").read_text("utf-8")
            imported = re.findall(r'^(?:import|\}).* from "(\.[\w./-]+)\.js";$', module, re.M)  # types are not fetched
            wanted += [posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) for path in imported]
    return "".join(f'<link rel="modulepreload" href="gradio_api/file={ASSETS}/js/{name}.js">\n' for name in found)


def component(
    module: str,
    value: Any = None,
    *,
    elem_id: str | None = None,
    events: tuple[str, ...] = (),
    server: tuple[Callable[[Any], Any], ...] = (),
    **props: Any,
) -> gr.HTML:
    """Place for `assets/js/{module}.js`, whose `mount` fills it and is told of each new value.

    Not a subclass of gr.HTML, because Gradio writes a .pyi file beside every subclass of a component.

    Args:
        module: the module's folder and name.
        value: what it starts from (JSON).
        events: names of what it triggers.
        server: functions that it may call, `server.name(request)`.
        props: what stays the same, `props.name`.
    """
    return gr.HTML(
        value,
        html_template='<div class="view"></div>',
        js_on_load=_MOUNT.format(js=ASSETS / "js", module=module, events=", ".join(map(repr, events))),
        apply_default_css=False,
        elem_id=elem_id,
        server_functions=[logged(function) for function in server],
        **props,
    )
