"""What the Train tab asks before a training begins. Every question is a dict that anybody may have written."""

import base64
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ...data import CORPORA, BadRow, Corpus, Table, TableError, check_rows, read_table
from ...live.plan import DEFAULTS, PAPER
from ...live.plan import plan as planned
from ...messages import Message
from ..sessions.training_queue import training_queue

SHOWN_WORDS = 60  # of a vocabulary


def opening() -> dict[str, Any]:
    """What the tab begins with."""
    sentences = {name: known.examples[0].sentence for name, known in CORPORA.items()}
    return {
        "limits": asdict(training_queue().limits),
        "defaults": DEFAULTS | {"paper": PAPER},
        "sentences": sentences | {"own": ""},
    }


def pairs(question: Any) -> dict[str, Any]:
    """The sentence pairs of `{"rows"}` or of `{"file": base64, "header": true, false or null}`, and the bad rows."""
    try:
        match question:
            case {"rows": list(rows)}:
                return _table(check_rows(rows))
            case {"file": str(text), "header": True | False | None as header}:
                return _table(read_table(base64.b64decode(text, validate=True), header))
    except TableError as error:
        return {"error": error.message.for_page(), "bad": _bad(error.bad)}
    except ValueError:  # it is no base64
        pass
    return {"error": Message("error.request").for_page()}


def _table(table: Table) -> dict[str, Any]:
    return {"pairs": table.pairs, "bad": _bad(table.bad), "header": table.header}


def _bad(rows: Sequence[BadRow]) -> list[dict[str, Any]]:
    return [{"row": each.row, "message": each.message.for_page()} for each in rows]


def plan(question: Any) -> dict[str, Any]:
    """What a training comes to before it starts; see live.plan.Plan."""
    training_queue().prepare()
    found = planned(question if isinstance(question, dict) else {}, training_queue().limits)
    return {
        "problems": [{"field": each.field, "message": each.message.for_page()} for each in found.problems],
        "parameters": found.parameters,
        "bytes": found.bytes,
        "seconds": found.seconds,
        "pairs": found.parts and {"training": found.parts[0], "held_out": found.parts[1]},
        "watch": found.watch,
        **(_about(found.corpus) if found.corpus else dict.fromkeys(("uniform", "vocabularies", "example"))),
    }


def _about(corpus: Corpus) -> dict[str, Any]:
    """Both vocabularies, and the first pair as a network reads it."""
    source, target = corpus.src_vocab, corpus.tgt_vocab
    batch = corpus.batch(corpus.pairs[:1])
    src, read, say = (ids[0].tolist() for ids in (batch.src, batch.tgt_in, batch.tgt_out))
    return {
        "uniform": math.log(len(target)),
        "vocabularies": {
            "source": source.tokens[:SHOWN_WORDS],
            "target": target.tokens[:SHOWN_WORDS],
            "source_size": len(source),
            "target_size": len(target),
        },
        "example": {
            "source": [source.tokens[i] for i in src],
            "source_ids": src,
            "decoder_input": [target.tokens[i] for i in read],
            "decoder_input_ids": read,
            "target": [target.tokens[i] for i in say],
            "target_ids": say,
        },
    }
