"""A Jupyter notebook (nbformat 4.5) that repeats a run and checks it. Knows nothing of the page.

It carries the library and a model of up to 4 MiB, so that it runs on a machine that has neither. The sentence is
untrusted: in code it is one Python literal, in Markdown it is inside a code span.
"""

import base64
import io
import json
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ..files import PACKAGE
from ..inference.translator import Translation
from ..messages import CATALOGUE
from ..storage.checkpoint import CARD, CONFIG, FOLDER, VOCABULARIES, WEIGHTS, available_checkpoints
from ..storage.hub import is_on_hub

MAX_CARRIED = 4 * 2**20  # bytes of a model file; a larger one is downloaded from the page and put beside the notebook
PACKAGES = "torch huggingface-hub numpy pandas pydantic safetensors sentencepiece tqdm typing-extensions plotly"
LIBRARY = ("network", "data", "storage", "inference", "analysis")  # folders that the cells need

_TITLE = """# Attention, bitte

{sentence} is translated by the checkpoint {checkpoint} as {text}

The cells below repeat that translation on this machine and check its attention maps. They need Python 3.11 or newer and
these packages:

    pip install {packages}

The library itself{carried_model} in the next cell.{beside}"""

_BESIDE_OWN = " Put the model's file beside this notebook: the page has it under *Train*."
_BESIDE = " Put the model's folder beside this notebook."
_FETCHED = " The model is fetched from the Hugging Face Hub."

_CARRIED = """# Packed files, which the cell below unpacks.
CARRIED = \"\"\"
{carried}
\"\"\""""

_LOAD = """import base64
import io
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

folder = Path(tempfile.mkdtemp())
ZipFile(io.BytesIO(base64.b64decode(CARRIED))).extractall(folder)
sys.path.insert(0, str(folder))

from transformer import Translator
{importing}
SENTENCE = {sentence!r}

translator = Translator.load({model}, device="cpu")
run = translator.translate(SENTENCE{changed})
assert run.text == {text!r}, run.text
run"""

_CHANGED_TEXT = """## Interventions

This run was modified by `CHANGES` below. Leave them out for the original run."""

_CHANGED = """CHANGES = {changes!r}"""

_TABLE_TEXT = """## Every weight, as a table

Layers, heads and positions count from 0. The head below is the one of the last layer's cross-attention that is
furthest from uniform attention. It is one head, not *the* attention."""

_WORDS_TEXT = """

Tokens are pieces of words. This table is of words: attention to a word is the sum over its pieces, attention from a
word the mean (Clark et al., 2019). `run.table()` is the table of pieces."""

_TABLE = """table = run.table({words})
table.head()"""

_HEAD = """attention = run.{maps}.cross[-1]
head = int(attention.from_uniform().argmax())
one_head = table.query("kind == 'cross' and layer == @attention.layer and head == @head")
one_head.pivot(index=["query", "query_token"], columns=["key", "key_token"], values="weight").round(3)"""

_DRAW_TEXT = """## The head, drawn

Rows are decoder inputs, columns are source tokens: row t attends while output t is predicted."""

_DRAW = """import plotly.graph_objects as go

figure = go.Figure(go.Heatmap(z=attention.weights[head], zmin=0, zmax=1, colorscale="Blues"))
rows, columns = attention.query_tokens, attention.key_tokens  # words may repeat, so the axes are numbers
figure.update_xaxes(title="source", tickvals=list(range(len(columns))), ticktext=columns)
figure.update_yaxes(title="decoder input", tickvals=list(range(len(rows))), ticktext=rows, autorange="reversed")
figure.update_layout(title=f"cross-attention, layer {attention.layer + 1}, head {head + 1}")
figure"""

_INSIDE_TEXT = """## The same head by hand

Attention(Q, K, V) = softmax(QKᵀ / √d) V (§3.2.1)."""

_INSIDE = """import numpy as np

from transformer.analysis.sublayer import inspect_sublayer

inside = inspect_sublayer(translator, run, "cross", attention.layer)
scores = inside.q[head] @ inside.k[head].T / np.sqrt(inside.head_dim)
scores = np.where(inside.allowed, scores, -np.inf)  # masked cells get no weight
weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
weights = weights / weights.sum(axis=-1, keepdims=True)
assert np.allclose(weights, attention.weights[head], atol=1e-5)
assert np.allclose(weights @ inside.v[head], inside.head_output[head], atol=1e-5)
weights.round(3)"""

# Under interventions the scores, and the use of the weights, may differ from the formula.
_INSIDE_TEXT_OF_CHANGED = """## The same head's weights by hand

The softmax of the modified scores; a fully masked row has weights of 0."""

_INSIDE_OF_CHANGED = """import numpy as np

from transformer.analysis.sublayer import inspect_sublayer

inside = inspect_sublayer(translator, run, "cross", attention.layer)
powers = np.exp(inside.scores[head] - inside.scores[head].max(axis=-1, keepdims=True)) * inside.allowed
sums = powers.sum(axis=-1, keepdims=True)
weights = np.divide(powers, sums, out=np.zeros_like(powers), where=sums > 0)
assert np.allclose(weights, attention.weights[head], atol=1e-5)
weights.round(3)"""

_PIECES = """attention = run.attention.cross[-1]  # of pieces, as every number inside a head

"""

_CHECK_TEXT = """## Is it true?

Rows sum to 1, masked cells are 0, cached decoding agrees with one full pass, and that pass agrees with PyTorch's
`nn.Transformer` on the same weights."""

# Without torch.nn, which cannot be modified in the same way; see self_checks.check.
_CHECK_TEXT_OF_CHANGED = """## Is it true?

Rows that are not fully masked sum to 1, masked cells are 0, and the decoding steps agree with one full pass, where
the interventions allow that."""

_CHECK = """from transformer.analysis.self_checks import check

checks = check(translator, run)
for each in checks:
    print(f"{each.name:7} off by {each.error:.1e}, at most {each.limit:.0e}: {'ok' if each.ok else 'NOT OK'}")
assert all(each.ok for each in checks)"""


def notebook(run: Translation, checkpoint: str, file: Path | None = None, words: bool = False) -> str:
    """The notebook as JSON text, for a run without a probe and without forced words; it repeats its interventions.

    Args:
        checkpoint: the name of the run's shipped model, of a visitor's model file, or of a published model.
        file: the visitor's model file.
        words: tables and figures are of words, where tokens are pieces.
    """
    words = words and run.in_pieces
    is_shipped = file is None and checkpoint in available_checkpoints()
    carries_model = is_shipped or (file is not None and file.stat().st_size <= MAX_CARRIED)
    model = f"folder / {checkpoint!r}" if file and carries_model else repr(checkpoint)
    exact = {"sentence": run.sentence, "checkpoint": checkpoint, "text": run.text}
    shown = {name: _span(text) for name, text in exact.items()}
    carried_model = " and the model are" if carries_model else " is"
    beside = "" if carries_model else _BESIDE_OWN if file else _FETCHED if is_on_hub(checkpoint) else _BESIDE
    changes = run.interventions.to_json()
    changed = [_markdown("changed-text", _CHANGED_TEXT), _code("changed", _CHANGED.format(changes=changes))]
    how = ", interventions=Interventions.parse(CHANGES)" if changes else ""
    importing = "from transformer.inference.interventions import Interventions\n" if changes else ""
    carried = (
        _packed_with_shipped(checkpoint)
        if is_shipped
        else _packed({checkpoint: file} if file and carries_model else {})
    )
    cells = [
        _markdown("title", _TITLE.format(**shown, packages=PACKAGES, carried_model=carried_model, beside=beside)),
        _code("carried", _CARRIED.format(carried=carried)) | {"metadata": {"jupyter": {"source_hidden": True}}},
        *(changed if changes else []),
        _code("load", _LOAD.format(**exact, model=model, changed=how, importing=importing)),
        _markdown("table-text", _TABLE_TEXT + _WORDS_TEXT * words),
        _code("table", _TABLE.format(words="words=True" if words else "")),
        _code("head", _HEAD.format(maps="attention_of_words()" if words else "attention")),
        _markdown("draw-text", _DRAW_TEXT),
        _code("draw", _DRAW),
        _markdown("inside-text", _INSIDE_TEXT_OF_CHANGED if changes else _INSIDE_TEXT),
        _code("inside", _PIECES * words + (_INSIDE_OF_CHANGED if changes else _INSIDE)),
        _markdown("check-text", _CHECK_TEXT_OF_CHANGED if changes else _CHECK_TEXT),
        _code("check", _CHECK),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _markdown(name: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def _code(name: str, source: str) -> dict[str, Any]:
    return _markdown(name, source) | {"cell_type": "code", "execution_count": None, "outputs": []}


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
    library = (file for name in LIBRARY for file in (PACKAGE / name).rglob("*.*") if file.suffix in (".py", ".tsv"))
    sources = sorted([*PACKAGE.glob("*.py"), *library])
    files = {f"transformer/{each.relative_to(PACKAGE).as_posix()}": each for each in sources}
    files[f"transformer/assets/locales/{CATALOGUE.name}"] = CATALOGUE
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for name, file in (files | model).items():
            packed.writestr(ZipInfo(name), file.read_bytes(), ZIP_DEFLATED)  # without a date: equal files, equal bytes
    return base64.encodebytes(archive.getvalue()).decode().strip()
