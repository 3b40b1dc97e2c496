"""int8 weights: near the network's, with every map, and never taken for it."""

from pathlib import Path

import pytest
import torch

from transformer import Translator
from transformer.analysis.self_checks import check
from transformer.network.int8 import MAX_WEIGHT, Int8Linear
from transformer.storage.checkpoint import save_checkpoint
from transformer.storage.marian_export import save_marian


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("int8") / "classroom"
    save_marian(Translator.load("classroom", device="cpu").checkpoint, folder)
    return folder


def test_a_layer_rounds_its_weights_and_inputs_and_no_more() -> None:
    torch.manual_seed(0)
    linear = torch.nn.Linear(64, 48)
    layer, x = Int8Linear(linear), torch.randn(5, 64)
    steps = linear.weight.abs().amax(dim=1) / MAX_WEIGHT
    assert bool(((layer.weight - linear.weight).abs() <= 0.51 * steps[:, None]).all())
    exact = x @ layer.weight.T + linear.bias
    of_inputs = (x.max() - x.min()) / 255 * layer.weight.abs().sum(dim=1)  # if every input were rounded the same way
    assert bool(((layer(x) - exact).abs() <= of_inputs).all())
    assert not torch.equal(layer(x), exact)


def test_a_marian_model_translates_with_int8_weights_and_says_so(folder: Path) -> None:
    usual, ours = Translator.load(folder, device="cpu"), Translator.load(folder, device="cpu", precision="int8")
    sentence = "der alte mann trinkt ein kaltes bier"
    run, rounded = usual.translate(sentence), ours.translate(sentence)
    assert (usual.name, ours.name) == ("classroom", "classroom (int8)")
    pairs = zip(run.attention.encoder, rounded.attention.encoder, strict=True)
    differences = [abs(one.weights - other.weights).max() for one, other in pairs]
    assert 1e-4 < max(differences) < 0.5
    assert [each.name for each in check(ours, rounded) if each.ok] == ["rows", "masked"]
    for write in (lambda: save_marian(ours.checkpoint, folder), lambda: save_checkpoint(ours.checkpoint, folder, "")):
        with pytest.raises(ValueError, match="int8"):
            write()


def test_the_environment_chooses_for_marian_models_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSFORMER_PRECISION", "int8")
    assert Translator.load(folder, device="cpu").name == "classroom (int8)"
    assert Translator.load(folder, device="cpu", precision="float32").name == "classroom"
    assert Translator.load("toy", device="cpu").name == "toy"
    assert Translator.load("toy", device="cpu", precision="int8").name == "toy (int8)"
    monkeypatch.setenv("TRANSFORMER_PRECISION", "int4")
    with pytest.raises(ValueError, match=r"'int4' is not one of float32, int8"):
        Translator.load(folder, device="cpu")
