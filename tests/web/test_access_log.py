"""A flood of lines is bounded. What a server writes is in browser/test_hosting.py."""

import logging

from transformer.web.access_log import RateLimit


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
