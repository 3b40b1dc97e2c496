"""The page as Gradio has it: a place for our bundle, which draws all that people see, and the actions for programs."""

import json

import gradio as gr

from ..files import shipped
from .api.opening import Opening, opening, page_schema
from .api.table import ACTIONS, QUESTIONS
from .api.turns import QUEUE_SIZE
from .server.files import bundle_address
from .server.programs import as_action

MAX_ACTIONS = 8  # of programs that Gradio lets wait for a turn of ours

# The template is empty and stays so: Gradio would run what a visitor typed if it ever stood in a template.
# Modules read what the page is opened with when they are loaded, so it stands in the document before.
START = """
const opening = document.createElement("script");
Object.assign(opening, {{ id: "opening", type: "application/json", textContent: props.value }});
document.head.append(opening);
import(new URL("{app}", document.baseURI)).then((app) => app.start(element.firstElementChild)).catch((error) => {{
    element.textContent = "The page could not be loaded. Reload it.";
    throw error;
}});
"""


def opened() -> Opening:
    """What the served page is opened with."""
    streams = [name for name, each in QUESTIONS.items() if each.streams]
    return opening(page_schema(f"gradio_api/file={shipped('assets')}", bundle_address("plotly.js"), streams))


def build() -> gr.Blocks:
    """The page, opened on the finished translation of the toy's first example."""
    gr.set_static_paths([shipped("assets")])
    with gr.Blocks(title="Attention, bitte", analytics_enabled=False) as page:
        gr.HTML(
            json.dumps(opened()),
            html_template='<div class="view"></div>',
            js_on_load=START.format(app=bundle_address("app.js")),
            apply_default_css=False,
        )
        for action in ACTIONS:
            gr.api(as_action(action), api_name=action.__name__, concurrency_id="actions")  # type: ignore[attr-defined]
    return page.queue(max_size=QUEUE_SIZE, default_concurrency_limit=MAX_ACTIONS, api_open=True)
