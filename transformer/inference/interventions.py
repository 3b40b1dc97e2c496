"""Interventions: changes to a run as data, and the probe that makes them. Independent of text and checkpoints.

B batch, H heads, Q queries, K keys, T positions, D model width, d one head's width.
"""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, field, fields
from typing import Annotated, Any, ClassVar, Literal, get_args

import torch
from annotated_types import Ge, Le, Len, Lt
from pydantic import AfterValidator, ConfigDict, Discriminator, Strict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from torch import Tensor

from ..network.config import TransformerConfig
from ..network.probe import Probe
from .attention_maps import KINDS, LOCATIONS, Kind

Stack = Literal["encoder", "decoder"]
MAX_CHANGES = 500  # at once; the toy has 144 heads
MAX_WORD = 40  # characters
Index = Annotated[int, Strict(), Ge(0), Lt(2**63)]
Heads = Annotated[tuple[Index, ...], Len(1), AfterValidator(lambda heads: tuple(sorted(set(heads))))]
Word = Annotated[str, Strict(), Len(1, MAX_WORD)]
# Of an integer that a link writes unchanged; others count from 0 here and from 1 in a link.
NOT_COUNTED = {"counted": False}


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Change:
    """One change. All positions count from 0.

    The page reads off the fields, in their order, how a link writes a change. Raises ValueError: a value that means
    nothing in any network; the message names it.
    """

    do: str = field(kw_only=True, repr=False)  # what the change is called in JSON and in links
    of_sentence: ClassVar[bool] = False  # whether it means nothing for another sentence
    # The fields of the place that it changes, all where none are named: two changes of one place contradict.
    at: ClassVar[tuple[str, ...]] = ()

    @property
    def place(self) -> tuple[Any, ...]:
        return (self.do, *(getattr(self, name) for name in self.at or (each.name for each in fields(self))))

    def check(self, config: TransformerConfig) -> None:
        """Raises ValueError where a network of this shape has no such layer, sublayer or head."""

    def names(self, config: TransformerConfig) -> Iterator[str]:
        """The intermediates that it replaces; none if it changes the source or the output."""
        yield from ()

    def replace(self, value: Tensor, positions: Tensor) -> Tensor:
        """The new value of one of those intermediates; `positions` (N, D) are all positions that this run can reach."""
        raise NotImplementedError


def _every_layer(config: TransformerConfig, kind: Kind, part: str) -> Iterator[str]:
    yield from (LOCATIONS[kind].probe_name(layer, part) for layer in range(config.layers(LOCATIONS[kind].stack)))


@dataclass(frozen=True)
class HeadChange(Change):
    """A change to heads of one layer."""

    kind: Kind
    layer: Index

    def check(self, config: TransformerConfig) -> None:
        _within("layers of this kind", self.layer, config.layers(LOCATIONS[self.kind].stack))

    def names(self, config: TransformerConfig) -> Iterator[str]:
        yield LOCATIONS[self.kind].probe_name(self.layer, "head_output")


@dataclass(frozen=True)
class AblateHead(HeadChange):
    """Ablate a head: its output becomes zero before W_O (§3.2.2). Its attention weights stay."""

    do: Literal["ablate"] = field(default="ablate", kw_only=True, repr=False)
    head: Index

    def check(self, config: TransformerConfig) -> None:
        super().check(config)
        _within("heads", self.head, config.n_heads)

    def replace(self, value: Tensor, positions: Tensor) -> Tensor:
        return value.index_fill(1, torch.tensor([self.head], device=value.device), 0)  # (B, H, Q, d)


@dataclass(frozen=True)
class Isolate(HeadChange):
    """Ablate all heads of a layer except these."""

    do: Literal["isolate"] = field(default="isolate", kw_only=True, repr=False)
    at: ClassVar[tuple[str, ...]] = ("kind", "layer")
    heads: Heads

    def check(self, config: TransformerConfig) -> None:
        super().check(config)
        _within("heads", self.heads[-1], config.n_heads)

    def replace(self, value: Tensor, positions: Tensor) -> Tensor:
        others = [head for head in range(value.size(1)) if head not in self.heads]
        return value.index_fill(1, torch.tensor(others, dtype=torch.long, device=value.device), 0)


@dataclass(frozen=True)
class RemoveMask(Change):
    """In every layer of a kind, each query may attend to every key: in the encoder and in cross-attention also to
    padding, in the decoder also to the future (its padding stays masked)."""

    do: Literal["remove_mask"] = field(default="remove_mask", kw_only=True, repr=False)
    kind: Kind

    def names(self, config: TransformerConfig) -> Iterator[str]:
        return _every_layer(config, self.kind, "mask")

    def replace(self, value: Tensor, positions: Tensor) -> Tensor:
        if self.kind != "decoder":
            return torch.ones_like(value)
        return value[..., -1:, :].expand_as(value)  # the last row has no future: only padding is masked in it


@dataclass(frozen=True)
class EditMask(Change):
    """Whether one query may attend to one key, in every layer of a kind."""

    do: Literal["edit_mask"] = field(default="edit_mask", kw_only=True, repr=False)
    of_sentence: ClassVar[bool] = True
    at: ClassVar[tuple[str, ...]] = ("kind", "query", "key")
    kind: Kind
    query: Index
    key: Index
    allowed: Annotated[bool, Strict()]

    def names(self, config: TransformerConfig) -> Iterator[str]:
        return _every_layer(config, self.kind, "mask")

    def replace(self, value: Tensor, positions: Tensor) -> Tensor:
        if self.query >= value.size(-2) or self.key >= value.size(-1):
            return value  # the decoder has not reached this cell yet
        value = value.clone()  # (B, H, Q, K)
        value[..., self.query, self.key] = self.allowed
        return value


@dataclass(frozen=True)
class Positions(Change):
    """Remove the positional encodings of a stack, or permute them by seed."""

    do: Literal["positions"] = field(default="positions", kw_only=True, repr=False)
    at: ClassVar[tuple[str, ...]] = ("stack",)
    stack: Stack
    how: Literal["removed", "shuffled"]
    seed: Index = field(default=0, metadata=NOT_COUNTED)

    def names(self, config: TransformerConfig) -> Iterator[str]:
        yield f"{self.stack}.positions"

    def replace(self, value: Tensor, positions: Tensor) -> Tensor:
        if self.how == "removed":
            return torch.zeros_like(value)
        # A source is permuted within its length. The decoder input grows and earlier words must not move, so its
        # positions are drawn from all that the run can reach.
        these = value if self.stack == "encoder" else positions
        order = torch.randperm(len(these), generator=torch.Generator().manual_seed(self.seed))
        return these[order.to(these.device)][: len(value)]


@dataclass(frozen=True)
class Temperature(Change):
    """Scores are divided by it before the softmax: above 1 attention spreads out, below 1 it sharpens."""

    do: Literal["temperature"] = field(default="temperature", kw_only=True, repr=False)
    at: ClassVar[tuple[str, ...]] = ("kind",)
    kind: Literal["all", "encoder", "decoder", "cross"] = "all"
    temperature: Annotated[float, Strict(), Ge(0.01), Le(100)] = field(kw_only=True)

    def names(self, config: TransformerConfig) -> Iterator[str]:
        for kind in KINDS if self.kind == "all" else (self.kind,):
            yield from _every_layer(config, kind, "scores")

    def replace(self, value: Tensor, positions: Tensor) -> Tensor:
        return value / self.temperature


@dataclass(frozen=True)
class DropResidual(Change):
    """LayerNorm(Sublayer(x)) instead of LayerNorm(x + Sublayer(x)) (§3.1). Sublayers count from 1, as norms do."""

    do: Literal["drop_residual"] = field(default="drop_residual", kw_only=True, repr=False)
    stack: Stack
    layer: Index
    sublayer: Index = field(metadata=NOT_COUNTED)

    def check(self, config: TransformerConfig) -> None:
        _within("layers of this stack", self.layer, config.layers(self.stack))
        _within("sublayers", self.sublayer, 2 if self.stack == "encoder" else 3, first=1)

    def names(self, config: TransformerConfig) -> Iterator[str]:
        yield f"{self.stack}.{self.layer}.residual{self.sublayer}"

    def replace(self, value: Tensor, positions: Tensor) -> Tensor:
        return torch.zeros_like(value)


@dataclass(frozen=True)
class SwapWord(Change):
    """Replace the word at a position of the source."""

    do: Literal["swap_word"] = field(default="swap_word", kw_only=True, repr=False)
    of_sentence: ClassVar[bool] = True
    at: ClassVar[tuple[str, ...]] = ("position",)
    position: Index
    word: Word


@dataclass(frozen=True)
class ForceWord(Change):
    """Force the output of one step; decoding continues from it."""

    do: Literal["force_word"] = field(default="force_word", kw_only=True, repr=False)
    of_sentence: ClassVar[bool] = True
    at: ClassVar[tuple[str, ...]] = ("step",)
    step: Index
    word: Word


# All interventions. If two change the same tensor, they apply in this order.
AnyChange = AblateHead | Isolate | RemoveMask | EditMask | Positions | Temperature | DropResidual | SwapWord | ForceWord
CHANGES: dict[str, type[Change]] = {change.do: change for change in get_args(AnyChange)}
_ORDER = list(CHANGES)
_CHANGES = TypeAdapter(tuple[Annotated[AnyChange, Discriminator("do")], ...])


@dataclasses.dataclass(frozen=True)
class Interventions:
    """A set of changes: two sets with the same changes are equal, in any order. Raises ValueError: there are too many,
    or two contradict each other."""

    changes: tuple[Change, ...] = ()

    def __post_init__(self) -> None:
        if len(self.changes) > MAX_CHANGES:
            raise ValueError(f"At most {MAX_CHANGES} changes can be made at once.")
        changes = dict.fromkeys(self.changes)
        places: dict[tuple[Any, ...], Change] = {}
        for change in changes:
            if (other := places.setdefault(change.place, change)) is not change:
                raise ValueError(f"{change} contradicts {other}.")
        ordered = sorted(changes, key=lambda change: (_ORDER.index(change.do), astuple(change)))
        object.__setattr__(self, "changes", tuple(ordered))

    @classmethod
    def parse(cls, data: Any) -> "Interventions":
        """Read the format of `to_json` from an untrusted value. Raises ValueError: the value has another format or is
        invalid; the message is a sentence."""
        if not isinstance(data, list):
            raise ValueError("Changes are a list.")
        try:
            return cls(_CHANGES.validate_python(tuple(data[: MAX_CHANGES + 1])))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"][1:]))
            raise ValueError(f"{place[:100] or 'A change'}: {first['msg']}.") from None

    def to_json(self) -> list[dict[str, Any]]:
        """One object per change: `{"do": "ablate", "kind": "cross", "layer": 0, "head": 3}`."""
        return [asdict(change) for change in self.changes]

    def check(self, config: TransformerConfig) -> None:
        """Raises ValueError where a network of this shape has no such layer, sublayer or head."""
        for change in self.changes:
            change.check(config)

    def probe(self, config: TransformerConfig, positions: Tensor) -> Probe | None:
        """The probe that makes the changes in a network of this shape; None if they change only source and output.

        It needs full passes: the decoder reads all positions at once. `positions` (N, D) are all that it can reach.
        """
        table: dict[str, list[Callable[[Tensor, Tensor], Tensor]]] = {}
        for change in self.changes:
            for name in change.names(config):
                table.setdefault(name, []).append(change.replace)

        def see(name: str, value: Tensor) -> Tensor:
            for replace in table.get(name, ()):
                value = replace(value, positions)
            return value

        return see if table else None


NOTHING = Interventions()


def _within(what: str, value: int, count: int, first: int = 0) -> None:
    if not first <= value < first + count:
        raise ValueError(f"The {what} are {first} to {first + count - 1}.")
