"""The page as Gradio has it: a place for our bundle, which draws all that people see, and the actions for programs."""

import json
import os
from typing import Any

import gradio as gr
from pydantic_core import to_jsonable_python

from ..data import CORPORA
from ..files import shipped
from ..inference.translator import available_checkpoints
from .api import mistakes, training
from .api.table import ACTIONS
from .api.translate import show
from .schema import MAX_POSITIONS, page_schema
from .server.files import bundle_address
from .server.programs import as_action
from .sessions.models import about, translator
from .sessions.real_models import real_models
from .settings import settings

TABS = ("overview", "translate", "attention", "positions", "inside", "train", "break", "lesson")
PARTS = ("whatif", "mistakes", "decoding")  # of Break it

MAX_SESSIONS = 20  # of programs, whose last answers Gradio keeps
MAX_ACTIONS = 8  # of programs that Gradio lets wait for a turn of ours

# The template is empty and stays so: Gradio would run what a visitor typed if it ever stood in a template.
START = """
const starting = import(new URL("{app}", document.baseURI)).then((app) => app.start(element, JSON.parse(props.value)));
starting.catch((error) => {{
    element.textContent = "The page could not be loaded. Reload it.";
    throw error;
}});
"""


def opening() -> dict[str, Any]:
    """What the page is opened with: the schema that it shares with the server, the models, the toy's first run."""
    toy = translator("toy")
    shipped_models = (name for name in CORPORA if name in available_checkpoints())
    return {
        "schema": page_schema(
            TABS,
            PARTS,
            assets=f"gradio_api/file={shipped('assets')}",
            plotly=bundle_address("plotly.js"),
            classes=settings().classes,
        ),
        "run": to_jsonable_python(show("toy", CORPORA["toy"].examples[0].sentence)),
        "models": {name: about(name) for name in (*shipped_models, *real_models())},
        "device": str(toy.device),
        "why": toy.why_device().for_page(),
        "space_host": os.environ.get("SPACE_HOST"),
        "d_model": toy.checkpoint.model.config.d_model,
        "max_positions": MAX_POSITIONS,
        "train": training.opening(),
        "mistakes": mistakes.opening(),
    }


def build() -> gr.Blocks:
    """The page, opened on the finished translation of the toy's first example. Loads the toy checkpoint."""
    gr.set_static_paths([shipped("assets")])
    with gr.Blocks(title="Attention, bitte", analytics_enabled=False) as page:
        gr.HTML(
            json.dumps(opening()),
            html_template='<div class="view"></div>',
            js_on_load=START.format(app=bundle_address("app.js")),
            apply_default_css=False,
        )
        for action in ACTIONS:
            gr.api(as_action(action), api_name=action.__name__, concurrency_id="actions")  # type: ignore[attr-defined]
    page.state_session_capacity = MAX_SESSIONS
    return page.queue(max_size=settings().queue_size, default_concurrency_limit=MAX_ACTIONS, api_open=True)


def head() -> str:
    """What Gradio puts into the page's <head>."""
    return (shipped("assets") / "head.html").read_text("utf-8")
