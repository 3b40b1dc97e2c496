"""A model goes home as one file and comes back bit for bit; a file that anybody may have made is taken whole or refused
with one sentence, and nothing else happens."""

import hashlib
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer import TransformerConfig, Translator, Vocabulary
from transformer.data import uploaded_corpus
from transformer.network.cost import count_heads, count_run_values
from transformer.network.model import to_column_major
from transformer.storage import portable
from transformer.storage.checkpoint import FOLDER, Checkpoint
from transformer.storage.portable import (
    MAX_HEADER,
    MAX_HEADS,
    MAX_RUN_VALUES,
    MAX_WORDS,
    METADATA_KEY,
    PortableError,
    PortableModel,
    is_valid_name,
    load_portable,
    max_file_bytes,
    save_portable,
)

from ..networks import network
from .test_checkpoint import Bomb, small

SENTENCE = "wort1 wort2 wort0"
TRAINING = {"steps": 3, "learning_rate": 0.001, "schedule": "constant", "seed": 42, "held_out_pairs": 0}
ROOT = Path(__file__).resolve().parents[2]
Edit = Callable[[dict[str, Any]], object]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def packed(pad_source: bool = True, **fields: Any) -> PortableModel:
    return PortableModel(
        checkpoint=Checkpoint(**(vars(small(**fields)) | {"pad_source": pad_source})),
        name="Mein Modell",
        corpus="own",
        pairs=(("wort1 wort2", "wort2 wort1"), ("übung !", "“quoted” .")),
        training=TRAINING,
        card="# Mein Modell\n\nSays “nothing”.\n",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secret-place")


@pytest.fixture(scope="module")
def saved(folder: Path) -> Path:
    """A good file. Nobody writes to it."""
    save_portable(packed(), folder / "saved.safetensors")
    return folder / "saved.safetensors"


@pytest.fixture
def other(folder: Path) -> Path:
    """Where to write a bad one."""
    return folder / "other.safetensors"


def refusal(file: Path, **limits: int) -> str:
    """What a file is refused with: one sentence for a page, without a path of the server in it."""
    with pytest.raises(PortableError) as error:
        load_portable(file, **limits)
    sentence, sent = str(error.value), error.value.message.for_page()
    assert sent["key"].startswith("file.")
    assert sent["english"] == sentence
    assert sentence.endswith(".")
    assert not sentence.endswith("..")
    assert sentence.isprintable()
    assert len(sentence) < 300
    for place in (file.parent.name, file.name, str(ROOT), str(file.parent.parent)):
        assert place not in json.dumps(sent)
    json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()  # as it is sent
    return sentence


def rewritten(
    saved: Path,
    other: Path,
    about: Edit = lambda about: None,
    weights: Callable[[dict[str, Tensor]], object] = lambda weights: None,
    text: Callable[[str], str] = lambda text: text,
) -> Path:
    """The good file with other content, signed as if it were meant."""
    with safe_open(saved, framework="pt") as stored:
        values = json.loads(json.loads(stored.metadata()[METADATA_KEY])["about"])
    tensors = load_file(saved)
    about(values)
    weights(tensors)
    written = text(json.dumps(values))
    save_file(
        tensors, other, metadata={METADATA_KEY: json.dumps({"about": written, "digest": digest(written, tensors)})}
    )
    return other


def digest(about: str, tensors: dict[str, Tensor]) -> str:
    found = hashlib.sha256(about.encode(errors="replace"))
    for name in sorted(tensors):
        found.update(tensors[name].float().numpy().tobytes())
    return found.hexdigest()


def same_weights(one: PortableModel, two: PortableModel) -> bool:
    ours, theirs = (each.checkpoint.model.state_dict() for each in (one, two))
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


# What comes back

NETWORKS: list[dict[str, Any]] = [
    {},
    {"tie_weights": True, "tgt_vocab_size": 11},
    {"norm_first": True, "final_norm": "both", "pad_source": False},
    {"positional_encoding": False, "bias": False, "qkv_bias": False},
]


@pytest.mark.parametrize("fields", NETWORKS)
def test_everything_comes_back_bit_for_bit(fields: dict[str, Any], tmp_path: Path) -> None:
    before = packed(**fields)
    save_portable(before, tmp_path / "model.safetensors")
    after = load_portable(tmp_path / "model.safetensors")
    for name in ("name", "corpus", "pairs", "training", "card"):
        assert getattr(after, name) == getattr(before, name)
    for name in ("src_vocab", "tgt_vocab", "source_length", "output_limit", "pad_source"):
        assert getattr(after.checkpoint, name) == getattr(before.checkpoint, name)
    assert after.checkpoint.model.config == before.checkpoint.model.config
    assert same_weights(after, before)
    assert not after.checkpoint.model.training


@pytest.mark.parametrize("fields", NETWORKS)
def test_what_comes_back_translates_the_same(fields: dict[str, Any], tmp_path: Path) -> None:
    before = packed(**fields)
    save_portable(before, tmp_path / "model.safetensors")
    to_column_major(before.checkpoint.model)  # as what is loaded is; sums of another order round otherwise
    one = Translator(before.checkpoint, "").translate(SENTENCE)
    two = Translator(load_portable(tmp_path / "model.safetensors").checkpoint, "").translate(SENTENCE)
    assert (one.text, one.output, one.steps) == (two.text, two.output, two.steps)
    for kind in ("encoder", "decoder", "cross"):
        for ours, theirs in zip(one.attention.of(kind), two.attention.of(kind), strict=True):
            assert (ours.weights == theirs.weights).all()


def test_the_same_model_gives_the_same_bytes(saved: Path, other: Path) -> None:
    save_portable(packed(), other)
    assert other.read_bytes() == saved.read_bytes()
    save_portable(load_portable(saved), other)
    assert other.read_bytes() == saved.read_bytes()


def test_a_file_tells_its_seed_to_whoever_opens_it_elsewhere(saved: Path) -> None:
    with safe_open(saved, framework="pt") as stored:
        about = json.loads(json.loads(stored.metadata()[METADATA_KEY])["about"])
        assert set(stored.keys()) == {name for name, _ in network().named_parameters()}
    assert about["training"] == TRAINING


def test_a_translator_takes_the_file(saved: Path) -> None:
    for name in (saved, str(saved)):
        translator = Translator.load(name, device="cpu")
        assert translator.name == "saved"
        assert translator.asked == "cpu"
        assert translator.translate(SENTENCE).text == Translator(packed().checkpoint, "").translate(SENTENCE).text


def test_a_translator_refuses_what_is_no_such_file(other: Path) -> None:
    other.write_bytes(b"nothing")
    with pytest.raises(PortableError):
        Translator.load(other)
    with pytest.raises(PortableError):
        Translator.load(FOLDER / "toy" / "model.safetensors")  # whose parts lie beside it


@given(st.binary(max_size=200), st.text(alphabet="äß\"\\✓'\n{}", max_size=20))
@example(b"", '"\\"')
def test_texts_of_any_letters_come_back(folder: Path, noise: bytes, text: str) -> None:
    pairs = ((f"a{text}", f"b{text}"), (noise.hex() or "c", "d"))
    before = PortableModel(packed().checkpoint, "x", "own", pairs, {}, card=text)
    save_portable(before, folder / "texts.safetensors")
    after = load_portable(folder / "texts.safetensors")
    assert (after.pairs, after.card) == (before.pairs, text)


def of_pairs(*pairs: tuple[str, str]) -> PortableModel:
    """A model of a visitor's own pairs, with their vocabularies."""
    corpus = uploaded_corpus(pairs)
    sizes = {"src_vocab_size": len(corpus.src_vocab), "tgt_vocab_size": len(corpus.tgt_vocab)}
    model = network(d_model=2, n_heads=1, num_encoder_layers=1, num_decoder_layers=1, max_len=200, **sizes)
    checkpoint = Checkpoint(model, corpus.src_vocab, corpus.tgt_vocab, corpus.source_length, output_limit=91)
    return PortableModel(checkpoint, "big", "own", corpus.pairs, {}, "")


@pytest.mark.parametrize(
    ("source", "target"),
    [("ß" * 500, "ja"), ("ja", "ffi" * 500), ("a" * 500, "...." + "b" * 490 + "!?"), ("a " * 60, "." * 59 + "a")],
)
def test_the_longest_sentences_that_are_learned_from_come_back(source: str, target: str, other: Path) -> None:
    """Folding makes some letters several, and marks get spaces around them."""
    before = of_pairs((source, target))
    save_portable(before, other)
    assert load_portable(other).pairs == before.pairs


def test_as_many_words_as_may_be_learned_from_come_back_in_another_script(other: Path) -> None:
    words = [chr(ord("а") + i) * 22 for i in range(32)]  # 60,000 words in 2,000 pairs
    before = of_pairs(*(((" ".join(words[i % 17 :][:15])), " ".join(words[i % 13 :][:15])) for i in range(2000)))
    save_portable(before, other)
    assert load_portable(other).pairs == before.pairs


@pytest.mark.parametrize("name", ["Bert", "ß✓ 猫", "../../x", "a" * 40, '"', "="])
def test_names_are_lines_of_text(name: str) -> None:
    assert is_valid_name(name)


@pytest.mark.parametrize("name", ["", " ", "a" * 41, "a\nb", "\0", "\u200b", "\u3164", "\ud800", "\u202e", 5, None, []])
def test_what_does_not_show_is_no_name(name: object) -> None:
    assert not is_valid_name(name)


# What is no such file


@given(st.binary(max_size=500))
@example(b"")
@example(bytes(7))
@example(bytes(8))
@example(bytes(100))
@example(b"\xff" * 8)
@example(b"\x02" + bytes(7) + b"{}")
@example(b"\x02" + bytes(7) + b"[]")
@example(b"\x09" + bytes(7) + b"[[[[[[[[[")
def test_any_bytes_are_refused(folder: Path, content: bytes) -> None:
    (folder / "bytes.safetensors").write_bytes(content)
    assert "no whole file of a model" in refusal(folder / "bytes.safetensors")


@given(st.data())
def test_a_file_that_is_cut_off_anywhere_is_refused(saved: Path, folder: Path, data: st.DataObject) -> None:
    content = saved.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    near = [*range(10), header - 1, header, header + 1, len(content) - 1]
    keep = data.draw(st.sampled_from(near) | st.integers(0, len(content) - 1))
    (folder / "cut.safetensors").write_bytes(content[:keep])
    refusal(folder / "cut.safetensors")


@pytest.mark.parametrize("more", [b"\0", b"more", bytes(4096)])
def test_a_file_with_more_at_its_end_is_refused(saved: Path, other: Path, more: bytes) -> None:
    other.write_bytes(saved.read_bytes() + more)
    refusal(other)


@pytest.mark.parametrize("header", [0, 1, MAX_HEADER, MAX_HEADER + 1, 2**31, 2**63, 2**64 - 1])
def test_a_header_of_another_length_is_refused_before_it_is_read(
    saved: Path, other: Path, header: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.write_bytes(header.to_bytes(8, "little") + saved.read_bytes()[8:])
    monkeypatch.setattr(portable, "safe_open", pytest.fail)
    assert "no whole file" in refusal(other)


def test_a_header_that_is_too_big_is_not_read_though_it_is_all_there(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with other.open("wb") as file:
        file.write((MAX_HEADER + 1).to_bytes(8, "little"))
        file.truncate(MAX_HEADER + 100)
    monkeypatch.setattr(portable, "safe_open", pytest.fail)
    assert "no whole file" in refusal(other)


def test_a_file_that_is_too_big_is_not_opened(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with other.open("wb") as file:
        file.truncate(max_file_bytes(1000) + 1)  # takes no place on the disk
    monkeypatch.setattr(portable, "safe_open", pytest.fail)
    assert "too big" in refusal(other, max_parameters=1000)


@given(st.data(), st.integers(1, 255))
def test_a_byte_that_was_changed_is_found_or_means_nothing(
    saved: Path, folder: Path, data: st.DataObject, change: int
) -> None:
    content = bytearray(saved.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    at = data.draw(st.integers(0, header - 1) | st.integers(header, len(content) - 1))
    content[at] ^= change
    file = folder / "changed.safetensors"
    file.write_bytes(content)
    try:
        after = load_portable(file)
    except PortableError:
        refusal(file)
    else:  # white space of JSON, or an escaped letter written otherwise
        assert at < header
        before = load_portable(saved)
        assert same_weights(after, before)
        assert (after.name, after.pairs, after.card) == (before.name, before.pairs, before.card)


def test_every_byte_of_the_weights_counts(saved: Path, other: Path) -> None:
    content = saved.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for at in (header, header + 3, (header + len(content)) // 2, len(content) - 4, len(content) - 1):
        other.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert "it is not what was saved" in refusal(other)


@pytest.mark.parametrize("write", [pickle.dump, torch.save])
def test_a_pickle_is_refused_and_does_not_run(other: Path, tmp_path: Path, write: Callable[..., None]) -> None:
    trace = tmp_path / "trace"
    with other.open("wb") as file:
        write({"weight": Bomb(trace)}, file)
    refusal(other)
    with pytest.raises(PortableError):
        Translator.load(other)
    assert not trace.exists()
    pickle.loads(pickle.dumps(Bomb(trace)))
    assert trace.exists()  # it would have


def test_a_zip_is_refused(saved: Path, other: Path) -> None:
    with zipfile.ZipFile(other, "w") as archive:
        archive.write(saved, "model.safetensors")
    refusal(other)


@pytest.mark.parametrize(
    "metadata", [None, {}, {"format": "pt"}, {"digests": "{}"}, {METADATA_KEY: "null"}, {METADATA_KEY: ""}]
)
def test_somebody_elses_weights_are_refused(other: Path, metadata: dict[str, str] | None) -> None:
    save_file({"weight": torch.ones(3)}, other, metadata=metadata)
    refusal(other)
    save_file(dict(network().named_parameters()), other, metadata=metadata)
    refusal(other)


@pytest.mark.parametrize(
    "entry",
    [
        *(
            {"about": about, "digest": ""}
            for about in (None, 5, [], {}, "", "null", "5", "[]", "{", '"x"', "[" * 10**5)
        ),
        *({"about": '{"pairs": [], "training": {}}', "digest": digest} for digest in (None, 5, [], "")),
        {"about": "{}"},
        {"digest": "0" * 64},
        *([], [[]], 5, "about", {}),
    ],
)
def test_another_entry_is_refused(saved: Path, other: Path, entry: Any) -> None:
    save_file(load_file(saved), other, metadata={METADATA_KEY: json.dumps(entry)})
    refusal(other)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 5000, "nul", '{"about": "\\ud800"}'])
def test_an_entry_that_is_no_json_is_refused(saved: Path, other: Path, text: str) -> None:
    save_file(load_file(saved), other, metadata={METADATA_KEY: text})
    refusal(other)


@pytest.mark.parametrize("signed", ["", "0" * 64, None, 5, [], {}])
def test_another_digest_is_refused(saved: Path, other: Path, signed: Any) -> None:
    with safe_open(saved, framework="pt") as stored:
        entry = json.loads(stored.metadata()[METADATA_KEY])
    save_file(load_file(saved), other, metadata={METADATA_KEY: json.dumps(entry | {"digest": signed})})
    assert "it is not what was saved" in refusal(other)


def test_two_tensors_in_each_others_place_are_found(saved: Path, other: Path) -> None:
    with safe_open(saved, framework="pt") as stored:
        metadata = stored.metadata()
    tensors = load_file(saved)
    one, two = "encoder.layers.0.linear1.weight", "encoder.layers.1.linear1.weight"
    save_file(tensors | {one: tensors[two], two: tensors[one]}, other, metadata=metadata)
    assert "it is not what was saved" in refusal(other)


# What is signed as it should be, but cannot be


def test_the_signature_of_these_tests_is_right(saved: Path, other: Path) -> None:
    assert load_portable(rewritten(saved, other, about=lambda a: a.update(name="Otto"))).name == "Otto"


MODELS: list[tuple[dict[str, Any], str]] = [
    ({"colour": "red"}, "colour"),
    ({"d_model": "16"}, "d_model ('16')"),
    ({"d_model": True}, "d_model (True)"),
    ({"n_heads": 5}, "n_heads (5)"),
    ({"n_heads": 0}, "n_heads (0)"),
    ({"d_model": -16}, "d_model (-16)"),
    ({"dropout": float("nan")}, "dropout (nan)"),
    ({"pad_id": 1}, "pad_id (1)"),
    ({"final_norm": "here"}, "final_norm"),
    ({"final_norm": []}, "final_norm"),
    ({"bias": 1}, "bias (1)"),
    ({"num_encoder_layers": 65}, "too deep"),
    ({"num_decoder_layers": 10**9}, "too deep"),
    ({"num_decoder_layers": 10**4000}, "too deep"),
    ({"max_len": 5001}, "too long"),
    ({"max_len": 10**15}, "too long"),
    ({"d_ff": 33}, "linear1"),
    ({"d_ff": 3300}, "promised"),
    ({"d_ff": 10**4000}, "promised"),
    ({"d_model": 2**20}, "promised"),
    ({"src_vocab_size": 10**9}, "promised"),
    ({"d_ff": 31}, "linear1"),
    ({"num_encoder_layers": 1}, "no place"),
    ({"tie_weights": True}, "tie_weights"),
    ({"src_vocab_size": 10}, "source vocabulary has 11"),
    ({"tgt_vocab_size": 12}, "target vocabulary has 13"),
    ({"\ud800\n\0": 1}, ""),
    ({"x" * 500: 1}, "xxx"),
]


@pytest.mark.parametrize(("fields", "named"), MODELS, ids=[str(fields)[:40] for fields, _ in MODELS])
def test_a_network_that_cannot_be_is_refused(saved: Path, other: Path, fields: dict[str, Any], named: str) -> None:
    assert named in refusal(rewritten(saved, other, about=lambda a: a["model"].update(fields)))


@pytest.mark.parametrize("model", [None, [], [["d_model", 16]], "model", 5, {}])
def test_what_is_no_network_is_refused(saved: Path, other: Path, model: Any) -> None:
    refusal(rewritten(saved, other, about=lambda a: a.update(model=model)))


@pytest.mark.parametrize(
    "fields",
    [{"d_model": 2**15}, {"d_ff": 2**24}, {"num_encoder_layers": 64, "d_model": 256}, {"src_vocab_size": 2**28}],
)
def test_no_memory_is_taken_for_weights_that_are_not_there(
    saved: Path, other: Path, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portable, "Transformer", pytest.fail)
    assert "smaller than the weights that are promised" in refusal(
        rewritten(saved, other, about=lambda a: a["model"].update(fields))
    )


def test_a_network_above_the_limit_is_refused(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = sum(values.numel() for values in network().parameters())
    assert load_portable(saved, max_parameters=weights).name == "Mein Modell"
    monkeypatch.setattr(portable, "Transformer", pytest.fail)
    assert f"has {weights} weights; this server takes up to {weights - 1}." in refusal(
        saved, max_parameters=weights - 1
    )


def test_a_small_file_with_very_many_heads_is_refused(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one number each, so that they weigh nothing; who silences each would wait for hours."""
    save_portable(packed(d_model=192, n_heads=192, num_encoder_layers=1, num_decoder_layers=1), other)
    assert len(load_portable(other).checkpoint.model.encoder.layers) == 1
    save_portable(packed(d_model=256, n_heads=256, num_encoder_layers=1, num_decoder_layers=1), other)
    assert other.stat().st_size < 10 * 2**20
    monkeypatch.setattr(portable, "Transformer", pytest.fail)
    assert f"has {3 * 256} heads; this page shows up to {MAX_HEADS}." in refusal(other)


SIZES: list[tuple[dict[str, Any], int, bool]] = [
    ({"n_heads": 16, "num_encoder_layers": 2, "num_decoder_layers": 5}, 100, True),  # 192 heads: 1.92 million
    ({"n_heads": 16, "num_encoder_layers": 2, "num_decoder_layers": 6}, 100, False),
    ({"n_heads": 16, "num_encoder_layers": 2, "num_decoder_layers": 6}, 90, True),
    ({"d_ff": MAX_RUN_VALUES // 50}, 50, True),
    ({"d_ff": MAX_RUN_VALUES // 50 + 1}, 50, False),
]


@pytest.mark.parametrize(("fields", "words", "fits"), SIZES)
def test_what_the_longest_sentence_makes_is_bounded(
    other: Path, fields: dict[str, Any], words: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = packed(max_len=200, **fields)
    checkpoint = Checkpoint(**(vars(large.checkpoint) | {"source_length": words, "output_limit": words}))
    save_portable(PortableModel(**(vars(large) | {"checkpoint": checkpoint})), other)
    if fits:
        assert load_portable(other).checkpoint.output_limit == words
    else:
        monkeypatch.setattr(portable, "Transformer", pytest.fail)
        assert f"this page takes up to {MAX_RUN_VALUES}" in refusal(other)


def test_many_words_of_a_long_sentence_are_bounded_too() -> None:
    """A run keeps the probability of each word at each step."""
    config = TransformerConfig(11, 30_000, d_model=2, n_heads=1, num_encoder_layers=1, num_decoder_layers=1)
    assert count_run_values(config, 5, 60) == 60 * 30_000 < MAX_RUN_VALUES < count_run_values(config, 5, 70)


def test_the_papers_size_fits_with_the_longest_sentences() -> None:
    base = TransformerConfig(10_000, 10_000)
    assert count_heads(base) == 144 <= MAX_HEADS
    assert count_run_values(base, MAX_WORDS, MAX_WORDS) == 144 * 100**2 <= MAX_RUN_VALUES


WORDS: list[Edit] = [
    lambda a: a["source_words"].append("wort10"),
    lambda a: a["source_words"].append(a["source_words"][-1]),
    lambda a: a["source_words"].__setitem__(2, a["source_words"][1]),
    lambda a: a["source_words"].reverse(),
    lambda a: a["source_words"].__setitem__(1, "two words"),
    lambda a: a["source_words"].__setitem__(1, " wort0"),
    lambda a: a["source_words"].__setitem__(1, "wort0\n"),
    lambda a: a["source_words"].__setitem__(1, "\u3000"),
    lambda a: a["source_words"].__setitem__(1, ""),
    lambda a: a["source_words"].__setitem__(1, "in\u200bvisible"),
    lambda a: a["source_words"].__setitem__(1, "\0"),
    lambda a: a["source_words"].__setitem__(1, "\x1b[31m"),
    lambda a: a["source_words"].__setitem__(1, "\u202eab"),
    lambda a: a["source_words"].__setitem__(1, "\ud800"),
    lambda a: a["source_words"].__setitem__(1, "x" * 2001),
    lambda a: a["source_words"].__setitem__(1, 3),
    lambda a: a["source_words"].__setitem__(1, None),
    lambda a: a["source_words"].__setitem__(1, ["wort"]),
    lambda a: a["target_words"].remove("S"),
    lambda a: a["target_words"].__setitem__(1, "X"),
    lambda a: a["target_words"].__setitem__(2, "X"),
    lambda a: a.update(source_words="P"),
    lambda a: a.update(source_words="Pabcdefghij"),
    lambda a: a.update(source_words=dict.fromkeys(a["source_words"])),
    lambda a: a.update(target_words=5),
    lambda a: a.update(target_words=None),
    lambda a: a.update(target_words=[]),
    lambda a: a.pop("target_words"),
]


@pytest.mark.parametrize("edit", WORDS)
def test_a_vocabulary_that_cannot_be_is_refused(saved: Path, other: Path, edit: Edit) -> None:
    refusal(rewritten(saved, other, about=edit))


@pytest.mark.parametrize("value", [0, -1, 33, 10**30, 5.0, 5.5, float("nan"), "5", True, None, [], [5]])
@pytest.mark.parametrize("name", ["source_length", "output_limit"])
def test_a_length_that_is_none_is_refused(saved: Path, other: Path, name: str, value: Any) -> None:
    assert name in refusal(rewritten(saved, other, about=lambda a: a.update({name: value})))


@pytest.mark.parametrize("name", ["source_length", "output_limit"])
def test_a_sentence_has_a_longest_length_even_where_there_are_positions(saved: Path, other: Path, name: str) -> None:
    def edit(about: dict[str, Any]) -> None:
        about["model"]["max_len"] = 5000
        about[name] = length

    length = 100
    assert getattr(load_portable(rewritten(saved, other, about=edit)).checkpoint, name) == 100
    length = 201
    assert "more than 100 words" in refusal(rewritten(saved, other, about=edit))


OTHERS: list[tuple[str, list[Any]]] = [
    ("pad_source", ["yes", "", 1, 0, None, [], 0.5]),
    ("name", ["", " ", "x" * 41, "a\r\nX: y", "\0", "\u200b", "\ud800", 5, None, [], {}]),
    ("corpus", ["", "tao", "../toy", 5, None, [], ["toy"], {}]),
    ("card", ["x" * 50_001, "\0", "\u200b", "\ud800", 5, None, [], {}]),
    ("training", [None, 5, "x", [], [["seed", 1]], *({"seed": each} for each in (None, [], {}, "x" * 41, "\0"))]),
    ("training", [{"\0": 1}, {"x" * 41: 1}, *({"seed": each} for each in (float("nan"), float("inf"), 10**4000))]),
    ("pairs", [None, 5, True, "", "ab", [], {}, {"ab": 1}, [None], [5], ["ab"], [{}], [{"a": 1, "b": 2}], [[]]]),
    ("pairs", [[["a"]], [["a", "b", "c"]], [["a", 5]], [["a", None]], [["a", ["b"]]], [["a", {}]], ["a", "b"]]),
    ("pairs", [[["", "b"]], [["a", ""]], [["a", " "]], [["...", "b"]], [["a", "!"]], [["a", "\0"]], [["a", "\ud800"]]]),
    ("pairs", [[["a", "b"]] * 10_001, [["a" * 2001, "b"]], [["a", "b" * 2001]], [["a", "b\u200b"]]]),
]


@pytest.mark.parametrize(
    ("name", "value"),
    [pytest.param(name, value, id=f"{name} {value!a:.30}") for name, all_ in OTHERS for value in all_],
)
def test_a_part_of_another_kind_is_refused(saved: Path, other: Path, name: str, value: Any) -> None:
    refusal(rewritten(saved, other, about=lambda a: a.update({name: value})))


PARTS = (
    *("name", "corpus", "pairs", "training", "card", "model", "source_length", "output_limit", "pad_source"),
    *("source_words", "target_words"),
)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_missing_is_named(saved: Path, other: Path, name: str) -> None:
    assert f"'{name}' is missing" in refusal(rewritten(saved, other, about=lambda a: a.pop(name)))


@given(name=st.sampled_from(PARTS), value=json_values)
def test_any_other_part_is_refused_or_taken_as_it_is(saved: Path, folder: Path, name: str, value: Any) -> None:
    file = rewritten(saved, folder / "parts.safetensors", about=lambda a: a.update({name: value}))
    try:
        after = load_portable(file)
    except PortableError:
        refusal(file)
    else:
        assert name in ("name", "card", "training", "pad_source", "source_length", "output_limit")
        assert getattr(after, name, None) == value or getattr(after.checkpoint, name, None) == value


@given(name=st.sampled_from(sorted(vars(network().config))), value=json_values)
def test_any_other_setting_of_the_network_is_refused_or_taken(saved: Path, folder: Path, name: str, value: Any) -> None:
    file = rewritten(saved, folder / "fields.safetensors", about=lambda a: a["model"].update({name: value}))
    try:
        after = load_portable(file)
    except PortableError:
        refusal(file)
    else:
        assert getattr(after.checkpoint.model.config, name) == value


# Weights


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda w: w.update({"linear3.weight": torch.ones(1)}), "linear3.weight has no place"),
        (lambda w: w.update({"a\u202eb": torch.ones(1)}), "a\ufffdb has no place"),
        (lambda w: w.update({"a\nb": torch.ones(1)}), ""),
        (lambda w: w.update({"positions": torch.ones(32, 16)}), "positions has no place"),
        (lambda w: w.pop("output_projection.bias"), "output_projection.bias is missing"),
        (lambda w: w.clear(), "smaller"),
        (lambda w: w.update({"output_projection.bias": torch.ones(14)}), "output_projection.bias is [14]"),
        (lambda w: w.update({"output_projection.bias": torch.ones(1, 13)}), "output_projection.bias is [1, 13]"),
        (lambda w: w.update({"output_projection.bias": torch.tensor(1.0)}), "output_projection.bias is []"),
    ],
)
def test_weights_that_do_not_fit_are_refused(saved: Path, other: Path, edit: Any, named: str) -> None:
    def longer(about: dict[str, Any]) -> None:  # so that the file is not refused because it is small
        about["card"] = "x" * 10_000

    assert named in refusal(rewritten(saved, other, longer, edit))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.bool])
def test_weights_of_another_kind_of_number_are_refused(saved: Path, other: Path, dtype: torch.dtype) -> None:
    name = "output_projection.bias"

    def about(values: dict[str, Any]) -> None:
        values["card"] = "x" * 10_000  # so that the file is not refused because it is small

    file = rewritten(saved, other, about, weights=lambda w: w.update({name: w[name].to(dtype)}))
    assert name in refusal(file)


def test_complex_weights_are_refused(saved: Path, other: Path) -> None:
    weights = load_file(saved)
    with safe_open(saved, framework="pt") as stored:
        metadata = stored.metadata()
    save_file({name: value.to(torch.complex64) for name, value in weights.items()}, other, metadata=metadata)
    assert "not of F32" in refusal(other)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["src_embedding.weight", "decoder.layers.1.norm3.bias"])
def test_weights_that_are_no_numbers_are_refused(saved: Path, other: Path, name: str, value: float) -> None:
    def edit(weights: dict[str, Tensor]) -> None:
        weights[name].view(-1)[-1] = value

    assert f"Some of its weights ({name}) are no numbers." in refusal(rewritten(saved, other, weights=edit))


def test_tied_weights_that_are_there_twice_are_refused(other: Path, folder: Path) -> None:
    save_portable(packed(tie_weights=True, tgt_vocab_size=11), folder / "tied.safetensors")
    file = rewritten(
        folder / "tied.safetensors", other, weights=lambda w: w.update({"tgt_embedding.weight": torch.ones(11, 16)})
    )
    assert "tgt_embedding.weight has no place" in refusal(file)


def test_a_vocabulary_may_have_the_words_of_a_page(saved: Path, other: Path) -> None:
    words = ["P", "<script>", "=1+1", "../x", "{name}", "%s", "猫", "“q”", "'", '"']
    file = rewritten(saved, other, about=lambda a: a["source_words"].__setitem__(slice(0, 10), words))
    assert load_portable(file).checkpoint.src_vocab == Vocabulary((*words, "wort9"))
