"""Runs of the models, cached by request, and the API actions that return one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from ...analysis.contribution import value_weighted
from ...data import AlignedPair
from ...data.vocabulary import PAD, SentenceError
from ...inference.attention_maps import KINDS, AttentionMaps
from ...inference.interventions import NOTHING, Interventions
from ...inference.translator import Translation, Translator
from ...messages import Message
from ...storage.checkpoint import CheckpointError
from ..schema import ChangedRunRequest, MapRequest, RunRequest
from ..sessions.model_store import when_unloaded
from ..sessions.models import corpus_of, is_large, translator
from ..sessions.real_models import FLOAT_BYTES
from .bounded_cache import BoundedCache
from .payload import for_programs

MAX_TOGETHER = 8  # sentences in one batch
SMALL_RUNS, LARGE_RUNS = 256, 200 * 2**20  # that are kept: runs of shipped models; bytes of those of large ones


class ChangesError(ValueError):
    """A change that this model or this sentence has no place for."""

    message = Message("error.changes")


def run(checkpoint: str, sentence: str, changes: Interventions = NOTHING) -> Translation:
    """Translate, or find the translation of a request before. Raises CheckpointError, SentenceError, ChangesError."""
    model = translator(checkpoint)
    runs, compute = (_large_runs, _translate) if is_large(checkpoint) else (_small_runs, _translate_together)
    return runs.get((checkpoint, sentence, changes), lambda: compute(model, sentence, changes))


@contextmanager
def awaited(checkpoint: str, sentence: str) -> Iterator[None]:
    """While a plain run waits for its turn, whoever has one may translate this sentence with its own."""
    with _lock:
        _awaited.add((checkpoint, sentence))
    try:
        yield
    finally:
        with _lock:
            _awaited.discard((checkpoint, sentence))


def _translate_together(model: Translator, sentence: str, changes: Interventions) -> Translation:
    """In one batch with sentences of as many words that wait, so that none waits for a longer one."""
    others = [] if changes.changes else _take(model, sentence)
    if not others:
        return _translate(model, sentence, changes)
    run, *theirs = model.translate_many([sentence, *others])
    for other, their_run in zip(others, theirs, strict=True):
        _small_runs.put((model.name, other, NOTHING), their_run)
    return run


def _take(model: Translator, sentence: str) -> list[str]:
    """Those that may be translated with this one. They are no longer awaited, so that nobody else takes them."""
    words = len(sentence.split())
    with _lock:
        _awaited.discard((model.name, sentence))
        waiting = [other for name, other in _awaited if name == model.name and len(other.split()) == words]
    if not waiting or not model.reads(sentence):
        return []
    taken = [other for other in waiting if model.reads(other)][: MAX_TOGETHER - 1]
    with _lock:
        _awaited.difference_update((model.name, other) for other in taken)
    return taken


def _translate(model: Translator, sentence: str, changes: Interventions) -> Translation:
    try:
        return model.translate(sentence, interventions=changes)
    except (SentenceError, CheckpointError):
        raise
    except ValueError as error:
        raise ChangesError(str(error)) from error


def _bytes(run: Translation) -> int:
    """What a run takes: mostly its maps and the probabilities of every candidate."""
    maps = sum(each.weights.nbytes for kind in KINDS for each in run.attention.of(kind))
    return maps + FLOAT_BYTES * sum(len(step.candidates) for step in run.steps)


_awaited: set[tuple[str, str]] = set()  # checkpoint and sentence
_lock = threading.Lock()
_small_runs: BoundedCache[Translation] = BoundedCache(SMALL_RUNS, lambda _: 1)
_large_runs = BoundedCache(LARGE_RUNS, _bytes)  # a long one has 50 MB, and every view asks about the run that is shown
when_unloaded.append(_large_runs.clear)


def keep(checkpoint: str, translation: Translation) -> None:
    """A run of a model that is lent, as it was made: questions about it find this one."""
    _large_runs.put((checkpoint, translation.sentence, translation.interventions), translation)


def run_of(request: ChangedRunRequest) -> Translation:
    """The run that a request is about, as `run`."""
    return run(request.checkpoint, request.sentence, request.changes)


def reference(checkpoint: str, translation: Translation) -> AlignedPair | None:
    """The corpus's own translation of a run's sentence, if the sentence is in the corpus."""
    known = corpus_of(checkpoint)
    return known.find(" ".join(token for token in translation.source if token != PAD)) if known else None


def translate(sentence: str, checkpoint: str = "toy") -> dict[str, Any]:
    """Translate a sentence, with every attention weight of the run.

    Args:
        sentence: German words that the checkpoint knows; any of a real model's language.
        checkpoint: a shipped checkpoint, or a real model that the server lists.

    Returns:
        text, source, decoder_input, output, steps, attention [layer][head][query][key] of encoder, decoder and cross,
        and device.
    """
    request = RunRequest(sentence=sentence, checkpoint=checkpoint)
    return for_programs(run(request.checkpoint, request.sentence))


def attention(
    sentence: str, kind: str = "cross", layer: int = 0, head: int = 0, checkpoint: str = "toy"
) -> dict[str, Any]:
    """Return the attention weights of one head while the model translated a German sentence.

    Args:
        sentence: German words that the checkpoint knows, such as "Ich möchte ein Bier".
        kind: "encoder" (the source attends to itself), "decoder" (the output so far attends to itself) or "cross" (the
            output attends to the source).
        layer: from 0.
        head: from 0.
        checkpoint: "toy" (6 layers of 8 heads), "classroom" (2 layers of 4 heads), or a real model that the server
            lists, such as "Helsinki-NLP/opus-mt-de-en".

    Returns:
        text (the translation), kind, layer, head, query_tokens, key_tokens, and weights [query][key]: rows sum to 1.
    """
    request = MapRequest(sentence=sentence, kind=cast(Any, kind), layer=layer, head=head, checkpoint=checkpoint)
    translation = run(request.checkpoint, request.sentence)
    return _one_head(request, translation, {"weights": translation.attention})


def contributions(
    sentence: str, kind: str = "cross", layer: int = 0, head: int = 0, checkpoint: str = "toy"
) -> dict[str, Any]:
    """Return what each token contributes to each other one through one head, beside the head's attention weights.

    Args:
        sentence: German words that the checkpoint knows, such as "Ich möchte ein Bier".
        kind: "encoder" (the source attends to itself), "decoder" (the output so far attends to itself) or "cross" (the
            output attends to the source).
        layer: from 0.
        head: from 0.
        checkpoint: a shipped checkpoint, or a real model that the server lists.

    Returns:
        as /attention, and value_weighted [query][key], the norm of weight × value × W_O (Kobayashi et al., 2020), and
        after_norm [query][key], the same after the sublayer's LayerNorm (2021). Neither is the effect of its removal.
    """
    request = MapRequest(sentence=sentence, kind=cast(Any, kind), layer=layer, head=head, checkpoint=checkpoint)
    translation = run(request.checkpoint, request.sentence)
    norms = value_weighted(translator(request.checkpoint), translation)
    maps = {"weights": translation.attention, "value_weighted": norms.maps, "after_norm": norms.after_norm}
    return _one_head(request, translation, maps)


def _one_head(request: MapRequest, translation: Translation, maps: dict[str, AttentionMaps]) -> dict[str, Any]:
    layers = translation.attention.of(request.kind)
    heads = layers[0].n_heads
    if not (0 <= request.layer < len(layers) and 0 <= request.head < heads):
        raise ValueError(f"layer is from 0 to {len(layers) - 1}, and head from 0 to {heads - 1}.")
    shown = {name: each.of(request.kind)[request.layer].weights[request.head] for name, each in maps.items()}
    return {
        "text": translation.text,
        "kind": request.kind,
        "layer": request.layer,
        "head": request.head,
        "query_tokens": layers[0].query_tokens,
        "key_tokens": layers[0].key_tokens,
        **{name: [[round(float(value), 4) for value in row] for row in rows] for name, rows in shown.items()},
    }
