"""The models of sessions: trained or uploaded here, for one session only, bounded in number, size and age.

Anyone with a model's key can use it, and only the session that the model belongs to learns the key. It may share the
model by a token of it, by which others can use the model as well, but not remove it. Where space is short, the
address that holds most gives way first, and there the session that holds most.

Models are files, which are read into memory when they are used, and leave it soon afterwards.
"""

import atexit
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeGuard

from ...data import CORPORA, Corpus, uploaded_corpus
from ...inference.device import pick_device
from ...inference.translator import Translator
from ...live.job import Job
from ...live.limits import Limits
from ...messages import MessageError
from ...network.config import TransformerConfig
from ...network.cost import count_parameters
from ...settings import from_environment
from ...storage.checkpoint import CheckpointError
from ...storage.portable import MAX_CARD_LENGTH, PortableError, PortableModel, load_portable
from ..client import Client
from . import own_folder

OWN_MODEL_PREFIX = "own-"  # of every key; no shipped checkpoint has such a name
SHARED_PREFIX = f"{OWN_MODEL_PREFIX}shared-"  # of every token
SAFE_SECONDS = 300  # after its last use, a model is safe from eviction by another session's model
IDLE_SHARE = 0.5  # of the store; up to this, one address may evict idle models of others
LOADED_SECONDS, CHECK_SECONDS = 30, 10  # after its last use, in which a model stays in memory; between two looks
LOADED_BYTES = 400 * 2**20  # of all models in memory: two of the largest
TEXT_BYTES = 12  # of memory per byte of a file's texts: measured with short pairs, which take most


class RefusedModelError(MessageError, CheckpointError):
    """A model that cannot be used, and why, for visitors."""


class ModelGoneError(RefusedModelError):
    def __init__(self) -> None:
        super().__init__("error.model_gone")


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model in memory, and what is known of its corpus."""

    portable: PortableModel
    translator: Translator
    corpus: Corpus


@dataclass(eq=False)
class StoredModel:
    """A model of a session."""

    key: str
    name: str  # given by the visitor
    client: Client
    file: Path
    size: int  # bytes, in memory
    used: float  # when it was used last, by the store's clock
    loaded: LoadedModel | None  # None while it is only a file
    token: str = ""  # by which others use it, once it is shared
    loading: threading.Lock = field(default_factory=threading.Lock)


when_unloaded: list[Callable[[], None]] = []  # called when a model has left memory


@dataclass(eq=False)
class Reservation:
    """Bytes that are kept for a client's model."""

    client: Client
    size: int


class ModelStore:
    """All sessions' models. Thread-safe."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._models: dict[str, StoredModel] = {}  # by key, in the order of their last use
        self._keys: dict[str, str] = {}  # by the token that others use a model by
        self._reservations: list[Reservation] = []
        self._check: threading.Timer | None = None  # whether models can leave memory
        self.folder = own_folder.make()

    @contextmanager
    def reserved(self, client: Client, size: int) -> Iterator[Reservation]:
        """Space for a model that is still to be made. What it will replace stays, beyond the bound of the store.
        Raises MessageError if other models take it."""
        reservation = Reservation(client, size)
        with self._lock:
            self._make_space(client, size)
            self._reservations.append(reservation)
        try:
            yield reservation
        finally:
            with self._lock:
                self._reservations = [each for each in self._reservations if each is not reservation]

    def keep(self, client: Client, file: Path, reservation: Reservation | None = None) -> str:
        """Read a model's file, and keep both as `put`. Raises PortableError, OSError if the file cannot be read;
        MessageError if other models take the space."""
        return self.put(self._read(file), client, file, reservation)

    def put(self, portable: PortableModel, client: Client, file: Path, reservation: Reservation | None = None) -> str:
        """Keep a model and its file, in the place of its `reservation`; returns its key. Raises MessageError
        if other models take the space."""
        key = OWN_MODEL_PREFIX + secrets.token_urlsafe(24)
        model = portable.checkpoint.model
        weights = sum(values.nbytes for values in model.parameters())
        size = weights + model.positions.nbytes + TEXT_BYTES * max(0, file.stat().st_size - weights)
        stored = StoredModel(key, portable.name, client, file, size, self._clock(), _loaded(portable, key))
        with self._lock:
            self._reservations = [each for each in self._reservations if each is not reservation]
            self._delete(*self._make_space(client, size))
            self._models[key] = stored
        self._unload(in_use=stored)
        return key

    def load(self, model: StoredModel) -> LoadedModel:
        """A model in memory, where it is read into if need be, at most once at a time. Raises ModelGoneError if its
        file has been removed."""
        with model.loading:
            if loaded := model.loaded:
                return loaded
            try:
                portable = self._read(model.file)
            except (PortableError, OSError):
                self.delete(model.key)
                raise ModelGoneError from None
            loaded = model.loaded = _loaded(portable, model.key)
        self._unload(in_use=model)
        return loaded

    def _read(self, file: Path) -> PortableModel:
        return load_portable(file, self.limits.parameters, pick_device())

    def share(self, key: str) -> str:
        """The token of a model, by which others can use it for as long as it is kept. Raises ModelGoneError if it is
        no longer there."""
        with self._lock:
            if not (model := self._models.get(key)):
                raise ModelGoneError
            if not model.token:
                model.token = SHARED_PREFIX + secrets.token_urlsafe(24)
                self._keys[model.token] = key
            return model.token

    def find(self, key: str) -> StoredModel | None:
        """A model by its key, or by a token of it."""
        with self._lock:
            self._delete_expired()
            key = self._keys.get(key, key)
            model = self._models.pop(key, None)
            if model:
                self._models[key] = model
                model.used = self._clock()
            return model

    def keys_of(self, session: str) -> list[str]:
        with self._lock:
            return [key for key, model in self._models.items() if model.client.session == session]

    def delete(self, key: str) -> None:
        with self._lock:
            self._delete(*{key} & self._models.keys())

    def _unload(self, in_use: StoredModel | None = None) -> None:
        """Let models leave memory that have not been used for a while, or for longest where all take too much."""
        with self._lock:
            others = [model for model in self._models.values() if model.loaded and model is not in_use]
            size = sum(model.size for model in others) + (in_use.size if in_use else 0)
            unloaded = False
            for model in others:  # the least recently used first
                if model.used <= self._clock() - LOADED_SECONDS or size > LOADED_BYTES:
                    model.loaded, unloaded = None, True
                    size -= model.size
            if self._check:
                self._check.cancel()
                self._check = None
            if in_use or others:  # also once after the last: what was being computed may have been cached since
                self._check = threading.Timer(CHECK_SECONDS, self._unload)
                self._check.daemon = True
                self._check.start()
        if unloaded or not others:
            for each in when_unloaded:
                each()

    def close(self) -> None:
        if self._check:
            self._check.cancel()
        own_folder.remove(self.folder)

    def _make_space(self, client: Client, size: int) -> list[str]:
        """For one more model, or leave everything as it is. Returns the session's own that it replaces, still there."""
        self._delete_expired()
        own = [key for key, model in self._models.items() if model.client.session == client.session]
        replaced = own[: max(0, len(own) + 1 - self.limits.models)]
        left = {key: model for key, model in self._models.items() if key not in replaced}
        out: list[str] = []
        while True:
            held = Counter({client: size})
            holders: list[StoredModel | Reservation] = [*left.values(), *self._reservations]
            for each in holders:
                held[each.client] += each.size
            if held.total() <= self.limits.megabytes * 2**20:
                self._delete(*out)
                return replaced
            out.append(self._largest_holders(client, held, left))
            del left[out[-1]]

    def _largest_holders(self, client: Client, held: Counter[Client], left: dict[str, StoredModel]) -> str:
        """The key of the model to evict: the least recently used of the largest evictable holder."""
        by_address, idle = Counter[str](), self._clock() - SAFE_SECONDS
        for holder, size in held.items():
            by_address[holder.address] += size
        small = by_address[client.address] <= IDLE_SHARE * self.limits.megabytes * 2**20

        def gives_way(model: StoredModel) -> bool:
            holder = model.client
            if holder.address == client.address:
                return model.used < idle or held[holder] > held[client]
            return (model.used < idle and small) or by_address[holder.address] > by_address[client.address]

        able = [key for key, model in left.items() if gives_way(model)]
        if not able:
            raise MessageError("store.full")
        return max(able, key=lambda key: (by_address[left[key].client.address], held[left[key].client]))

    def _delete_expired(self) -> None:
        oldest = self._clock() - self.limits.minutes * 60
        self._delete(*[key for key, model in self._models.items() if model.used < oldest])

    def _delete(self, *keys: str) -> None:
        for key in keys:
            model = self._models.pop(key)
            model.file.unlink(missing_ok=True)
            self._keys.pop(model.token, None)


def size_of(job: Job) -> int:
    """The most bytes that its model takes, in memory."""
    config = TransformerConfig(**job.model)
    texts = 2 * len(job.to_json()) + MAX_CARD_LENGTH  # the file quotes its texts twice
    return 4 * (count_parameters(config) + config.max_len * config.d_model) + TEXT_BYTES * texts


def is_own_model(checkpoint: object) -> TypeGuard[str]:
    """Whether a checkpoint's name has the form of a session model's key; the model may be gone."""
    return isinstance(checkpoint, str) and checkpoint.startswith(OWN_MODEL_PREFIX)


def _loaded(portable: PortableModel, key: str) -> LoadedModel:
    return LoadedModel(portable, Translator(portable.checkpoint, key), _corpus(portable))


def _corpus(portable: PortableModel) -> Corpus:
    """The corpus that the file names, with the model's own pairs and vocabularies."""
    checkpoint = portable.checkpoint
    corpus = CORPORA.get(portable.corpus) or uploaded_corpus(
        portable.pairs, portable.name, shared_vocabulary=checkpoint.model.config.tie_weights
    )
    return replace(
        corpus, size=len(portable.pairs), load=lambda: (portable.pairs, checkpoint.src_vocab, checkpoint.tgt_vocab)
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
