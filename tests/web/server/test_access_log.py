"""A line an action, in JSON or not at all; what a visitor wrote is in none."""

import asyncio
import json
import logging
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gradio as gr
import pytest

from transformer.web.api import lesson
from transformer.web.api import runs as handlers
from transformer.web.server import access_log as log
from transformer.web.server.gradio_internals import Blocks
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[dict[str, Any]]]:
    """What was told so far."""
    with caplog.at_level(logging.INFO, log.LOG.name):
        yield Told(caplog)


class Told(list):
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def __getitem__(self, at: Any) -> Any:
        return [record.told for record in self._caplog.records][at]


def awaited(doing: Coroutine) -> Any:
    """In a thread of its own: this one may have the loop of a browser."""
    with ThreadPoolExecutor(1) as own:
        return own.submit(asyncio.run, doing).result()


@pytest.fixture
def _as_it_was() -> Iterator[None]:
    before = log.LOG.handlers, log.LOG.level, log.LOG.propagate
    yield
    log.LOG.handlers, log.LOG.level, log.LOG.propagate = before


@pytest.mark.usefixtures("_as_it_was")
def test_lines_are_json_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(log.ENVIRONMENT, "json")
    log.start()
    log.logged(handlers.translate)("Ich möchte ein Bier", "toy")
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = (json.loads(line) for line in err.splitlines())
    assert list(line) == ["time", "level", "action", "checkpoint", "characters", "ms", "outcome"]


@pytest.mark.usefixtures("_as_it_was")
def test_actions_are_not_told_where_it_is_not(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(log.ENVIRONMENT, raising=False)
    log.start()
    log.logged(handlers.translate)("Ich möchte ein Bier", "toy")
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv(log.ENVIRONMENT, "xml")
    with pytest.raises(ValueError, match="TRANSFORMER_LOG='xml' is no kind of log"):
        log.start()


@pytest.mark.parametrize(
    ("checkpoint", "said"),
    [
        ("toy", "toy"),
        ("classroom", "classroom"),
        (f"{OWN_MODEL_PREFIX}geheim", "own"),
        ("geheim", None),
        (5, None),
        (["toy"], None),
    ],
)
def test_only_shipped_checkpoints_are_named(lines: Any, checkpoint: Any, said: str | None) -> None:
    log.logged(lesson.shapes)({"checkpoint": checkpoint, "sentence": "ich"})
    assert lines[-1]["checkpoint"] == said
    assert lines[-1]["characters"] == 3
    assert "geheim" not in json.dumps(lines[-1])


def test_an_outcome_is_a_key_where_there_is_one(lines: Any) -> None:
    ask = log.logged(handlers.show)
    assert ask("ich mochte ein cola")["run"]["sentence"] == "ich mochte ein cola"
    assert lines[-1]["outcome"] == "ok"
    ask("geheim")
    assert lines[-1]["outcome"] == "error.unknown"
    log.logged(lesson.inside)("geheim")
    assert (lines[-1]["outcome"], lines[-1]["checkpoint"]) == ("refused", None)
    with pytest.raises(gr.Error):
        log.logged(handlers.translate)("geheim")
    assert lines[-1]["outcome"] == "error.unknown"


def test_what_is_waited_for_is_noted_when_it_has_ended(lines: Any) -> None:
    @log.logged
    async def action(sentence: str) -> dict[str, Any]:
        if not sentence:
            raise KeyError("geheim")
        return {"error": None}

    awaited(action("da"))
    assert (lines[-1]["action"], lines[-1]["characters"], lines[-1]["outcome"]) == ("action", 2, "ok")
    with pytest.raises(KeyError):
        awaited(action(""))
    assert lines[-1]["outcome"] == "fault"


def test_a_fault_tells_its_type_and_where_but_not_what(lines: Any, caplog: pytest.LogCaptureFixture) -> None:
    try:
        {}["geheim"]
    except KeyError as error:
        log.fault("action", error)
    assert lines[-1]["error"] == "KeyError"
    assert lines[-1]["where"][0].startswith("test_log.py:")
    assert "geheim" not in caplog.text


def test_gradio_prints_no_error_and_the_visitor_hears_of_ours(capfd: pytest.CaptureFixture[str]) -> None:
    def broken(_: str) -> None:
        raise KeyError("geheim")

    def refused(_: str) -> None:
        raise gr.Error("geheim")

    with Blocks() as page:
        box = gr.Textbox()
        for handler in (broken, refused):
            box.change(handler, box)
    with pytest.raises(gr.Error, match=r"made a mistake. It is in the server's log\.") as error:
        awaited(page.process_api(page.fns[0], ["geheim"]))
    assert not error.value.print_exception
    with pytest.raises(gr.Error, match="geheim") as error:
        awaited(page.process_api(page.fns[1], ["geheim"]))
    assert not error.value.print_exception
    with pytest.raises(gr.Error, match="takes 1 values, and 0 came"):
        awaited(page.process_api(page.fns[1], []))
    assert "geheim" not in "".join(capfd.readouterr())
