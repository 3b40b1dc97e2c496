"""Text in, one pure run out: the only door that figures and web pages use.

S source, T target, D model width, H heads, V target vocabulary.
"""

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
import torch
from torch import Tensor

from ..data.vocabulary import END, PAD, START, SentenceError, fold
from ..messages import Message
from ..network.layers import sinusoidal_positions
from ..network.masks import causal_mask, padding_mask
from ..network.probe import Probe, Recorder, chain
from ..storage.checkpoint import FOLDER, Checkpoint, CheckpointError, load_checkpoint, names
from ..storage.portable import load_portable
from .attention_maps import KINDS, AttentionMap, AttentionMaps, Kind
from .decoding import Sampling, Step, beam_search, decode, likeliest
from .device import pick_device, why_device
from .interventions import NOTHING, PLACES, ForceWord, Interventions, SwapWord

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "KINDS",
    "AttentionMap",
    "Branch",
    "CheckpointError",
    "Interventions",
    "Sampling",
    "SentenceError",
    "Translation",
    "TranslationStep",
    "Translator",
    "names",
    "positional_encoding",
]

MAX_CHARACTERS = 500
WIDEST = 5  # beam that is searched
Tokens = tuple[str, ...]
Weights = dict[Kind, list[Tensor]]  # of each layer, (H, Q, K)


@dataclass(frozen=True)
class Candidate:
    """A word that could come next, and its probability."""

    token: str
    probability: float


class Candidates(Sequence[Candidate]):
    """Every word of a vocabulary, likeliest first. A word is made when it is asked for: a run has thousands of them.

    Args:
        tokens: of the vocabulary, by id.
        distribution: (V,), by id.
    """

    def __init__(self, tokens: Tokens, distribution: Tensor) -> None:
        probabilities, order = distribution.sort(descending=True, stable=True)
        self._tokens = tokens
        self._order: np.ndarray = order.numpy(force=True).astype(np.int32)
        if probabilities.dtype == torch.bfloat16:  # which numpy does not know
            probabilities = probabilities.float()
        self.probabilities: np.ndarray = probabilities.numpy(force=True)

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, place: int | slice) -> Candidate | tuple[Candidate, ...]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        return Candidate(self._tokens[self._order[place]], float(self.probabilities[place]))

    def __iter__(self) -> Iterator[Candidate]:
        ranked = zip(self._order.tolist(), self.probabilities.tolist(), strict=True)
        return (Candidate(self._tokens[i], probability) for i, probability in ranked)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class TranslationStep:
    """One turn of the loop: what was said, and what could have been (all of V, likeliest first).

    Where the caller forced a word, or it was drawn, `token` is that word and the first candidate is what the model
    would have said.
    """

    token: str
    probability: float
    candidates: Sequence[Candidate]

    def drawn_from(self, sampling: Sampling) -> tuple[float, ...]:
        """What such a draw would be made from: the probability of each candidate after the limits, in their order."""
        return tuple(sampling.distribution(torch.tensor([each.probability for each in self.candidates])).tolist())


@dataclass(frozen=True, eq=False)
class InputSum:
    """What a stack reads: embedding (× sqrt(d_model), §3.4) + position (§3.5) = input, each (tokens, D), read-only."""

    tokens: tuple[str, ...]
    embedding: np.ndarray
    positions: np.ndarray
    input: np.ndarray


@dataclass(frozen=True, eq=False)
class Translation:
    """One run: everything that was read, said and looked at on the way.

    Attributes:
        sentence: as it was typed.
        text: the translation.
        source: what the encoder read, padding included.
        decoder_input: what the decoder read, S first. Rows of decoder and cross-attention maps are these.
        output: what the decoder said, as long as `decoder_input`: output t was said on reading input t. Ends on E
            unless decoding reached its limit.
        steps: one a word of `output`.
        attention: every map, from the very decoding that made the text; under interventions, from its last pass.
        source_input, target_input: embedding + position = input of both stacks.
        checkpoint, device: what ran, and where.
        interventions: what was changed.
    """

    sentence: str
    text: str
    source: tuple[str, ...]
    decoder_input: tuple[str, ...]
    output: tuple[str, ...]
    steps: tuple[TranslationStep, ...]
    attention: AttentionMaps
    source_input: InputSum
    target_input: InputSum
    checkpoint: str
    device: str
    interventions: Interventions = NOTHING

    def __repr__(self) -> str:
        return f"Translation({self.sentence!r} -> {self.text!r}, {len(self.steps)} steps, {self.checkpoint})"

    @property
    def complete(self) -> bool:
        """Whether the model ended its sentence itself."""
        return self.output[-1] == END

    def table(self) -> "pd.DataFrame":
        """Every weight in a row of its own: kind, layer, head, query, key (all from 0), query_token, key_token, weight.

        Masked cells are in it, with a weight of 0.
        """
        import pandas as pd  # slow to import, and only this needs it

        parts = []
        for kind in KINDS:
            for m in self.attention.of(kind):
                head, query, key = (axis.ravel() for axis in np.indices(m.weights.shape))
                part = {"kind": kind, "layer": m.layer, "head": head, "query": query, "key": key}
                part["query_token"] = np.array(m.query_tokens, dtype=object)[query]
                part["key_token"] = np.array(m.key_tokens, dtype=object)[key]
                part["weight"] = m.weights.ravel()
                parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)

    def heads(self) -> "pd.DataFrame":
        """Every head in a row of its own: kind, layer, head (from 0), and over its rows the mean entropy (nats) and the
        mean distance (words) of its looks."""
        import pandas as pd

        return pd.DataFrame(self.attention.heads())


@dataclass(frozen=True)
class Branch:
    """A node of a beam search's tree; see `decoding.Hypothesis`."""

    token: str
    parent: int | None
    step: int
    probability: float
    log_probability: float
    score: float
    fate: Literal["kept", "finished", "dropped"]


@dataclass(frozen=True)
class BeamTree:
    """One beam search: its text, the whole tree, parents before children, and the number of the branch it ended on."""

    text: str
    branches: tuple[Branch, ...]
    best: int


class Translator:
    """A checkpoint that takes text.

    Args:
        checkpoint: what to run; its model is not changed.
        name: what the page and a Translation call it.
        asked: the device that the caller asked for, if any.
    """

    def __init__(self, checkpoint: Checkpoint, name: str, asked: str | None = None) -> None:
        self.checkpoint = checkpoint
        self.name = name
        self.asked = asked

    @property
    def device(self) -> torch.device:
        return self.checkpoint.model.positions.device

    def why_device(self) -> Message:
        """What it runs on and why, in a sentence for people."""
        return why_device(self.device, self.asked)

    @classmethod
    def load(cls, name: str | Path = "toy", device: str | None = None) -> "Translator":
        """Load a shipped checkpoint by name, or any by the path of its folder, or a model that the page let somebody
        take home by the path of its file, onto `device` (see `pick_device`).

        Raises:
            CheckpointError: there is none, or it cannot be used.
            PortableError: nor can the file.
            ValueError: the device is not there.
        """
        if os.path.isfile(name):
            file = Path(name)
            return cls(load_portable(file, device=pick_device(device)).checkpoint, file.stem, device)
        folder = FOLDER / name if name in names() else Path(name)
        if not str(name) or not os.path.isdir(folder):
            raise CheckpointError(f"{name}: no such checkpoint; there is {', '.join(names()) or 'none'}")
        return cls(load_checkpoint(folder, pick_device(device)), folder.name, device)

    def translate(
        self,
        sentence: str,
        probe: Probe | None = None,
        forced: Sequence[str] = (),
        interventions: Interventions = NOTHING,
        sampling: Sampling | None = None,
    ) -> Translation:
        """Translate, keeping what the model looked at.

        Args:
            sentence: words of the source vocabulary; case, umlauts and punctuation at the edges do not matter.
            probe: watches or replaces intermediates of this run.
            forced: words that are said first, whatever the model would say; it goes on from there. A whole
                reference with its E is teacher forcing.
            interventions: what to change. Where one changes the inside of the network, the decoder reads everything
                that was said again at each step, so that a word can be let look at later ones.
            sampling: how to draw each word; the likeliest if left out.

        Raises:
            SentenceError: a sentence that this model cannot take (a ValueError; its message is for visitors).
            ValueError: a forced word that this model cannot say, or more of them than it may say; a change that this
                model or this sentence has no place for.
            TypeError: it is not text.
        """
        source, forced_ids = self._changed_source(sentence, interventions), self._forced_ids(forced, interventions)
        checkpoint, model = self.checkpoint, self.checkpoint.model
        target_ids = checkpoint.tgt_vocab.ids
        changed = self.probe(interventions)
        recorder = Recorder(_shown_after_changes if changed else _shown)
        probes = [each for each in (changed, probe, recorder) if each]
        src = torch.tensor([source], device=self.device)  # (1, S)
        # A seventh faster; but what a caller's own probe sees may go into a graph of theirs, which this would forbid.
        with torch.inference_mode(probe is None):
            steps = list(
                decode(
                    model,
                    src,
                    target_ids[START],
                    target_ids[END],
                    checkpoint.output_limit,
                    probe=reduce(chain, probes),
                    forced=forced_ids,
                    choose=sampling.chooser() if sampling else likeliest,
                    reread=changed is not None,
                )
            )
        said = [step.token for step in steps]
        read = [target_ids[START], *said[:-1]]
        tokens = checkpoint.tgt_vocab.tokens
        source_tokens = tuple(checkpoint.src_vocab.tokens[i] for i in source)
        read_tokens = tuple(tokens[i] for i in read)
        if changed:
            recorder.values = {name: values[-1:] for name, values in recorder.values.items()}  # of the last pass
            weights, allowed = _last_pass(recorder)
        else:
            tgt = torch.tensor([read], device=src.device)  # (1, T)
            weights, allowed = _rows(recorder, steps), _masks(src, tgt, model.config.pad_id)
        return Translation(
            sentence=sentence,
            text=checkpoint.tgt_vocab.decode(said),
            source=source_tokens,
            decoder_input=read_tokens,
            output=tuple(tokens[i] for i in said),
            steps=tuple(_step(step, tokens) for step in steps),
            attention=_maps(weights, allowed, source_tokens, read_tokens),
            source_input=_input_sum(recorder, "encoder", source_tokens),
            target_input=_input_sum(recorder, "decoder", read_tokens),
            checkpoint=self.name,
            device=str(self.device),
            interventions=interventions,
        )

    def beam(self, sentence: str, width: int = 4, alpha: float = 0.6) -> BeamTree:
        """Translate by beam search; the paper's width and length penalty if left out (§6.1).

        Args:
            width: places in the beam, 1 (greedy) to 5.
            alpha: of the length penalty, 0 (none) to 5.

        Raises:
            SentenceError: a sentence that this model cannot take.
            ValueError: a width or a penalty beyond its limits.
            TypeError: it is not text.
        """
        if type(width) is not int or not 1 <= width <= WIDEST:
            raise ValueError(f"A beam has 1 to {WIDEST} places.")
        if type(alpha) not in (int, float) or not 0 <= alpha <= 5:
            raise ValueError("A length penalty is from 0 to 5.")
        checkpoint, vocab = self.checkpoint, self.checkpoint.tgt_vocab
        src = torch.tensor([self._source_ids(sentence)], device=self.device)
        ends = vocab.ids[START], vocab.ids[END]
        found = beam_search(checkpoint.model, src, *ends, checkpoint.output_limit, width, alpha)
        branches = tuple(
            Branch(
                vocab.tokens[one.token], one.parent, one.step, one.probability, one.log_probability, one.score, one.fate
            )
            for one in found.hypotheses
        )
        return BeamTree(vocab.decode(found.said(found.best)), branches, found.best)

    def probe(self, interventions: Interventions) -> Probe | None:
        """What makes these changes in a whole pass of this model, None where they leave its inside alone.

        Raises:
            ValueError: this model has no such layer, sublayer or head.
        """
        model = self.checkpoint.model
        interventions.check(model.config)
        return interventions.probe(model.config, model.positions[: self.checkpoint.output_limit])

    def _changed_source(self, sentence: str, interventions: Interventions) -> list[int]:
        vocab, source = self.checkpoint.src_vocab, self._source_ids(sentence)
        words = sum(i != vocab.ids[PAD] for i in source)
        for change in interventions.changes:
            if isinstance(change, SwapWord):
                word = fold(change.word)
                if change.position >= words:
                    raise ValueError(f"The words of this sentence are 0 to {words - 1}.")
                if word not in vocab.ids:
                    raise ValueError(f"{change.word!r} is not a word that this model knows.")
                source[change.position] = vocab.ids[word]
        return source

    def _source_ids(self, sentence: str) -> list[int]:
        """Padded as the model's own sentences are."""
        if not isinstance(sentence, str):
            raise TypeError(f"a sentence is a str, not a {type(sentence).__name__}; translate one at a time")
        vocab, longest = self.checkpoint.src_vocab, self.checkpoint.source_length
        if len(sentence) > MAX_CHARACTERS:
            raise SentenceError(
                "error.too_long",
                characters=len(sentence),
                most=MAX_CHARACTERS,
            )
        count = len(vocab.split(sentence))
        if count > longest:
            raise SentenceError(
                "error.too_many_words",
                count=count,
                most=longest,
                known=vocab.some_words(),
            )
        ids = vocab.encode(sentence)
        return ids + [vocab.ids[PAD]] * (longest - len(ids)) if self.checkpoint.pad_source else ids

    def _forced_ids(self, forced: Sequence[str], interventions: Interventions) -> list[int | None]:
        ids, limit = self.checkpoint.tgt_vocab.ids, self.checkpoint.output_limit
        if len(forced) > limit:
            raise ValueError(f"That is {len(forced)} words to say, and this model says at most {limit}.")
        words: list[str | None] = list(forced)
        for change in interventions.changes:
            if isinstance(change, ForceWord):
                if change.step >= limit:
                    raise ValueError(f"The steps of this model are 0 to {limit - 1}.")
                words += [None] * (change.step + 1 - len(words))
                words[change.step] = change.word
        for word in words:
            if word is not None and (word not in ids or word in (PAD, START)):
                raise ValueError(f"{word[:40]!r} is not a word that this model can say.")
        return [None if word is None else ids[word] for word in words]


def positional_encoding(length: int, d_model: int) -> np.ndarray:
    """What a network of this width adds to its embeddings, (length, d_model), read-only."""
    return read_only(sinusoidal_positions(length, d_model))


_INPUTS = {f"{stack}.{part}" for stack in ("encoder", "decoder") for part in ("embedding", "positions", "input")}


def _shown(name: str) -> bool:
    return name in _INPUTS or (name.startswith("encoder") and name.endswith("weights"))


def _shown_after_changes(name: str) -> bool:
    return name in _INPUTS or name.endswith(("weights", "mask"))


def _step(step: Step, tokens: Tokens) -> TranslationStep:
    return TranslationStep(tokens[step.token], step.probability, Candidates(tokens, step.distribution))


def _rows(recorder: Recorder, steps: list[Step]) -> Weights:
    """The encoder's maps as it returned them; the decoder's row by row, from the steps of the decoding."""
    count = len(steps)
    decoder = torch.zeros(*steps[0].self_attention.shape[:2], count, count)  # (L, H, T, T)
    for t, step in enumerate(steps):
        decoder[:, :, t, : t + 1] = step.self_attention
    cross = torch.stack([step.cross_attention for step in steps], dim=2)  # (L, H, T, S)
    return {"encoder": list(_of_kind(recorder, "encoder", "weights")), "decoder": list(decoder), "cross": list(cross)}


def _masks(src: Tensor, tgt: Tensor, pad_id: int) -> dict[Kind, Tensor]:
    """What these ids let each other see."""
    is_word = padding_mask(src, pad_id)[0, 0]  # (1, S)
    may_read = padding_mask(tgt, pad_id)[0, 0] & causal_mask(tgt.size(1), device=tgt.device)  # (T, T)
    return {"encoder": is_word, "decoder": may_read, "cross": is_word}


def _last_pass(recorder: Recorder) -> tuple[Weights, dict[Kind, Tensor]]:
    """Weights and masks of whole passes, as they were after all changes; a mask is one for all layers and heads."""
    weights: Weights = {kind: list(_of_kind(recorder, kind, "weights")) for kind in KINDS}
    return weights, {kind: next(_of_kind(recorder, kind, "mask"))[0] for kind in KINDS}


def _of_kind(recorder: Recorder, kind: Kind, part: str) -> Iterator[Tensor]:
    """(H, Q, K) of each layer."""
    stack, attention = PLACES[kind]
    for i in itertools.count():
        if not (seen := recorder.values.get(f"{stack}.{i}.{attention}.{part}")):
            return
        yield seen[-1][0]


def _maps(weights: Weights, allowed: dict[Kind, Tensor], source: Tokens, read: Tokens) -> AttentionMaps:
    def layers(kind: Kind, rows: Tokens, columns: Tokens) -> tuple[AttentionMap, ...]:
        mask = allowed[kind].expand(len(rows), len(columns)).cpu().numpy().copy()
        return tuple(AttentionMap(kind, i, rows, columns, read_only(w), mask) for i, w in enumerate(weights[kind]))

    return AttentionMaps(
        layers("encoder", source, source), layers("decoder", read, read), layers("cross", read, source)
    )


def _input_sum(recorder: Recorder, stack: str, tokens: Tokens) -> InputSum:
    """The encoder reads all its tokens at once, the decoder one a step."""

    def rows(part: str) -> np.ndarray:
        seen = recorder.values[f"{stack}.{part}"]
        return read_only(torch.cat([value.reshape(-1, value.size(-1)) for value in seen])[: len(tokens)])

    return InputSum(tokens, rows("embedding"), rows("positions"), rows("input"))


def read_only(values: Tensor) -> np.ndarray:
    """A copy in float32 that nobody can change."""
    array = values.float().cpu().numpy().copy()
    array.flags.writeable = False
    return array
