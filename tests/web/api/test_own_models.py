"""A visit's own model is shown as the shipped ones are; when it is gone it is gone, and no visit hears of another's."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from transformer import TransformerConfig, Translator
from transformer.inference.attention_maps import KINDS
from transformer.live.limits import Limits
from transformer.live.stream import live
from transformer.network.cost import count_parameters
from transformer.storage.portable import load_portable
from transformer.web.api import decoding, downloads, events, mistakes, sharing, what_if
from transformer.web.fair_queue import Client
from transformer.web.sessions import models
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX, ModelStore

from ...live.test_stream import job
from .endpoints import OF_MODELS, Answer, Function
from .test_endpoints import refused

ROOT = Path(__file__).resolve().parents[3]
SENTENCE = "Wie geht es dir?"
PAIRS = [[SENTENCE, "How are you?"], ["=1+1 Danke", "@home -thanks +a = ..."], ["Guten Morgen", "Good morning!"]]
NETWORKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "another kind": {"tie_weights": True, "norm_first": True, "positional_encoding": False},
}
OWN: dict[Function, Answer] = {  # about visitors' models
    function: {**request, "word": "you", "changes": []}
    for function, request in OF_MODELS.items()
    if function not in (what_if.sweep, mistakes.mistake)  # which need the toy's sentences
}
OWN[decoding.forced]["mistake"] = {"step": 1, "word": "you"}


pytestmark = pytest.mark.slow  # it trains models


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelStore]:
    """The server's, of this test alone."""
    store = ModelStore(Limits())
    for module in (models, downloads, sharing):
        monkeypatch.setattr(module, "model_store", lambda: store)
    yield store
    store.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models that were trained on a visitor's pairs, until they know them."""
    made, folder = {}, tmp_path_factory.mktemp("models")
    for name, changes in NETWORKS.items():
        learning = {"steps": 60, "dropout": 0.0, "batch_size": 3, "learning_rate": 0.02, "d_model": 16, "d_ff": 32}
        asked = job("own", name="Mein Modell", pairs=PAIRS, **learning, **changes)
        for event in live(asked, folder / name):
            if event["event"] == "trained":
                break
        made[name] = folder / name
    return made


def stored(store: ModelStore, file: Path, session: str = "me") -> str:
    """Its key."""
    copy = store.folder / f"{session}.safetensors"
    copy.write_bytes(file.read_bytes())
    return store.put(load_portable(copy), Client("", session), copy)


@pytest.fixture
def key(store: ModelStore, files: dict[str, Path]) -> str:
    return stored(store, files["plain"])


def asked(handler: Function, key: str, sentence: str = SENTENCE, **more: Any) -> dict[str, Any]:
    """An answer as it reaches the page."""
    answer = handler({**OWN[handler], "checkpoint": key, "sentence": sentence, **more})
    return json.loads(json.dumps(answer, ensure_ascii=False, allow_nan=False).encode())


def shown(key: str, sentence: str = SENTENCE) -> dict[str, Any]:
    answer = json.loads(
        json.dumps(
            events.ask({"checkpoint": key, "sentence": sentence})[1], ensure_ascii=False, allow_nan=False
        ).encode()
    )
    assert answer["error"] is None
    return answer["run"]


def error_of(key: str, sentence: str) -> str:
    answer = events.ask({"checkpoint": key, "sentence": sentence})[1]
    assert answer["run"] is None
    return answer["error"]["key"]


# Shown as the shipped ones are


@pytest.mark.parametrize("name", NETWORKS)
def test_an_own_model_is_shown(store: ModelStore, files: dict[str, Path], name: str) -> None:
    key = stored(store, files[name])
    run = shown(key)
    expected = Translator(load_portable(files[name]).checkpoint, key).translate(SENTENCE)
    assert run["checkpoint"] == key
    assert tuple(run["output"]) == expected.output == ("How", "are", "you", "?", "E")
    assert run["reference"]["text"] == "How are you ?"
    assert run["reference"]["gold"] is None  # nobody has aligned it
    assert {kind: run["attention"][kind]["heads"] for kind in KINDS} == dict.fromkeys(KINDS, 2)


def test_what_the_page_is_told_of_it(key: str) -> None:
    about = json.loads(json.dumps(models.about(key)))
    assert about["checkpoint"] == key
    assert (about["name"], about["corpus"], about["sentences"], about["surprise"]) == ("Mein Modell", "own", 3, False)
    assert (about["layers"], about["heads"], about["d_model"]) == (1, 2, 16)
    assert about["examples"][0]["sentence"] == "Wie geht es dir?"
    assert about["words"]["all"][0] == ["Wie geht es dir ?", "How are you ?"]


def test_a_shipped_model_is_described_without_loading_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(models, "_shipped")
    assert models.about("classroom")["checkpoint"] == "classroom"


def test_a_click_on_another_model_shows_its_first_example(key: str) -> None:
    sentence, answer = events.choose({"checkpoint": key, "sentence": "Ich möchte ein Bier", "example": True})
    assert sentence == answer["run"]["sentence"] == "Wie geht es dir?"
    assert refused(events.surprise({"checkpoint": key})[1], "error.no_held_out")


# What is kept


def test_few_answers_about_visitors_models_are_kept_and_many_about_shipped_ones(key: str) -> None:
    computed: list[int] = []

    @models.cached_per_checkpoint(3, own=1)
    def answer(checkpoint: str, n: int) -> int:
        computed.append(n)
        return n

    for checkpoint, kept in (("toy", 3), (key, 1)):
        computed.clear()
        for n in (*range(4), *range(4 - kept, 4), 0):
            assert answer(checkpoint, n) == n
        assert computed == [*range(4), 0]


def test_a_large_model_reads_fewer_held_out_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    every = models.held_out("classroom")
    assert models.readable("classroom") == every
    assert len(models.readable("classroom", 25)) >= what_if.MAX_PAIRS
    papers = count_parameters(TransformerConfig(294, 207))
    monkeypatch.setattr(models, "count_parameters", lambda config: papers)
    assert 50 < len(models.readable("classroom")) < 200
    assert models.readable("classroom", 145) == every[:1]
    monkeypatch.setattr(models, "count_parameters", lambda config: 10**12)
    assert models.readable("classroom") == every[:1]


# What is taken home


def test_a_table_has_no_formula_in_it(key: str) -> None:
    assert shown(key, "=1+1 Danke")["output"] == ["@home", "-", "thanks", "+a", "=", ".", ".", ".", "E"]
    answer = asked(downloads.weights_csv, key, "=1+1 Danke")
    assert answer["name"] == "Mein Modell-attention.csv"
    rows = list(csv.DictReader(io.StringIO(answer["text"])))
    cells = {cell for row in rows for cell in row.values()}
    assert {cell for cell in cells if cell[:1] in "=+-@"} == set()
    assert {"'=1+1", "'@home", "'-", "'+a", "'="} <= {row["key_token"] for row in rows} | {
        row["query_token"] for row in rows
    }
    assert "Danke" in {row["key_token"] for row in rows}


@pytest.mark.parametrize("carried", [True, False])
def test_a_notebook_carries_its_model_or_runs_beside_its_file(
    key: str, store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carried: bool
) -> None:
    if not carried:
        monkeypatch.setattr("transformer.analysis.notebook.MAX_CARRIED", 1000)
        (tmp_path / "Mein-Modell.safetensors").write_bytes(store.find(key).file.read_bytes())
    answer = asked(downloads.notebook, key)
    assert answer["name"] == "Mein Modell-attention.ipynb"
    assert key not in answer["text"]
    cells = json.loads(answer["text"])["cells"]
    assert ("Put the model's file beside" in cells[0]["source"]) is not carried
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    space: dict[str, Any] = {}
    for cell in code:
        exec(cell, space)
    assert space["translator"].checkpoint.src_vocab == models.translator(key).checkpoint.src_vocab
    assert len(space["checks"]) == 4


# Gone, and other visits'


@pytest.mark.parametrize("handler", OWN, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", NETWORKS)
def test_every_view_answers_for_an_own_model_until_it_is_gone(
    store: ModelStore, files: dict[str, Path], name: str, handler: Function
) -> None:
    key = stored(store, files[name])
    assert not refused(asked(handler, key))
    store.delete(key)
    assert refused(asked(handler, key), "error.model_gone")
    assert error_of(key, SENTENCE) == "error.model_gone"


@pytest.mark.parametrize(
    "name",
    [
        OWN_MODEL_PREFIX,
        f"{OWN_MODEL_PREFIX}x",
        f"{OWN_MODEL_PREFIX}../toy",
        f"{OWN_MODEL_PREFIX}\0",
        f"{OWN_MODEL_PREFIX}\ud800",
        OWN_MODEL_PREFIX + "x" * 5000,
    ],
)
def test_a_key_that_never_was_is_gone_too(store: ModelStore, name: str) -> None:
    assert error_of(name, SENTENCE) == "error.model_gone"
    for handler in OWN:
        assert refused(asked(handler, name), "error.model_gone")


def test_no_answer_has_another_visits_key_or_words_in_it(store: ModelStore, files: dict[str, Path]) -> None:
    theirs, mine = stored(store, files["another kind"], "them"), stored(store, files["plain"], "me")
    runs = [(mine, SENTENCE), (mine, "wasser"), (f"{mine}x", SENTENCE), ("nothing", SENTENCE), ("toy", "ein Bier")]
    answers: list[Any] = [events.ask({"checkpoint": name, "sentence": each})[1] for name, each in runs]
    answers.append(models.about(mine))
    answers += [asked(handler, name) for handler in OWN for name in (mine, f"{mine}x", "nothing", "toy")]
    said = json.dumps(answers)
    assert theirs not in said
    assert "them" not in said
    assert str(store.folder) not in said


# Files that lie


def test_a_shared_model_answers_by_its_token_and_never_names_its_key(store: ModelStore, key: str) -> None:
    token = sharing.share_model({"checkpoint": key})["checkpoint"]
    told = sharing.shared_model({"checkpoint": token})
    run = shown(token)
    assert told["checkpoint"] == run["checkpoint"] == token
    assert key not in json.dumps([told, run])
    store.delete(key)
    assert error_of(token, SENTENCE) == "error.model_gone"


def test_a_model_that_says_a_false_corpus_only_offers_what_it_cannot_take(
    store: ModelStore, files: dict[str, Path]
) -> None:
    portable = load_portable(files["plain"])
    for corpus in ("toy", "classroom"):
        file = store.folder / corpus
        file.write_bytes(b"")
        key = store.put(type(portable)(**(vars(portable) | {"corpus": corpus})), Client("", corpus), file)
        models.about(key)
        assert shown(key)["output"]
        for handler in OWN:
            answer = asked(handler, key)
            refused(answer)
        _, answer = events.surprise({"checkpoint": key})
        assert answer["run"] is None
        _, answer = events.choose({"checkpoint": key, "sentence": "x"})
        assert answer["error"]["key"].startswith("error.")
