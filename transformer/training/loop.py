"""Training as a generator, one optimiser step at a time (§5)."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..data import Batch, PairFile, shuffled_batches
from ..network.config import TransformerConfig
from ..network.model import Transformer
from ..network.probe import Probe
from ..network.rng import rng_lock
from .config import TrainingConfig
from .distributed import ALONE, Processes
from .scoring import cross_entropy, token_accuracy


@dataclass(frozen=True)
class Progress:
    """One optimiser step."""

    step: int  # from 1
    loss: float  # the minimised loss, nats per token
    token_accuracy: float  # share of target tokens predicted correctly with teacher forcing, before the step


def seeded_model(config: TransformerConfig, seed: int) -> Transformer:
    """A new model whose weights depend only on the seed. Seeds PyTorch's global generator."""
    with rng_lock:
        torch.manual_seed(seed)
        return Transformer(config)


def adam(model: Transformer, weight_decay: float = 0.0) -> torch.optim.Adam:
    """The paper's optimiser (§5.3), with a TrainingConfig's decay; `train` sets its learning rate at every step."""
    for weight in model.parameters():
        weight.data = weight.contiguous()  # the fused one is wrong for views, such as those of a decoding engine
    matrices = [weight for weight in model.parameters() if weight.dim() > 1]
    vectors = [weight for weight in model.parameters() if weight.dim() < 2]  # biases, and what norms learn
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-9, fused=True)


def train(
    model: Transformer,
    data: Batch | PairFile,
    config: TrainingConfig,
    probe: Probe | None = None,
    processes: Processes = ALONE,
    optimizer: torch.optim.Adam | None = None,
    after: int = 0,
) -> Iterator[Progress]:
    """Train `model` in place on its device, one step per iteration; stop iterating to stop training.

    Seeds PyTorch's global generator, which dropout draws from, unless it resumes.

    Args:
        processes: the processes that share each step. All call this with the same arguments. Without dropout the
            result equals that of a single process; with dropout each process draws its own.
        optimizer: from `adam`, to save its state; a new one if left out.
        after: the step to resume after; model, optimizer and the global generator are as they were then.

    Yields:
        One Progress per step, the same in every process; the model is in training mode then.
    """
    if not after:
        torch.manual_seed(config.seed + processes.rank)
    device, pad = model.positions.device, model.config.pad_id
    optimizer = optimizer or adam(model, config.weight_decay)
    network: nn.Module = model
    if processes.count > 1:
        network = DistributedDataParallel(model)  # its backward pass leaves the mean of all gradients on every process
        # DistributedDataParallel fixes the order of its sums in the first backward pass. As a training step, a resumed
        # run would round differently from an uninterrupted one. Without dropout, so that no random number is drawn.
        word = torch.ones(1, 1, dtype=torch.long, device=device)
        model.eval()
        network(word, word, need_weights=False).logits.sum().backward()
    steps = range(after + 1, config.steps + 1)
    for step, (batch, words) in zip(steps, _batches(data, config, device, pad, processes, after), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = config.rate(step, model.config.d_model)
        model.train()
        with torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bfloat16"):
            logits = network(batch.src, batch.tgt_in, need_weights=False, probe=probe).logits.float()
        loss = cross_entropy(logits, batch.tgt_out, pad, config.label_smoothing)
        part = words / processes.total(words)  # so that every word of the step has the same weight
        optimizer.zero_grad()
        (loss * part * processes.count).backward()  # × count: turns the mean of the gradients into their sum
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        accuracy = token_accuracy(logits, batch.tgt_out, pad)
        yield Progress(step, *processes.total(torch.stack([loss.detach(), accuracy]) * part).tolist())


def _batches(
    data: Batch | PairFile, config: TrainingConfig, device: torch.device, pad_id: int, processes: Processes, after: int
) -> Iterator[tuple[Batch, Tensor]]:
    """This process's rows of every batch and the number of target words in them: endless shuffled passes over the data,
    from the batch of step `after` + 1 on. A corpus of a single batch keeps its order."""
    generator = torch.Generator().manual_seed(config.seed)
    draws: Iterator[Any]  # row numbers of a corpus, or pairs of a file
    take: Callable[[Any], Batch]
    if isinstance(data, PairFile):
        draws, take = data.batches(config.batch_size, generator), data.encode
    else:
        words = (data.src != pad_id).sum(dim=1) + (data.tgt_out != pad_id).sum(dim=1)
        here = data.to(device)
        if len(data) <= config.batch_size:
            draws, take = itertools.repeat(torch.arange(len(data))), here.rows
        else:
            passes = (shuffled_batches(words.cpu(), config.batch_size, generator) for _ in itertools.count())
            draws, take = itertools.chain.from_iterable(passes), lambda index: here.rows(index).trimmed(pad_id)
    for draw in itertools.islice(draws, after, None):
        mine = draw[processes.rank :: processes.count]
        batch = take(mine if len(mine) else draw[:1]).to(device)  # a process without rows repeats one with weight 0
        yield batch, (batch.tgt_out != pad_id).sum() * bool(len(mine))
