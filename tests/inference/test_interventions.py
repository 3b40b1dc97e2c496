"""Each intervention changes exactly the intermediates that it names; they combine; hostile ones are refused.

What becomes of runs of the shipped models is compared with another program's in tests/js/engine.test.ts.
"""

import itertools
import json
from typing import Any

import pytest
import torch
from torch import Tensor

from transformer import Recorder, Translator
from transformer.inference.attention_maps import KINDS, LOCATIONS, Kind
from transformer.inference.interventions import (
    CHANGES,
    MAX_CHANGES,
    NOTHING,
    AblateHead,
    Change,
    DropResidual,
    EditMask,
    ForceWord,
    Interventions,
    Isolate,
    Positions,
    RemoveMask,
    SwapWord,
    Temperature,
)

from ..networks import agree, network
from .test_translator import assert_close

SENTENCE = "wort3 wort1 wort4"
SRC, TGT = torch.tensor([[3, 1, 4, 0, 0, 0]]), torch.tensor([[1, 5, 6, 7, 8]])
EVERY: list[Change] = [
    AblateHead("encoder", 0, 1),
    AblateHead("cross", 0, 3),
    Isolate("cross", 1, (0, 2)),
    RemoveMask("decoder"),
    RemoveMask("cross"),
    EditMask("encoder", 0, 2, False),
    EditMask("decoder", 1, 2, True),
    Positions("encoder", "removed"),
    Positions("decoder", "shuffled", 1),
    Temperature(temperature=3.0),
    Temperature("cross", temperature=0.5),
    DropResidual("encoder", 0, 2),
    DropResidual("decoder", 1, 3),
]
MODULES = {"encoder": "self_attn", "decoder": "self_attn", "cross": "cross_attn"}


def changes(*those: Change) -> Interventions:
    return Interventions(those)


def intermediates(*those: Change, src: Tensor = SRC, tgt: Tensor = TGT) -> dict[str, Tensor]:
    """Every intermediate of a full pass of a random network under changes, in the order of computation."""
    model, recorder = network(), Recorder()
    probe = changes(*those).probe(model.config, model.positions[:8])
    model(src, tgt, probe=(lambda name, value: recorder(name, probe(name, value))) if probe else recorder)
    return {name: value for name, (value,) in recorder.values.items()}


# Each intervention


@pytest.mark.parametrize("change", EVERY, ids=repr)
def test_the_first_changed_intermediate_is_one_that_the_change_names(change: Change) -> None:
    plain, changed = intermediates(), intermediates(change)
    named = set(change.names(network().config))
    assert named <= set(plain)
    differ = [name for name in plain if (plain[name].float() - changed[name].float()).abs().max() > 1e-5]
    assert set(differ[:1]) <= named
    assert "logits" in differ


@pytest.mark.parametrize("kind", KINDS)
def test_ablation_equals_zeroing_the_heads_columns_of_w_o(kind: Kind) -> None:
    model, plain = network(), intermediates(*(AblateHead(kind, 0, head) for head in (0, 2, 3)))
    agree(intermediates(Isolate(kind, 0, (1,)))["logits"], plain["logits"])
    attention = getattr(model, LOCATIONS[kind].stack).layers[1].get_submodule(MODULES[kind])
    with torch.no_grad():
        attention.out_proj.weight[:, 12:16] = 0  # head 3 of width 4
    agree(intermediates(AblateHead(kind, 1, 3))["logits"], model(SRC, TGT).logits)


def test_removed_positions_equal_a_network_without_them() -> None:
    model = network(positional_encoding=False)
    both = intermediates(Positions("encoder", "removed"), Positions("decoder", "removed"))
    agree(both["logits"], model(SRC, TGT).logits)
    one = intermediates(Positions("encoder", "removed"))
    assert not one["encoder.positions"].any()
    agree(one["decoder.positions"], intermediates()["decoder.positions"])


def test_a_forced_word_is_that_of_a_prefix_and_overrides_it(toy: Translator) -> None:
    run = toy.translate("ich möchte ein Bier", interventions=changes(ForceWord(3, "coke")))
    assert_close(run, toy.translate("ich möchte ein Bier", forced=("i", "want", "a", "coke")))
    first = toy.translate("ich möchte ein Bier", forced=("a",), interventions=changes(ForceWord(0, "i")))
    assert_close(first, toy.translate("ich möchte ein Bier"))


# Combined


def test_changes_combine() -> None:
    """Each has its effect, in either order."""
    those = (
        RemoveMask("cross"),
        EditMask("cross", 0, 4, False),
        AblateHead("cross", 0, 1),
        Temperature("cross", temperature=2.0),
        Temperature(temperature=3.0),
        Positions("encoder", "removed"),
    )
    one, two = intermediates(*those), intermediates(*reversed(those))
    for name in one:
        agree(one[name], two[name])
    mask = one["decoder.0.cross_attention.mask"]
    assert mask.sum() == mask.numel() - 4  # one cell closed in each of four heads, the rest open
    assert not one["decoder.0.cross_attention.head_output"][:, 1].any()
    assert not one["encoder.positions"].any()
    name = "decoder.0.cross_attention."
    expected = one[name + "q"] @ one[name + "k"].transpose(-2, -1) / 2 / 6  # its own temperature, and that of all
    agree(one[name + "scores"], expected)
    padded = intermediates(RemoveMask("decoder"), tgt=torch.tensor([[1, 5, 0, 7]]))
    assert padded["decoder.0.self_attention.mask"][0, 0].tolist() == [[True, True, False, True]] * 4


def test_interventions_are_a_set_of_changes() -> None:
    a, b = AblateHead("cross", 0, 1), Temperature(temperature=2)
    assert changes(a, b) == changes(b, a, a) != changes(a)
    assert hash(changes(a, b)) == hash(changes(b, a))
    assert Temperature(temperature=2) == Temperature(temperature=2.0)


@pytest.mark.parametrize(
    "two",
    [
        (EditMask("cross", 0, 0, True), EditMask("cross", 0, 0, False)),
        (Positions("encoder", "removed"), Positions("encoder", "shuffled", 1)),
        (Temperature(temperature=2.0), Temperature(temperature=3.0)),
        (SwapWord(0, "ein"), SwapWord(0, "ich")),
        (ForceWord(0, "a"), ForceWord(0, "i")),
        (Isolate("cross", 0, (0,)), Isolate("cross", 0, (1,))),
    ],
    ids=repr,
)
def test_changes_that_contradict_each_other_are_refused(two: tuple[Change, Change]) -> None:
    with pytest.raises(ValueError, match="contradicts"):
        changes(*two)


# As JSON


def test_changes_stand_in_the_order_of_their_numbers() -> None:
    forced = [ForceWord(step, word) for step, word in ((2, "beer"), (10, "a"))]
    ablated = [AblateHead("cross", layer, head) for layer in (2, 10) for head in (3, 11)]
    assert changes(*reversed(forced), *reversed(ablated)).changes == (*ablated, *forced)


def test_interventions_survive_json() -> None:
    these = changes(*EVERY, SwapWord(0, "ein"), ForceWord(2, "coke"))
    assert Interventions.parse(json.loads(json.dumps(these.to_json()))) == these
    assert {item["do"] for item in these.to_json()} == set(CHANGES)
    assert Interventions.parse([]) == NOTHING


ABLATE = {"do": "ablate", "kind": "cross", "layer": 0, "head": 0}


@pytest.mark.parametrize(
    "data",
    [
        "ablate",
        [{"do": "explode"}],
        [ABLATE | {"kind": "all"}],
        [ABLATE | {"layer": -1}],
        [ABLATE | {"layer": 10**5000}],
        [ABLATE | {"x" * 10_000: 1}],
        [{"do": "isolate", "kind": "cross", "layer": 0, "heads": []}],
        [{"do": "temperature", "temperature": 0}],
        [{"do": "temperature", "temperature": float("nan")}],
        [{"do": "positions", "stack": "cross", "how": "removed"}],
        [{"do": "swap_word", "position": 0, "word": "x" * 41}],
        [{"do": "force_word", "step": 0, "word": "a"}, {"do": "force_word", "step": 0, "word": "i"}],
        [ABLATE] * (MAX_CHANGES + 1),
    ],
    ids=itertools.count(),
)
def test_json_of_another_format_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"^[A-Za-z0-9].{3,400}[.)]$"):
        Interventions.parse(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (AblateHead("encoder", 2, 0), "layers of this kind are 0 to 1"),
        (AblateHead("cross", 0, 4), "heads are 0 to 3"),
        (Isolate("cross", 0, (0, 4)), "heads are 0 to 3"),
        (DropResidual("encoder", 2, 1), "layers of this stack are 0 to 1"),
        (DropResidual("decoder", 0, 0), "sublayers are 1 to 3"),
        (SwapWord(3, "wort1"), "positions of this sentence are 0 to 2"),
        (SwapWord(0, "bier"), "'bier' is not a word"),
        (SwapWord(0, "P"), "'P' is not a word"),
        (ForceWord(8, "word3"), "steps of this model are 0 to 7"),
        (ForceWord(0, "beer"), "'beer' is not a word"),
        (ForceWord(0, "S"), "'S' is not a word"),
    ],
    ids=repr,
)
def test_a_place_outside_the_model_is_refused(babbler: Translator, change: Change, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        babbler.translate(SENTENCE, interventions=changes(change))
