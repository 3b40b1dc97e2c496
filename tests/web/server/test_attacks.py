"""An honest visitor is served while a stranger attacks: `make attack` in short, without its times."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from tests.benchmarks import attack
from tests.benchmarks.attack import ROWS, WRITTEN, Row, big_file, honest, under_attack
from tests.browser.conftest import Server
from tests.visitors import sentences
from tests.web.loop import in_a_loop
from tests.web.nginx import MISSING, PROGRAM, nginx_before

pytestmark = pytest.mark.slow
SECONDS = 0.3
SHORT = [row for row in ROWS if row.number not in ("7", "13")]  # the others take minutes, or a server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, classes = (tmp_path_factory.mktemp(name) for name in ("server", "classes"))
    settings: Any = {"GRADIO_TEMP_DIR": str(folder / "gradio"), "TRANSFORMER_CLASSES": str(classes)}
    server = Server(log=folder / "log", TRANSFORMER_PROXIES="1", **settings)
    few = sentences(600)  # drawing takes seconds
    with server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(attack, "drawn", lambda: few)
        yield server
        written = sum(file.stat().st_size for file in folder.rglob("*"))
        assert written < WRITTEN  # log and files of all attacks


@pytest.fixture(scope="module")
def proxied(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int | None]:
    """The port of nginx before the server, if there is one."""
    if not PROGRAM:
        yield None
        return
    with nginx_before([server], tmp_path_factory.mktemp("nginx")) as port:
        yield port


@pytest.mark.parametrize("row", SHORT, ids=lambda row: row.name)
def test_an_honest_visitor_is_served_during_an_attack(
    row: Row, server: Server, proxied: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = proxied if row.behind_nginx else server.port
    if port is None:
        pytest.skip(MISSING)
    monkeypatch.setattr(attack, "big_file", lambda: big_file(16))
    with under_attack(row, port) as answers:
        translation, health, problem = in_a_loop(honest(port, SECONDS, row.other_work))
    assert max(translation, health) < math.inf  # none is refused
    assert not problem
    assert not row.refused or not answers[200]
