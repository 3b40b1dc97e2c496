"""What the lesson asks about a run. Pure functions of one question; what takes long is answered once.

Every question is a dict that anybody may have written; what cannot be answered is refused with {"error": a sentence}.
One about a run may have "changes" (see interventions), which are made in it.
"""

import platform
import re
from collections.abc import Callable
from dataclasses import asdict, fields
from importlib.metadata import version
from typing import Any

import numpy as np

from ...analysis.notebook import notebook as notebook_of
from ...analysis.self_checks import check
from ...analysis.sublayer import inspect_sublayer, parameter_row, residual_stream
from ...inference.attention_maps import Kind
from ...inference.interventions import Interventions
from ...live.plan import SWITCHES
from ...network.config import TransformerConfig
from ...network.shapes import shapes as shapes_of
from ...storage.portable import PortableModel
from ..sessions.model_store import file_name, model_store
from .models import cached_per_checkpoint, card, title, translator
from .payload import floats
from .runs import changes, run

TRAINING = ("schedule", "learning_rate", "warmup_steps", "batch_size", "label_smoothing")
PACKAGES = ("torch", "gradio", "plotly", "pandas", "numpy")


def inside(question: Any) -> dict[str, Any]:
    """Every number of one attention sublayer: `{"checkpoint", "sentence", "kind", "layer"}`."""
    match question:
        case {
            "checkpoint": str(checkpoint),
            "sentence": str(sentence),
            "kind": "encoder" | "decoder" | "cross" as kind,
            "layer": layer,
        } if type(layer) is int:  # not True, which is 1
            return _answer(_inside, question, checkpoint, sentence, kind, layer)
    return _refuse("A checkpoint, a sentence, a kind (encoder, decoder or cross) and a layer are needed.")


@cached_per_checkpoint(64)
def _inside(checkpoint: str, sentence: str, kind: Kind, layer: int, changes: Interventions) -> dict[str, Any]:
    seen = inspect_sublayer(translator(checkpoint), run(checkpoint, sentence, changes), kind, layer)
    values = {field.name: getattr(seen, field.name) for field in fields(seen)}
    return {
        **{name: values[name] for name in ("kind", "layer", "queries", "keys", "norm_first", "head_dim")},
        "eps": seen.norm_eps,
        "allowed": seen.allowed.tolist(),
        "arrays": {
            name: _array(value)
            for name, value in values.items()
            if isinstance(value, np.ndarray) and value is not seen.allowed
        },
    }


def stack(question: Any) -> dict[str, Any]:
    """Every token's vector before the first layer and after each, of both stacks: `{"checkpoint", "sentence"}`."""
    return _about_a_run(_stack, question)


@cached_per_checkpoint(64)
def _stack(checkpoint: str, sentence: str, changes: Interventions) -> dict[str, Any]:
    found = residual_stream(translator(checkpoint), run(checkpoint, sentence, changes))
    return {name: _array(value) for name, value in found.items()}


def parameters(question: Any) -> dict[str, Any]:
    """One row of a matrix and its bias: `{"checkpoint", "kind", "layer", "part", "row"}`."""
    match question:
        case {
            "checkpoint": str(checkpoint),
            "kind": "encoder" | "decoder" | "cross" as kind,
            "layer": layer,
            "part": str(part),
            "row": row,
        } if type(layer) is type(row) is int:
            return _answered(_parameters, checkpoint, kind, layer, part, row)
    return _refuse("A checkpoint, a kind (encoder, decoder or cross), a layer, a part and a row are needed.")


def _parameters(checkpoint: str, kind: Kind, layer: int, part: str, row: int) -> dict[str, Any]:
    weights, bias = parameter_row(translator(checkpoint), kind, layer, part, row)
    return {"weights": floats(weights), "bias": bias}


def checks(question: Any) -> dict[str, Any]:
    """Measurements of whether what is shown is true: `{"checkpoint", "sentence"}`."""
    return _about_a_run(_checks, question)


@cached_per_checkpoint(256)
def _checks(checkpoint: str, sentence: str, changes: Interventions) -> dict[str, Any]:
    found = check(translator(checkpoint), run(checkpoint, sentence, changes))
    return {"checks": [asdict(each) | {"ok": each.ok} for each in found]}


def shapes(question: Any) -> dict[str, Any]:
    """The shape of every tensor here, and in a network of the paper's size: `{"checkpoint", "sentence"}`."""
    return _about_a_run(_shapes, question)


def _shapes(checkpoint: str, sentence: str, changes: Interventions) -> dict[str, Any]:
    config, translation = translator(checkpoint).checkpoint.model.config, run(checkpoint, sentence, changes)
    papers = TransformerConfig(config.src_vocab_size, config.tgt_vocab_size)
    lengths = len(translation.source), len(translation.decoder_input)
    return {
        "rows": [
            {"stage": here.stage, "layers": here.layers, "here": here.shape, "paper": paper.shape}
            for here, paper in zip(shapes_of(config, *lengths), shapes_of(papers, *lengths), strict=True)
        ],
        "facts": {
            "d_model": config.d_model,
            "n_heads": config.n_heads,
            "d_ff": config.d_ff,
            "layers": config.num_encoder_layers,
        },
    }


def weights_csv(question: Any) -> dict[str, Any]:
    """Every attention weight as a table: `{"checkpoint", "sentence"}`."""
    return _about_a_run(_weights_csv, question)


def _weights_csv(checkpoint: str, sentence: str, changes: Interventions) -> dict[str, Any]:
    table = run(checkpoint, sentence, changes).table()
    for column in ("query_token", "key_token"):  # a word of a stranger's vocabulary must not be a spreadsheet's formula
        table[column] = table[column].where(~table[column].str.match(r"[=+\-@]"), "'" + table[column])
    text = table.to_csv(index=False)
    return {"name": f"{title(checkpoint)}-attention.csv", "text": text}


def notebook(question: Any) -> dict[str, Any]:
    """A notebook that makes the run again: `{"checkpoint", "sentence"}`."""
    return _about_a_run(_notebook, question)


def _notebook(checkpoint: str, sentence: str, changes: Interventions) -> dict[str, Any]:
    own = model_store().find(checkpoint)
    translation = run(checkpoint, sentence, changes)
    text = notebook_of(translation, file_name(own.portable.name) if own else checkpoint)
    return {"name": f"{title(checkpoint)}-attention.ipynb", "text": text}


def provenance(question: Any) -> dict[str, Any]:
    """Where the numbers of `{"checkpoint"}` come from: what made it, and what runs it here.

    A shipped one was made by a `command`; a visit's own has `trained`: pairs, and its settings by name.
    """
    match question:
        case {"checkpoint": str(checkpoint)}:
            return _answered(_provenance, checkpoint)
    return _refuse("A checkpoint is needed.")


def _provenance(checkpoint: str) -> dict[str, Any]:
    made = translator(checkpoint)
    own = model_store().find(checkpoint)
    about = "" if own else card(checkpoint)
    return {
        "checkpoint": title(checkpoint),
        "command": _found(r"^    (.+)$", about),
        "seed": own.portable.training.get("seed") if own else _found(r"^\| seed \| (.+) \|$", about),
        "trained": own and _trained(own.portable),
        "weights": sum(weights.numel() for weights in made.checkpoint.model.parameters()),
        "device": str(made.device),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }


def _trained(portable: PortableModel) -> dict[str, Any]:
    """How many pairs, steps that were really taken, and the settings that Train offers and that had a say."""
    config, training = portable.checkpoint.model.config, portable.training
    settings = {
        "d_model": config.d_model,
        "n_heads": config.n_heads,
        "layers": config.num_encoder_layers,
        **{name: getattr(config, name) for name in ("d_ff", "dropout", *SWITCHES)},
    }
    unheard = "learning_rate" if training.get("schedule") == "warmup" else "warmup_steps"
    heard = (name for name in TRAINING if name in training and name != unheard)
    return {
        "pairs": len(portable.pairs),
        "steps": training.get("steps_taken"),
        "settings": settings | {name: training[name] for name in heard},
    }


def _found(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else None


def _array(values: np.ndarray) -> dict[str, Any]:
    return {"shape": values.shape, "data": floats(values)}


def _about_a_run(answer: Callable[..., dict[str, Any]], question: Any) -> dict[str, Any]:
    match question:
        case {"checkpoint": str(checkpoint), "sentence": str(sentence)}:
            return _answer(answer, question, checkpoint, sentence)
    return _refuse("A checkpoint and a sentence are needed.")


def _answer(answer: Callable[..., dict[str, Any]], question: Any, *asked: Any) -> dict[str, Any]:
    """Of a run, with the changes that the question asks for."""
    return _answered(lambda: answer(*asked, changes(question)))


def _answered(answer: Callable[..., dict[str, Any]], *asked: Any) -> dict[str, Any]:
    try:
        return answer(*asked)
    except ValueError as error:  # SentenceError, CheckpointError, and those below of a layer, a row, a word or a change
        return _refuse(str(error))


def _refuse(sentence: str) -> dict[str, Any]:
    return {"error": sentence}
