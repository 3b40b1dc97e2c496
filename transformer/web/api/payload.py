"""A run as JSON: for the page (arrays as base64: 24 KB for the toy's 144 maps) and for programs (nested lists)."""

import base64
import math
from typing import Any, Literal, NotRequired, cast

import numpy as np
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis import ComparedStep
from ...data import AlignedPair
from ...data.alignment import GoldAlignment
from ...data.pieces import PieceVocabulary
from ...data.vocabulary import PAD, START
from ...inference.attention_maps import KINDS, AttentionMaps, Kind, StackedMaps, stacked
from ...inference.interventions import AnyChange
from ...inference.translation import Candidate, Translation, TranslationStep
from ...inference.words import TokenWords, names_of
from ...network.config import Activation, Sinusoid
from ...storage.checkpoint import Checkpoint

MAX_CANDIDATES = 10
MAX_SILENT = 10
MAX_EXACT = 100_000  # weights of a run that travel as 32-bit floats; of a longer one see `packed`
TICKS = 200_000  # of a weight of 1: every tie of a number with up to five decimals


class Step(TypedDict):
    """One decoding step: the token that was output, and the likeliest ones."""

    token: str
    probability: float
    candidates: list[Candidate]


class Reference(TypedDict):
    """The corpus's own translation, whether the run's is the same, and then its gold alignment."""

    text: str
    same: bool
    aligned: bool
    held_out: str
    gold: GoldAlignment | None


class NetworkFacts(TypedDict):
    """The size and the kind of a network."""

    d_model: int
    heads: int
    layers: int
    d_ff: int
    positions: bool
    norm_first: bool
    activation: Activation
    final_norm: bool
    tied: bool
    tied_output: bool  # to the target embedding
    one_vocabulary: bool
    scaled: bool  # embeddings, by √d_model
    sinusoid: Sinusoid
    pieces: bool  # of words: the model's tokens
    start_is_padding: bool  # S has the embedding of P
    silent: list[str]  # tokens that are never output
    source_words: int
    target_words: int


class PageMaps(StackedMaps):
    """All maps of one kind. Weights are little-endian 32-bit floats, or with `packed` the bytes of that function."""

    packed: NotRequired[Literal[True]]


class RunWords(TypedDict):
    """The words of a run whose tokens are pieces; those of the source also as they were typed."""

    source: TokenWords
    decoder_input: TokenWords
    output: TokenWords
    typed: tuple[str, ...]


class Run(TypedDict):
    """One translation with everything that was recorded of it."""

    sentence: str
    text: str
    checkpoint: str
    changes: tuple[AnyChange, ...]
    complete: bool
    source: tuple[str, ...]
    typed: tuple[str, ...]
    decoder_input: tuple[str, ...]
    output: tuple[str, ...]
    steps: list[Step]
    ids: dict[Literal["source", "decoder_input"], list[int]]
    model: NetworkFacts
    attention: dict[Kind, PageMaps]
    reference: Reference | None
    words: NotRequired[RunWords]
    comparison: NotRequired[tuple[ComparedStep, ...]]


class FloatArray(TypedDict):
    """An array as base64 of float32."""

    shape: tuple[int, ...]
    data: str


def for_page(run: Translation, reference: AlignedPair | None, checkpoint: Checkpoint) -> Run:
    """A run as the page draws it; `reference` is the corpus's own translation, where it has one."""
    source, target, config = checkpoint.src_vocab, checkpoint.tgt_vocab, checkpoint.model.config
    shown: Run = {
        "sentence": run.sentence,
        "text": run.text,
        "checkpoint": run.checkpoint,
        "changes": cast(tuple[AnyChange, ...], run.interventions.changes),
        "complete": run.complete,
        "source": run.source,
        "typed": run.typed,
        "decoder_input": run.decoder_input,
        "output": run.output,
        "steps": [_step(step) for step in run.steps],
        "ids": {
            "source": [source.ids[token] for token in run.source],
            "decoder_input": [target.ids[token] for token in run.decoder_input],
        },
        "model": {
            "d_model": config.d_model,
            "heads": config.n_heads,
            "layers": config.num_encoder_layers,
            "d_ff": config.d_ff,
            "positions": config.positional_encoding,
            "norm_first": config.norm_first,
            "activation": config.activation,
            "final_norm": config.final_norm != "none",
            "tied": config.tie_weights,
            "tied_output": config.tie_weights or config.tie_output,
            "one_vocabulary": source.tokens == target.tokens,
            "scaled": config.scale_embeddings,
            "sinusoid": config.sinusoid,
            "pieces": isinstance(target, PieceVocabulary),
            "start_is_padding": _start_is_padding(checkpoint),
            "silent": _silent(checkpoint),
            "source_words": len(source),
            "target_words": len(target),
        },
        "attention": page_maps(run.attention),
        "reference": _reference(run, reference) if reference else None,
    }
    if run.in_pieces:
        shown["words"] = _words(run)
    return shown


def _start_is_padding(checkpoint: Checkpoint) -> bool:
    """As in most Marian models, which read their padding first, and attend to it."""
    ids = checkpoint.tgt_vocab.ids
    rows = checkpoint.model.tgt_embedding.weight[[ids[START], ids[PAD]]]
    return bool((rows[0] == rows[1]).all())


def _silent(checkpoint: Checkpoint) -> list[str]:
    """Tokens whose logit is −∞ whatever the decoder has read."""
    bias = checkpoint.model.output_projection.bias
    if bias is None:
        return []
    return [checkpoint.tgt_vocab.tokens[i] for i in (bias == -math.inf).nonzero().flatten().tolist()][:MAX_SILENT]


def _reference(run: Translation, reference: AlignedPair) -> Reference:
    """Gold links belong to the reference's words: a run with other words has none."""
    same = run.text == reference.target
    aligned = bool(reference.gold.aligned_words())  # nobody has aligned a visitor's own pairs
    return {
        "text": reference.target,
        "same": same,
        "aligned": aligned,
        "held_out": reference.held_out,
        "gold": reference.gold if same and aligned else None,
    }


def for_programs(run: Translation) -> dict[str, Any]:
    """The answer of /translate; attention is a list of arrays, [layer][head][query][key]."""
    return {
        "text": run.text,
        "source": run.source,
        "decoder_input": run.decoder_input,
        "output": run.output,
        "steps": [_step(step) for step in run.steps],
        "attention": {kind: [layer.weights for layer in run.attention.of(kind)] for kind in KINDS},
        "device": run.device,
    }


def _step(step: TranslationStep) -> Step:
    """The likeliest tokens, and the one that was output, which may not be among them where it was forced."""
    shown = list(step.candidates[:MAX_CANDIDATES])
    if all(c.token != step.token for c in shown):
        shown.append(next(c for c in step.candidates if c.token == step.token))
    return {"token": step.token, "probability": step.probability, "candidates": shown}


def page_maps(attention: AttentionMaps) -> dict[Kind, PageMaps]:
    """All maps of a run: those of a long one in three bytes a weight."""
    weights = sum(layer.weights.size for kind in KINDS for layer in attention.of(kind))
    if weights <= MAX_EXACT:
        return {kind: cast(PageMaps, stacked(attention.of(kind), _little_endian)) for kind in KINDS}
    return {kind: {**stacked(attention.of(kind), packed), "packed": True} for kind in KINDS}


def packed(weights: np.ndarray) -> np.ndarray:
    """Weights from 0 to 1 in three bytes each, all lowest bytes first, which compress well; `unpackWeights` of
    assets/web/state/state.ts reads them. A weight that is a whole number of ticks keeps its value, and every other one
    becomes the middle between two. So it rounds to the same text as before with up to five decimals, and is above 0 if
    it was; it is off by 1 / (2 TICKS)."""
    ticks = weights.astype(np.float64).ravel() * TICKS
    below = np.floor(ticks)
    codes = (2 * below + (ticks != below)).astype("<u4")
    return np.ascontiguousarray(codes.view(np.uint8).reshape(-1, 4)[:, :3].T)


def byte_planes(content: bytes, size: int) -> bytes:
    """The first bytes of all numbers of `size` bytes, then all second ones, …: they compress a tenth better.
    `joinPlanes` of assets/web/api/bytes.ts joins them."""
    return np.frombuffer(content, np.uint8).reshape(-1, size).T.tobytes()


def _words(run: Translation) -> RunWords:
    source, decoder_input, output = run.words()
    read = TokenWords(source.of, names_of(run.source, source.of))
    return {"source": read, "decoder_input": decoder_input, "output": output, "typed": source.names}


def array(values: np.ndarray) -> FloatArray:
    """An array with its shape."""
    return {"shape": values.shape, "data": floats(values)}


def floats(values: np.ndarray) -> str:
    """Base64 of little-endian 32-bit floats; `decodeFloats` of assets/web/state/state.ts reads it."""
    return base64.b64encode(_little_endian(values).tobytes()).decode()


def _little_endian(values: np.ndarray) -> np.ndarray:
    return values.astype("<f4")
