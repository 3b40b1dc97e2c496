"""Weights, configuration and vocabularies, saved and loaded together. Never reads a pickle.

checkpoints/NAME/
    model.safetensors    weights, and in its header the digests of themselves and of the files below
    config.json          the network's configuration, and how long its sentences are
    vocabularies.json    source and target tokens in the order of their ids, and whether they fold
    card.md              for people: how it was made and what it scores
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ..data.vocabulary import PAD, Vocabulary, check_target
from ..files import shipped
from ..network.config import TransformerConfig
from ..network.int8 import check_float32
from ..network.model import Transformer
from ..network.rng import untouched_rng

FOLDER = shipped("checkpoints")
WEIGHTS, CONFIG, VOCABULARIES, CARD = "model.safetensors", "config.json", "vocabularies.json", "card.md"

# Reading invalid content raises one of these.
INVALID_CONTENT = (SafetensorError, OSError, TypeError, ValueError, RuntimeError, OverflowError, MemoryError)


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message is one line and names the file."""


@dataclass(frozen=True)
class Checkpoint:
    """A model with its vocabularies and sentence lengths. Raises ValueError: the vocabularies do not fit the model, or
    it has no positions for such a length."""

    model: Transformer
    src_vocab: Vocabulary
    tgt_vocab: Vocabulary
    source_length: int  # words in the longest source that it takes
    output_limit: int  # the most tokens that decoding generates, the end token included
    pad_source: bool = True  # whether every source is padded to source_length, so that attention maps show padding
    forces_end: bool = False  # whether beam search as `transformers` does it ends on E after output_limit tokens

    def __post_init__(self) -> None:
        check_vocabularies(self.model.config, self.src_vocab, self.tgt_vocab)
        check_lengths(self.model.config, source_length=self.source_length, output_limit=self.output_limit)


def check_lengths(config: TransformerConfig, **lengths: int) -> None:
    """Raises ValueError where a network of this shape has no positions for a sequence of this length."""
    for name, value in lengths.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= config.max_len:
            raise ValueError(f"{name} ({value!r}) is not from 1 to max_len ({config.max_len})")


def check_vocabularies(config: TransformerConfig, src_vocab: Vocabulary, tgt_vocab: Vocabulary) -> None:
    """Raises ValueError where these vocabularies are not of the sizes that a network of this shape has."""
    sides = ("source", config.src_vocab_size, src_vocab), ("target", config.tgt_vocab_size, tgt_vocab)
    for side, size, vocab in sides:
        if len(vocab) != size:
            raise ValueError(f"the {side} vocabulary has {len(vocab)} tokens, but the model has {size}")
    if config.pad_id != 0:
        raise ValueError(f"pad_id ({config.pad_id}) is not 0, the id of {PAD}")
    check_target(tgt_vocab)


def available_checkpoints() -> list[str]:
    """Names of the shipped checkpoints."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{CONFIG}"))


def save_checkpoint(checkpoint: Checkpoint, folder: str | Path, card: str) -> None:
    """Write all four files, each of them atomically. Raises ValueError: the weights are int8, or a vocabulary has a
    tokenizer, which a checkpoint cannot hold."""
    check_float32(checkpoint.model)
    folder = Path(folder)
    config = {
        "model": asdict(checkpoint.model.config),
        "source_length": checkpoint.source_length,
        "output_limit": checkpoint.output_limit,
        "pad_source": checkpoint.pad_source,
    }
    sides = {"source": checkpoint.src_vocab, "target": checkpoint.tgt_vocab}
    for side, vocab in sides.items():
        if vocab.tokenizer:
            raise ValueError(f"the {side} vocabulary has a tokenizer, which a checkpoint cannot hold")
    vocabularies: dict[str, Any] = {side: list(vocab.tokens) for side, vocab in sides.items()}
    vocabularies["folds"] = {side: vocab.folds for side, vocab in sides.items()}
    weights = {name: value.detach().cpu().contiguous() for name, value in checkpoint.model.named_parameters()}
    folder.mkdir(parents=True, exist_ok=True)
    digests = {
        CONFIG: _digest(_canonical(config)),
        VOCABULARIES: _digest(_canonical(vocabularies)),
        CARD: _digest(card.encode()),
        WEIGHTS: _digest(*map(_bytes, weights.values())),
    }
    # One entry, because safetensors writes several in any order, and the same content should give the same bytes.
    write(folder / WEIGHTS, save(weights, metadata={"digests": json.dumps(digests)}))
    write(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode())
    write(folder / VOCABULARIES, (json.dumps(vocabularies, indent=2, ensure_ascii=False) + "\n").encode())
    write(folder / CARD, card.encode())


def load_checkpoint(folder: str | Path, device: str | torch.device = "cpu") -> Checkpoint:
    """Read a checkpoint and trust nothing in it: every file must be complete, and all must belong together.

    Returns:
        The checkpoint, its model on `device` in evaluation mode and without gradients.

    Raises:
        CheckpointError: a file is missing, cut off, malformed or of another checkpoint.
    """
    folder = Path(folder)
    config, vocabularies = read_json(folder / CONFIG), read_json(folder / VOCABULARIES)
    with reading(folder / CONFIG):
        shape = TransformerConfig(**config["model"])
        lengths = {name: config[name] for name in ("source_length", "output_limit")}
        check_lengths(shape, **lengths)
        pad_source = config["pad_source"]
        if not isinstance(pad_source, bool):
            raise ValueError(f"pad_source ({pad_source!r}) is not true or false")
    with reading(folder / VOCABULARIES):
        sides = ("source", "target")
        src_vocab, tgt_vocab = (Vocabulary(tuple(vocabularies[side]), vocabularies["folds"][side]) for side in sides)
        check_vocabularies(shape, src_vocab, tgt_vocab)
    with reading(folder / CARD):
        card = (folder / CARD).read_bytes()
    with reading(folder / WEIGHTS), safe_open(folder / WEIGHTS, framework="pt") as stored:
        digests = dict(json.loads(stored.metadata()["digests"]))
        for name, content in ((CONFIG, _canonical(config)), (VOCABULARIES, _canonical(vocabularies)), (CARD, card)):
            if digests.get(name) != _digest(content):
                raise CheckpointError(f"{folder / name}: not what {WEIGHTS} was saved with")
        with reading(folder / CONFIG), untouched_rng():
            model = Transformer(shape)
        load_weights(model, stored)
        if digests.get(WEIGHTS) != _digest(*map(_bytes, model.parameters())):
            raise ValueError("its weights are not those that were saved")
    return Checkpoint(
        model.to(device).eval().requires_grad_(False), src_vocab, tgt_vocab, **lengths, pad_source=pad_source
    )


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Whatever goes wrong with a file's content becomes a CheckpointError of one line that names the file."""
    try:
        yield
    except CheckpointError:
        raise
    except FileNotFoundError as error:
        raise CheckpointError(f"{file}: no such file") from error
    except KeyError as error:
        raise CheckpointError(f"{file}: {error} is missing") from error
    except SafetensorError as error:
        raise CheckpointError(f"{file}: not a complete safetensors file ({first_line(error)})") from error
    except INVALID_CONTENT as error:
        raise CheckpointError(f"{file}: {first_line(error)[:300]}") from error


def load_weights(model: Transformer, stored: Any) -> None:
    """Every parameter from an open safetensors file, which holds nothing else. Raises ValueError: a tensor is missing,
    superfluous or of another shape."""
    parameters, names = dict(model.named_parameters()), set(stored.keys())
    if missing := parameters.keys() - names:
        raise ValueError(f"{min(missing)} is missing")
    if extra := names - parameters.keys():
        raise ValueError(f"{min(extra)} has no place in this model")
    for name, parameter in parameters.items():
        shape = stored.get_slice(name).get_shape()
        if shape != list(parameter.shape):
            raise ValueError(f"{name} is {shape}, expected {list(parameter.shape)}")
        with torch.no_grad():
            parameter.copy_(stored.get_tensor(name))


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its type where it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def read_json(file: Path) -> dict[str, Any]:
    """A file that holds one JSON object. Raises CheckpointError: it does not exist, or holds something else."""
    with reading(file):
        content = json.loads(file.read_bytes())
        if not isinstance(content, dict):
            raise TypeError("not a JSON object")
    return content


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _bytes(weights: Tensor) -> bytes:
    return weights.detach().cpu().numpy().tobytes()


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def part_of(file: Path) -> Path:
    """Where a file is until it is complete."""
    return file.with_name(file.name + ".part")


def write(file: Path, content: bytes) -> None:
    """Write a file at once: it is never half there."""
    part = part_of(file)
    try:
        with part.open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)  # incomplete where the disk is full
