"""A public server: many replicas behind a load balancer, restarts, health, logs, hostile requests, tools, a Space."""

import http.client
import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from transformer import Translator
from transformer.storage.portable import save_portable
from transformer.web.schema import MAX_VALUES
from transformer.web.server.request_limits import MAX_BODY

from ..models import packed
from .conftest import LAPTOP, PATIENCE, ROOT, Server, Visit, until
from .proxy import Proxy

JSON = {"Content-Type": "application/json"}
BEER, COLA = "Ich möchte ein Bier", "ich mochte ein cola"
SECRET = "Zwiebelkuchengeheimnis"  # a word that no model knows, no code has, and no log may say


class Replicas:
    def __init__(self, folder: Path) -> None:
        self.logs = [folder / "0.log", folder / "1.log"]
        on = {"TRANSFORMER_LOG": "json", "TRANSFORMER_MCP": "1"}
        self.servers = [Server(log=log, **on) for log in self.logs]
        for server in self.servers:
            server.wait()
        self.proxy = Proxy([server.url for server in self.servers])

    def log(self, number: int = 0) -> str:
        return self.logs[number].read_text()

    def lines(self, number: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log(number).splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    replicas = Replicas(tmp_path_factory.mktemp("replicas"))
    yield replicas
    replicas.proxy.close()
    for server in replicas.servers:
        server.end()


@pytest.fixture
def visit_at(browser: Browser) -> Iterator[Callable[[str], Visit]]:
    """A visitor of any address. What a server that is down makes Chromium say is no fault of the page."""
    visits: list[Visit] = []

    def at(url: str) -> Visit:
        context = browser.new_context(**LAPTOP)
        context.set_default_timeout(PATIENCE)
        visits.append(Visit(context.new_page(), url))
        return visits[-1]

    yield at
    for visit in visits:
        visit.page.context.close()
        assert visit.faults == []


def post(url: str, path: str, body: Any, **headers: str) -> httpx.Response:
    return httpx.post(url + path, json=body, headers=headers, timeout=60, trust_env=False)


def translation(page: Page) -> str:
    return " ".join(page.locator("#translation button").all_inner_texts())


# Many replicas


def test_any_replica_answers_any_click(replicas: Replicas, visit_at: Callable[[str], Visit]) -> None:
    visit = visit_at(replicas.proxy.url)
    page = visit.open()
    begun = len(replicas.proxy.seen)
    for sentence, said in ((COLA, "i want a coke . E"), (BEER, "i want a beer . E")) * 2:
        visit.ask(sentence)
        expect(page.locator("#translation")).to_have_text(" ".join(said.split()))
    for tab in ("inside", "positions", "break", "attention"):
        visit.tab(tab)
        visit.settle()
    posts = [(path, number) for method, path, number in replicas.proxy.seen[begun:] if method == "POST"]
    clicks = [number for path, number in posts if path.startswith("/gradio_api/run/")]
    served = [number for path, number in posts if path.startswith("/gradio_api/component_server")]
    assert len(clicks) == 4
    assert set(clicks + served) == {0, 1}
    assert not [path for path, _ in posts if "queue" in path]  # there is nothing to be remembered between two requests


@pytest.mark.parametrize(
    ("action", "values"),
    [
        ("translate", [BEER, "toy"]),
        ("what_if", [BEER, [{"do": "silence", "kind": "cross", "layer": 2, "head": 5}], "toy"]),
        ("sample", [BEER, 2.0, 0, 1.0, 7, "toy"]),
        ("beam_search", ["Das Kind schläft", 3, 1.0, "classroom"]),
    ],
)
def test_all_replicas_answer_alike(replicas: Replicas, action: str, values: list[Any]) -> None:
    one, two = (post(server.url, f"gradio_api/run/{action}", {"data": values}).json() for server in replicas.servers)
    assert one["data"] == two["data"]


def test_a_link_restores_the_run_on_another_replica(replicas: Replicas, visit_at: Callable[[str], Visit]) -> None:
    here, there = (visit_at(server.url) for server in replicas.servers)
    page = here.open("?tab=attention&kind=decoder&layer=4&head=7&drawing=table")
    here.ask(COLA)
    page.keyboard.press("End")
    page.wait_for_function("location.search.includes('step=6')")
    link = page.evaluate("location.search")
    other = there.open(link)
    other.wait_for_function("link => location.search === link", arg=link)
    expect(other.locator("#translation")).to_have_text("i want a coke . E")
    assert there.step == here.step == 5


def test_a_visits_own_model_stays_on_its_replica(replicas: Replicas, tmp_path: Path) -> None:
    save_portable(packed(), tmp_path / "mine")
    file = (tmp_path / "mine").read_bytes()
    one, two = (server.url for server in replicas.servers)
    key = httpx.post(f"{one}models?visit=me", content=file, trust_env=False).json()["model"]["checkpoint"]
    asked = {"data": ["wort1 wort2", key]}
    assert "data" in post(one, "gradio_api/run/translate", asked).json()
    assert "kept for one visit only" in post(two, "gradio_api/run/translate", asked).json()["error"]
    replicas.proxy.sticky = True
    try:
        with httpx.Client(base_url=replicas.proxy.url, trust_env=False) as visitor:
            visitor.get("health")  # who comes gets a cookie
            begun = len(replicas.proxy.seen)
            key = visitor.post("models?visit=me", content=file).json()["model"]["checkpoint"]
            for _ in range(3):
                answer = visitor.post("gradio_api/run/translate", json={"data": ["wort1 wort2", key]}).json()
                assert answer["data"][0]["source"][:2] == ["wort1", "wort2"]
            assert visitor.get(f"models/{key}").content == file
            assert len({number for _, _, number in replicas.proxy.seen[begun:]}) == 1
    finally:
        replicas.proxy.sticky = False


# Health, logs, tools


def test_health_is_told_in_one_cheap_answer(replicas: Replicas) -> None:
    for server in replicas.servers:
        answer = httpx.get(f"{server.url}health", trust_env=False)
        assert answer.status_code == 200
        told = answer.json()
        assert set(told.pop("line")) == {"working", "waiting"}  # a page may still be asking
        assert told == {
            "status": "ok",
            "device": "cpu",
            "checkpoints": ["classroom", "toy"],
            "training": {"running": 0, "waiting": 0},
        }


def mcp(url: str, method: str, **params: Any) -> dict[str, Any]:
    question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = post(url, "gradio_api/mcp/", question, Accept="application/json, text/event-stream")
    assert answer.status_code == 200
    return answer.json()["result"]


def tool(url: str, name: str, **arguments: Any) -> tuple[bool, Any]:
    answer = mcp(url, "tools/call", name=name, arguments=arguments)
    (content,) = answer["content"]
    return answer["isError"], content["text"] if answer["isError"] else json.loads(content["text"])


def test_the_tools_of_a_language_model_are_three(replicas: Replicas) -> None:
    url = replicas.proxy.url  # each call may come to another replica
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    assert mcp(url, "initialize", **hello)["serverInfo"]["name"] == "Attention, bitte"
    tools = {each["name"]: each for each in mcp(url, "tools/list")["tools"]}
    assert set(tools) == {"translate", "attention", "positions"}
    for each in tools.values():
        assert "Args:" in each["description"]
        assert "Returns:" in each["description"]
        for argument in each["inputSchema"]["properties"]:
            assert f"    {argument}:" in each["description"]

    run = Translator.load("toy", device="cpu").translate(BEER)
    failed, answer = tool(url, "translate", sentence=BEER)
    assert not failed
    assert (answer["text"], answer["output"]) == (run.text, list(run.output))
    assert "attention" not in answer
    failed, answer = tool(url, "attention", sentence=BEER, kind="cross", layer=1, head=5)
    assert not failed
    assert answer["key_tokens"] == list(run.source)
    weights = run.attention.cross[1].weights[5]
    assert answer["weights"] == [pytest.approx(row, abs=1e-4) for row in weights.tolist()]
    failed, answer = tool(url, "positions", length=3, d_model=4)
    assert not failed
    assert answer["values"][0] == [0, 1, 0, 1]
    assert len(answer["values"]) == 3


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("translate", {"sentence": SECRET}, "I don't know"),
        ("translate", {"sentence": BEER, "checkpoint": "../toy"}, "no such checkpoint"),
        ("translate", {"sentence": ["ich"]}, "string"),
        ("attention", {"sentence": BEER, "layer": 6}, "layer is from 0 to 5"),
        ("attention", {"sentence": BEER, "head": -1}, "head from 0 to 7"),
        ("attention", {"sentence": BEER, "kind": SECRET}, "encoder, decoder or cross"),
        ("positions", {"length": MAX_VALUES, "d_model": 2}, "at most"),
        ("positions", {"length": 0}, "whole number"),
        ("positions", {"d_model": 7}, "even"),
        ("spot_the_bug", {"sentence": BEER}, "Unknown tool"),
        ("sample", {}, "Unknown tool"),
    ],
)
def test_a_tool_refuses_in_a_sentence(replicas: Replicas, name: str, arguments: dict[str, Any], said: str) -> None:
    failed, answer = tool(replicas.servers[0].url, name, **arguments)
    assert failed
    assert said in answer


def test_without_the_variable_there_are_no_tools(url: str) -> None:
    question = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert post(url, "gradio_api/mcp/", question).status_code in (404, 405)


def test_the_log_has_a_line_for_each_action_and_no_word_of_a_visitor(replicas: Replicas) -> None:
    server = replicas.servers[0]
    begun = len(replicas.lines())
    post(server.url, "gradio_api/run/translate", {"data": [BEER, "toy"]})
    post(server.url, "gradio_api/run/translate", {"data": [f"ich {SECRET}", "classroom"]})
    visit = f"visit-{SECRET}"
    post(server.url, "train", {"visit": visit, "name": SECRET, "corpus": SECRET})
    until(lambda: len(replicas.lines()) == begun + 3)  # a line is written when its answer is out
    one, two, three = replicas.lines()[begun:]
    assert datetime.fromisoformat(one.pop("time")).utcoffset() == timedelta(0)
    assert one.pop("ms") > 0
    assert one == {"level": "info", "action": "translate", "checkpoint": "toy", "characters": 19, "outcome": "ok"}
    assert (two["checkpoint"], two["outcome"]) == ("classroom", "error.unknown")
    assert (three["action"], three["status"]) == ("train", 400)
    assert three["received"] > 100 < three["sent"] + 100

    evil = [SECRET, [SECRET], {SECRET: SECRET}, None, 5, True, f"{SECRET}\n{SECRET}", "\ud800" + SECRET]
    names = ["translate", "attention", "what_if", "sample", "spot_the_bug", SECRET, "ask", "example", "predict"]
    with httpx.Client(base_url=server.url, trust_env=False) as visitor:
        for name in names:
            for value in evil:
                for data in ([value], [value] * 2, [value] * 6, value):
                    text = json.dumps({"data": data, "session_hash": SECRET, "event_data": {"sentence": value}})
                    visitor.post(f"gradio_api/run/{name}", content=text, headers=JSON)
        for number in range(12):  # events by their number, as the page asks
            for value in evil[:3]:
                question = {
                    "data": [],
                    "fn_index": number,
                    "trigger_id": 5,
                    "session_hash": SECRET,
                    "event_data": value,
                }
                visitor.post("gradio_api/run/predict", json=question)
                visitor.post("gradio_api/queue/join", json=question)
        for component in range(40):
            question = {
                "component_id": component,
                "session_hash": SECRET,
                "data": {"checkpoint": SECRET, "sentence": SECRET},
            }
            for function in ("inside", "heads", "sweep", "plan", "pairs", "mistake", "beam", SECRET):
                visitor.post("gradio_api/component_server", json=question | {"fn_name": function})
        visitor.post(
            "gradio_api/component_server", json={"component_id": SECRET, "session_hash": [SECRET], "fn_name": 5}
        )
        for path in (
            SECRET,
            f"models/own-{SECRET}",
            f"gradio_api/file={SECRET}",
            f"?sentence={SECRET}",
            f"health?{SECRET}",
        ):
            visitor.get(path, headers={"X-Forwarded-For": SECRET, "Cookie": f"a={SECRET}"})
        visitor.post(f"models?visit={SECRET}", content=SECRET * 9)
    with socket.create_connection(("127.0.0.1", server.port)) as plain:  # what is no HTTP
        plain.sendall(f"{SECRET} {SECRET}\r\n\r\n".encode())
        plain.recv(1000)
    mcp(server.url, "tools/call", name=SECRET, arguments={SECRET: SECRET})
    post(server.url, "gradio_api/mcp/", {SECRET: SECRET}, Accept="application/json, text/event-stream")

    said = replicas.log()
    assert len(replicas.lines()) > begun + 100
    for part in (SECRET, SECRET.lower(), SECRET[:8], SECRET[-8:], "127.0.0.1:5", "Traceback", BEER):
        assert part not in said.replace(server.url.rstrip("/"), "")
    assert httpx.get(f"{server.url}health", trust_env=False).json()["status"] == "ok"


# Hostile requests


def test_bodies_are_bounded_at_every_address(url: str) -> None:
    addresses = ("gradio_api/queue/join", "gradio_api/run/translate", "gradio_api/component_server", "train", "nowhere")
    for path in addresses:
        assert httpx.post(url + path, content=b"0" * (MAX_BODY + 1), headers=JSON, trust_env=False).status_code == 413
    endless = httpx.post(
        f"{url}gradio_api/run/translate", content=iter([b"0" * 2**20] * 9), headers=JSON, trust_env=False
    )
    assert endless.status_code == 413


@pytest.mark.parametrize("path", ["upload", "component_server", "process_recording"])
def test_no_file_of_a_form_is_taken(url: str, path: str) -> None:
    sent = httpx.post(f"{url}gradio_api/{path}", files={"files": ("a.txt", b"a" * 1000)}, trust_env=False)
    assert sent.status_code == 415


@pytest.mark.parametrize(
    "way", ["gradio_api/file=", "static/", "svelte/", "assets/", "gradio_api/custom_component/", ""]
)
def test_files_that_the_page_does_not_serve_stay_unreachable(url: str, way: str) -> None:
    inside = f"{ROOT}/assets/js/"
    files = [
        "app.py",
        "/etc/passwd",
        "/proc/self/environ",
        f"{ROOT}/app.py",
        f"{ROOT}/.git/config",
        f"{ROOT}/README.md",
    ]
    ways = [
        f"{dots}{file}" for file in files for dots in ("", "/", "../" * 12, "..%2f" * 12, "%2e%2e/" * 12, "....//" * 12)
    ]
    ways += [f"{inside}{up}app.py" for up in ("../../", "..%2f..%2f", "%2e%2e/%2e%2e/", "..\\..\\")]
    host, port = url.removeprefix("http://").strip("/").split(":")
    for path in ways:
        plain = http.client.HTTPConnection(host, int(port), timeout=20)  # which sends dots as they are
        plain.request("GET", f"/{way}{path}")
        answer = plain.getresponse()
        body = answer.read()
        plain.close()
        assert answer.status in (301, 307, 400, 403, 404, 405), path
        assert b"root:" not in body, path
        assert b"GRADIO_SERVER_PORT" not in body, path


def test_who_vanishes_in_the_middle_of_a_stream_leaves_nothing_running(replicas: Replicas) -> None:
    url, begun = replicas.servers[0].url, len(replicas.lines())
    with httpx.stream(
        "POST", f"{url}mistake", json={"name": "rank_collapse", "visit": "me"}, trust_env=False
    ) as answer:
        lines = answer.iter_lines()
        assert json.loads(next(lines))["event"] == "run"
        assert httpx.get(f"{url}health", trust_env=False).json()["training"]["running"] == 1
    until(lambda: not httpx.get(f"{url}health", trust_env=False).json()["training"]["running"])
    assert httpx.get(f"{url}health", trust_env=False).json()["training"] == {"running": 0, "waiting": 0}

    def ends() -> list[dict[str, Any]]:
        return [line for line in replicas.lines()[begun:] if line["action"] == "mistake"]

    until(lambda: bool(ends()))  # its line is written after all else
    (left,) = ends()
    assert (left["outcome"], left["status"]) == ("left", 200)
    assert post(url, "gradio_api/run/translate", {"data": [BEER, "toy"]}).status_code == 200


# Restarts. What follows kills replicas, so it comes last.


def test_a_page_goes_on_when_its_replica_is_killed(replicas: Replicas, visit_at: Callable[[str], Visit]) -> None:
    visit = visit_at(replicas.proxy.url)
    page = visit.open()
    visit.settle()  # what is on its way from a server dies with it
    replicas.servers[1].kill()
    for sentence, word in ((COLA, "coke"), (BEER, "beer"), (COLA, "coke")):
        visit.ask(sentence)
        assert translation(page) == f"i want a {word} . E"
    page.wait_for_function("location.search.includes('cola')")
    page.reload()
    expect(page.locator("#translation button").nth(3)).to_have_text("coke")


def test_a_page_finds_its_server_again_after_a_restart(replicas: Replicas, visit_at: Callable[[str], Visit]) -> None:
    """Whether nobody answers at its address, or a load balancer does, and says that it is sorry."""
    server = replicas.servers[0]
    place = "?tab=attention&kind=decoder&layer=4&head=7&drawing=table&step=6"
    visits = [visit_at(server.url), visit_at(replicas.proxy.url)]
    pages = [visit.open(place) for visit in visits]
    for page in pages:
        page.wait_for_function("document.querySelector('#step').value === '6'")
    server.kill()
    for page in pages:
        page.locator("#sentence input").fill(COLA)
        page.locator("#translate").click()
        expect(page.locator(".message")).to_contain_text("The server does not answer.")
        page.wait_for_function("location.search.includes('cola')")  # so that it is asked for once more
    server.start()
    for page, visit in zip(pages, visits, strict=True):
        expect(page.locator("#translation button").nth(3)).to_have_text("coke")  # nobody reloaded the page
        for part in ("tab=attention", "kind=decoder", "layer=4", "head=7", "step=6", "sentence=ich+mochte+ein+cola"):
            page.wait_for_function("part => location.search.includes(part)", arg=part)
        visit.ask(BEER)
        assert translation(page) == "i want a beer . E"


def test_a_tab_that_could_not_be_loaded_comes_with_the_server(replicas: Replicas, browser: Browser) -> None:
    server = replicas.servers[0]
    page = browser.new_page()
    page.goto(server.url)
    page.locator("#translation button").first.wait_for()
    server.kill()
    page.get_by_role("tab", name="Positions").click()
    expect(page.get_by_text("This part could not be loaded.")).to_be_visible()
    page.wait_for_function("location.search.includes('tab=positions')")
    server.start()
    page.locator("#positions .js-plotly-plot").first.wait_for(timeout=60_000)
    page.close()


# A Space


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The tracked files alone, with the environment that a Space sets, and a home where nobody can write."""
    folder = tmp_path_factory.mktemp("space")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in filter(None, tracked.split("\0")):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    home = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache"}
    known = {
        "SYSTEM": "spaces",
        "SPACE_ID": "someone/attention-bitte",
        "SPACE_HOST": "someone-attention-bitte.hf.space",
    }
    server = Server(folder, log=folder / "log", **home, **known, SPACE_AUTHOR_NAME="someone", CPU_CORES="2")
    server.wait()
    yield server
    server.end()


def test_a_space_starts_from_the_tracked_files(space: Server) -> None:
    assert (
        post(space.url, "gradio_api/run/translate", {"data": [BEER, "toy"]}).json()["data"][0]["text"]
        == "i want a beer ."
    )
    assert httpx.get(f"{space.url}health", trust_env=False).json()["status"] == "ok"


def test_a_space_works_in_another_sites_frame_without_storage(space: Server, browser: Browser) -> None:
    class Frame(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f'<iframe src="{space.url}" width="1200" height="900"></iframe>'.encode())

        def log_message(self, *_: Any) -> None:
            pass

    site = ThreadingHTTPServer(("127.0.0.1", 0), Frame)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    page = browser.new_page()
    denied = "{ get() { throw new DOMException('denied', 'SecurityError'); } }"
    page.add_init_script(
        f"for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, {denied});"
        "Object.defineProperty(document, 'cookie', { get: () => '', set: () => {} });"
    )
    faults: list[str] = []
    asked: list[SplitResult] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: asked.append(urlsplit(request.url)))
    page.goto(f"http://localhost:{site.server_port}/")
    frame = page.frame_locator("iframe")
    frame.locator("#translation button").first.wait_for()
    frame.locator("#sentence input").fill(COLA)
    frame.locator("#translate").click()
    expect(frame.locator("#translation button").nth(3)).to_have_text("coke")
    for tab in ("attention", "positions", "inside", "train", "break", "lesson"):
        frame.locator(f"[role=tab][data-tab-id={tab}]").click()
        expect(frame.locator("[role=tabpanel] .view:visible").first).not_to_be_empty()
    page.close()
    site.shutdown()
    assert faults == []
    assert {each.hostname for each in asked if each.scheme in ("http", "https", "ws")} == {"localhost", "127.0.0.1"}
