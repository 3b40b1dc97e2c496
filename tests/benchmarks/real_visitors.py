"""`make crowd`: thirty visitors who translate on one real model, and what the toy's visitors notice of it.

The model has the size of opus-mt-de-en and random weights. Each of thirty asks for the next sentence at once; three
visitors of the toy click meanwhile, from another address: first alone, then while the model is loaded, then beside the
thirty. Prints tables; nothing here is a test.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.marian import GERMAN, marian_folder
from tests.visitors import Connection, Question, program
from transformer.web.api import runs

from .load import Record, shown, together
from .served import served
from .translators import PIECES, SIZES

VISITORS, TOY_VISITORS = 30, 3
ALONE, TOGETHER = 10, 60  # s
OUTPUT = 32  # tokens: random weights hardly ever end sooner
WORDS = " ".join(GERMAN).replace(",", "").replace(".", "").split()
SLOWEST_TOY = 150  # ms, of 95 in 100


async def measure(port: int, model: str) -> None:
    def translation() -> Question:
        return program(runs.attention, " ".join(random.sample(WORDS, 8)), "cross", 0, 0, model)

    def click() -> Question:
        layer, head = random.randrange(6), random.randrange(8)
        return program(runs.attention, "Ich möchte ein Bier", "cross", layer, head, "toy")

    async def visits(
        record: Record, question: Callable[[], Question], what: str, seconds: float, address: int, pause: float = 0
    ) -> None:
        """One visitor's, again and again."""
        end = time.monotonic() + seconds
        async with Connection(port, f"127.0.0.{address}") as connection:
            while time.monotonic() < end:
                await asyncio.sleep(random.uniform(0, pause))
                await record.ask(connection, replace(question(), action=what))

    async def toys(record: Record, what: str, seconds: float) -> None:
        await together(*(visits(record, click, what, seconds, 2, pause=0.5) for _ in range(TOY_VISITORS)))

    record = Record()
    async with Connection(port) as first:
        await first.ask(click())
        await toys(record, "a click on the toy, alone", ALONE)
        loads = record.ask(first, replace(translation(), action="the first translation of the real model"))
        await together(toys(record, "a click while the real model is loaded", ALONE), loads)
    one = f"a translation of one of {VISITORS}"
    crowd = (visits(record, translation, one, TOGETHER, 1) for _ in range(VISITORS))
    await together(toys(record, f"a click beside {VISITORS} who translate", TOGETHER), *crowd)
    shown(record.table())
    print(f"\nThe target of a click beside them is {SLOWEST_TOY} ms. Refused: {sum(record.refused.values())}.")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "opus"
        marian_folder(folder, pieces=PIECES, max_length=OUTPUT + 2, **SIZES)
        with served(TRANSFORMER_MODELS=str(folder)) as server:
            asyncio.run(measure(server.port, folder.name))


if __name__ == "__main__":
    main()
