"""Several processes of a test, and what each of them trains and records for test_distributed.py."""

import dataclasses
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing.spawn import start_processes

from transformer import TransformerConfig
from transformer.data import PairFile
from transformer.data.classroom.corpus import sample
from transformer.training import TrainingConfig, seeded_model, train
from transformer.training.distributed import Processes, together

SIZES: dict[str, Any] = {"d_model": 32, "n_heads": 4, "d_ff": 64, "num_encoder_layers": 2, "num_decoder_layers": 2}
CASES: dict[str, dict[str, Any]] = {  # of the training; the pairs by the first word of the name
    "classroom, uneven and clipped": {"batch_size": 33, "steps": 15, "schedule": "one-cycle", "clip_norm": 0.1},
    "file, streamed": {"batch_size": 9, "steps": 40},
}


def write_pairs(file: Path, count: int = 300) -> None:
    """Pairs of the classroom's grammar, of various lengths."""
    file.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in sample("", count)))


def seen(name: str, folder: Path, processes: Processes) -> dict[str, Any]:
    """Train a case: its progress and the final weights."""
    file = PairFile.scan(folder / "pairs.tsv")
    pairs = [(pair.source, pair.target) for pair in sample("", file.size)]
    data = file if name.startswith("file") else file.encode(pairs)
    model = seeded_model(TransformerConfig(len(file.src_vocab), len(file.tgt_vocab), **SIZES, dropout=0.0), 0)
    config = TrainingConfig(**CASES[name], learning_rate=1e-3, label_smoothing=0.1)
    progress = [dataclasses.astuple(each) for each in train(model, data, config, processes=processes)]
    return {"progress": progress, "weights": model.state_dict()}


def record(folder: Path) -> None:
    """Train every case in one of several processes."""
    with together(torch.device("cpu")) as processes:
        for name in CASES:
            torch.save(seen(name, folder, processes), folder / f"{name} {processes.rank}.pt")


def in_processes(count: int, function: Callable[..., None], *arguments: Any) -> None:
    """Call a function in processes as torchrun starts them, but forked: importing torch takes longer than a training.
    A fork could use neither an accelerator nor several threads again: it would wait for ever for those of its parent.

    Raises:
        ProcessExitedException: one of them was killed.
    """
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    environment = {"WORLD_SIZE": str(count), "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    method = "spawn" if torch.accelerator.is_available() or torch.get_num_threads() > 1 else "fork"
    start_processes(_process, (environment, function, arguments), nprocs=count, start_method=method)


def _process(rank: int, environment: dict[str, str], function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.environ.update(environment, RANK=str(rank), LOCAL_RANK=str(rank))
    function(*arguments)
