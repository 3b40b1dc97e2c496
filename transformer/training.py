"""Training as a generator, and what a trained model scores (§5). `python -m transformer.training --help`."""

import argparse
import itertools
import math
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from .card import write_card
from .checkpoint import Checkpoint, save_checkpoint
from .config import TransformerConfig, check_kinds
from .corpus import CORPORA, MATERIALS, Batch, Corpus
from .decoding import evaluating, greedy_batch
from .device import pick_device
from .evaluation import score_held_out, speed
from .model import Transformer
from .probe import Probe
from .vocabulary import END, START

Schedule = Literal["constant", "warmup", "one-cycle"]
TRIED = "tried.md"  # beside a checkpoint: what else was measured; goes into its card
RISE = 0.15  # of the steps of one cycle: until the rate is highest


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; the optimiser is the paper's Adam (§5.3).

    Args:
        steps: optimiser steps.
        batch_size: sentence pairs a step; a corpus that is smaller is taken whole.
        schedule: "constant" keeps `learning_rate`; "warmup" is the paper's
            d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5), whatever `learning_rate` says; "one-cycle" rises to
            `learning_rate` and falls to 0 along a cosine.
        label_smoothing: share of a target's probability that is spread over all words (§5.4).
        clip_norm: gradients are scaled down to this norm.
        seed: of the weights, the batches and dropout: the same seed gives the same model on the same machine.
    """

    steps: int = 120
    batch_size: int = 64
    schedule: Schedule = "constant"
    learning_rate: float = 1e-3
    warmup_steps: int = 4000
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_kinds(self)
        for name in ("steps", "batch_size", "warmup_steps", "learning_rate", "clip_norm"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} ({getattr(self, name)}) is not above 0 and finite")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing ({self.label_smoothing}) is not at least 0 and below 1")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed ({self.seed}) is not at least 0 and below 2^63")

    def rate(self, step: int, d_model: int) -> float:
        """The learning rate of a step, counted from 1 (§5.3)."""
        if self.schedule == "constant":
            return self.learning_rate
        if self.schedule == "one-cycle":
            rise = RISE * self.steps
            if step < rise:
                return self.learning_rate * step / rise
            return self.learning_rate * (1 + math.cos(math.pi * (step - rise) / (self.steps - rise))) / 2
        return d_model**-0.5 * min(step**-0.5, step * self.warmup_steps**-1.5)


@dataclass(frozen=True)
class Progress:
    """One optimiser step: its number from 1, the loss that was minimised (nats a token), and the share of target
    tokens whose likeliest next word was right (teacher-forced, before the step)."""

    step: int
    loss: float
    token_accuracy: float


@dataclass(frozen=True)
class Evaluation:
    """What a model scores: teacher-forced loss (nats a token, no smoothing) and token accuracy, and the share of
    sentences that free-running greedy decoding gets exactly right."""

    loss: float
    token_accuracy: float
    exact_match: float


def seeded_model(config: TransformerConfig, seed: int) -> Transformer:
    """A new model whose weights depend on the seed alone. Seeds PyTorch's global generator."""
    torch.manual_seed(seed)
    return Transformer(config)


def train(model: Transformer, data: Batch, config: TrainingConfig, probe: Probe | None = None) -> Iterator[Progress]:
    """Train `model` in place, on the device it is on; stop asking to stop training.

    Seeds PyTorch's global generator (dropout draws from it).

    Yields:
        One Progress a step; the model is in training mode at each.
    """
    torch.manual_seed(config.seed)
    data = data.to(model.positions.device)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    for step, batch in zip(range(1, config.steps + 1), _batches(data, config, model.config.pad_id), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = config.rate(step, model.config.d_model)
        model.train()
        logits = model(batch.src, batch.tgt_in, need_weights=False, probe=probe).logits
        loss = _loss(logits, batch.tgt_out, model.config.pad_id, config.label_smoothing)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        yield Progress(step, loss.item(), _token_accuracy(logits, batch.tgt_out, model.config.pad_id))


def evaluate(model: Transformer, data: Batch, start_id: int, end_id: int, batch_size: int = 256) -> Evaluation:
    """Score sentence pairs; sentences decoded freely may be as long as `output_limit` says."""
    data, pad = data.to(model.positions.device), model.config.pad_id
    longest = output_limit(data, model)
    loss = correct = tokens = exact = 0.0
    for index in torch.arange(len(data)).split(batch_size):
        batch = data.rows(index)
        with evaluating(model):
            logits = model(batch.src, batch.tgt_in, need_weights=False).logits
        words = int((batch.tgt_out != pad).sum())
        tokens += words
        loss += _loss(logits, batch.tgt_out, pad).item() * words
        correct += _token_accuracy(logits, batch.tgt_out, pad) * words
        said = greedy_batch(model, batch.src, start_id, end_id, max_steps=longest)
        exact += sum(
            ids == [i for i in gold if i != pad] for ids, gold in zip(said, batch.tgt_out.tolist(), strict=True)
        )
    return Evaluation(loss / tokens, correct / tokens, exact / len(data))


def output_limit(data: Batch, model: Transformer) -> int:
    """How many words a model may say: as many as the longest target and half as many again, if it has the positions."""
    return min(data.tgt_out.size(1) * 3 // 2, model.config.max_len)


def _loss(logits: Tensor, target: Tensor, pad_id: int, label_smoothing: float = 0.0) -> Tensor:
    flat, gold = logits.flatten(0, 1), target.flatten()  # (B T, V), (B T,)
    return F.cross_entropy(flat, gold, ignore_index=pad_id, label_smoothing=label_smoothing)


def _token_accuracy(logits: Tensor, target: Tensor, pad_id: int) -> float:
    words = target != pad_id
    return ((logits.argmax(dim=-1) == target)[words]).float().mean().item()


def _batches(data: Batch, config: TrainingConfig, pad_id: int) -> Iterator[Batch]:
    """Shuffled passes over the data, for ever, sentences of like length together: that halves the padding, and so the
    time. A corpus of one batch is taken in its own order."""
    if len(data) <= config.batch_size:
        yield from itertools.repeat(data)
    generator = torch.Generator().manual_seed(config.seed)
    words = (data.src != pad_id).sum(dim=1) + (data.tgt_out != pad_id).sum(dim=1)
    while True:
        shuffled = torch.randperm(len(data), generator=generator)
        batches = shuffled[words[shuffled].argsort(stable=True)].split(config.batch_size)
        for i in torch.randperm(len(batches), generator=generator).tolist():
            yield data.rows(batches[i]).trimmed(pad_id)


HELP = {
    "steps": "optimiser steps",
    "batch_size": "sentence pairs a step",
    "schedule": "of the learning rate; warmup is the paper's, one-cycle rises and falls to 0",
    "learning_rate": "of the constant schedule; 0.064 / d-model if left out",
    "warmup_steps": "of the warmup schedule",
    "label_smoothing": "share of probability spread over all words; the paper has 0.1",
    "clip_norm": "gradients are scaled down to this norm",
    "seed": "the same seed gives the same model",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m transformer.training",
        description="Train a Transformer and save it. The paper's size: --d-model 512 --d-ff 2048.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--corpus", choices=sorted(CORPORA), default="toy", help="what to learn")
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint")
    parser.add_argument("--device", help="cuda, mps, xpu or cpu; the best there is if left out")
    sizes = {"d-model": 64, "n-heads": 8, "d-ff": 256, "layers": 6}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default, help="size of the network")
    parser.add_argument("--dropout", type=float, default=0.1, help="probability, while training")
    for field in fields(TrainingConfig):
        options = get_args(field.type) or None
        kind = str if options else field.type
        flag = f"--{field.name.replace('_', '-')}"
        parser.add_argument(flag, type=kind, choices=options, default=field.default, help=HELP[field.name])
    parser.set_defaults(learning_rate=None)
    return parser


def main(arguments: list[str]) -> None:
    """Train on a corpus from the command line, and save a checkpoint with its card."""
    begin = time.perf_counter()
    parser = _parser()
    args = parser.parse_args(arguments)
    if MATERIALS[args.corpus].held_out and find_spec("sacrebleu") is None:
        parser.error("its card has a BLEU score: pip install -r tests/requirements.txt")

    corpus = CORPORA[args.corpus]()
    try:
        device = pick_device(args.device)
        config = TransformerConfig(
            src_vocab_size=len(corpus.src_vocab),
            tgt_vocab_size=len(corpus.tgt_vocab),
            d_model=args.d_model,
            n_heads=args.n_heads,
            d_ff=args.d_ff,
            num_encoder_layers=args.layers,
            num_decoder_layers=args.layers,
            dropout=args.dropout,
        )
        if args.learning_rate is None:  # what suits one width is too high for a wider one: at 512, 0.001 learns nothing
            args.learning_rate = 0.064 / config.d_model
        training = TrainingConfig(**{field.name: getattr(args, field.name) for field in fields(TrainingConfig)})
    except ValueError as error:
        parser.error(str(error))

    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {args.out} cannot be made: {error.strerror}")

    model = seeded_model(config, training.seed).to(device)
    facts = {"seed": str(training.seed)} | _train(model, corpus, training)
    checkpoint = Checkpoint(
        model.eval(),
        corpus.src_vocab,
        corpus.tgt_vocab,
        corpus.source_length,
        output_limit(corpus.batch(), model),
        corpus.pad_source,
    )
    scores = score_held_out(checkpoint, corpus.name)
    if scores:
        facts["evaluation, free-running"] = speed(scores)
        facts["from the start of the command"] = f"{time.perf_counter() - begin:.1f} s"
    tried = args.out / TRIED
    card = write_card(
        checkpoint,
        corpus,
        command=shlex.join(["python", "-m", "transformer.training", *arguments]),
        facts=facts,
        scores=scores,
        tried=tried.read_text() if tried.exists() else "",
    )
    save_checkpoint(checkpoint, args.out, card)
    print(card)


def _train(model: Transformer, corpus: Corpus, training: TrainingConfig) -> dict[str, str]:
    """Train with a bar that shows how it goes; what the card says of it."""
    data, start, end = corpus.batch(), corpus.tgt_vocab.ids[START], corpus.tgt_vocab.ids[END]
    whole = len(data) <= training.batch_size  # each step sees all there is, so its accuracy is the corpus's
    begin = time.perf_counter()
    exact_after = "never"
    with tqdm(train(model, data, training), total=training.steps, unit="step", file=sys.stderr) as bar:
        for progress in bar:
            if not math.isfinite(progress.loss):
                sys.exit(f"The loss is {progress.loss} at step {progress.step}. Try a lower learning rate.")
            bar.set_postfix(loss=f"{progress.loss:.4f}", accuracy=f"{progress.token_accuracy:.0%}", refresh=False)
            if (
                whole
                and exact_after == "never"
                and progress.token_accuracy == 1
                and evaluate(model, data, start, end).exact_match == 1
            ):
                exact_after = f"after step {progress.step}, {time.perf_counter() - begin:.1f} s"
    seconds = time.perf_counter() - begin
    device, threads = model.positions.device.type, torch.get_num_threads()
    facts = {"training": f"{training.steps} steps in {seconds:.1f} s on {device} ({threads} threads)"}
    last = {"last training loss": f"{progress.loss:.4f} nats a token"}
    if not whole:
        return facts | last
    result = evaluate(model, data, start, end)
    facts["every sentence exactly right"] = exact_after
    return (
        facts
        | last
        | {
            "loss without dropout": f"{result.loss:.4f} nats a token",
            "token accuracy, teacher-forced": f"{result.token_accuracy:.1%}",
            "exact match, free-running": f"{result.exact_match:.1%}",
        }
    )


if __name__ == "__main__":
    main(sys.argv[1:])
