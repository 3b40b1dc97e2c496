"""What the page is opened with, whoever answers it then: a server, a file of answers, or an engine in the browser."""

import os
from collections.abc import Sequence
from typing import Any, NotRequired

from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...data import CORPORA
from ...inference.interventions import CHANGES
from ...inference.translator import MAX_CHARACTERS
from ...messages import MessageJSON, catalogues
from ...mistakes import MISTAKES
from ...storage.checkpoint import available_checkpoints
from .. import schema
from ..schema import PageSchema
from ..sessions.models import Model, described, translator
from ..sessions.real_models import real_models
from ..settings import settings
from . import mistakes, training
from .mistakes import MistakeCode
from .translate import ShownRun, show

TABS = ("overview", "translate", "attention", "positions", "inside", "train", "break", "lesson")
PARTS = ("whatif", "mistakes", "decoding")  # of Break it


class Site(TypedDict):
    """A page without a server: the questions that its engine answers, its models, and the address of a page with a
    server, "" where none is known."""

    questions: list[str]
    models: list[str]
    page: str


class Opening(TypedDict):
    """What the page is opened with: the schema that it shares with who answers it, the models, the first run."""

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
    place: NotRequired[str]  # of a saved run: where it opens, as its links have it,
    home: NotRequired[str]  # and the address of the page that it comes from, "" where there is none;
    drawn: NotRequired[list[int]]  # the steps whose words a program drew
    site: NotRequired[Site]  # of a page without a server


def page_schema(assets: str, plotly: str, streams: Sequence[str], tabs: Sequence[str] = TABS) -> PageSchema:
    """What the page's modules share with whoever answers them: see assets/web/api/schema.ts.

    Args:
        assets: the address of that folder, of which the page fetches its texts.
        plotly: that of its JavaScript.
        streams: the questions whose answers are streams.
        tabs: those that the page has.
    """
    return {
        "languages": [*catalogues()],
        "exercises": {name: each.distractors for name, each in MISTAKES.items()},
        "interventions": {name: schema.change_form(change) for name, change in CHANGES.items()},
        "parameters": schema.parameters(tabs, PARTS),
        "max_sentence": MAX_CHARACTERS,
        "max_piece": schema.MAX_PIECE,
        "streams": list(streams),
        "assets": assets,
        "plotly": plotly,
        "classes": settings().classes != "off",
        "max_choices": schema.MAX_CHOICES,
        "max_choice": schema.MAX_CHOICE,
        "max_question": schema.MAX_QUESTION,
    }


def opening(shared: PageSchema) -> Opening:
    """What a page with all models that there are begins with. Loads the toy checkpoint."""
    toy = translator("toy")
    own = (name for name in CORPORA if name in available_checkpoints())
    return to_jsonable_python(
        Opening(
            schema=shared,
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
