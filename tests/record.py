"""A net under a rebuild: records what the product does, and compares a later build against the record.

    python -m tests.record write tests/record.json.gz
    python -m tests.record compare tests/record.json.gz [--only api,page,...] [--pictures FOLDER]

It talks to the product through what outlives a rebuild: a server's addresses, links, the environment, and what
`import transformer` offers; tests/record_questions.py has what is asked, and the page's private names in one place.
Every answer is reduced to its numbers and its texts, each by its path. A difference of numbers, statuses, places,
or of words that programs read fails the comparison. Texts may change: theirs are listed at the end.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # as app.py has it, so that sums are added up in one order

import argparse
import base64
import binascii
import gzip
import hashlib
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
import torch
from playwright.sync_api import Browser, sync_playwright

from . import record_questions as ask
from .browser.chromium import find
from .browser.conftest import Server

ROOT = Path(__file__).resolve().parents[1]
MOST = 40  # numbers or texts of one path that are kept one by one
VOLATILE = {"seconds", "processor_seconds", "left", "ms"}  # what a clock says
PASSING = {"says", "snapshot", "held_out", "queued", "waiting"}  # events that come when a clock says so
LOOSE = re.compile(r"error|message|last|description|_code|body|result.content")  # texts that any wording will do for
CARRIED = re.compile(r"(?:[\w+/]{76}\\+n){9,}[\w+/=]*")  # a notebook's copy of the library
Answer = dict[str, Any]


# ---- an answer as its numbers and its texts ----


def reduced(value: Any) -> Answer:
    """{"numbers": {path: values}, "texts": {path: values}}; places in a list are * in a path."""
    numbers: dict[str, list[Any]] = {}
    texts: dict[str, list[Any]] = {}

    def walk(path: str, value: Any) -> None:
        if callable(value):
            value = attempted(value)
        if isinstance(value, torch.Tensor):
            value = value.detach().numpy()
        if isinstance(value, str):
            value = CARRIED.sub("ARCHIVE", value)
        match value:
            case np.ndarray():
                numbers.setdefault(path, []).extend(value.ravel().tolist())
            case {"bdata": str(data), "dtype": str(kind)}:  # an array of plotly's
                numbers.setdefault(path, []).extend(np.frombuffer(base64.b64decode(data), f"<{kind}").tolist())
            case dict():
                for name, each in value.items():
                    if name not in VOLATILE:
                        walk(f"{path}.{name}".lstrip("."), each)
            case list() | tuple():
                for each in value:
                    walk(f"{path}.*", each)
            case str() if value.count(",") > 99:  # a table
                for cell in re.split(r"[,\n]", value):
                    where, what = (
                        (numbers, float(cell)) if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell) else (texts, cell)
                    )
                    where.setdefault(f"{path}.cells", []).append(what)
            case str():
                floats = decoded(value)
                if floats is None:
                    texts.setdefault(path, []).append(shortened(value))
                else:
                    numbers.setdefault(path, []).extend(floats)
            case None | bool() | int() | float():
                numbers.setdefault(path, []).append(value)
            case _:
                walk(path, vars(value) if hasattr(value, "__dict__") else str(value))

    walk("", value)
    return {
        "numbers": {path: summed(each) for path, each in numbers.items()},
        "texts": {path: each if len(each) <= MOST else [len(each), mark(each)] for path, each in texts.items()},
    }


def summed(values: list[Any]) -> Any:
    """Four digits of each; of many their count, sum, least, most, and a sum that knows their order."""
    if len(values) <= MOST:
        return [float(f"{each:.4g}") if type(each) in (int, float) else each for each in values]
    array = np.array([np.nan if each is None else each for each in values], dtype=float)
    found = array[np.isfinite(array)]
    order = found * np.arange(1, len(found) + 1) / len(found)
    sums = found.sum(), found.min(initial=0), found.max(initial=0), order.sum()
    return {"array": [len(array), *(float(f"{each:.6g}") for each in sums)]}


def decoded(text: str) -> list[float] | None:
    """Base64 of little-endian 32-bit floats; None where it is a text."""
    if len(text) < 8 or not re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", text) or re.fullmatch(r"[a-z]+|\w?[a-z]+", text):
        return None
    try:
        array = np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(float)
    except (binascii.Error, ValueError):
        return None
    sane = np.isfinite(array) & (np.abs(array) < 1e6) & ((array == 0) | (np.abs(array) > 1e-30))
    return array.tolist() if sane.all() else None


def shortened(text: str) -> str:
    text = re.sub(r"own-[\w-]{20,}", "KEY", text.replace(str(ROOT), "ROOT"))
    return text if len(text) <= 120 else f"{text[:80]}… {mark(text)}"


def mark(value: Any) -> str:
    return hashlib.md5(json.dumps(value).encode()).hexdigest()[:10]


def attempted(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return {"raises": type(error).__name__, "message": str(error)}


# ---- a server, and what it is asked ----


@contextmanager
def served(log: Path = Path(os.devnull), **environment: str) -> Iterator[httpx.Client]:
    server = Server(ROOT, log, **environment)
    try:
        server.wait()
        with httpx.Client(base_url=server.url, timeout=180, trust_env=False) as client:
            yield client
    finally:
        server.end()


def read(answer: httpx.Response) -> Answer:
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if kind == "application/x-ndjson":
        return {"status": answer.status_code, **reduced(story(answer.text))}
    if kind != "application/json":
        return {
            "status": answer.status_code,
            **reduced({"kind": kind} | ({} if "html" in kind else {"body": answer.text})),
        }
    value = answer.json()
    if isinstance(value, dict) and "data" in value:  # the rest is Gradio's own
        value = [json.loads(each) if str(each)[:1] == "{" and type(each) is str else each for each in value["data"]]
    elif isinstance(value, dict) and isinstance(value.get("error"), str):
        value = {"error": value["error"]}
    return {"status": answer.status_code, **reduced(value)}


def story(lines: str) -> Answer:
    """A stream of events, without what depends on a clock: which came, all points of its progress, and the rest."""
    events = [json.loads(line) for line in lines.splitlines()]
    points = {side: [each["points"] for each in events if each.get("side") == side and "points" in each]
              for side in (None, "right", "wrong")}  # fmt: skip
    rest = [each for each in events if each["event"] not in PASSING and "points" not in each]
    for each in rest:
        each.pop("run", None)  # its key
    return {"events": [each["event"] for each in rest], "points": points, "rest": rest}


def api(client: httpx.Client) -> Iterator[tuple[str, Answer]]:
    described = client.get("gradio_api/info").json()["named_endpoints"]
    taken = {name: [[each["parameter_name"], each.get("parameter_default")] for each in described[name]["parameters"]]
             for name in sorted(described)}  # fmt: skip
    yield "what is described", reduced(taken)
    for name, values in ask.ACTIONS:
        told = json.dumps(values, ensure_ascii=False)
        yield f"{name} {told[:150]}{mark(told)}", read(client.post(f"gradio_api/run/{name}", json={"data": values}))
    queued = client.post("gradio_api/call/translate", json={"data": [ask.BEER, "toy"]}).json()["event_id"]
    said = client.get(f"gradio_api/call/translate/{queued}").text
    yield "through Gradio's queue", reduced(json.loads(said.partition("data: ")[2]))


def page(client: httpx.Client) -> Iterator[tuple[str, Answer]]:
    config = client.get("config").json()
    events = {
        event: (each["id"], each["targets"][0][0]) for each in config["dependencies"] for _, event in each["targets"]
    }
    places = {name: each["id"] for each in config["components"] for name in each["props"].get("server_fns") or ()}

    def event(name: str, asked: Any) -> Answer:
        number, place = events.get(ask.EVENTS[name], (None, None))
        body = {"data": [], "event_data": asked, "fn_index": number, "trigger_id": place, "session_hash": "record"}
        return read(client.post("gradio_api/run/predict", json=body)) if number is not None else {"status": "missing"}

    def function(name: str, asked: Any) -> Answer:
        body = {"data": asked, "fn_name": name, "component_id": places.get(name), "session_hash": "record"}
        return read(client.post("gradio_api/component_server/", json=body)) if name in places else {"status": "missing"}

    runs: list[Any] = [(*each, "", []) for each in ask.PLAIN] + ask.RUNS
    for checkpoint, sentence, change, changes in runs:
        run = {"checkpoint": checkpoint, "sentence": sentence, "changes": changes}
        for name in ask.EVENTS if not change else ("ask",):
            yield f"{name}: {checkpoint}, {sentence}, {change}", event(name, run | {"example": False})
        for name in ask.FUNCTIONS if not change else ask.CHANGED:
            if change or not name.startswith("plan") or sentence == ask.BEER:
                known, more = ask.FUNCTIONS[name]
                yield f"{name}: {checkpoint}, {sentence}, {change}", function(known, run | more)
    for i, hostile in enumerate(ask.HOSTILE):
        yield f"ask, hostile {i}", event("ask", hostile)
        for name, (known, more) in ask.FUNCTIONS.items():
            if not name.startswith(("plan", "rows", "file")):
                yield f"{name}, hostile {i}", function(known, hostile | more)
    for known in dict.fromkeys(known for known, _ in ask.FUNCTIONS.values()):
        nothings: tuple[Any, ...] = (None, {}, [1], "text", 5)
        for nothing in nothings:
            yield f"{known} of {nothing!r}", function(known, nothing)


def routes(client: httpx.Client) -> Iterator[tuple[str, Answer]]:
    for i, (method, path, body) in enumerate(ask.REQUESTS):
        how = {"content": body} if isinstance(body, bytes) else {"json": body} if method == "POST" else {}
        address = client.base_url.join(path)  # on a connection of its own: the server closes those of bodies it refuses
        yield f"{i} {method} {path}", read(httpx.request(method, address, timeout=None, trust_env=False, **how))
    shown = client.post("mistake", json={"name": "output_in_forward", "visit": "record"})
    yield "a mistake of training", read(shown)
    trained = client.post("train", json=ask.TRAINING)
    yield "a training", read(trained)
    (key,) = set(re.findall(r'"checkpoint": "([^"]+)"', trained.text))
    file = client.get(f"models/{key}").content
    yield "its file", reduced([len(file) // 1000, file[8:9].decode()])
    yield "brought back", read(brought := client.post("models?visit=record", content=file))
    for name, each in (("trained", key), ("brought", brought.json()["model"]["checkpoint"])):
        asked = {"data": ["ein Bier", each]}
        yield f"{name}, translated", read(client.post("gradio_api/run/translate", json=asked))
        yield f"{name}, forgotten", read(client.delete(f"models/{each}"))
        yield f"{name}, asked again", read(client.post("gradio_api/run/translate", json=asked))


def links(client: httpx.Client, pictures: Path | None) -> Iterator[tuple[str, Answer]]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(playwright), args=["--no-sandbox", "--disable-gpu"])
        for link in ask.LINKS:
            yield link[:150], reduced(opened(browser, f"{client.base_url}{link}"))
        for tab in ask.TABS:
            if pictures:
                opened(browser, f"{client.base_url}?tab={tab}", pictures / f"{tab}-light-1440.png")
        browser.close()


def opened(browser: Browser, address: str, picture: Path | None = None) -> Answer:
    """What the page comes to rest on."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light", locale="en-GB")
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    page.locator("#translation button").first.wait_for(timeout=60_000)
    page.wait_for_load_state("networkidle")
    seen: Answer = {}
    same = 0
    for _ in range(60):
        now = {name: page.evaluate(where) for name, where in ask.SEEN.items()} | {"address": httpx.URL(page.url).query}
        seen, same = now, same + 1 if now == seen else 0
        if same == 5:
            break
        page.wait_for_timeout(250)
    if picture:
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=picture, full_page=True)
    context.close()
    place = {name: value for name, value in seen.items() if name not in ("message", "address")}
    place |= {f"?{name}": value for name, value in httpx.QueryParams(seen["address"]).items()}
    # It is exact, so it is kept as names and not as texts, which may change.
    place = {f"{name}={shortened(str(value))}": True for name, value in place.items()}
    return place | {"faults": len(faults), "message": seen["message"]}


def environment() -> Iterator[tuple[str, Answer]]:
    folder = TemporaryDirectory()
    log = Path(folder.name) / "log"
    with served(log, **ask.SETTINGS) as client:
        health, config = client.get("health"), client.get("config").text
        yield "health", read(health)
        wanted = {name: value for name, value in ask.SETTINGS.items() if "TRAIN" in name and len(value) > 2}
        yield (
            "told to the page",
            reduced({name: bool(re.search(rf"\b{value}\b", config)) for name, value in wanted.items()}),
        )
        yield "translate", read(client.post("gradio_api/run/translate", json={"data": [ask.BEER, "toy"]}))
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "record", "version": "1"}}
        tool = {"name": "attention", "arguments": {"sentence": ask.BEER, "kind": "cross", "layer": 1, "head": 5}}
        for i, (method, params) in enumerate((("initialize", hello), ("tools/list", {}), ("tools/call", tool))):
            body = {"jsonrpc": "2.0", "id": i, "method": method, "params": params}
            accept = {"Accept": "application/json, text/event-stream"}
            yield f"MCP {method}", read(client.post("gradio_api/mcp/", json=body, headers=accept))
    logged = [json.loads(line) for line in log.read_text("utf-8").splitlines() if line[:1] == "{"]
    folder.cleanup()
    yield "logged", reduced([dict.fromkeys(each, True) | {"action": each["action"]} for each in logged])
    with served(TRANSFORMER_LINE="1") as client, ThreadPoolExecutor(8) as crowd:
        asked = [{"data": [sentence, "classroom"]} for _, sentence in ask.PLAIN[4:8]] * 2
        found = list(
            crowd.map(lambda body: client.post("gradio_api/run/which_heads_matter", json=body).status_code, asked)
        )
        yield "a line of one", reduced({str(status): True for status in sorted(set(found))})

    def refused(setting: tuple[str, str]) -> Answer:
        run = subprocess.run([sys.executable, "app.py"], cwd=ROOT, capture_output=True, text=True, timeout=120,
                             env=os.environ | {"GRADIO_SERVER_PORT": "9", setting[0]: setting[1]})  # fmt: skip
        lines = run.stderr.strip().splitlines()
        return {
            "status": run.returncode,
            **reduced({"lines": len(lines), "named": setting[1] in run.stderr, "last": lines[-1:]}),
        }

    with ThreadPoolExecutor(2) as pool:
        for setting, answer in zip(ask.NONSENSE, pool.map(refused, ask.NONSENSE), strict=True):
            yield "=".join(setting), answer


def recorded(parts: list[str], pictures: Path | None = None) -> dict[str, dict[str, Answer]]:
    found: dict[str, dict[str, Answer]] = {}
    with served() as client:
        ways: dict[str, Callable[[], Any]] = {
            "api": lambda: api(client),
            "page": lambda: page(client),
            "routes": lambda: routes(client),
            "links": lambda: links(client, pictures),
            "python": lambda: ((name, reduced(call)) for name, call in ask.PYTHON.items()),
            "environment": environment,
        }
        for part in parts or ways:
            begun = time.monotonic()
            found[part] = {}
            try:
                for name, answer in ways[part]():
                    found[part][name] = answer
            except Exception as error:  # the rest of this part cannot be asked
                found[part]["!"] = {"status": f"{type(error).__name__}: {error}"}
                print(f"{part} broke off: {error!r}")
            print(f"{part}: {len(found[part])} answers in {time.monotonic() - begun:.0f} s", flush=True)
    return found


# ---- two records ----


def close(one: Any, other: Any) -> bool:
    match one, other:
        case {"array": [count, *ones]}, {"array": [others_count, *others]}:
            slack = 1e-6 * count * max(abs(ones[1]), abs(ones[2]))  # of 32-bit sums in another order
            slacks = ((5e-6, slack), (1e-4, 5e-6), (1e-4, 5e-6), (5e-6, slack))
            near = (np.isclose(a, b, rtol=r, atol=c) for a, b, (r, c) in zip(ones, others, slacks, strict=True))
            return count == others_count and all(near)
        case list(), list():
            return len(one) == len(other) and all(map(close, one, other))
        case (int() | float(), int() | float()) if bool not in (type(one), type(other)):
            return bool(np.isclose(one, other, rtol=1.1e-3, atol=5e-6))
    return type(one) is type(other) and one == other


def differences(old: Answer, new: Answer, exact: bool) -> Iterator[tuple[str, str]]:
    """(kind, what): a status, path, number or word, which may not differ, or a text, which may."""
    if old.get("status") != new.get("status"):
        yield "status", f"{old.get('status')} -> {new.get('status')} {list(new.get('texts', {}).items())[:2]}"
        return
    ones, others = old.get("numbers", {}), new.get("numbers", {})
    if exact or ones.keys() == others.keys():
        for path in sorted(ones.keys() | others.keys()):
            if path not in ones or path not in others:
                yield (
                    "path",
                    f"{path} is {'new' if path in others else 'gone'}: {str(ones.get(path, others.get(path)))[:100]}",
                )
            elif not close(ones[path], others[path]):
                yield "number", f"{path}: {str(ones[path])[:200]} -> {str(others[path])[:200]}"
    else:  # names of a private protocol: the same numbers have to be somewhere
        left = [each for values in others.values() for each in ([values] if isinstance(values, dict) else values)]
        for path, values in ones.items():
            for each in [values] if isinstance(values, dict) else values:
                if (place := next((i for i, other in enumerate(left) if close(each, other)), None)) is None:
                    yield "number", f"{path}: {each} is gone"
                else:
                    left.pop(place)
        if left:
            yield "number", f"new: {str(left)[:200]}"
    said, says = old.get("texts", {}), new.get("texts", {})
    for path in sorted(said.keys() | says.keys()) if exact else ():
        if said.get(path) != says.get(path):
            kind = "text" if LOOSE.search(path) else "word"
            yield kind, f"{path}: {str(said.get(path))[:200]} -> {str(says.get(path))[:200]}"
    if not exact:
        was, now = (Counter(str(each) for values in texts.values() for each in values) for texts in (said, says))
        if was != now:
            yield "text", f"{sorted((was - now).elements())[:4]} -> {sorted((now - was).elements())[:4]}"


def compare(old: dict[str, dict[str, Answer]], new: dict[str, dict[str, Answer]]) -> bool:
    found: list[tuple[str, str, str]] = []
    for part in new:
        for name in old[part].keys() | new[part].keys():
            if name not in old[part] or name not in new[part]:
                found.append(("path", f"{part}: {name}", "was asked in one record only"))
                continue
            exact = part not in ("page", "routes")
            found += [
                (kind, f"{part}: {name}", what) for kind, what in differences(old[part][name], new[part][name], exact)
            ]
    for kind, name, what in sorted(found, key=lambda each: (each[0] == "text", each)):
        print(f"{kind:6} {name}\n       {what}")
    print(dict(Counter(kind for kind, _, _ in found)) or "nothing differs")
    return all(kind == "text" for kind, _, _ in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="parts, by comma")
    parser.add_argument("--pictures", type=Path, help="folder for a picture of every tab")
    given = parser.parse_args()
    now = recorded([each for each in given.only.split(",") if each], given.pictures)
    if given.do == "write":
        given.file.write_bytes(
            gzip.compress(json.dumps(now, ensure_ascii=False, separators=(",", ":")).encode(), mtime=0)
        )
    else:
        sys.exit(not compare(json.loads(gzip.decompress(given.file.read_bytes())), now))


if __name__ == "__main__":
    main()
