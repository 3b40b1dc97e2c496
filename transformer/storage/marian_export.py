"""A checkpoint as a folder of the Hub's Marian format, for `MarianMTModel.from_pretrained` and other tools.

marian.py lists the files of such a folder, and reads back what is written here. The numbers stay the same:

- Sines and cosines that alternate (§3.5) come in halves, as Marian computes them, by another order of the model's
  dimensions in all weights, on which nothing else depends.
- Biases that a network lacks are written as zeros.
- A vocabulary of pieces keeps Marian's own ids: P and S, which loading has added, are left out.
- A vocabulary of words is written as it is, P, S and E included: ids are those of this project, P is the padding, S the
  decoder's first input, E the end. `MarianTokenizer` cuts no words, so other programs look their ids up in vocab.json;
  what only this project reads is in config.json, under OWN.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from ..data.pieces import FIRST, PieceVocabulary
from ..data.vocabulary import END, PAD, START
from ..network.config import TransformerConfig
from ..network.int8 import check_float32
from ..network.model import Transformer
from . import marian
from .checkpoint import Checkpoint, write

Ids = dict[str, int]


def save_marian(checkpoint: Checkpoint, folder: str | Path) -> None:
    """Write a checkpoint as a Marian model, in float32.

    Given the same ids, and a mask of the source where that is padded, `MarianMTModel` computes the same logits and
    attention weights up to rounding. Raises ValueError: the weights are int8, Marian has no such network, or a
    vocabulary has a tokenizer that its folder cannot hold.
    """
    check_float32(checkpoint.model)
    folder, config = Path(folder), checkpoint.model.config
    _check_expressible(config)
    source, target = checkpoint.src_vocab, checkpoint.tgt_vocab
    files: dict[str, bytes] = {}
    own: dict[str, Any] = {}
    if isinstance(source, PieceVocabulary) and isinstance(target, PieceVocabulary):
        added, ids = FIRST, _ids_of_pieces(checkpoint.model, target)
        files |= _files_of_pieces(source, target)
    elif source.tokenizer or target.tokenizer:
        raise ValueError("a vocabulary has a tokenizer, which a Marian folder cannot hold")
    else:
        added = 0
        ids = {"pad_token_id": 0, "decoder_start_token_id": target.ids[START], "eos_token_id": target.ids[END]}
        for name, words in ((marian.VOCABULARY, source), (marian.TARGET_VOCABULARY, target)):
            files[name] = _json(words.ids)
        lengths = {"source_length": checkpoint.source_length, "output_limit": checkpoint.output_limit}
        folds = {"source": source.folds, "target": target.folds}
        own[marian.OWN] = {**lengths, "pad_source": checkpoint.pad_source, "folds": folds}
    weights = _weights(checkpoint.model, added)
    suppressed = (weights["final_logits_bias"][0] == -torch.inf).nonzero()[:, 0].tolist()
    files[marian.CONFIG] = _json(_config(config, added) | ids | own)
    files[marian.GENERATION] = _json(
        {
            **ids,
            "bad_words_ids": [[i] for i in suppressed] or None,
            "forced_eos_token_id": ids["eos_token_id"] if checkpoint.forces_end else None,
            "max_length": checkpoint.output_limit + 1 + checkpoint.forces_end,  # it counts the first input
        }
    )
    files[marian.WEIGHTS] = save(weights, metadata={"format": "pt"})
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write(folder / name, content)


def _check_expressible(config: TransformerConfig) -> None:
    """Raises ValueError where Marian has no such network; the message says why."""
    if config.norm_first:
        raise ValueError("norm_first is true, but Marian normalises after each sublayer")
    if config.final_norm != "none":
        raise ValueError(f"final_norm is {config.final_norm}, but no norm follows a whole stack of Marian")
    if not config.positional_encoding:
        raise ValueError("positional_encoding is false, but Marian always adds positions")


def _config(config: TransformerConfig, added: int) -> dict[str, Any]:
    sizes = {"attention_heads": config.n_heads, "ffn_dim": config.d_ff}
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "vocab_size": config.src_vocab_size - added,
        "decoder_vocab_size": config.tgt_vocab_size - added,
        "d_model": config.d_model,
        "encoder_layers": config.num_encoder_layers,
        "decoder_layers": config.num_decoder_layers,
        **{f"{stack}_{name}": size for stack in ("encoder", "decoder") for name, size in sizes.items()},
        "activation_function": config.activation,
        "dropout": config.dropout,
        "attention_dropout": config.dropout if config.attention_dropout else 0.0,
        "max_position_embeddings": config.max_len,
        "scale_embedding": config.scale_embeddings,
        "share_encoder_decoder_embeddings": config.tie_weights,
        "tie_word_embeddings": config.tie_weights or config.tie_output,
    }


def _ids_of_pieces(model: Transformer, target: PieceVocabulary) -> Ids:
    """Marian's own ids of its special tokens: loading has copied the rows of two of them for P and S. Raises
    ValueError: a row is no longer a copy."""

    def equal(embedding: nn.Embedding, row: int) -> list[int]:
        rows = embedding.weight.detach()
        return (rows[FIRST:] == rows[row]).all(dim=1).nonzero()[:, 0].tolist()

    paddings = [i for i in equal(model.src_embedding, 0) if i in equal(model.tgt_embedding, 0)]
    starts = equal(model.tgt_embedding, target.ids[START])
    if not paddings or not starts:
        raise ValueError(f"{START if paddings else PAD} is not a copy of a piece, and Marian has pieces only")
    start = paddings[0] if paddings[0] in starts else starts[0]
    return {"pad_token_id": paddings[0], "decoder_start_token_id": start, "eos_token_id": target.ids[END] - FIRST}


def _files_of_pieces(source: PieceVocabulary, target: PieceVocabulary) -> dict[str, bytes]:
    separate = target.joiner is target.tokenizer or source.pieces != target.pieces
    names = dict(zip(("eos_token", "unk_token", "pad_token"), source.specials, strict=True))
    vocabularies = {marian.VOCABULARY: source} | ({marian.TARGET_VOCABULARY: target} if separate else {})
    sentencepiece: dict[str, Any] = {marian.SOURCE_PIECES: source.tokenizer, marian.TARGET_PIECES: target.tokenizer}
    return {
        marian.TOKENIZER: _json({"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate, **names}),
        **{name: _json({piece: i for i, piece in enumerate(each.pieces)}) for name, each in vocabularies.items()},
        **{name: each.serialized_model_proto() for name, each in sentencepiece.items()},
    }


def _weights(model: Transformer, added: int) -> dict[str, Tensor]:
    """By Marian's names; the first `added` rows of the vocabularies are left out."""
    config, d = model.config, model.config.d_model
    order = torch.arange(d)
    if config.sinusoid == "interleaved":
        order = torch.cat([order[0::2], order[1::2]])

    def stored(weight: Tensor) -> Tensor:
        return weight.detach().cpu().float().contiguous()

    def embedding(weight: Tensor) -> Tensor:
        return stored(weight.detach().cpu()[added:, order])

    def bias(part: Any) -> Tensor:
        return torch.zeros(part.out_features) if part.bias is None else part.bias.detach().cpu()

    weights = {"final_logits_bias": stored(bias(model.output_projection)[None, added:])}
    if config.tie_weights:
        weights["model.shared.weight"] = embedding(model.src_embedding.weight)
    else:
        weights["model.encoder.embed_tokens.weight"] = embedding(model.src_embedding.weight)
        weights["model.decoder.embed_tokens.weight"] = embedding(model.tgt_embedding.weight)
        if not config.tie_output:
            weights["lm_head.weight"] = embedding(model.output_projection.weight)
    for stack, layers in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers)):
        for i, layer in enumerate(layers):
            for ours, theirs in (marian.PARTS | marian.NORMS[stack]).items():
                if stack == "encoder" and ours.startswith("cross_attn"):
                    continue
                part: Any = layer.get_submodule(ours)
                name = f"model.{stack}.layers.{i}.{theirs}"
                weight, shift = part.weight.detach().cpu(), bias(part)
                if isinstance(part, nn.LayerNorm) or ours.endswith(("out_proj", "linear2")):  # into the model's width
                    weight, shift = weight[order], shift[order]
                else:  # from it
                    weight = weight[:, order]
                weights[f"{name}.weight"], weights[f"{name}.bias"] = stored(weight), stored(shift)
    return weights


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
