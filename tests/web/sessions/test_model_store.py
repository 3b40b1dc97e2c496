"""Visits' models are kept for their visit, for a while, and as room allows; what is kept no more leaves nothing."""

import itertools
import re
import threading
from collections.abc import Iterator

import pytest

from transformer.data import CORPORA
from transformer.live.limits import Limits
from transformer.storage.portable import PortableModel, save_portable
from transformer.web.sessions.model_store import (
    OWN_MODEL_PREFIX,
    SAFE_SECONDS,
    TEXT_BYTES,
    ModelStore,
    ModelStoreFullError,
    file_name,
)

from ...storage.test_portable import of_pairs, packed


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[ModelStore]:
    store = ModelStore(Limits(models=3, megabytes=1000, minutes=60), clock)
    yield store
    store.close()


PORTABLE = packed()
NUMBERS = itertools.count()


def put(store: ModelStore, visit: str = "me", portable: PortableModel = PORTABLE) -> str:
    file = store.folder / f"{next(NUMBERS)}.safetensors"
    save_portable(portable, file)
    try:
        return store.put(portable, visit, file)
    except ModelStoreFullError:
        file.unlink()
        raise


def put_large(store: ModelStore, visit: str = "me", megabytes: int = 1) -> str:
    """A model that counts as so many, because of its texts."""
    model = PORTABLE.checkpoint.model
    weights = sum(values.nbytes for values in model.parameters())
    file = store.folder / f"{next(NUMBERS)}.safetensors"
    with file.open("wb") as made:
        made.truncate(weights + (megabytes * 2**20 - weights - model.positions.nbytes) // TEXT_BYTES)
    try:
        return store.put(PORTABLE, visit, file)
    except ModelStoreFullError:
        file.unlink()
        raise


def kept(store: ModelStore, *keys: str) -> list[bool]:
    """Which are there, without using them; their files are, too, and no others."""
    assert {model.file for model in store._models.values()} == set(store.folder.iterdir())
    assert store._models.keys() == store._used.keys()
    return [key in store._models for key in keys]


def test_a_model_is_found_by_its_key(store: ModelStore) -> None:
    key = put(store)
    model = store.find(key)
    assert model.portable is PORTABLE
    assert model.visit == "me"
    assert model.translator.name == key
    assert model.translator.checkpoint is PORTABLE.checkpoint
    assert model.file.is_file()


@pytest.mark.parametrize(
    "key", ["", "toy", OWN_MODEL_PREFIX, OWN_MODEL_PREFIX + "x", "../toy", "own-\0", "x" * 5000, "\ud800"]
)
def test_an_unknown_key_gives_nothing(store: ModelStore, key: str) -> None:
    put(store)
    assert store.find(key) is None
    store.forget(key)
    assert len(store._models) == 1


def test_keys_are_long_and_tell_nothing_of_each_other(store: ModelStore) -> None:
    keys = [put(store, visit=str(i // 3)) for i in range(60)]
    assert len(set(keys)) == 60
    assert all(re.fullmatch(r"own-[\w-]{32}", key) for key in keys)
    for at in range(4, 36):  # no place has the same letter in all of them, nor letters in an order
        assert len({key[at] for key in keys}) > 10
    assert sorted(keys) != keys


def test_what_the_page_is_told_has_no_other_key_and_no_visit(store: ModelStore) -> None:
    one, two = put(store, "first visit"), put(store, "second visit")
    for key, other in ((one, two), (two, one)):
        told = str(store.find(key).about())
        assert other not in told
        assert "visit" not in told


def test_what_the_page_is_told_is_of_the_model(store: ModelStore) -> None:
    assert store.find(put(store)).about() == {
        "name": "Mein Modell",
        "corpus": "own",
        "weights": sum(values.numel() for values in PORTABLE.checkpoint.model.parameters()),
        "layers": 2,
        "heads": 4,
        "d_model": 16,
    }


def test_a_forgotten_model_takes_its_file_along(store: ModelStore) -> None:
    one, two = put(store), put(store)
    store.forget(one)
    assert store.find(one) is None
    assert kept(store, one, two) == [False, True]
    store.forget(one)


def test_a_file_that_is_gone_already_is_no_trouble(store: ModelStore) -> None:
    key = put(store)
    store.find(key).file.unlink()
    store.forget(key)
    assert kept(store, key) == [False]


# A visit has so many


def test_of_a_visits_models_the_one_that_it_used_least_lately_goes(store: ModelStore) -> None:
    one, two, three = put(store), put(store), put(store)
    store.find(one)
    four = put(store)
    assert kept(store, one, two, three, four) == [True, False, True, True]
    five = put(store)
    assert kept(store, one, three, four, five) == [True, False, True, True]


def test_a_visit_is_told_which_of_its_models_there_are(store: ModelStore) -> None:
    put(store, "other")
    keys = [put(store) for _ in range(4)]
    assert sorted(store.of("me")) == sorted(keys[1:])
    assert store.of("nobody") == []


def test_other_visits_models_make_no_place(store: ModelStore) -> None:
    other = put(store, "other")
    keys = [put(store) for _ in range(5)]
    assert kept(store, other, *keys) == [True, False, False, True, True, True]


# All have so many bytes


def test_where_room_is_short_the_model_that_was_used_least_lately_goes(store: ModelStore, clock: Clock) -> None:
    store.limits = Limits(megabytes=3)
    keys = [put_large(store, visit) for visit in "abc"]
    clock.now += SAFE_SECONDS + 1
    store.find(keys[0])
    more = put_large(store, "d")
    assert kept(store, *keys, more) == [True, False, True, True]


def test_as_many_go_as_make_room(store: ModelStore, clock: Clock) -> None:
    store.limits = Limits(megabytes=4)
    keys = [put_large(store, visit) for visit in "abcd"]
    clock.now += SAFE_SECONDS + 1
    more = put_large(store, "e", megabytes=2)
    assert kept(store, *keys, more) == [False, False, True, True, True]


def test_a_model_that_somebody_uses_is_not_pushed_out(store: ModelStore, clock: Clock) -> None:
    store.limits = Limits(megabytes=2)
    keys = [put_large(store, visit) for visit in "ab"]
    clock.now += SAFE_SECONDS
    with pytest.raises(ModelStoreFullError) as error:
        put_large(store, "c")
    assert error.value.message.key == "shelf.full"
    assert str(error.value) == str(error.value.message)
    assert kept(store, *keys) == [True, True]
    clock.now += 1
    assert kept(store, put_large(store, "c"), *keys) == [True, False, True]


def test_a_visits_own_oldest_makes_room_first(store: ModelStore, clock: Clock) -> None:
    store.limits = Limits(models=3, megabytes=4)
    other, *keys = put_large(store, "other"), put_large(store), put_large(store), put_large(store)
    clock.now += SAFE_SECONDS + 1
    put_large(store)
    assert kept(store, other, *keys) == [True, False, True, True]


def test_where_there_is_no_room_nothing_is_lost(store: ModelStore, clock: Clock) -> None:
    store.limits = Limits(models=3, megabytes=4)
    idle = put_large(store, "idle")
    clock.now += SAFE_SECONDS + 1
    keys = [put_large(store) for _ in range(3)]
    with pytest.raises(ModelStoreFullError):
        put_large(store, megabytes=3)  # the idle one and one's own oldest are not enough
    assert kept(store, idle, *keys) == [True] * 4


def test_a_model_that_is_larger_than_all_room_pushes_nobody_out(store: ModelStore, clock: Clock) -> None:
    key = put(store, "idle")
    clock.now += SAFE_SECONDS + 1
    store.limits = Limits(megabytes=1)
    wide = packed(d_model=512, n_heads=4)
    with pytest.raises(ModelStoreFullError):
        put(store, "me", wide)
    assert store.find(key)


def test_texts_take_room_too(store: ModelStore) -> None:
    """A tiny network may come with a great many pairs."""
    few, many = (of_pairs(*((f"a{i}", f"b{i}") for i in range(count))) for count in (10, 5000))
    weights = sum(values.nbytes for values in many.checkpoint.model.parameters())
    sizes = [store.find(put(store, portable=portable)).size for portable in (few, many)]
    assert sizes[0] < 100_000
    assert sizes[1] > weights + 3_000_000
    store.limits = Limits(megabytes=1)
    with pytest.raises(ModelStoreFullError):
        put(store, "other", many)


# For so long


def test_a_model_that_nobody_uses_is_forgotten(store: ModelStore, clock: Clock) -> None:
    one, two = put(store), put(store, "other")
    clock.now += 3600
    store.find(two)
    clock.now += 1
    assert store.find(one) is None
    assert kept(store, one, two) == [False, True]
    clock.now += 3599
    assert store.find(two)
    clock.now += 3601
    assert store.find(two) is None
    assert list(store.folder.iterdir()) == []


def test_old_models_go_before_anything_else_is_kept(store: ModelStore, clock: Clock) -> None:
    keys = [put(store, visit) for visit in "abc"]
    clock.now += 3601
    assert kept(store, put(store, "d"), *keys) == [True, False, False, False]


def test_closing_leaves_nothing_on_the_disk(clock: Clock) -> None:
    store = ModelStore(Limits(), clock)
    put(store)
    store.close()
    assert not store.folder.exists()
    store.close()


# What there is of a corpus


def test_a_model_of_own_pairs_has_them_as_examples(store: ModelStore) -> None:
    corpus = store.find(put(store)).corpus
    assert corpus.size == 2
    assert [example.sentence for example in corpus.examples] == ["wort1 wort2", "übung !"]
    assert corpus.find("wort1 wort2").target == "wort2 wort1"
    assert corpus.words["all"][0] == ("wort1 wort2", "wort2 wort1")


def test_a_model_of_a_shipped_corpus_has_its_examples_and_its_own_size(store: ModelStore) -> None:
    portable = PortableModel(**(vars(PORTABLE) | {"corpus": "classroom"}))
    corpus = store.find(put(store, portable=portable)).corpus
    assert corpus.size == 2
    assert corpus.examples == CORPORA["classroom"].examples
    assert corpus.held_out


def test_marks_that_stand_alone_are_read_as_the_models_one_vocabulary_reads_them(store: ModelStore) -> None:
    tied = packed(tie_weights=True, tgt_vocab_size=11)
    tied = PortableModel(**(vars(tied) | {"pairs": (("wie geht es ?", "how are you ?"),)}))
    plain = PortableModel(**(vars(packed()) | {"pairs": tied.pairs}))
    assert store.find(put(store, portable=tied)).corpus.find("wie geht es ?").target == "how are you ?"
    assert store.find(put(store, portable=plain)).corpus.find("wie geht es").target == "how are you ?"


# Names of files


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Bert", "Bert"),
        ("Bert und Otto", "Bert-und-Otto"),
        ("../../x", "x"),
        ("..", "model"),
        ("/", "model"),
        ("", "model"),
        ("C:\\x", "C-x"),
        ("\r\nX: y", "X-y"),
        ('a"b', "a-b"),
        ("a;b=c", "a-b-c"),
        (".bashrc", "bashrc"),
        ("猫", "猫"),
        ("<script>", "script"),
        ("{x}%s", "x-s"),
    ],
)
def test_a_file_is_called_by_letters_and_figures_alone(name: str, file: str) -> None:
    assert file_name(name) == f"{file}.safetensors"


# From many threads


def test_many_threads_lose_nothing_and_leave_nothing(store: ModelStore) -> None:
    errors: list[BaseException] = []
    store.limits = Limits(models=2, megabytes=1000)

    def visit(name: str) -> None:
        try:
            for i in range(15):
                file = store.folder / f"{name}-{i}"
                file.write_bytes(b"x")
                key = store.put(PORTABLE, name, file)
                assert store.find(key).visit == name
                store.find(OWN_MODEL_PREFIX)
                if i % 3 == 0:
                    store.forget(key)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=visit, args=(str(i),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert kept(store) == []
    assert {model.visit for model in store._models.values()} == {str(i) for i in range(8)}
    assert len(store._models) == 16
