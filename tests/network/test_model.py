"""The network agrees with PyTorch's, obeys its masks, decodes from its cache, and every configuration field counts."""

from functools import cache
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from transformer import Recorder, Transformer

from ..networks import SIZES, agree, any_padding, network

shared_network = cache(network)  # for tests that leave it as it is
SRC, TGT = torch.tensor([[3, 4, 5, 6], [1, 2, 0, 0]]), torch.tensor([[7, 8, 9], [10, 11, 0]])
PADDING_CASES = [  # (source, target)
    ([[1, 2]], [[1, 2, 0]]),
    ([[0, 0, 1]], [[0, 1, 0, 2]]),
    ([[0, 0], [1, 2]], [[1], [2]]),
    ([[1], [2]], [[1, 2], [0, 0]]),
    ([[0]], [[0]]),
]


def for_any_padding(test: Any) -> Any:
    """Run a test on generated ids, and on cases that break other implementations."""
    test = settings(max_examples=10)(given(ids=any_padding())(test))
    for src, tgt in PADDING_CASES:
        test = example(ids=(torch.tensor(src), torch.tensor(tgt)))(test)
    return test


def watch(model: Transformer) -> dict[str, Tensor]:
    """Every intermediate of one pass."""
    recorder = Recorder()
    model(SRC, TGT, probe=recorder)
    return {name: value for name, (value,) in recorder.values.items()}


# Parity with torch.nn.Transformer


def pytorchs(**shape: Any) -> nn.Transformer:
    """A torch.nn.Transformer of this module's sizes with random norms and biases: ones and zeros would hide a swap."""
    sizes = {"d_model": 16, "nhead": 4, "dim_feedforward": 32, "num_encoder_layers": 2, "num_decoder_layers": 2}
    theirs = nn.Transformer(**(sizes | {"batch_first": True} | shape)).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.5)
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    ("seed", "shape"),
    [
        (0, {}),
        (1, {"d_model": 24, "nhead": 3, "dim_feedforward": 40, "num_decoder_layers": 3, "activation": F.silu}),
        (2, {"d_model": 10, "nhead": 1, "dim_feedforward": 7, "num_encoder_layers": 1, "activation": "gelu"}),
        (3, {"norm_first": True, "bias": False, "activation": "gelu"}),
        (4, {"norm_first": True, "dtype": torch.float64}),
    ],
)
def test_weights_of_torch_nn_transformer_give_its_numbers_and_go_back(seed: int, shape: dict[str, Any]) -> None:
    torch.manual_seed(seed)
    theirs = pytorchs(**shape)
    ours = Transformer.from_torch(theirs, SIZES["src_vocab_size"], SIZES["tgt_vocab_size"], max_len=9)
    assert not ours.training
    watched = watch(ours)
    masked_src, masked_tgt = SRC == 0, TGT == 0  # PyTorch's True = may NOT attend
    for peer in (theirs, ours.to_torch()):
        decoded = peer(
            watched["encoder.input"],
            watched["decoder.input"],
            tgt_mask=torch.ones(TGT.size(1), TGT.size(1), dtype=torch.bool).triu(1),
            src_key_padding_mask=masked_src,
            tgt_key_padding_mask=masked_tgt,
            memory_key_padding_mask=masked_src,
        )
        agree(watched["decoder.output"][~masked_tgt], decoded[~masked_tgt], atol=1e-4)
    assert ours.config.max_len == 9
    with torch.no_grad():  # copies
        ours.to_torch().encoder.layers[0].norm1.weight.zero_()
        ours.encoder.layers[0].norm1.weight.zero_()
    assert theirs.encoder.layers[0].norm1.weight.any()


@pytest.mark.parametrize("fields", [{}, {"final_norm": "encoder"}, {"final_norm": "both", "norm_first": True}])
def test_a_network_comes_back_from_pytorch(fields: dict[str, Any]) -> None:
    ours = network(dropout=0.3, activation="gelu", **fields).train()
    theirs = ours.to_torch()
    assert theirs.training
    assert all(parameter.requires_grad for parameter in theirs.parameters())
    again = Transformer.from_torch(theirs, SIZES["src_vocab_size"], SIZES["tgt_vocab_size"], max_len=SIZES["max_len"])
    assert again.config == ours.config
    for name, value in again.state_dict().items():
        assert torch.equal(value, ours.state_dict()[name]) is ("embedding" not in name and "projection" not in name)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("theirs.encoder = nn.GRU(1, 1)", "encoder is a GRU, not a torch.nn.TransformerEncoder"),
        (
            "theirs.decoder.layers[1] = nn.TransformerDecoderLayer(16, 2, 32)",
            "n_heads is 4 in encoder.layers.0 but 2 in",
        ),
        ("theirs.decoder.layers[0].norm3.eps = 1e-6", "decoder.layers.0.norm3 is LayerNorm"),
        ("theirs.__init__(16, 4, 2, 2, 32, activation=nn.SiLU())", r"give the function, F\.silu"),
        ("theirs.encoder.layers[0].self_attn = nn.MultiheadAttention(16, 4, add_bias_kv=True)", "add_bias_kv"),
        ("theirs.decoder.layers[1].multihead_attn.dropout = 0.7", "the dropout of multihead_attn is 0.7"),
        ("nn.utils.parametrizations.weight_norm(theirs.encoder.layers[1].linear2)", "linear2.parametrizations"),
    ],
)
def test_a_torch_network_that_this_package_cannot_have_is_refused(change: str, named: str) -> None:
    theirs = pytorchs()
    exec(change, {"theirs": theirs, "nn": nn})
    with pytest.raises(ValueError, match=named):
        Transformer.from_torch(theirs, 11, 13)
    with pytest.raises(TypeError, match=r"takes a torch.nn.Transformer, not a Linear"):
        Transformer.from_torch(nn.Linear(1, 1), 11, 13)  # type: ignore[arg-type]


@for_any_padding
def test_without_weights_the_logits_are_the_same(ids: tuple[Tensor, Tensor]) -> None:
    model = shared_network()
    fused = model(*ids, need_weights=False)
    assert fused.attention is None
    agree(fused.logits, model(*ids).logits)


# Masks


@pytest.mark.parametrize("need_weights", [True, False])
@for_any_padding
def test_every_padding_gives_finite_numbers_and_gradients(ids: tuple[Tensor, Tensor], need_weights: bool) -> None:
    model = network()
    out = model(*ids, need_weights=need_weights)
    maps = (*out.attention.encoder, *out.attention.decoder, *out.attention.cross) if need_weights else ()
    sum(x.square().sum() for x in (out.logits, *maps)).backward()
    assert all(x.isfinite().all() for x in (out.logits, *maps))
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@for_any_padding
def test_padding_is_exactly_zero_and_other_rows_sum_to_1(ids: tuple[Tensor, Tensor]) -> None:
    src, tgt = ids
    attention, causal = shared_network()(src, tgt).attention, torch.ones(tgt.size(1), tgt.size(1)).tril().bool()
    for maps, allowed in (
        (attention.encoder, (src != 0)[:, None, None, :]),
        (attention.decoder, (tgt != 0)[:, None, None, :] & causal),
        (attention.cross, (src != 0)[:, None, None, :]),
    ):
        for weights in maps:
            allowed = allowed.expand_as(weights)
            assert (weights[~allowed] == 0).all()
            assert (weights[allowed] > 0).all()
            agree(weights.sum(-1), allowed.any(-1).float())


@settings(max_examples=12)
@given(any_padding(), st.data())
def test_a_future_token_never_changes_an_earlier_row(ids: tuple[Tensor, Tensor], data: st.DataObject) -> None:
    src, tgt = ids
    t = data.draw(st.integers(0, tgt.size(1) - 1), label="changed position")
    other = tgt.clone()
    other[:, t:] = data.draw(st.integers(0, SIZES["tgt_vocab_size"] - 1), label="changed to")
    before, after = shared_network()(src, tgt), shared_network()(src, other)
    agree(before.logits[:, :t], after.logits[:, :t])
    for kind in ("decoder", "cross"):
        for one, two in zip(getattr(before.attention, kind), getattr(after.attention, kind), strict=True):
            agree(one[:, :, :t], two[:, :, :t])


@pytest.mark.parametrize(("name", "kind"), [("src_mask", "encoder"), ("tgt_mask", "decoder"), ("memory_mask", "cross")])
def test_a_given_mask_replaces_its_own_default_only(name: str, kind: str) -> None:
    maps = network()(SRC, SRC, **{name: torch.ones(4, 4, dtype=torch.bool)}).attention
    for each in ("encoder", "decoder", "cross"):
        for weights in getattr(maps, each):
            assert (weights > 0).all().item() is (each == kind)


# Refusals

ONES = torch.ones(2, 4, dtype=torch.long)


@pytest.mark.parametrize(
    ("src", "tgt", "message"),
    [
        *((torch.ones(shape, dtype=torch.long), ONES, "src has shape") for shape in ((3,), (2, 0), (1, 2, 3))),
        (ONES, ONES[0], "tgt has shape"),
        (ONES[:1], ONES, "tgt holds 2 sentences, but the source holds 1"),
        (ONES, ONES[:1], "tgt holds 1 sentences, but the source holds 2"),
        (torch.ones(2, 33, dtype=torch.long), ONES, r"33 .*max_len \(32\)"),
        (ONES, torch.ones(2, 33, dtype=torch.long), r"33 .*max_len \(32\)"),
        (ONES * 11, ONES, "src holds id 11; src_vocab_size is 11"),
        (ONES, torch.tensor([[1, 2], [-1, 2]]), "tgt holds id -1; tgt_vocab_size is 13"),
        (ONES.float(), ONES, "src is torch.float32; ids are torch.int64 or torch.int32"),
    ],
)
def test_other_ids_are_refused(src: Tensor, tgt: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shared_network()(src, tgt)


@pytest.mark.parametrize("name", ["src_mask", "tgt_mask", "memory_mask"])
def test_a_mask_of_another_shape_or_type_is_refused(name: str) -> None:
    for shape in ((2, 4), (4,), (2, 4, 4), (2, 1, 7, 7)):
        with pytest.raises(ValueError, match=rf"{name} has shape .*expected \(4, 4\) or four dimensions"):
            shared_network()(ONES, ONES, **{name: torch.ones(shape, dtype=torch.bool)})
    with pytest.raises(ValueError, match=f"{name} is torch.float32"):
        shared_network()(ONES, ONES, **{name: torch.zeros(4, 4)})


def test_cached_decoding_refuses_another_batch_size_and_more_than_max_len() -> None:
    model, one = network(max_len=4), ONES[:1, :1]
    encoded, caches = model.encode(one), model.start_cache()
    for _ in range(4):
        model.decode_step(one, encoded, caches)
    with pytest.raises(ValueError, match=r"5 .*max_len \(4\)"):
        model.decode_step(one, encoded, caches)
    with pytest.raises(ValueError, match="tgt holds 2 sentences, but the cache holds 1"):
        model.decode_step(ONES[:, :1], model.encode(ONES), caches)
    with pytest.raises(ValueError, match="tgt holds id 13; tgt_vocab_size is 13"):
        model.decode_step(one * 13, encoded, model.start_cache())


# What the configuration decides (analysis/test_self_checks.py compares norms, activations and biases with PyTorch)


@pytest.mark.parametrize("where", ["before", "after", "none"])
def test_embedding_dropout_is_applied_where_configured(where: str) -> None:
    seen = watch(network(dropout=0.5, embedding_dropout=where).train())
    for stack in ("encoder", "decoder"):
        embedding, positions = seen[f"{stack}.embedding"], seen[f"{stack}.positions"].unsqueeze(0)
        expected, actual = embedding + positions, seen[f"{stack}.input"]
        if where == "before":
            expected, actual = embedding, actual - positions
        kept = actual.abs() > 1e-5
        assert kept.all() if where == "none" else 0.3 < kept.float().mean() < 0.7
        agree(actual[kept], expected.expand_as(actual)[kept] * (1 if where == "none" else 2))


def test_dropout_is_applied_to_every_sublayers_output_in_training_only() -> None:
    model = network(dropout=0.5, norm_first=True)
    assert torch.equal(model(SRC, TGT).logits, model(SRC, TGT).logits)
    seen = watch(model.train())
    sublayers = {"encoder.0": ["self_attention"], "decoder.0": ["self_attention", "cross_attention"]}
    for layer, names in sublayers.items():
        for n, sublayer in enumerate([*names, "feed_forward"], start=1):
            change = seen[f"{layer}.sum{n}"] - seen[f"{layer}.residual{n}"]
            kept = change != 0
            assert 0.3 < kept.float().mean() < 0.7
            agree(change[kept], 2 * seen[f"{layer}.{sublayer}.output"][kept])


@pytest.mark.parametrize("attention_dropout", [True, False])
def test_attention_dropout_decides_whether_weights_are_dropped(attention_dropout: bool) -> None:
    seen = watch(network(dropout=0.5, attention_dropout=attention_dropout).train())
    for name in ("encoder.0.self_attention", "decoder.0.self_attention", "decoder.0.cross_attention"):
        undropped = seen[f"{name}.weights"] @ seen[f"{name}.v"]
        assert ((seen[f"{name}.head_output"] - undropped).abs().max() > 0.01) == attention_dropout


@pytest.mark.parametrize("pad_id", [1, 5, 10])
def test_pad_id_decides_which_columns_are_masked(pad_id: int) -> None:
    src, tgt = torch.arange(11)[None], torch.arange(13)[None]
    maps = network(pad_id=pad_id)(src, tgt).attention
    for weights in (*maps.encoder, *maps.cross):
        assert ((weights == 0).all(dim=-2)[0] == (torch.arange(11) == pad_id)).all()
    for weights in maps.decoder:
        assert (weights[0, :, -1] == 0).all(dim=0).tolist() == [i == pad_id for i in range(13)]
