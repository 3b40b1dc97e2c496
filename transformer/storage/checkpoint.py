"""Weights, configuration and vocabularies, saved and loaded together. No pickle is ever read.

checkpoints/NAME/
    model.safetensors    weights, and in its header the digests of themselves and of the files below
    config.json          the network's configuration, and how long its sentences are
    vocabularies.json    source and target tokens in the order of their ids
    card.md              for people: how it was made and what it scores
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ..data.vocabulary import PAD, Vocabulary, check_target
from ..network.config import TransformerConfig
from ..network.model import Transformer, to_column_major
from ..network.rng import rng_lock

FOLDER = Path(__file__).resolve().parents[2] / "checkpoints"
T = TypeVar("T")
WEIGHTS, CONFIG, VOCABULARIES, CARD = "model.safetensors", "config.json", "vocabularies.json", "card.md"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message is one line and names the file."""


@dataclass(frozen=True)
class Checkpoint:
    """A model and what it takes to talk to it.

    Args:
        model: the network.
        src_vocab, tgt_vocab: the words of both sides.
        source_length: words in the longest source that it takes.
        output_limit: decoding stops after so many words, the end token included.
        pad_source: whether every source is padded to source_length, so that padding is there to be seen.

    Raises:
        ValueError: the vocabularies are not the model's, or a length is not one that it has positions for.
    """

    model: Transformer
    src_vocab: Vocabulary
    tgt_vocab: Vocabulary
    source_length: int
    output_limit: int
    pad_source: bool = True

    def __post_init__(self) -> None:
        check_vocabularies(self.model.config, self.src_vocab, self.tgt_vocab)
        check_lengths(self.model.config, source_length=self.source_length, output_limit=self.output_limit)


def check_lengths(config: TransformerConfig, **lengths: int) -> None:
    """Raises ValueError where a network of this shape has no positions for so many tokens."""
    for name, value in lengths.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= config.max_len:
            raise ValueError(f"{name} ({value!r}) is not from 1 to max_len ({config.max_len})")


def check_vocabularies(config: TransformerConfig, src_vocab: Vocabulary, tgt_vocab: Vocabulary) -> None:
    """Raises ValueError where a network of this shape cannot read or say these words."""
    for side, size, vocab in (
        ("source", config.src_vocab_size, src_vocab),
        ("target", config.tgt_vocab_size, tgt_vocab),
    ):
        if len(vocab) != size:
            raise ValueError(f"the {side} vocabulary has {len(vocab)} tokens, but the model has {size}")
    if config.pad_id != 0:
        raise ValueError(f"pad_id ({config.pad_id}) is not 0, the id of {PAD}")
    check_target(tgt_vocab)


def names() -> list[str]:
    """The shipped checkpoints."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{CONFIG}"))


def save_checkpoint(checkpoint: Checkpoint, folder: str | Path, card: str) -> None:
    """Write all four files; each appears whole or not at all."""
    folder = Path(folder)
    config = {
        "model": asdict(checkpoint.model.config),
        "source_length": checkpoint.source_length,
        "output_limit": checkpoint.output_limit,
        "pad_source": checkpoint.pad_source,
    }
    vocabularies = {"source": list(checkpoint.src_vocab.tokens), "target": list(checkpoint.tgt_vocab.tokens)}
    weights = {name: value.detach().cpu().contiguous() for name, value in checkpoint.model.named_parameters()}
    folder.mkdir(parents=True, exist_ok=True)
    digests = {
        CONFIG: _digest(_canonical(config)),
        VOCABULARIES: _digest(_canonical(vocabularies)),
        CARD: _digest(card.encode()),
        WEIGHTS: _digest(*map(_bytes, weights.values())),
    }
    # One entry, because safetensors writes several in any order: the same content is to give the same bytes.
    _write(folder / WEIGHTS, save(weights, metadata={"digests": json.dumps(digests)}))
    _write(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode())
    _write(folder / VOCABULARIES, (json.dumps(vocabularies, indent=2, ensure_ascii=False) + "\n").encode())
    _write(folder / CARD, card.encode())


def load_checkpoint(folder: str | Path, device: str | torch.device = "cpu") -> Checkpoint:
    """Read a checkpoint, believing nothing: every file must be whole, and all must belong together.

    Returns:
        The checkpoint, its model on `device` in evaluation mode.

    Raises:
        CheckpointError: a file is missing, cut off, malformed or of another checkpoint.
    """
    folder = Path(folder)
    config, vocabularies = _json(folder / CONFIG), _json(folder / VOCABULARIES)
    shape = believe(folder / CONFIG, lambda: TransformerConfig(**config["model"]))
    lengths = believe(folder / CONFIG, lambda: {name: config[name] for name in ("source_length", "output_limit")})
    believe(folder / CONFIG, lambda: check_lengths(shape, **lengths))
    pad_source = config.get("pad_source", True)
    if not isinstance(pad_source, bool):
        raise CheckpointError(f"{folder / CONFIG}: pad_source ({pad_source!r}) is not true or false")
    src_vocab = believe(folder / VOCABULARIES, lambda: Vocabulary(tuple(vocabularies["source"])))
    tgt_vocab = believe(folder / VOCABULARIES, lambda: Vocabulary(tuple(vocabularies["target"])))
    believe(folder / VOCABULARIES, lambda: check_vocabularies(shape, src_vocab, tgt_vocab))
    with open_tensors(folder / WEIGHTS) as stored:
        digests = believe(folder / WEIGHTS, lambda: dict(json.loads(stored.metadata()["digests"])))
        beside = {CONFIG: _canonical(config), VOCABULARIES: _canonical(vocabularies), CARD: _read(folder / CARD)}
        for name, content in beside.items():
            if digests.get(name) != _digest(content):
                raise CheckpointError(f"{folder / name}: not what {WEIGHTS} was saved with")
        with rng_lock:
            model = believe(folder / CONFIG, lambda: Transformer(shape))
        fill(model, stored, folder / WEIGHTS)
    if digests.get(WEIGHTS) != _digest(*map(_bytes, model.parameters())):
        raise CheckpointError(f"{folder / WEIGHTS}: its weights are not those that were saved")
    return Checkpoint(to_column_major(model).to(device).eval(), src_vocab, tgt_vocab, **lengths, pad_source=pad_source)


@contextmanager
def open_tensors(file: Path) -> Iterator[Any]:
    """An open safetensors file; whatever is wrong with it is a CheckpointError."""
    try:
        with safe_open(file, framework="pt") as stored:
            yield stored
    except FileNotFoundError as error:
        raise CheckpointError(f"{file}: no such file") from error
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{file}: not a whole safetensors file ({_first_line(error)})") from error


def fill(model: Transformer, stored: Any, file: Path) -> None:
    """Every parameter from the file, and nothing else in it."""
    parameters, names = dict(model.named_parameters()), set(stored.keys())
    if missing := parameters.keys() - names:
        raise CheckpointError(f"{file}: {min(missing)} is missing")
    if extra := names - parameters.keys():
        raise CheckpointError(f"{file}: {min(extra)} has no place in this model")
    for name, parameter in parameters.items():
        shape = stored.get_slice(name).get_shape()
        if shape != list(parameter.shape):
            raise CheckpointError(f"{file}: {name} is {shape}, expected {list(parameter.shape)}")
        with torch.no_grad():
            parameter.copy_(stored.get_tensor(name))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise CheckpointError(f"{file}: no such file") from error
    except OSError as error:
        raise CheckpointError(f"{file}: cannot be read ({error.strerror})") from error


def _json(file: Path) -> dict[str, Any]:
    text = _read(file)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: not whole JSON ({_first_line(error)})") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{file}: not a JSON object")
    return content


def believe(file: Path, build: Callable[[], T]) -> T:
    """Build from a file's content; whatever it says that cannot be is the file's error."""
    try:
        return build()
    except KeyError as error:
        raise CheckpointError(f"{file}: {error} is missing") from error
    except (TypeError, ValueError, RuntimeError, OverflowError, MemoryError) as error:
        raise CheckpointError(f"{file}: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _bytes(weights: Tensor) -> bytes:
    return weights.detach().cpu().numpy().tobytes()


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _write(file: Path, content: bytes) -> None:
    part = file.with_name(file.name + ".part")
    try:
        part.write_bytes(content)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)  # half of it, where the disk is full
