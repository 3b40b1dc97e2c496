"""The page as Gradio has it: a place for our bundle, which draws all that people see, and the actions for programs."""

import json
import os
from typing import Any

import gradio as gr
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ..data import CORPORA
from ..files import shipped
from ..inference.interventions import CHANGES
from ..inference.translator import MAX_CHARACTERS, available_checkpoints
from ..messages import CATALOGUE, MessageJSON
from ..mistakes import MISTAKES
from . import schema
from .api import mistakes, training
from .api.mistakes import MistakeCode
from .api.table import ACTIONS, QUESTIONS
from .api.translate import ShownRun, show
from .api.turns import QUEUE_SIZE
from .schema import PageSchema
from .server.files import bundle_address
from .server.programs import as_action
from .sessions.models import Model, described, translator
from .sessions.real_models import real_models
from .settings import settings

TABS = ("overview", "translate", "attention", "positions", "inside", "train", "break", "lesson")
PARTS = ("whatif", "mistakes", "decoding")  # of Break it

MAX_SESSIONS = 20  # of programs, whose last answers Gradio keeps
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


class Opening(TypedDict):
    """What the page is opened with: the schema that it shares with the server, the models, the toy's first run."""

    schema: PageSchema
    shown: ShownRun
    models: dict[str, Model]
    device: str
    why: MessageJSON
    space_host: str | None
    d_model: int
    max_positions: int
    train: dict[str, Any]
    mistakes: list[MistakeCode]


def page_schema() -> PageSchema:
    """What the page's modules share with the server: see assets/web/api/schema.ts."""
    languages = {path.stem for path in CATALOGUE.parent.glob("*.json")}
    return {
        "languages": ["en", *sorted(languages - {"en"})],
        "exercises": {name: each.distractors for name, each in MISTAKES.items()},
        "interventions": {name: schema.change_form(change) for name, change in CHANGES.items()},
        "parameters": schema.parameters(TABS, PARTS),
        "max_sentence": MAX_CHARACTERS,
        "max_piece": schema.MAX_PIECE,
        "streams": [name for name, each in QUESTIONS.items() if each.streams],
        "assets": f"gradio_api/file={shipped('assets')}",
        "plotly": bundle_address("plotly.js"),
        "classes": settings().classes != "off",
        "max_choices": schema.MAX_CHOICES,
        "max_choice": schema.MAX_CHOICE,
        "max_question": schema.MAX_QUESTION,
    }


def opening() -> Opening:
    """Loads the toy checkpoint."""
    toy = translator("toy")
    own = (name for name in CORPORA if name in available_checkpoints())
    return to_jsonable_python(
        Opening(
            schema=page_schema(),
            shown=show("toy", CORPORA["toy"].examples[0].sentence),
            models={name: described(name) for name in (*own, *real_models())},
            device=str(toy.device),
            why=toy.why_device().for_page(),
            space_host=os.environ.get("SPACE_HOST"),
            d_model=toy.checkpoint.model.config.d_model,
            max_positions=schema.MAX_POSITIONS,
            train=training.opening(),
            mistakes=mistakes.opening(),
        )
    )


def build() -> gr.Blocks:
    """The page, opened on the finished translation of the toy's first example."""
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
    return page.queue(max_size=QUEUE_SIZE, default_concurrency_limit=MAX_ACTIONS, api_open=True)


def head() -> str:
    """What Gradio puts into the page's <head>."""
    return (shipped("assets") / "head.html").read_text("utf-8")
