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
from ...inference.translation import Translation
from ...inference.translator import Translator
from ...messages import Message
from ...storage.checkpoint import CheckpointError
from ..schema import ChangedRunRequest, MapRequest, RunRequest
from ..sessions.model_store import when_unloaded
from ..sessions.models import corpus_of, is_large, translator
from ..sessions.real_models import FLOAT_BYTES
from .bounded_cache import BoundedCache
from .payload import for_programs

MAX_TOGETHER = 8  # sentences in one batch
STEP_SECONDS = 0.001  # between two checks whether another caller's step has ended one's own sentence
SMALL_RUNS, LARGE_RUNS = 128, 200 * 2**20  # that are kept: runs of shipped models; bytes of those of large ones


class ChangesError(ValueError):
    """A change that this model or this sentence has no place for."""

    message = Message("error.changes")


def run(checkpoint: str, sentence: str, changes: Interventions = NOTHING) -> Translation:
    """Translate, or find the translation of a request before. Raises CheckpointError, SentenceError, ChangesError."""
    model = translator(checkpoint)
    runs, compute = (_large_runs, _translate) if is_large(checkpoint) else (_small_runs, _translate_together)
    return runs.get((checkpoint, sentence, changes), lambda: compute(model, sentence, changes))


class _Together:
    """Sentences in one batch. Each caller decodes it until the caller's own sentence has ended: nobody waits for a
    longer one, and nothing is decoded twice."""

    def __init__(self, model: Translator, sentences: list[str]) -> None:
        self._steps = self._decode(model, sentences)
        self._runs: dict[str, Translation] = {}
        self._lock = threading.Lock()

    def _decode(self, model: Translator, sentences: list[str]) -> Iterator[dict[str, Translation]]:
        """The runs that each step ends."""
        batch = model.batch(sentences)
        while batch and (ended := batch.step()) is not None:
            yield dict(zip([sentences[i] for i in ended], batch.runs(ended), strict=True)) if ended else {}

    def run(self, sentence: str) -> Translation | None:
        """None where there is no batch, or it has failed."""
        while sentence not in self._runs:
            if self._lock.acquire(timeout=STEP_SECONDS):  # else another caller decodes
                try:
                    if (ended := next(self._steps, None)) is None:
                        break
                    self._runs |= ended
                finally:
                    self._lock.release()
        return self._runs.get(sentence)


@contextmanager
def awaited(checkpoint: str, sentence: str) -> Iterator[None]:
    """While a plain run waits for its turn, one that has its turn may translate this sentence, too."""
    with _lock:
        _awaited.setdefault((checkpoint, sentence), None)
    try:
        yield
    finally:
        with _lock:
            _awaited.pop((checkpoint, sentence), None)


def _translate_together(model: Translator, sentence: str, changes: Interventions) -> Translation:
    """In the batch that has this sentence, else in one with sentences of as many words that wait."""
    together = None if changes.changes else _batch_of(model, sentence)
    return (together and together.run(sentence)) or _translate(model, sentence, changes)


def _batch_of(model: Translator, sentence: str) -> _Together | None:
    words = len(sentence.split())
    with _lock:
        if found := _awaited.pop((model.name, sentence), None):  # so that nobody else takes it
            return found
        waiting = [other for (name, other), batch in _awaited.items() if name == model.name and batch is None]
    same = [other for other in waiting if len(other.split()) == words]
    if not same or not model.reads(sentence):
        return None
    taken = [other for other in same if model.reads(other)][: MAX_TOGETHER - 1]
    if not taken:
        return None
    together = _Together(model, [sentence, *taken])
    with _lock:
        _awaited.update({(model.name, each): together for each in taken if (model.name, each) in _awaited})
    return together


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


_awaited: dict[tuple[str, str], _Together | None] = {}  # by checkpoint and sentence, the batch that has it
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
