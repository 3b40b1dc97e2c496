"""A model file comes back bit for bit; one that was changed, or contradicts itself, is refused with one sentence. Other
files in its place are in test_hostile.py."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer import TransformerConfig, Translator
from transformer.network.cost import count_heads, count_run_values
from transformer.storage.checkpoint import FOLDER, Checkpoint
from transformer.storage.portable import (
    MAX_HEADER,
    MAX_HEADS,
    MAX_RUN_VALUES,
    MAX_WORDS,
    METADATA_KEY,
    PortableError,
    PortableModel,
    load_portable,
    max_file_bytes,
    save_portable,
)

from ..models import of_pairs, packed
from ..networks import network

ROOT = Path(__file__).resolve().parents[2]
Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secret-place")


@pytest.fixture(scope="module")
def saved(folder: Path) -> Path:
    """A good file, which no test writes to."""
    save_portable(packed(), folder / "saved.safetensors")
    return folder / "saved.safetensors"


@pytest.fixture
def other(folder: Path) -> Path:
    """Where to write a bad one."""
    return folder / "other.safetensors"


def refusal(file: Path, max_parameters: int = 2**31) -> tuple[str, dict[str, Any]]:
    """Key and values of the message, which is one visible sentence without a path of the server."""
    with pytest.raises(PortableError) as error:
        load_portable(file, max_parameters)
    sentence, sent = str(error.value), error.value.message.for_page()
    assert sentence.isprintable()
    assert len(sentence) < 300
    for place in (file.parent.name, file.name, str(ROOT), str(file.parent.parent)):
        assert place not in json.dumps(sent)
    json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()  # as it is sent
    return sent["key"], sent["values"]


def detail(file: Path) -> str:
    """What is wrong with a file that is a model's."""
    key, values = refusal(file)
    assert key == "file.broken"
    return str(values["detail"])


def rewritten(
    saved: Path,
    other: Path,
    about: Edit = lambda about: None,
    weights: Callable[[dict[str, Tensor]], object] = lambda weights: None,
) -> Path:
    """The good file with other content, correctly signed."""
    with safe_open(saved, framework="pt") as stored:
        values = json.loads(json.loads(stored.metadata()[METADATA_KEY])["about"])
    tensors = load_file(saved)
    about(values)
    weights(tensors)
    text = json.dumps(values)
    digest = hashlib.sha256(text.encode(errors="replace"))
    for name in sorted(tensors):
        digest.update(tensors[name].float().numpy().tobytes())
    save_file(tensors, other, metadata={METADATA_KEY: json.dumps({"about": text, "digest": digest.hexdigest()})})
    return other


# What comes back


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tie_weights": True, "tgt_vocab_size": 11},
        {"norm_first": True, "final_norm": "both", "pad_source": False, "activation": "gelu"},
        {"positional_encoding": False, "bias": False, "qkv_bias": False},
    ],
)
def test_everything_comes_back_bit_for_bit(fields: dict[str, Any], tmp_path: Path) -> None:
    before, files = packed(**fields), [tmp_path / "one", tmp_path / "two"]
    save_portable(before, files[0])
    after = load_portable(files[0])
    for name in ("name", "corpus", "pairs", "training", "card"):
        assert getattr(after, name) == getattr(before, name)
    for name in ("src_vocab", "tgt_vocab", "source_length", "output_limit", "pad_source"):
        assert getattr(after.checkpoint, name) == getattr(before.checkpoint, name)
    assert after.checkpoint.model.config == before.checkpoint.model.config
    save_portable(after, files[1])
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_translator_loads_the_file_or_refuses_it(saved: Path) -> None:
    translator = Translator.load(str(saved), device="cpu")
    assert translator.name == "saved"
    assert translator.translate("wort1 wort2").text == Translator(packed().checkpoint, "").translate("wort1 wort2").text
    with pytest.raises(PortableError):
        Translator.load(FOLDER / "toy" / "model.safetensors")


def test_the_largest_corpus_comes_back(other: Path) -> None:
    """60,000 words; marks get spaces around them."""
    words = [chr(ord("а") + i) * 22 for i in range(32)]
    pairs = [(" ".join(words[i % 17 :][:15]), " ".join(words[i % 13 :][:15])) for i in range(2000)]
    before = of_pairs(("a" * 500, "...." + "b" * 490 + "!?"), *pairs)
    save_portable(before, other)
    assert load_portable(other).pairs == before.pairs


# What was changed


def test_a_file_beyond_a_limit_is_refused(saved: Path, other: Path) -> None:
    for header in (0, 1, MAX_HEADER, MAX_HEADER + 1, 2**31, 2**63, 2**64 - 1):
        other.write_bytes(header.to_bytes(8, "little") + saved.read_bytes()[8:])
        assert refusal(other) == ("file.foreign", {})
    with other.open("wb") as file:
        file.write((MAX_HEADER + 1).to_bytes(8, "little"))
        file.truncate(MAX_HEADER + 100)  # takes no place on the disk
    assert refusal(other) == ("file.foreign", {})
    with other.open("wb") as file:
        file.truncate(max_file_bytes(1000) + 1)
    assert refusal(other, max_parameters=1000) == ("file.too_big", {"most": 1000})


@given(st.data(), st.integers(1, 255))
def test_a_changed_byte_is_detected_or_without_meaning(
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
        save_portable(after, file)
        assert file.read_bytes() == saved.read_bytes()


def test_another_digest_or_order_of_weights_is_refused(saved: Path, other: Path) -> None:
    with safe_open(saved, framework="pt") as stored:
        metadata = stored.metadata()
    tensors, entry = load_file(saved), json.loads(metadata[METADATA_KEY])
    for signature in ("", "0" * 64, None):
        save_file(tensors, other, metadata={METADATA_KEY: json.dumps(entry | {"digest": signature})})
        assert detail(other) == "it is not what was saved"
    one, two = "encoder.layers.0.linear1.weight", "encoder.layers.1.linear1.weight"
    save_file(tensors | {one: tensors[two], two: tensors[one]}, other, metadata=metadata)
    assert detail(other) == "it is not what was saved"


ABOUTS: list[Any] = [None, 5, "", "null", "{", "[" * 10**5, '{"a": "\\ud800"}']
ENTRIES = ["", "nul", "[" * 100_000, "{}", *(json.dumps({"about": about, "digest": ""}) for about in ABOUTS)]


def test_another_header_is_refused(saved: Path, other: Path) -> None:
    for header in (None, *({METADATA_KEY: text} for text in ENTRIES)):
        save_file(load_file(saved), other, metadata=header)
        refusal(other)


# What is signed correctly, but invalid


MODELS: list[tuple[dict[str, Any], str]] = [
    ({"n_heads": 5}, "n_heads (5)"),
    ({"num_encoder_layers": 65}, "too deep"),
    ({"max_len": 5001}, "too long"),
    ({"d_ff": 31}, "linear1"),
    ({"src_vocab_size": 10**9}, "it is smaller than"),
    ({"src_vocab_size": 10}, "source vocabulary has 11"),
    ({"\ud800\n\0": 1}, ""),
]


@pytest.mark.parametrize(("fields", "named"), MODELS, ids=[str(fields)[:40] for fields, _ in MODELS])
def test_an_invalid_network_is_refused(saved: Path, other: Path, fields: dict[str, Any], named: str) -> None:
    assert named in detail(rewritten(saved, other, about=lambda a: a["model"].update(fields)))


def test_a_network_above_the_callers_limit_is_refused(saved: Path) -> None:
    weights = sum(values.numel() for values in network().parameters())
    assert load_portable(saved, max_parameters=weights).name == "Mein Modell"
    assert refusal(saved, weights - 1) == ("file.parameters", {"parameters": weights, "most": weights - 1})


ONE = {"num_encoder_layers": 1, "num_decoder_layers": 1}


@pytest.mark.parametrize(
    ("fields", "words", "refused"),
    [
        ({"d_model": 192, "n_heads": 192, **ONE}, 5, ""),  # heads of one number weigh little, but each is ablated
        ({"d_model": 256, "n_heads": 256, **ONE}, 5, "file.heads"),
        ({"n_heads": 16, "num_decoder_layers": 5}, 128, "file.numbers"),
        ({"d_ff": MAX_RUN_VALUES // 50}, 50, ""),
        ({"d_ff": MAX_RUN_VALUES // 50 + 1}, 50, "file.numbers"),
    ],
)
def test_the_heads_and_the_numbers_of_the_longest_run_are_bounded(
    other: Path, fields: dict[str, Any], words: int, refused: str
) -> None:
    large = packed(max_len=200, **fields)
    checkpoint = Checkpoint(**(vars(large.checkpoint) | {"source_length": words, "output_limit": words}))
    save_portable(PortableModel(**(vars(large) | {"checkpoint": checkpoint})), other)
    if refused:
        assert refusal(other)[0] == refused
    else:
        assert load_portable(other).checkpoint.output_limit == words


def test_the_papers_size_fits_with_the_longest_sentences() -> None:
    base = TransformerConfig(10_000, 10_000)
    assert count_heads(base) == 144 <= MAX_HEADS
    assert count_run_values(base, MAX_WORDS, MAX_WORDS) == 144 * 128**2 <= MAX_RUN_VALUES


OTHERS: dict[str, list[Any]] = {
    "source_words": [
        "Pabcdefghij",
        *(["P", word, *"abcdefghi"] for word in ("two words", "", "in\u200bvisible", 3, "a")),
    ],
    "target_words": [["P", *"abcdefghijkl"], ["P", "S", "E"]],
    "source_length": [0, 33, MAX_WORDS + 1, 5.0, "5", True],
    "output_limit": [0, 33, MAX_WORDS + 1],
    "pad_source": ["yes", 1],
    "name": ["", " ", "x" * 41, "a\r\nX: y", "\u202e"],
    "corpus": ["tao", "../toy"],
    "card": ["x" * 50_001, "\0"],
    "model": [None, [["d_model", 16]]],
    "training": [[["seed", 1]], {"x" * 41: 1}, *({"seed": each} for each in ("x" * 41, None, float("nan"), 2**64))],
    "pairs": [
        *([], {"ab": 1}, ["ab"], [{"a": 1, "b": 2}], [["a"]], [["a", "b", "c"]], [["a", "b"]] * 10_001),
        *([["a", sentence]] for sentence in (None, "", "!", "\ud800", "b\u200b", "b" * 2001)),
    ],
}


@pytest.mark.parametrize("name", OTHERS)
def test_an_invalid_or_missing_part_is_refused(saved: Path, other: Path, name: str) -> None:
    for value in OTHERS[name]:
        detail(rewritten(saved, other, about=lambda a, value=value: a.update({name: value})))  # type: ignore[misc]
    assert name in detail(rewritten(saved, other, about=lambda a: a.pop(name)))


# Weights

BIAS = "output_projection.bias"
DTYPES = (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool)
WEIGHTS: list[tuple[Callable[[dict[str, Tensor]], object], str]] = [
    (lambda w: w.update({"linear3.weight": torch.ones(1)}), "linear3.weight has no place"),
    (lambda w: w.update({"a\u202eb": torch.ones(1)}), "a\ufffdb has no place"),
    (lambda w: w.pop(BIAS), f"{BIAS} is missing"),
    (lambda w: w.clear(), "smaller"),
    (lambda w: w.update({BIAS: torch.ones(1, 13)}), f"{BIAS} is [1, 13]"),
    *((lambda w, dtype=dtype: w.update({BIAS: w[BIAS].to(dtype)}), f"{BIAS} is ") for dtype in DTYPES),
]


@pytest.mark.parametrize(("edit", "named"), WEIGHTS)
def test_weights_that_do_not_fit_are_refused(
    saved: Path, other: Path, edit: Callable[[dict[str, Tensor]], object], named: str
) -> None:
    # With a long card, so that the file is not refused because it is small.
    assert named in detail(rewritten(saved, other, lambda about: about.update(card="x" * 10_000), edit))


def test_a_weight_that_is_not_finite_is_refused(saved: Path, other: Path) -> None:
    name = "decoder.layers.1.norm3.bias"
    file = rewritten(saved, other, weights=lambda w: w[name][-1].fill_(float("nan")))
    assert refusal(file) == ("file.not_numbers", {"name": name})
