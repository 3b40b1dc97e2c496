"""The shape of every tensor in a pass through a network, computed without running one. No torch.

B batch, S source, T target, H heads, D model width, d one head's width, F feed-forward width, V target vocabulary.
"""

from dataclasses import dataclass

from .config import TransformerConfig


@dataclass(frozen=True)
class Shape:
    """One stage."""

    stage: str
    probe: str  # its name for probes, in layer 0; "" where probes do not see it
    shape: tuple[int, ...]
    layers: int = 1  # number of layers that have it; 1 outside the stacks


def shapes(config: TransformerConfig, source: int, target: int, batch: int = 1) -> tuple[Shape, ...]:
    """Every stage, in the order of one pass over `batch` pairs of `source` and `target` ids."""
    b, s, t, h, d = batch, source, target, config.n_heads, config.head_dim
    width, hidden, vocabulary = config.d_model, config.d_ff, config.tgt_vocab_size
    encoder, decoder = config.num_encoder_layers, config.num_decoder_layers
    return (
        Shape("source_ids", "", (b, s)),
        Shape("source_embedding", "encoder.embedding", (b, s, width)),
        Shape("source_input", "encoder.input", (b, s, width)),
        Shape("encoder_qkv", "encoder.0.self_attention.q", (b, h, s, d), encoder),
        Shape("encoder_attention", "encoder.0.self_attention.weights", (b, h, s, s), encoder),
        Shape("encoder_hidden", "encoder.0.feed_forward.hidden", (b, s, hidden), encoder),
        Shape("memory", "encoder.output", (b, s, width)),
        Shape("target_ids", "", (b, t)),
        Shape("target_embedding", "decoder.embedding", (b, t, width)),
        Shape("target_input", "decoder.input", (b, t, width)),
        Shape("decoder_qkv", "decoder.0.self_attention.q", (b, h, t, d), decoder),
        Shape("decoder_attention", "decoder.0.self_attention.weights", (b, h, t, t), decoder),
        Shape("cross_q", "decoder.0.cross_attention.q", (b, h, t, d), decoder),
        Shape("cross_kv", "decoder.0.cross_attention.k", (b, h, s, d), decoder),
        Shape("cross_attention", "decoder.0.cross_attention.weights", (b, h, t, s), decoder),
        Shape("decoder_hidden", "decoder.0.feed_forward.hidden", (b, t, hidden), decoder),
        Shape("logits", "logits", (b, t, vocabulary)),
        Shape("loss_logits", "", (b * t, vocabulary)),  # flattened for the loss
    )
