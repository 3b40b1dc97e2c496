"""The numbers inside the network are sent as the run computed them."""

from dataclasses import fields

import numpy as np
import pytest

from transformer.analysis.contribution import value_weighted
from transformer.analysis.sublayer import PARTS, inspect_sublayer, parameter_row, residual_stream
from transformer.inference.attention_maps import KINDS, Kind
from transformer.inference.interventions import Interventions
from transformer.web.api.sublayers import inside, parameters, stack, value_norms, value_output
from transformer.web.sessions.models import translator

from .endpoints import SENTENCES, Answer, asked, floats


def array(sent: Answer) -> np.ndarray:
    return floats(sent["data"]).reshape(sent["shape"])


@pytest.fixture(scope="module", params=SENTENCES)
def checkpoint(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("kind", KINDS)
def test_inside_is_sent_whole(checkpoint: str, kind: Kind) -> None:
    model = translator(checkpoint)
    seen = inspect_sublayer(model, model.translate(SENTENCES[checkpoint]), kind, 1)
    sent = asked(inside, checkpoint, kind=kind, layer=1)
    arrays = {f.name: getattr(seen, f.name) for f in fields(seen) if isinstance(getattr(seen, f.name), np.ndarray)}
    assert sent["arrays"].keys() == arrays.keys() - {"allowed"}
    for name, value in sent["arrays"].items():
        np.testing.assert_array_equal(array(value), arrays[name])
    assert sent["allowed"] == seen.allowed.tolist()
    assert (sent["queries"], sent["keys"]) == (list(seen.queries), list(seen.keys))
    assert (sent["kind"], sent["layer"], sent["norm_first"]) == (kind, 1, False)
    assert (sent["head_dim"], sent["eps"]) == (model.checkpoint.model.config.d_model // len(seen.q), 1e-5)


CHANGES: list[list[Answer]] = [
    [],
    [
        {"do": "ablate", "kind": "decoder", "layer": 1, "head": 2},
        {"do": "remove_mask", "kind": "decoder"},
        {"do": "temperature", "kind": "all", "temperature": 2.0},
        {"do": "drop_residual", "stack": "encoder", "layer": 0, "sublayer": 1},
    ],
]


@pytest.mark.parametrize("changes", CHANGES, ids=["plain", "changed"])
def test_value_norms_times_weights_are_the_librarys_maps(checkpoint: str, changes: list[Answer]) -> None:
    model = translator(checkpoint)
    run = model.translate(SENTENCES[checkpoint], interventions=Interventions.parse(changes))
    expected = value_weighted(model, run).maps
    sent = asked(value_norms, checkpoint, changes=changes)
    for kind in KINDS:
        weights = np.stack([m.weights for m in run.attention.of(kind)])
        maps = weights * array(sent[kind])[:, :, None]
        np.testing.assert_allclose(maps, np.stack([m.weights for m in expected.of(kind)]), atol=1e-5)
    if changes:
        assert not array(sent["decoder"])[1, 2].any()


def test_a_value_has_the_length_that_inside_and_the_maps_have(checkpoint: str) -> None:
    sent = asked(value_output, checkpoint, kind="cross", layer=1, head=2, key=3)
    norm = np.linalg.norm(array(sent))
    shown = array(asked(inside, checkpoint, kind="cross", layer=1)["arrays"]["value_norm"])
    assert sent["shape"] == [translator(checkpoint).checkpoint.model.config.d_model]
    assert (shown[2, 3], array(asked(value_norms, checkpoint)["cross"])[1, 2, 3]) == pytest.approx((norm, norm), 1e-5)
    for place in ({"head": 99, "key": 0}, {"head": 0, "key": 99}, {"head": -1, "key": 0}):
        assert "error" in asked(value_output, checkpoint, kind="cross", layer=1, **place)


def test_the_stack_is_sent_whole(checkpoint: str) -> None:
    model = translator(checkpoint)
    expected = residual_stream(model, model.translate(SENTENCES[checkpoint]))
    sent = asked(stack, checkpoint)
    assert sent.keys() == {"encoder", "decoder"}
    for name, values in expected.items():
        np.testing.assert_array_equal(array(sent[name]), values)


@pytest.mark.parametrize("part", PARTS)
def test_a_row_of_parameters_makes_the_number_that_inside_shows(checkpoint: str, part: str) -> None:
    seen = asked(inside, checkpoint, kind="cross", layer=1)["arrays"]
    sent = asked(parameters, checkpoint, kind="cross", layer=1, part=part, row=37)
    weights = floats(sent["weights"])
    expected, bias = parameter_row(translator(checkpoint), "cross", 1, part, 37)
    np.testing.assert_array_equal(weights, expected)
    assert sent.keys() == {"weights", "bias"}
    assert sent["bias"] == bias
    if part == "linear1":
        shown = array(seen["ff_hidden"])[:, 37]
        np.testing.assert_allclose(np.maximum(array(seen["ff_input"]) @ weights + bias, 0), shown, atol=1e-5)
