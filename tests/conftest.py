"""Fixtures that many tests share."""

import pytest
import torch
from hypothesis import settings

from transformer import Translator, Vocabulary
from transformer.data import TOY, Batch
from transformer.storage.checkpoint import Checkpoint

from .networks import SIZES, network

torch.set_num_threads(1)  # the networks are tiny: threads would only wait for each other

# The same examples on every run, so that a red build is red for everybody.
settings.register_profile("tests", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in a browser is slow. The slowest files begin, so that no process works alone at the end."""
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: "browser" not in item.path.parts)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def toy() -> Translator:
    """The shipped checkpoint."""
    return Translator.load("toy", device="cpu")


@pytest.fixture(scope="session")
def classroom() -> Translator:
    """The other shipped checkpoint."""
    return Translator.load("classroom", device="cpu")


@pytest.fixture(scope="session")
def toy_data() -> Batch:
    """Both sentence pairs as ids."""
    return TOY.batch()


@pytest.fixture(scope="session")
def babbler() -> Translator:
    """An untrained network with a vocabulary: its output is long nonsense, its attention nearly uniform."""
    checkpoint = Checkpoint(
        network(),
        src_vocab=Vocabulary(("P", *(f"wort{i}" for i in range(1, SIZES["src_vocab_size"])))),
        tgt_vocab=Vocabulary(("P", "S", "E", *(f"word{i}" for i in range(3, SIZES["tgt_vocab_size"])))),
        source_length=6,
        output_limit=8,
    )
    return Translator(checkpoint, "babbler")
