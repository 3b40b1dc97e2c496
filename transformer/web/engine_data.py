"""What assets/web/engine is given of a shipped checkpoint beside its weights, so that a page without a server answers
as the server would."""

from copy import deepcopy
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ..analysis.experiments import shipped
from ..data import CORPORA, Corpus
from ..data.alignment import GoldAlignment
from ..data.nearest import known_pairs
from ..inference.interventions import CHANGES
from ..inference.translator import MAX_CHARACTERS
from ..live.recordings import DIGITS, recordings
from ..mistakes import MISTAKES
from ..network.config import TransformerConfig
from .api import downloads, mistakes, payload, sublayers, what_if, why
from .api.runs import run
from .schema import ChangeForm, CheckpointRequest, MistakeRequest, RunRequest, SweepRequest, change_form
from .sessions.models import examples_of, translator

Side = Literal["source", "target"]
Answer = tuple[str, dict[str, Any], Any]  # a question's name, the fields of its request that count, and the answer


class KnownPair(TypedDict):
    """What is shown of an `AlignedPair`."""

    spelling: str
    target: str
    gold: GoldAlignment
    held_out: str


class EngineData(TypedDict):
    """What is known of a checkpoint before it runs; see `Corpus` and `Checkpoint`."""

    checkpoint: str
    source_length: int
    output_limit: int
    pad_source: bool
    vocabularies: dict[Side, tuple[str, ...]]  # which fold what is typed
    max_characters: int
    facts: payload.NetworkFacts
    changes: dict[str, ChangeForm]
    examples: list[str]
    pairs: list[KnownPair]
    unseen: str  # the held-out set that training saw nothing of, of which there are `held_out_scores`; "" for none
    held_out_scores: what_if.HeldOutScores | None
    answers: list[Answer]  # which the engine cannot compute


def engine_data(checkpoint: str) -> EngineData:
    """The data that the browser's engine needs of a shipped checkpoint.

    Raises:
        CheckpointError: there is none of that name.
        ValueError: the engine computes another network, or reads other vocabularies.
    """
    model, corpus = translator(checkpoint), CORPORA[checkpoint]
    made, config = model.checkpoint, model.checkpoint.model.config
    sizes: dict[str, Any] = {name: value for name, value in vars(config).items() if type(value) is int}
    plain = TransformerConfig(**sizes, dropout=config.dropout)
    is_even = config.num_encoder_layers == config.num_decoder_layers
    if config != plain or not is_even or not (made.src_vocab.folds and made.tgt_vocab.folds):
        raise ValueError(f"assets/web/engine has no place for the network or the vocabularies of {checkpoint}.")
    examples = [each.sentence for each in examples_of(checkpoint)]
    first = RunRequest(checkpoint=checkpoint, sentence=examples[0])
    return {
        "checkpoint": checkpoint,
        "source_length": made.source_length,
        "output_limit": made.output_limit,
        "pad_source": made.pad_source,
        "vocabularies": {"source": made.src_vocab.tokens, "target": made.tgt_vocab.tokens},
        "max_characters": MAX_CHARACTERS,
        "facts": payload.for_page(run(checkpoint, examples[0]), None, made)["model"],
        "changes": {name: change_form(change) for name, change in CHANGES.items()},
        "examples": examples,
        "pairs": [
            {"spelling": each.spelling, "target": each.target, "gold": each.gold, "held_out": each.held_out}
            for each in known_pairs(corpus)
        ],
        "unseen": next(iter(corpus.held_out), ""),
        "held_out_scores": what_if.heads(first)["held_out"],
        "answers": _answers(first, corpus),
    }


def _mistake(first: RunRequest, name: str) -> mistakes.DecodingSymptom:
    """A mistake of decoding as the first example shows it: the networks with a mistake are here alone."""
    found = deepcopy(mistakes.mistake(MistakeRequest(**first.model_dump(), name=name)))
    for side in (found["right"], found["wrong"]):
        if side["attention"]:
            side["attention"]["weights"] = [round(weight, DIGITS) for weight in side["attention"]["weights"]]
    return found


def _answers(first: RunRequest, corpus: Corpus) -> list[Answer]:
    """Answers that take more than a run: of trainings, of many sentences, of what the card says; and lists. Recordings
    belong to no checkpoint: they come with the toy."""
    checkpoint, about = first.checkpoint, CheckpointRequest(checkpoint=first.checkpoint)
    of = {"checkpoint": checkpoint}
    simple = (why.scored, downloads.provenance, what_if.vocabulary, sublayers.shapes)
    found: list[Answer] = [(function.__name__, of, function(about)) for function in simple]
    decoding = (name for name, each in MISTAKES.items() if each.kind == "decoding")
    found += [("mistake", {**of, "name": name}, _mistake(first, name)) for name in decoding]
    if corpus.held_out:
        request = SweepRequest(checkpoint=checkpoint, sentence="", on="held_out")
        found.append(("sweep", {**of, "on": "held_out"}, what_if.sweep(request)))
    for example in examples_of(checkpoint):
        asked = {**of, "sentence": example.sentence}
        found.append(("starters", asked, what_if.starters(RunRequest(**asked))))
    # Of other sentences the known ones, each with its own sentence.
    found.append(("starters", of, {name: each for name, each in shipped(checkpoint).items() if each.changes}))
    if checkpoint == "toy":
        found += [("recorded", {"name": name}, recording) for name, recording in recordings().items()]
    return found
