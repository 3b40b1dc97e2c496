"""Encoder, Decoder and Transformer (§3): ids in, logits and attention maps out. Knows nothing of words or text.

B batch, S source, T target, H heads, D model width, V target vocabulary.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from .attention import KeyValueCache
from .config import TransformerConfig
from .int8 import check_float32
from .layers import DecoderLayer, EncoderLayer, LayerCache, sinusoidal_positions
from .masks import causal_mask, padding_mask
from .probe import Probe, apply_probe, scoped
from .torch_weights import our_fields, our_names, to_torch_stacks

Weights = tuple[Tensor, ...] | None  # one tensor per layer, or None without need_weights


@dataclass(frozen=True, eq=False)
class Attention:
    """Attention weights after softmax, before dropout; rows are queries, columns keys; one tensor per layer."""

    encoder: tuple[Tensor, ...]  # (B, H, S, S)
    decoder: tuple[Tensor, ...]  # (B, H, T, T)
    cross: tuple[Tensor, ...]  # (B, H, T, S)


@dataclass(frozen=True, eq=False)
class TransformerOutput:
    """One pass: logits of the next token at every target position, and every layer's attention weights."""

    logits: Tensor  # (B, T, V)
    attention: Attention | None


for _output in (Attention, TransformerOutput):  # as pytrees, so that torch.export can return them
    torch.export.register_dataclass(_output, serialized_type_name=f"transformer.{_output.__name__}")


@dataclass(frozen=True, eq=False)
class Encoded:
    """An encoded source, which the decoder attends to."""

    memory: Tensor  # (B, S, D)
    mask: Tensor  # bool, True = may attend, broadcastable to (B, H, T, S)
    attention: Weights  # (B, H, S, S) per layer


@dataclass
class DecoderCache:
    """Keys and values of every decoder layer for one batch of growing targets. Owned by the caller."""

    layers: list[LayerCache]
    ids: Tensor  # (B, T so far)

    def select(self, rows: Tensor) -> None:
        """Keep these targets of the batch, (N,), in this order. A target may occur twice, to continue in two ways."""
        for cache in itertools.chain.from_iterable(self.layers):
            cache.select(rows)
        self.ids = self.ids[rows]


@dataclass(frozen=True, eq=False)
class DecoderOutput:
    """The output for the newest positions only."""

    logits: Tensor  # (B, T, V)
    self_attention: Weights  # (B, H, T, past + T) per layer
    cross_attention: Weights  # (B, H, T, S) per layer


class Encoder(nn.Module):
    """A stack of encoder layers (§3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.final_norm != "none" else nn.Identity()

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = True, probe: Probe | None = None
    ) -> tuple[Tensor, Weights]:
        """(B, S, D) -> (B, S, D) and every layer's weights (B, H, S, S)."""
        maps = []
        for i, layer in enumerate(self.layers):
            x, weights = layer(x, mask, need_weights, scoped(probe, str(i)))
            maps.append(weights)
        return apply_probe(probe, "output", self.norm(x)), tuple(maps) if need_weights else None


class Decoder(nn.Module):
    """A stack of decoder layers (§3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.final_norm == "both" else nn.Identity()

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        self_mask: Tensor | None = None,
        cross_mask: Tensor | None = None,
        need_weights: bool = True,
        probe: Probe | None = None,
        caches: list[LayerCache] | None = None,
    ) -> tuple[Tensor, Weights, Weights]:
        """(B, T, D), memory (B, S, D) -> (B, T, D), every layer's self- and cross-attention weights."""
        self_maps, cross_maps = [], []
        for i, layer in enumerate(self.layers):
            x, self_weights, cross_weights = layer(
                x, memory, self_mask, cross_mask, need_weights, scoped(probe, str(i)), caches[i] if caches else None
            )
            self_maps.append(self_weights)
            cross_maps.append(cross_weights)
        x = apply_probe(probe, "output", self.norm(x))
        return (x, tuple(self_maps), tuple(cross_maps)) if need_weights else (x, None, None)


class Transformer(nn.Module):
    """The encoder-decoder of "Attention Is All You Need".

    A probe sees every intermediate by name, such as `encoder.0.self_attention.weights`; all names are in
    transformer/README.md.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.src_embedding = nn.Embedding(config.src_vocab_size, config.d_model)
        self.tgt_embedding = nn.Embedding(config.tgt_vocab_size, config.d_model)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output_projection = nn.Linear(config.d_model, config.tgt_vocab_size, bias=config.bias)
        self.embedding_dropout = nn.Dropout(config.dropout)
        positions = sinusoidal_positions(config.max_len, config.d_model, config.sinusoid)
        if not config.positional_encoding:
            positions.zero_()  # still added, so that embedding + position = input holds for every network
        self.register_buffer("positions", positions, persistent=False)
        self.positions: Tensor
        # Scaled by sqrt(d_model) this has unit variance. PyTorch's default N(0, 1) would be sqrt(d_model) times larger
        # and saturate the first softmax. The linear layers keep PyTorch's default: Xavier's larger weights there would
        # outweigh the word itself in six post-norm layers, and so make every cross-attention head uniform.
        for embedding in (self.src_embedding, self.tgt_embedding):
            nn.init.normal_(embedding.weight, std=config.d_model**-0.5)
        if config.tie_weights:  # §3.4
            self.tgt_embedding.weight = self.src_embedding.weight
        if config.tie_weights or config.tie_output:
            self.output_projection.weight = self.tgt_embedding.weight

    @classmethod
    def from_torch(
        cls, theirs: nn.Transformer, src_vocab_size: int, tgt_vocab_size: int, **fields: Any
    ) -> "Transformer":
        """A network with copies of the weights of a torch.nn.Transformer, on its device, in its dtype and mode.

        PyTorch's has neither embeddings nor an output projection: they are new, to be trained or loaded. In evaluation
        mode both stacks give the same numbers; in training PyTorch also drops hidden units of the feed-forward network.

        Args:
            src_vocab_size, tgt_vocab_size, fields: fields of TransformerConfig that PyTorch's network does not have.

        Raises:
            TypeError: `theirs` is not a torch.nn.Transformer, or it determines one of the fields.
            ValueError: its network is not one that TransformerConfig can describe; the message names the difference.
        """
        ours = cls(TransformerConfig(src_vocab_size, tgt_vocab_size, **our_fields(theirs), **fields))
        missing, extra = ours.load_state_dict(our_names(theirs.state_dict()), strict=False)
        if extra:
            raise ValueError(f"{extra[0]} has no place in this network")
        with torch.no_grad():
            for name in missing:
                if name.startswith(("encoder.", "decoder.")) and name.endswith("bias"):
                    ours.get_parameter(name).zero_()
        return ours.to(next(theirs.parameters())).train(theirs.training)

    def to_torch(self) -> nn.Transformer:
        """Both stacks as a torch.nn.Transformer (batch_first) with copies of the weights, in the same mode.

        Embeddings, positions and the output projection stay here: it takes `encoder.input` and `decoder.input`, as a
        probe sees them, and returns `decoder.output`. Its masks mean the opposite: True = may not attend. Raises
        ValueError: the weights are int8.
        """
        check_float32(self)
        return to_torch_stacks(self.config, self.state_dict()).train(self.training)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        need_weights: bool = True,
        probe: Probe | None = None,
    ) -> TransformerOutput:
        """Logits of every next target token, given the source and the target so far.

        Args:
            src: source ids (B, S).
            tgt: decoder input ids (B, T): the target shifted right, starting with S.
            src_mask, tgt_mask, memory_mask: masks of the encoder, the decoder and cross-attention; bool, True = may
                attend, as (Q, K) or broadcastable to (B, H, Q, K). By default padding (pad_id) and the future of the
                target are masked.
            need_weights: False gives attention=None and uses PyTorch's fused attention.
            probe: watches or replaces intermediates.

        Raises:
            ValueError: ids are not (B, length) or not in their vocabulary, source and target batches differ in size, a
                sequence is longer than max_len, or a mask is not bool or has another shape.
        """
        encoded = self.encode(src, src_mask, need_weights, probe)
        if memory_mask is not None:
            encoded = replace(encoded, mask=_checked_mask("memory_mask", memory_mask, tgt.size(-1), src.size(-1)))
        decoded = self.decode_step(tgt, encoded, None, tgt_mask, need_weights, probe)
        if encoded.attention is None or decoded.self_attention is None or decoded.cross_attention is None:
            return TransformerOutput(decoded.logits, None)
        maps = Attention(encoded.attention, decoded.self_attention, decoded.cross_attention)
        return TransformerOutput(decoded.logits, maps)

    def encode(
        self, src: Tensor, src_mask: Tensor | None = None, need_weights: bool = True, probe: Probe | None = None
    ) -> Encoded:
        """Encode source ids (B, S); arguments and errors as in `forward`."""
        _check_ids("src", src, self.config.src_vocab_size)
        key_mask = padding_mask(src, self.config.pad_id)  # (B, 1, 1, S)
        mask = key_mask if src_mask is None else _checked_mask("src_mask", src_mask, src.size(1), src.size(1))
        probe = scoped(probe, "encoder")
        x = self._embed(self.src_embedding, src, 0, probe)
        memory, weights = self.encoder(x, mask, need_weights, probe)
        return Encoded(memory, key_mask, weights)

    def start_cache(self, batch: int = 1) -> DecoderCache:
        """An empty cache for `decode_step`."""
        layers = [LayerCache(KeyValueCache(), KeyValueCache()) for _ in range(self.config.num_decoder_layers)]
        return DecoderCache(layers, torch.empty(batch, 0, dtype=torch.long, device=self.positions.device))

    def decode_step(
        self,
        tgt: Tensor,
        encoded: Encoded,
        cache: DecoderCache | None = None,
        tgt_mask: Tensor | None = None,
        need_weights: bool = True,
        probe: Probe | None = None,
    ) -> DecoderOutput:
        """Decode the newest inputs (B, T), usually one per sentence; all earlier positions come from the cache.

        Feeding ids one by one gives the same rows as one pass over all of them.

        Args:
            tgt: newest decoder input ids (B, T); without a cache, all of them.
            encoded: from `encode`, the same at every step.
            cache: from `start_cache`; this step is appended.
            tgt_mask: as in `forward`.

        Raises:
            ValueError: as in `forward`.
        """
        _check_ids("tgt", tgt, self.config.tgt_vocab_size)
        if tgt.size(0) != encoded.memory.size(0):
            raise ValueError(f"tgt holds {tgt.size(0)} sentences, but the source holds {encoded.memory.size(0)}")
        if cache and cache.ids.size(0) != tgt.size(0):
            raise ValueError(f"tgt holds {tgt.size(0)} sentences, but the cache holds {cache.ids.size(0)}")
        past = cache.ids.size(1) if cache else 0
        ids = torch.cat([cache.ids, tgt], dim=1) if cache else tgt
        inner = scoped(probe, "decoder")
        x = self._embed(self.tgt_embedding, tgt, past, inner)
        if tgt_mask is None:
            tgt_mask = padding_mask(ids, self.config.pad_id) & causal_mask(tgt.size(1), past, tgt.device)
        else:
            _checked_mask("tgt_mask", tgt_mask, tgt.size(1), tgt.size(1))
        x, self_weights, cross_weights = self.decoder(
            x, encoded.memory, tgt_mask, encoded.mask, need_weights, inner, cache.layers if cache else None
        )
        if cache:
            cache.ids = ids
        logits = apply_probe(probe, "logits", self.output_projection(x))  # (B, T, V)
        return DecoderOutput(logits, self_weights, cross_weights)

    def _embed(self, embedding: nn.Embedding, ids: Tensor, past: int, probe: Probe | None) -> Tensor:
        """Embedding + position (§3.4, §3.5): (B, T) -> (B, T, D); the first id stands at position `past`."""
        config, end = self.config, past + ids.size(1)
        if end > config.max_len:
            raise ValueError(f"a sequence of {end} is longer than max_len ({config.max_len})")
        x = apply_probe(probe, "embedding", embedding(ids) * config.embedding_scale)
        if config.embedding_dropout == "before":
            x = self.embedding_dropout(x)
        x = x + apply_probe(probe, "positions", self.positions[past:end])
        if config.embedding_dropout == "after":
            x = self.embedding_dropout(x)
        return apply_probe(probe, "input", x)


def _check_ids(name: str, ids: Tensor, vocab_size: int) -> None:
    if ids.dim() != 2 or ids.size(1) == 0:
        raise ValueError(f"{name} has shape {tuple(ids.shape)}; expected (batch, length) with a length of at least 1")
    if ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name} is {ids.dtype}; ids are torch.int64 or torch.int32")
    if torch.compiler.is_compiling() or ids.size(0) == 0:  # an exported program cannot depend on values
        return
    low, high = (int(value) for value in ids.aminmax())
    if low < 0 or high >= vocab_size:
        raise ValueError(f"{name} holds id {low if low < 0 else high}; {name}_vocab_size is {vocab_size}")


def _checked_mask(name: str, mask: Tensor, queries: int, keys: int) -> Tensor:
    if mask.dtype != torch.bool:
        raise ValueError(f"{name} is {mask.dtype}; expected torch.bool, True = may attend")
    fits = mask.dim() == 4 and mask.size(-2) in (1, queries) and mask.size(-1) in (1, keys)
    if mask.shape != (queries, keys) and not fits:
        raise ValueError(
            f"{name} has shape {tuple(mask.shape)}; expected ({queries}, {keys}) or four dimensions that broadcast to "
            f"(batch, heads, {queries}, {keys}), so a padding mask is mask[:, None, None, :]"
        )
    return mask
