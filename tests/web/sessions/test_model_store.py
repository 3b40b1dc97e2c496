"""Models are kept for their session, for a while, and as space allows; a deleted one leaves nothing."""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from transformer.live.limits import Limits
from transformer.messages import MessageError
from transformer.storage.portable import PortableModel, save_portable
from transformer.web.client import Client
from transformer.web.sessions import model_store, own_folder
from transformer.web.sessions.model_store import (
    LOADED_SECONDS,
    OWN_MODEL_PREFIX,
    SAFE_SECONDS,
    TEXT_BYTES,
    ModelGoneError,
    ModelStore,
    StoredModel,
    is_own_model,
)

from ...models import of_pairs, packed
from ..loop import in_a_loop, until
from .conftest import Clock

PORTABLE = packed()
NUMBERS = itertools.count()
FILES: dict[str, Path] = {}  # of all models that tests kept, by their keys


@pytest.fixture
def store(clock: Clock) -> Iterator[ModelStore]:
    store = ModelStore(Limits(models=3, megabytes=1000, minutes=60), clock)
    yield store
    store.close()


def put(
    store: ModelStore,
    session: str = "me",
    portable: PortableModel = PORTABLE,
    megabytes: int = 0,
    address: str = "1.2.3.4",
) -> str:
    """Keep a model; with `megabytes` its file is as large as one that counts as these."""
    file = store.folder / f"{next(NUMBERS)}.safetensors"
    if megabytes:
        model = portable.checkpoint.model
        weights = sum(values.nbytes for values in model.parameters())
        with file.open("wb") as made:
            made.truncate(weights + (megabytes * 2**20 - weights - model.positions.nbytes) // TEXT_BYTES)
    else:
        save_portable(portable, file)
    try:
        key = store.put(portable, Client(address, session), file)
    except MessageError:
        file.unlink()
        raise
    FILES[key] = file
    return key


def assert_full(store: ModelStore, *about: Any, **more: Any) -> None:
    """There is no space for a model that would be put."""
    with pytest.raises(MessageError) as error:
        put(store, *about, **more)
    assert error.value.message.key == "store.full"


def find(store: ModelStore, key: str) -> StoredModel:
    model = store.find(key)
    assert model
    return model


def kept(*keys: str) -> list[bool]:
    """Which are there, without using them."""
    return [FILES[key].exists() for key in keys]


def test_a_model_is_found_by_its_key_alone(store: ModelStore) -> None:
    keys = [put(store, session=f"session {i // 3}") for i in range(30)]
    assert len({key[:12] for key in keys}) == 30
    for key in keys:
        model = find(store, key)
        assert re.fullmatch(rf"{OWN_MODEL_PREFIX}[\w-]{{32}}", key)
        loaded = store.load(model)
        assert loaded.translator.name == key
        assert loaded.translator.checkpoint is loaded.portable.checkpoint is PORTABLE.checkpoint
        assert is_own_model(key)
    for unknown in ("", "toy", OWN_MODEL_PREFIX, keys[0] + "x", "../toy"):
        assert store.find(unknown) is None
        store.delete(unknown)
    assert kept(*keys) == [True] * 30


def test_a_deleted_model_takes_its_file_along(store: ModelStore) -> None:
    one, two, three = put(store), put(store), put(store)
    find(store, three).file.unlink()  # the machine may have tidied up
    for key in (one, one, three):
        store.delete(key)
    assert store.find(one) is None
    assert kept(one, two, three) == [False, True, False]
    store.close()
    store.close()
    assert not store.folder.exists()


def test_a_session_keeps_a_few_models_those_used_last(store: ModelStore) -> None:
    other, one, two, three = put(store, "other"), put(store), put(store), put(store)
    store.find(one)
    four, five = put(store), put(store)
    assert kept(other, one, two, three, four, five) == [True, True, False, False, True, True]
    assert sorted(store.keys_of("me")) == sorted([one, four, five])
    assert store.keys_of("nobody") == []


def test_a_model_in_use_is_safe_from_other_sessions(store: ModelStore, clock: Clock) -> None:
    store.limits = Limits(megabytes=2)
    keys = [put(store, session, megabytes=1) for session in "ab"]
    clock.now += SAFE_SECONDS
    assert_full(store, "c", megabytes=1)
    assert kept(*keys) == [True, True]
    clock.now += 1
    assert kept(put(store, "c", megabytes=1), *keys) == [True, False, True]


def test_a_sessions_own_oldest_makes_space_first_and_none_goes_in_vain(store: ModelStore, clock: Clock) -> None:
    store.limits = Limits(models=3, megabytes=4)
    idle = put(store, "idle", megabytes=1)
    clock.now += SAFE_SECONDS + 1
    keys = [put(store, megabytes=1) for _ in range(3)]
    assert_full(store, megabytes=5)
    assert kept(idle, *keys) == [True] * 4
    put(store, megabytes=1)
    assert kept(idle, *keys) == [True, False, True, True]


def test_the_address_that_holds_most_gives_way_first(store: ModelStore, clock: Clock) -> None:
    """And there the session that holds most, with what it used longest ago, even if that was just now."""
    store.limits = Limits(models=4, megabytes=8)
    idle = put(store, "i", megabytes=1, address="8.8.8.8")
    clock.now += SAFE_SECONDS + 1
    small = put(store, "small", megabytes=1)
    keys = [put(store, "large", megabytes=2) for _ in range(3)]
    assert kept(idle, small, *keys) == [True] * 5
    more = put(store, "small", megabytes=2)  # of one address
    assert kept(idle, small, *keys, more) == [True, True, False, True, True, True]
    other = put(store, "x", megabytes=2, address="9.9.9.9")
    assert kept(idle, small, *keys[1:], more, other) == [True, True, False, True, True, True]
    assert_full(store, "x", megabytes=4, address="9.9.9.9")  # it would hold more than the others
    assert kept(idle, small, keys[2], more, other) == [True] * 5


def test_space_is_kept_for_a_model_that_is_being_made(store: ModelStore) -> None:
    store.limits = Limits(megabytes=2, models=1)
    mine = put(store, megabytes=1)
    with store.reserved(Client("1.2.3.4", "me"), 2 * 2**20) as reservation:  # its own model will make space
        assert kept(mine) == [True]
        assert_full(store, "other")
        new = next(NUMBERS)
        file = store.folder / f"{new}.safetensors"
        save_portable(PORTABLE, file)
        key = store.put(PORTABLE, reservation.client, file, reservation)
        FILES[key] = file
    assert kept(mine, key, put(store, "other", megabytes=1)) == [False, True, True]
    for _ in range(2):  # what was reserved is free again
        with store.reserved(Client("1.2.3.4", "me"), 2**20):
            pass


def test_texts_take_space_too(store: ModelStore) -> None:
    """A tiny network may come with a great many pairs."""
    few, many = (of_pairs(*((f"a{i}", f"b{i}") for i in range(count))) for count in (10, 3000))
    weights = sum(values.nbytes for values in many.checkpoint.model.parameters())
    sizes = [find(store, put(store, portable=portable)).size for portable in (few, many)]
    assert sizes[0] < 100_000
    assert sizes[1] > weights + 1_500_000
    store.limits = Limits(megabytes=1)
    assert_full(store, "other", many)


def test_a_model_that_is_not_used_expires(store: ModelStore, clock: Clock) -> None:
    one, two, three = put(store), put(store, "other"), put(store, "third")
    clock.now += 3600
    store.find(two)
    clock.now += 1
    assert store.find(one) is None
    assert kept(one, two, three) == [False, True, False]
    clock.now += 3599
    assert kept(put(store), two) == [True, True]
    clock.now += 1
    assert kept(put(store), two) == [True, False]


def test_a_model_leaves_memory_when_it_is_not_used_and_comes_back(
    store: ModelStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_store, "CHECK_SECONDS", 0.01)
    left = list[bool]()
    monkeypatch.setattr(model_store, "when_unloaded", [lambda: left.append(True)])
    one, two = put(store), put(store, portable=packed())
    model = find(store, one)
    text = store.load(model).translator.translate("wort1 wort2").text
    clock.now += LOADED_SECONDS - 1
    assert find(store, two).loaded
    clock.now += 1
    in_a_loop(until(lambda: left and not model.loaded))
    assert find(store, two).loaded
    again = store.load(find(store, one))
    assert again.translator.translate("wort1 wort2").text == text
    assert again is store.load(find(store, one))
    assert again.portable.checkpoint is not PORTABLE.checkpoint
    assert kept(one, two) == [True, True]


def test_a_model_whose_file_is_gone_is_gone(store: ModelStore) -> None:
    key = put(store)
    model = find(store, key)
    model.loaded = None
    model.file.unlink()
    with pytest.raises(ModelGoneError) as error:
        store.load(model)
    assert error.value.message.key == "error.model_gone"
    assert store.find(key) is None


def test_many_threads_lose_nothing_and_leave_nothing(store: ModelStore) -> None:
    store.limits = Limits(models=2, megabytes=1000)

    def visit(session: str) -> None:
        for i in range(15):
            key = put(store, session)
            assert find(store, key).client.session == session
            if i % 3 == 0:
                store.delete(key)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(visit, "01234567"))
    assert [len(store.keys_of(session)) for session in "01234567"] == [2] * 8
    assert len(list(store.folder.iterdir())) == 16


@pytest.mark.slow
def test_folders_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    start = "from transformer.web.sessions import own_folder; print(own_folder.make(), flush=True); input()"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    other = Path(process.stdout.readline().strip())
    (other / "model").write_bytes(b"x")
    mine = own_folder.make()
    assert other.exists()  # its process lives
    process.kill()
    process.communicate()
    next_one = own_folder.make()
    assert not other.exists()
    for folder in (mine, next_one):
        own_folder.remove(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_shared_model_is_used_by_its_token_and_goes_with_its_key(store: ModelStore) -> None:
    key = put(store)
    token = store.share(key)
    assert token == store.share(key) != key
    assert is_own_model(token)
    assert find(store, token) is find(store, key)
    assert store.keys_of("me") == [key]
    store.delete(token)  # which removes nothing
    assert kept(key) == [True]
    with pytest.raises(ModelGoneError):
        store.share(token)
    store.delete(key)
    assert store.find(token) is None
