"""The README's nginx before two real replicas: who comes to which, what is refused, and a class on both."""

import http.client
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from ...browser.conftest import Server
from ...models import as_file, packed
from ..nginx import MISSING, PRINTED, PROGRAM, nginx_before

pytestmark = pytest.mark.slow

# Each test has an address of its own, as the limits count.
STICKY, CLASS, FORGED, FLOOD, HONEST = (f"127.0.0.{n}" for n in range(11, 16))
PAGE_FILES = 40  # requests of one page that loads
BURST = int(re.search(r"burst=(\d+)", PRINTED)[1])


@dataclass
class Site:
    url: str
    servers: list[Server]

    @property
    def port(self) -> int:
        return int(httpx.URL(self.url).port or 0)

    def visitor(self, address: str) -> httpx.Client:
        """Somebody with a browser, and so with cookies."""
        transport = httpx.HTTPTransport(local_address=address, verify=False)  # to read certificates takes longest
        client = httpx.Client(base_url=self.url, timeout=120, trust_env=False, transport=transport)
        client.get("health")  # brings the cookie
        return client


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if not PROGRAM:
        pytest.skip(MISSING)
    servers = [Server(TRANSFORMER_PROXIES="1") for _ in range(2)]
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
        # A slow machine could not send more than 400 requests a second.
        changed = {"rate=400r/s": "rate=1r/s"}
        port = stack.enter_context(nginx_before(servers, tmp_path_factory.mktemp("nginx"), changed))
        yield Site(f"http://127.0.0.1:{port}/", servers)


def uploaded(visitor: httpx.Client) -> str:
    """The path of a model of their own, which is on one replica only."""
    answer = visitor.post("models", content=as_file(packed()), headers={"Session": "me"}).json()
    return f"models/{answer['model']['checkpoint']}"


def test_a_visitor_stays_on_a_replica(site: Site) -> None:
    visitor = site.visitor(STICKY)
    path = uploaded(visitor)
    assert {visitor.get(path).status_code for _ in range(20)} == {200}
    assert sorted(httpx.get(server.url + path, trust_env=False).status_code for server in site.servers) == [200, 404]
    others = {site.visitor(STICKY).get(path).status_code for _ in range(20)}
    assert others == {200, 404}


def test_a_class_has_its_teacher_and_its_phones_on_different_replicas(site: Site) -> None:
    teacher = site.visitor(CLASS)
    path = uploaded(teacher)
    phones = [site.visitor(CLASS) for _ in range(30)]
    elsewhere = [n for n, phone in enumerate(phones) if phone.get(path).status_code == 404]
    assert 0 < len(elsewhere) < 30
    opened = teacher.post("api/open_class", json={"page": "http://page.example/"}).json()
    code, secret = {"code": opened["code"]}, {"secret": opened["secret"]}
    with ExitStack() as streams:

        def heard(client: httpx.Client, who: dict[str, str]) -> Iterator[dict[str, Any]]:
            answer = streams.enter_context(client.stream("POST", "api/follow_class", json=code | who))
            assert answer.status_code == 200
            events = (json.loads(line) for line in answer.iter_lines())
            return (event for event in events if event["event"] == "class")

        projector = heard(teacher, secret)
        seen = [heard(phone, {"student": f"{n}"}) for n, phone in enumerate(phones)]
        for phone, each in zip(phones, seen, strict=True):
            phone.cookies.clear()
            phone.cookies.set("replica", next(each)["replica"])  # as the page does it
        ask = {"do": "ask", "about": "stop.1", "choices": ["a", "b"]}
        assert teacher.post("api/lead_class", json=code | secret | ask).status_code == 200
        for n, each in enumerate(seen):
            while (question := next(each)["question"]) is None:
                pass
            vote = {"student": f"{n}", "question": question["id"], "round": 0, "choice": n % 2}
            # Without the cookies of the class every request may come to any replica.
            answer = httpx.post(f"{site.url}api/vote", json=code | vote, timeout=60, trust_env=False, verify=False)
            assert answer.status_code == 200
        while not (shown := next(projector)["question"]) or shown["answered"] < len(phones):
            pass
        assert {phones[n].get(path).status_code for n in elsewhere} == {200}  # now they are where their teacher is


def test_an_address_cannot_be_forged(site: Site) -> None:
    visitor = site.visitor(FORGED)

    def opens(visitor: httpx.Client, **headers: str) -> bool:
        return "code" in visitor.post("api/open_class", json={"page": "http://x/"}, headers=headers).json()

    assert [opens(visitor, **{"X-Forwarded-For": f"192.0.2.{n}"}) for n in range(11)] == [True] * 10 + [False]
    assert opens(site.visitor(HONEST))


def test_thirty_pages_may_load_at_once_but_an_address_may_not_ask_for_ever(site: Site) -> None:
    def ask(count: int) -> list[int]:
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=300, source_address=(FLOOD, 0))
        statuses = []
        for _ in range(count):
            connection.request("GET", "/health")
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
        connection.close()
        return statuses

    with ThreadPoolExecutor(30) as pages:
        assert {status for loaded in pages.map(ask, [PAGE_FILES] * 30) for status in loaded} == {200}
        rest = [status for more in pages.map(ask, [(BURST - 30 * PAGE_FILES) // 30 + 10] * 30) for status in more]
    assert set(rest) == {200, 429}
    assert site.visitor(HONEST).get("health").status_code == 200


def test_a_visitor_and_a_class_go_on_when_a_replica_is_killed(site: Site) -> None:
    visitors = [site.visitor(HONEST) for _ in range(10)]
    on_the_first = httpx.Client(base_url=site.servers[0].url, timeout=120, trust_env=False)
    opened = on_the_first.post("api/open_class", json={"page": "http://x/"}).json()
    lead = {"code": opened["code"], "secret": opened["secret"]}
    assert on_the_first.post("api/lead_class", json=lead | {"do": "show", "place": "?tab=lesson"}).json() is None
    site.servers[0].kill()  # at once after its last answer
    for visitor in visitors:
        assert visitor.get("health").status_code == 200
    with visitors[0].stream("POST", "api/follow_class", json=lead) as events:
        assert json.loads(next(events.iter_lines()))["place"] == "?tab=lesson"


def test_a_class_goes_on_when_all_replicas_were_restarted(site: Site) -> None:
    teacher = site.visitor(HONEST)
    opened = teacher.post("api/open_class", json={"page": "http://x/"}).json()
    code, secret = {"code": opened["code"]}, {"secret": opened["secret"]}
    for server in site.servers:
        server.kill()
    assert teacher.get("health").status_code == 502
    for server in site.servers:
        server.start()
    for server in site.servers:
        server.wait()
    with ExitStack() as streams:
        for student in "ab":
            events = streams.enter_context(teacher.stream("POST", "api/follow_class", json=code | {"student": student}))
            assert events.status_code == 200
        show = code | secret | {"do": "show", "place": "?tab=lesson"}
        assert teacher.post("api/lead_class", json=show).status_code == 200
