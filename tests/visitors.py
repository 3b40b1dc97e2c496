"""Visitors without a browser, who speak the page's own protocol: the requests that its clicks make, and no more."""

import asyncio
import base64
import csv
import html
import inspect
import io
import json
import math
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Self

import httpx
import numpy as np
import orjson

from transformer import Translator
from transformer.data.classroom.corpus import HELD_OUT_SENTENCES, sample
from transformer.inference.attention_maps import KINDS
from transformer.live.form import DEFAULTS
from transformer.storage.portable import PortableModel
from transformer.web.api.refusals import reads
from transformer.web.api.table import QUESTIONS
from transformer.web.server.programs import plain
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX

from .models import as_file
from .web.api.endpoints import ACTIONS, COMPUTED

Ask = Callable[["Question"], Awaitable[Any]]
TOY = ("Ich möchte ein Bier", "ich mochte ein cola", "ein Cola", "ich ein Bier", "mochte ein bier", "Cola Bier ein")
SILENCED = {"do": "ablate", "kind": "cross", "layer": 1, "head": 2}
MISTAKES = ("padding_rows", "unscaled", "softmax_dim", "inverted_mask", "no_eval")  # of decoding: they train nothing
ELSEWHERE = {"translate", "surprise", "share_model", "shared_model", "starters"}  # the last takes seconds
OWN_MODEL = "an own model"
GERMAN = "Heute habe ich ein kaltes Bier getrunken"
ENGLISH = ["today", "i", "have", "drunk", "a", "cold", "beer", ".", "E"]  # the classroom's translation


@dataclass(frozen=True)
class Question:
    """The request of one click.

    Attributes:
        action: what the click is called in a table.
        path: without the first slash.
        body: a dict is sent as JSON; None for a GET.
        expected: computes the right answer in this process; None where status 200 is enough.
        check: whether an answer that only this visitor gets is right, such as one with the key of an own model. It is
            called at once, and has to be quick.
    """

    action: str
    path: str
    body: dict[str, Any] | bytes | None = None
    expected: Callable[[], Any] | None = None
    check: Callable[[Any], bool] | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def verb(self) -> str:
        return "GET" if self.body is None else "POST"

    @property
    def reaches(self) -> str:
        """The address that answers it."""
        return f"{self.verb} /{re.sub(f'{OWN_MODEL_PREFIX}[^/]+', '{key}', self.path.partition('?')[0])}"

    def answer(self, content_type: str, body: bytes) -> Any:
        """The part of a response that is the answer."""
        if content_type != "application/json":
            return None if content_type.startswith("text/html") else body
        answer = orjson.loads(body)
        return answer["data"][0] if self.path.startswith("gradio_api/run/") and "data" in answer else answer


def ask(action: str, name: str, session: str, /, **request: Any) -> Question:
    """A question of the page, by its name in the server's table."""

    def expected() -> Any:
        question = QUESTIONS[name]
        return json.loads(question.dump(question.function(question.read(orjson.dumps(request)))))

    return Question(action, f"api/{name}", request, expected, headers={"Session": session})


def program(function: Callable[..., Any], *values: Any) -> Question:
    """An action as a program calls it."""

    def expected() -> Any:
        answer = function(*values)
        return plain(asyncio.run(answer) if asyncio.iscoroutine(answer) else answer)

    name = function.__name__
    return Question(f"API {name}", f"gradio_api/run/{name}", {"data": list(values)}, expected)


def problem(answer: httpx.Response) -> str:
    """Why a response is no answer, or ""."""
    is_json = answer.headers.get("content-type") == "application/json"
    found = orjson.loads(answer.content) if is_json else None
    refused = found.get("error") if isinstance(found, dict) else None
    return f"status {answer.status_code}: {answer.text[:200]}" if refused or answer.status_code != 200 else ""


class Connection:
    """One connection, kept as a browser keeps its own. There are no timeouts.

    Args:
        address: the visitor's own, of this machine.
    """

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        kept = httpx.Limits(keepalive_expiry=3)  # below the server's 5 s
        transport = httpx.AsyncHTTPTransport(local_address=address, limits=kept, trust_env=False, verify=False)
        self._client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/", timeout=None, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    def _request(self, question: Question) -> httpx.Request:
        content, headers = question.body, question.headers
        if isinstance(content, dict):
            content, headers = orjson.dumps(content), {"Content-Type": "application/json"} | headers
        return self._client.build_request(question.verb, question.path, content=content, headers=headers)

    async def ask(self, question: Question) -> httpx.Response:
        return await self._client.send(self._request(question))

    async def stream(self, question: Question) -> AsyncGenerator[str]:
        """The lines of an answer as they come.

        Raises:
            httpx.HTTPStatusError: it is a refusal.
        """
        answer = await self._client.send(self._request(question), stream=True)
        try:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                yield line
        finally:
            await answer.aclose()


class Visitor:
    """Somebody who clicks through the whole page, a sentence of the toy or the classroom at a time.

    Args:
        seed: two visitors of one seed click alike.
        sentences: of the classroom.
    """

    def __init__(self, seed: int, sentences: tuple[str, ...]) -> None:
        self._sentences = sentences
        self.rng = random.Random(seed)
        self.session = f"visitor{seed}"
        self.checkpoint, self.sentence = "toy", TOY[0]

    def translate(self) -> Question:
        """Another sentence."""
        self.sentence = self.rng.choice(TOY if self.checkpoint == "toy" else self._sentences)
        return self._run("translate")

    def types(self, sentence: str) -> Question:
        """A sentence of the classroom."""
        self.checkpoint, self.sentence = "classroom", sentence
        return self._run("translate")

    def surprise(self) -> Question:
        """A sentence that the server draws."""
        self.checkpoint = "classroom"
        asked = ask("surprise", "surprise", self.session, checkpoint="classroom")
        return replace(asked, expected=None, check=lambda answer: answer["run"]["checkpoint"] == "classroom")

    def choose(self) -> Question:
        """The other model."""
        self.checkpoint = "classroom" if self.checkpoint == "toy" else "toy"
        self.sentence = (TOY if self.checkpoint == "toy" else self._sentences)[0]
        return self._run("choose a model", or_example=True)

    def _run(self, action: str, changes: tuple[dict[str, Any], ...] = (), **more: Any) -> Question:
        asked = {"checkpoint": self.checkpoint, "sentence": self.sentence, "changes": list(changes), **more}
        return ask(action, "translate", self.session, **asked)

    def others(self) -> dict[str, Callable[[], Question]]:
        """All other actions by their names, about the sentence that is shown."""
        checkpoint, sentence, rng = self.checkpoint, self.sentence, self.rng
        address = f"?checkpoint={checkpoint}&sentence=ein&tab=attention&layer=2"
        asked: dict[str, Callable[[], Question]] = {
            "open the page": lambda: Question("open the page", address),
            "surprise": self.surprise,
            "choose a model": self.choose,
            "what if": lambda: self._run("what if", (SILENCED,)),
            "health": lambda: Question("health", "health", check=lambda answer: answer["status"] == "ok"),
        }
        varied: dict[str, Any] = {
            "checkpoint": checkpoint,
            "sentence": sentence,
            "kind": rng.choice(KINDS),
            "layer": rng.randrange(2),
            "key": 0,
            "row": rng.randrange(9),
            "seed": rng.randrange(9),
            "length": rng.randrange(10, 60),
            "stack": rng.choice(("encoder", "decoder")),
            "mistake": rng.choice((None, {"step": 1, "word": "a"})),
        }

        def about_it(request: dict[str, Any]) -> dict[str, Any]:
            return request | {name: value for name, value in varied.items() if name in request}

        settings = {name: DEFAULTS["toy"][name] for name in ("model", "training", "held_out")}
        requests = {function.__name__: request for function, request in COMPUTED.items()}
        requests["pairs"] = table()
        requests["plan"] = {"name": "mine", "corpus": "toy", "pairs": [], "watch": "", **settings}
        requests["mistake"] = requests["mistake"] | {"name": rng.choice(MISTAKES)}
        for name in sorted(requests.keys() - ELSEWHERE):
            body = about_it(requests[name]) | ({"changes": []} if "changes" in requests[name] else {})
            asked[name] = partial(ask, name, name, self.session, **body)
        title = f"<title>{html.escape(sentence)} ·"  # numbers are packed, and a batch rounds them otherwise
        checks: dict[str, Callable[[Any], bool]] = {
            # In this process it would start another one, for the training to come. Its seconds change with the load.
            "plan": lambda answer: not answer["problems"],
            "interactive": lambda answer: title in answer["text"],
        }
        for name, check in checks.items():
            asked[name] = partial(replace, asked[name](), expected=None, check=check)
        for action, request in ACTIONS.items():
            values = inspect.signature(action).bind(**about_it(request)).args
            asked[f"API {action.__name__}"] = partial(program, action, *values)
        return asked

    def names(self) -> list[str]:
        """The names of all other actions: those of `others`, and one that takes several questions."""
        return sorted([*self.others(), OWN_MODEL])

    async def do(self, name: str, send: Ask) -> None:
        """One of these actions."""
        await (self._own_model(send) if name == OWN_MODEL else send(self.others()[name]()))

    async def _own_model(self, send: Ask) -> None:
        """Upload a model, translate with it, share, download and delete it."""
        file = model_file()
        upload = Question("upload a model", "models", file, headers={"Session": self.session})
        uploaded = await send(replace(upload, check=lambda got: got["model"]["name"] == "load"))
        if not uploaded:
            return
        key = uploaded["model"]["checkpoint"]
        own = {"checkpoint": key}
        translate = ask("translate with an own model", "translate", self.session, **own, sentence=GERMAN)
        await send(replace(translate, expected=None, check=lambda answer: answer["run"]["output"] == ENGLISH))
        shared = await send(replace(ask("share a model", "share_model", self.session, **own), expected=None))
        if shared:
            look = replace(ask("open a shared model", "shared_model", self.session, **shared), expected=None)
            await send(replace(look, check=lambda got: got["name"] == "load" and key not in json.dumps(got)))
        await send(Question("download a model", f"models/{key}", check=lambda answer: answer == file))
        deleted = ask("delete a model", "delete_model", self.session, **own)
        await send(replace(deleted, expected=None, check=lambda answer: answer is None))


def sentences(count: int) -> tuple[str, ...]:
    """Sentences of the classroom, all different, without the few words that its training never drew."""
    return tuple(
        each.spelling for each in sample(HELD_OUT_SENTENCES, count, seed=7) if reads("classroom", each.spelling)
    )


@cache
def pairs() -> tuple[tuple[str, str], ...]:
    return tuple((each.source, each.target) for each in sample("", 100))


@cache
def table() -> dict[str, Any]:
    """A file of pairs, as the tab Train sends it."""
    written = io.StringIO()
    csv.writer(written).writerows([("German", "English"), *pairs()])
    return {"file": base64.b64encode(written.getvalue().encode()).decode(), "header": None}


@cache
def model_file() -> bytes:
    """The classroom's model as a file."""
    checkpoint = Translator.load("classroom", device="cpu").checkpoint
    return as_file(PortableModel(checkpoint, "load", "classroom", pairs(), {}, ""))


def train(session: str, steps: int, corpus: str = "classroom", **network: int) -> Question:
    """A training of a corpus's pairs, as the tab Train asks for it, with another network if one is given."""
    settings = DEFAULTS[corpus]
    form = {"name": "load", "corpus": corpus, "pairs": [], "watch": "", "model": settings["model"] | network}
    return ask("train", "train", session, **settings | form | {"training": settings["training"] | {"steps": steps}})


def train_mistake(session: str) -> Question:
    """The shortest of the trainings that show a mistake."""
    return ask("train with a mistake", "train_mistake", session, name="output_in_forward")


def right(question: Question, answer: Any) -> bool:
    """Whether an answer is what this process computes by itself; slow."""
    return question.expected is None or alike(answer, question.expected())


def alike(one: Any, other: Any) -> bool:
    """Equal up to rounding: a sentence that waited is computed in a batch, whose sums have another order. What the page
    shows of some figures are four decimals."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=2e-4)
    if isinstance(one, str) and isinstance(other, str) and one != other:
        return alike(_numbers(one), _numbers(other))
    return bool(one == other)


def _numbers(text: str) -> list[Any]:
    """Those of an array in base64, or those between the other words of a text, 0.3 as well as 2.1e-12 and 9e-45."""
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), "<f4").tolist()
    except ValueError:
        parts = re.split(r"(-?\d+(?:\.\d+|(?=e))(?:e[-+]?\d+)?)", text)
        return [float(part) if i % 2 else tuple(part.split()) for i, part in enumerate(parts)]
