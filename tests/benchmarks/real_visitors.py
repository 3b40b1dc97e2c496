"""`make crowd`: thirty visitors who translate on one real model, and what the toy's visitors notice of it.

The model has the size of opus-mt-de-en and random weights. Each of thirty asks for the next sentence at once; three
visitors of the toy click meanwhile, from another address: first alone, then while the model is loaded, then beside the
thirty. Prints a table; nothing here is a test.
"""

import asyncio
import itertools
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from tests.browser.conftest import Server
from tests.marian import GERMAN, marian_folder

from .translators import PIECES, SIZES

VISITORS, TOY_VISITORS = 30, 3
ALONE, TOGETHER = 10, 60  # s
OUTPUT = 32  # tokens: random weights hardly ever end sooner
WORDS = " ".join(GERMAN).replace(",", "").replace(".", "").split()
SLOWEST_TOY = 150  # ms, of 95 in 100


class Run:
    """What visitors of one server meet.

    Attributes:
        refused: requests that were not answered.
        waiting: how many requests waited, whenever somebody looked.
    """

    def __init__(self, url: str, model: str) -> None:
        self.url, self.model = url, model
        self.refused, self.waiting = 0, 0
        limits = httpx.Limits(max_connections=None)
        here, there = (httpx.AsyncHTTPTransport(local_address=f"127.0.0.{n}", limits=limits) for n in (1, 2))
        self.crowd = httpx.AsyncClient(transport=here, base_url=url, timeout=None)
        self.toy = httpx.AsyncClient(transport=there, base_url=url, timeout=None)

    async def ask(self, client: httpx.AsyncClient, session: int, *values: object) -> float:
        """Seconds until one head's map is there."""
        begin = time.perf_counter()
        question = {"data": values, "session_hash": f"visitor{session}"}
        answer = await client.post("gradio_api/run/attention", json=question)
        self.refused += answer.status_code != 200
        return time.perf_counter() - begin

    async def translate(self, session: int = 0) -> float:
        return await self.ask(self.crowd, session, " ".join(random.sample(WORDS, 8)), "cross", 0, 0, self.model)

    async def click(self, session: int = 0) -> float:
        await asyncio.sleep(random.random() / 2)
        layer, head = random.randrange(6), random.randrange(8)
        return await self.ask(self.toy, session, "Ich möchte ein Bier", "cross", layer, head, "toy")

    async def look(self, _: int) -> float:
        await asyncio.sleep(1)
        begin = time.perf_counter()
        health = (await self.toy.get("health")).json()
        self.waiting = max(self.waiting, health["queue"]["waiting"])
        return time.perf_counter() - begin


async def until(end: float, visit: Callable[[int], Awaitable[float]], visitors: int) -> list[float]:
    """What each of them, in a session of its own, waits for again and again."""

    async def one(session: int) -> list[float]:
        took = []
        while time.monotonic() < end:
            took.append(await visit(session))
        return took

    return [*itertools.chain(*await asyncio.gather(*map(one, range(visitors))))]


def described(took: list[float]) -> str:
    ranked = sorted(took)
    half, most = (1000 * ranked[int(share * (len(ranked) - 1))] for share in (0.5, 0.95))
    return f"| {len(ranked)} | {half:,.0f} ms | {most:,.0f} ms |"


async def measure(run: Run) -> None:
    async def toys(seconds: float) -> list[float]:
        return await until(time.monotonic() + seconds, run.click, TOY_VISITORS)

    print("| what | requests | half within | 95 of 100 within |\n| --- | --- | --- | --- |")
    await run.click()
    print("| a click on the toy, alone", described(await toys(ALONE)))
    clicks, loaded = await asyncio.gather(toys(ALONE), run.translate())
    print("| the same while the real model is loaded", described(clicks))
    print("| the first translation of the real model, which loads it", described([loaded]))
    end = time.monotonic() + TOGETHER
    crowd = until(end, run.translate, VISITORS)
    clicks, looks, translations = await asyncio.gather(toys(TOGETHER), until(end, run.look, 1), crowd)
    print(f"| the same beside {VISITORS} who translate", described(clicks), f"target {SLOWEST_TOY} ms")
    print(f"| a translation of one of the {VISITORS}", described(translations))
    print("| GET /health", described(looks))
    print(f"\nRefused: {run.refused}. Waiting, as the page shows it: up to {run.waiting}.")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "opus"
        marian_folder(folder, pieces=PIECES, max_length=OUTPUT + 2, **SIZES)
        server = Server(TRANSFORMER_MODELS=str(folder))
        try:
            server.wait()
            asyncio.run(measure(Run(server.url, folder.name)))
        finally:
            server.end()


if __name__ == "__main__":
    main()
