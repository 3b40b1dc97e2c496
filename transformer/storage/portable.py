"""A trained model as one file that a visitor can download and upload again. Never reads a pickle.

NAME.safetensors: the weights, and in the header, as JSON: the network's configuration, both vocabularies, the sentence
pairs, how it was trained (the seed too), its card, and a digest of all that. Anybody may have made the file, so nothing
in it is used before it was checked.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..data import CORPORA, Pair
from ..data.vocabulary import Vocabulary, check_visible, has_word
from ..messages import MessageError
from ..network.config import TransformerConfig
from ..network.cost import count_heads, count_parameters, count_run_values
from ..network.int8 import check_float32
from ..network.model import Transformer
from ..network.rng import untouched_rng
from .checkpoint import INVALID_CONTENT, Checkpoint, check_vocabularies, first_line, load_weights

METADATA_KEY = "attention-bitte"  # in the header
MAX_HEADER = 8 * 2**20  # bytes
MAX_LAYERS, MAX_POSITIONS, MAX_WORDS = 64, 5000, 128  # of a stack, of a network, of a sentence
MAX_HEADS = 576  # of a network, in both stacks: 12 layers of 16 in each kind, the most that the Train tab offers
MAX_RUN_VALUES = 9 * 2**18  # of a run, 9 MiB: the attention weights of the paper's base model for 128 words
MAX_PAIRS, MAX_TEXT_LENGTH, MAX_CARD_LENGTH = 10_000, 2_000, 50_000  # texts in characters: folding may treble 500
MAX_NAME_LENGTH, MAX_NUMBER = 40, 2**63
CORPUS_NAMES = (*CORPORA, "own")  # what a model may have learned from


class PortableError(MessageError):
    """A model file that cannot be used."""


@dataclass(frozen=True, eq=False)
class PortableModel:
    """A model with everything that it was made of."""

    checkpoint: Checkpoint
    name: str  # given by the visitor
    corpus: str  # what it learned from, one of CORPUS_NAMES
    pairs: tuple[Pair, ...]  # the sentence pairs that it learned from
    training: dict[str, Any]  # settings by name, as numbers, texts and truth values; the seed is one
    card: str  # how it was made and what it scores, as Markdown


def _requires(check: Callable[[str], Any], problem: str) -> AfterValidator:
    def validate(text: str) -> str:
        if not check(text):
            raise ValueError(problem)
        return text

    return AfterValidator(validate)


def _visible(text: str) -> str:
    check_visible(text)
    return text


Text = Annotated[str, Field(max_length=MAX_TEXT_LENGTH), AfterValidator(_visible)]
Sentence = Annotated[Text, _requires(has_word, "it has no word")]
ShortText = Annotated[str, Field(max_length=MAX_NAME_LENGTH), AfterValidator(_visible)]
ModelName = Annotated[ShortText, _requires(lambda name: name.strip() and name.isprintable(), "it is not visible")]
Number = Annotated[int | float, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, allow_inf_nan=False)]
Length = Annotated[int, Field(ge=1, le=MAX_WORDS)]


class _About(BaseModel):
    """The model in the header."""

    model_config = ConfigDict(strict=True)

    name: ModelName
    corpus: Annotated[str, _requires(CORPUS_NAMES.__contains__, f"it is not one of {', '.join(CORPUS_NAMES)}")]
    pairs: Annotated[tuple[tuple[Sentence, Sentence], ...], Field(min_length=1, max_length=MAX_PAIRS)]
    training: dict[ShortText, bool | Number | ShortText]
    card: Annotated[str, Field(max_length=MAX_CARD_LENGTH), AfterValidator(_visible)]
    model: dict[str, Any]
    source_length: Length
    output_limit: Length
    pad_source: bool
    source_words: tuple[Text, ...]
    target_words: tuple[Text, ...]


def save_portable(portable: PortableModel, file: Path) -> None:
    """Write the one file. Raises ValueError: the weights are int8, a vocabulary does not fold, or it has a tokenizer,
    which the file cannot hold."""
    checkpoint = portable.checkpoint
    check_float32(checkpoint.model)
    for vocab in (checkpoint.src_vocab, checkpoint.tgt_vocab):
        if not vocab.folds or vocab.tokenizer:
            raise ValueError("a model file holds vocabularies that fold and have no tokenizer")
    weights = {name: value.detach().cpu().contiguous() for name, value in checkpoint.model.named_parameters()}
    about = {
        **vars(portable),
        **vars(checkpoint),
        "model": asdict(checkpoint.model.config),
        "source_words": checkpoint.src_vocab.tokens,
        "target_words": checkpoint.tgt_vocab.tokens,
    }
    text = json.dumps({name: about[name] for name in _About.model_fields}, ensure_ascii=False)
    digest = _digest(text, weights)
    # One entry, because safetensors writes several in any order, and the same model should give the same bytes.
    save_file(weights, file, metadata={METADATA_KEY: json.dumps({"about": text, "digest": digest}, ensure_ascii=False)})


def load_portable(file: Path, max_parameters: int = 2**31, device: str | torch.device = "cpu") -> PortableModel:
    """Read a file that anybody may have made. Allocates memory only for what the file really holds. Raises
    PortableError: it is not a model file, is incomplete, was changed, or its content contradicts itself."""
    size = file.stat().st_size
    if size > max_file_bytes(max_parameters):
        raise PortableError("file.too_big", most=max_parameters)
    with file.open("rb") as opened:
        header = int.from_bytes(opened.read(8), "little")
    if not 2 <= header <= min(MAX_HEADER, size - 8):
        raise PortableError("file.foreign")
    try:
        with safe_open(file, framework="pt") as stored:
            entry = json.loads((stored.metadata() or {}).get(METADATA_KEY, "null"))
            if not isinstance(entry, dict):
                raise PortableError("file.foreign")
            return _read(entry, stored, size, max_parameters, device)
    except PortableError:
        raise
    except SafetensorError as error:
        raise PortableError("file.foreign") from error
    except KeyError as error:
        raise _corrupt(f"{error} is missing") from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise _corrupt(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except INVALID_CONTENT as error:
        raise _corrupt(first_line(error)) from error


def max_file_bytes(max_parameters: int) -> int:
    """The largest file that a network of this many weights can have."""
    return 8 + MAX_HEADER + 4 * max_parameters


def _read(
    entry: dict[str, Any], stored: Any, size: int, max_parameters: int, device: str | torch.device
) -> PortableModel:
    about = _About.model_validate_json(entry["about"])
    config = TransformerConfig(**about.model)
    if max(config.num_encoder_layers, config.num_decoder_layers) > MAX_LAYERS or config.max_len > MAX_POSITIONS:
        raise ValueError("its network is too deep or its sentences are too long")
    if 4 * (parameters := count_parameters(config)) > size:  # before memory is allocated for them
        raise ValueError(f"it is smaller than its {parameters} weights")
    if parameters > max_parameters:
        raise PortableError("file.parameters", parameters=parameters, most=max_parameters)
    if (heads := count_heads(config)) > MAX_HEADS:
        raise PortableError("file.heads", heads=heads, most=MAX_HEADS)
    if (values := count_run_values(config, about.source_length, about.output_limit)) > MAX_RUN_VALUES:
        raise PortableError("file.numbers", value=values, most=MAX_RUN_VALUES)
    for weight_name in stored.keys():  # noqa: SIM118 - it is not a dict
        if (dtype := stored.get_slice(weight_name).get_dtype()) != "F32":
            raise ValueError(f"{weight_name} is {dtype}, not F32")
    src_vocab, tgt_vocab = (Vocabulary(words, folds=True) for words in (about.source_words, about.target_words))
    check_vocabularies(config, src_vocab, tgt_vocab)
    with untouched_rng():
        model = Transformer(config)
    load_weights(model, stored)
    for weight_name, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise PortableError("file.not_numbers", name=weight_name)
    if entry["digest"] != _digest(entry["about"], dict(model.named_parameters())):
        raise ValueError("it is not what was saved")
    checkpoint = Checkpoint(model, src_vocab, tgt_vocab, about.source_length, about.output_limit, about.pad_source)
    model.to(device).eval().requires_grad_(False)
    return PortableModel(checkpoint, about.name, about.corpus, about.pairs, about.training, about.card)


def _corrupt(detail: str) -> PortableError:
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in detail[:200]).rstrip(".")
    return PortableError("file.broken", detail=shown)


def _digest(about: str, weights: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(weights):
        digest.update(weights[name].detach().cpu().numpy().data)
    return digest.hexdigest()
