"""A run as a Jupyter notebook (nbformat 4.5) that makes it again and checks it. Knows nothing of the page.

The sentence is somebody else's text: in code it stands as one Python literal, in text inside a code span.
"""

import json
from typing import Any

from ..inference.translator import Translation

_TITLE = """# Attention, bitte

{sentence} is, to the checkpoint {checkpoint}, {text}

The cells below make that translation again, on this machine, and check what its attention maps say. They need the
project and its requirements: run the notebook from the project's folder, or name that folder in the environment
variable `TRANSFORMER_HOME`."""

_LOAD = """import os
import sys
from pathlib import Path

home = Path(os.environ.get("TRANSFORMER_HOME", ".")).resolve()
assert (home / "transformer" / "translator.py").exists(), f"{{home}} is not the project: set TRANSFORMER_HOME"
sys.path.insert(0, str(home))

from transformer import Translator
{importing}
SENTENCE = {sentence!r}

translator = Translator.load({checkpoint!r}, device="cpu")
run = translator.translate(SENTENCE{changed})
assert run.text == {text!r}, run.text
run"""

_CHANGED_TEXT = """## What was changed

The run is not the network's own: `CHANGES` below were made in it. Leave them out, and it is."""

_CHANGED = """CHANGES = {changes!r}"""

_TABLE_TEXT = """## Every weight, as a table

Layers, heads and positions count from 0. The head below is the one of the last layer's cross-attention that is
furthest from looking everywhere alike. It is one head, not *the* attention."""

_TABLE = """table = run.table()
table.head()"""

_HEAD = """attention = run.attention.cross[-1]
head = int(attention.from_uniform().argmax())
one_head = table.query("kind == 'cross' and layer == @attention.layer and head == @head")
one_head.pivot(index=["query", "query_token"], columns=["key", "key_token"], values="weight").round(3)"""

_DRAW_TEXT = """## The head, drawn

Rows are what the decoder read, columns the source: row t was looking while output t was said."""

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

from transformer.inside import look_inside

inside = look_inside(translator, run, "cross", attention.layer)
scores = inside.q[head] @ inside.k[head].T / np.sqrt(inside.head_dim)
scores = np.where(inside.allowed, scores, -np.inf)  # nobody looks at padding
weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
weights = weights / weights.sum(axis=-1, keepdims=True)
assert np.allclose(weights, attention.weights[head], atol=1e-5)
assert np.allclose(weights @ inside.v[head], inside.head_output[head], atol=1e-5)
weights.round(3)"""

# Where the network was changed, its scores and what is made of the weights may be other than the formula's.
_INSIDE_TEXT_OF_CHANGED = """## The same head's weights by hand

Softmax of the scores as they were after the changes; a row that may look at nothing has weights of 0."""

_INSIDE_OF_CHANGED = """import numpy as np

from transformer.inside import look_inside

inside = look_inside(translator, run, "cross", attention.layer)
powers = np.exp(inside.scores[head] - inside.scores[head].max(axis=-1, keepdims=True)) * inside.allowed
sums = powers.sum(axis=-1, keepdims=True)
weights = np.divide(powers, sums, out=np.zeros_like(powers), where=sums > 0)
assert np.allclose(weights, attention.weights[head], atol=1e-5)
weights.round(3)"""

_CHECK_TEXT = """## Is it true?

Rows sum to 1, masked cells are 0, decoding word by word on a cache agrees with one pass over the whole, and that
pass agrees with PyTorch's own `nn.Transformer` on the same weights."""

# Without torch.nn, which cannot be changed alike, and without what does not hold where a word may look at later ones.
_CHECK_TEXT_OF_CHANGED = """## Is it true?

Rows that may look at anything sum to 1, masked cells are 0, and what was said step by step is what one pass over the
whole says, as far as the changes let that be."""

_CHECK = """from transformer.correctness import check

checks = check(translator, run)
for each in checks:
    print(f"{each.name:7} off by {each.error:.1e}, at most {each.limit:.0e}: {'ok' if each.ok else 'NOT OK'}")
assert all(each.ok for each in checks)"""


def notebook(run: Translation, checkpoint: str) -> str:
    """The notebook's file, of a run without a probe and without forced words; its interventions are made again.

    Args:
        checkpoint: what `Translator.load` finds the run's model by.
    """
    exact = {"sentence": run.sentence, "checkpoint": checkpoint, "text": run.text}
    shown = {name: _span(text) for name, text in exact.items()}
    changes = run.interventions.to_json()
    changed = [_markdown("changed-text", _CHANGED_TEXT), _code("changed", _CHANGED.format(changes=changes))]
    how = ", interventions=Interventions.parse(CHANGES)" if changes else ""
    importing = "from transformer.interventions import Interventions\n" if changes else ""
    cells = [
        _markdown("title", _TITLE.format(**shown)),
        *(changed if changes else []),
        _code("load", _LOAD.format(**exact, changed=how, importing=importing)),
        _markdown("table-text", _TABLE_TEXT),
        _code("table", _TABLE),
        _code("head", _HEAD),
        _markdown("draw-text", _DRAW_TEXT),
        _code("draw", _DRAW),
        _markdown("inside-text", _INSIDE_TEXT_OF_CHANGED if changes else _INSIDE_TEXT),
        _code("inside", _INSIDE_OF_CHANGED if changes else _INSIDE),
        _markdown("check-text", _CHECK_TEXT_OF_CHANGED if changes else _CHECK_TEXT),
        _code("check", _CHECK),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _markdown(name: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def _code(name: str, source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": name,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def _span(text: str) -> str:
    """Markdown code on one line, which text without a backtick cannot leave. Spaces inside keep it from being empty."""
    return f"` {' '.join(text.replace('`', '').split())} `"
