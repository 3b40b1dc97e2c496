"""An honest visitor is served while a stranger attacks: `make attack` in short, without its times."""

import math
from collections.abc import Iterator

import pytest

from tests.benchmarks import attack
from tests.benchmarks.attack import (
    HONEST,
    ROWS,
    WRITTEN,
    Row,
    big_file,
    honest,
    shuffled_sentences,
    under_attack,
)
from tests.browser.conftest import Server
from tests.visitors import Connection, Page, Visitor, sentences
from tests.web.loop import in_a_loop, until

pytestmark = pytest.mark.slow
SECONDS = 0.5
SHORT = [row for row in ROWS if row.number not in ("7", "13")]  # the others take minutes, or a server
SHUFFLED = next(row for row in ROWS if row.attack is shuffled_sentences)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    server = Server(log=folder / "log", GRADIO_TEMP_DIR=str(folder / "gradio"))
    few = sentences(600)  # drawing takes seconds
    try:
        server.wait()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(attack, "drawn", lambda: few)
            yield server
        written = sum(file.stat().st_size for file in folder.rglob("*"))
        assert written < WRITTEN  # log and files of all attacks
    finally:
        server.end()


@pytest.mark.parametrize("row", SHORT, ids=lambda row: row.attack.__name__)
def test_an_honest_visitor_is_served_during_an_attack(
    row: Row, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page.load(server.port)
    monkeypatch.setattr(attack, "big_file", lambda: big_file(16))
    with under_attack(row, server, page) as answers:
        translation, health, problem = in_a_loop(honest(server, page, SECONDS, 1, row.other_work))
    assert max(translation, health) < math.inf  # none is refused
    assert not problem
    assert not row.refused or not answers[200]


def test_a_visitor_does_not_wait_for_the_backlog_of_a_stranger(server: Server) -> None:
    page = Page.load(server.port)
    visitor = Visitor(page, 1, ("",))

    async def overtaken() -> int:
        """The answers that the stranger gets while an honest request waits."""
        await until(lambda: answers[200] >= 3)
        async with Connection(server.port, HONEST) as connection:
            before = answers[200]
            (await connection.ask(visitor.translate())).raise_for_status()
            return answers[200] - before

    with under_attack(SHUFFLED, server, page) as answers:
        assert in_a_loop(overtaken()) < 30  # of 120: one at work, and what is answered until the request is read
