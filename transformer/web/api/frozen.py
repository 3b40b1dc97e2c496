"""A run as one HTML file: the page, and the answers that its views ask for, made by the functions that answer a
server's questions. Needs no server and no Gradio.

Arrays are kept once each, beside the answers, with the bytes of their floats sorted by weight, which compress better;
assets/web/api/frozen.ts reads them.
"""

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import numpy as np
from pydantic_core import to_jsonable_python

from ...data import Example
from ...files import shipped
from ...inference.attention_maps import KINDS
from ...inference.translator import Translation
from ...messages import CATALOGUE
from ...network.cost import count_parameters
from .. import schema
from ..sessions.models import Model, described, is_lent, lent, translator
from ..shell import file_document
from . import checks, heads, positions, runs, sublayers, translate, why
from .opening import Opening, page_schema
from .question import Question

TABS = ("overview", "translate", "attention", "positions", "inside")
# Of an address: what is left of it says where one is in this run.
PARAMETERS = ("tab", "kind", "drawing", "measure", "layer", "head", "query", "step", "mean", "gold", "words")
PARAMETERS += ("language", "present")
LENGTH = 50  # of the encoding that Positions opens with
SMALL = 10_000_000  # parameters: up to this, every step is explained
MAX_ARRAYS = 1_900_000  # bytes, compressed: the file then has 3 MB at most
ARRAYS = {"data", "weights", "similarity", "values"}  # fields of answers that hold arrays as base64
MIN_ARRAY = 32  # characters

Request = dict[str, Any]


class _Bundle:
    """Answers, and arrays that they share."""

    def __init__(self, checkpoint: str, name: str) -> None:
        self.answers: list[tuple[str, Request, Any]] = []
        self.arrays: list[tuple[int, int]] = []  # bytes of each, and of each of its numbers
        self.content = bytearray()
        self.compressed = 0
        self._checkpoint, self._name = checkpoint, name
        self._known: dict[bytes, int] = {}

    def add(self, function: Callable[..., Any], **asked: Any) -> bool:
        """Ask as the page asks; returns whether there was room for the answer."""
        question = Question(function.__name__, function)
        about = {"checkpoint": self._checkpoint} if "checkpoint" in question.types[0].model_fields else {}
        answer = json.loads(question.dump(function(question.read(json.dumps(about | asked).encode()))))
        if self.compressed + sum(len(zlib.compress(each)) for each in self._new(answer)) > MAX_ARRAYS:
            return False
        self.answers.append((question.name, asked | dict.fromkeys(about, self._name), self.without_arrays(answer)))
        return True

    def without_arrays(self, answer: Any) -> Any:
        """The answer, with the places of its arrays."""
        if isinstance(answer, list):
            return [self.without_arrays(each) for each in answer]
        if not isinstance(answer, dict):
            return answer
        return {
            key: {"array": self._keep(_bytes_of(value), 1 if answer.get("packed") else 4)}
            if _is_array(key, value)
            else self.without_arrays(value)
            for key, value in answer.items()
        }

    def _new(self, answer: Any) -> Iterator[bytes]:
        """The arrays that no answer before had."""
        if isinstance(answer, list | dict):
            for key, value in answer.items() if isinstance(answer, dict) else enumerate(answer):
                if not _is_array(key, value):
                    yield from self._new(value)
                elif _bytes_of(value) not in self._known:
                    yield _sorted(_bytes_of(value), 4)

    def _keep(self, array: bytes, size: int) -> int:
        if array not in self._known:
            self._known[array] = len(self.arrays)
            kept = _sorted(array, size)
            self.arrays.append((len(kept), size))
            self.content += kept
            self.compressed += len(zlib.compress(kept))
        return self._known[array]


def _is_array(key: object, value: object) -> bool:
    return key in ARRAYS and isinstance(value, str) and len(value) >= MIN_ARRAY


def _bytes_of(array: str) -> bytes:
    return base64.b64decode(array)


def _sorted(array: bytes, size: int) -> bytes:
    """First the first bytes of all numbers, then the second ones, and so on."""
    return np.frombuffer(array, np.uint8).reshape(-1, size).T.tobytes()


def interactive_page(
    checkpoint: str,
    run: Translation,
    name: str,
    ablations: bool = False,
    place: Mapping[str, str] | None = None,
    home: str = "",
) -> str:
    """The file's text.

    Args:
        checkpoint: under which questions about the run are answered.
        run: `runs.run` finds it under that.
        name: the model's, which the file shows in place of `checkpoint`: a visitor's own is a secret.
        ablations: also the run without each head of cross-attention.
        place: where it opens, as a link has it.
        home: the address of the page that it comes from.
    """
    place = {key: text for key, text in (place or {}).items() if key in PARAMETERS}
    bundle = _Bundle(checkpoint, name)
    shown = to_jsonable_python(translate.show(checkpoint, run.sentence, run.interventions))
    for each in filter(None, (shown["run"], shown["baseline"])):
        each["checkpoint"] = name
    opening = _opening(checkpoint, run, name, bundle.without_arrays(shown)) | {"place": urlencode(place), "home": home}
    _answer(bundle, run, shown["run"], place, ablations)
    script = (shipped("assets") / "dist" / "file.js").read_text("utf-8")
    more = {"answers": bundle.answers, "arrays": bundle.arrays, "catalogues": _catalogues(script)}
    return file_document(opening, script, run.sentence, bytes(bundle.content), **more)


def file_of(run: Translation, ablations: bool, place: Mapping[str, Any]) -> str:
    """The file of a run that a program has made: see `Translation.to_html`."""
    known = schema.parameters(TABS, ("",))
    if unknown := set(place) - set(PARAMETERS):
        raise ValueError(f"{', '.join(sorted(unknown))}: a place has {', '.join(PARAMETERS)}")

    def written(name: str, value: Any) -> str:
        is_number = known[name]["kind"] == "position"
        return str(value + 1) if is_number else {True: "yes", False: "no"}.get(value, str(value))

    with lent(run.translator) as checkpoint:
        runs.keep(checkpoint, run)
        link = {name: written(name, value) for name, value in place.items()}
        return interactive_page(checkpoint, run, run.checkpoint, ablations, link)


def _opening(checkpoint: str, run: Translation, name: str, shown: Any) -> Opening:
    model = translator(checkpoint)
    shared = page_schema("", "", (), TABS)
    kept = {each: shared["parameters"][each] for each in PARAMETERS}
    return {
        "source": "file",
        "schema": {**shared, "parameters": kept, "classes": False, "exercises": {}},
        "shown": shown,
        "models": {name: _described(checkpoint, name, run)},
        "device": run.device,
        "why": model.why_device().for_page(),
        "space_host": None,
        "d_model": model.checkpoint.model.config.d_model,
        "max_positions": schema.MAX_POSITIONS,
        "train": {},
        "mistakes": [],
    }


def _described(checkpoint: str, name: str, run: Translation) -> Model:
    """Without what only leads to other runs."""
    known: Any = {} if is_lent(checkpoint) else to_jsonable_python(described(checkpoint))
    kept = {each: known[each] for each in ("real", "corpus", "label_smoothing", "sentences") if each in known}
    example = Example("", run.sentence, "")
    bare: Any = {"sentences": 0, "label_smoothing": 0.0, "words": {}, "surprise": False}
    return {**bare, **kept, "checkpoint": name, "examples": [to_jsonable_python(example)]}


def _number(place: Mapping[str, str], name: str) -> int:
    """From 0, where a link counts from 1."""
    text = place.get(name, "")
    return int(text) - 1 if re.fullmatch(r"[1-9]\d{0,3}", text) else 0


def _answer(bundle: _Bundle, run: Translation, shown: Any, place: Mapping[str, str], ablations: bool) -> None:
    """What the views ask for, the most important first: a long run has no room for every number."""
    asked = {"sentence": run.sentence, "changes": shown["changes"]}
    facts = shown["model"]
    add = bundle.add
    for function in (checks.checks, sublayers.shapes, sublayers.value_norms, why.lens):
        add(function, **asked)
    add(positions.positional_encoding, length=LENGTH, d_model=facts["d_model"], sinusoid=facts["sinusoid"])
    for stack in ("encoder", "decoder"):
        add(positions.input_sum, **asked, stack=stack)
    for step, other, words in _explained(bundle, run, shown, place):
        add(why.why, **asked, step=step, other=other, words=words)
    if ablations:
        add(heads.heads, sentence=run.sentence)
    layers = {kind: shown["attention"][kind]["layers"] for kind in KINDS}
    every = [(kind, layer) for kind in ("cross", "decoder", "encoder") for layer in reversed(range(layers[kind]))]
    opened = (place.get("kind", "cross"), _number(place, "layer"))
    for kind, layer in sorted(every, key=lambda each: each != opened):
        add(sublayers.inside, **asked, kind=kind, layer=layer)


def _explained(
    bundle: _Bundle, run: Translation, shown: Any, place: Mapping[str, str]
) -> Iterator[tuple[int, str | None, bool]]:
    """Steps, what each leads over, and whether by words: of a large model the step that is opened alone, since each
    takes a second and more."""
    is_small = count_parameters(translator(bundle._checkpoint).checkpoint.model.config) <= SMALL
    steps = range(len(run.steps)) if is_small else [min(_number(place, "step"), len(run.steps) - 1)]
    for step in steps:
        made = shown["steps"][step]
        rest = (each["token"] for each in made["candidates"] if each["token"] not in (made["token"], "S", "P"))
        for other in dict.fromkeys((None, next(rest, None))):
            for words in (False, True) if run.in_pieces else (False,):
                yield step, other, words


def _catalogues(script: str) -> dict[str, dict[str, str]]:
    """The texts of every language that the script may show: those whose keys begin as a text in it does."""
    begins = set(re.findall(r"[\"'`]([\w-]+)(?=[.\"'`])", script))
    return {
        path.stem: {
            key: text for key, text in json.loads(path.read_text("utf-8")).items() if key.split(".")[0] in begins
        }
        for path in sorted(CATALOGUE.parent.glob("*.json"))
    }
