"""The frame of the page: one sentence and its run at the top, every tab a view of that run.

A click or a call is one request with one answer, which any replica can give. Requests wait in our own queue (see
server/request_queue.py), also those that come through Gradio's.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
import plotly
from starlette.middleware import Middleware
from starlette.routing import Route

from ..data import CORPORA
from ..inference.translator import available_checkpoints
from .api import decoding, events, mistakes, positions, runs, sublayers, training, what_if
from .api.candidates import candidates
from .api.checks import checks
from .api.downloads import notebook, provenance, weights_csv
from .api.endpoints import encoded
from .api.events import Shown
from .api.heads import heads
from .api.refusals import alternatives
from .api.sharing import share_model, shared_model
from .component import ASSETS, component, modules
from .schema import MAX_POSITIONS, page_schema
from .server import class_routes, mcp_tools
from .server.compression import Compression
from .server.front_page import FrontPage
from .server.gradio_internals import EXCEPTION_HANDLERS, Blocks, event_payload, middleware
from .server.logged_calls import logged
from .server.routes import ROUTES
from .sessions.models import about, translator
from .sessions.real_models import real_models
from .settings import settings

EVENTS = (events.ask, events.example, events.surprise, events.choose)
ACTIONS = (  # for programs
    runs.translate,
    runs.attention,
    positions.positions,
    what_if.what_if,
    what_if.which_heads_matter,
    decoding.beam_search,
    decoding.sample,
    decoding.teacher_forcing,
    mistakes.spot_the_bug,
)
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

LAUNCH: dict[str, Any] = {
    "css_paths": [ASSETS / "style.css"],
    "theme": gr.themes.Base(font=["ui-sans-serif", "system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
    "run_history": False,  # it would write every run to the visitor's disk
    "enable_monitoring": False,
    "ssr_mode": False,
    "footer_links": [],
    "favicon_path": ASSETS / "favicon.png",
    "mcp_server": False,  # it would offer every action: see server/mcp_tools.py
}


def _attention() -> None:
    component("tabs/attention", elem_id="attention")
    component("tabs/heads", elem_id="heads", server=(heads,))


def _positions() -> None:
    d_model = translator("toy").checkpoint.model.config.d_model
    opening = {"d_model": d_model, "longest": MAX_POSITIONS}
    component("tabs/positions", opening, elem_id="positions", server=FIGURES)


def _break_it() -> None:
    component("tabs/break-it", elem_id="breakit")
    for place_component in BREAK_IT.values():
        place_component()


INSIDE = (sublayers.inside, sublayers.parameters, sublayers.shapes)
FIGURES = (positions.positional_encoding, positions.input_sum)
LESSON = (sublayers.inside, sublayers.parameters, sublayers.stack, decoding.diverging, *FIGURES)
BREAK_IT: dict[str, Callable[[], object]] = {  # its parts; each shows the element of its name
    "whatif": lambda: component("tabs/what-if", elem_id="whatif", server=(what_if.sweep, what_if.vocabulary)),
    "mistakes": lambda: component(
        "tabs/mistakes", mistakes.opening(), elem_id="mistakes", server=(mistakes.mistake, mistakes.recorded)
    ),
    "decoding": lambda: component(
        "tabs/decoding", elem_id="decoding", server=(decoding.beam, decoding.sampled, decoding.forced)
    ),
}
TABS: dict[str, Callable[[], object]] = {
    "overview": lambda: component("tabs/overview", elem_id="overview"),
    "translate": lambda: component("tabs/translate", elem_id="story", server=(candidates,)),
    "attention": _attention,
    "positions": _positions,
    "inside": lambda: component("tabs/inside", elem_id="inside", server=INSIDE),
    "train": lambda: component(
        "tabs/train", training.opening(), elem_id="train", server=(training.pairs, training.plan)
    ),
    "break": _break_it,
    "lesson": lambda: component("tabs/lesson", elem_id="lesson", server=LESSON),
}


def schema_json() -> str:
    """The schema that the page's modules share with the server (schema.js), as JSON for a script."""
    shared = page_schema(
        list(TABS),
        list(BREAK_IT),
        assets=f"gradio_api/file={ASSETS}",
        plotly=f"gradio_api/file={PLOTLY_JS}",
        rooms=settings().classes != "off",
    )
    return json.dumps(shared).replace("<", r"\u003c")  # nothing in it may end its script


def head() -> str:
    """The contents of the page's <head>."""
    return f"""{(ASSETS / "head.html").read_text("utf-8")}
<script type="application/json" id="schema">{schema_json()}</script>
<script>{(ASSETS / "js" / "core" / "load.js").read_text("utf-8")}</script>
"""


def launch() -> dict[str, Any]:
    """How to serve it.

    Raises:
        ValueError: a setting names something that does not exist.
    """
    mcp = mcp_tools.endpoint()
    routes = [*mcp["routes"], *ROUTES, *class_routes.routes(), Route("/modules", modules, methods=["GET"])]
    return LAUNCH | {
        "app_kwargs": {
            "middleware": [Middleware(Compression), *middleware(routes), Middleware(FrontPage, head=head())],
            "exception_handlers": EXCEPTION_HANDLERS | class_routes.EXCEPTION_HANDLERS,
            **mcp,
            "routes": routes,
        },
    }


def _on_event(handler: Callable[[Any], Shown]) -> Callable[[Any], str]:
    """As Gradio calls it. The answer is written as JSON here: Gradio would walk through it three times, in search of
    files."""
    logging_handler = logged(handler)

    def listen(event: gr.EventData) -> str:
        sentence, shown = logging_handler(event_payload(event))
        return json.dumps({**shown, "sentence": sentence})

    listen.__name__ = handler.__name__
    return listen


def build() -> gr.Blocks:
    """The page, opened on the finished translation of the toy's first example. Loads the toy checkpoint."""
    gr.set_static_paths([ASSETS, PLOTLY_JS])
    toy = translator("toy")
    shipped = (name for name in CORPORA if name in available_checkpoints())
    models = {name: about(name) for name in (*shipped, *real_models())}
    opening = CORPORA["toy"].examples[0].sentence
    with Blocks(title="Attention, bitte", analytics_enabled=False) as page:
        component(
            "shell/header",
            {
                "device": str(toy.device),
                "why": toy.why_device().for_page(),
                "space_host": os.environ.get("SPACE_HOST"),
            },
            server=(checks, *INSIDE, provenance, weights_csv, notebook, share_model),
            models=models,
        )
        names, opened = tuple(handler.__name__ for handler in EVENTS), json.dumps(events.show("toy", opening))
        top = component("shell/run-bar", opened, events=names, server=(alternatives, shared_model), models=models)
        component("shell/class-panel", elem_id="class", server=(share_model,))
        component("shell/tabs", elem_id="tabs")
        for name, place_components in TABS.items():
            with gr.Column(elem_id=f"panel-{name}", elem_classes="tab-panel"):
                place_components()

        asked = "() => document.dispatchEvent(new Event('translate:asked'))"
        answered = "() => document.dispatchEvent(new Event('translate:answered'))"
        quiet = {"show_progress": "hidden", "api_visibility": "private"}
        quiet["trigger_mode"] = "always_last"  # show the answer to the last request
        for handler in EVENTS:
            listen = getattr(top, handler.__name__)
            listen(_on_event(handler), None, top, js=asked, queue=False, **quiet).then(None, js=answered)
        for action in ACTIONS:
            gr.api(  # type: ignore[attr-defined]
                logged(encoded(action)), api_name=action.__name__, queue=False, concurrency_limit=None
            )
    return page.queue(max_size=settings().queue_size)  # only programs use Gradio's queue
