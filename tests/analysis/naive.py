"""The network once more, in NumPy and float64 from the raw weights, with all its intermediates."""

from typing import Any

import numpy as np

from transformer import Transformer

ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "silu": lambda x: x / (1 + np.exp(-x))}


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


class Naive:
    """One sentence at a time; every source has a word. Each pass fills `seen`."""

    def __init__(self, model: Transformer) -> None:
        self.weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
        self.config, self.positions = model.config, model.positions.double().numpy()
        self.seen: dict[str, Any] = {}

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        if f"{name}.weight" not in self.weights:
            return x
        sigma = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        return (x - x.mean(axis=-1, keepdims=True)) / sigma * self.weights[f"{name}.weight"] + self.weights[
            f"{name}.bias"
        ]

    def attend(self, name: str, x: np.ndarray, memory: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        d, heads = self.config.head_dim, []
        q, k, v = (self.linear(f"{name}.{p}_proj", y) for p, y in (("q", x), ("k", memory), ("v", memory)))
        for first in range(0, self.config.d_model, d):
            part = slice(first, first + d)
            weights = softmax(np.where(allowed, q[:, part] @ k[:, part].T / np.sqrt(d), -np.inf))
            w_o = self.weights[f"{name}.out_proj.weight"][:, part]
            heads.append({"weights": weights, "values": v[:, part] @ w_o.T})  # (Q, K), (K, D)
        self.seen[name] = heads
        return sum(head["weights"] @ head["values"] for head in heads) + self.weights.get(f"{name}.out_proj.bias", 0)

    def feed_forward(self, name: str, x: np.ndarray) -> np.ndarray:
        return self.linear(f"{name}.linear2", ACTIVATIONS[self.config.activation](self.linear(f"{name}.linear1", x)))

    def sublayer(self, name: str, number: int, x: np.ndarray, compute: Any) -> np.ndarray:
        norm = f"{name}.norm{number}"
        change = compute(self.norm(norm, x) if self.config.norm_first else x)
        self.seen[norm] = x, change
        return x + change if self.config.norm_first else self.norm(norm, x + change)

    def logits(self, src: list[int], tgt: list[int], src_scale: Any = 1.0, tgt_scale: Any = 1.0) -> np.ndarray:
        """(T, V), where each token's embedding is multiplied by its scale."""
        scale = self.config.embedding_scale
        x = (
            self.weights["src_embedding.weight"][src] * scale * np.reshape(src_scale, (-1, 1))
            + self.positions[: len(src)]
        )
        read = np.array(src) != self.config.pad_id
        for i in range(self.config.num_encoder_layers):
            name = f"encoder.layers.{i}"
            x = self.sublayer(name, 1, x, lambda h, name=name: self.attend(f"{name}.self_attn", h, h, read))
            x = self.sublayer(name, 2, x, lambda h, name=name: self.feed_forward(name, h))
        memory = self.norm("encoder.norm", x)
        x = (
            self.weights["tgt_embedding.weight"][tgt] * scale * np.reshape(tgt_scale, (-1, 1))
            + self.positions[: len(tgt)]
        )
        past = np.tri(len(tgt), dtype=bool) & (np.array(tgt) != self.config.pad_id)
        self.seen["streams"] = []
        for i in range(self.config.num_decoder_layers):
            name = f"decoder.layers.{i}"
            x = self.sublayer(name, 1, x, lambda h, name=name: self.attend(f"{name}.self_attn", h, h, past))
            x = self.sublayer(name, 2, x, lambda h, name=name: self.attend(f"{name}.cross_attn", h, memory, read))
            x = self.sublayer(name, 3, x, lambda h, name=name: self.feed_forward(name, h))
            self.seen["streams"].append(x)
        return self.linear("output_projection", self.norm("decoder.norm", x))
