"""Real models: listed, fetched for all who choose one, bounded in memory, and refused by key."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from transformer.messages import catalogues
from transformer.storage import marian
from transformer.web.api.bounded_cache import BoundedCache
from transformer.web.opus_models import IN_ANY_LANGUAGE, OPUS
from transformer.web.sessions import real_models
from transformer.web.sessions.listed_models import listed
from transformer.web.sessions.model_store import RefusedModelError
from transformer.web.sessions.real_models import MAX_OUTPUT, MAX_PIECES, RealModels
from transformer.web.settings import Settings

from ...hub import COMMIT, NAME, Hub, served, use
from ...marian import marian_folder
from ..loop import async_test, until

MUCH = 10**9


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    one, two = (tmp_path_factory.mktemp(name, numbered=False) for name in ("one", "two"))
    marian_folder(one, max_length=400, max_position_embeddings=512)
    marian_folder(two, seed=1)
    return one, two


@pytest.fixture
def hub(folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub = Hub(folders[0])
    with served(hub) as address:
        use(address, tmp_path / "home", monkeypatch)
        yield hub
        hub.may_send.set()


# ---- which there are ----


def test_the_default_lists_five_pinned_models_with_ten_sentences_each() -> None:
    models = listed(Settings().models)
    assert models == OPUS
    texts = catalogues()["en"]
    for model in models:
        assert len(str(model.source).removeprefix(f"{model.checkpoint}@")) == 40
        assert len({example.sentence for example in model.examples}) == len({e.name for e in model.examples}) == 10
        for example in model.examples:
            assert {f"example.{example.name}", f"example.{example.name}.shows"} <= texts.keys()


def test_a_list_names_models_of_the_hub_and_folders(tmp_path: Path) -> None:
    assert listed("") == listed(" , ") == ()
    (tmp_path / "pytorch_model.bin").write_bytes(bytes(7))
    (tmp_path / "tokenizer_config.json").write_text('{"source_lang": "de", "target_lang": "en"}')
    one, other, pinned = listed(f"{tmp_path}, {NAME}@v1,Helsinki-NLP/opus-mt-de-en@main")
    assert (one.checkpoint, one.source, one.size, one.languages) == (tmp_path.name, tmp_path, 7, ("de", "en"))
    assert one.examples == other.examples == OPUS[0].examples  # of the same languages
    assert listed("owner/opus-mt-xx-yy")[0].examples == IN_ANY_LANGUAGE
    assert (other.checkpoint, other.source, other.languages) == (NAME, f"{NAME}@v1", ("de", "en"))
    assert (pinned.source, pinned.examples) == ("Helsinki-NLP/opus-mt-de-en@main", OPUS[0].examples)


@pytest.mark.parametrize("entries", ["no-such-folder", "a/b, a/b@main", "a/b/c", "owner/", "../x"])
def test_a_list_of_something_else_is_refused(entries: str) -> None:
    with pytest.raises(ValueError, match="TRANSFORMER_MODELS"):
        listed(entries)


def test_a_folder_cannot_take_the_name_of_another_model(tmp_path: Path) -> None:
    for name in ("toy", "own-model"):
        (tmp_path / name).mkdir()
        with pytest.raises(ValueError, match=name):
            listed(str(tmp_path / name))


def test_only_what_is_listed_is_a_model(tmp_path: Path) -> None:
    models = RealModels(listed(str(tmp_path)), MUCH)
    assert list(models) == [tmp_path.name]
    others: tuple[object, ...] = ("two", str(tmp_path), f"../{tmp_path.name}", "toy", NAME, None, [tmp_path.name], {})
    for name in others:
        assert name not in models
        assert models.find(name) is None


# ---- memory ----


@pytest.mark.slow
@async_test
async def test_the_model_that_was_used_longest_ago_leaves_unless_it_is_in_use(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[None] = []
    monkeypatch.setattr(real_models, "when_unloaded", [lambda: freed.append(None)])
    monkeypatch.setattr(real_models, "WAIT_SECONDS", 0)
    both = listed(f"{folders[0]},{folders[1]}")
    models = RealModels(both, MUCH)
    sizes: dict[str, int] = {}
    for name in models:
        async with models.in_use(name):
            sizes |= models.counts()["loaded"]
    assert set(sizes) == {"one", "two"}
    checkpoint = models.translator("one").checkpoint
    assert (checkpoint.source_length, checkpoint.output_limit) == (MAX_PIECES, MAX_OUTPUT)  # less than it could
    weights = sum(each.numel() * 4 for each in checkpoint.model.parameters())
    assert 0.87 <= sizes["one"] / weights <= 1.15
    assert models.counts()["bytes"] == sum(sizes.values())

    models = RealModels(both, max(sizes.values()))
    async with models.in_use("one"):
        async with models.in_use("two"):
            with pytest.raises(RefusedModelError) as error:
                models.translator("two")
            assert error.value.message.key == "real.busy"
        assert models.translator("one")
    assert not freed
    monkeypatch.setattr(real_models, "RETRY_SECONDS", 0)
    async with models.in_use("two"):
        assert models.translator("two")
    assert models.counts()["loaded"] == {"two": sizes["two"]}
    assert freed

    tiny = RealModels(both, min(sizes.values()) - 1)
    with pytest.raises(RefusedModelError) as error:
        tiny.translator("one")
    assert error.value.message.key == "real.too_large"


def test_answers_are_kept_up_to_a_number_of_bytes() -> None:
    cache, made = BoundedCache[bytes](10, len), list[str]()

    def ask(name: str, size: int = 5) -> None:
        cache.get(name, lambda: made.append(name) or bytes(size))  # type: ignore[func-returns-value]

    for name in "aababcba":  # at the first c, a was asked for before b
        ask(name)
    assert "".join(made) == "abca"
    for name, size in (("d", 11), ("a", 5), ("d", 11)):  # d is too large to be kept
        ask(name, size)
    assert "".join(made) == "abcadad"


# ---- downloads ----


async def outcome(models: RealModels, name: str = NAME) -> str | None:
    """The key of why a model cannot be had; None if it can."""
    async with models.in_use(name):
        try:
            models.translator(name)
        except RefusedModelError as error:
            return error.message.key
    return None


@pytest.mark.slow
@async_test
async def test_all_who_choose_a_model_share_a_download_that_ends_when_none_waits(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, load = set(), marian.load_marian

    def watched(*args: Any, **kwargs: Any) -> Any:
        threads.add(threading.current_thread().name)
        return load(*args, **kwargs)

    monkeypatch.setattr(marian, "load_marian", watched)
    models = RealModels(listed(f"{NAME}@{COMMIT}"), MUCH)
    assert not hub.asked  # until somebody chooses one
    hub.may_send.clear()
    async with models.chosen(NAME) as loading:
        assert loading
        await until(lambda: loading.fetched)
    hub.may_send.set()
    await until(loading.done.done)
    assert loading.done.cancelled()  # nobody waits
    assert not models.counts()["loaded"]

    hub.may_send.clear()
    begun = hub.downloads("model.safetensors")
    async with AsyncExitStack() as first, AsyncExitStack() as second:
        one = await first.enter_async_context(models.chosen(NAME))
        two = await second.enter_async_context(models.chosen(NAME))
        assert one is two
        assert one
        await until(lambda: one.fetched)
        assert one.fetched < one.size == sum(map(len, hub.files.values()))
        await first.aclose()
        hub.may_send.set()
        await one.wait()
    assert hub.downloads("model.safetensors") <= begun + 1
    assert await outcome(models) is None
    assert models.counts()["loaded"].keys() == {NAME}
    assert all(name.startswith("real-model") for name in threads)  # the event loop and others stay free


FAULTS: dict[str, Callable[[Hub], object]] = {
    "broken": lambda hub: hub.broken.add("model.safetensors"),
    "digest": lambda hub: hub.changed.add("model.safetensors"),
    "missing": lambda hub: hub.files.pop((COMMIT, "source.spm")),
    "unreadable": lambda hub: hub.files.update({(COMMIT, "source.spm"): b"no model of pieces"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("key", FAULTS)
@async_test
async def test_what_is_wrong_with_a_download_is_told_by_key(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between attempts of huggingface_hub
    FAULTS[key](hub)
    models = RealModels(listed(NAME), MUCH, clock=lambda: 0.0)
    assert await outcome(models) == f"real.{key}"
    asked = len(hub.asked)
    assert await outcome(models) == f"real.{key}"  # the same request again, a moment later
    assert len(hub.asked) == asked


@pytest.mark.slow
@async_test
async def test_a_model_that_is_not_there_or_too_large_is_told_by_key(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await outcome(RealModels(listed("owner/other"), MUCH), "owner/other") == "real.not_there"
    assert await outcome(RealModels(listed(f"{NAME}@v9"), MUCH)) == "real.not_there"
    assert await outcome(RealModels(listed(NAME), 10_000)) == "real.too_large"
    assert not hub.downloads("model.safetensors")
    use("http://127.0.0.1:9", tmp_path / "home", monkeypatch)  # nobody listens
    assert await outcome(RealModels(listed(NAME), MUCH)) == "real.offline"
