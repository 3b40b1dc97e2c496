"""No line quotes an error, and a flood of lines is bounded. What a server writes is in browser/test_hosting.py."""

import logging

import pytest

from transformer.web import access_log
from transformer.web.access_log import LOG, RateLimit

SECRET = "geheim"


def test_a_fault_has_its_type_and_where_but_not_its_message(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, LOG.name):
        try:
            {}[SECRET]
        except KeyError as error:
            access_log.fault("action", error)
    logged = caplog.records[-1].__dict__["logged"]
    assert logged["error"] == "KeyError"
    assert logged["where"][0].startswith("test_access_log.py:")
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
