"""One run: its tokens, its decoding steps and every attention map, as values that nothing changes.

S source, T target, D model width, V target vocabulary.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from torch import Tensor

from ..data.vocabulary import END
from .attention_maps import KINDS, AttentionMaps, Kind
from .decoding import Hypothesis, ranked
from .interventions import NOTHING, Interventions
from .value_weighted import ValueWeighted
from .words import TokenWords, map_of_words, names_of, words_of

if TYPE_CHECKING:
    import pandas as pd

    from .translator import Translator

FEW_CANDIDATES = 32  # are ranked without all others
Tokens = tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A token that could come next, and its probability."""

    token: str
    probability: float


class Candidates(Sequence[Candidate]):
    """Every token of a vocabulary, most likely first; of equally likely ones the lower id first.

    They are ranked and made on access: a run has millions, of which a page shows ten at each step. What needs the
    probabilities of all takes the distribution, (V,), by id.
    """

    def __init__(self, tokens: Tokens, distribution: Tensor) -> None:
        self._tokens = tokens
        self.distribution = distribution.to("cpu", copy=True)  # a row of a batch would keep the batch

    def __len__(self) -> int:
        return len(self.distribution)

    def probability_of(self, token: str) -> float:
        """The probability of one token. Raises ValueError: it is not in the vocabulary."""
        return float(self.distribution[self._tokens.index(token)])

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, place: int | slice) -> Candidate | tuple[Candidate, ...]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        place = range(len(self))[place]
        probabilities, ids = self._first if place < FEW_CANDIDATES else self._all
        return Candidate(self._tokens[ids[place]], probabilities[place])

    def __iter__(self) -> Iterator[Candidate]:
        probabilities, ids = self._all
        return (Candidate(self._tokens[i], p) for i, p in zip(ids, probabilities, strict=True))

    @cached_property
    def _first(self) -> tuple[list[float], list[int]]:
        return self._ranked(FEW_CANDIDATES)

    @cached_property
    def _all(self) -> tuple[list[float], list[int]]:
        return self._ranked(len(self))

    def _ranked(self, count: int) -> tuple[list[float], list[int]]:
        probabilities, ids = ranked(self.distribution, count)
        return probabilities.tolist(), ids.tolist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class TranslationStep:
    """One decoding step: the output token and every candidate of V, most likely first.

    If the token was forced or sampled, the first candidate is still the model's own prediction.
    """

    token: str
    probability: float
    candidates: Candidates


@dataclass(frozen=True, eq=False)
class InputSum:
    """The input of a stack: embedding (× sqrt(d_model), §3.4) + position (§3.5), each (tokens, D), read-only."""

    tokens: tuple[str, ...]
    embedding: np.ndarray
    positions: np.ndarray
    input: np.ndarray


@dataclass(frozen=True, eq=False)
class Translation:
    """One run: its tokens, its decoding steps and every attention map."""

    sentence: str  # as it was typed
    text: str  # the translation
    source: tuple[str, ...]  # the encoder's input tokens, padding included
    decoder_input: tuple[str, ...]  # S first: the rows of decoder and cross-attention maps
    output: tuple[str, ...]  # output t was predicted from input t; it ends on E unless decoding hit its limit
    steps: tuple[TranslationStep, ...]  # one per output token
    attention: AttentionMaps  # from the decoding that made the text; under interventions, from its last pass
    source_input: InputSum  # embedding + position = input
    target_input: InputSum
    checkpoint: str  # the model's name
    device: str  # that it ran on
    interventions: Interventions = NOTHING  # the changes made to this run
    typed: tuple[str, ...] = ()  # the source as it was typed: "Möchte" where the token is "mochte"
    in_pieces: bool = False  # whether the tokens are pieces of words
    drawn: tuple[int, ...] = ()  # the steps whose tokens were drawn, neither the model's choice nor forced
    probed: bool = False  # made with a caller's probe, without which no other pass has the same numbers
    value_weighted: ValueWeighted | None = None  # what each key adds to each query, where `translate` was asked for it
    translator: "Translator | None" = None  # that made it

    def __repr__(self) -> str:
        return f"Translation({self.sentence!r} -> {self.text!r}, {len(self.steps)} steps, {self.checkpoint})"

    @property
    def complete(self) -> bool:
        """Whether the output ends on E."""
        return self.output[-1] == END

    @property
    def log_probability(self) -> float:
        """Log-probability of the output, nats; a forced token's that underflows counts as the smallest number."""
        return sum(math.log(step.probability or sys.float_info.min) for step in self.steps)

    def words(self) -> tuple[TokenWords, TokenWords, TokenWords]:
        """The words that the tokens of source, decoder input and output make; each token is one where none is a
        piece."""
        source, decoder_input, output = self.source, self.decoder_input, self.output
        if not self.in_pieces:
            return tuple(TokenWords(tuple(range(len(each))), each) for each in (source, decoder_input, output))  # type: ignore[return-value]
        written = words_of(output)
        read = (0, *(1 + word for word in written.of[:-1]))  # as they are written, whatever the last one lacks
        return words_of(source, self.typed), TokenWords(read, names_of(decoder_input, read)), written

    def attention_of_words(self) -> AttentionMaps:
        """Every map from words to words: to a word the sum over its pieces, from a word the mean."""
        return self._of_words(self.attention)

    def _of_words(self, maps: AttentionMaps) -> AttentionMaps:
        source, target, _ = self.words()
        sides = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
        return AttentionMaps(*(tuple(map_of_words(m, *sides[kind]) for m in maps.of(kind)) for kind in KINDS))

    def table(self, words: bool = False) -> "pd.DataFrame":
        """One row per attention weight: kind, layer, head, query, key (all from 0), query_token, key_token, weight.

        Masked cells are included, with a weight of 0.

        Args:
            words: from words to words, where tokens are pieces: see `attention_of_words`.
        """
        return self._table(KINDS, words, {"weight": self.attention})

    def contributions(self, kind: Kind | None = None, words: bool = False) -> "pd.DataFrame":
        """The rows of `table`, with two more columns, value_weighted and after_norm: see `ValueWeighted`.

        Args:
            kind: only encoder, decoder or cross.
            words: from words to words, as in `table`. The norms of a word's pieces are added, which is an upper bound
                of the norm of their sum.

        Raises:
            ValueError: the run has none, or there is no such kind.
        """
        if self.value_weighted is None:
            raise ValueError(
                "This run has no value-weighted maps: translate(sentence, value_weighted=True) makes them."
            )
        norms = {"value_weighted": self.value_weighted.maps, "after_norm": self.value_weighted.after_norm}
        return self._table(KINDS if kind is None else (kind,), words, {"weight": self.attention} | norms)

    def _table(self, kinds: Sequence[Kind], words: bool, columns: dict[str, AttentionMaps]) -> "pd.DataFrame":
        import pandas as pd  # slow to import, and only this needs it

        parts = []
        every = {name: self._of_words(maps) if words else maps for name, maps in columns.items()}
        for kind in kinds:
            for layers in zip(*(maps.of(kind) for maps in every.values()), strict=True):
                m = layers[0]
                head, query, key = (axis.ravel() for axis in np.indices(m.weights.shape))
                part = {"kind": kind, "layer": m.layer, "head": head, "query": query, "key": key}
                part["query_token"] = np.array(m.query_tokens, dtype=object)[query]
                part["key_token"] = np.array(m.key_tokens, dtype=object)[key]
                part |= {name: each.weights.ravel() for name, each in zip(every, layers, strict=True)}
                parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)

    def heads(self) -> "pd.DataFrame":
        """One row per head: kind, layer, head (from 0), mean entropy (nats) and mean attention distance (positions)."""
        import pandas as pd

        return pd.DataFrame(self.attention.heads())

    def to_html(
        self, path: str | Path, *, ablations: bool = False, place: Mapping[str, str | int | bool] | None = None
    ) -> None:
        """Write the page of this run as one file, which asks nobody for anything: Overview, Translate, Attention,
        Positions and Inside a head, in every language of the page. Of a long run of a large model, whose numbers would
        take tens of megabytes, Inside a head has what fits into three. Why this word? has the step where the file
        opens, and others while they take little work.

        Args:
            ablations: also run without each head of cross-attention, and show what changes, unless words are forced or
                the run has interventions.
            place: where the file opens, by the parameters of the page's links, with numbers from 0:
                `{"tab": "attention", "kind": "cross", "layer": 5, "head": 2}`. Links to places of the file have
                them behind `#`, and from 1.

        Raises:
            ValueError: there is no such parameter or place; or the run was made by no Translator, or with a probe.
            TypeError: the place is no mapping.
        """
        from ..web.api.frozen import file_of  # points up: the file is the page

        if self.translator is None:
            raise ValueError("This run was made by no Translator.")
        Path(path).write_text(file_of(self, self.translator, ablations, place or {}), "utf-8")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """In a notebook: the page of this run."""
        shown = {"text/plain": repr(self)}
        if self.translator and not self.probed and in_notebook():
            from ..web.api.frozen import frame_of

            shown["text/html"] = frame_of(self, self.translator)
        return shown


@dataclass(frozen=True)
class BeamTree:
    """One beam search: its text, the whole tree, parents before children, and the index of the chosen branch."""

    text: str
    branches: tuple[Hypothesis[str], ...]
    best: int


def in_notebook() -> bool:
    """Whether IPython shows HTML: a terminal's does not, and would make the page for nothing."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is None or "text/html" in shell.display_formatter.active_types
