"""Spot the bug: every mistake is shown with the model's own numbers, or refused with a sentence."""

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gradio as gr
import pytest

from transformer import Translator
from transformer.data import CORPORA
from transformer.live.form import DEFAULTS
from transformer.live.limits import Limits
from transformer.live.plan import plan
from transformer.live.stream import live
from transformer.messages import Message
from transformer.mistakes import MISTAKES, DecodingMistake, Side
from transformer.storage.portable import load_portable
from transformer.web.api import mistakes
from transformer.web.fair_queue import Client
from transformer.web.sessions.model_store import model_store
from transformer.web.sessions.models import RefusedCheckpointError, translator
from transformer.web.sessions.shared_run import Event
from transformer.web.sessions.training_queue import BusyError

from .endpoints import BEER, SENTENCES

DECODING = [mistake for mistake in MISTAKES.values() if isinstance(mistake, DecodingMistake)]
RIGHT = {"checkpoint": "toy", "sentence": BEER, "name": "never_stops"}


def asked(name: str, checkpoint: str, sentence: str) -> dict[str, Any]:
    """An answer as it reaches the page."""
    answer = mistakes.mistake({"checkpoint": checkpoint, "sentence": sentence, "name": name})
    return json.loads(json.dumps(answer, allow_nan=False))


def same(sent: dict[str, Any], side: Side) -> None:
    assert (sent["numbers"], sent["text"]) == (dict(side.numbers), side.text)
    assert (sent["attention"] is None) == (side.attention is None)
    if side.attention:
        assert sent["attention"]["weights"] == side.attention.weights.ravel().tolist()
        assert sent["attention"]["queries"] == list(side.attention.query_tokens)


# What the page asks


SHOWN = [(mistake, "classroom") for mistake in DECODING] + [
    (mistake, "toy") for mistake in DECODING if mistake.shown_on
]


@pytest.mark.parametrize(("mistake", "checkpoint"), SHOWN, ids=lambda each: getattr(each, "name", each))
def test_a_mistake_is_shown_in_the_run_or_where_it_can_be_seen(mistake: DecodingMistake, checkpoint: str) -> None:
    sent = asked(mistake.name, checkpoint, SENTENCES[checkpoint])
    sentence = SENTENCES[checkpoint]
    elsewhere = mistake.shown_on not in (None, checkpoint)
    if elsewhere:
        checkpoint = "classroom"
        sentence = CORPORA["classroom"].examples[0].sentence
    found = mistake.run(translator(checkpoint), sentence)
    assert (sent["model"], sent["elsewhere"], sent["sentence"]) == (checkpoint, elsewhere, sentence)
    assert sent["head"] == found.head
    same(sent["right"], found.right)
    same(sent["wrong"], found.wrong)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A visit's own model: one head of one number, on one layer."""
    file = tmp_path_factory.mktemp("own") / "model"
    shape = {"d_model": 2, "n_heads": 1, "layers": 1, "d_ff": 4}
    settings = {"model": DEFAULTS["own"]["model"] | shape, "training": DEFAULTS["own"]["training"] | {"steps": 2}}
    pairs = [["Guten Morgen", "Good morning"], ["Danke", "Thanks"]]
    job = plan({"name": "small", "corpus": "own", "pairs": pairs, "watch": "", "held_out": 0, **settings}, Limits()).job
    assert job
    list(live(job, file))
    key = model_store().put(load_portable(file), Client("", "v"), file)
    yield key
    model_store().delete(key)


@pytest.mark.parametrize("mistake", DECODING, ids=lambda mistake: mistake.name)
def test_a_model_of_a_visit_shows_them_too_or_says_why_not(mistake: DecodingMistake, own: str) -> None:
    sent = asked(mistake.name, own, "Guten Morgen")
    if mistake.name == "one_head":
        assert sent["error"]["key"] == "mistakes.one_head_only"
    elif mistake.shown_on:
        assert (sent["model"], sent["elsewhere"]) == (mistake.shown_on, True)
    else:
        assert (sent["model"], sent["elsewhere"], sent["sentence"]) == ("small", False, "Guten Morgen")


def test_a_head_of_one_number_has_nothing_to_scale(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = translator(own).checkpoint.model.config
    monkeypatch.setattr(type(config), "head_dim", 1)
    assert asked("unscaled", own, "Danke")["error"]["key"] == "mistakes.nothing_to_scale"


@pytest.mark.parametrize("name", ["never_stops", "no_eval"])  # which is shown on the classroom's model anyway
def test_a_shipped_model_whose_files_are_broken_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(checkpoint: str) -> Translator:
        raise RefusedCheckpointError("error.model_broken", name=checkpoint)

    monkeypatch.setattr(mistakes, "translator", broken)
    sentence = "Das Kind sieht den Hund"  # that nobody has asked about
    error = asked(name, "classroom", sentence)["error"]
    assert (error["key"], error["values"]) == ("error.model_broken", {"name": "classroom"})


# What programs ask


def called(asks: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    with ThreadPoolExecutor(1) as own:  # in this thread Playwright may have a loop of its own
        return json.loads(json.dumps(own.submit(asyncio.run, asks).result(), allow_nan=False))


def test_a_program_gets_code_numbers_and_texts() -> None:
    answer = called(mistakes.spot_the_bug("cross_padding"))
    mistake = MISTAKES["cross_padding"]
    assert answer.keys() == {
        *("name", "kind", "right_code", "wrong_code", "sentence", "checkpoint", "right", "wrong"),
    }
    assert (answer["name"], answer["kind"]) == ("cross_padding", "decoding")
    assert (answer["right_code"], answer["wrong_code"]) == (mistake.right, mistake.wrong)
    assert (answer["sentence"], answer["checkpoint"]) == (BEER, "toy")
    found = mistake.run(Translator.load("toy", device="cpu"), BEER)  # type: ignore[call-arg]
    for side in ("right", "wrong"):
        own = getattr(found, side)
        assert answer[side] == {"numbers": dict(own.numbers), "text": own.text, "losses": []}
    assert called(mistakes.spot_the_bug("no_eval"))["checkpoint"] == "classroom"


class Busy:
    """A training queue that shows what a test has it show."""

    def __init__(self, *events: Event | str | BusyError) -> None:
        self.events = events
        self.asked: list[tuple[str, Client]] = []

    async def train_mistake(self, mistake: str, client: Client) -> AsyncGenerator[Event | str]:
        self.asked.append((mistake, client))
        for event in self.events:
            if isinstance(event, BusyError):
                raise event
            yield event


SIDE = {"numbers": {"loss": 1.0}, "text": "a", "attention": None}
SYMPTOM = {"event": "symptom", "sentence": "s", "wanted": "w", "head": 0, "right": SIDE, "wrong": SIDE}


def progress(side: str, *points: tuple[int, float]) -> str:
    return json.dumps({"event": "progress", "side": side, "steps": 2, "points": points}) + "\n"


def test_a_mistake_of_training_is_trained_in_the_queue_of_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [progress("wrong", (1, 3.0)), progress("wrong", (2, 2.5)), progress("right", (1, 2.0))]
    shop = Busy({"event": "waiting", "place": 1}, {"event": "run", "run": "x"}, *told, json.dumps(SYMPTOM) + "\n")
    monkeypatch.setattr(mistakes, "training_queue", lambda: shop)
    answer = called(mistakes.spot_the_bug("causal_mask"))
    assert (answer["kind"], answer["checkpoint"], answer["sentence"]) == ("training", None, "s")
    assert (answer["wrong"]["losses"], answer["right"]["losses"]) == ([3.0, 2.5], [2.0])
    ((name, client),) = shop.asked
    assert (name, client.session) == ("causal_mask", "")  # no call is refused because another trains


DIED = {"event": "error", "message": Message("train.died").for_page()}


@pytest.mark.parametrize(
    ("event", "refusal"),
    [(BusyError("train.crowded"), "Too many visitors"), (DIED, "unexpectedly"), (None, "going down")],
)
def test_what_the_training_queue_refuses(event: Any, refusal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mistakes, "training_queue", lambda: Busy(*filter(None, [event])))
    with pytest.raises(gr.Error, match=refusal):
        called(mistakes.spot_the_bug("rank_collapse"))
