"""A line per action, in JSON or not at all; what a visitor wrote is in none."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from transformer.web import access_log
from transformer.web.access_log import LOG, RateLimit
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX
from transformer.web.sessions.models import logged_name
from transformer.web.settings import Settings

SECRET = "geheim"


class Lines:
    """What was logged so far."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    @property
    def last(self) -> dict[str, Any]:
        found: dict[str, Any] = self._caplog.records[-1].__dict__["logged"]
        return found


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[Lines]:
    with caplog.at_level(logging.INFO, LOG.name):
        yield Lines(caplog)


@pytest.mark.parametrize("log", ["json", ""])
def test_lines_are_json_or_not_written(
    log: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before = LOG.handlers, LOG.level, LOG.propagate
    monkeypatch.setattr(access_log, "LIBRARIES", ())
    monkeypatch.setattr(LOG, "filters", [])
    monkeypatch.setattr(access_log, "settings", lambda: Settings(log=log))
    try:
        access_log.start()
        access_log.action("translate", 0.0, "ok", checkpoint="toy", characters=19)
    finally:
        LOG.handlers, LOG.level, LOG.propagate = before
    out, err = capfd.readouterr()
    assert out == ""
    names = ["time", "level", "action", "checkpoint", "characters", "ms", "outcome"]
    assert [list(json.loads(line)) for line in err.splitlines()] == [names] * bool(log)


@pytest.mark.parametrize(
    ("checkpoint", "named"),
    [("toy", "toy"), (f"{OWN_MODEL_PREFIX}{SECRET}", "own"), (SECRET, None), (5, None), (["toy"], None)],
)
def test_only_shipped_checkpoints_are_named(checkpoint: Any, named: str | None) -> None:
    assert logged_name(checkpoint) == named


def test_a_fault_has_its_type_and_where_but_not_its_message(lines: Lines, caplog: pytest.LogCaptureFixture) -> None:
    try:
        {}[SECRET]
    except KeyError as error:
        access_log.fault("action", error)
    assert lines.last["error"] == "KeyError"
    assert lines.last["where"][0].startswith("test_access_log.py:")
    assert SECRET not in caplog.text


def test_a_second_has_a_bounded_number_of_lines() -> None:
    now = 0.0
    limit = RateLimit(logging.INFO, 3, clock=lambda: now)

    def passed(level: int = logging.INFO) -> bool | str:
        record = logging.LogRecord("x", level, "", 0, "line", (), None)
        return limit.filter(record) and record.msg

    assert [passed() for _ in range(10)] == ["line"] * 3 + [False] * 7
    assert passed(logging.DEBUG) == "line"
    now = 1.0
    assert [passed() for _ in range(4)] == ["line (7 lines before it were left out)", "line", "line", False]
