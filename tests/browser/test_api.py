"""The named endpoints, over HTTP, as another program calls them. What they answer is in tests/web/api."""

import json
from typing import Any

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from transformer import Translator
from transformer.inference.decoding import Hypothesis, Sampling
from transformer.mistakes import MISTAKES, DecodingMistake

JSON = {"Content-Type": "application/json"}
BIER = "Ich möchte ein Bier"


@pytest.fixture(scope="module")
def client(url: str) -> Client:
    return Client(url, verbose=False)


@pytest.fixture(scope="module")
def toy() -> Translator:
    return Translator.load("toy", device="cpu")


def test_translate_answers_with_the_run(client: Client, toy: Translator) -> None:
    answer = client.predict(BIER, "toy", api_name="/translate")
    run = toy.translate(BIER)
    assert (answer["text"], answer["output"], answer["device"]) == (run.text, list(run.output), "cpu")
    assert answer["attention"]["cross"] == [layer.weights.tolist() for layer in run.attention.cross]
    assert client.predict("ich mochte ein cola", api_name="/translate")["text"] == "i want a coke ."


def test_spot_the_bug_answers_with_both_sides(client: Client, toy: Translator) -> None:
    answer = client.predict("cross_padding", BIER, "toy", api_name="/spot_the_bug")
    mistake = MISTAKES["cross_padding"]
    assert isinstance(mistake, DecodingMistake)
    found = mistake.run(toy, BIER)
    numbers = pytest.approx(dict(found.wrong.numbers), abs=1e-6)
    assert answer["wrong"] == {"numbers": numbers, "text": found.wrong.text, "losses": []}
    assert answer["right"]["numbers"] == found.right.numbers
    assert (answer["right_code"], answer["wrong_code"]) == (mistake.right, mistake.wrong)


def test_decoding_strategies_answer_with_the_models_own(client: Client, toy: Translator) -> None:
    answer = client.predict(BIER, 3, 1.0, "toy", api_name="/beam_search")
    tree = toy.beam(BIER, 3, 1.0)
    assert (answer["text"], answer["best"]) == (tree.text, tree.best)
    assert [Hypothesis(**branch) for branch in answer["branches"]] == list(tree.branches)
    assert client.predict("ich", api_name="/beam_search")["width"] == 4

    drawn = toy.translate(BIER, sampling=Sampling(3.0, 4, 0.9, 5))
    answer = client.predict(BIER, 3.0, 4, 0.9, 5, api_name="/sample")
    assert [step["token"] for step in answer["steps"]] == list(drawn.output)
    assert answer == client.predict(BIER, temperature=3.0, top_k=4, top_p=0.9, seed=5, api_name="/sample")

    answer = client.predict("Ich möchte ein Cola", api_name="/teacher_forcing")
    assert [row["wanted"] for row in answer["teacher"]] == ["i", "want", "a", "coke", ".", "E"]
    assert answer["right"] == {"teacher": 6, "free": 6}


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("/translate", ("wasser",), "wasser"),
        ("/translate", ("ich", "../toy"), "classroom"),
        ("/spot_the_bug", ("nonesuch",), "cross_padding"),
        ("/beam_search", ("ich", 6), "5"),
        ("/sample", ("ich", -1.0), "greater than or equal to 0"),
        ("/teacher_forcing", ("wasser",), "wasser"),
    ],
)
def test_a_refusal_is_a_sentence(client: Client, name: str, arguments: tuple[Any, ...], named: str) -> None:
    with pytest.raises(AppError, match=rf"\w+ \w+.*{named}"):
        client.predict(*arguments, api_name=name)


def test_translate_answers_curl(url: str) -> None:
    asked = httpx.post(f"{url}gradio_api/call/translate", json={"data": [BIER, "toy"]}, trust_env=False)
    answer = httpx.get(f"{url}gradio_api/call/translate/{asked.json()['event_id']}", trust_env=False).text
    event, data = answer.strip().splitlines()
    assert event == "event: complete"
    assert json.loads(data.removeprefix("data: "))[0]["text"] == "i want a beer ."


def test_the_request_queue_takes_the_action_that_a_body_names(url: str) -> None:
    """Gradio does what the body names, and not what the address does."""
    named = {each["api_name"]: each["id"] for each in httpx.get(f"{url}config", trust_env=False).json()["dependencies"]}
    body = {"data": [BIER, "toy"], "fn_index": named["translate"]}
    answer = httpx.post(f"{url}gradio_api/run/spot_the_bug", json=body, trust_env=False)
    assert answer.json()["data"][0]["text"] == "i want a beer ."


@pytest.mark.parametrize(
    "path", ["app.py", "checkpoints/toy/config.json", "/etc/passwd", "assets/../app.py", "https://example.com/"]
)
def test_other_files_stay_unreachable(url: str, path: str) -> None:
    assert httpx.get(f"{url}gradio_api/file={path}", trust_env=False).status_code in (403, 404)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("run/translate", b"{", 422),
        ("run/translate", b'"ich"', 422),
        ("run/translate", b'{"data": "ich"}', 422),
        ("run/translate", b'{"data": [], "fn_index": "x"}', 422),
        ("run/nonesuch", b'{"data": []}', 404),
        ("run/translate", b'{"data": [], "fn_index": 999}', 404),
        ("queue/join", b'{"data": [], "fn_index": 999, "session_hash": "x"}', 404),
        ("component_server/", b"{", 400),
        ("component_server/", b"[]", 400),
        ("component_server/", b'{"data": 1, "fn_name": "heads", "component_id": 999, "session_hash": "x"}', 404),
    ],
)
def test_a_malformed_request_is_refused_in_a_sentence(url: str, path: str, body: bytes, status: int) -> None:
    answer = httpx.post(f"{url}gradio_api/{path}", content=body, headers=JSON, trust_env=False)
    assert answer.status_code == status
    (message,) = answer.json().values()
    assert isinstance(message, str)
    assert " " in message
