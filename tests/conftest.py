"""Fixtures that many tests share."""

import gc
import os
from pathlib import Path

import pytest

# Before torch is imported, here and in the processes of tests: networks are tiny.
os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
from hypothesis import settings

import transformer.web  # noqa: F401  # before gradio, which then starts a second sooner
from transformer import Translation, Translator
from transformer.data import TOY, Batch

from .marian import marian_folder
from .models import babbling
from .networks import network

# The same examples on every run, so that a red build is red for everybody.
settings.register_profile("tests", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("tests")


LONGEST = {f"test_{name}.py" for name in ("places", "hosting", "accessible", "train", "languages", "faults")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in a browser is slow. The slowest files begin, so that no process works alone at the end."""
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.slow)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(
        key=lambda item: (item.path.name not in LONGEST, "browser" not in item.path.parts, item.path not in slow)
    )


def pytest_sessionstart() -> None:
    gc.disable()  # while modules are imported: there is no garbage yet


def pytest_collection_finish() -> None:
    gc.freeze()  # what is imported stays: to look through it again takes a quarter of a second each time
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _own_classes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No server of these tests shares its classes with others of this machine."""
    os.environ["TRANSFORMER_CLASSES"] = str(tmp_path_factory.mktemp("classes"))


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def toy() -> Translator:
    """The shipped checkpoint."""
    return Translator.load("toy", device="cpu")


@pytest.fixture(scope="session")
def beer(toy: Translator) -> Translation:
    """Its first sentence."""
    return toy.translate("Ich möchte ein Bier")


@pytest.fixture(scope="session")
def classroom() -> Translator:
    """The other shipped checkpoint."""
    return Translator.load("classroom", device="cpu")


@pytest.fixture(scope="session")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random Marian model, which no test changes."""
    folder = tmp_path_factory.mktemp("marian")
    marian_folder(folder)
    return folder


@pytest.fixture(scope="session")
def toy_data() -> Batch:
    """Both sentence pairs as ids."""
    return TOY.batch()


@pytest.fixture(scope="session")
def babbler() -> Translator:
    return babbling(network())
