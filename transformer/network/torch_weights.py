"""Both stacks as PyTorch has them, torch.nn.Transformer, and back. Knows nothing of embeddings.

They compute the same under other names, and PyTorch stacks the projections of queries, keys and values in one matrix.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import Activation, TransformerConfig
from .layers import ACTIVATIONS
from .skeleton import init_empty_weights

PROJECTIONS = ("q_proj.", "k_proj.", "v_proj.")
_FINAL_NORM = {(False, False): "none", (True, False): "encoder", (True, True): "both"}


def our_names(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """A state_dict of torch.nn.Transformer or torch.nn.MultiheadAttention, as ours has it."""
    ours = {}
    for name, value in theirs.items():
        name = name.replace("multihead_attn", "cross_attn")
        if "in_proj_" in name:
            for projection, part in zip(PROJECTIONS, value.chunk(3), strict=True):
                ours[name.replace("in_proj_", projection)] = part
        else:
            ours[name] = value
    return ours


def our_fields(theirs: nn.Transformer) -> dict[str, Any]:
    """The fields of TransformerConfig that a torch.nn.Transformer determines.

    Raises:
        TypeError: it is not a torch.nn.Transformer.
        ValueError: its network is not one that TransformerConfig can describe; the message names the difference.
    """
    if not isinstance(theirs, nn.Transformer):
        raise TypeError(f"from_torch takes a torch.nn.Transformer, not a {type(theirs).__name__}")
    found = {}
    _check_kind("encoder", theirs.encoder, nn.TransformerEncoder)
    _check_kind("decoder", theirs.decoder, nn.TransformerDecoder)
    for name, stack, kind in (
        ("encoder", theirs.encoder, nn.TransformerEncoderLayer),
        ("decoder", theirs.decoder, nn.TransformerDecoderLayer),
    ):
        if not len(stack.layers):
            raise ValueError(f"the {name} has no layers")
        for i, layer in enumerate(stack.layers):
            _check_kind(f"{name}.layers.{i}", layer, kind)
            found[f"{name}.layers.{i}"] = _layer_fields(layer)
    (first, fields), *others = found.items()
    for other, values in others:
        for field, value in values.items():
            if value != fields[field]:
                # PyTorch copies the decoder's layers by a way on which a module as activation becomes ReLU.
                is_lost = field == "activation" and other.startswith("decoder") and value == "relu"
                hint = f" (PyTorch makes a module ReLU there: give the function, F.{fields[field]})" if is_lost else ""
                raise ValueError(
                    f"{field} is {fields[field]} in {first} but {value} in {other}{hint}; all layers are alike here"
                )
    for name, module in theirs.named_modules():
        if "norm" in name and (type(module) is not nn.LayerNorm or module.eps != 1e-5):
            raise ValueError(f"{name} is {module}; every norm here is a LayerNorm with eps=1e-05")
    norms = theirs.encoder.norm is not None, theirs.decoder.norm is not None
    if norms not in _FINAL_NORM:
        raise ValueError("only the decoder has a final norm; final_norm is none, encoder or both")
    depths = {"num_encoder_layers": len(theirs.encoder.layers), "num_decoder_layers": len(theirs.decoder.layers)}
    return {**fields, **depths, "final_norm": _FINAL_NORM[norms]}


def _check_kind(name: str, module: nn.Module, kind: type[nn.Module]) -> None:
    if type(module) is not kind:  # a subclass may compute something else
        raise ValueError(f"{name} is a {type(module).__name__}, not a torch.nn.{kind.__name__}")


def _layer_fields(layer: Any) -> dict[str, Any]:
    attention = layer.self_attn
    for each in (attention, getattr(layer, "multihead_attn", attention)):
        if each.in_proj_weight is None or each.bias_k is not None or each.add_zero_attn:
            raise ValueError("an attention has kdim, vdim, add_bias_kv or add_zero_attn, which the paper's has not")
    for name, module in layer.named_modules():
        p = {nn.Dropout: "p", nn.MultiheadAttention: "dropout"}.get(type(module))
        if p and getattr(module, p) != layer.dropout1.p:
            raise ValueError(
                f"the dropout of {name} is {getattr(module, p)}, but that of dropout1 is {layer.dropout1.p}; "
                "all dropouts of a layer are alike here"
            )
    return {
        "d_model": attention.embed_dim,
        "n_heads": attention.num_heads,
        "d_ff": layer.linear1.out_features,
        "dropout": layer.dropout1.p,
        "norm_first": layer.norm_first,
        "qkv_bias": attention.in_proj_bias is not None,
        "bias": layer.linear1.bias is not None,
        "activation": _activation_name(layer),
    }


def _activation_name(layer: Any) -> Activation:
    """PyTorch takes any function or module, so only its values tell."""
    points = torch.linspace(-5, 5, 101).to(layer.linear1.weight)
    for name, activation in ACTIVATIONS.items():
        if torch.allclose(layer.activation(points.clone()), activation(points.clone()), atol=1e-6):
            return name
    raise ValueError(f"the activation {layer.activation} is not one of {', '.join(ACTIVATIONS)}")


def to_torch_stacks(config: TransformerConfig, ours: dict[str, Tensor]) -> nn.Transformer:
    """A torch.nn.Transformer with copies of these weights, a state_dict of ours; biases that it lacks become zeros."""
    c = config
    layer: dict[str, Any] = {
        "dim_feedforward": c.d_ff,
        "dropout": c.dropout,
        "activation": getattr(F, c.activation),
        "norm_first": c.norm_first,
        "batch_first": True,
    }
    with init_empty_weights():
        theirs = nn.Transformer(
            c.d_model,
            c.n_heads,
            custom_encoder=nn.TransformerEncoder(
                nn.TransformerEncoderLayer(c.d_model, c.n_heads, **layer),
                c.num_encoder_layers,
                nn.LayerNorm(c.d_model) if c.final_norm != "none" else None,
                enable_nested_tensor=False,
            ),
            custom_decoder=nn.TransformerDecoder(
                nn.TransformerDecoderLayer(c.d_model, c.n_heads, **layer),
                c.num_decoder_layers,
                nn.LayerNorm(c.d_model) if c.final_norm == "both" else None,
            ),
            batch_first=True,
        )
    weights = {name: _torch_weight(name, ours).clone() for name in theirs.state_dict()}
    theirs.load_state_dict(weights, assign=True)
    return theirs.requires_grad_()


def _torch_weight(name: str, ours: dict[str, Tensor]) -> Tensor:
    name = name.replace("multihead_attn", "cross_attn")
    if "in_proj_" in name:
        return torch.cat([_torch_weight(name.replace("in_proj_", part), ours) for part in PROJECTIONS])
    if name not in ours and name.endswith(".bias"):
        weight = ours[name.removesuffix("bias") + "weight"]
        return weight.new_zeros(weight.size(0))
    return ours[name]
