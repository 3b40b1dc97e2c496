"""A part of the page that a view of assets/web/app.ts draws."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from ..files import shipped
from .server.logged_calls import logged

ASSETS = shipped("assets")

# The template is empty and stays so: Gradio would run what a visitor typed if it ever stood in a template. The view
# gets the value as data and writes it as text. `app` is the link in the page's head that loads the bundle early.
_MOUNT = """
const view = element.querySelector(`.view`);
import(document.getElementById(`app`).href).then(
    (app) => app.mount(`{name}`, {{ element: view, props, watch, trigger, server }})
).catch((error) => {{
    view.textContent = `This part could not be loaded. Reload the page.`;
    throw error;
}});
/* Gradio makes an event of every name that stands in this script in quotes: {events} */
"""


def component(
    name: str,
    value: Any = None,
    *,
    elem_id: str | None = None,
    events: tuple[str, ...] = (),
    server: tuple[Callable[[Any], Any], ...] = (),
    **props: Any,
) -> gr.HTML:
    """A place for the view of this name, whose `mount` fills it and receives each new value.

    Not a subclass of gr.HTML, because Gradio writes a .pyi file beside every subclass of a component.

    Args:
        name: its name in `VIEWS` of assets/web/app.ts.
        value: its first value (JSON).
        events: names of the events that it triggers.
        server: functions that it may call, `server.name(request)`.
        props: constants, `props.name`.
    """
    return gr.HTML(
        value,
        html_template='<div class="view"></div>',
        js_on_load=_MOUNT.format(name=name, events=", ".join(map(repr, events))),
        apply_default_css=False,
        elem_id=elem_id,
        server_functions=[logged(function) for function in server],
        **props,
    )
