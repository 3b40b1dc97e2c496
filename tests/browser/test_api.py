"""The named endpoint, over HTTP, as another program calls it."""

import json
import urllib.error
import urllib.request

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from transformer import Translator
from transformer.inference.translator import Branch, Sampling
from transformer.mistakes import MISTAKES, DecodingMistake

JSON = {"Content-Type": "application/json"}


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


def test_every_experiment_has_a_named_endpoint(client: Client) -> None:
    named = set(client.view_api(return_format="dict")["named_endpoints"])
    assert {"/translate", "/spot_the_bug", "/beam_search", "/sample", "/teacher_forcing"} <= named


def test_spot_the_bug_answers_with_both_sides(client: Client) -> None:
    answer = client.predict("cross_padding", "Ich möchte ein Bier", "toy", api_name="/spot_the_bug")
    mistake = MISTAKES["cross_padding"]
    assert isinstance(mistake, DecodingMistake)
    found = mistake.run(Translator.load("toy", device="cpu"), "Ich möchte ein Bier")
    numbers = pytest.approx(dict(found.wrong.numbers), abs=1e-6)
    assert answer["wrong"] == {"numbers": numbers, "text": found.wrong.text, "losses": []}
    assert answer["right"]["numbers"] == found.right.numbers
    assert (answer["right_code"], answer["wrong_code"]) == (mistake.right, mistake.wrong)
    trained = client.predict("rank_collapse", api_name="/spot_the_bug")  # in a process of its own
    assert len(trained["right"]["losses"]) == len(trained["wrong"]["losses"]) == 60
    assert trained["wrong"]["numbers"]["largest_weight"] < 0.26 < 0.5 < trained["right"]["numbers"]["largest_weight"]
    with pytest.raises(AppError, match="no such mistake"):
        client.predict("nonesuch", api_name="/spot_the_bug")


def test_the_other_roads_of_decoding_answer_with_the_models_own(client: Client) -> None:
    toy = Translator.load("toy", device="cpu")
    answer = client.predict("Ich möchte ein Bier", 3, 1.0, "toy", api_name="/beam_search")
    tree = toy.beam("Ich möchte ein Bier", 3, 1.0)
    assert (answer["text"], answer["best"]) == (tree.text, tree.best)
    assert [Branch(**branch) for branch in answer["branches"]] == list(tree.branches)
    assert client.predict("ich", api_name="/beam_search")["width"] == 4

    drawn = toy.translate("Ich möchte ein Bier", sampling=Sampling(3.0, 4, 0.9, 5))
    answer = client.predict("Ich möchte ein Bier", 3.0, 4, 0.9, 5, api_name="/sample")
    assert [step["token"] for step in answer["steps"]] == list(drawn.output)
    assert answer == client.predict(
        "Ich möchte ein Bier", temperature=3.0, top_k=4, top_p=0.9, seed=5, api_name="/sample"
    )

    answer = client.predict("Ich möchte ein Cola", api_name="/teacher_forcing")
    assert [row["wanted"] for row in answer["teacher"]] == ["i", "want", "a", "coke", ".", "E"]
    assert answer["right"] == {"teacher": 6, "free": 6}
    for arguments, name, said in (
        (("ich", 6), "/beam_search", "1 to 5 places"),
        (("ich", -1.0), "/sample", "from 0 to 100"),
        (("wasser",), "/teacher_forcing", "I don't know"),
    ):
        with pytest.raises(AppError, match=said):
            client.predict(*arguments, api_name=name)


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


@pytest.mark.parametrize(
    "path", ["app.py", "checkpoints/toy/config.json", "/etc/passwd", "assets/../app.py", "https://example.com/"]
)
def test_other_files_stay_unreachable(url: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(f"{url}gradio_api/file={path}")
    assert error.value.code in (403, 404)


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
def test_what_is_no_question_is_refused_in_a_sentence(url: str, path: str, body: bytes, status: int) -> None:
    answer = httpx.post(f"{url}gradio_api/{path}", content=body, headers=JSON, trust_env=False)
    assert answer.status_code == status
    (said,) = answer.json().values()
    assert isinstance(said, str)
    assert " " in said


def test_the_action_that_a_body_names_is_in_line_wherever_it_is_sent(url: str) -> None:
    """Gradio does what the body names, and not what the address does."""
    named = {each["api_name"]: each["id"] for each in httpx.get(f"{url}config", trust_env=False).json()["dependencies"]}
    body = {"data": ["Ich möchte ein Bier", "toy"], "fn_index": named["translate"]}
    answer = httpx.post(f"{url}gradio_api/run/spot_the_bug", json=body, trust_env=False)
    assert answer.json()["data"][0]["text"] == "i want a beer ."
