"""The frame of the page: one sentence and its run at the top, every tab a view of that run."""

from pathlib import Path
from typing import Any

import gradio as gr
import plotly

from . import handlers
from .view import ASSETS, view

EXAMPLES = ("Ich möchte ein Bier", "Ich möchte ein Cola")  # all that the toy has learned
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

LAUNCH: dict[str, Any] = {
    "css_paths": [ASSETS / "style.css"],
    "head_paths": [ASSETS / "head.html"],
    "theme": gr.themes.Base(font=["ui-sans-serif", "system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
    "run_history": False,  # it would write every run to the visitor's disk
    "enable_monitoring": False,
    "ssr_mode": False,
    "state_session_capacity": 300,
    "footer_links": [],
    "favicon_path": ASSETS / "favicon.png",
}


def build() -> gr.Blocks:
    """The page, opened on the finished translation of the first example. Loads the toy checkpoint."""
    gr.set_static_paths([ASSETS, PLOTLY_JS])
    toy = handlers.translator("toy")
    model = toy.checkpoint.model
    with gr.Blocks(title="Attention, bitte", analytics_enabled=False) as page:
        view(
            "header",
            {"checkpoint": toy.name, "sentences": "2 sentences", "device": str(toy.device), "why": toy.why_device()},
        )
        with gr.Column(elem_classes="card", elem_id="top"):
            with gr.Row(elem_id="ask"):
                sentence = gr.Textbox(
                    EXAMPLES[0], label="A German sentence", show_label=False, container=False, max_lines=1,
                    elem_id="sentence", placeholder="A German sentence",
                )  # fmt: skip
                button = gr.Button("Translate", variant="primary", elem_id="translate", scale=0)
            top = view("run", handlers.show(EXAMPLES[0]), events=("example",), examples=EXAMPLES)
        with gr.Tabs():
            with gr.Tab("Translate", id="translate", elem_id="tab-translate"):
                view("translate", elem_id="story")
            with gr.Tab("Attention", id="attention", elem_id="tab-attention"):
                view("attention", elem_id="attention")
            with gr.Tab("Positions", id="positions", elem_id="tab-positions"):
                start = {
                    "plotly": f"gradio_api/file={PLOTLY_JS}",
                    "d_model": model.config.d_model,
                    "longest": handlers.LONGEST,
                }
                view("positions", start, elem_id="positions", server=(handlers.positional_encoding, handlers.input_sum))

        asked = "(...values) => { document.dispatchEvent(new Event('translate:asked')); return values; }"
        answered = "() => document.dispatchEvent(new Event('translate:answered'))"
        quiet = {"show_progress": "hidden", "api_visibility": "private", "concurrency_limit": None}
        quiet["trigger_mode"] = "always_last"  # what was asked last is what is shown
        gr.on([button.click, sentence.submit], handlers.show, sentence, top, js=asked, **quiet).then(None, js=answered)
        top.example(handlers.show_example, None, [sentence, top], js=asked, **quiet).then(None, js=answered)
        gr.api(  # type: ignore[attr-defined]
            handlers.translate, api_name="translate", concurrency_limit=None
        )
    return page
