"""Training as a generator, and what a trained model scores (§5). `python -m transformer.training --help`."""

import argparse
import hashlib
import itertools
import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from .card import write_card
from .checkpoint import Checkpoint, CheckpointError, save_checkpoint
from .config import TransformerConfig, check_kinds
from .corpus import CORPORA, MATERIALS, Batch, Corpus, PairFile, shuffled_batches
from .decoding import evaluating, greedy_batch
from .evaluation import score_held_out, speed
from .model import Transformer
from .parallel import ALONE, Processes, device_of_process, together
from .probe import Probe
from .resume import STATE, TrainingState
from .vocabulary import END, START

Schedule = Literal["constant", "warmup", "one-cycle"]
Precision = Literal["float32", "bfloat16"]
TRIED = "tried.md"  # beside a checkpoint: what else was measured; goes into its card
RISE = 0.15  # of the steps of one cycle: until the rate is highest


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; the optimiser is the paper's Adam (§5.3).

    Args:
        steps: optimiser steps.
        batch_size: sentence pairs a step, of all processes together; a corpus that is smaller is taken whole.
        schedule: "constant" keeps `learning_rate`; "warmup" is the paper's
            d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5), whatever `learning_rate` says; "one-cycle" rises to
            `learning_rate` and falls to 0 along a cosine.
        label_smoothing: share of a target's probability that is spread over all words (§5.4).
        clip_norm: gradients are scaled down to this norm.
        seed: of the weights, the batches and dropout: the same seed gives the same model on the same machine.
        precision: "bfloat16" halves the bits of most products inside the network, for GPUs that are faster at it;
            weights, gradients, Adam and the loss stay float32.
    """

    steps: int = 120
    batch_size: int = 64
    schedule: Schedule = "constant"
    learning_rate: float = 1e-3
    warmup_steps: int = 4000
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    seed: int = 0
    precision: Precision = "float32"

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


def adam(model: Transformer) -> torch.optim.Adam:
    """The paper's optimiser (§5.3); `train` sets its rate at every step."""
    return torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)


def train(
    model: Transformer,
    data: Batch | PairFile,
    config: TrainingConfig,
    probe: Probe | None = None,
    processes: Processes = ALONE,
    optimizer: torch.optim.Adam | None = None,
    after: int = 0,
) -> Iterator[Progress]:
    """Train `model` in place, on the device it is on; stop asking to stop training.

    Seeds PyTorch's global generator (dropout draws from it), unless it goes on.

    Args:
        processes: who shares the work of each step. All call this with the same arguments, and without dropout the
            model becomes that of one process; with it, each drops out its own rows' values by its own seed.
        optimizer: from `adam(model)`, for who wants to keep it; a new one if left out.
        after: the step to go on after. Model, optimizer and the global generator are then as they were at it.

    Yields:
        One Progress a step, the same to every process; the model is in training mode at each.
    """
    if not after:
        torch.manual_seed(config.seed + processes.rank)
    device, pad = model.positions.device, model.config.pad_id
    optimizer = optimizer or adam(model)
    network = processes.synchronized(model)
    if network is not model:
        # In its first backward pass it learns in which order to add gradients up. Were that a step, a resumed run would
        # round otherwise than an unbroken one. Without dropout, so that no random number is drawn.
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
        loss = _loss(logits, batch.tgt_out, pad, config.label_smoothing)
        part = words / processes.total(words)  # of all words of this step, so that each word counts alike
        optimizer.zero_grad()
        (loss * part * processes.count).backward()  # × count: the mean of the gradients is to be their sum
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        accuracy = _token_accuracy(logits, batch.tgt_out, pad)
        yield Progress(step, *processes.total(torch.stack([loss.detach(), accuracy]) * part).tolist())


def evaluate(model: Transformer, data: Batch, start_id: int, end_id: int, batch_size: int = 256) -> Evaluation:
    """Score sentence pairs; sentences decoded freely may be as long as `output_limit` says."""
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
        said = greedy_batch(model, batch.src, start_id, end_id, max_steps=longest)
        exact += sum(
            ids == [i for i in gold if i != pad] for ids, gold in zip(said, batch.tgt_out.tolist(), strict=True)
        )
    return Evaluation(loss / tokens, correct / tokens, exact / len(data))


def measure(model: Transformer, data: Batch) -> tuple[float, float]:
    """Teacher-forced loss (nats a token, no smoothing) and token accuracy of sentence pairs, all in one pass."""
    data, pad = data.to(model.positions.device), model.config.pad_id
    with evaluating(model):
        logits = model(data.src, data.tgt_in, need_weights=False).logits
    return _loss(logits, data.tgt_out, pad).item(), _token_accuracy(logits, data.tgt_out, pad).item()


def output_limit(longest: int, config: TransformerConfig) -> int:
    """How many words a model may say: as many as the longest target and half as many again, if it has the positions."""
    return min(longest * 3 // 2, config.max_len)


def _loss(logits: Tensor, target: Tensor, pad_id: int, label_smoothing: float = 0.0) -> Tensor:
    flat, gold = logits.flatten(0, 1), target.flatten()  # (B T, V), (B T,)
    return F.cross_entropy(flat, gold, ignore_index=pad_id, label_smoothing=label_smoothing)


def _token_accuracy(logits: Tensor, target: Tensor, pad_id: int) -> Tensor:
    words = target != pad_id
    return ((logits.argmax(dim=-1) == target)[words]).float().mean()


def _batches(
    data: Batch | PairFile, config: TrainingConfig, device: torch.device, pad_id: int, processes: Processes, after: int
) -> Iterator[tuple[Batch, Tensor]]:
    """This process's rows of every batch, and how many target words they hold: shuffled passes over the data, for
    ever, from the batch of step `after` + 1 on. A corpus of one batch is taken in its own order."""
    generator = torch.Generator().manual_seed(config.seed)
    draws: Iterator[Any]  # row numbers of a corpus, or pairs of a file
    take: Callable[[Any], Batch]
    if isinstance(data, PairFile):
        draws, take = data.draws(config.batch_size, generator), data.encoded
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
        batch = take(mine if len(mine) else draw[:1]).to(device)  # one without rows reads along, and counts for nothing
        yield batch, (batch.tgt_out != pad_id).sum() * bool(len(mine))


HELP = {
    "steps": "optimiser steps",
    "batch_size": "sentence pairs a step, of all processes together",
    "schedule": "of the learning rate; warmup is the paper's, one-cycle rises and falls to 0",
    "learning_rate": "of the constant schedule; 0.064 / d-model if left out",
    "warmup_steps": "of the warmup schedule",
    "label_smoothing": "share of probability spread over all words; the paper has 0.1",
    "clip_norm": "gradients are scaled down to this norm",
    "seed": "the same seed gives the same model",
    "precision": "bfloat16 is for GPUs that are faster at it",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m transformer.training",
        description="Train a Transformer and save it. The paper's size: --d-model 512 --d-ff 2048. On many devices:"
        " torchrun --nproc-per-node N -m transformer.training ...",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    data = parser.add_mutually_exclusive_group()
    data.add_argument("--corpus", choices=sorted(CORPORA), default="toy", help="what to learn")
    data.add_argument("--pairs", type=Path, metavar="FILE", help="or this: a source, a tab and a target on every line")
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
    parser.add_argument("--keep-every", type=int, default=1000, help="steps after which to keep a state; 0: never")
    parser.add_argument("--resume", action="store_true", help="go on from the state that is in --out, if one is")
    return parser


def main(arguments: list[str]) -> None:
    """Train on a corpus or a file of pairs from the command line, and save a checkpoint with its card."""
    begin = time.perf_counter()
    parser = _parser()
    args = parser.parse_args(arguments)
    if not args.pairs and MATERIALS[args.corpus].held_out and find_spec("sacrebleu") is None:
        parser.error("its card has a BLEU score: pip install -r tests/requirements.txt")
    if args.keep_every < 0:
        parser.error(f"--keep-every {args.keep_every} is below 0")

    try:
        device = device_of_process(args.device)
        file = args.pairs and PairFile.scan(args.pairs)
        corpus = file.corpus() if file else CORPORA[args.corpus]()
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

    data: Batch | PairFile = file or corpus.batch()
    model = seeded_model(config, training.seed).to(device)
    with together(device) as processes:
        run = asdict(config) | asdict(training) | {"processes": processes.count, "device": device.type}
        run["pairs"] = file.digest if file else hashlib.sha256(repr(corpus.pairs).encode()).hexdigest()
        state = TrainingState(args.out / STATE, model, adam(model), processes, run)
        try:
            after = state.load() if args.resume else 0
        except CheckpointError as error:
            parser.error(str(error))
        if args.resume and not after and not processes.rank:
            print(f"{state.file}: no such file, so training begins at its first step", file=sys.stderr)
        facts = {"seed": str(training.seed)} | _train(state, data, corpus, training, after, args.keep_every)
    if processes.rank:
        return
    checkpoint = Checkpoint(
        model.eval(),
        corpus.src_vocab,
        corpus.tgt_vocab,
        corpus.source_length,
        output_limit(data.target_length, model.config),
        corpus.pad_source,
    )
    scores = score_held_out(checkpoint, corpus.name) if corpus.material.held_out else {}
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
    state.remove()
    print(card)


def _train(
    state: TrainingState, data: Batch | PairFile, corpus: Corpus, training: TrainingConfig, after: int, keep_every: int
) -> dict[str, str]:
    """Train with a bar that shows how it goes, and keep the state every so often; what the card says of it."""
    model, processes, start, end = state.model, state.processes, corpus.tgt_vocab.ids[START], corpus.tgt_vocab.ids[END]
    first = processes.rank == 0  # the one that shows, scores and writes
    # A step that sees all there is has the accuracy of the corpus.
    whole = data if first and isinstance(data, Batch) and len(data) <= training.batch_size else None
    begin = time.perf_counter()
    exact_after = "never"
    every = train(model, data, training, processes=processes, optimizer=state.optimizer, after=after)
    with tqdm(every, initial=after, total=training.steps, unit="step", file=sys.stderr, disable=not first) as bar:
        for progress in bar:
            if not math.isfinite(progress.loss):
                sys.exit(f"The loss is {progress.loss} at step {progress.step}. Try a lower learning rate.")
            if keep_every and progress.step % keep_every == 0 and progress.step < training.steps:
                state.save(progress.step)
            bar.set_postfix(loss=f"{progress.loss:.4f}", accuracy=f"{progress.token_accuracy:.0%}", refresh=False)
            if (
                whole
                and not after  # else it may have been so before
                and exact_after == "never"
                and progress.token_accuracy == 1
                and evaluate(model, whole, start, end).exact_match == 1
            ):
                exact_after = f"after step {progress.step}, {time.perf_counter() - begin:.1f} s"
    seconds = time.perf_counter() - begin
    where = f"{model.positions.device.type} ({torch.get_num_threads()} threads)"
    if processes.count > 1:
        where += f", {processes.count} processes"
    steps = f"{training.steps} steps" + (f", of which the last {training.steps - after}" if after else "")
    facts = {"training": f"{steps} in {seconds:.1f} s on {where}"}
    if whole and not after:
        facts["every sentence exactly right"] = exact_after
    facts["last training loss"] = f"{progress.loss:.4f} nats a token"
    if whole:
        result = evaluate(model, whole, start, end)
        facts["loss without dropout"] = f"{result.loss:.4f} nats a token"
        facts["token accuracy, teacher-forced"] = f"{result.token_accuracy:.1%}"
        facts["exact match, free-running"] = f"{result.exact_match:.1%}"
    return facts


if __name__ == "__main__":
    main(sys.argv[1:])
