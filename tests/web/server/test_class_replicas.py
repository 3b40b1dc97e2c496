"""Classes on real servers: one on two replicas, and one that is killed and starts again in the middle of a class."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from ...browser.conftest import Server, post
from ..redis import real_redis

pytestmark = pytest.mark.slow


class Guest:
    """A page that follows a class."""

    def __init__(self, url: str, code: str, **who: str) -> None:
        self._url = url + "api/follow_class"
        self._who = {"code": code, **who}
        self.seen: dict[str, Any] = {}

    @contextmanager
    def connected(self, **headers: str) -> Iterator[Iterator[dict[str, Any]]]:
        """Its events, of which the first has been read into `seen`."""
        with httpx.stream("POST", self._url, json=self._who, headers=headers, timeout=60, trust_env=False) as answer:
            assert answer.status_code == 200
            lines = (json.loads(line) for line in answer.iter_lines())
            events = (event for event in lines if event["event"] != "beat")
            self.seen = next(events)
            yield events

    def look(self) -> dict[str, Any]:
        with self.connected():
            return self.seen


@pytest.fixture(params=["sqlite", "redis"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with ExitStack() as stack:
        yield stack.enter_context(real_redis(tmp_path)) if request.param == "redis" else str(tmp_path)


def test_a_class_is_on_two_replicas_and_survives_their_end(where: str) -> None:
    servers = [Server(TRANSFORMER_CLASSES=where) for _ in range(2)]
    try:
        for server in servers:
            server.wait()
        one, two = (server.url for server in servers)
        opened = post(one, "api/open_class", {"page": one}).json()
        code, secret = opened["code"], {"code": opened["code"], "secret": opened["secret"]}
        teacher = Guest(one, **secret)
        students = [Guest(two, code, student=f"student {n}") for n in range(30)]
        with ExitStack() as streams:
            heard = streams.enter_context(teacher.connected())
            pages = [streams.enter_context(each.connected()) for each in students]
            while (seen := next(heard))["students"] < len(students):
                pass
            ask = {"do": "ask", "about": "stop.1", "choices": ["a", "b"]}
            assert post(one, "api/lead_class", secret | ask).status_code == 200
            assert next(pages[0])["question"]["state"] == "open"
            for n in range(len(students)):
                vote = {"code": code, "student": f"student {n}", "question": 1, "round": 0, "choice": n % 2}
                assert post((one, two)[n % 3 == 0], "api/vote", vote).status_code == 200
            for server in servers:
                server.kill()  # at once after the last vote was answered
        servers[1].start()
        servers[1].wait()
        seen = Guest(two, **secret).look()
        assert seen["question"]["answered"] == len(students)
        assert students[3].look()["question"]["mine"] == [1]
        change = {"code": code, "student": "student 3", "question": 1, "round": 0, "choice": 0}
        assert post(two, "api/vote", change).status_code == 200
        assert post(two, "api/lead_class", secret | {"do": "reveal", "right": 0}).status_code == 200
        assert students[3].look()["question"]["tallies"] == [{"votes": [16, 14], "answered": 30}]
    finally:
        for server in servers:
            server.end()
