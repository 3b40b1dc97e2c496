"""A public server: restarts, health, logs, hostile requests, tools, load. A load balancer is in
tests/web/server/test_proxy.py."""

import asyncio
import itertools
import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from transformer.web.api.table import ACTIONS, QUESTIONS
from transformer.web.server.files import ROUTES

from ..benchmarks.load import Record, hear
from ..visitors import Connection, Question, Visitor, ask, right, sentences, train
from ..web.loop import in_a_loop
from .catalogue import t
from .conftest import BIER, Server, post, visiting
from .wire import action

JSON = {"Content-Type": "application/json"}
COLA = "ich mochte ein cola"
SECRET = "Zwiebelkuchengeheimnis"  # a word that no model knows, no code has, and no log may contain

VISITORS, CLICKS = 10, 5  # of each, beside two translations
# Trainings of their own for some seconds, in `make load` and in test_mistakes.py; what only models of the Hub need; a
# class (tests/web/server/test_proxy.py); and what a browser alone loads.
CLASS = {"open_class", "follow_class", "vote", "lead_class"}
APART = {f"POST /api/{name}" for name in CLASS | {"train_mistake", "load_model", "starters"}} | {"GET /dist/{name}"}
FIELDS = ("checkpoint", "sentence", "changes", "code", "student", "do", "name", "pairs", "rows", "run")  # of questions
# Of a line of the log; the last where a fast machine writes more lines in a second than the log takes.
LOGGED = {"time", "level", "action", "checkpoint", "characters", "ms", "outcome", "left_out"}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The replica's."""
    return tmp_path_factory.mktemp("replicas") / "log"


@pytest.fixture(scope="module")
def replica(log: Path) -> Iterator[Server]:
    """Beside the server of all tests, which is another."""
    with Server(log=log, TRANSFORMER_LOG="json", TRANSFORMER_MCP="1") as server:
        yield server


# Tools, logs


def mcp(url: str, method: str, **params: Any) -> dict[str, Any]:
    question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = post(url, "gradio_api/mcp/", question, Accept="application/json, text/event-stream")
    assert answer.status_code == 200
    (event,) = re.findall("^data: (.*)$", answer.text, re.M)
    result: dict[str, Any] = json.loads(event)["result"]
    return result


def test_language_models_have_every_action_as_a_tool(replica: Server, url: str) -> None:
    """Each call may come to another replica: it names no session."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    assert mcp(replica.url, "initialize", **hello)["serverInfo"]["name"] == "Attention, bitte"
    tools = {each["name"]: each for each in mcp(replica.url, "tools/list")["tools"]}
    assert tools.keys() == {action.__name__ for action in ACTIONS}
    assert all(each["description"] and each["inputSchema"]["properties"] for each in tools.values())
    for sentence, failed, said in ((BIER, False, "i want a beer ."), (SECRET, True, "does not know")):
        answer = mcp(replica.url, "tools/call", name="translate", arguments={"sentence": sentence})
        (content,) = answer["content"]
        assert (answer["isError"], said in content["text"]) == (failed, True)
    off = post(url, "gradio_api/mcp/", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert off.status_code in (404, 405)


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def test_the_log_has_no_word_of_a_visitor(replica: Server, log: Path) -> None:
    """What a line has for each action is tested in tests/web/server/test_page_routes.py."""
    begun = len(lines(log))
    # Everything that a page or a program can ask, of a sentence and a session that no log may name; and nonsense.
    visitor = Visitor(0, (SECRET,))
    visitor.session = visitor.sentence = SECRET
    asked = [ask() for ask in visitor.others().values()]
    asked += [Question("", f"api/{name}", json.dumps(dict.fromkeys(FIELDS, SECRET)).encode()) for name in QUESTIONS]
    for path in ("api/translate", action("translate"), action(SECRET)):  # all are read alike
        for nonsense in (SECRET, [SECRET], {SECRET: SECRET}, "\ud800" + SECRET, {"data": [SECRET]}):
            asked.append(Question("", path, json.dumps(nonsense).encode()))
    asked += [Question("", path.format(SECRET)) for path in ("{}", "models/own-{}", "?sentence={}", "health?{}")]
    asked.append(Question("", "models", SECRET.encode() * 9, headers={"Session": SECRET}))
    headers = {"X-Forwarded-For": SECRET, "Cookie": f"a={SECRET}"}
    with httpx.Client(base_url=replica.url, headers=headers, timeout=60, trust_env=False) as client:
        for each in asked:
            body = json.dumps(each.body).encode() if isinstance(each.body, dict) else each.body
            client.request(each.verb, each.path, content=body, headers=JSON | each.headers)
    with socket.create_connection(("127.0.0.1", replica.port)) as plain:  # what is not HTTP
        plain.sendall(f"{SECRET} {SECRET}\r\n\r\n".encode())
        plain.recv(1000)

    logged = lines(log)
    assert [line for line in logged if not line.keys() <= LOGGED] == []  # none of them is of a fault
    assert len(logged) > begun + 30  # calls that nobody reads compute nothing, and have no line
    text = log.read_text().replace(replica.url.rstrip("/"), "")
    for part in (SECRET, SECRET.lower(), "127.0.0.1:5", "Traceback", BIER):
        assert part not in text


# Load


async def clicks(visitor: Visitor, record: Record, port: int, places: Iterator[int]) -> None:
    async with Connection(port) as connection:

        async def send(question: Question) -> Any:
            return await record.ask(connection, question)

        if visitor.rng.random() < 0.5:
            await send(visitor.choose())
        await send(visitor.translate())
        names = visitor.names()
        for _ in range(CLICKS):
            await visitor.do(names[next(places) % len(names)], send)
        await send(visitor.translate())


async def a_class(port: int) -> Record:
    record, known, places = Record(), sentences(20), itertools.count()
    visitors = [Visitor(seed, known) for seed in range(VISITORS)]
    await asyncio.gather(*(clicks(visitor, record, port, places) for visitor in visitors))
    swept = {"checkpoint": "toy", "sentence": BIER, "what": "sweep"}
    await hear(port, record, ask("heads one by one", "head_events", "me", **swept), {"swept"})
    await hear(port, record, train("trainer", 1000, "toy"), {"ended by stop", "trained"})  # a process waits for it
    return record


def reachable() -> set[str]:
    """All of the server that a page or a program can ask (see Question.reaches)."""
    own = {f"{method} {route.path}" for route in ROUTES for method in (route.methods or set()) - {"HEAD"}}
    asked = {f"POST /api/{name}" for name in QUESTIONS}
    return own | asked | {f"POST /gradio_api/run/{action.__name__}" for action in ACTIONS}


def test_a_class_gets_right_answers_and_nobody_gets_anothers(replica: Server) -> None:
    """They click through the whole page at once; how fast that is, `make load` tells."""
    record = in_a_loop(a_class(replica.port))
    assert record.errors == {}
    assert record.refused == {}
    assert reachable() - record.reached == APART
    assert sum(map(len, record.took.values())) >= VISITORS * (CLICKS + 2)
    with ThreadPoolExecutor(1) as own:  # what is computed here may want a loop, and Playwright may have one
        checks = own.map(lambda asked: right(*asked), record.answers.values())
        wrong = [question for (question, _), ok in zip(record.answers.values(), checks, strict=True) if not ok]
    assert wrong == []


# A restart, which comes last


def test_a_page_finds_a_server_again_after_its_restart(replica: Server, browser: Browser) -> None:
    """Whether nothing answers at its address, or a load balancer does, with an error."""
    with visiting(browser, replica.url) as one, visiting(browser, replica.url) as other:
        for each in (one, other):
            each.open("?tab=attention&kind=decoder&layer=4&head=7&drawing=table&step=6")
            expect(each.step_slider).to_have_value("6")
            each.settle()  # what is on its way from a server dies with it
        replica.kill()
        one.page.route("**", lambda route: route.fulfill(status=502))
        other.tab("inside")
        expect(other.page.get_by_text(t("positions.failed")).first).to_be_visible()
        other.page.wait_for_url("**tab=inside**")
        for each in (one, other):
            each.type(COLA)
            expect(each.message).to_contain_text(t("error.no_answer"))
            each.page.wait_for_url("**cola**")  # so that it is asked for once more
        replica.start()
        replica.wait()
        one.page.unroute_all()
        for each, tab in ((one, "attention"), (other, "inside")):
            expect(each.words.nth(3)).to_have_text("coke")  # without a reload by hand
            for part in (f"tab={tab}", "kind=decoder", "layer=4", "head=7", "step=6", "cola"):
                each.page.wait_for_url(f"**{part}**")
            each.ask(BIER)
            expect(each.translation).to_have_text("i want a beer . E")
        other.page.locator("#inside .cell").first.wait_for()
