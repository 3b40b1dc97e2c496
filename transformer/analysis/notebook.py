"""A Jupyter notebook (nbformat 4.5) that repeats a run and checks it. Knows nothing of the page.

It carries the library and a model of up to 4 MiB, so that it runs on a machine that has neither. The sentence is
untrusted: in code it is one Python literal, in Markdown it is inside a code span.
"""

import base64
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Template
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ..files import PACKAGE
from ..inference.translation import Translation
from ..messages import LOCALES
from ..storage.checkpoint import CARD, CONFIG, FOLDER, VOCABULARIES, WEIGHTS, available_checkpoints
from ..storage.hub import is_on_hub

MAX_CARRIED = 4 * 2**20  # bytes of a model file; a larger one is downloaded from the page and put beside the notebook
PACKAGES = (
    "torch huggingface-hub numpy pandas pydantic safetensors sentencepiece tqdm typing-extensions plotly anywidget"
)
PAGE = ("dist/file.js", "dist/app.css", "head.html", "standalone.css")  # of a run, beside its texts

_BESIDE_OWN = " Put the model's file beside this notebook: the page has it under *Train*."
_BESIDE = " Put the model's folder beside this notebook."
_FETCHED = " The model is fetched from the Hugging Face Hub."


def notebook(run: Translation, checkpoint: str, file: Path | None = None, words: bool = False, step: int = 0) -> str:
    """The notebook as JSON text, for a run without a probe and without forced words; it repeats its interventions.

    Args:
        checkpoint: the name of the run's shipped model, of a visitor's model file, or of a published model.
        file: the visitor's model file.
        words: tables and figures are of words, where tokens are pieces.
        step: whose output is explained, by tokens; the last one, if there are fewer.
    """
    words = words and run.in_pieces
    is_shipped = file is None and checkpoint in available_checkpoints()
    carried_file = {checkpoint: file} if file and file.stat().st_size <= MAX_CARRIED else {}
    carries_model = is_shipped or bool(carried_file)
    changes = run.interventions.to_json()
    values = {
        "shown_sentence": _span(run.sentence),
        "shown_checkpoint": _span(checkpoint),
        "shown_text": _span(run.text),
        "packages": PACKAGES,
        "carried_model": " and the model are" if carries_model else " is",
        "beside": "" if carries_model else _BESIDE_OWN if file else _FETCHED if is_on_hub(checkpoint) else _BESIDE,
        "carried": _packed_with_shipped(checkpoint) if is_shipped else _packed(carried_file),
        "changes": changes,
        "changed": ", interventions=Interventions.parse(CHANGES)" if changes else "",
        "importing": "from transformer.inference.interventions import Interventions\n" if changes else "",
        "sentence": repr(run.sentence),
        "text": repr(run.text),
        "model": f"folder / {checkpoint!r}" if carried_file else repr(checkpoint),
        "words": "words=True" if words else "",
        "also_words": ", words=True" if words else "",
        "maps": "attention_of_words()" if words else "attention",
        "step": min(step, len(run.output) - 1),
    }
    cells = [_cell(name, Template(source).substitute(values)) for name, source in _sources(bool(changes), words)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _sources(changed: bool, words: bool) -> Iterator[tuple[str, str]]:
    """The name of every cell and its source, with places for values: of a run under interventions where the cell has a
    variant for that, and with what it adds where tables are of words."""
    text = Path(__file__).with_name("notebook_cells.txt").read_text("utf-8")
    sources = {name: source.strip() for name, _, source in (part.partition("\n") for part in text.split("%% ")[1:])}
    for name in dict.fromkeys(each.split()[0] for each in sources):
        under = f"{name} under interventions"
        wanted = [under if changed and under in sources else name, *([f"{name} of words"] if words else [])]
        if parts := [source for each, source in sources.items() if each in wanted]:
            yield name, "\n\n".join(parts)


def _cell(name: str, source: str) -> dict[str, Any]:
    cell = {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}
    if name == "title" or name.endswith("-text"):
        return cell
    hidden = {"jupyter": {"source_hidden": True}} if name == "carried" else {}
    return cell | {"cell_type": "code", "metadata": hidden, "execution_count": None, "outputs": []}


def _span(text: str) -> str:
    """Markdown code on one line, without the backticks that would end it. The spaces keep it from being empty."""
    return f"` {' '.join(text.replace('`', '').split())} `"


@cache
def _packed_with_shipped(checkpoint: str) -> str:
    """The library and one of the shipped models."""
    names = (CONFIG, VOCABULARIES, CARD, WEIGHTS)
    return _packed({f"transformer/checkpoints/{checkpoint}/{name}": FOLDER / checkpoint / name for name in names})


def _packed(model: dict[str, Path]) -> str:
    """The library and a model's files by their names, as the base64 of a zip archive."""
    sources = sorted(file for file in PACKAGE.rglob("*.*") if file.suffix in (".py", ".tsv", ".js"))
    files = {f"transformer/{each.relative_to(PACKAGE).as_posix()}": each for each in sources}
    assets = LOCALES.parent
    for each in (*(assets / name for name in PAGE), *sorted(LOCALES.glob("*.json"))):
        files[f"transformer/assets/{each.relative_to(assets).as_posix()}"] = each
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for name, file in (files | model).items():
            packed.writestr(ZipInfo(name), file.read_bytes(), ZIP_DEFLATED)  # without a date: equal files, equal bytes
    return base64.encodebytes(archive.getvalue()).decode().strip()
