"""`make attack`: one visitor against all others, an attack at a time, each against a server of its own on 127.0.0.1.

The attacker has the address 127.0.0.1, the honest visitor 127.0.0.2: a translation with the toy and `GET /health` every
100 ms, alone at first and then during the attack. A late answer also counts for the requests that could not be sent
meanwhile. Afterwards the attacker leaves, and the server has a minute to free its memory; models are kept as long.
Slow bodies, too many connections and the like are attacks on the nginx of transformer/web/README.md before the server.

Prints a table; the exit status is 1 if a bound is broken. Nothing here is a test.
"""

import argparse
import asyncio
import itertools
import math
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson

from tests.benchmarks.load import used
from tests.browser.conftest import Server
from tests.models import as_file, small
from tests.visitors import Connection, Question, Visitor, ask, model_file, problem, sentences, train, train_mistake
from tests.web.nginx import MISSING, PROGRAM, nginx_before
from transformer.storage.portable import PortableModel

HONEST = "127.0.0.2"
INTERVAL = 0.1  # s between two requests of the honest visitor
TIMEOUT_SECONDS = 60.0  # for an answer
TRANSLATION, HEALTH = 150, 50  # ms: bounds of the 95th percentiles
GROWTH = 50  # MB: bound of what stays
WRITTEN = 2**20  # bytes: bound of the log, and of Gradio's files
PAUSE = 0.1  # s between two requests of the attacker: an attack with little traffic
HUNDRED_WORDS = " ".join(f"w{i % 10}" for i in range(100))


@dataclass(frozen=True)
class Target:
    """A server under attack. `own` is the key of a model of the attacker's, `answers` counts answers by status."""

    port: int
    client: httpx.AsyncClient
    answers: Any
    own: str = ""

    async def ask(self, verb: str, path: str, **sent: Any) -> None:
        try:
            self.answers[(await self.client.request(verb, path, **sent)).status_code] += 1
        except httpx.HTTPError:
            self.answers[0] += 1

    async def call(self, name: str, *values: Any, wait: bool = True, session: str = "unread") -> None:
        """An action; without waiting its answer is left to the server."""
        body = {"data": values, "session_hash": session}
        await self.ask("POST", f"gradio_api/{'run' if wait else 'call'}/{name}", json=body)

    async def raw(self, head: str, body: bytes = b"", drip: float | None = None) -> None:
        """A connection that sends these, and then a byte every `drip` seconds; renewed when the server closes it."""
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(head.encode() + body)
                reading = asyncio.create_task(reader.read(12))
                while drip is not None and not reading.done():
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(drip)
                status = (await reading)[9:]
                self.answers[int(status) if status.isdigit() else 0] += 1
                await reader.read()  # of a stream
                writer.close()
            await asyncio.sleep(1)


Attack = Callable[[Target], Awaitable[object]]
OtherWork = Callable[[Connection], Awaitable[None]]


def repeat(ask: Attack, pause: float = PAUSE) -> Attack:
    """An attack that asks one thing again and again, on two connections."""

    async def attack(target: Target) -> None:
        async def one() -> None:
            while True:
                await ask(target)
                await asyncio.sleep(pause)

        await asyncio.gather(one(), one())

    return attack


def connections(count: int, head: str = "", body: bytes = b"", drip: float | None = None) -> Attack:
    """A number of connections, as `Target.raw` has them."""
    return lambda target: asyncio.gather(*(target.raw(head, body, drip) for _ in range(count)))


async def in_turn(target: Target, calls: list[tuple[str, ...]]) -> None:
    """Calls on two connections whose answers are never read."""
    left = iter(calls)

    async def one() -> None:
        for call in left:
            await target.call(*call, wait=False)

    await asyncio.gather(one(), one())


def post(path: str, length: int) -> str:
    headers = f"Host: 127.0.0.1\r\nSession: attacker\r\nContent-Type: application/json\r\nContent-Length: {length}"
    return f"POST /{path} HTTP/1.1\r\n{headers}\r\n\r\n"


# ---- the attacks that take more than a line of the table ----


async def unread_answers(target: Target) -> None:
    await in_turn(target, [("translate", each, "classroom") for each in drawn()[:2100]])


async def unread_answers_of_an_own_model(target: Target) -> None:
    await asyncio.gather(*(target.call("translate", HUNDRED_WORDS, target.own, wait=False) for _ in range(20)))


async def shuffled_sentences(target: Target) -> None:
    rng = random.Random(0)
    words = itertools.cycle(each.split() for each in drawn() if len(each.split()) == 12)
    shuffled = [" ".join(rng.sample(each, 12)) for each in itertools.islice(words, 120)]
    await asyncio.gather(*(target.call("teacher_forcing", each, "classroom", None, "") for each in shuffled))


async def mistakes(target: Target) -> None:
    calls = [("output_in_forward", "")] * 40 + [("padding_rows", each) for each in drawn()[:400]]
    await in_turn(target, [("spot_the_bug", *each, "classroom") for each in calls])


async def trainings(target: Target) -> None:
    async def one(number: int) -> None:
        asked = train(f"attacker{number}", 1500)
        while True:
            await target.ask("POST", asked.path, json=asked.body, headers=asked.headers)
            await asyncio.sleep(1)

    await asyncio.gather(*map(one, range(40)))


async def what_ifs(target: Target) -> None:
    def asked(number: int) -> Any:
        change = {"do": "temperature", "kind": "all", "temperature": 1 + number / 500}  # each a run of its own
        return {"checkpoint": target.own, "sentence": HUNDRED_WORDS, "changes": [change]}

    headers = {"Session": "attacker"}
    await asyncio.gather(*(target.ask("POST", "api/translate", json=asked(n), headers=headers) for n in range(500)))


async def full_store(target: Target) -> None:
    for number in range(5):
        await target.ask("POST", "models", content=big_file(), headers={"Session": f"attacker{number}"})


async def slow_bodies(target: Target) -> None:
    head, body = post("api/train", 8 * 2**20), b" " * (8 * 10**6)
    await asyncio.gather(*(connections(count, head, body, drip)(target) for count, drip in ((2, 0), (118, 1))))


async def nested_lists(target: Target) -> None:
    lists = b"[" + b",".join([b"[]"] * (8 * 2**20 // 3 - 100)) + b"]"
    bodies = itertools.cycle([("api/pairs", b'{"rows":%b}' % lists), ("api/train", b'{"pairs":%b}' % lists)])

    async def one(target: Target) -> None:
        path, body = next(bodies)
        await target.ask("POST", path, content=body, headers={"Content-Type": "application/json"})

    await repeat(one)(target)


async def deep_link(target: Target) -> None:
    await target.call("translate", "ein Bier", "toy", session="links")
    await target.ask("GET", "gradio_api/deep_link", params={"session_hash": "links"})


async def foreign_page(target: Target) -> None:
    evil = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    await target.ask("POST", "gradio_api/run/translate", json={"data": ["ein Bier", "toy"]}, headers=evil)


# ---- what else an honest visitor does during an attack; an error is a problem ----


async def trains(honest: Connection) -> None:
    async for _ in honest.stream(train_mistake("honest")):
        return  # it is not refused


async def keeps_its_model(honest: Connection) -> None:
    events = [orjson.loads(line)["event"] async for line in honest.stream(train("honest", 20))]
    assert "trained" in events, f"a training ended with {events[-1]}"


async def answered(honest: Connection, question: Question) -> Any:
    answer = await honest.ask(question)
    assert not problem(answer), problem(answer)
    return answer.json()


async def uploads(honest: Connection) -> Any:
    return await answered(honest, Question("upload", "models", model_file(), headers={"Session": "honest"}))


async def uses_own_model(honest: Connection) -> None:
    about = {"checkpoint": (await uploads(honest))["model"]["checkpoint"], "sentence": drawn()[0]}
    await answered(honest, ask("translate", "translate", "honest", **about))


# ---- a row ----


class FewDescriptors(Server):
    """One that may have 256 files open, from its start."""

    limit = "import resource, runpy; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))"
    command = ("-c", f"{limit}; runpy.run_path('app.py', run_name='__main__')")


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        other_work: what else has to work meanwhile.
        own: the attacker has a large model.
        server: which one is attacked.
        refused: the server may not answer the attack with status 200.
        behind_nginx: nginx is before the server.
    """

    number: str
    name: str
    attack: Attack
    other_work: OtherWork | None = None
    own: bool = False
    server: type[Server] = Server
    refused: bool = False
    behind_nginx: bool = False


FILE = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
CHUNKED = "POST /api/train HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
RELOAD = "GET /gradio_api/dev/reload HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
ROWS = (
    Row("1", "icons", repeat(lambda target: target.ask("GET", "pwa_icon/15000")), refused=True),
    Row("2a", "unread answers", unread_answers),
    Row("2b", "unread answers of an own model", unread_answers_of_an_own_model, own=True),
    Row("3", "shuffled sentences", shuffled_sentences),
    Row("4a", "mistakes", mistakes, trains),
    Row("4b", "foreign pages", repeat(foreign_page), refused=True),
    Row("5", "trainings", trainings, trains),
    Row("6", "what ifs", what_ifs, uses_own_model, own=True),
    Row("7", "full store", full_store, keeps_its_model),
    Row("8", "slow bodies", slow_bodies, behind_nginx=True),
    Row("9", "nested lists", nested_lists),
    Row("10", "deep links", repeat(deep_link)),
    Row("11", "trickling uploads", connections(2, post("models", 10**8), drip=1), uploads, behind_nginx=True),
    Row("12", "reload streams", connections(2000, RELOAD), refused=True, behind_nginx=True),
    Row("13", "idle connections", connections(300), server=FewDescriptors, behind_nginx=True),
    Row("14", "front pages", repeat(lambda target: target.ask("GET", ""), pause=0)),
    Row("15", "tiny chunks", connections(20, CHUNKED, b"1\r\n \r\n" * 200_000), behind_nginx=True),
    Row("small", "files as values", repeat(lambda target: target.call("translate", FILE, "toy"))),
)


@cache
def drawn() -> tuple[str, ...]:
    """Sentences of the classroom, all different."""
    return sentences(4000)


@cache
def big_file(d_model: int = 512) -> bytes:
    """A model that takes 100 words, of the paper's size unless it is to be narrower."""
    sizes = {"d_model": d_model, "n_heads": 8, "d_ff": 2048, "num_encoder_layers": 6, "num_decoder_layers": 6}
    model = small("w", **sizes, max_len=100)
    checkpoint = replace(model, source_length=100, output_limit=100)
    return as_file(PortableModel(checkpoint, "big", "own", (("w1", "w2"),), {}, ""))


@contextmanager
def under_attack(row: Row, port: int) -> Iterator[Any]:
    """A server while a process of its own attacks it; yields the number of the attack's answers by status."""
    own, url = "", f"http://127.0.0.1:{port}/"
    if row.own:
        session = {"Session": "attacker"}
        uploaded = httpx.post(f"{url}models", content=big_file(), headers=session, timeout=None, trust_env=False)
        own = uploaded.json()["model"]["checkpoint"]
    # One process writes; a lock that it holds when it is killed would never be free again.
    answers = multiprocessing.Array("i", 600, lock=False)

    async def attack() -> None:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=url, timeout=None, limits=limits, trust_env=False) as client:
            await row.attack(Target(port, client, answers, own))
            await asyncio.Event().wait()  # the attacker stays

    process = multiprocessing.get_context("fork").Process(target=lambda: asyncio.run(attack()))
    process.start()
    try:
        yield answers
        assert process.exitcode is None, f"the attack {row.number} ended by itself"
    finally:
        process.kill()
        process.join()


async def asked(port: int, question: Callable[[], Question], seconds: float) -> float:
    """The 95th percentile in ms of an honest visitor's requests; infinite where they are refused or not answered."""
    took, due = list[float](), time.monotonic()
    end = due + seconds
    async with Connection(port, HONEST) as connection:
        while due < end:
            await asyncio.sleep(due - time.monotonic())
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    held = not problem(await connection.ask(question()))
            except (httpx.HTTPError, TimeoutError):
                held = False
            answered = time.monotonic()
            while due <= answered:
                took.append(answered - due if held else math.inf)
                due += INTERVAL
    return float(np.percentile(took, 95, method="higher")) * 1000


async def honest(port: int, seconds: float, other_work: OtherWork | None = None) -> tuple[float, float, str]:
    """p95 of translations and of /health, and a problem."""
    visitor = Visitor(1, ("",))
    health = Question("health", "health")

    async def beside() -> str:
        if other_work:
            await asyncio.sleep(seconds / 2)  # until the attack has its effect
            try:
                async with asyncio.timeout(3 * TIMEOUT_SECONDS), Connection(port, HONEST) as connection:
                    await other_work(connection)
            except (httpx.HTTPError, AssertionError, TimeoutError) as error:
                return f"{other_work.__name__}: {str(error).partition(' for url')[0] or repr(error)}"
        return ""

    translations, healths = (asked(port, question, seconds) for question in (visitor.translate, lambda: health))
    return await asyncio.gather(translations, healths, beside())


def memory(pid: int) -> float:
    """MB of a server and its workers."""
    tasks = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
    return used(pid)[0] + sum(used(int(child))[0] for task in tasks for child in task.read_text().split())


def measured(row: Row, seconds: float, rest: float) -> bool:
    """Run a row, print it, and return whether it holds."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        log, files, classes = (Path(folder) / name for name in ("log", "gradio", "classes"))
        settings: Any = {"GRADIO_TEMP_DIR": str(files), "TRANSFORMER_CLASSES": str(classes)}
        proxies = str(int(row.behind_nginx))
        server = row.server(log=log, TRANSFORMER_MODELS_MINUTES="1", TRANSFORMER_PROXIES=proxies, **settings)
        stack.enter_context(server)
        port = stack.enter_context(nginx_before([server], Path(folder))) if row.behind_nginx else server.port
        asyncio.run(honest(port, 3))  # warm-up
        alone = asyncio.run(honest(port, seconds / 2))
        before = memory(server.process.pid)
        with under_attack(row, port) as answers:
            during = asyncio.run(honest(port, seconds, row.other_work))
            most = memory(server.process.pid)
        time.sleep(rest)
        httpx.get(f"{server.url}models/own-", trust_env=False)  # the store looks which models are too old
        after = memory(server.process.pid)
        written = sum(file.stat().st_size for file in (log, *files.rglob("*")))
    problems = [during[2]] if during[2] else []
    if row.refused and answers[200]:
        problems.append("answered")
    if written > WRITTEN:
        problems.append(f"{written >> 20} MB written")
    held = during[0] < TRANSLATION and during[1] < HEALTH and after - before < GROWTH and not problems
    got = ", ".join(f"{count} × {status or 'no answer'}" for status, count in enumerate(answers) if count)
    cells = [row.number, row.name + (", behind nginx" if row.behind_nginx else ""), got]
    cells += [f"{one:.0f} → {other:.0f}" for one, other in zip(alone[:2], during[:2], strict=True)]
    cells += [f"{before:.0f}, {most:.0f}, {after:.0f}", "; ".join(problems), "yes" if held else "**no**"]
    print(f"| {' | '.join(cells)} |", flush=True)
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="all, if none is named")
    parser.add_argument("--seconds", type=float, default=12, help="of an attack")
    parser.add_argument("--rest", type=float, default=60, help="seconds until memory is measured")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print("| row | attack | its answers | translation, ms | health, ms | memory, MB | other work | holds |")
    print("| --- " * 8 + "|", flush=True)
    drawn()  # both before the attacks
    big_file()
    rows = [row for row in ROWS if row.number in given.rows or not given.rows]
    if not PROGRAM and any(row.behind_nginx for row in rows):
        sys.exit(MISSING)
    held = [measured(row, given.seconds, given.rest) for row in rows]
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
