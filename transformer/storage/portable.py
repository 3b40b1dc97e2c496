"""A trained model as one file that a visitor can take home and bring back. No pickle is ever read.

NAME.safetensors: the weights, and in the header, as JSON: the network's configuration, both vocabularies, the sentence
pairs, how it was trained (the seed too), its card, and a digest of all that. What a file says is believed only as far
as it was checked; anybody may have made it.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..data import Pair
from ..data.vocabulary import PAD, SentenceError, Vocabulary, check_visible
from ..messages import MessageError
from ..network.config import TransformerConfig
from ..network.cost import count_parameters
from ..network.model import Transformer, to_column_major
from ..network.rng import rng_lock
from .checkpoint import Checkpoint, check_lengths, check_vocabularies, fill

ENTRY = "attention-bitte"  # of the header
MAX_HEADER = 8 * 2**20  # bytes
MAX_LAYERS, MAX_POSITIONS, MAX_WORDS = 64, 5000, 100  # of a stack, of a network, of a sentence
MAX_HEADS = 576  # of a network, in both stacks: 12 layers of 16 in each kind, the most that Train's buttons lead to
MAX_NUMBERS = 2**21  # of a run: 8 MiB. The paper's base size makes maps of 1.44 million of 100 words
MAX_PAIRS, LONGEST_TEXT, LONGEST_CARD = 10_000, 2_000, 50_000  # pairs, and characters: folding may treble 500
LONGEST_NAME, MAX_NUMBER = 40, 2**63
CORPORA = ("toy", "classroom", "own")  # what a model may have learned from
_BARE = Vocabulary((PAD,))  # finds words in what is nothing but punctuation: none


class PortableError(MessageError):
    """A model file that cannot be used."""


@dataclass(frozen=True, eq=False)
class Portable:
    """A model with all that it was made of.

    Attributes:
        name: that a visitor gave it.
        corpus: what it learned from: "toy", "classroom" or "own".
        pairs: the sentence pairs that it learned from.
        training: settings by name, as numbers, texts and truth values; the seed is one.
        card: for people: how it was made and what it scores, as Markdown.
    """

    checkpoint: Checkpoint
    name: str
    corpus: str
    pairs: tuple[Pair, ...]
    training: dict[str, Any]
    card: str


def save_portable(portable: Portable, file: Path) -> None:
    """Write the one file."""
    checkpoint = portable.checkpoint
    weights = {name: value.detach().cpu().contiguous() for name, value in checkpoint.model.named_parameters()}
    about = {
        "name": portable.name,
        "corpus": portable.corpus,
        "pairs": portable.pairs,
        "training": portable.training,
        "card": portable.card,
        "model": asdict(checkpoint.model.config),
        "source_length": checkpoint.source_length,
        "output_limit": checkpoint.output_limit,
        "pad_source": checkpoint.pad_source,
        "source_words": checkpoint.src_vocab.tokens,
        "target_words": checkpoint.tgt_vocab.tokens,
    }
    text = json.dumps(about, ensure_ascii=False)
    digest = _digest(text, weights)
    # One entry, because safetensors writes several in any order: the same model is to give the same bytes.
    save_file(weights, file, metadata={ENTRY: json.dumps({"about": text, "digest": digest}, ensure_ascii=False)})


def load_portable(file: Path, most_parameters: int = 2**31, device: str | torch.device = "cpu") -> Portable:
    """Read a file that anybody may have made. Memory is taken only for what the file really holds.

    Args:
        most_parameters: weights that a network may have.

    Raises:
        PortableError: it is no such file, is not whole, was changed, or holds what cannot be.
    """
    size = file.stat().st_size
    if size > most_bytes(most_parameters):
        raise too_big(most_parameters)
    with file.open("rb") as opened:
        header = int.from_bytes(opened.read(8), "little")
    if not 2 <= header <= min(MAX_HEADER, size - 8):
        raise _foreign()
    try:
        with safe_open(file, framework="pt") as stored:
            entry = json.loads((stored.metadata() or {}).get(ENTRY, "null"))
            if not isinstance(entry, dict):
                raise _foreign()
            return _read(entry, stored, size, most_parameters, device)
    except PortableError:
        raise
    except SafetensorError as error:
        raise _foreign() from error
    except KeyError as error:
        raise _broken(f"{error} is missing") from error
    except (TypeError, ValueError, RuntimeError, OverflowError, MemoryError, RecursionError) as error:
        raise _broken((str(error).splitlines() or [type(error).__name__])[0]) from error


def most_bytes(most_parameters: int) -> int:
    """Of a file with a network of so many weights."""
    return 8 + MAX_HEADER + 4 * most_parameters


def heads_of(config: TransformerConfig) -> int:
    """How many maps there are of a run, in all layers of all kinds."""
    return config.n_heads * (config.num_encoder_layers + 2 * config.num_decoder_layers)


def numbers_of(config: TransformerConfig, source_length: int, target_length: int) -> int:
    """How many numbers there are in all maps of a run of so many words, or in one layer where it is wider than that;
    the probabilities of all words at each step count as a layer."""
    s, t = source_length, target_length
    maps = config.n_heads * (config.num_encoder_layers * s * s + config.num_decoder_layers * (t * t + t * s))
    return max(maps, max(config.d_model, config.d_ff, config.tgt_vocab_size) * max(s, t))


def is_name(name: Any) -> bool:
    """Whether a model may be called so: a line of text that shows."""
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= len(name) <= LONGEST_NAME:
        return False
    try:
        check_visible(name)
    except SentenceError:
        return False
    return name.isprintable()


def _read(entry: dict[str, Any], stored: Any, size: int, most_parameters: int, device: str | torch.device) -> Portable:
    about = json.loads(entry["about"])
    for part, kind in (("source_words", list), ("target_words", list), ("pairs", list), ("training", dict)):
        if not isinstance(about[part], kind):
            raise TypeError(f"{part} is no {kind.__name__}")
    config = TransformerConfig(**about["model"])
    if max(config.num_encoder_layers, config.num_decoder_layers) > MAX_LAYERS or config.max_len > MAX_POSITIONS:
        raise ValueError("its network is too deep or its sentences are too long")
    if 4 * (parameters := count_parameters(config)) > size:  # before memory is taken for them
        raise ValueError(f"it is smaller than the weights that are promised: {parameters}")
    if parameters > most_parameters:
        raise PortableError("file.parameters", parameters=parameters, most=most_parameters)
    if (heads := heads_of(config)) > MAX_HEADS:
        raise PortableError("file.heads", heads=heads, most=MAX_HEADS)
    for weight_name in stored.keys():  # noqa: SIM118 - it is no dict
        if (dtype := stored.get_slice(weight_name).get_dtype()) != "F32":
            raise ValueError(f"{weight_name} is of {dtype}, not of F32")
    src_vocab, tgt_vocab = (
        Vocabulary(tuple(_text(word) for word in about[side])) for side in ("source_words", "target_words")
    )
    lengths = {name: about[name] for name in ("source_length", "output_limit")}
    check_lengths(config, **lengths)
    if max(lengths.values()) > MAX_WORDS:
        raise ValueError(f"its sentences have more than {MAX_WORDS} words")
    if (numbers := numbers_of(config, *lengths.values())) > MAX_NUMBERS:
        raise PortableError(
            "file.numbers",
            value=numbers,
            most=MAX_NUMBERS,
        )
    if not isinstance(about["pad_source"], bool):
        raise TypeError("pad_source is not true or false")
    check_vocabularies(config, src_vocab, tgt_vocab)
    name, corpus = about["name"], about["corpus"]
    if not is_name(name):
        raise ValueError(f"its name is not 1 to {LONGEST_NAME} characters that show")
    if corpus not in CORPORA:
        raise ValueError(f"its corpus is not one of {', '.join(CORPORA)}")
    if not 1 <= len(about["pairs"]) <= MAX_PAIRS:
        raise ValueError(f"it does not have 1 to {MAX_PAIRS} sentence pairs")
    pairs = tuple(map(_pair, about["pairs"]))
    training = {_text(key, LONGEST_NAME): _plain(value) for key, value in about["training"].items()}
    card = _text(about["card"], LONGEST_CARD)
    with rng_lock:
        model = Transformer(config)
    fill(model, stored, Path(name))
    for weight_name, values in model.named_parameters():
        if not values.isfinite().all():
            raise PortableError("file.not_numbers", name=weight_name)
    if entry["digest"] != _digest(entry["about"], dict(model.named_parameters())):
        raise ValueError("it is not what was saved")
    to_column_major(model).to(device).eval()
    checkpoint = Checkpoint(model, src_vocab, tgt_vocab, **lengths, pad_source=about["pad_source"])
    return Portable(checkpoint, name, corpus, pairs, training, card)


def _text(value: Any, longest: int = LONGEST_TEXT) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(f"a text in it is none, or longer than {longest} characters")
    check_visible(value)
    return value


def _pair(row: Any) -> Pair:
    """Two sentences, as a corpus can be made of: each has a word."""
    if not isinstance(row, list) or len(row) != 2 or not all(_BARE.split(_text(text)) for text in row):
        raise ValueError("a pair in it is not two sentences")
    return row[0], row[1]


def _plain(value: Any) -> bool | int | float | str:
    if isinstance(value, bool | int | float):
        if not abs(value) <= MAX_NUMBER:
            raise ValueError("a number in it is none, or too large")
        return value
    return _text(value, LONGEST_NAME)


def too_big(most_parameters: int) -> PortableError:
    """Of a file, before or while it is read."""
    return PortableError("file.too_big", most=most_parameters)


def _foreign() -> PortableError:
    return PortableError("file.foreign")


def _broken(detail: str) -> PortableError:
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in detail[:200]).rstrip(".")
    return PortableError("file.broken", detail=shown)


def _digest(about: str, weights: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(weights):
        digest.update(weights[name].detach().cpu().numpy().data)
    return digest.hexdigest()
