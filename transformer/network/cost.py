"""The cost of training a network (parameters, memory, time), computed without building it. No torch.

B batch, S source, T target, H heads, D model width, F feed-forward width, V target vocabulary. Whole numbers
throughout, so that no size overflows. Lengths are tokens per sentence of a batch, padding included.
"""

from dataclasses import dataclass

from .config import TransformerConfig

# Bytes per number at the peak of a training step, the end of its forward pass, when all activations for the backward
# pass are in memory. Fitted to the peaks (growth of ru_maxrss) of 25 networks on one CPU thread: the toy, the
# classroom's, the paper's, and others of 16 to 1024 dimensions, 1 to 12 layers and 2 to 1024 sentences, with and
# without dropout. Above 50 MB all are within 20 %, and so are 8 others that were not fitted.
_PARAMETER_BYTES = 17  # weight, gradient and Adam's two moments, 4 each; the rest is fragmentation
_VECTOR_BYTES = 24
_HIDDEN_BYTES = 14
_WEIGHT_BYTES = 2  # the fused kernel stores none
_LOGIT_BYTES = 26  # logits, their softmax, and the gradients of both
_POSITION_BYTES = 12
_DROPPED_VECTOR_BYTES = 11
_DROPPED_WEIGHT_BYTES = 19  # dropout rules the fused kernel out

# Picoseconds, fitted to the shortest of many steps of the same 25 networks, on one of two threads of an AMD EPYC (2026,
# PyTorch 2.13), the other nearly idle. The worst of them is 13 % off, and of 8 that were not fitted 15 %. Another
# machine needs one factor for all of them.
_STEP_PS = 590_000_000
_SUBLAYER_PS = 180_000_000
_HEAD_PS = 2_600_000  # per head and sentence: small matrix products have a fixed cost
_PARAMETER_PS = 1_700  # read by both passes, clipped, and updated by Adam
_MULTIPLICATION_PS = 51  # forward, and twice backward
_NUMBER_PS = 2_600
_DROPPED_PS = 7_100  # extra, per number under dropout: random numbers are expensive
_MAX_PS = 10**300  # more than any training takes, and still a float


@dataclass(frozen=True)
class _Work:
    """The numbers that one training step computes."""

    sublayers: int
    heads: int  # in all attention sublayers, for all sentences
    vectors: int  # numbers that leave the embeddings and all sublayers, D per token
    hidden: int  # numbers inside all feed-forward networks, F per token
    weights: int  # attention weights of all heads
    logits: int
    multiplications: int  # in one forward pass


def count_parameters(config: TransformerConfig) -> int:
    """The exact number of trained parameters."""
    d, f, qkv, bias = config.d_model, config.d_ff, config.qkv_bias, config.bias
    attention = 4 * d * d + 3 * d * qkv + d * bias
    feed_forward = 2 * d * f + (f + d) * bias
    norm = 2 * d
    encoder = config.num_encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.num_decoder_layers * (2 * attention + feed_forward + 3 * norm)
    norms = {"none": 0, "encoder": norm, "both": 2 * norm}[config.final_norm]
    source, target = config.src_vocab_size, config.tgt_vocab_size
    matrices = 1 if config.tie_output else 2
    embeddings = source * d if config.tie_weights else source * d + matrices * target * d  # and output (§3.4)
    return encoder + decoder + norms + embeddings + target * bias


def count_heads(config: TransformerConfig) -> int:
    """Heads in all layers of all three kinds of attention: the number of attention maps of one run."""
    return config.n_heads * (config.num_encoder_layers + 2 * config.num_decoder_layers)


def count_run_values(config: TransformerConfig, source_length: int, target_length: int) -> int:
    """Attention weights of one run with these many tokens, or the numbers of its widest layer where those are more.

    The probability of every word at every step counts as a layer.
    """
    s, t = source_length, target_length
    weights = config.n_heads * (config.num_encoder_layers * s * s + config.num_decoder_layers * (t * t + t * s))
    return max(weights, max(config.d_model, config.d_ff, config.tgt_vocab_size) * max(s, t))


def training_bytes(config: TransformerConfig, batch_size: int, source_length: int, target_length: int) -> int:
    """Estimated bytes that training adds to its process at its peak, on a CPU in float32."""
    work = _work(config, batch_size, source_length, target_length)
    size = _PARAMETER_BYTES * count_parameters(config) + _POSITION_BYTES * config.max_len * config.d_model
    size += _VECTOR_BYTES * work.vectors + _HIDDEN_BYTES * work.hidden
    size += _WEIGHT_BYTES * work.weights + _LOGIT_BYTES * work.logits
    if config.dropout:
        size += _DROPPED_VECTOR_BYTES * work.vectors + _DROPPED_WEIGHT_BYTES * _dropped_weights(config, work)
    return size


def step_seconds(config: TransformerConfig, batch_size: int, source_length: int, target_length: int) -> float:
    """Estimated seconds of one training step on one thread of the CPU that the constants were measured on."""
    work = _work(config, batch_size, source_length, target_length)
    picoseconds = _STEP_PS + _SUBLAYER_PS * work.sublayers + _HEAD_PS * work.heads
    picoseconds += _PARAMETER_PS * count_parameters(config) + _MULTIPLICATION_PS * work.multiplications
    picoseconds += _NUMBER_PS * (work.vectors + work.hidden + work.weights + work.logits)
    if config.dropout:
        picoseconds += _DROPPED_PS * (work.vectors + _dropped_weights(config, work))
    return min(picoseconds, _MAX_PS) / 10**12


def _dropped_weights(config: TransformerConfig, work: _Work) -> int:
    return work.weights if config.attention_dropout else 0


def _work(config: TransformerConfig, batch_size: int, source_length: int, target_length: int) -> _Work:
    b, s, t, d, f = batch_size, source_length, target_length, config.d_model, config.d_ff
    encoder, decoder = config.num_encoder_layers, config.num_decoder_layers
    # Projections of D to D per token, over all layers. In the decoder, cross-attention projects the source to keys and
    # values, and the target to queries and the output.
    projections = encoder * s * 4 + decoder * (s * 2 + t * 6)
    tokens = encoder * s + decoder * t  # through a feed-forward
    weights = b * config.n_heads * (encoder * s * s + decoder * (t * t + t * s))
    logits = b * t * config.tgt_vocab_size
    return _Work(
        sublayers=2 * encoder + 3 * decoder,
        heads=b * config.n_heads * (encoder + 2 * decoder),
        vectors=b * d * ((2 * encoder + 1) * s + (3 * decoder + 1) * t),
        hidden=b * f * tokens,
        weights=weights,
        logits=logits,
        multiplications=b * d * (d * projections + 2 * f * tokens) + 2 * weights * config.head_dim + logits * d,
    )
