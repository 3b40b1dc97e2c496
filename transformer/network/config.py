"""The architecture of a network. Knows nothing of words, weights or devices."""

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, get_args, get_origin

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FinalNorm = Literal["none", "encoder", "both"]
EmbeddingDropout = Literal["after", "before", "none"]
Activation = Literal["relu", "gelu", "silu"]
Sinusoid = Literal["interleaved", "halves"]


@dataclass(frozen=True)
class TransformerConfig:
    """All that determines a Transformer's architecture; the defaults are the paper's base model (§3, §5.4).

    Raises ValueError for what no network can have; the message names the field and the value.
    """

    src_vocab_size: int  # tokens, special ones included
    tgt_vocab_size: int
    d_model: int = 512  # width of every vector between sublayers (§3.1)
    n_heads: int = 8  # attention heads; each works in d_model / n_heads dimensions (§3.2.2)
    d_ff: int = 2048  # width of the feed-forward network's hidden layer (§3.3)
    num_encoder_layers: int = 6  # depth of the stack (§3.1)
    num_decoder_layers: int = 6
    dropout: float = 0.1  # probability, on the embeddings and on each sublayer's output (§5.4)
    max_len: int = 5000  # length of the longest sequence
    pad_id: int = 0  # id of the padding token in both vocabularies, which masks are made from
    qkv_bias: bool = True  # give the query, key and value projections a bias
    bias: bool = True  # give every other linear layer a bias
    final_norm: FinalNorm = "none"  # where a LayerNorm follows a whole stack; the paper has none
    scale_embeddings: bool = True  # multiply embeddings by sqrt(d_model) (§3.4)
    embedding_dropout: EmbeddingDropout = "after"  # adding positions (§5.4), before, or not at all
    attention_dropout: bool = True  # also apply dropout to attention weights
    norm_first: bool = False  # LayerNorm before each sublayer (pre-norm) instead of after it (post-norm, §3.1)
    tie_weights: bool = False  # one matrix for both embeddings and the output projection (§3.4); needs one vocabulary
    positional_encoding: bool = True  # add positions to embeddings (§3.5); without them a sentence is a bag of words
    activation: Activation = "relu"  # of the feed-forward network: the paper's ReLU (§3.3), GELU, or SiLU (swish)
    tie_output: bool = False  # one matrix for target embedding and output projection; `tie_weights` implies it
    # A position's sines and cosines: alternating as in the paper (§3.5), or all sines before all cosines, as in Marian.
    sinusoid: Sinusoid = "interleaved"

    def __post_init__(self) -> None:
        validate_field_types(self)
        for field in fields(self):
            if field.type is int and field.name != "pad_id" and getattr(self, field.name) < 1:
                raise ValueError(f"{field.name} ({getattr(self, field.name)}) is below 1")
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model ({self.d_model}) is not divisible by n_heads ({self.n_heads})")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout ({self.dropout}) is not at least 0 and below 1")
        for name in ("src_vocab_size", "tgt_vocab_size"):
            if not 0 <= self.pad_id < getattr(self, name):
                raise ValueError(f"pad_id ({self.pad_id}) is not an id below {name} ({getattr(self, name)})")
        if self.tie_weights and self.src_vocab_size != self.tgt_vocab_size:
            raise ValueError(
                f"tie_weights needs one vocabulary, but src_vocab_size ({self.src_vocab_size}) "
                f"is not tgt_vocab_size ({self.tgt_vocab_size})"
            )

    @property
    def head_dim(self) -> int:
        """d_k, the width of one head's queries, keys and values (§3.2.2)."""
        return self.d_model // self.n_heads

    @property
    def embedding_scale(self) -> float:
        """What embeddings are multiplied by (§3.4)."""
        return math.sqrt(self.d_model) if self.scale_embeddings else 1.0

    def layers(self, stack: str) -> int:
        """The depth of "encoder" or "decoder"."""
        return self.num_encoder_layers if stack == "encoder" else self.num_decoder_layers


def validate_field_types(config: "DataclassInstance") -> None:
    """Check every field of a dataclass against its annotation: a configuration may come from an untrusted file. Raises
    ValueError: a value has another type than its field's annotation, or is not one of its choices."""
    for field in fields(config):
        name, kind, value = field.name, field.type, getattr(config, field.name)
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        if choices and value not in choices:
            raise ValueError(f"{name} ({value!r}) is not one of {', '.join(choices)}")
        if kind is bool and not isinstance(value, bool):
            raise ValueError(f"{name} ({value!r}) is not true or false")
        if kind is int and (not isinstance(value, int) or isinstance(value, bool)):
            raise ValueError(f"{name} ({value!r}) is not a whole number (int)")
        if kind is float and (not isinstance(value, int | float) or isinstance(value, bool)):
            raise ValueError(f"{name} ({value!r}) is not a number (float)")
