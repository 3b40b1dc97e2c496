"""Visitors without a browser, who speak the page's own protocol: the requests that its clicks make, and no more.

Plain asyncio on sockets, because many of them share a machine with the server that they are to measure.
"""

import asyncio
import base64
import binascii
import csv
import io
import json
import random
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from transformer import Translator
from transformer.data.classroom.corpus import HELD_OUT_SENTENCES, sample
from transformer.inference.attention_maps import KINDS
from transformer.live.plan import DEFAULTS
from transformer.storage.portable import PortableModel, save_portable
from transformer.web.api import decoding, events, mistakes, positions, runs, sublayers, what_if
from transformer.web.api import training as train
from transformer.web.api.checks import checks
from transformer.web.api.downloads import notebook, provenance, weights_csv
from transformer.web.api.heads import heads
from transformer.web.page import ACTIONS, EVENTS
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX

Ask = Callable[["Question"], Awaitable[Any]]
TOY = ("Ich möchte ein Bier", "ich mochte ein cola", "ein Cola", "ich ein Bier", "mochte ein bier", "Cola Bier ein")
SILENCED = {"do": "silence", "kind": "cross", "layer": 1, "head": 2}
MISTAKES = ("padding_rows", "unscaled", "one_head", "never_stops", "no_eval")  # of decoding: they train nothing
OWN_MODEL = "a model of one's own"
GERMAN = "Heute habe ich ein kaltes Bier getrunken"
ENGLISH = ["today", "i", "have", "drunk", "a", "cold", "beer", ".", "E"]  # as the classroom says


@dataclass(frozen=True)
class Question:
    """What one click asks.

    Attributes:
        action: what the click is called in a table.
        path: of the request, without the first slash.
        body: what is sent, a dict as JSON; None for a GET.
        expected: what the answer has to be, computed here and now; None where nothing more is asked than status 200.
        fits: of an answer that nobody else gets, such as the key of a visit's own model: whether it is right. It is
            asked at once, and has to be quick.
        method: GET without a body and POST with one, where nothing else is said.
    """

    action: str
    path: str
    body: dict[str, Any] | bytes | None = None
    expected: Callable[[], Any] | None = None
    fits: Callable[[Any], bool] | None = None
    method: str = ""

    @property
    def verb(self) -> str:
        return self.method or ("GET" if self.body is None else "POST")

    @property
    def reaches(self) -> str:
        """What of the server answers it: an event by its number, a function, or an address."""
        match self.body:
            case {"fn_index": number}:
                return f"event {number}"
            case {"fn_name": name}:
                return f"function {name}"
        return f"{self.verb} /{re.sub(f'{OWN_MODEL_PREFIX}[^/]+', '{key}', self.path.partition('?')[0])}"

    def answer(self, kind: str, body: bytes) -> Any:
        """The part of a response that is the answer, given its content type."""
        if kind != "application/json":
            return None if kind.startswith("text/html") else body
        answer = orjson.loads(body)
        if self.path.startswith("gradio_api/run/"):
            answer = answer["data"][-1]
            return orjson.loads(answer) if isinstance(answer, str) else answer  # of an event, as text
        return answer


class Connection:
    """One connection that is kept, as a browser keeps its own. No timeouts: whoever waits, waits."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, question: Question) -> tuple[int, dict[str, str], bytes]:
        """Status, headers by their names in lower case, body."""
        if self._pipe is None or self._pipe[0].at_eof():  # the server closes what was idle for long
            self._pipe = await asyncio.open_connection("127.0.0.1", self._port)
        reader = self._pipe[0]
        status, headers = await self._begin(question)
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join([piece async for piece in self._pieces()])
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection") == "close":
            self.close()
        return status, headers, body

    async def stream(self, question: Question) -> AsyncIterator[bytes]:
        """The pieces of an answer as they come; the connection ends with it."""
        self._pipe = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            status, headers = await self._begin(question)
            if headers.get("transfer-encoding") != "chunked":
                raise RuntimeError(f"no stream, but status {status}")
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self.close()

    async def _begin(self, question: Question) -> tuple[int, dict[str, str]]:
        assert self._pipe
        reader, writer = self._pipe
        body = question.body or b""
        head = f"{question.verb} /{question.path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
        if isinstance(body, dict):
            body = orjson.dumps(body)
            head += "Content-Type: application/json\r\n"
        if body:
            head += f"Content-Length: {len(body)}\r\n"
        writer.write(f"{head}\r\n".encode() + body)
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.split(":", 1) for line in lines if line)
        return int(first.split()[1]), {name.lower(): value.strip() for name, value in pairs}

    async def _pieces(self) -> AsyncIterator[bytes]:
        assert self._pipe
        reader = self._pipe[0]
        while size := int(await reader.readline(), 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)

    def close(self) -> None:
        if self._pipe:
            self._pipe[1].close()
            self._pipe = None


class Page:
    """What a browser knows after it has loaded the page: the numbers of its events and components."""

    def __init__(self, config: dict[str, Any]) -> None:
        events = {event: each for each in config["dependencies"] for _, event in each["targets"]}
        self._events = {name: (events[name]["id"], events[name]["targets"][0][0]) for name in EVENTS}
        self._components: dict[str, int] = {}
        for component in config["components"]:
            for name in component["props"].get("server_fns") or ():
                self._components.setdefault(name, component["id"])

    @classmethod
    async def load(cls, port: int) -> "Page":
        connection = Connection(port)
        _, _, body = await connection.ask(Question("open the page", "config"))
        connection.close()
        return cls(orjson.loads(body))

    def click(self, action: str, event: str, session: str, asked: dict[str, Any], **expected: Any) -> Question:
        """An event of the run at the top."""
        number, component = self._events[event]
        body = {"data": [], "event_data": asked, "fn_index": number, "trigger_id": component, "session_hash": session}
        return Question(action, "gradio_api/run/predict", body, **expected)

    def call(self, action: str, function: Callable[[Any], Any], session: str, asked: dict[str, Any]) -> Question:
        """A function of the server that a tab calls."""
        name = function.__name__
        body = {"data": asked, "fn_name": name, "component_id": self._components[name], "session_hash": session}
        return Question(action, "gradio_api/component_server/", body, lambda: function(asked))


def program(function: Callable[..., Any], *values: Any) -> Question:
    """The same action as a program calls it."""
    path = f"gradio_api/run/{function.__name__}"
    return Question(f"API {function.__name__}", path, {"data": list(values)}, lambda: called(function, *values))


def called(function: Callable[..., Any], *values: Any) -> Any:
    answer = function(*values)
    return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer


class Visitor:
    """Somebody who clicks through the whole page, a sentence of the toy or the classroom at a time.

    Args:
        seed: two visitors of one seed click alike.
    """

    def __init__(self, page: Page, seed: int, sentences: tuple[str, ...]) -> None:
        self._page = page
        self._sentences = sentences
        self.rng = random.Random(seed)
        self.session = f"visitor{seed}"
        self.checkpoint, self.sentence = "toy", TOY[0]

    def translate(self) -> Question:
        """Another sentence."""
        self.sentence = self.rng.choice(TOY if self.checkpoint == "toy" else self._sentences)
        return self._shown("translate", "ask", self.sentence)

    def types(self, sentence: str) -> Question:
        """A sentence of the classroom."""
        self.checkpoint, self.sentence = "classroom", sentence
        return self._shown("translate", "ask", sentence)

    def _shown(self, action: str, event: str, sentence: str, changes: tuple[dict[str, Any], ...] = ()) -> Question:
        checkpoint = self.checkpoint
        asked = {"checkpoint": checkpoint, "sentence": sentence, "changes": list(changes)}
        return self._page.click(action, event, self.session, asked, expected=lambda: events.ask(asked)[1])

    def surprise(self) -> Question:
        """Which sentence comes, nobody knows before."""
        self.checkpoint = "classroom"
        return self._page.click("surprise", "surprise", self.session, {"checkpoint": "classroom", "changes": []})

    def choose(self) -> Question:
        self.checkpoint = "classroom" if self.checkpoint == "toy" else "toy"
        self.sentence = (TOY if self.checkpoint == "toy" else self._sentences)[0]
        asked = {"checkpoint": self.checkpoint, "sentence": self.sentence, "changes": [], "example": False}
        return self._page.click(
            "choose a model", "choose", self.session, asked, expected=lambda: events.choose(asked)[1]
        )

    def others(self) -> dict[str, Callable[[], Question]]:
        """All other actions by their names, about the sentence that is shown."""
        run = {"checkpoint": self.checkpoint, "sentence": self.sentence, "changes": []}
        where = {"checkpoint": self.checkpoint}
        beer, rng = self.sentence, self.rng

        def call(action: str, function: Callable[[Any], Any], **more: Any) -> tuple[str, Callable[[], Question]]:
            return action, lambda: self._page.call(action, function, self.session, run | more)

        settings = {name: DEFAULTS["toy"][name] for name in ("model", "training", "held_out")}
        plan = {"name": "mine", "corpus": "toy", "pairs": [], "watch": ""} | settings
        address = f"?checkpoint={self.checkpoint}&sentence=ein&tab=attention&layer=2"
        kind = rng.choice(KINDS)
        asked = [
            ("open the page", lambda: Question("open the page", address)),
            ("example", lambda: self._shown("example", "example", beer)),
            ("surprise", self.surprise),
            ("choose a model", self.choose),
            ("what if", lambda: self._shown("what if", "ask", beer, (SILENCED,))),
            ("health", lambda: Question("health", "health", fits=lambda told: told["status"] == "ok")),
            call("checks", checks),
            call("heads", heads),
            call("which heads matter", what_if.sweep, on="sentence"),
            call("words", what_if.vocabulary, **where),
            call("spot the bug", mistakes.mistake, name=rng.choice(MISTAKES)),
            call("beam search", decoding.beam, width=4, alpha=0.6),
            call("sample", decoding.sampled, temperature=1.0, top_k=0, top_p=1.0, seed=rng.randrange(9)),
            call("teacher forcing", decoding.forced, slip=None),
            call("inside a head", sublayers.inside, kind=kind, layer=rng.randrange(2)),
            call("a matrix's row", sublayers.parameters, kind=kind, layer=1, part="q_proj", row=rng.randrange(9)),
            call("residual stream", sublayers.stack),
            call("shapes", sublayers.shapes),
            call("positions", positions.positional_encoding, length=rng.randrange(10, 60), d_model=64),
            call("embedding + position", positions.input_sum, stack=rng.choice(("encoder", "decoder"))),
            call("a slip", decoding.forced, slip={"step": 1, "word": "a"}),
            call("CSV", weights_csv),
            call("notebook", notebook),
            call("handout", provenance),
            ("open a CSV", lambda: self._page.call("open a CSV", train.pairs, self.session, table())),
            # Not computed again: it would have a process ready, because somebody is about to train.
            (
                "plan a training",
                lambda: replace(self._page.call("plan a training", train.plan, self.session, plan), expected=None),
            ),
        ]
        values: dict[Callable[..., Any], tuple[Any, ...]] = {
            runs.translate: (beer, self.checkpoint),
            runs.attention: (beer, kind, 1, 2, self.checkpoint),
            positions.positions: (10, 64),
            what_if.what_if: (beer, [SILENCED], self.checkpoint),
            what_if.which_heads_matter: (beer, self.checkpoint),
            decoding.beam_search: (beer, 3, 1.0, self.checkpoint),
            decoding.sample: (beer, 2.0, 0, 1.0, 7, self.checkpoint),
            decoding.teacher_forcing: (beer, self.checkpoint, None, ""),
            mistakes.spot_the_bug: (rng.choice(MISTAKES), beer, self.checkpoint),
        }
        assert set(values) == set(ACTIONS)
        for function, given in values.items():
            asked.append((f"API {function.__name__}", lambda f=function, g=given: program(f, *g)))  # type: ignore[misc]
        return dict(asked)

    def names(self) -> list[str]:
        """Of all other actions: of `others`, and of one that takes several questions."""
        return sorted([*self.others(), OWN_MODEL])

    async def do(self, name: str, ask: Ask) -> None:
        """One of these actions."""
        await (self._own_model(ask) if name == OWN_MODEL else ask(self.others()[name]()))

    async def _own_model(self, ask: Ask) -> None:
        """Bring a model's file, translate with it, take it home, and forget it."""
        file = model_file()
        brought = await ask(
            Question(
                "bring a model", f"models?visit={self.session}", file, fits=lambda said: said["model"]["name"] == "load"
            )
        )
        if not brought:
            return
        key = brought["model"]["checkpoint"]
        asked = {"checkpoint": key, "sentence": GERMAN, "changes": []}
        action = "translate with an own model"
        await ask(
            self._page.click(action, "ask", self.session, asked, fits=lambda said: said["run"]["output"] == ENGLISH)
        )
        await ask(Question("take a model home", f"models/{key}", fits=lambda said: said == file))
        await ask(Question("forget a model", f"models/{key}", fits=lambda said: said == {}, method="DELETE"))


def sentences(count: int) -> tuple[str, ...]:
    """Of the classroom, all different."""
    return tuple(each.spelling for each in sample(HELD_OUT_SENTENCES, count, seed=7))


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
    """The classroom's model, as a visitor takes one home."""
    checkpoint = Translator.load("classroom", device="cpu").checkpoint
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        save_portable(PortableModel(checkpoint, "load", "classroom", pairs(), {}, ""), file)
        return file.read_bytes()


def training(visit: str, steps: int, corpus: str = "classroom") -> Question:
    """A training of a corpus's pairs, as the tab Train asks for it."""
    settings = DEFAULTS[corpus]
    asked = {"name": "load", "corpus": corpus, "pairs": [], "watch": "", "visit": visit}
    return Question("train", "train", settings | asked | {"training": settings["training"] | {"steps": steps}})


def retraining(visit: str) -> Question:
    """The trainings that show a mistake, as *Spot the bug* asks for them: the ones that end soonest."""
    return Question("train with a mistake", "mistake", {"name": "output_in_forward", "visit": visit})


def agree(one: Any, other: Any) -> bool:
    """Whether two answers are one: numbers to 1e-4, also where they travel as base64; all else exactly."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(agree(one[key], other[key]) for key in one)
        case list(), list():
            return len(one) == len(other) and all(map(agree, one, other))
        case (float() | int(), float() | int()) if type(one) is not bool and type(other) is not bool:
            return bool(np.isclose(one, other, rtol=1e-3, atol=1e-4))
        case str(), str() if one != other and len(one) == len(other) > 8 and "," not in one:
            pairs = _floats(one), _floats(other)
            return pairs[0] is not None and pairs[1] is not None and np.allclose(*pairs, rtol=1e-3, atol=1e-4)
        case str(), str() if one.count(",") > 99:  # a table
            return agree(_cells(one), _cells(other))
    return one == other


def _floats(text: str) -> np.ndarray | None:
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), "<f4")
    except (binascii.Error, ValueError):
        return None


def _cells(table: str) -> list[Any]:
    cells = table.replace("\n", ",").split(",")
    return [float(cell) if cell.replace(".", "").replace("e-", "").isdigit() else cell for cell in cells]


def right(question: Question, answer: Any) -> bool:
    """Whether an answer is what this process computes by itself; slow."""
    if question.action == "surprise":
        return agree(answer, json.loads(orjson.dumps(events.show("classroom", answer["run"]["sentence"]))))
    if question.expected is None:
        return True
    return agree(answer, json.loads(orjson.dumps(question.expected(), option=orjson.OPT_SERIALIZE_NUMPY)))
