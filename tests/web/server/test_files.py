"""Models as files: what is valid works, all else is refused in a sentence and leaves no file; and the bundle."""

import asyncio
import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from transformer.live.limits import Limits
from transformer.storage.portable import max_file_bytes
from transformer.web.api import models as api_models
from transformer.web.client import MAX_NAME
from transformer.web.fair_queue import FairQueue
from transformer.web.server import files
from transformer.web.server.files import ROUTES, UPLOADS_PER_ADDRESS, bundle_address
from transformer.web.sessions import models
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX, ModelStore
from transformer.web.sessions.training_queue import TrainingQueue

from ...models import as_file, packed
from ..caller import Caller
from ..loop import async_test, until

ROOT = Path(__file__).resolve().parents[3]
APP = Starlette(routes=ROUTES)
ME = {"Session": "me"}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelStore]:
    """A store and its training queue, which the routes take for the server's."""
    store = ModelStore(Limits())
    queue = TrainingQueue(store.limits, store)
    for module in (files, models, api_models):
        monkeypatch.setattr(module, "model_store", lambda: store)
    monkeypatch.setattr(files, "training_queue", lambda: queue)
    waiting = FairQueue(files.MAX_UPLOADS, files.MAX_WAITING_UPLOADS, UPLOADS_PER_ADDRESS), FairQueue(1, 6)
    monkeypatch.setattr(files, "_uploads", lambda: waiting)
    yield store
    queue.close()
    store.close()


@pytest.fixture
def client(store: ModelStore) -> Iterator[TestClient]:
    with TestClient(APP) as client:
        yield client


@pytest.fixture
def file() -> bytes:
    return as_file(packed())


def refusal(response: Any) -> str:
    """Its key. Every refusal is one sentence as JSON, with no path in it."""
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert error.keys() == {"key", "english", "values"}
    assert str(ROOT) not in response.text
    assert "attention-bitte-" not in response.text  # where models are kept
    return str(error["key"])


def on_disk(store: ModelStore) -> list[Path]:
    return list(store.folder.iterdir())


def test_a_model_is_uploaded_and_downloaded(client: TestClient, store: ModelStore, file: bytes) -> None:
    answer = client.post("/models", content=file, headers=ME).json()
    key = answer["model"]["checkpoint"]
    assert answer["session_models"] == [key]
    found = client.get(f"/models/{key}")
    assert found.content == file
    assert found.headers["content-type"] == "application/octet-stream"


def test_a_file_that_cannot_be_kept_is_refused_and_removed(
    client: TestClient, store: ModelStore, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def upload(body: bytes, **headers: str) -> str:
        key = refusal(client.post("/models", content=body, headers=headers or ME))
        assert on_disk(store) == []
        return key

    for body in (b"", file[:-1]):  # tests/storage has every kind of a broken file
        assert upload(body) in ("file.foreign", "file.broken")
    assert upload(file, Accept="x") == "error.request"  # of no session
    store.limits = Limits(parameters=100)
    assert upload(file) == "file.parameters"
    store.limits = Limits(megabytes=1)
    assert upload(as_file(packed(d_model=512, n_heads=4))) == "store.full"
    monkeypatch.setattr("secrets.token_hex", lambda size: "full")
    (store.folder / "full.safetensors").symlink_to("/dev/full")  # a device that has space for nothing
    assert upload(file) == "file.no_space"


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("../../x", 'filename="x.safetensors"'),
        ('a"; filename="b', 'filename="a-filename-b.safetensors"'),
        ("Über 猫", f"filename*=utf-8''{quote('Über-猫.safetensors')}"),
        ("%0d%0aX: y", 'filename="0d-0aX-y.safetensors"'),
        ("..", 'filename="model.safetensors"'),
        (".bashrc", 'filename="bashrc.safetensors"'),
    ],
)
def test_a_download_is_named_after_its_model(client: TestClient, name: str, disposition: str) -> None:
    body = as_file(replace(packed(), name=name))
    model = client.post("/models", content=body, headers={"Session": "x" * 2 * MAX_NAME}).json()["model"]
    assert model["name"] == name
    headers = client.get(f"/models/{model['checkpoint']}").headers
    assert headers["content-disposition"] == f"attachment; {disposition}"
    assert "x" not in headers


def test_a_key_that_does_not_exist_gives_nothing(client: TestClient, store: ModelStore, file: bytes) -> None:
    client.post("/models", content=file, headers=ME)
    (kept,) = on_disk(store)
    for key in ("toy", f"{OWN_MODEL_PREFIX}x", "%00", "x" * 5000, "%ff", kept.name, f"../{kept}"):
        answer = client.get(f"/models/{key}")
        assert answer.status_code in (404, 405)
        assert len(answer.content) < 100


def uploads(*pieces: bytes, complete: bool = False, address: str = "1.1.1.1") -> Caller:
    return Caller(APP, "/models", *pieces, complete=complete, address=address)


@async_test
async def test_an_upload_is_bounded_in_size_and_time_and_may_break_off(
    store: ModelStore, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.limits = Limits(parameters=1000)
    long = uploads(*[bytes(2**20)] * (max_file_bytes(1000) // 2**20 + 9))
    assert b"file.too_big" in await long.call()
    assert len(long.pieces) == 8  # it was not read to its end
    broken = uploads(file[:100], file[100:2000])
    task = asyncio.create_task(broken.call())
    await until(lambda: not broken.pieces)
    broken.gone.set()
    await task
    monkeypatch.setattr(files, "UPLOAD_SECONDS", 0.01)
    assert b"file.not_taken" in await uploads(file[:100]).call()
    assert on_disk(store) == []


@async_test
async def test_uploads_have_places_for_each_address(
    store: ModelStore, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others of that address wait with nothing read, and are refused if that takes long."""
    slow = [uploads(file[:100]) for _ in range(UPLOADS_PER_ADDRESS)]
    tasks = [asyncio.create_task(caller.call()) for caller in slow]
    await until(lambda: len(on_disk(store)) == UPLOADS_PER_ADDRESS)
    third = uploads(file)
    with monkeypatch.context() as patch:
        patch.setattr(files, "UPLOAD_WAIT_SECONDS", 0.01)
        assert b"file.busy" in await third.call()
    assert len(third.pieces) == 1
    assert b'"session_models"' in await uploads(file, complete=True, address="9.9.9.9").call()
    waits = asyncio.create_task(uploads(file, complete=True).call())
    slow[0].gone.set()
    assert b'"session_models"' in await waits
    slow[1].gone.set()
    await asyncio.gather(*tasks)


def test_a_browser_keeps_the_bundle_until_it_changes(client: TestClient) -> None:
    for name, kind in (("app.js", "text/javascript"), ("app.css", "text/css"), ("plotly.js", "text/javascript")):
        with client.stream("GET", f"/{bundle_address(name)}") as answer:
            body = b"".join(answer.iter_raw())
        assert gzip.decompress(body) == files.BUNDLE[name].read_bytes()
        assert answer.headers["content-type"].startswith(kind)
        assert "immutable" in answer.headers["cache-control"]
        assert name == "plotly.js" or answer.headers["sourcemap"] == f"../gradio_api/file={files.BUNDLE[name]}.map"
    for name in ("x", "app.js.map", "..%2fapp.py", "%2e%2e/app.py"):
        assert client.get(f"/dist/{name}").status_code == 404
