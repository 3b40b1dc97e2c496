"""What programs ask through Gradio: every action is answered or refused with a sentence, and nothing else is there."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gradio.utils import get_function_description
from starlette.testclient import TestClient

from transformer.web import page
from transformer.web.access_log import LOG
from transformer.web.api import turns
from transformer.web.api.table import ACTIONS
from transformer.web.client import Client
from transformer.web.fair_queue import FairQueue, QueueFullError
from transformer.web.server import programs
from transformer.web.server.application import CALLS_PER_ADDRESS, FairCalls, application
from transformer.web.server.files import bundle_address
from transformer.web.server.guard import FAULT

from ..loop import async_test, until

BEER, SECRET = "Ich möchte ein Bier", "geheim"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(application(page.build()), base_url="http://127.0.0.1:7860") as client:
        yield client


def run(client: TestClient, name: str, *values: Any, **headers: str) -> Any:
    return client.post(f"/gradio_api/run/{name}", json={"data": values}, headers=headers)


def test_an_action_waits_for_its_turn_as_its_client(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, Client]] = []
    turn = turns.turn

    def counted(checkpoint: object, who: Client) -> Any:
        asked.append((checkpoint, who))
        return turn(checkpoint, who)

    monkeypatch.setattr(programs, "turn", counted)
    answer = run(client, "attention", BEER, "cross", 1, 5, "toy").json()["data"][0]
    assert np.allclose(np.sum(answer["weights"], axis=1), 1, atol=1e-3)
    ((checkpoint, who),) = asked
    assert (checkpoint, who.address) == ("toy", "testclient")


@pytest.mark.parametrize("function", ACTIONS, ids=lambda function: function.__name__)
def test_a_tool_describes_every_value_in_whole_sentences(function: Any) -> None:
    """Gradio reads a docstring by lines: of a value that takes two it would know the first only."""
    _, values, answers = get_function_description(programs.as_action(function))
    values.pop("request")
    assert all(text.endswith(".") for text in values.values()), values
    assert len(answers) == 1


def test_errors_are_sentences_and_say_nothing_of_the_visitor(
    client: TestClient,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO, LOG.name)
    refused = run(client, "translate", "wasser", "toy")
    assert (refused.status_code, refused.json()["error"][:37]) == (500, "This model does not know “wasser”. It")
    body, headers = f'{{"data": ["{BEER}", 3, NaN, "toy"]}}', {"Content-Type": "application/json"}
    no_number = client.post("/gradio_api/run/beam_search", content=body, headers=headers)
    assert no_number.json()["error"] == "“alpha” must be a number."
    too_few = run(client, "attention", SECRET).json()["error"]
    assert too_few == "This action takes 5 values, and 1 came."
    monkeypatch.setattr(programs, "plain", lambda _: {}[SECRET])
    assert run(client, "translate", BEER, "toy").json()["error"] == FAULT
    outcomes = [record.__dict__["logged"].get("outcome") for record in caplog.records if record.name == LOG.name]
    assert [each for each in outcomes if each] == ["error.unknown", "field.number", "fault"]
    assert SECRET not in "".join(capfd.readouterr()) + caplog.text


def test_a_sessions_own_model_is_the_pages(client: TestClient) -> None:
    """Its answers, as lists of numbers, may be so large that they hold others up."""
    refused = run(client, "translate", BEER, f"own-{SECRET}").json()["error"]
    assert "toy" in refused
    assert SECRET not in refused


def test_the_page_names_its_bundle_beside_itself(client: TestClient) -> None:
    assert client.get("/").headers["link"] == f'<{bundle_address("app.js")}>; rel="modulepreload"'
    assert "link" not in client.get("/config").headers


def test_a_call_too_many_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise QueueFullError

    monkeypatch.setattr(FairQueue, "join", full)
    refused = run(client, "translate", BEER, "toy")
    assert (refused.status_code, refused.text) == (503, "Too many calls wait. Try again in a moment.")


@async_test
async def test_an_addresss_calls_wait_before_gradio_has_them() -> None:
    begun: list[str] = []
    end = asyncio.Event()

    async def gradio(scope: Any, _receive: Any, _send: Any) -> None:
        begun.append(scope["client"][0])
        await end.wait()

    calls = FairCalls(gradio)

    def call(address: str, path: str = "/gradio_api/run/translate") -> asyncio.Task[None]:
        scope = {"type": "http", "path": path, "headers": [], "client": (address, 1)}
        return asyncio.create_task(calls(scope, None, None))  # type: ignore[arg-type]

    tasks = [call("1.1.1.1") for _ in range(CALLS_PER_ADDRESS + 1)]
    tasks += [call("2.2.2.2"), call("1.1.1.1", "/health")]
    await until(lambda: begun.count("2.2.2.2") == 1 and len(begun) == CALLS_PER_ADDRESS + 2)
    end.set()
    await asyncio.gather(*tasks)
    assert len(begun) == CALLS_PER_ADDRESS + 3
