"""A run as one HTML file: the page, and the answers that its views ask for, made by the functions that answer a
server's questions. Needs no server and no Gradio.

Arrays are kept once each, beside the answers; assets/web/api/frozen.ts reads them.
"""

import base64
import html
import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, get_args
from urllib.parse import urlencode

import numpy as np
from pydantic_core import to_jsonable_python

from ...analysis.contribution import IG_STEPS
from ...data import Example
from ...files import shipped
from ...inference.attention_maps import KINDS
from ...inference.interventions import ForceWord, Interventions
from ...inference.translation import Translation
from ...inference.translator import Translator
from ...messages import catalogues
from ...network.config import TransformerConfig
from ...network.cost import count_parameters, step_seconds
from ...network.int8 import is_int8
from .. import schema
from ..sessions.models import Model, described, is_lent, lent, translator
from ..shell import file_document
from . import runs, sublayers, translate, what_if, why
from .opening import page_schema
from .payload import byte_planes
from .question import Question

TABS = get_args(schema.NotebookPlace.__annotations__["tab"])
PARAMETERS = (*schema.NotebookPlace.__annotations__, "language", "present")  # of an address: where one is in this run
SMALL = 10_000_000  # parameters: up to this, numbers have all their bits
MAX_EXPLAINING = 1  # estimated seconds, which refining makes some eight at most, beside what is opened
MAX_ARRAYS = 2_025_000  # bytes, compressed: the file then has 3 MB at most
ARRAYS = {"data", "weights", "embedding", "positions", "input"}  # fields with base64
MIN_ARRAY = 32  # characters
# How texts begin that are of views that a file lacks.
ELSEWHERE = ("class.", "decoding.", "lesson.", "mistakes.", "notes.", "plan.", "replay.", "room.", "train.", "whatif.")

Request = dict[str, Any]
NO_PLACE: Mapping[str, Any] = {}
FRAME = (
    '<iframe name="{name}" title="{title}" sandbox="allow-scripts allow-forms allow-downloads" srcdoc="{page}" '
    'style="width: 100%; height: 720px; border: 0; resize: vertical"></iframe>'
)


class _Bundle:
    """Answers, and arrays that they share."""

    def __init__(self, checkpoint: str, name: str) -> None:
        self.answers: list[tuple[str, Request, Any]] = []
        self.arrays: list[tuple[int, int, int]] = []  # where each begins and ends, and bytes of its numbers
        self.content = bytearray()
        self.compressed = 0
        self.model = translator(checkpoint).checkpoint.model
        self.is_large = count_parameters(self.model.config) > SMALL
        self._checkpoint, self._name = checkpoint, name
        self._known: dict[bytes, int] = {}
        self._own: dict[int, np.ndarray] = {}  # of the answer that is kept now

    def add(self, function: Callable[..., Any], **asked: Any) -> bool:
        """Ask as the page asks, and keep the answer if there is space for its arrays; returns whether."""
        question = Question(function.__name__, function)
        about = {"checkpoint": self._checkpoint} if "checkpoint" in question.types[0].model_fields else {}
        answer = json.loads(question.dump(function(question.read(json.dumps(about | asked).encode()))))
        before = len(self.arrays), len(self.content), self.compressed
        kept = self.without_arrays(answer)
        if self.compressed > MAX_ARRAYS:
            count, size, self.compressed = before
            del self.arrays[count:], self.content[size:]
            self._known = {array: number for array, number in self._known.items() if number < count}
            return False
        self.answers.append((question.name, asked | dict.fromkeys(about, self._name), kept))
        return True

    def without_arrays(self, answer: Any) -> Any:
        """An answer with the places of its arrays: their numbers, or those of two whose sum one is."""
        self._own = {}
        return self._without(answer)

    def _without(self, part: Any) -> Any:
        if isinstance(part, list):
            return [self._without(each) for each in part]
        if not isinstance(part, dict):
            return part
        size = 1 if part.get("packed") else 4
        return {
            key: {"array": self._keep(base64.b64decode(value), size)}
            if key in ARRAYS and isinstance(value, str) and len(value) >= MIN_ARRAY
            else self._without(value)
            for key, value in part.items()
        }

    def _keep(self, array: bytes, size: int) -> int | tuple[int, int]:
        if array not in self._known:
            if size == 4 and (added := self._terms(np.frombuffer(array, "<f4"))):
                return added
            self._known[array] = len(self.arrays)
            kept = byte_planes(_rounded(array) if self.is_large and size == 4 else array, size)
            self.arrays.append((len(self.content), len(self.content) + len(kept), size))
            self.content += kept
            self.compressed += len(zlib.compress(kept))
        number = self._known[array]
        if size == 4:
            self._own[number] = np.frombuffer(array, "<f4")
        return number

    def _terms(self, total: np.ndarray) -> tuple[int, int] | None:
        """Two arrays of this answer that add up to one, as residual connections and inputs do."""
        alike = [(number, array) for number, array in self._own.items() if array.shape == total.shape]
        for (one, first), (other, second) in combinations(alike, 2):
            if first[0] + second[0] == total[0] and np.array_equal(first + second, total):
                return one, other
        return None


def _rounded(array: bytes) -> bytes:
    """Numbers of 16 significant bits, some five digits: a quarter less to keep of a long run of a large model."""
    return ((np.frombuffer(array, "<u4") + 0x80) & 0xFFFFFF00).astype("<u4").tobytes()


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
    place = {key: text for key, text in (place or {}).items() if key in PARAMETERS and (key != "tab" or text in TABS)}
    bundle = _Bundle(checkpoint, name)
    shown = to_jsonable_python(translate.show(checkpoint, run.sentence, run.interventions))
    for each in filter(None, (shown["run"], shown["baseline"])):
        each["checkpoint"] = name
    packed = bundle.without_arrays(shown)
    opening = _opening(checkpoint, run, name) | {"place": urlencode(place), "home": home}
    _answer(bundle, run, shown["run"], place, ablations)
    script = (shipped("assets") / "dist" / "file.js").read_text("utf-8")
    more = {"shown": packed, "answers": bundle.answers, "arrays": bundle.arrays, "catalogues": _catalogues(script)}
    return file_document(opening, script, run.sentence, bytes(bundle.content), **more)


def file_of(run: Translation, model: Translator, ablations: bool, place: Mapping[str, Any]) -> str:
    """The file of a run that a program has made: see `Translation.to_html`."""
    if not isinstance(place, Mapping):
        raise TypeError(f"place is a {type(place).__name__}; a dict names its parameters")
    known = schema.parameters(TABS, ("",))
    kind = place.get("kind")
    maps = run.attention.of(kind if kind in KINDS else "cross")
    counts = {"layer": len(maps), "head": maps[0].n_heads, "query": len(maps[0].query_tokens), "step": len(run.output)}
    if unknown := set(place) - set(PARAMETERS):
        raise ValueError(f"{', '.join(sorted(unknown))}: a place has {', '.join(PARAMETERS)}")

    def written(name: str, value: Any) -> str:
        about = known[name]
        if about["kind"] == "position":
            if type(value) is not int or not 0 <= value < counts[name]:
                raise ValueError(f"{name}: {value!r} is not a number from 0 to {counts[name] - 1}")
            return str(value + 1)
        if about["kind"] == "switch" and type(value) is not bool:
            raise ValueError(f"{name}: {value!r} is not True or False")
        choices = about.get("choices") or [*catalogues()]  # of a language
        if about["kind"] != "switch" and value not in choices:
            raise ValueError(f"{name}: {value!r} is none of {', '.join(choices)}")
        return {True: "yes", False: "no"}.get(value, value)

    if run.probed:
        raise ValueError("This run was made with a probe: a page would show the numbers of the network without it.")
    run = replace(run, interventions=Interventions((*run.interventions.changes, *_forced(run))))
    with lent(model) as checkpoint:
        runs.keep(checkpoint, run)
        link = {name: written(name, value) for name, value in place.items()}
        return interactive_page(checkpoint, run, run.checkpoint, ablations, link)


def _forced(run: Translation) -> Iterator[ForceWord]:
    """Words that the caller forced or drew, as changes: the model alone would not have output them."""
    for step, made in enumerate(run.steps):
        if made.token != made.candidates[0].token:
            yield ForceWord(step, made.token)


def frame_of(run: Translation, model: Translator, place: Mapping[str, Any] = NO_PLACE, name: str = "") -> str:
    """A frame with the file, as the output of a notebook, of which it reaches nothing."""
    page = html.escape(file_of(run, model, False, place))
    return FRAME.format(name=name, title=html.escape(run.sentence), page=page)


def _opening(checkpoint: str, run: Translation, name: str) -> dict[str, Any]:
    """As `Opening`, but for its run, which is packed."""
    model = translator(checkpoint)
    shared = page_schema("", "", (), TABS)
    shared["parameters"] = {each: shared["parameters"][each] for each in PARAMETERS}
    shared["exercises"], shared["classes"] = {}, False
    return {
        "schema": shared,
        "models": {name: _described(checkpoint, name, run)},
        "device": run.device,
        "why": model.why_device().for_page(),
        "space_host": None,
        "d_model": model.checkpoint.model.config.d_model,
        "max_positions": schema.MAX_POSITIONS,
        "train": {},
        "mistakes": [],
        "drawn": list(run.drawn),
    }


def _described(checkpoint: str, name: str, run: Translation) -> Model:
    """Without what only leads to other runs."""
    known: Any = {} if is_lent(checkpoint) else to_jsonable_python(described(checkpoint))
    kept = {each: known[each] for each in ("real", "corpus", "label_smoothing", "sentences") if each in known}
    example = Example("", run.sentence, "")
    bare = {"sentences": 0, "label_smoothing": 0.0, "words": {}, "surprise": False}
    model: Any = bare | kept | {"checkpoint": name, "examples": [to_jsonable_python(example)]}
    return model


def _number(place: Mapping[str, str], name: str) -> int:
    """From 0, where a link counts from 1."""
    text = place.get(name, "")
    return int(text) - 1 if re.fullmatch(r"[1-9]\d{0,3}", text) else 0


def _answer(bundle: _Bundle, run: Translation, shown: Any, place: Mapping[str, str], ablations: bool) -> None:
    """What the views ask for, the most important first: a file has no space for every number of a long run."""
    asked = {"sentence": run.sentence, "changes": shown["changes"]}
    add, model = bundle.add, bundle.model
    add(sublayers.shapes)
    for function in (sublayers.checks, sublayers.value_norms, why.lens):
        add(function, **asked)
    for stack in ("encoder", "decoder"):
        add(sublayers.input_sum, **asked, stack=stack)
    for step, other, words in () if is_int8(model) else _explained(model.config, run, shown, place):
        add(why.why, **asked, step=step, other=other, words=words)
    if ablations and not run.interventions.changes:  # of others, heads are not ablated
        add(what_if.heads, sentence=run.sentence)
    layers = {kind: shown["attention"][kind]["layers"] for kind in KINDS}
    every = [(kind, layer) for kind in ("cross", "decoder", "encoder") for layer in reversed(range(layers[kind]))]
    sharpest = max(range(len(run.attention.cross)), key=lambda layer: run.attention.cross[layer].weights.max())
    layer = _number(place, "layer") if "layer" in place else sharpest  # as `openingPlace` of state.ts
    opened, full = (place.get("kind", "cross"), layer), set()
    for kind, layer in sorted(every, key=lambda each: each != opened):
        if kind not in full and not add(sublayers.inside, **asked, kind=kind, layer=layer):
            full.add(kind)


def _explained(
    config: TransformerConfig, run: Translation, shown: Any, place: Mapping[str, str]
) -> Iterator[tuple[int, str | None, bool]]:
    """Steps, what each leads over, and whether by words: what is opened, then as many more as take little work."""
    by_words, is_contrast = run.in_pieces and place.get("words") == "yes", place.get("why") == "contrast"
    step = _number(place, "step")
    if by_words:
        step = bisect_left(run.words()[2].of, step)
    step = min(step, len(run.steps) - 1)
    rivals = [_second(made) for made in shown["steps"]]
    opened = dict.fromkeys((step, other, by_words) for other in (None, rivals[step] if is_contrast else None))
    yield from opened
    every = [
        (step, rivals[step] if leads else None, words)
        for words in ((by_words, not by_words) if run.in_pieces else (False,))
        for leads in (False, True)
        for step in range(len(rivals))
    ]
    plain, seconds = replace(config, dropout=0.0), 0.0
    for asked in dict.fromkeys(every):
        if asked not in opened:
            seconds += step_seconds(plain, IG_STEPS, len(run.source), asked[0] + 1)
            if seconds > MAX_EXPLAINING:
                return
            yield asked


def _second(step: Any) -> str | None:
    """The likeliest token that a step does not output: `secondWord` of why.ts."""
    rest = (each["token"] for each in step["candidates"] if each["token"] not in (step["token"], "S", "P"))
    return next(rest, None)


def _catalogues(script: str) -> dict[str, dict[str, str]]:
    """The texts of every language that the script may show. Keys are often made in parts, but of other views' texts it
    names what it shares with them."""
    return {
        name: {key: text for key, text in texts.items() if not key.startswith(ELSEWHERE) or key in script}
        for name, texts in catalogues().items()
    }
