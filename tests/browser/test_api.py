"""The named endpoint, over HTTP, as another program calls it."""

import json
import urllib.error
import urllib.request

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from transformer import Translator


@pytest.fixture(scope="module")
def client(url: str) -> Client:
    return Client(url, verbose=False)


def test_translate_answers_with_the_run(client: Client) -> None:
    answer = client.predict("Ich möchte ein Bier", "toy", api_name="/translate")
    run = Translator.load("toy", device="cpu").translate("Ich möchte ein Bier")
    assert answer["text"] == run.text
    assert answer["output"] == list(run.output)
    assert answer["attention"]["cross"] == [layer.weights.tolist() for layer in run.attention.cross]
    assert answer["device"] == "cpu"


def test_the_checkpoint_may_be_left_out(client: Client) -> None:
    assert client.predict("ich mochte ein cola", api_name="/translate")["text"] == "i want a coke ."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("wasser",), "I don't know “wasser”"), (("",), "no word"), (("ich", "../toy"), "no such checkpoint")],
)
def test_a_refusal_is_a_sentence(client: Client, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(AppError, match=said):
        client.predict(*arguments, api_name="/translate")


def test_translate_is_the_only_named_endpoint(client: Client) -> None:
    assert list(client.view_api(return_format="dict")["named_endpoints"]) == ["/translate"]


def test_translate_answers_curl(url: str) -> None:
    asked = urllib.request.Request(
        f"{url}gradio_api/call/translate",
        data=json.dumps({"data": ["Ich möchte ein Bier", "toy"]}).encode(),
        headers={"Content-Type": "application/json"},
    )
    event = json.load(urllib.request.urlopen(asked))["event_id"]
    answer = urllib.request.urlopen(f"{url}gradio_api/call/translate/{event}").read().decode()
    assert "event: complete" in answer
    assert '"text": "i want a beer ."' in answer


@pytest.mark.parametrize("path", ["app.py", "checkpoints/toy/config.json", "/etc/passwd", "assets/../app.py"])
def test_other_files_stay_unreachable(url: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(f"{url}gradio_api/file={path}")
    assert error.value.code in (403, 404)
