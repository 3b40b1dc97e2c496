"""The network once more, in NumPy and float64 from the raw weights, with its intermediates."""

from typing import Any

import numpy as np

from transformer import Transformer

ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "silu": lambda x: x / (1 + np.exp(-x))}


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


class Naive:
    """One sentence at a time. Each pass fills `seen`: of a norm its input and what was added before it."""

    def __init__(self, model: Transformer) -> None:
        self.weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
        self.config, self.positions = model.config, model.positions.double().numpy()
        self.seen: dict[str, Any] = {}

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        if f"{name}.weight" not in self.weights:
            return x
        z = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        return z * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attend(self, name: str, x: np.ndarray, memory: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        d, heads = self.config.head_dim, []
        q, k, v = (self.linear(f"{name}.{p}_proj", y) for p, y in (("q", x), ("k", memory), ("v", memory)))
        for part in (slice(first, first + d) for first in range(0, self.config.d_model, d)):
            weights = softmax(np.where(allowed, q[:, part] @ k[:, part].T / np.sqrt(d), -np.inf))
            heads.append((weights, v[:, part] @ self.weights[f"{name}.out_proj.weight"][:, part].T))  # (Q, K), (K, D)
        self.seen[name] = heads
        return sum(weights @ values for weights, values in heads) + self.weights.get(f"{name}.out_proj.bias", 0)

    def feed_forward(self, name: str, x: np.ndarray) -> np.ndarray:
        return self.linear(f"{name}.linear2", ACTIVATIONS[self.config.activation](self.linear(f"{name}.linear1", x)))

    def sublayer(self, norm: str, x: np.ndarray, compute: Any, *args: Any) -> np.ndarray:
        h = self.norm(norm, x) if self.config.norm_first else x
        change = compute(*(h if each is None else each for each in args))
        self.seen[norm] = x, change
        return x + change if self.config.norm_first else self.norm(norm, x + change)

    def embed(self, side: str, ids: list[int], scale: Any) -> np.ndarray:
        x = self.weights[f"{side}_embedding.weight"][ids] * self.config.embedding_scale
        return x * np.reshape(scale, (-1, 1)) + self.positions[: len(ids)]

    def logits(self, src: list[int], tgt: list[int], src_scale: Any = 1.0, tgt_scale: Any = 1.0) -> np.ndarray:
        """(T, V), where each token's embedding is multiplied by its scale. None stands for a sublayer's input."""
        x, words = self.embed("src", src, src_scale), np.array(src) != self.config.pad_id
        for layer in (f"encoder.layers.{i}." for i in range(self.config.num_encoder_layers)):
            x = self.sublayer(layer + "norm1", x, self.attend, layer + "self_attn", None, None, words)
            x = self.sublayer(layer + "norm2", x, self.feed_forward, layer[:-1], None)
        memory, x = self.norm("encoder.norm", x), self.embed("tgt", tgt, tgt_scale)
        past = np.tri(len(tgt), dtype=bool) & (np.array(tgt) != self.config.pad_id)
        self.seen["streams"] = []
        for layer in (f"decoder.layers.{i}." for i in range(self.config.num_decoder_layers)):
            x = self.sublayer(layer + "norm1", x, self.attend, layer + "self_attn", None, None, past)
            x = self.sublayer(layer + "norm2", x, self.attend, layer + "cross_attn", None, memory, words)
            x = self.sublayer(layer + "norm3", x, self.feed_forward, layer[:-1], None)
            self.seen["streams"].append(x)
        return self.linear("output_projection", self.norm("decoder.norm", x))
