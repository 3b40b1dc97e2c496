"""Text in, one pure run out: the only door that figures and web pages use.

S source, T target, D model width, H heads, V target vocabulary.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from .checkpoint import FOLDER, Checkpoint, CheckpointError, load_checkpoint, names
from .decoding import Step, greedy_decode
from .device import pick_device, why_device
from .layers import sinusoidal_positions
from .maps import KINDS, AttentionMap, AttentionMaps, Kind
from .masks import causal_mask, padding_mask
from .message import Message
from .portable import load_portable
from .probe import Probe, Recorder
from .vocabulary import END, PAD, START, SentenceError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "KINDS",
    "AttentionMap",
    "CheckpointError",
    "SentenceError",
    "Translation",
    "TranslationStep",
    "Translator",
    "names",
    "positional_encoding",
]

MAX_CHARACTERS = 500
Tokens = tuple[str, ...]
Layers = tuple[AttentionMap, ...]


@dataclass(frozen=True)
class Candidate:
    """A word that could come next, and its probability."""

    token: str
    probability: float


@dataclass(frozen=True)
class TranslationStep:
    """One turn of the greedy loop: what was said, and what could have been (all of V, likeliest first).

    Where the caller forced a word, `token` is that word and the first candidate is what the model would have said.
    """

    token: str
    probability: float
    candidates: tuple[Candidate, ...]


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
        attention: every map, from the very decoding that made the text.
        source_input, target_input: embedding + position = input of both stacks.
        checkpoint, device: what ran, and where.
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

        rows = [
            {"kind": kind, "layer": m.layer, "head": head, "entropy": entropy, "distance": distance}
            for kind in KINDS
            for m in self.attention.of(kind)
            for head, (entropy, distance) in enumerate(
                zip(m.entropy().mean(axis=-1), m.distance().mean(axis=-1), strict=True)
            )
        ]
        return pd.DataFrame(rows)


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

    def translate(self, sentence: str, probe: Probe | None = None, forced: Sequence[str] = ()) -> Translation:
        """Translate greedily, keeping what the model looked at.

        Args:
            sentence: words of the source vocabulary; case, umlauts and punctuation at the edges do not matter.
            probe: watches or replaces intermediates of this run.
            forced: words that are said first, whatever the model would say; it goes on from there. A whole
                reference with its E is teacher forcing.

        Raises:
            SentenceError: a sentence that this model cannot take (a ValueError; its message is for visitors).
            ValueError: a forced word that this model cannot say, or more of them than it may say.
            TypeError: it is not text.
        """
        if not isinstance(sentence, str):
            raise TypeError(f"a sentence is a str, not a {type(sentence).__name__}; translate one at a time")
        source, forced_ids = self._source_ids(sentence), self._forced_ids(forced)
        checkpoint, model = self.checkpoint, self.checkpoint.model
        target_ids = checkpoint.tgt_vocab.ids
        recorder = Recorder(lambda name: name in _INPUTS or (name.startswith("encoder") and name.endswith("weights")))
        src = torch.tensor([source], device=self.device)  # (1, S)
        steps = list(
            greedy_decode(
                model,
                src,
                target_ids[START],
                target_ids[END],
                checkpoint.output_limit,
                probe=recorder if probe is None else _both(probe, recorder),
                forced=forced_ids,
            )
        )
        said = [step.token for step in steps]
        read = [target_ids[START], *said[:-1]]
        tokens = checkpoint.tgt_vocab.tokens
        source_tokens = tuple(checkpoint.src_vocab.tokens[i] for i in source)
        read_tokens = tuple(tokens[i] for i in read)
        tgt = torch.tensor([read], device=src.device)  # (1, T)
        layers = range(model.config.num_encoder_layers)
        encoder = [recorder.values[f"encoder.{i}.self_attention.weights"][0][0] for i in layers]
        return Translation(
            sentence=sentence,
            text=checkpoint.tgt_vocab.decode(said),
            source=source_tokens,
            decoder_input=read_tokens,
            output=tuple(tokens[i] for i in said),
            steps=tuple(_step(step, tokens) for step in steps),
            attention=_maps(encoder, steps, src, tgt, source_tokens, read_tokens, model.config.pad_id),
            source_input=_input_sum(recorder, "encoder", source_tokens),
            target_input=_input_sum(recorder, "decoder", read_tokens),
            checkpoint=self.name,
            device=str(self.device),
        )

    def _source_ids(self, sentence: str) -> list[int]:
        """Padded as the model's own sentences are."""
        vocab, longest = self.checkpoint.src_vocab, self.checkpoint.source_length
        if len(sentence) > MAX_CHARACTERS:
            raise SentenceError(
                "too_long",
                "That is {characters} characters. At most {most} fit: try a shorter sentence.",
                characters=len(sentence),
                most=MAX_CHARACTERS,
            )
        count = len(vocab.split(sentence))
        if count > longest:
            raise SentenceError(
                "too_many_words",
                "That is {count} words, and this model takes at most {most}. It knows {known}.",
                count=count,
                most=longest,
                known=vocab.some_words(),
            )
        ids = vocab.encode(sentence)
        return ids + [vocab.ids[PAD]] * (longest - len(ids)) if self.checkpoint.pad_source else ids

    def _forced_ids(self, forced: Sequence[str]) -> list[int]:
        ids, limit = self.checkpoint.tgt_vocab.ids, self.checkpoint.output_limit
        if len(forced) > limit:
            raise ValueError(f"That is {len(forced)} words to say, and this model says at most {limit}.")
        for word in forced:
            if word not in ids or word in (PAD, START):
                raise ValueError(f"{word[:40]!r} is not a word that this model can say.")
        return [ids[word] for word in forced]


def positional_encoding(length: int, d_model: int) -> np.ndarray:
    """What a network of this width adds to its embeddings, (length, d_model), read-only."""
    return read_only(sinusoidal_positions(length, d_model))


_INPUTS = {f"{stack}.{part}" for stack in ("encoder", "decoder") for part in ("embedding", "positions", "input")}


def _both(first: Probe, second: Probe) -> Probe:
    return lambda name, value: second(name, first(name, value))


def _step(step: Step, tokens: tuple[str, ...]) -> TranslationStep:
    probabilities, order = step.distribution.sort(descending=True, stable=True)
    ranked = zip(order.tolist(), probabilities.tolist(), strict=True)
    return TranslationStep(
        token=tokens[step.token],
        probability=step.probability,
        candidates=tuple(Candidate(tokens[i], probability) for i, probability in ranked),
    )


def _maps(
    encoder: list[Tensor], steps: list[Step], src: Tensor, tgt: Tensor, source: Tokens, read: Tokens, pad_id: int
) -> AttentionMaps:
    """The encoder's maps as it returned them; the decoder's row by row, from the steps of the decoding."""
    decoder = torch.zeros(*steps[0].self_attention.shape[:2], len(read), len(read))  # (L, H, T, T)
    for t, step in enumerate(steps):
        decoder[:, :, t, : t + 1] = step.self_attention
    cross = torch.stack([step.cross_attention for step in steps], dim=2)  # (L, H, T, S)
    is_word = padding_mask(src, pad_id)[0, 0]  # (1, S)
    may_read = padding_mask(tgt, pad_id)[0, 0] & causal_mask(len(read), device=tgt.device)  # (T, T)

    def layers(kind: Kind, weights: Iterable[Tensor], rows: Tokens, columns: Tokens, mask: Tensor) -> Layers:
        allowed = mask.expand(len(rows), len(columns)).cpu().numpy().copy()
        return tuple(AttentionMap(kind, i, rows, columns, read_only(w), allowed) for i, w in enumerate(weights))

    return AttentionMaps(
        encoder=layers("encoder", encoder, source, source, is_word),
        decoder=layers("decoder", decoder, read, read, may_read),
        cross=layers("cross", cross, read, source, is_word),
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
