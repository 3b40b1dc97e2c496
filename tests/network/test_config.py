"""A configuration is whole and possible, or it does not exist."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    assert not config.norm_first
    assert config.final_norm == "none"
    assert config.scale_embeddings
    assert config.embedding_dropout == "after"


@pytest.mark.parametrize("value", [0, -3, 2.5, True, "64", None])
@pytest.mark.parametrize("name", SIZE_FIELDS)
def test_a_size_is_a_whole_number_from_1(name: str, value: object) -> None:
    message = refusal(**{name: value})
    assert name in message
    assert repr(value) in message


@pytest.mark.parametrize("value", [1, "yes", None])
@pytest.mark.parametrize("name", BOOL_FIELDS)
def test_a_switch_is_true_or_false(name: str, value: object) -> None:
    message = refusal(**{name: value})
    assert name in message
    assert repr(value) in message


@pytest.mark.parametrize("dropout", [1.0, -0.1, float("nan"), "x", True, None])
def test_dropout_is_a_probability_below_1(dropout: object) -> None:
    message = refusal(dropout=dropout)
    assert "dropout" in message
    assert repr(dropout) in message


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"d_model": 64, "n_heads": 5}, ("d_model (64)", "n_heads (5)")),
        ({"pad_id": -1}, ("pad_id (-1)", "src_vocab_size (11)")),
        ({"pad_id": 11}, ("pad_id (11)", "src_vocab_size (11)")),
        ({"pad_id": 9, "tgt_vocab_size": 9}, ("pad_id (9)", "tgt_vocab_size (9)")),
        ({"pad_id": 0.0}, ("pad_id (0.0)",)),
        ({"pad_id": False}, ("pad_id (False)",)),
        ({"final_norm": "decoder"}, ("final_norm ('decoder')", "none, encoder, both")),
        ({"final_norm": True}, ("final_norm (True)",)),
        ({"embedding_dropout": "during"}, ("embedding_dropout ('during')", "after, before, none")),
        ({"tie_weights": True}, ("tie_weights", "src_vocab_size (11)", "tgt_vocab_size (13)")),
    ],
)
def test_the_message_names_the_fields_and_their_values(fields: dict[str, Any], named: tuple[str, ...]) -> None:
    message = refusal(**fields)
    for words in named:
        assert words in message


@given(d_model=st.integers(1, 200), n_heads=st.integers(1, 20))
def test_heads_share_the_width_evenly_or_not_at_all(d_model: int, n_heads: int) -> None:
    if d_model % n_heads:
        assert f"({d_model})" in refusal(d_model=d_model, n_heads=n_heads)
    else:
        assert TransformerConfig(**(SIZES | {"d_model": d_model, "n_heads": n_heads})).head_dim * n_heads == d_model


def test_it_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TransformerConfig(**SIZES).d_model = 32  # type: ignore[misc]
