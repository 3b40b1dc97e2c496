"""A visit's own model is shown as the shipped ones are; when it is gone it is gone, and no visit hears of another's."""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from transformer import Translator
from transformer.data import uploaded_corpus
from transformer.inference.attention_maps import KINDS
from transformer.live.limits import Limits
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.portable import PortableModel, load_portable, save_portable
from transformer.web.api import decoding, downloads, mistakes, translate, what_if
from transformer.web.api import models as api_models
from transformer.web.client import Client
from transformer.web.sessions import models
from transformer.web.sessions.model_store import ModelStore

from ...networks import network
from .endpoints import OF_MODELS, Answer, Function, as_sent, ask
from .test_endpoints import refused

SENTENCE = "Wie geht es dir?"
PAIRS = ((SENTENCE, "How are you?"), ("=1+1 Danke", "@home -thanks +a = ..."), ("Guten Morgen", "Good morning!"))
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


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelStore]:
    """The server's, of this test alone."""
    store = ModelStore(Limits())
    for module in (models, downloads, api_models):
        monkeypatch.setattr(module, "model_store", lambda: store)
    yield store
    store.close()


def own(**fields: Any) -> PortableModel:
    """An untrained model of a visitor's pairs, which says words."""
    corpus = uploaded_corpus(PAIRS, shared_vocabulary=fields.get("tie_weights", False))
    sizes = {"src_vocab_size": len(corpus.src_vocab), "tgt_vocab_size": len(corpus.tgt_vocab)}
    model = network(num_encoder_layers=1, num_decoder_layers=1, n_heads=2, **sizes, **fields)
    with torch.no_grad():
        model.output_projection.bias[[corpus.tgt_vocab.ids[token] for token in "PS"]] = -1e9
    checkpoint = Checkpoint(model, corpus.src_vocab, corpus.tgt_vocab, corpus.source_length, output_limit=9)
    return PortableModel(checkpoint, "Mein Modell", "own", corpus.pairs, {}, "")


def stored(store: ModelStore, model: PortableModel | None = None, session: str = "me") -> str:
    """Its key."""
    file, model = store.folder / f"{session}.safetensors", model or own()
    save_portable(model, file)
    return store.put(load_portable(file), Client("", session), file)


@pytest.fixture
def key(store: ModelStore) -> str:
    return stored(store)


def asked(handler: Function, key: str, sentence: str = SENTENCE) -> Answer:
    return ask(handler, {**OWN[handler], "checkpoint": key, "sentence": sentence})


def shown(key: str, sentence: str = SENTENCE) -> Any:
    """The run; or why there is none."""
    answer = ask(translate.translate, {"checkpoint": key, "sentence": sentence})
    return answer["error"]["key"] if "error" in answer else answer["run"]


# Shown as the shipped ones are


@pytest.mark.parametrize("name", NETWORKS)
def test_every_view_answers_for_an_own_model_until_it_is_gone(store: ModelStore, name: str) -> None:
    model = own(**NETWORKS[name])
    key = stored(store, model)
    run = shown(key)
    assert run["checkpoint"] == key
    assert tuple(run["output"]) == Translator(model.checkpoint, key).translate(SENTENCE).output
    assert run["reference"]["text"] == "How are you ?"
    assert run["reference"]["gold"] is None  # nobody has aligned it
    assert {kind: run["attention"][kind]["heads"] for kind in KINDS} == dict.fromkeys(KINDS, 2)
    for handler in OWN:
        assert not refused(asked(handler, key))
    store.delete(key)
    for handler in OWN:
        assert refused(asked(handler, key), "error.model_gone")
    assert shown(key) == "error.model_gone"


def test_what_the_page_is_told_of_it(key: str) -> None:
    about = as_sent(models.about(key))
    assert about["checkpoint"] == key
    assert (about["name"], about["corpus"], about["sentences"], about["surprise"]) == ("Mein Modell", "own", 3, False)
    assert (about["layers"], about["heads"], about["d_model"]) == (1, 2, 16)
    assert about["examples"][0]["sentence"] == SENTENCE
    assert about["words"]["all"][0] == ["Wie geht es dir ?", "How are you ?"]
    assert refused(ask(translate.surprise, {"checkpoint": key}), "error.no_held_out")


def test_mistakes_of_decoding_are_shown_in_it_or_where_they_can_be_seen(store: ModelStore) -> None:
    """Whatever it is called: by its name it would be another one."""
    for called, mistake, model in (
        ("Mein Modell", "softmax_dim", None),
        ("toy", "softmax_dim", None),
        ("classroom", "no_eval", "classroom"),
    ):
        key = stored(store, replace(own(), name=called))
        sent = ask(mistakes.mistake, {"checkpoint": key, "sentence": SENTENCE, "name": mistake})
        assert (sent["model"], sent["sentence"] == SENTENCE) == (model, model is None)


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


# What is taken home


def test_a_notebook_asks_for_the_file_of_a_model_that_it_cannot_carry(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That notebooks run is tested in tests/analysis/test_notebook.py."""
    monkeypatch.setattr("transformer.analysis.notebook.MAX_CARRIED", 1000)
    answer = asked(downloads.notebook, key)
    assert answer["name"] == "Mein Modell-attention.ipynb"
    assert key not in answer["text"]
    title, *cells = json.loads(answer["text"])["cells"]
    assert "Put the model's file beside" in title["source"]
    assert any("Mein-Modell.safetensors" in cell["source"] for cell in cells)


# Gone, and other visits'


def test_no_answer_has_another_visits_key_or_words_in_it(store: ModelStore) -> None:
    theirs, mine = (stored(store, session=session) for session in ("a-stranger", "me"))
    runs = [(mine, SENTENCE), (mine, "wasser"), (f"{mine}x", SENTENCE), ("nothing", SENTENCE), ("toy", "ein Bier")]
    answers: list[Any] = [ask(translate.translate, {"checkpoint": name, "sentence": each}) for name, each in runs]
    answers.append(models.about(mine))
    answers += [asked(handler, name) for handler in OWN for name in (mine, f"{mine}x", "nothing", "toy")]
    said = json.dumps(answers)
    assert [word for word in (theirs, "a-stranger", str(store.folder)) if word in said] == []


def test_a_saved_run_names_the_model_and_not_its_key(key: str) -> None:
    text = asked(downloads.interactive, key)["text"]
    packed = gzip.decompress(base64.b64decode(text.split('id="packed">')[1].split("<")[0]))
    assert b"Mein Modell" in packed
    assert key not in text
    assert key.encode() not in packed


def test_a_shared_model_answers_by_its_token_and_never_names_its_key(store: ModelStore, key: str) -> None:
    token = ask(api_models.share_model, {"checkpoint": key})["checkpoint"]
    told = ask(api_models.shared_model, {"checkpoint": token})
    run = shown(token)
    assert told["checkpoint"] == run["checkpoint"] == token
    assert key not in json.dumps([told, run])
    store.delete(key)
    assert shown(token) == "error.model_gone"


def test_a_model_that_says_a_false_corpus_only_offers_what_it_cannot_take(store: ModelStore) -> None:
    for corpus in ("toy", "classroom"):
        key = stored(store, replace(own(), corpus=corpus), corpus)
        models.about(key)
        assert shown(key)["output"]
        for handler in OWN:
            refused(asked(handler, key))
        assert refused(ask(translate.surprise, {"checkpoint": key}))
