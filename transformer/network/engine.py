"""The decoding engine: the network's numbers, computed for speed where nobody watches or changes them.

The network beside it is written to be read: one operation a line, each open to a probe. An engine is made from it
when a model is loaded, and saves time in four ways. Queries, keys and values of a sublayer are one product, as are the
keys and values of the source for all decoder layers. A matrix with at least as many columns as rows lies in memory by
columns, which PyTorch multiplies with a few rows in half the time. With several threads a large one is cut into a block
for each. The key/value cache is allocated once. Where nothing is trained, the network's `nn.Linear` become views of
these matrices, so that nothing is kept twice. All attention weights are returned.

B batch, S source, t decoder inputs so far, L layers, H heads, D model width, d one head's width, V target vocabulary.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from .attention import MultiHeadAttention
from .layers import ACTIVATIONS, DecoderLayer, EncoderLayer
from .masks import padding_mask
from .model import Decoder, Encoder, Transformer


class _Product(NamedTuple):
    """x W + b."""

    bias: Tensor  # (out,)
    weight: Tensor  # (in, out)
    blocks: tuple[Tensor, Tensor] | None  # both once more in equal parts, a thread each: (n, 1, part), (n, in, part)

    def __call__(self, x: Tensor) -> Tensor:
        if self.blocks is None or len(x) > FEW_ROWS:
            return torch.addmm(self.bias, x, self.weight)
        bias, weight = self.blocks
        parts = torch.baddbmm(bias, x.expand(len(weight), -1, -1), weight)  # (n, rows, part)
        return parts.transpose(0, 1).flatten(1)[:, : len(self.bias)]


class _Layer(NamedTuple):
    """One layer of either stack."""

    qkv: _Product  # of self-attention
    out: _Product
    cross: tuple[_Product, _Product] | None  # queries and output of cross-attention
    linear1: _Product
    linear2: _Product
    norms: list[nn.LayerNorm]


# PyTorch multiplies few rows by one thread, unless the matrix is in blocks; a small matrix is not worth two.
FEW_ROWS, MAX_BLOCKS, LARGE = 8, 8, 2**17
PARTS = {
    *(Transformer, Encoder, Decoder, EncoderLayer, DecoderLayer, MultiHeadAttention),
    *(nn.ModuleList, nn.Embedding, nn.Linear, nn.LayerNorm, nn.Identity, nn.Dropout),
}


class DecodingEngine:
    """A model in evaluation mode. Its linear layers without gradients become views of the engine's matrices, with the
    values that they have. Others are copied, because PyTorch's fused Adam is wrong for weights that are views."""

    @torch.inference_mode(False)  # or else a model would get weights that cannot be trained any more
    @torch.no_grad()
    def __init__(self, model: Transformer) -> None:
        self.config = model.config
        self.src_embedding, self.tgt_embedding = model.src_embedding, model.tgt_embedding
        self.positions = model.positions
        decoder_layers = cast(list[DecoderLayer], [*model.decoder.layers])
        self.encoder = [_layer(cast(EncoderLayer, layer)) for layer in model.encoder.layers]
        self.decoder = [_layer(layer) for layer in decoder_layers]
        attentions = [layer.cross_attn for layer in decoder_layers]
        self.source = _product(*(part for each in attentions for part in (each.k_proj, each.v_proj)))
        self.output = _product(model.output_projection)
        self.encoder_norm, self.decoder_norm = model.encoder.norm, model.decoder.norm
        self.nothing = model.positions.new_zeros(1, 1, 1)
        self._addresses = _addresses(model)

    @staticmethod
    def can_be_of(model: Transformer) -> bool:
        """Whether the model's parts are this package's own, and nobody watches one by a hook."""
        parts = [*model.modules()]
        is_watched = any(part._forward_hooks or part._forward_pre_hooks for part in parts)
        return {*map(type, parts)} <= PARTS and not is_watched

    def is_of(self, model: Transformer) -> bool:
        """Whether its matrices are still the model's: no parameter is trained, nothing was moved or replaced."""
        return self._addresses is not None and self._addresses == _addresses(model)

    def embed(self, embedding: nn.Embedding, ids: Tensor, past: int = 0) -> Tensor:
        """Embedding + position (§3.4, §3.5) of ids (B, T), the first at position `past`: (B * T, D). Raises ValueError:
        positions run out."""
        end = past + ids.size(1)
        if end > self.config.max_len:
            raise ValueError(f"a sequence of {end} is longer than max_len ({self.config.max_len})")
        positions = self.positions[past:end]
        return torch.add(positions, embedding.weight[ids], alpha=self.config.embedding_scale).flatten(0, 1)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Scaled dot-product attention (§3.2.1) of N heads, each (N, Q or K, d); the mask is added to the scores."""
        beta, added = (0, self.nothing) if mask is None else (1, mask)
        scores = torch.baddbmm(added, q, k.transpose(1, 2), beta=beta, alpha=self.config.head_dim**-0.5)
        weights = scores.softmax(dim=-1)
        if mask is not None:
            weights.nan_to_num_(0.0)  # a fully masked query attends to nothing
        return torch.bmm(weights, v), weights

    def add_and_norm(self, norm: nn.LayerNorm, x: Tensor, change: Tensor) -> Tensor:
        x = x + change
        return x if self.config.norm_first else norm(x)

    def pre_norm(self, norm: nn.LayerNorm, x: Tensor) -> Tensor:
        return norm(x) if self.config.norm_first else x

    def feed_forward(self, layer: _Layer, x: Tensor) -> Tensor:
        norm = layer.norms[-1]
        hidden = ACTIVATIONS[self.config.activation](layer.linear1(self.pre_norm(norm, x)))
        return self.add_and_norm(norm, x, layer.linear2(hidden))


class StepOutput(NamedTuple):
    """What one step computes, for the newest position only; the maps are empty where nobody needs them."""

    logits: Tensor  # (B, V)
    self_attention: Tensor  # (L, B, H, t)
    cross_attention: Tensor  # (L, B, H, S)


class EngineDecoding:
    """The decoding of some sentences: their source is encoded, and keys and values of what was read are kept. Raises
    ValueError: the source is longer than max_len."""

    @torch.no_grad()
    def __init__(self, engine: DecodingEngine, src: Tensor, max_steps: int, keeps_streams: bool = False) -> None:
        config = engine.config
        self.src = src  # source ids, (B, S)
        self._engine, self._sources = engine, len(src)
        self.inputs = src[:, :0]  # decoder inputs so far, (B, t)
        self._maps: list[tuple[Tensor, Tensor]] = []  # of every step
        self._keeps_streams, self._values = keeps_streams, list[Tensor]()  # of every encoder layer
        self._streams: list[tuple[Tensor, Tensor]] = []  # of every attention sublayer in turn: x, and what it adds
        self._source_mask = self._added(padding_mask(src, config.pad_id))
        self._encoder_attention, self._source = self._encode(src)
        shape = (config.num_decoder_layers, 2, len(src) * config.n_heads, max_steps, config.head_dim)
        self._cache = self._source.new_empty(shape)

    def _encode(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """Every encoder map, and keys and values for cross-attention (L, 2, B * H, S, d)."""
        engine, config, (batch, length) = self._engine, self._engine.config, src.shape
        x, maps = engine.embed(engine.src_embedding, src), []  # (B * S, D)
        for layer in engine.encoder:
            qkv = layer.qkv(engine.pre_norm(layer.norms[0], x)).view(batch, length, 3, config.n_heads, -1)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).flatten(1, 2)  # each (B * H, S, d)
            attended, weights = engine.attend(q, k, v, self._source_mask)
            maps.append(weights)
            if self._keeps_streams:
                self._values.append(v)
            joined = attended.unflatten(0, (batch, -1)).transpose(1, 2).reshape(len(x), -1)
            x = self._add_and_norm(layer.norms[0], x, layer.out(joined))
            x = engine.feed_forward(layer, x)
        x = engine.source(engine.encoder_norm(x))
        source = x.view(batch, length, config.num_decoder_layers, 2, config.n_heads, -1).permute(2, 3, 0, 4, 1, 5)
        return torch.stack(maps).unflatten(1, (batch, -1)), source.flatten(2, 3).contiguous()

    @torch.no_grad()
    def step(self, tokens: Sequence[int]) -> StepOutput:
        """Read the newest decoder input of each row. Raises ValueError: positions run out."""
        engine, config, rows, t = self._engine, self._engine.config, len(tokens), self.inputs.size(1)
        ids = self.inputs.new_tensor(tokens)[:, None]
        x = engine.embed(engine.tgt_embedding, ids, t)  # (rows, D)
        self.inputs = torch.cat([self.inputs, ids], dim=1)
        mask = self._added(padding_mask(self.inputs, config.pad_id))
        by_source = (self._sources, rows // self._sources, config.n_heads, config.head_dim)
        self_maps, cross_maps = [], []
        for layer, cache, (source_keys, source_values) in zip(
            engine.decoder, self._cache[:, :, :, : t + 1], self._source, strict=True
        ):
            qkv = layer.qkv(engine.pre_norm(layer.norms[0], x)).view(rows, 3, config.n_heads, config.head_dim)
            qkv = qkv.transpose(0, 1).flatten(1, 2)  # (3, rows * H, d)
            cache[:, :, t] = qkv[1:]
            attended, weights = engine.attend(qkv[0, :, None], cache[0], cache[1], mask)
            self_maps.append(weights)
            x = self._add_and_norm(layer.norms[0], x, layer.out(attended.view(rows, -1)))

            assert layer.cross
            queries, out = layer.cross
            q = queries(engine.pre_norm(layer.norms[1], x)).view(by_source).transpose(1, 2).flatten(0, 1)
            attended, weights = engine.attend(q, source_keys, source_values, self._source_mask)
            cross_maps.append(weights)
            joined = attended.unflatten(0, (self._sources, -1)).transpose(1, 2).reshape(rows, -1)
            x = self._add_and_norm(layer.norms[1], x, out(joined))
            x = engine.feed_forward(layer, x)
        logits = engine.output(engine.decoder_norm(x))
        cross = torch.stack(cross_maps).unflatten(1, (self._sources, -1)).transpose(2, 3)  # heads after rows
        maps = torch.stack(self_maps).view(-1, rows, config.n_heads, t + 1), cross.flatten(1, 2)
        self._maps.append(maps)
        return StepOutput(logits, *maps)

    def attention(self) -> tuple[Tensor, Tensor, Tensor]:
        """All maps of the steps so far, if no rows were selected: encoder, decoder and cross, (L, B, H, Q, K) each."""
        longest = self.inputs.size(1)
        rows = [(pad(own, (0, longest - own.size(-1))), cross) for own, cross in self._maps]
        own, cross = (torch.stack(each, dim=-2) for each in zip(*rows, strict=True))
        return self._encoder_attention, own, cross

    def _add_and_norm(self, norm: nn.LayerNorm, x: Tensor, change: Tensor) -> Tensor:
        if self._keeps_streams:
            self._streams.append((x, change))
        return self._engine.add_and_norm(norm, x, change)

    def streams(self) -> tuple[tuple[Tensor, ...], ...]:
        """What encoder, decoder and cross-attention read in every layer, at the steps so far, if no rows were selected:
        the values v (L, B, H, K, d), the residual stream (L, B, Q, D), and its sum with the sublayer's output."""
        (batch, length), t, width = self.src.shape, self.inputs.size(1), self._engine.config.d_model
        parts = self._streams[: len(self._values)], self._streams[len(self._values) :]
        (x, added), (y, added_later) = ([torch.stack(each) for each in zip(*part, strict=True)] for part in parts)
        source = [each.view(-1, batch, length, width) for each in (x, x + added)]
        target = [each.view(t, -1, 2, batch, width).permute(2, 1, 3, 0, 4) for each in (y, y + added_later)]
        values = torch.stack(self._values), self._cache[:, 1, :, :t], self._source[:, 1]
        streams = source, *zip(*target, strict=True)
        return tuple((v.unflatten(1, (batch, -1)), *each) for v, each in zip(values, streams, strict=True))

    def select(self, rows: Sequence[int]) -> None:
        """Continue with these rows, in this order, all of one source. A row may occur twice."""
        heads, t = self._engine.config.n_heads, self.inputs.size(1)
        old = self._cache.unflatten(2, (-1, heads))  # (L, 2, rows, H, steps, d)
        new = old.new_empty(*old.shape[:2], len(rows), *old.shape[3:])
        new[..., :t, :] = old[:, :, rows, :, :t]
        self._cache, self.inputs = new.flatten(2, 3), self.inputs[rows]

    def _added(self, allowed: Tensor) -> Tensor | None:
        """What a mask (B, 1, 1, K) adds to the scores, (B * H, 1, K): 0 or -inf; None where it allows all."""
        if allowed.all():
            return None
        added = self._engine.nothing.expand(allowed.shape).masked_fill(~allowed, -math.inf)
        return added.expand(-1, self._engine.config.n_heads, -1, -1).flatten(0, 1)


def _addresses(model: Transformer) -> list[int] | None:
    """Where each parameter lies in memory, and the positions; None where one is trained, whose matrix an engine would
    have a copy of."""
    tensors = [*model.parameters(), model.positions]
    is_trained = any(each.requires_grad for each in tensors)
    return None if is_trained else [each.data_ptr() for each in tensors]


def _layer(layer: EncoderLayer | DecoderLayer) -> _Layer:
    own, cross, norms = layer.self_attn, None, [layer.norm1, layer.norm2]
    if isinstance(layer, DecoderLayer):
        cross = _product(layer.cross_attn.q_proj), _product(layer.cross_attn.out_proj)
        norms.append(layer.norm3)
    qkv, out = _product(own.q_proj, own.k_proj, own.v_proj), _product(own.out_proj)
    return _Layer(qkv, out, cross, _product(layer.linear1), _product(layer.linear2), norms)


def _product(*linears: nn.Linear) -> _Product:
    """One product for linear layers of the same input."""
    sizes = [len(linear.weight) for linear in linears]
    out, width = sum(sizes), linears[0].weight.size(1)
    is_wide, padded = out >= width, -(-out // MAX_BLOCKS) * MAX_BLOCKS  # so that it can be cut into equal blocks
    stride, rows = ((1, padded), padded) if is_wide else ((width, 1), out)
    weight = _whole([linear.weight for linear in linears], stride, rows)
    biases = [linear.bias for linear in linears if linear.bias is not None]
    bias = _whole(biases, (1,), padded) if biases else weight.new_zeros(padded)
    for linear, part, part_of_bias in zip(linears, weight[:out].split(sizes), bias[:out].split(sizes), strict=True):
        if not linear.weight.requires_grad:
            linear.weight.data = part
        if linear.bias is not None and not linear.bias.requires_grad:
            linear.bias.data = part_of_bias
    threads = min(torch.get_num_threads(), MAX_BLOCKS) if weight.device.type == "cpu" else 1
    n = threads if weight.numel() >= LARGE and len(weight) % threads == 0 else 1
    blocks = (bias[: len(weight)].view(n, 1, -1), weight.unflatten(0, (n, -1)).transpose(1, 2)) if n > 1 else None
    return _Product(bias[:out], weight[:out].t(), blocks)


def _whole(parts: Sequence[Tensor], stride: tuple[int, ...], rows: int) -> Tensor:
    """The tensor whose consecutive rows these are, (rows, ...), with this stride and perhaps with rows left over: they
    lie in one already, or are copied."""
    shape, at, storage = (rows, *parts[0].shape[1:]), parts[0].storage_offset(), parts[0].untyped_storage()
    whole_size = 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if at + whole_size <= storage.nbytes() // parts[0].element_size():
        for part in parts:
            is_there = part.stride() == stride and part.storage_offset() == at
            if not is_there or part.untyped_storage().data_ptr() != storage.data_ptr():
                break
            at += len(part) * stride[0]
        else:
            return parts[0].detach().as_strided(shape, stride)
    whole = torch.empty_strided(shape, stride, dtype=parts[0].dtype, device=parts[0].device)
    used = sum(map(len, parts))
    torch.cat([*parts], out=whole[:used]) if len(parts) > 1 else whole[:used].copy_(parts[0])
    whole[used:] = 0
    return whole
