"""Loss and accuracy with teacher forcing, and exact match in free-running decoding."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data import Batch
from ..inference.decoding import evaluating, greedy_batch
from ..network.config import TransformerConfig
from ..network.model import Transformer


@dataclass(frozen=True)
class Evaluation:
    """The scores of a model."""

    loss: float  # with teacher forcing, nats per token, without label smoothing
    token_accuracy: float  # with teacher forcing
    exact_match: float  # share of sentences that free-running greedy decoding translates exactly


def evaluate(model: Transformer, data: Batch, start_id: int, end_id: int, batch_size: int = 256) -> Evaluation:
    """Score sentence pairs; decoding stops at `output_limit` tokens."""
    data, pad = data.to(model.positions.device), model.config.pad_id
    longest = output_limit(data.target_length, model.config)
    loss = correct = tokens = exact = 0.0
    for index in torch.arange(len(data)).split(batch_size):
        batch = data.rows(index)
        part = measure(model, batch)
        words = int((batch.tgt_out != pad).sum())
        tokens += words
        loss += part[0] * words
        correct += part[1] * words
        outputs = greedy_batch(model, batch.src, start_id, end_id, max_steps=longest)
        exact += sum(
            ids == [i for i in gold if i != pad] for ids, gold in zip(outputs, batch.tgt_out.tolist(), strict=True)
        )
    return Evaluation(loss / tokens, correct / tokens, exact / len(data))


def measure(model: Transformer, data: Batch) -> tuple[float, float]:
    """Loss (nats per token, without label smoothing) and token accuracy with teacher forcing, in one pass."""
    data, pad = data.to(model.positions.device), model.config.pad_id
    with evaluating(model):
        logits = model(data.src, data.tgt_in, need_weights=False).logits
    return cross_entropy(logits, data.tgt_out, pad).item(), token_accuracy(logits, data.tgt_out, pad).item()


def output_limit(longest: int, config: TransformerConfig) -> int:
    """The maximum number of output tokens: one and a half times the longest target, up to `max_len`."""
    return min(longest * 3 // 2, config.max_len)


def cross_entropy(logits: Tensor, target: Tensor, pad_id: int, label_smoothing: float = 0.0) -> Tensor:
    flat, gold = logits.flatten(0, 1), target.flatten()  # (B T, V), (B T,)
    return F.cross_entropy(flat, gold, ignore_index=pad_id, label_smoothing=label_smoothing)


def token_accuracy(logits: Tensor, target: Tensor, pad_id: int) -> Tensor:
    words = target != pad_id
    wanted = logits.gather(-1, target[..., None])[..., 0]
    return (wanted == logits.amax(dim=-1))[words].float().mean()  # on a CPU, amax takes a tenth of argmax's time
