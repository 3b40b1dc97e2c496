"""Which models there are: the shipped ones, visitors' own, and the real ones that the server lists."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, wraps
from itertools import count
from typing import Any, NotRequired, TypeVar, cast

from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis import experiments
from ...analysis.experiments import Experiment
from ...data import CORPORA, AlignedPair, Corpus, Example
from ...inference.translator import Translator
from ...messages import Listed
from ...network.cost import count_parameters
from ...storage.checkpoint import CARD, FOLDER, CheckpointError, available_checkpoints
from .. import access_log as log
from ..schema import CheckpointRequest
from .model_store import LoadedModel, ModelGoneError, RefusedModelError, is_own_model, model_store, when_unloaded
from .real_models import real_models

MAX_WORK = 10**11  # multiplications of one answer: some seconds of one thread
WORDS = 20  # of a held-out pair, both sides

_lent: dict[str, Translator] = {}
_numbers = count()

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def lent(model: Translator) -> Iterator[str]:
    """A name under which a caller's own model answers questions meanwhile, whatever else has the model's own."""
    name = f"lent-{next(_numbers)}"
    _lent[name] = model
    try:
        yield name
    finally:
        del _lent[name]
        for forget in when_unloaded:
            forget()


def is_lent(checkpoint: object) -> bool:
    return isinstance(checkpoint, str) and checkpoint in _lent


def translator(checkpoint: str) -> Translator:
    """A shipped checkpoint, loaded once and shared, a visitor's own model, a real one, or one that is lent; runs do not
    change it. Raises CheckpointError if there is none of that name, or it cannot be loaded."""
    if is_lent(checkpoint):
        return _lent[checkpoint]
    if checkpoint in real_models():
        return real_models().translator(checkpoint)
    own = own_model(checkpoint)
    return own.translator if own else _shipped(checkpoint)[0]


def is_large(checkpoint: object) -> bool:
    """Whether it names a model that may be large: a visitor's own, a real one, or one that is lent."""
    return is_own_model(checkpoint) or is_lent(checkpoint) or checkpoint in real_models()


def card(checkpoint: str) -> str:
    """A shipped checkpoint's card as Markdown, as it was when the checkpoint was loaded. Raises CheckpointError if
    there is none of that name."""
    return _shipped(checkpoint)[1]


def found_in_card(pattern: str, text: str) -> str | None:
    """The first group of a pattern, of which ^ and $ are the ends of a line of the card."""
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else None


def cached_per_checkpoint(most: int, own: int = 0) -> Callable[[F], F]:
    """Keep a function's latest `most` answers about shipped models, and its latest `own` about large ones, which are
    visitors' and real ones, as long as they are there. Its first argument is a checkpoint, or a request about one.

    An answer about a shipped model is small: its sentences have 12 words. One about a visitor's model is as large as
    MAX_RUN_VALUES of portable.py allows: a run is 36 MB, its answers 56. So only what is a few numbers is kept of them,
    and runs up to a bound (see api/runs.py), of which the rest is made again. Raises CheckpointError as `translator`,
    also of a kept one.
    """

    def keep(answer: F) -> F:
        shipped: Any = lru_cache(maxsize=most)(answer)
        owned: Any = lru_cache(maxsize=own)(answer)
        when_unloaded.append(owned.cache_clear)

        @wraps(answer)
        def ask(about: str | CheckpointRequest, *more: Any) -> Any:
            checkpoint = about if isinstance(about, str) else about.checkpoint
            translator(checkpoint)
            return (owned if is_large(checkpoint) else shipped)(about, *more)

        return cast(F, ask)

    return keep


def own_model(checkpoint: str) -> LoadedModel | None:
    """A visitor's own model, loaded; None for a shipped checkpoint. Raises ModelGoneError if it is no longer there."""
    if not is_own_model(checkpoint):
        return None
    if not (model := model_store().find(checkpoint)):
        raise ModelGoneError
    loaded = model_store().load(model)
    if checkpoint == model.key:
        return loaded
    # Its runs carry the token that requested them, not the key.
    return replace(loaded, translator=loaded.translator.named(checkpoint))


def no_checkpoint() -> RefusedModelError:
    """Why a name is refused: which checkpoints there are."""
    return RefusedModelError("error.no_checkpoint", names=Listed((*available_checkpoints(), *real_models())))


@lru_cache
def _shipped(checkpoint: str) -> tuple[Translator, str]:
    """With its card, which may be deleted while the server runs."""
    if checkpoint not in available_checkpoints():
        raise no_checkpoint()
    try:
        return Translator.load(checkpoint), (FOLDER / checkpoint / CARD).read_text("utf-8")
    except (CheckpointError, OSError, UnicodeDecodeError) as error:  # its message has the paths of this machine
        log.fault("checkpoint", error)
        raise RefusedModelError("error.model_broken", name=checkpoint) from error


def corpus_of(checkpoint: str) -> Corpus | None:
    """The corpus that a model learned from, where that is known. Raises ModelGoneError if it is a visitor's own, and
    no longer there."""
    if is_lent(checkpoint):
        return CORPORA.get(_lent[checkpoint].name)
    own = own_model(checkpoint)
    return own.corpus if own else CORPORA.get(checkpoint)


def examples_of(checkpoint: str) -> tuple[Example, ...]:
    """Sentences to try, at least one. Raises CheckpointError if there is none of that name."""
    if real := real_models().find(checkpoint):
        return real.examples
    known = corpus_of(checkpoint)
    if not known:
        raise RefusedModelError("error.no_checkpoint", names=Listed(tuple(CORPORA)))
    return known.examples


def held_out(checkpoint: str) -> tuple[AlignedPair, ...]:
    """Sentence pairs of its corpus that training never saw; none where nothing is known of any."""
    known = corpus_of(checkpoint)
    first = next(iter(known.held_out.values()), None) if known else None
    return first() if first else ()


def readable(checkpoint: str, times: int = 1) -> tuple[AlignedPair, ...]:
    """The first pairs of `held_out`, as many as the checkpoint can read `times` times within MAX_WORK: all of them for
    a shipped one, about a hundred for the paper's size read once; at least one."""
    multiplications = times * WORDS * count_parameters(translator(checkpoint).checkpoint.model.config)
    return held_out(checkpoint)[: max(1, MAX_WORK // multiplications)]


def title(checkpoint: str) -> str:
    """Its name for people."""
    model = model_store().find(checkpoint)
    return model.name if model else checkpoint


def log_action(name: str, started: float, outcome: str, checkpoint: object, sentence: object) -> None:
    """Log what may be said of an action: the name of a shipped or a real checkpoint, "own", or nothing."""
    is_public = isinstance(checkpoint, str) and checkpoint in (*available_checkpoints(), *real_models())
    shown = checkpoint if is_public else "own" if is_own_model(checkpoint) else None
    characters = len(sentence) if isinstance(sentence, str) else None
    log.action(name, started, outcome, checkpoint=shown, characters=characters)


class RealModel(TypedDict):
    """A real model's licence, as the Hub names it, bytes of its weights, and codes of its two languages, as far as they
    are known."""

    licence: str
    size: int
    languages: tuple[str, ...]


class Model(TypedDict):
    """A model's description for the page before it runs; a visitor's own has its name and size too."""

    checkpoint: str
    sentences: int
    examples: tuple[Example, ...]
    words: Mapping[str, tuple[tuple[str, str], ...]]
    surprise: bool
    label_smoothing: float
    experiments: NotRequired[Mapping[str, Experiment]]
    real: NotRequired[RealModel]
    name: NotRequired[str]
    corpus: NotRequired[str]
    weights: NotRequired[int]
    layers: NotRequired[int]
    heads: NotRequired[int]
    d_model: NotRequired[int]


def about(checkpoint: str) -> Model:
    """A model's description for the page before it runs, as JSON."""
    return to_jsonable_python(described(checkpoint))


def described(checkpoint: str) -> Model:
    """What the page knows of a model. A shipped or a real one is not loaded for it: a broken one must not keep the
    page from starting. Raises CheckpointError if it is a visitor's own, and no longer there; or its corpus is not
    known."""
    real, own, known = real_models().find(checkpoint), own_model(checkpoint), corpus_of(checkpoint)
    shown: Model = {
        "checkpoint": checkpoint,
        "sentences": known.size if known else 0,
        "examples": examples_of(checkpoint),
        "words": known.words if known else {},
        "surprise": bool(known and known.held_out),
        "label_smoothing": 0.0,
    }
    if real:
        shown["real"] = {"licence": real.licence, "size": real.size, "languages": real.languages}
    elif own:
        portable = own.portable
        config = portable.checkpoint.model.config
        shown |= {
            "name": portable.name,
            "corpus": portable.corpus,
            "weights": count_parameters(config),
            "layers": config.num_encoder_layers,
            "heads": config.n_heads,
            "d_model": config.d_model,
            "label_smoothing": float(portable.training.get("label_smoothing", 0)),
        }
    else:
        shown["experiments"] = experiments.shipped(checkpoint)
        written = FOLDER / checkpoint / CARD
        about_it = written.read_text("utf-8", errors="replace") if written.exists() else ""
        if smoothing := found_in_card(r"^    python -m .* --label-smoothing ([\d.]+)", about_it):
            shown["label_smoothing"] = float(smoothing)
    return shown
