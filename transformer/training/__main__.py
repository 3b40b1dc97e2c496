"""`python -m transformer.training`: train on a corpus or a file of pairs, and save a checkpoint with its card."""

import argparse
import hashlib
import math
import shlex
import sys
import time
from dataclasses import asdict, fields
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import torch
from tqdm import tqdm

from ..data import CORPORA, Batch, Corpus, PairFile
from ..data.vocabulary import END, START
from ..network.config import TransformerConfig
from ..storage.checkpoint import Checkpoint, CheckpointError, save_checkpoint
from .card import write_card
from .config import TrainingConfig
from .distributed import device_of_process, together
from .evaluation import measure_held_out, score_held_out, speed
from .loop import adam, seeded_model, train
from .scoring import evaluate, output_limit
from .state import STATE, TrainingState

TRIED = "tried.md"  # beside a checkpoint: other sizes and schedules that were measured; goes into its card

HELP = {
    "steps": "optimiser steps",
    "batch_size": "sentence pairs per step, over all processes",
    "schedule": "of the learning rate; warmup is the paper's, one-cycle rises and falls to 0",
    "learning_rate": "of the constant schedule; 0.064 / d-model if left out",
    "warmup_steps": "of the warmup schedule",
    "label_smoothing": "share of probability spread over all words; the paper has 0.1",
    "clip_norm": "gradients are scaled down to this norm",
    "weight_decay": "share, times the learning rate, that every matrix loses at a step",
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
    data.add_argument("--corpus", choices=sorted(CORPORA), default="toy", help="the pairs to train on")
    data.add_argument(
        "--pairs", type=Path, metavar="FILE", help="instead of a corpus: a source, a tab and a target on every line"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint")
    parser.add_argument("--device", help="cuda, mps, xpu or cpu; the best available if left out")
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
    parser.add_argument("--keep-every", type=int, default=1000, help="steps between two saved states; 0: never")
    parser.add_argument("--resume", action="store_true", help="resume from the state in --out, if there is one")
    return parser


def main(arguments: list[str]) -> None:
    """Train on a corpus or a file of pairs from the command line, and save a checkpoint with its card."""
    begin = time.perf_counter()
    parser = _parser()
    args = parser.parse_args(arguments)
    if not args.pairs and CORPORA[args.corpus].held_out and find_spec("sacrebleu") is None:
        parser.error("its card has a BLEU score: pip install -r tests/requirements.txt")
    if args.keep_every < 0:
        parser.error(f"--keep-every {args.keep_every} is below 0")
    try:
        device = device_of_process(args.device)
        file = args.pairs and PairFile.scan(args.pairs)
        corpus = file.corpus() if file else CORPORA[args.corpus]
        config, training = _configs(args, corpus)
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
        state = TrainingState(args.out / STATE, model, adam(model, training.weight_decay), processes, run)
        try:
            after = state.load() if args.resume else 0
        except CheckpointError as error:
            parser.error(str(error))
        if args.resume and not after and not processes.rank:
            print(f"{state.file}: no such file, so training begins at its first step", file=sys.stderr)
        facts = {"seed": str(training.seed)} | _train(state, data, corpus, training, after, args.keep_every)
    if processes.rank:
        return
    round_weights(model)
    lengths = corpus.source_length, output_limit(data.target_length, model.config)
    checkpoint = Checkpoint(model.eval(), corpus.src_vocab, corpus.tgt_vocab, *lengths, corpus.pad_source)
    print(_save(checkpoint, corpus, args.out, arguments, facts, begin))
    state.remove()


def round_weights(model: torch.nn.Module) -> None:
    """Round every weight to 16 significant bits: a compressed file becomes a quarter smaller.

    A weight changes by at most 2^-17 of itself, less than a step of training changes it.
    """
    for weight in model.parameters():
        bits = weight.detach().view(torch.int32)
        bits.copy_((bits + 0x80) & ~0xFF)


def _configs(args: argparse.Namespace, corpus: Corpus) -> tuple[TransformerConfig, TrainingConfig]:
    """Raises ValueError for what cannot be."""
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
    if args.learning_rate is None:  # a wider network needs a lower rate: at 512, 0.001 learns nothing
        args.learning_rate = 0.064 / config.d_model
    return config, TrainingConfig(**{field.name: getattr(args, field.name) for field in fields(TrainingConfig)})


def _save(
    checkpoint: Checkpoint, corpus: Corpus, out: Path, arguments: list[str], facts: dict[str, str], begin: float
) -> str:
    """Score the checkpoint, save it with its card, and return the card; `begin` is when the command began."""
    scores = score_held_out(checkpoint, corpus.name) if corpus.held_out else {}
    measures = measure_held_out(checkpoint, corpus.name) if corpus.held_out else {}
    if scores:
        facts["evaluation, free-running"] = speed(scores)
        facts["from the start of the command"] = f"{time.perf_counter() - begin:.1f} s"
    tried = out / TRIED
    card = write_card(
        checkpoint,
        corpus,
        command=shlex.join(["python", "-m", "transformer.training", *arguments]),
        facts=facts,
        scores=scores,
        measures=measures,
        tried=tried.read_text() if tried.exists() else "",
    )
    save_checkpoint(checkpoint, out, card)
    return card


def _train(
    state: TrainingState, data: Batch | PairFile, corpus: Corpus, training: TrainingConfig, after: int, keep_every: int
) -> dict[str, str]:
    """Train with a progress bar, save the state every `keep_every` steps, and return the facts for the card."""
    model, processes, start, end = state.model, state.processes, corpus.tgt_vocab.ids[START], corpus.tgt_vocab.ids[END]
    first = processes.rank == 0  # shows the bar, scores and writes
    # Where a batch is the whole corpus, its accuracy is that of the corpus.
    corpus_batch = data if first and isinstance(data, Batch) and len(data) <= training.batch_size else None
    begin, processor = time.perf_counter(), time.process_time()
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
                corpus_batch
                and not after  # else it may have happened before
                and exact_after == "never"
                and progress.token_accuracy == 1
                and evaluate(model, corpus_batch, start, end).exact_match == 1
            ):
                exact_after = f"after step {progress.step}, {time.perf_counter() - begin:.1f} s"
    seconds = time.perf_counter() - begin
    where = f"{model.positions.device.type} ({torch.get_num_threads()} threads)"
    if processes.count > 1:
        where += f", {processes.count} processes"
    steps = f"{training.steps} steps" + (f", of which the last {training.steps - after}" if after else "")
    facts = {
        "training": f"{steps} in {seconds:.1f} s on {where}",
        "training, processor time": f"{time.process_time() - processor:.1f} s",  # the same on a busy machine
    }
    if corpus_batch and not after:
        facts["every sentence exactly right"] = exact_after
    facts["last training loss"] = f"{progress.loss:.4f} nats per token"
    if corpus_batch:
        result = evaluate(model, corpus_batch, start, end)
        facts["loss without dropout"] = f"{result.loss:.4f} nats per token"
        facts["token accuracy, teacher-forced"] = f"{result.token_accuracy:.1%}"
        facts["exact match, free-running"] = f"{result.exact_match:.1%}"
    return facts


if __name__ == "__main__":
    main(sys.argv[1:])
