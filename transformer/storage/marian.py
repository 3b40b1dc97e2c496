"""A folder of the Hugging Face Hub's Marian format as a checkpoint: opus-mt, tc-big and others. Runs nothing of it.

config.json              the network
generation_config.json   how it decodes; optional, goes before config.json
vocab.json               piece -> id; with target_vocab.json the source's alone
source.spm, target.spm   sentencepiece models
tokenizer_config.json    whether there are two vocabularies, and what special pieces are called; optional
model.safetensors        weights; else pytorch_model.bin, which another process converts once (see pickled.py)

The network stays the paper's: what Marian does otherwise becomes fields of TransformerConfig, or weights. P and S are
added to its own tokens, with copies of the rows of its padding and of its first decoder input. P pads batches, and S,
which Marian attends to although it usually is its padding, is never masked. The output bias of both is −∞.

A folder that marian_export.py made of vocabularies of words has no sentencepiece models: its vocabularies hold P, S and
E with the words, and config.json has under OWN what Marian's configuration cannot say.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from ..data.pieces import FIRST, PieceVocabulary, read_pieces
from ..data.vocabulary import END, Vocabulary, check_target
from ..network.config import Activation, TransformerConfig
from ..network.model import Transformer
from ..network.skeleton import init_empty_weights
from .checkpoint import Checkpoint, CheckpointError, check_lengths, read_json, reading
from .pickled import DIGEST, converted
from .portable import MAX_LAYERS, MAX_POSITIONS
from .prepared import prepared

CONFIG, GENERATION, TOKENIZER = "config.json", "generation_config.json", "tokenizer_config.json"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
SOURCE_PIECES, TARGET_PIECES = "source.spm", "target.spm"
WEIGHTS, PICKLE = "model.safetensors", "pytorch_model.bin"
OWN = "attention_bitte"  # of config.json
ACTIVATIONS: dict[Any, Activation] = {"relu": "relu", "silu": "silu", "swish": "silu", "gelu": "gelu"}

# Names of this project -> Marian's, in a layer of either stack.
_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
PARTS = {
    **{f"self_attn.{name}": f"self_attn.{name}" for name in _PROJECTIONS},
    **{f"cross_attn.{name}": f"encoder_attn.{name}" for name in _PROJECTIONS},
    "linear1": "fc1",
    "linear2": "fc2",
    "norm1": "self_attn_layer_norm",
}
NORMS = {
    "encoder": {"norm2": "final_layer_norm"},
    "decoder": {"norm2": "encoder_attn_layer_norm", "norm3": "final_layer_norm"},
}
_FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def is_marian(folder: Path) -> bool:
    """Whether a folder is of the Hub's format rather than a checkpoint of this project."""
    return (folder / CONFIG).is_file() and "model_type" in read_json(folder / CONFIG)


def weights_in(folder: Path) -> Path | None:
    """The file of a model's weights, if there is one."""
    return next((folder / name for name in (WEIGHTS, PICKLE) if (folder / name).is_file()), None)


def weights_of(folder: Path) -> Path:
    """A model's weights as safetensors; a pickle is converted. Raises CheckpointError where there are none."""
    if (file := weights_in(folder)) is None:
        raise CheckpointError(f"{folder}: it has neither {WEIGHTS} nor {PICKLE}")
    return converted(file) if file.name == PICKLE else file


def load_marian(folder: Path, device: str | torch.device = "cpu", mapped: bool = False) -> Checkpoint:
    """Read a Marian model and trust nothing in it.

    Args:
        mapped: whether weights in float32 stay in their file, which nobody may change, instead of being copied.

    Returns:
        The checkpoint, its model on `device` in float32 and in evaluation mode. Its sources end on E; they may have as
        many pieces as the network has positions.

    Raises:
        CheckpointError: a file is missing, cut off, malformed, does not fit the others, or describes a network that
            this one cannot be; the message is one line and names the file.
    """
    config = read_json(folder / CONFIG)
    generation = config | (read_json(folder / GENERATION) if (folder / GENERATION).is_file() else {})
    of_words = OWN in config
    source, target = _words(folder, config) if of_words else _vocabularies(folder, config, generation)
    with reading(folder / CONFIG):
        added = 0 if of_words else FIRST
        shape = _shape(config, len(source), len(target), added)
        copied = [
            _id(config, "pad_token_id", min(len(source), len(target)) - added),
            _id(generation, "decoder_start_token_id", len(target) - added),
        ][:added]
    with reading(folder / (GENERATION if (folder / GENERATION).is_file() else CONFIG)):
        suppressed = _suppressed(generation, len(target) - added)
        lengths = {"source_length": shape.max_len - 1, "output_limit": _output_limit(generation, shape.max_len)}
    with reading(folder / CONFIG):
        if of_words:
            lengths = {name: config[OWN][name] for name in lengths}
            check_lengths(shape, **lengths)
        pad_source = of_words and _flag(config[OWN], "pad_source", True)
    weights = weights_of(folder)

    def read() -> Transformer:
        with reading(weights), safe_open(weights, framework="pt") as stored:
            tensors = _Tensors(stored, mapped)
            model = _model(shape, tensors, copied, suppressed)
            if tensors.unread:
                raise ValueError(f"{min(tensors.unread)} has no place in this model")
            return model

    digest = weights.resolve().stem  # of a file in the Hub's cache
    model = prepared(shape, [digest, copied, suppressed], read) if mapped and DIGEST.fullmatch(digest) else read()
    forces_end = generation.get("forced_eos_token_id") is not None
    return Checkpoint(model.to(device).eval(), source, target, **lengths, pad_source=pad_source, forces_end=forces_end)


def _shape(config: Mapping[str, Any], source: int, target: int, added: int) -> TransformerConfig:
    """The network's configuration, for vocabularies of these sizes, `added` tokens of which are not Marian's own."""
    if config["model_type"] != "marian":
        raise ValueError(f"model_type is {config['model_type']!r}; only marian is read")
    for field in ("attention_heads", "ffn_dim"):
        one, two = config[f"encoder_{field}"], config[f"decoder_{field}"]
        if one != two:
            raise ValueError(f"encoder_{field} ({one}) is not decoder_{field} ({two}); both stacks are alike here")
    activation = config.get("activation_function", "gelu")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise ValueError(f"activation_function is {activation!r}, not one of {', '.join(ACTIVATIONS)}")
    shared, tied = (_flag(config, name, True) for name in ("share_encoder_decoder_embeddings", "tie_word_embeddings"))
    limits = {"encoder_layers": MAX_LAYERS, "decoder_layers": MAX_LAYERS, "max_position_embeddings": MAX_POSITIONS}
    for field, most in limits.items():
        if isinstance(config[field], int) and config[field] > most:
            raise ValueError(f"{field} ({config[field]}) is above {most}")
    if isinstance(config["max_position_embeddings"], int) and config["max_position_embeddings"] < 4:
        raise ValueError(f"max_position_embeddings ({config['max_position_embeddings']}) is below 4")
    vocab_size = config["vocab_size"]
    for side, size, pieces in (
        ("vocab_size", vocab_size, source - added),
        ("decoder_vocab_size", config.get("decoder_vocab_size") or vocab_size, target - added),
    ):
        if size != pieces:
            raise ValueError(f"{side} is {size!r}, but the vocabulary has {pieces} pieces")
    return TransformerConfig(
        src_vocab_size=source,
        tgt_vocab_size=target,
        d_model=config["d_model"],
        n_heads=config["encoder_attention_heads"],
        d_ff=config["encoder_ffn_dim"],
        num_encoder_layers=config["encoder_layers"],
        num_decoder_layers=config["decoder_layers"],
        dropout=config.get("dropout", 0.1),
        attention_dropout=bool(config.get("attention_dropout", 0.0)),
        max_len=config["max_position_embeddings"],
        scale_embeddings=_flag(config, "scale_embedding", False),
        tie_weights=shared and tied,
        tie_output=tied,
        sinusoid="halves",
        activation=ACTIVATIONS[activation],
    )


def _object(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = config[name]
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not an object")
    return value


def _flag(config: Mapping[str, Any], name: str, default: bool) -> bool:
    value = config.get(name, default)
    if not isinstance(value, bool):
        raise ValueError(f"{name} ({value!r}) is not true or false")
    return value


def _id(config: Mapping[str, Any], name: str, size: int) -> int:
    """One of a model's own ids; a list of one is as good."""
    value = config[name]
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < size:
        raise ValueError(f"{name} ({value!r}) is not an id from 0 to {size - 1}")
    return value


def _vocabularies(
    folder: Path, config: Mapping[str, Any], generation: Mapping[str, Any]
) -> tuple[PieceVocabulary, PieceVocabulary]:
    tokenizer = read_json(folder / TOKENIZER) if (folder / TOKENIZER).is_file() else {}
    with reading(folder / TOKENIZER):
        end, unknown, padding = (
            _piece_name(tokenizer, name, default)
            for name, default in (("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>"))
        )
        separate = _flag(tokenizer, "separate_vocabs", False)
    pieces = _pieces(folder / VOCABULARY)
    target_pieces = _pieces(folder / TARGET_VOCABULARY) if separate else pieces
    with reading(folder / SOURCE_PIECES):
        cut = read_pieces(folder / SOURCE_PIECES)
    with reading(folder / TARGET_PIECES):
        join = read_pieces(folder / TARGET_PIECES)
    specials = (end, unknown, padding)
    with reading(folder / VOCABULARY):
        if end not in pieces:
            raise ValueError(f"{end} is missing")
        source = PieceVocabulary.of_model(pieces, pieces.index(end), specials, tokenizer=cut, joiner=cut, ends=True)
    with reading(folder / (TARGET_VOCABULARY if separate else VOCABULARY)):
        end_id = _id({"eos_token_id": generation.get("eos_token_id", 0)}, "eos_token_id", len(target_pieces))
        # transformers joins the pieces of one vocabulary with the source's model.
        joiner = join if separate else cut
        if not separate and end_id == source.ids[END] - FIRST:
            return source, source.of_output(tokenizer=join, joiner=joiner)
        return source, PieceVocabulary.of_model(target_pieces, end_id, specials, tokenizer=join, joiner=joiner)


def _words(folder: Path, config: Mapping[str, Any]) -> tuple[Vocabulary, Vocabulary]:
    """The vocabularies of words of a folder that this project has written; their ids are Marian's."""
    with reading(folder / CONFIG):
        folds = [_flag(_object(_object(config, OWN), "folds"), side, False) for side in ("source", "target")]
    vocabularies = []
    for name, folding in zip((VOCABULARY, TARGET_VOCABULARY), folds, strict=True):
        words = _pieces(folder / name)
        with reading(folder / name):
            vocabularies.append(Vocabulary(tuple(words), folding))
    with reading(folder / TARGET_VOCABULARY):
        check_target(vocabularies[1])
    return vocabularies[0], vocabularies[1]


def _piece_name(tokenizer: Mapping[str, Any], name: str, default: str) -> str:
    value = tokenizer.get(name, default)
    value = value.get("content") if isinstance(value, dict) else value
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} ({value!r}) is not text")
    return value


def _pieces(file: Path) -> list[str]:
    """The pieces of a vocabulary in the order of their ids."""
    ids = read_json(file)
    with reading(file):
        if set(map(type, ids.values())) - {int} or sorted(ids.values()) != list(range(len(ids))):
            raise ValueError(f"its ids are not the numbers from 0 to {len(ids) - 1}, each once")
        return sorted(ids, key=ids.__getitem__)


def _suppressed(generation: Mapping[str, Any], size: int) -> list[int]:
    """The model's own ids that it never outputs."""
    words = generation.get("bad_words_ids") or []
    for word in words:
        if not isinstance(word, list) or len(word) != 1 or type(word[0]) is not int or not 0 <= word[0] < size:
            raise ValueError(f"bad_words_ids holds {word!r}, not a list of one id from 0 to {size - 1}")
    end = generation.get("eos_token_id", 0)
    return [word[0] for word in words if word[0] != end]


def _output_limit(generation: Mapping[str, Any], positions: int) -> int:
    """Tokens that transformers outputs at most, without the end where it forces one there."""
    longest = generation.get("max_length") or positions
    if type(longest) is not int or longest < 3:
        raise ValueError(f"max_length ({longest!r}) is not a number from 3")
    return min(longest, positions) - 1 - (generation.get("forced_eos_token_id") is not None)


class _Tensors:
    """The weights of an open safetensors file, each of which is read, and stays in the file where it may be `mapped`.
    The file's metadata may have further names of them."""

    def __init__(self, stored: Any, mapped: bool) -> None:
        self.stored, self.mapped = stored, mapped
        names = {name: name for name in stored.keys()}  # noqa: SIM118  # it is not a dict
        others = {other: name for other, name in (stored.metadata() or {}).items() if name in names}
        self.stored_as = others | names
        self.unread = set(names)

    def __contains__(self, name: str) -> bool:
        return name in self.stored_as

    def read(self, name: str, *shape: int, copied: Sequence[int] = ()) -> nn.Parameter:
        """In float32, with these rows once more before all rows: a copy, unless it may be as it is stored. Raises
        ValueError: as `view`, or it holds a number that is not finite."""
        tensor = stored = self.view(name, *shape)
        if copied or not self.mapped or stored.dtype != torch.float32:
            tensor = torch.empty(len(copied) + shape[0], *shape[1:])
        own = tensor[len(copied) :]
        if tensor is not stored:
            own.copy_(stored)
        if not math.isfinite(own.sum()):  # the fastest pass that meets every number
            raise ValueError(f"{name} holds a number that is not finite")
        tensor[: len(copied)] = own[list(copied)]
        return nn.Parameter(tensor, requires_grad=False)

    def view(self, name: str, *shape: int) -> Tensor:
        """As it is stored, in the file. Raises ValueError: it is missing, or of another shape or type."""
        if name not in self:
            raise ValueError(f"{name} is missing")
        stored = self.stored_as[name]
        self.unread.discard(stored)
        if (found := self.stored.get_slice(stored).get_shape()) != list(shape):
            raise ValueError(f"{name} is {found}, expected {list(shape)}")
        tensor: Tensor = self.stored.get_tensor(stored)
        if tensor.dtype not in _FLOATS:
            raise ValueError(f"{name} holds {tensor.dtype}, not floats")
        return tensor


def _model(config: TransformerConfig, tensors: _Tensors, copied: list[int], suppressed: list[int]) -> Transformer:
    """The network with these weights. By Marian's own ids, P and S copy the rows `copied`, where they are added, and
    what is `suppressed` is never output."""
    added = len(copied)
    names = ("src_embedding.weight", "tgt_embedding.weight", "output_projection.weight")
    weights: dict[str, Tensor] = dict(zip(names, _embeddings(config, tensors, copied), strict=True))
    bias = tensors.view("final_logits_bias", 1, config.tgt_vocab_size - added)[0].float()
    bias = bias.index_fill(0, torch.tensor(suppressed).long(), -math.inf)
    if not (bias < math.inf).all():
        raise ValueError("final_logits_bias holds a number that is not finite")
    if (bias == -math.inf).all():
        raise ValueError("every piece is suppressed")
    bias = torch.cat([bias.new_full((added,), -math.inf), bias])
    weights["output_projection.bias"] = nn.Parameter(bias, requires_grad=False)
    with init_empty_weights():  # every weight is read
        model = Transformer(config)
    for name, wanted in model.state_dict().items():
        if name not in weights:
            stack, _, layer, part = name.split(".", 3)
            part, kind = part.rsplit(".", 1)
            theirs = (PARTS | NORMS[stack])[part]
            weights[name] = tensors.read(f"model.{stack}.layers.{layer}.{theirs}.{kind}", *wanted.shape)
    for stack in ("encoder", "decoder"):
        name = f"model.{stack}.embed_positions.weight"
        if name in tensors:
            stored = tensors.view(name, config.max_len, config.d_model).float()
            if not torch.allclose(stored, model.positions, rtol=0, atol=2e-3):  # fp16 has 11 bits
                raise ValueError(f"{name} holds other positions than sines and cosines in halves")
    model.load_state_dict(weights, assign=True)
    return model.requires_grad_(False)


def _embeddings(
    config: TransformerConfig, tensors: _Tensors, copied: list[int]
) -> tuple[nn.Parameter, nn.Parameter, nn.Parameter]:
    """The matrices of source, target and output; those that are tied are one. Files may hold copies. Raises ValueError:
    one is missing, or two that the configuration ties differ."""
    d, added = config.d_model, len(copied)
    source, target = config.src_vocab_size - added, config.tgt_vocab_size - added
    for_source = copied if config.tie_weights else copied[:1] * added  # it never holds S
    shared, output = "model.shared.weight", "lm_head.weight"
    encoder, decoder = (f"model.{stack}.embed_tokens.weight" for stack in ("encoder", "decoder"))

    def same(size: int, copied: list[int], *names: str) -> nn.Parameter:
        there = [name for name in names if name in tensors]
        found = tensors.read(there[0] if there else names[0], size, d, copied=copied)
        for name in there[1:]:
            if not torch.equal(found[added:], tensors.view(name, size, d).float()):
                raise ValueError(f"{name} is not {there[0]}, but the configuration ties them")
        return found

    if config.tie_weights:
        one = same(source, for_source, shared, encoder, decoder, output)
        return one, one, one
    if config.tie_output:
        one = same(target, copied, decoder, output)
        return same(source, for_source, encoder), one, one
    # Where nothing is tied, transformers reads no shared matrix unless the file holds it alone.
    tensors.unread.discard(shared)
    inputs = [each if each in tensors or shared not in tensors else shared for each in (encoder, decoder)]
    return (
        tensors.read(inputs[0], source, d, copied=for_source),
        tensors.read(inputs[1], target, d, copied=copied),
        tensors.read(output, target, d, copied=copied),
    )
