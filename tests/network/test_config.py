"""A configuration is valid, or it does not exist."""

import dataclasses
from typing import Any

import pytest

from transformer import TransformerConfig

from ..networks import SIZES

SIZE_FIELDS = [f.name for f in dataclasses.fields(TransformerConfig) if f.type is int and f.name != "pad_id"]
BOOL_FIELDS = [f.name for f in dataclasses.fields(TransformerConfig) if f.type is bool]


def refusal(**fields: Any) -> str:
    with pytest.raises(ValueError, match=r"^[a-z_]+ .*\(") as error:
        TransformerConfig(**(SIZES | fields))
    return str(error.value)


def test_defaults_are_the_papers_base_model() -> None:
    config = TransformerConfig(10_000, 10_000)
    assert (config.d_model, config.d_ff, config.n_heads, config.head_dim) == (512, 2048, 8, 64)
    assert (config.num_encoder_layers, config.num_decoder_layers, config.dropout) == (6, 6, 0.1)
    assert (config.norm_first, config.final_norm) == (False, "none")
    assert (config.scale_embeddings, config.embedding_dropout) == (True, "after")
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 32  # type: ignore[misc]


INVALID: dict[str, list[Any]] = {
    **{name: [0, -3, 2.5, True, "64", None] for name in SIZE_FIELDS},
    **{name: [1, "yes", None] for name in BOOL_FIELDS},
    "dropout": [1.0, -0.1, float("nan"), "x", True, None],
    "pad_id": [-1, 11, 0.0, False],
    "final_norm": ["decoder", True, []],
    "embedding_dropout": ["during", None],
    "activation": ["tanh", "ReLU", "", None, ["relu"]],
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_value_is_refused_by_name(name: str) -> None:
    for value in INVALID[name]:
        assert f"{name} ({value!r})" in refusal(**{name: value})


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"d_model": 64, "n_heads": 5}, ("d_model (64)", "n_heads (5)")),
        ({"pad_id": 9, "tgt_vocab_size": 9}, ("pad_id (9)", "tgt_vocab_size (9)")),
        ({"final_norm": "decoder"}, ("none, encoder, both",)),
        ({"tie_weights": True}, ("tie_weights", "src_vocab_size (11)", "tgt_vocab_size (13)")),
    ],
)
def test_values_that_contradict_each_other_are_refused(fields: dict[str, Any], named: tuple[str, ...]) -> None:
    message = refusal(**fields)
    assert all(words in message for words in named)
