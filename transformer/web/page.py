"""The frame of the page: one sentence and its run at the top, every tab a view of that run.

A click or a call is one request with one answer, which any replica can give. Requests wait in our own queue (see
server/request_queue.py), also those that come through Gradio's.
"""

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import gradio as gr
import plotly

from ..data import CORPORA
from ..inference.translator import available_checkpoints
from .api import decoding as roads
from .api import lesson
from .api import mistakes as bugs
from .api import runs as handlers
from .api import training as train
from .api import what_if as whatif
from .api.models import about, translator
from .component import ASSETS, preloads, view
from .schema import page_schema
from .server import mcp_tools as tools
from .server.access_log import logged
from .server.gradio_internals import EXCEPTION_HANDLERS, MIDDLEWARE, Blocks
from .server.routes import ROUTES
from .server.settings import settings

EVENTS = {"ask": handlers.ask, "example": handlers.example, "surprise": handlers.surprise, "choose": handlers.choose}
ACTIONS = (  # for programs
    handlers.translate,
    tools.attention,
    tools.positions,
    whatif.what_if,
    whatif.which_heads_matter,
    roads.beam_search,
    roads.sample,
    roads.teacher_forcing,
    bugs.spot_the_bug,
)
ENGLISH = json.loads((ASSETS / "locales" / "en.json").read_text("utf-8"))  # until the page knows the visitor's language
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

TABS = ("translate", "attention", "positions", "inside", "train", "break", "lesson")
SCHEMA = json.dumps(page_schema(TABS)).replace("<", r"\u003c")  # nothing in it may end the script

LAUNCH: dict[str, Any] = {
    "css_paths": [ASSETS / "style.css"],
    "head": f'<script type="application/json" id="schema">{SCHEMA}</script>\n'
    + preloads("core/mount", "shell/header", "shell/run-bar", "tabs/translate"),  # what it opens on
    "head_paths": [ASSETS / "head.html"],
    "theme": gr.themes.Base(font=["ui-sans-serif", "system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
    "run_history": False,  # it would write every run to the visitor's disk
    "enable_monitoring": False,
    "ssr_mode": False,
    "state_session_capacity": 128,  # no handler keeps anything there; each takes 0.4 MB, and 2 ms when it is made
    "footer_links": [],
    "favicon_path": ASSETS / "favicon.png",
    "mcp_server": False,  # it would offer every action: see server/mcp_tools.py
}


def launch() -> dict[str, Any]:
    """How to serve it.

    Raises:
        ValueError: the environment asks for what is not there.
    """
    more = tools.endpoint()
    routes = [*more.pop("routes"), *ROUTES]
    return LAUNCH | {
        "app_kwargs": {
            "routes": routes,
            "middleware": MIDDLEWARE,
            "exception_handlers": EXCEPTION_HANDLERS,
            **more,
        }
    }


def as_text(handler: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of an event, whose run is written as JSON here: Gradio would walk through it three times, in search
    of files."""

    @wraps(handler)
    def ask(event: gr.EventData) -> Any:
        match handler(event):
            case sentence, shown:
                return sentence, json.dumps(shown)
            case shown:
                return json.dumps(shown)

    return ask


def build() -> gr.Blocks:
    """The page, opened on the finished translation of the toy's first example. Loads the toy checkpoint."""
    gr.set_static_paths([ASSETS, PLOTLY_JS])
    toy = translator("toy")
    model = toy.checkpoint.model
    models = {name: about(name) for name in CORPORA if name in available_checkpoints()}
    opening = models["toy"]["examples"][0]["sentence"]
    inside = (lesson.inside, lesson.parameters, lesson.shapes)
    with Blocks(title="Attention, bitte", analytics_enabled=False) as page:
        view(
            "shell/header",
            {"device": str(toy.device), "why": toy.why_device().for_page()},
            server=(lesson.checks, *inside, lesson.provenance, lesson.weights_csv, lesson.notebook),
            models=models,
        )
        with gr.Column(elem_classes="card", elem_id="top"):
            with gr.Row(elem_id="ask"):
                sentence = gr.Textbox(
                    opening, label=ENGLISH["sentence.label"], show_label=False, container=False, max_lines=1,
                    elem_id="sentence", placeholder=ENGLISH["sentence.label"],
                )  # fmt: skip
                button = gr.Button(ENGLISH["sentence.translate"], variant="primary", elem_id="translate", scale=0)
            top = view("shell/run-bar", json.dumps(handlers.show(opening)), events=tuple(EVENTS), models=models)
        with gr.Tabs():
            with gr.Tab(ENGLISH["tab.translate"], id="translate", elem_id="tab-translate"):
                view("tabs/translate", elem_id="story")
            with gr.Tab(ENGLISH["tab.attention"], id="attention", elem_id="tab-attention"):
                view("tabs/attention", elem_id="attention")
                view("tabs/heads", elem_id="heads", server=(handlers.heads,))
            with gr.Tab(ENGLISH["tab.positions"], id="positions", elem_id="tab-positions"):
                start = {
                    "plotly": f"gradio_api/file={PLOTLY_JS}",
                    "d_model": model.config.d_model,
                    "longest": handlers.LONGEST,
                }
                view(
                    "tabs/positions",
                    start,
                    elem_id="positions",
                    server=(handlers.positional_encoding, handlers.input_sum),
                )
            with gr.Tab(ENGLISH["tab.inside"], id="inside", elem_id="tab-inside"):
                view("tabs/inside", elem_id="inside", server=inside)
            with gr.Tab(ENGLISH["tab.train"], id="train", elem_id="tab-train"):
                view("tabs/train", train.opening(), elem_id="train", server=(train.pairs, train.plan))
            with gr.Tab(ENGLISH["tab.break"], id="break", elem_id="tab-break"):
                view("tabs/break-it", elem_id="breakit")
                view("tabs/what-if", elem_id="whatif", server=(whatif.sweep, whatif.vocabulary))
                view("tabs/mistakes", bugs.opening(), elem_id="bugs", server=(bugs.mistake,))
                view("tabs/decoding", elem_id="roads", server=(roads.beam, roads.sampled, roads.forced))
            with gr.Tab(ENGLISH["tab.lesson"], id="lesson", elem_id="tab-lesson"):
                drawn = (lesson.inside, lesson.parameters, lesson.stack, roads.forced)
                view("tabs/lesson", elem_id="lesson", server=(*drawn, handlers.input_sum, handlers.positional_encoding))

        wanted = "(sentence) => document.dispatchEvent(new CustomEvent('translate:wanted', { detail: sentence }))"
        gr.on([button.click, sentence.submit], None, sentence, js=wanted, api_visibility="private")
        asked = "() => document.dispatchEvent(new Event('translate:asked'))"
        answered = "() => document.dispatchEvent(new Event('translate:answered'))"
        quiet = {"show_progress": "hidden", "api_visibility": "private"}
        quiet["trigger_mode"] = "always_last"  # what was asked last is what is shown
        for event, handler in EVENTS.items():
            # An output that is only kept costs Gradio as much as one that is new.
            outputs = [top] if event == "ask" else [sentence, top]
            getattr(top, event)(as_text(logged(handler)), None, outputs, js=asked, queue=False, **quiet).then(
                None, js=answered
            )
        for action in ACTIONS:
            gr.api(  # type: ignore[attr-defined]
                logged(action), api_name=action.__name__, queue=False, concurrency_limit=None
            )
    return page.queue(max_size=settings().queue_size)  # only programs use Gradio's queue
