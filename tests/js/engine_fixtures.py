"""`python -m tests.js.engine_fixtures FOLDER` writes what the engine in the browser is compared with.

engine-NAME.json: what it is given of each shipped checkpoint; engine-cases.json: questions of the page, each with the
server's answer or refusal; engine-questions.json: what a page without a server asks; engine-heads.json: what the
page computes of heads, as the library does.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from pydantic_core import to_jsonable_python

from transformer.data import CORPORA
from transformer.data.alignment import count_links
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import Interventions
from transformer.web.api.question import message
from transformer.web.api.runs import reference, run
from transformer.web.api.table import QUESTIONS
from transformer.web.engine_data import engine_data
from transformer.web.sessions.models import held_out
from transformer.web.site import NEED_SERVER

Case = tuple[str, dict[str, Any]]  # a question's name and its request
TOY, CLASSROOM = "Ich möchte ein Bier", "Heute habe ich ein kaltes Bier getrunken"
SENTENCES = {"toy": TOY, "classroom": CLASSROOM}
OTHER = {"toy": "mochte cola", "classroom": "Die Frau weiß, dass der Hund die Suppe essen will"}
MANY = 200
MARGIN = 1e-4
ABLATED = {"do": "ablate", "kind": "encoder", "layer": 0, "head": 1}
UNKNOWN = ("Ich möchte ein Raumschiff", "ein bir", "Wasser Xylophon Zebra Qqq", "ein P bier")
REFUSED = ("", " ?! ", "ein\u200b Bier", "a " * 13, "x" * 1001, *UNKNOWN)
SPELT = ("ICH MOECHTE EIN BIER!", "Schoen ist das", "schön ist das", "Geht’s dir gut?", "die Straße", "Wie geht's")


def changes(name: str) -> Iterator[list[dict[str, Any]]]:
    """Every kind of intervention, alone and together; and some that mean nothing."""
    word, forced = ("Cola", "a") if name == "toy" else ("Morgen", "drunk")
    for kind in KINDS:
        yield [{"do": "ablate", "kind": kind, "layer": 1, "head": 2}]
        yield [{"do": "isolate", "kind": kind, "layer": 0, "heads": [3, 1]}]
        yield [{"do": "remove_mask", "kind": kind}]
        yield [{"do": "edit_mask", "kind": kind, "query": 1, "key": 0, "allowed": False}]
        yield [{"do": "edit_mask", "kind": kind, "query": 0, "key": 2, "allowed": True}]
        yield [{"do": "temperature", "kind": kind, "temperature": 0.5}]
    yield [{"do": "temperature", "kind": "all", "temperature": 5}]
    yield [{"do": "edit_mask", "kind": "decoder", "query": 0, "key": 0, "allowed": False}]  # a fully masked row
    for stack in ("encoder", "decoder"):
        yield [{"do": "positions", "stack": stack, "how": "removed", "seed": 0}]
        yield [{"do": "positions", "stack": stack, "how": "shuffled", "seed": 7}]
        yield [{"do": "drop_residual", "stack": stack, "layer": 0, "sublayer": 1}]
        yield [{"do": "drop_residual", "stack": stack, "layer": 1, "sublayer": 2}]
    yield [{"do": "drop_residual", "stack": "decoder", "layer": 0, "sublayer": 3}]
    yield [{"do": "swap_word", "position": 1, "word": word}]
    yield [{"do": "force_word", "step": 1, "word": forced}]
    yield [{"do": "ablate", "kind": "cross", "layer": layer, "head": head} for layer in (1, 0) for head in range(4)]
    yield [
        {"do": "force_word", "step": 2, "word": forced},
        {"do": "temperature", "kind": "cross", "temperature": 2.5},
        {"do": "remove_mask", "kind": "decoder"},
        {"do": "edit_mask", "kind": "decoder", "query": 2, "key": 1, "allowed": False},
        {"do": "swap_word", "position": 0, "word": word},
    ]
    yield [{"do": "ablate", "kind": "cross", "layer": 99, "head": 0}]
    yield [{"do": "swap_word", "position": 0, "word": "Raumschiff"}]
    yield [{"do": "force_word", "step": 1, "word": "S"}]
    yield [{"do": "force_word", "step": 2**40, "word": forced}]
    yield [{"do": "edit_mask", "kind": "cross", "query": 99, "key": 0, "allowed": False}]  # no output is that long
    yield [{"do": "edit_mask", "kind": "cross", "query": query, "key": 99, "allowed": False} for query in (99, 10, 9)]
    yield [{"do": "temperature", "kind": "all", "temperature": value} for value in (2, 3)]
    yield [{"do": "drop_residual", "stack": "encoder", "layer": 0, "sublayer": 1.5}]
    yield [{"do": "temperature", "kind": "all", "temperature": 0}]
    yield [{"do": "ablate", "kind": "unknown", "layer": 0, "head": 0}]


def cases() -> Iterator[Case]:
    """Everything that the engine answers."""
    for name, sentence in SENTENCES.items():
        known = [each.source for each in held_out(name)[:MANY]]
        examples = [each.sentence for each in CORPORA[name].examples]
        for each in (*known, *examples, OTHER[name], *REFUSED, *SPELT):
            yield "translate", {"checkpoint": name, "sentence": each}
        for each in (*REFUSED, *SPELT, SENTENCES["toy" if name == "classroom" else "classroom"]):
            yield "translate", {"checkpoint": name, "sentence": each, "or_other_model": True, "or_example": True}
            yield "alternatives", {"checkpoint": name, "sentence": each, "own": []}
        nothing = [{"do": "remove_mask", "kind": "unknown"}]
        swapped = [ABLATED, {"do": "swap_word", "position": 0, "word": "ein"}]  # of which the first alone is made
        for made in (nothing, swapped):
            yield "translate", {"checkpoint": name, "sentence": "Raumschiff", "changes": made, "or_example": True}
        for made in changes(name):
            yield "translate", {"checkpoint": name, "sentence": OTHER[name], "changes": made}
            yield "stack", {"checkpoint": name, "sentence": sentence, "changes": made}
        for made in ([], [ABLATED], [{"do": "remove_mask", "kind": "decoder"}]):
            yield from of_run({"checkpoint": name, "sentence": sentence, "changes": made})
        opened = [{"do": "remove_mask", "kind": "cross"}]  # padding is attended to
        yield "why", {"checkpoint": name, "sentence": sentence, "changes": opened, "step": 3, "other": None}
        yield from of_sentence({"checkpoint": name, "sentence": sentence})
        yield from of_sentence({"checkpoint": name, "sentence": OTHER[name]})
        yield "heads", {"checkpoint": name, "sentence": sentence}
        yield "sweep", {"checkpoint": name, "sentence": OTHER[name], "on": "sentence"}
        yield "starters", {"checkpoint": name, "sentence": sentence}
        for mistake in ("padding_rows", "softmax_dim", "no_eval"):
            yield "mistake", {"checkpoint": name, "sentence": CORPORA[name].examples[0].sentence, "name": mistake}
        for each in ("vocabulary", "scored", "provenance", "shapes"):
            yield each, {"checkpoint": name}
    yield "sweep", {"checkpoint": "classroom", "sentence": CLASSROOM, "on": "held_out"}
    yield "recorded", {"name": "causal_mask"}


def of_run(run: dict[str, Any]) -> Iterator[Case]:
    """Every question about a run with changes."""
    for name in ("checks", "lens", "value_norms", "stack"):
        yield name, run
    for stack in ("encoder", "decoder"):
        yield "input_sum", {**run, "stack": stack}
    for kind in KINDS:
        for layer in range(6 if run["checkpoint"] == "toy" else 2):
            yield "inside", {**run, "kind": kind, "layer": layer}
        yield "inside", {**run, "kind": kind, "layer": 99}
        yield "value_output", {**run, "kind": kind, "layer": 1, "head": 2, "key": 1}
        yield "value_output", {**run, "kind": kind, "layer": 1, "head": 2, "key": 99}
        yield "value_output", {**run, "kind": kind, "layer": 1, "head": 99, "key": 0}
        for part in ("q_proj", "out_proj", "linear1", "linear2"):
            about = {"checkpoint": run["checkpoint"], "kind": kind, "layer": 1, "part": part}
            yield "parameters", {**about, "row": 7}
            yield "parameters", {**about, "row": 9999}
    if (run["checkpoint"] == "toy") == (run["changes"][:1] == [ABLATED]):
        yield "why", {**run, "step": 2, "other": "." if run["changes"] else None}


def of_sentence(run: dict[str, Any]) -> Iterator[Case]:
    """Every question about a sentence."""
    for name in ("forced", "diverging"):
        yield name, run
    for width, alpha in ((1, 0), (3, 0.6), (5, 2)):
        yield "beam", {**run, "width": width, "alpha": alpha}
    limited = {"temperature": 2, "top_k": 4, "seed": 5}, {"temperature": 1.5, "top_p": 0.9, "seed": 1234567}
    for settings in ({}, *limited, {"temperature": 0, "seed": 3}):
        yield "sampled", {**run, **settings}
    for step, word in ((1, "a"), (0, "the"), (99, "a"), (1, "S")):
        yield "forced", {**run, "mistake": {"step": step, "word": word}}


def of_heads(name: str) -> dict[str, Any]:
    """The shape of every head's maps, and how well each of cross-attention aligns the words, of the first example."""
    asked = {"checkpoint": name, "sentence": CORPORA[name].examples[0].sentence}
    made = run(name, asked["sentence"])
    pair = reference(name, made)
    assert pair
    assert pair.target == made.text
    rates = [[count_links(head, pair.gold).error_rate for head in layer.weights] for layer in made.attention.cross]
    return {"request": asked, "rows": made.attention.heads(), "rates": rates}


def answer(name: str, request: dict[str, Any]) -> Any:
    """As the server answers a request, or why it refuses."""
    question = QUESTIONS[name]
    try:
        return json.loads(question.dump(question.function(question.read(json.dumps(request).encode()))))
    except ValueError as error:
        return {"error": message(error).for_page()}


def is_clear(request: dict[str, Any]) -> bool:
    """Whether no other rounding, of another processor, could turn what a request's run outputs."""
    if "sentence" not in request:
        return True
    try:
        made = run(request["checkpoint"], request["sentence"], Interventions.parse(request.get("changes", [])))
    except ValueError:
        return True
    firsts = ([each.probability for each in step.candidates[:2]] for step in made.steps)
    return all(first - second > MARGIN for first, second in firsts)


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    for checkpoint in CORPORA:
        data = to_jsonable_python(engine_data(checkpoint))
        (folder / f"engine-{checkpoint}.json").write_text(json.dumps(data), "utf-8")
    asked = [name for name in QUESTIONS if name not in NEED_SERVER]
    (folder / "engine-questions.json").write_text(json.dumps(asked), "utf-8")
    (folder / "engine-heads.json").write_text(json.dumps([of_heads(name) for name in CORPORA]), "utf-8")
    compared = [(name, request, answer(name, request)) for name, request in cases() if is_clear(request)]
    (folder / "engine-cases.json").write_text(json.dumps(compared), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
