"""Weights of PyTorch's own modules under our names."""

from torch import Tensor, nn

from transformer import Transformer


def our_names(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """A state_dict of torch.nn.Transformer or torch.nn.MultiheadAttention, as ours has it."""
    ours = {}
    for name, value in theirs.items():
        name = name.replace("multihead_attn", "cross_attn")
        if "in_proj_" in name:  # queries, keys and values stacked in one matrix
            for projection, part in zip(("q_proj.", "k_proj.", "v_proj."), value.chunk(3), strict=True):
                ours[name.replace("in_proj_", projection)] = part
        else:
            ours[name] = value
    return ours


def load_stacks(ours: Transformer, theirs: nn.Transformer) -> None:
    """Give `ours` both stacks of `theirs`; embeddings and output projection, which PyTorch leaves out, stay ours."""
    missing, unexpected = ours.load_state_dict(our_names(theirs.state_dict()), strict=False)
    assert {name.split(".")[0] for name in missing} == {"src_embedding", "tgt_embedding", "output_projection"}
    assert not unexpected
