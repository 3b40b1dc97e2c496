"""`make bench`: every row of the table in README.md. Prints it and writes results.json.

Measure on an idle machine: on busy cores the threads of a matrix product wait for each other.
"""

import itertools
import json
import os
import platform
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from . import drawing, models, site, translators
from .ratio import HEADING, Ratio, as_table

# Modules with `measure() -> Iterator[Ratio]`.
PARTS = (models, translators, drawing, site)
RESULTS = Path(__file__).with_name("results.json")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- make bench -->\n", "\n<!-- end -->"


def machine() -> dict[str, Any]:
    named = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    cpu = next((line.split(":")[1].strip() for line in named if line.startswith("model name")), platform.processor())
    return {
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cpu": cpu,
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def written(machine: dict[str, Any], rows: Iterable[Ratio]) -> str:
    """The section of README.md that is generated from results.json."""
    facts = f"{machine['cores']} cores of an {machine['cpu']}, PyTorch {machine['torch']}, {machine['date']}."
    return f"{facts}\n\n{as_table(rows)}"


def read(file: Path = RESULTS) -> tuple[dict[str, Any], list[Ratio]]:
    results = json.loads(file.read_text())
    return results["machine"], [Ratio(**row) for row in results["rows"]]


def put(text: str, table: str) -> str:
    """The document with its table replaced."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table + END + rest.split(END, 1)[1]


def main() -> None:
    chosen = [part for part in PARTS if not sys.argv[1:] or part.__name__.split(".")[-1] in sys.argv[1:]]
    print(HEADING)
    rows = []
    for row in itertools.chain.from_iterable(part.measure() for part in chosen):
        print(row, flush=True)
        rows.append(row)
    if chosen != list(PARTS):
        return  # a single part is only printed
    measured = {"machine": machine(), "rows": list(map(asdict, rows))}
    RESULTS.write_text(json.dumps(measured, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    README.write_text(put(README.read_text(), written(*read())))


if __name__ == "__main__":
    main()
