"""Models of the Hub, from a server on this machine: fetched once, checked, and refused in one line."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from transformer import Translator
from transformer.storage.checkpoint import CheckpointError

from ..hub import COMMIT, NAME, OLDER, Hub, served, use
from ..marian import SENTENCES

pytestmark = pytest.mark.slow
WEIGHTS, PICKLE = "model.safetensors", "pytorch_model.bin"


@pytest.fixture
def hub(marian: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub = Hub(marian)
    with served(hub) as address:
        use(address, tmp_path / "home", monkeypatch)
        yield hub


def refusal(name: str = NAME, **arguments: Any) -> str:
    with pytest.raises(CheckpointError) as error:
        Translator.load(name, device="cpu", **arguments)
    assert len(str(error.value).splitlines()) == 1
    assert str(error.value).startswith(name.split("@")[0])
    return str(error.value)


def test_a_model_is_fetched_once_with_its_progress(hub: Hub, marian: Path) -> None:
    seen: list[tuple[int, int]] = []
    run = Translator.load(NAME, device="cpu", progress=lambda *each: seen.append(each)).translate(SENTENCES[0])
    assert run.text == Translator.load(marian, device="cpu").translate(SENTENCES[0]).text
    assert run.checkpoint == NAME
    total = sum(map(len, hub.files.values()))
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)
    assert hub.downloads(WEIGHTS) == 1
    hub.asked.clear()
    assert Translator.load(NAME, device="cpu").translate(SENTENCES[0]).text == run.text
    assert hub.asked == [("GET", f"/api/models/{NAME}/revision/main")]
    hub.asked.clear()
    assert Translator.load(f"{NAME}@{COMMIT}", device="cpu").name == f"{NAME}@{COMMIT}"
    assert not hub.asked


def test_two_at_once_fetch_it_once(hub: Hub) -> None:
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda _: Translator.load(NAME, device="cpu"), range(2))
    assert one.translate(SENTENCES[0]).text == two.translate(SENTENCES[0]).text
    assert hub.downloads(WEIGHTS) == 1


def test_without_a_network_the_cache_is_enough(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def go_offline(is_offline: bool) -> None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", is_offline)

    go_offline(True)
    assert "not in the cache" in refusal()
    go_offline(False)
    text = Translator.load(NAME, device="cpu").translate(SENTENCES[0]).text
    hub.asked.clear()
    go_offline(True)
    assert Translator.load(NAME, device="cpu").translate(SENTENCES[0]).text == text
    assert not hub.asked
    go_offline(False)
    use("http://127.0.0.1:9", tmp_path / "home", monkeypatch)  # nobody listens
    assert Translator.load(NAME, device="cpu").translate(SENTENCES[0]).text == text
    assert "cannot be reached" in refusal("owner/other")


def test_a_pickle_is_fetched_where_there_is_nothing_better(hub: Hub, marian: Path, tmp_path: Path) -> None:
    text = Translator.load(marian, device="cpu").translate(SENTENCES[0]).text
    torch.save(load_file(marian / WEIGHTS), tmp_path / PICKLE)
    hub.files |= {(OLDER, name): content for (_, name), content in hub.files.items() if name != WEIGHTS}
    hub.files |= {(commit, PICKLE): (tmp_path / PICKLE).read_bytes() for commit in (COMMIT, OLDER)}
    assert Translator.load(NAME, device="cpu").translate(SENTENCES[0]).text == text
    assert (hub.downloads(WEIGHTS), hub.downloads(PICKLE)) == (1, 0)
    assert Translator.load(f"{NAME}@v0", device="cpu").translate(SENTENCES[0]).text == text
    assert (hub.downloads(WEIGHTS), hub.downloads(PICKLE)) == (1, 1)


@pytest.mark.parametrize("name", [WEIGHTS, "vocab.json"])
def test_a_wrong_digest_is_refused_and_forgotten(hub: Hub, name: str) -> None:
    hub.changed.add(name)
    assert f"{name} is not what the Hub says" in refusal()
    hub.changed.clear()
    assert Translator.load(NAME, device="cpu").name == NAME


def test_after_a_broken_connection_or_a_cancelled_fetch_it_can_be_tried_again(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel(arrived: int, size: int) -> None:
        raise InterruptedError("cancelled")

    with pytest.raises(InterruptedError):
        Translator.load(NAME, device="cpu", progress=cancel)
    assert not list((tmp_path / "home").rglob("*.incomplete"))
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between its attempts
    hub.broken.add(WEIGHTS)
    assert "the connection broke" in refusal()
    hub.broken.clear()
    assert Translator.load(NAME, device="cpu").name == NAME
