"""`make tried`: the scores of other sizes and schedules of the classroom's model, as the table of its card."""

import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np

from transformer.storage.checkpoint import load_checkpoint
from transformer.training.__main__ import main as train
from transformer.training.evaluation import score_held_out

VARIATIONS = (  # changes to the shipped command
    "--n-heads 2",
    "--seed 0",
    "--seed 2",
    "--seed 3",
    "--label-smoothing 0",
    "--weight-decay 0",
    "--steps 3000",
)

HEADING = """\
What else was tried, by `make tried` on two cores: the command above with one thing changed, and seed 1 unless a
row says otherwise. Exact match and the best head's AER are on held-out sentences / unseen combinations; the time is
training alone.
"""


def measure(command: list[str], change: str) -> str:
    """Train with a change and return its row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        train([*command, *shlex.split(change), "--out", folder])
        card = (Path(folder) / "card.md").read_text()
        checkpoint = load_checkpoint(folder)
    (training,) = (line.split("|")[2].strip() for line in card.splitlines() if line.startswith("| training |"))
    scores = score_held_out(checkpoint, "classroom").values()
    weights = sum(parameter.numel() for parameter in checkpoint.model.parameters())
    exact = " / ".join(f"{each.exact_match:.1%}" for each in scores)
    best = " / ".join(f"{np.min(each.alignment.heads):.3f}" for each in scores)
    return f"| {change or 'as shipped'} | {weights:,} | {training.split(' on ')[0]} | {exact} | {best} |"


if __name__ == "__main__":
    out, command = Path(sys.argv[1]), sys.argv[2:]
    rows = ["| changed | weights | training | exact match | best head's AER |", "| --- | --- | --- | --- | --- |"]
    for change in VARIATIONS:
        rows.append(measure(command, change))
        out.write_text("\n".join([HEADING, *rows]) + "\n")
    print(out.read_text())
