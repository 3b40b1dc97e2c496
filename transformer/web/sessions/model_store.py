"""The models of sessions: trained or uploaded here, for one session only, bounded in number, size and age.

Anyone with a model's key can use it, and only the session that the model belongs to learns the key.
"""

import atexit
import re
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeGuard

from ...data import CORPORA, Corpus, uploaded_corpus
from ...inference.translator import Translator
from ...live.limits import Limits
from ...messages import MessageError
from ...settings import from_environment
from ...storage.portable import PortableModel

OWN_MODEL_PREFIX = "own-"  # of every key; no shipped checkpoint has such a name
SAFE_SECONDS = 300  # after its last use, in which another session's model does not push a model out
TEXT_BYTES = 12  # of memory per byte of a file's texts: measured with short pairs, which take most


class ModelStoreFullError(MessageError):
    """A model cannot be kept."""


@dataclass(eq=False)
class StoredModel:
    """A model of a session, and what is known of its corpus.

    Attributes:
        size: bytes, in memory.
        used: when it was used last, by the store's clock.
    """

    translator: Translator
    corpus: Corpus
    portable: PortableModel
    session: str
    file: Path
    size: int
    used: float


class ModelStore:
    """All sessions' models. Thread-safe."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._models: dict[str, StoredModel] = {}  # by key, in the order of their last use
        self.folder = Path(tempfile.mkdtemp(prefix="attention-bitte-"))

    def put(self, portable: PortableModel, session: str, file: Path) -> str:
        """Keep a model and its file; returns its key.

        Raises:
            ModelStoreFullError: other sessions' models take the room.
        """
        key = OWN_MODEL_PREFIX + secrets.token_urlsafe(24)
        model = portable.checkpoint.model
        weights = sum(values.nbytes for values in model.parameters())
        size = weights + model.positions.nbytes + TEXT_BYTES * max(0, file.stat().st_size - weights)
        translator = Translator(portable.checkpoint, key)
        stored = StoredModel(translator, _corpus(portable), portable, session, file, size, self._clock())
        with self._lock:
            self._make_room(session, size)
            self._models[key] = stored
        return key

    def find(self, key: str) -> StoredModel | None:
        with self._lock:
            self._delete(*self._expired())
            model = self._models.pop(key, None)
            if model:
                self._models[key] = model
                model.used = self._clock()
            return model

    def keys_of(self, session: str) -> list[str]:
        with self._lock:
            return [key for key, model in self._models.items() if model.session == session]

    def delete(self, key: str) -> None:
        with self._lock:
            self._delete(*{key} & self._models.keys())

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make_room(self, session: str, size: int) -> None:
        """For one more model, or leave everything as it is."""
        self._delete(*self._expired())
        own = [key for key, model in self._models.items() if model.session == session]
        out = own[: max(0, len(own) + 1 - self.limits.models)]
        room = self.limits.megabytes * 2**20 - size
        room -= sum(model.size for key, model in self._models.items() if key not in out)
        for key, model in self._models.items():
            if room < 0 and key not in out and self._clock() - model.used > SAFE_SECONDS:
                out.append(key)
                room += model.size
        if room < 0:
            raise ModelStoreFullError("shelf.full")
        self._delete(*out)

    def _expired(self) -> list[str]:
        oldest = self._clock() - self.limits.minutes * 60
        return [key for key, model in self._models.items() if model.used < oldest]

    def _delete(self, *keys: str) -> None:
        for key in keys:
            self._models.pop(key).file.unlink(missing_ok=True)


def is_own_model(checkpoint: object) -> TypeGuard[str]:
    """Whether a checkpoint's name is the key of a session's model, which may be gone."""
    return isinstance(checkpoint, str) and checkpoint.startswith(OWN_MODEL_PREFIX)


def _corpus(portable: PortableModel) -> Corpus:
    """The corpus that the file names, with the model's own pairs and vocabularies."""
    checkpoint = portable.checkpoint
    corpus = CORPORA.get(portable.corpus) or uploaded_corpus(
        portable.pairs, portable.name, shared_vocabulary=checkpoint.model.config.tie_weights
    )
    return replace(
        corpus,
        size=len(portable.pairs),
        load=lambda: (portable.pairs, checkpoint.src_vocab, checkpoint.tgt_vocab),
    )


def file_name(name: str) -> str:
    """For a model's file, from the name that a visitor gave the model."""
    return (re.sub(r"[^\w-]+", "-", name).strip("-") or "model") + ".safetensors"


@cache
def model_store() -> ModelStore:
    """This server's."""
    store = ModelStore(from_environment(Limits))
    atexit.register(store.close)
    return store
