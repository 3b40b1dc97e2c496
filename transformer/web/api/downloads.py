"""Downloads of a run: its weights as a table, a notebook that repeats it, and its provenance."""

import platform
import unicodedata
from dataclasses import replace
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis.contribution import value_weighted
from ...analysis.notebook import notebook as notebook_of
from ...live.form import NetworkForm
from ...storage.hub import is_on_hub
from ...storage.portable import PortableModel
from ..schema import CheckpointRequest, DownloadRequest, NotebookRequest, PageFileRequest
from ..sessions.model_store import file_name, model_store
from ..sessions.models import card, found_in_card, own_model, title, translator
from ..sessions.real_models import real_models
from .frozen import interactive_page
from .runs import run_of

TRAINING = ("schedule", "learning_rate", "warmup_steps", "batch_size", "label_smoothing")
PACKAGES = ("torch", "gradio", "plotly", "pandas", "numpy")


class Download(TypedDict):
    name: str
    text: str


class TrainedOn(TypedDict):
    """The training data of a visitor's own model."""

    pairs: int
    steps: int | None
    settings: dict[str, Any]


class Provenance(TypedDict):
    """How a model was made, and the versions that run it here. A shipped one has a `command`, a visitor's own has
    `trained`, a real one the `licence` that it was published under, "" where that is not known."""

    checkpoint: str
    command: str | None
    seed: int | str | None
    trained: TrainedOn | None
    licence: str | None
    weights: int
    device: str
    versions: dict[str, str]


def as_text(token: str) -> str:
    """A word of a stranger's vocabulary, quoted where a spreadsheet would take it for a formula.

    A formula may begin in the full width of Chinese and Japanese keyboards, and after blanks.
    """
    plain = unicodedata.normalize("NFKC", token)
    return f"'{token}" if plain[:1].isspace() or plain.lstrip()[:1] in ("=", "+", "-", "@", "\u2212") else token


def weights_csv(request: DownloadRequest) -> Download:
    """Every attention weight as a table, and what it contributes."""
    run = run_of(request)
    norms = value_weighted(translator(request.checkpoint), run)
    table = replace(run, value_weighted=norms).contributions(words=request.words)
    for column in ("query_token", "key_token"):
        table[column] = table[column].map({token: as_text(token) for token in table[column].unique()})
    return {"name": f"{_short(request.checkpoint)}-attention.csv", "text": table.to_csv(index=False)}


def notebook(request: NotebookRequest) -> Download:
    """A notebook that makes the run again."""
    own = model_store().find(request.checkpoint)
    real = real_models().find(request.checkpoint)
    source = str(real.source) if real and is_on_hub(str(real.source)) else request.checkpoint  # no path of this machine
    name, file = (file_name(own.name), own.file) if own else (source, None)
    text = notebook_of(run_of(request), name, file, request.words, request.step)
    return {"name": f"{_short(request.checkpoint)}-attention.ipynb", "text": text}


def interactive(request: PageFileRequest) -> Download:
    """The page of the run as one file."""
    place = dict(parse_qsl(request.place.removeprefix("?")))
    text = interactive_page(
        request.checkpoint, run_of(request), title(request.checkpoint), request.ablations, place, request.page
    )
    return {"name": f"{_short(request.checkpoint)}-attention.html", "text": text}


def _short(checkpoint: str) -> str:
    """The file name for a checkpoint: of owner/name, the name."""
    return checkpoint.split("/")[-1] if checkpoint in real_models() else title(checkpoint)


def provenance(request: CheckpointRequest) -> Provenance:
    """How a model was made, and the versions that run it here."""
    made = translator(request.checkpoint)
    own = own_model(request.checkpoint)
    real = real_models().find(request.checkpoint)
    about = "" if own or real else card(request.checkpoint)
    return {
        "checkpoint": title(request.checkpoint),
        "command": found_in_card(r"^    (.+)$", about),
        "seed": own.portable.training.get("seed") if own else found_in_card(r"^\| seed \| (.+) \|$", about),
        "trained": _trained(own.portable) if own else None,
        "licence": real.licence if real else None,
        "weights": sum(weights.numel() for weights in made.checkpoint.model.parameters()),
        "device": str(made.device),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }


def _trained(portable: PortableModel) -> TrainedOn:
    """How many pairs, the steps that were taken, and those of Train's settings that had an effect."""
    config, training = portable.checkpoint.model.config, portable.training
    network = vars(config) | {"layers": config.num_encoder_layers}
    settings = {name: network[name] for name in NetworkForm.model_fields}
    without_effect = "learning_rate" if training.get("schedule") == "warmup" else "warmup_steps"
    names = (name for name in TRAINING if name in training and name != without_effect)
    return {
        "pairs": len(portable.pairs),
        "steps": training.get("steps_taken"),
        "settings": settings | {name: training[name] for name in names},
    }
