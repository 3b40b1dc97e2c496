"""Text in, one pure run out: the interface that figures and the page use.

S source, T target, D model width, H heads, V target vocabulary.
"""

import math
import os
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.corpus import batches_by_length, padded
from ..data.pieces import PieceVocabulary
from ..data.vocabulary import END, PAD, START, SentenceError
from ..messages import Message
from ..network.cost import count_parameters
from ..network.engine import DecodingEngine, EngineDecoding
from ..network.int8 import Precision, pick_precision, to_int8
from ..network.masks import causal_mask, padding_mask
from ..network.probe import Probe, Recorder, chain
from ..storage.checkpoint import FOLDER, Checkpoint, CheckpointError, available_checkpoints, load_checkpoint
from ..storage.hub import MAX_BYTES, Progress, fetch, is_on_hub
from ..storage.marian import is_marian, load_marian
from ..storage.portable import load_portable
from .attention_maps import KINDS, LOCATIONS, AttentionMap, AttentionMaps, Kind
from .decoding import (
    Hypothesis,
    Penalty,
    Sampling,
    batch_steps,
    beam_search,
    continued,
    decode,
    most_likely,
    output_of,
    until_end,
)
from .device import pick_device, why_device
from .interventions import NOTHING, ForceWord, Interventions, SwapWord
from .translation import BeamTree, Candidates, InputSum, Tokens, Translation, TranslationStep
from .value_weighted import READ, Norms, engine_norms, recorded_norms, to_maps

if TYPE_CHECKING:
    from ..web.widget import RunWidget

MAX_CHARACTERS = 1000  # of a sentence: 128 tokens and more
MAX_CHARACTERS_IN_PIECES = 4_000  # of a sentence in pieces, of which Marian models read up to 512
MAX_BEAM_WIDTH = 5
INPUT_PARTS = ("embedding", "positions", "input")
RECORDED = {f"{stack}.{part}" for stack in ("encoder", "decoder") for part in INPUT_PARTS}
RECORDED |= {LOCATIONS[kind].probe_name(0, "mask") for kind in KINDS}  # all layers and heads share the first one's


class Translator:
    """A checkpoint that translates text."""

    def __init__(self, checkpoint: Checkpoint, name: str, requested_device: str | None = None) -> None:
        self.checkpoint = checkpoint  # the model and its vocabularies; never changed
        self.name = name  # that the page and every Translation show
        self.requested_device = requested_device  # that the caller named, if any
        self._made: DecodingEngine | None = None
        self._made = self._engine  # now, rather than with the first translation

    def __repr__(self) -> str:
        weights = count_parameters(self.checkpoint.model.config)
        return f"Translator({self.name!r}, {weights:,} weights, {self.device})"

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_made": None}  # the engine is made again

    def named(self, name: str) -> "Translator":
        """This one under another name."""
        other = copy(self)
        other.name = name
        return other

    @property
    def _engine(self) -> DecodingEngine | None:
        """None where somebody has changed a part of the network, or watches one."""
        model = self.checkpoint.model
        if not DecodingEngine.can_be_of(model):
            return None
        if not (self._made and self._made.is_of(model)):  # it is trained, or was moved to another device
            self._made = DecodingEngine(model)
        return self._made

    @property
    def device(self) -> torch.device:
        return self.checkpoint.model.positions.device

    def why_device(self) -> Message:
        """The device and why it was chosen, as a sentence for the page."""
        return why_device(self.device, self.requested_device)

    @classmethod
    def load(
        cls,
        name: str | Path = "toy",
        device: str | None = None,
        progress: Progress | None = None,
        max_bytes: int = MAX_BYTES,
        precision: Precision | None = None,
    ) -> "Translator":
        """Load a model onto `device` (see `pick_device`).

        Args:
            name: of a shipped checkpoint; or the path of a folder with a checkpoint or with the files of a Marian
                model, or of a model file that was downloaded from the page; or a Marian model of the Hugging Face Hub
                as `owner/name` or `owner/name@revision`, which is fetched into the Hub's cache.
            progress: called with the bytes fetched so far and in all; it may raise to cancel.
            max_bytes: of the files of a model of the Hub; a larger one is not fetched.
            precision: of the weights; a Marian model's are in $TRANSFORMER_PRECISION else, and all others in float32.
                With int8, which the name then says, maps and probabilities differ: see transformer/README.md.

        Raises:
            CheckpointError: there is no such checkpoint or model, it is damaged, too large or cannot be fetched, or its
                network is another than this one.
            PortableError: the file cannot be used.
            ValueError: the device is not available, or the precision does not exist or is not for this machine.
        """
        folder = FOLDER / name if name in available_checkpoints() else Path(name)
        shown, is_real = folder.name, False
        if os.path.isfile(name):
            checkpoint, shown = load_portable(Path(name), device=pick_device(device)).checkpoint, folder.stem
        elif isinstance(name, str) and not os.path.isdir(folder) and is_on_hub(name):
            checkpoint = load_marian(fetch(name, progress, max_bytes), pick_device(device), mapped=True)
            shown, is_real = name, True
        elif not str(name) or not os.path.isdir(folder):
            there = ", ".join(available_checkpoints()) or "none"
            raise CheckpointError(f"{' '.join(str(name).split())}: no such checkpoint; there is {there}")
        else:
            is_real = is_marian(folder)
            checkpoint = (load_marian if is_real else load_checkpoint)(folder, pick_device(device))
        if pick_precision(precision, from_environment=is_real) == "int8":
            to_int8(checkpoint.model)
            shown += " (int8)"
        return cls(checkpoint, shown, device)

    def translate(
        self,
        sentence: str,
        probe: Probe | None = None,
        forced: Sequence[str] = (),
        interventions: Interventions = NOTHING,
        sampling: Sampling | None = None,
        value_weighted: bool = False,
    ) -> Translation:
        """Translate, and keep every attention map (§3.2).

        Args:
            sentence: words of the source vocabulary, which says whether case and umlauts matter.
            probe: watches or replaces intermediates of this run.
            forced: the first output tokens instead of the model's choice; it continues from there. A whole reference
                with its E is teacher forcing.
            interventions: changes to this run. If one changes the inside of the network, the decoder runs a full pass
                over the prefix at each step, so that a position may attend to later ones.
            sampling: draws each token; greedy if left out.
            value_weighted: also keep what each key adds to each query, from the same pass.

        Raises:
            SentenceError: this model cannot translate the sentence (a ValueError; its message is for visitors).
            ValueError: a forced token is not in the vocabulary, there are too many, or an intervention does not fit
                this model or this sentence.
            TypeError: the sentence or a forced token is not a str, `forced` is one, or `interventions` are no
                Interventions.
        """
        checkpoint, vocab = self.checkpoint, self.checkpoint.tgt_vocab
        source, forced_ids = self._changed_source(sentence, interventions), self._forced_ids(forced, interventions)
        changed = self.probe(interventions)
        src = torch.tensor([source], device=self.device)  # (1, S)
        start, end, limit = vocab.ids[START], vocab.ids[END], checkpoint.output_limit
        choose = sampling.chooser() if sampling else most_likely
        # A seventh faster, but a caller's probe may use its values in a graph, which inference mode forbids.
        with torch.inference_mode(probe is None):
            if changed or probe or not (engine := self._engine):
                recorded = READ if value_weighted else "weights"
                recorder = Recorder(lambda name: name in RECORDED or name.endswith(recorded))
                watching = reduce(chain, [each for each in (changed, probe, recorder) if each])
                has_cache = changed is None
                steps = [*decode(checkpoint.model, src, start, end, limit, watching, forced_ids, choose, has_cache)]
                values = _joined(recorder)
                norms = recorded_norms(checkpoint.model, values) if value_weighted else {}
            else:
                decoding = EngineDecoding(engine, src, limit, value_weighted)
                steps = [*continued(decoding, start, end, limit, forced_ids, choose)]
                values = self._values(decoding)
                norms = engine_norms(engine, checkpoint.model, decoding) if value_weighted else {}
        ids, distributions = [step.token for step in steps], [step.distribution for step in steps]
        made = self._translation(sentence, source, ids, distributions, values, norms, interventions=interventions)
        free = (t for t in range(len(ids)) if t >= len(forced_ids) or forced_ids[t] is None)
        return replace(made, drawn=tuple(free) if sampling else (), probed=probe is not None)

    def show(self, sentence: str, **place: str | int | bool) -> "RunWidget":
        """Translate in a notebook and show the page, which asks this process for what it lacks: other sentences, forced
        words, every number of a large model.

        Args:
            place: where it opens, as for `Translation.to_html`. The widget's `place` is read and set meanwhile,
                without language and present; what a new one leaves out stays.

        Raises:
            SentenceError: as in `translate`.
            ValueError: there is no such parameter.
            ImportError: anywidget is not installed.
        """
        if find_spec("anywidget") is None:
            raise ImportError("show needs anywidget: pip install 'attention-bitte[notebook]'")
        from ..web.widget import RunWidget

        return RunWidget(self, self.translate(sentence), place)

    def translate_many(
        self, sentences: Iterable[str], batch_size: int = 32, value_weighted: bool = False
    ) -> list[Translation]:
        """Translate in padded batches: the same translations and maps as one at a time, up to rounding, but faster.

        Args:
            sentences: as for `translate`; those of similar lengths share a batch.
            batch_size: sentences in memory at a time, with all their maps.
            value_weighted: as in `translate`.

        Raises:
            SentenceError: as in `translate`, before any is translated; the message begins with the sentence's place.
            TypeError: `sentences` is a str, or one of them is not.
            ValueError: batch_size is below 1.
        """
        if isinstance(sentences, str):
            raise TypeError("sentences is a str; translate takes one, translate_many a list")
        if batch_size < 1:
            raise ValueError(f"batch_size ({batch_size}) is below 1")
        sentences, sources = list(sentences), []
        for i, sentence in enumerate(sentences):
            try:
                sources.append(self._source_ids(sentence))
            except (SentenceError, TypeError) as error:
                error.args = (f"sentences[{i}]: {error}",)
                raise
        if not (engine := self._engine):
            return [self.translate(sentence, value_weighted=value_weighted) for sentence in sentences]
        runs: dict[int, Translation] = {}
        for places in batches_by_length(list(map(len, sources)), batch_size):
            read = [sentences[i] for i in places], [sources[i] for i in places]
            batch = TranslationBatch(self, engine, *read, value_weighted)
            while batch.step() is not None:
                pass
            runs |= dict(zip(places, batch.runs(range(len(places))), strict=True))
        return [runs[i] for i in range(len(sources))]

    def batch(self, sentences: Sequence[str]) -> "TranslationBatch | None":
        """To translate these together, a step at a time; None where somebody watches or has changed the network.
        Raises SentenceError as `translate`."""
        sources = [self._source_ids(sentence) for sentence in sentences]
        return TranslationBatch(self, engine, sentences, sources) if (engine := self._engine) else None

    def _values(self, decoding: EngineDecoding) -> dict[str, Tensor]:
        """What a recorder has of a run of the network: the inputs of both stacks, every map, and the masks."""
        model, src, inputs = self.checkpoint.model, decoding.src, decoding.inputs
        padding = padding_mask(src, model.config.pad_id)  # (B, 1, 1, S)
        own = padding_mask(inputs, model.config.pad_id) & causal_mask(inputs.size(1), device=inputs.device)
        masks = (padding.expand(-1, -1, src.size(1), -1), own, padding.expand(-1, -1, inputs.size(1), -1))
        values: dict[str, Tensor] = {}
        for kind, maps, mask in zip(KINDS, decoding.attention(), masks, strict=True):
            values[LOCATIONS[kind].probe_name(0, "mask")] = mask
            values |= {LOCATIONS[kind].probe_name(i, "weights"): weights for i, weights in enumerate(maps)}
        for stack, embedding, ids in (("encoder", model.src_embedding, src), ("decoder", model.tgt_embedding, inputs)):
            scaled, positions = embedding.weight[ids] * model.config.embedding_scale, model.positions[: ids.size(1)]
            parts = zip(INPUT_PARTS, (scaled, positions, scaled + positions), strict=True)
            values |= {f"{stack}.{part}": value for part, value in parts}
        return values

    def _translation(
        self,
        sentence: str,
        source: list[int],
        ids: list[int],
        distributions: Iterable[Tensor],
        values: dict[str, Tensor],
        norms: Norms,
        row: int = 0,
        interventions: Interventions = NOTHING,
    ) -> Translation:
        """One row of a recorded batch: its source and output ids, and the distribution (V,) at each step."""
        vocab = self.checkpoint.tgt_vocab
        output = tuple(vocab.tokens[i] for i in ids)
        source_tokens = tuple(self.checkpoint.src_vocab.tokens[i] for i in source)
        read = enumerate(self.checkpoint.src_vocab.read(sentence))
        typed = {i: word for i, (word, token) in read if token == source_tokens[i]}  # a word may have been swapped
        decoder_input = (START, *output[:-1])
        # Not strict: shorter sentences of a batch end earlier.
        steps = tuple(
            TranslationStep(vocab.tokens[i], float(distribution[i]), Candidates(vocab.tokens, distribution))
            for i, distribution in zip(ids, distributions, strict=False)
        )
        attention = AttentionMaps(
            encoder=_maps(values, row, "encoder", source_tokens, source_tokens),
            decoder=_maps(values, row, "decoder", decoder_input, decoder_input),
            cross=_maps(values, row, "cross", decoder_input, source_tokens),
        )
        ours = {kind: [read_only(each[:, row]) for each in parts] for kind, parts in norms.items()}
        return Translation(
            sentence=sentence,
            text=vocab.decode(ids),
            source=source_tokens,
            decoder_input=decoder_input,
            output=output,
            steps=steps,
            attention=attention,
            source_input=_input_sum(values, row, "encoder", source_tokens),
            target_input=_input_sum(values, row, "decoder", decoder_input),
            checkpoint=self.name,
            device=str(self.device),
            interventions=interventions,
            typed=tuple(typed.get(i, token) for i, token in enumerate(source_tokens)),
            in_pieces=isinstance(vocab, PieceVocabulary),
            value_weighted=to_maps(ours, attention) if ours else None,
            translator=self,
        )

    def reads(self, sentence: str) -> bool:
        """Whether this model knows every word of a sentence, and takes one so long."""
        try:
            self._source_ids(sentence)
        except SentenceError:
            return False
        return True

    def beam(self, sentence: str, width: int = 4, alpha: float = 0.6, penalty: Penalty = "paper") -> BeamTree:
        """Translate by beam search; the defaults are the paper's (§6.1).

        Args:
            width: size of the beam, 1 (greedy) to 5.
            alpha: exponent of the length penalty, 0 (none) to 5.
            penalty: "paper" divides by ((5 + length) / 6) ** alpha, as Wu et al. do. "length" divides by
                length ** alpha and searches as `transformers` does, whose `length_penalty` is alpha (1 by default).

        Raises:
            SentenceError: this model cannot translate the sentence.
            ValueError: width or alpha is out of range, or there is no such penalty.
            TypeError: the sentence is not a str.
        """
        if type(width) is not int or not 1 <= width <= MAX_BEAM_WIDTH:
            raise ValueError(f"The beam width is 1 to {MAX_BEAM_WIDTH}.")
        if type(alpha) not in (int, float) or not 0 <= alpha <= 5:
            raise ValueError("The length penalty is 0 to 5.")
        if penalty not in get_args(Penalty):
            raise ValueError(f"The length penalty is {' or '.join(get_args(Penalty))}.")
        checkpoint, vocab = self.checkpoint, self.checkpoint.tgt_vocab
        src = torch.tensor([self._source_ids(sentence)], device=self.device)
        start, end, limit = vocab.ids[START], vocab.ids[END], checkpoint.output_limit
        found = beam_search(
            self._engine or checkpoint.model, src, start, end, limit, width, alpha, penalty, checkpoint.forces_end
        )
        branches = (Hypothesis(**vars(one) | {"token": vocab.tokens[one.token]}) for one in found.hypotheses)
        return BeamTree(vocab.decode(output_of(found.best, found.hypotheses)), tuple(branches), found.best)

    def probe(self, interventions: Interventions) -> Probe | None:
        """The probe that makes these changes in a full pass of this model; None if they change only tokens. Raises
        ValueError: this model has no such layer, sublayer or head."""
        model = self.checkpoint.model
        interventions.check(model.config)
        return interventions.probe(model.config, model.positions[: self.checkpoint.output_limit])

    def _changed_source(self, sentence: str, interventions: Interventions) -> list[int]:
        if not isinstance(interventions, Interventions):
            raise TypeError(f"interventions is a {type(interventions).__name__}; make one with Interventions.parse")
        vocab, source = self.checkpoint.src_vocab, self._source_ids(sentence)
        length = sum(i != vocab.ids[PAD] for i in source)
        for change in interventions.changes:
            if isinstance(change, SwapWord):
                known = change.word in vocab.words  # a piece is not cut again
                word = change.word if known else next(iter(vocab.split(change.word)), "")
                if change.position >= length:
                    raise ValueError(f"The positions of this sentence are 0 to {length - 1}.")
                if word not in vocab.words:
                    raise ValueError(f"{change.word!r} is not a word that this model knows.")
                source[change.position] = vocab.ids[word]
        return source

    def _source_ids(self, sentence: str) -> list[int]:
        """Padded like the sentences that the model was trained on."""
        if not isinstance(sentence, str):
            raise TypeError(f"a sentence is a str, not a {type(sentence).__name__}; translate one at a time")
        vocab, longest = self.checkpoint.src_vocab, self.checkpoint.source_length
        most = MAX_CHARACTERS if vocab.tokenizer is None else MAX_CHARACTERS_IN_PIECES
        if len(sentence) > most:
            raise SentenceError("error.too_long", characters=len(sentence), most=most)
        count = len(vocab.split(sentence))
        if count > longest and isinstance(vocab, PieceVocabulary):
            raise SentenceError("error.too_many_pieces", count=count, most=longest)
        if count > longest:
            raise SentenceError("error.too_many_words", count=count, most=longest, known=vocab.some_words())
        ids = vocab.encode(sentence)
        return ids + [vocab.ids[PAD]] * (longest - len(ids)) if self.checkpoint.pad_source else ids

    def _forced_ids(self, forced: Sequence[str], interventions: Interventions) -> list[int | None]:
        ids, limit = self.checkpoint.tgt_vocab.ids, self.checkpoint.output_limit
        if isinstance(forced, str) or not all(isinstance(word, str) for word in forced):
            raise TypeError("forced is a list of words, each a str")
        if len(forced) > limit:
            raise ValueError(f"{len(forced)} forced words are more than the {limit} that this model outputs at most.")
        words: list[str | None] = list(forced)
        for change in interventions.changes:
            if isinstance(change, ForceWord):
                if change.step >= limit:
                    raise ValueError(f"The steps of this model are 0 to {limit - 1}.")
                words += [None] * (change.step + 1 - len(words))
                words[change.step] = change.word
        bias = self.checkpoint.model.output_projection.bias
        for word in words:
            if word is None:
                continue
            if word not in ids or word in (PAD, START) or (bias is not None and bias[ids[word]] == -math.inf):
                raise ValueError(f"{word[:40]!r} is not a word that this model can output.")
        return [None if word is None else ids[word] for word in words]


class TranslationBatch:
    """Sentences that are decoded together, greedily and a step at a time. Each has its run once it has ended."""

    def __init__(
        self,
        translator: Translator,
        engine: DecodingEngine,
        sentences: Sequence[str],
        sources: Sequence[list[int]],
        value_weighted: bool = False,
    ) -> None:
        self._translator, self._engine, self._value_weighted = translator, engine, value_weighted
        self._sentences, self._sources = sentences, sources
        vocab, self._limit = translator.checkpoint.tgt_vocab, translator.checkpoint.output_limit
        self._end, src = vocab.ids[END], padded(sources).to(translator.device)  # (B, S)
        with torch.inference_mode():
            self._decoding = EngineDecoding(engine, src, self._limit, value_weighted)
        self._steps = batch_steps(self._decoding, len(src), vocab.ids[START], self._end, self._limit)
        self._tokens: list[list[int]] = []  # of every step
        self._logits: list[Tensor] = []  # likewise, (B, V)
        self._unfinished = set(range(len(src)))

    def step(self) -> list[int] | None:
        """The places of the sentences that end with this step; None once all have ended."""
        with torch.inference_mode():
            tokens, out = next(self._steps, (None, None))
        if tokens is None or out is None:
            return None
        self._tokens.append(tokens)
        self._logits.append(out.logits)
        is_last = len(self._tokens) == self._limit
        ended = [row for row in sorted(self._unfinished) if is_last or tokens[row] == self._end]
        self._unfinished.difference_update(ended)
        return ended

    def runs(self, places: Sequence[int]) -> list[Translation]:
        """The runs of these sentences, which have ended."""
        translator, decoding = self._translator, self._decoding
        with torch.inference_mode():
            distributions = torch.stack(self._logits, dim=1)[[*places]].softmax(dim=-1)  # (places, T, V)
            values = translator._values(decoding)
            model = translator.checkpoint.model
            norms = engine_norms(self._engine, model, decoding) if self._value_weighted else {}
        found = []
        for row, distribution in zip(places, distributions, strict=True):
            ids = until_end([step[row] for step in self._tokens], self._end)
            read = self._sentences[row], self._sources[row]
            found.append(translator._translation(*read, ids, distribution, values, norms, row))
        return found


def _joined(recorder: Recorder) -> dict[str, Tensor]:
    """Each value of a whole run, (..., T, n): its last pass had every row, or each pass had the next one."""

    def joined(passes: list[Tensor]) -> Tensor:
        if passes[-1].size(-2) > 1:
            return passes[-1]
        width = passes[-1].size(-1)  # of a map of decoder self-attention, which gains a column with each row
        return torch.cat([F.pad(row, (0, width - row.size(-1))) for row in passes], dim=-2)

    return {name: joined(passes) for name, passes in recorder.values.items()}


def _maps(values: dict[str, Tensor], row: int, kind: Kind, queries: Tokens, keys: Tokens) -> tuple[AttentionMap, ...]:
    """Every layer's map, without the padding of a shorter sentence in its batch."""
    stack, sublayer, *_ = LOCATIONS[kind]

    def cut(name: str) -> np.ndarray:
        return read_only(values[name][row, :, : len(queries), : len(keys)])  # (H, Q, K)

    layers = [name for name in values if name.startswith(stack) and name.endswith(f"{sublayer}.weights")]
    allowed = cut(LOCATIONS[kind].probe_name(0, "mask"))[0].astype(bool)
    return tuple(AttentionMap(kind, i, queries, keys, cut(name), allowed) for i, name in enumerate(layers))


def _input_sum(values: dict[str, Tensor], row: int, stack: str, tokens: Tokens) -> InputSum:
    def cut(part: str) -> np.ndarray:
        value = values[f"{stack}.{part}"]
        return read_only((value[row] if value.dim() == 3 else value)[: len(tokens)])  # positions have no batch

    return InputSum(tokens, *map(cut, INPUT_PARTS))


def read_only(values: Tensor) -> np.ndarray:
    """A read-only copy in float32."""
    array = values.float().cpu().numpy().copy()
    array.flags.writeable = False
    return array
