"""Experiments that show something: sentences for which a change, or another decoding method, changes the translation.

Most change nothing: most heads of a redundant network can be ablated one at a time without changing a word. So this
module searches for those that do:

    python -m transformer.analysis.experiments          # make search: writes experiments.json beside the weights
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter

from ..data import CORPORA
from ..data.vocabulary import SPECIAL
from ..inference.decoding import Sampling
from ..inference.interventions import (
    AblateHead,
    Change,
    DropResidual,
    ForceWord,
    Interventions,
    Positions,
    RemoveMask,
    Temperature,
)
from ..inference.translation import Translation
from ..inference.translator import Translator
from ..network.config import TransformerConfig
from ..storage.checkpoint import FOLDER
from .head_ablation import scores_without

FILE = "experiments.json"
SEARCHED, UNUSUAL = 150, 1000  # held-out sentences, and those of which a word is replaced
REPLACED = ("heute", "jetzt", "oft", "immer", "manchmal"), ("zehn", "zwölf", "zwanzig")  # one may stand for another
UNSURE = 150  # of the latter, those of whose translation the model is least sure
CLEAREST = 1  # rank
VISIBLE = 0.005  # of a probability, as the page writes it
MIN_WORDS, MAX_WORDS = 4, 8  # of a sentence: it is read from the back row


@dataclass(frozen=True)
class Experiment:
    """A sentence, and what to do with it."""

    sentence: str
    changes: tuple[dict[str, Any], ...] = ()  # interventions as links and programs write them
    settings: Mapping[str, Any] = field(default_factory=dict)  # of a decoding method


Found = Iterator[tuple[float, Experiment]]  # with its rank, the lowest the clearest; 0 where nothing changes


def search(
    translator: Translator, sentences: Sequence[tuple[str, str]], unusual: Sequence[str]
) -> dict[str, Experiment]:
    """The experiment of the lowest rank of every kind; of equals the first that is found.

    Args:
        sentences: with their reference translations; those that the model does not translate so are left out.
        unusual: sentences for beam search, which finds what greedy decoding does where the model is sure of each word.
    """
    right = [run for sentence, wanted in sentences if (run := translator.translate(sentence)).text == wanted]
    unusual_runs = translator.translate_many(unusual)
    unsure = sorted(unusual_runs, key=lambda run: run.log_probability / len(run.steps))[:UNSURE]
    best: dict[str, tuple[float, Experiment]] = {}
    for name, look in SEARCHES.items():
        for run in unsure if name == "beam" else right:
            for rank, found in look(translator, run):
                if rank and (name not in best or rank < best[name][0]):
                    best[name] = rank, found
            if name in best and best[name][0] == CLEAREST:
                break
    return {name: found for name, (_, found) in best.items()}


def on_sentence(translator: Translator, run: Translation, known: Mapping[str, Experiment]) -> dict[str, Experiment]:
    """The first experiment that changes this run's words, of each kind with changes that the model is known to show;
    where none does, the known one, with its own sentence."""
    found = {}
    for name, each in known.items():
        if each.changes:
            tried = (one for rank, one in SEARCHES[name](translator, run) if rank)
            found[name] = each if each.sentence == run.sentence else next(tried, each)
    return found


def candidates(translator: Translator) -> tuple[list[tuple[str, str]], list[str]]:
    """The corpus's examples and short held-out sentences, with their translations; and sentences that the grammar does
    not make: one word of a held-out sentence replaced by another that German allows there.
    """
    corpus, vocab = CORPORA[translator.name], translator.checkpoint.src_vocab
    pairs = [corpus.find(" ".join(vocab.split(each.sentence))) for each in corpus.examples]
    shown = [(each.sentence, pair.target) for each, pair in zip(corpus.examples, pairs, strict=True) if pair]
    held_out = next(iter(corpus.held_out.values()), tuple)()
    short = [(pair.spelling, pair.target) for pair in held_out if len(pair.source.split()) <= MAX_WORDS]
    # "Halb zwanzig" is no time of day.
    plain = [source for source, _ in short[:UNUSUAL] if "," not in source and "halb" not in source]
    joining = {source.split(", ")[1].split()[0] for source, _ in short if ", " in source}  # words that begin a clause
    unusual = [other for source in plain for other in _replaced(source) if joining.isdisjoint(other.split())]
    return [pair for pair in shown if len(pair[0].split()) <= MAX_WORDS] + short[:SEARCHED], unusual


def _replaced(sentence: str) -> Iterator[str]:
    words = sentence.split()
    for (i, word), group in product(enumerate(words), REPLACED):
        if word in group:
            yield from (" ".join([*words[:i], other, *words[i + 1 :]]) for other in group if other != word)


def shipped(checkpoint: str) -> dict[str, Experiment]:
    """The experiments of a shipped checkpoint; none before a search."""
    file = FOLDER / checkpoint / FILE
    return TypeAdapter(dict[str, Experiment]).validate_json(file.read_bytes()) if file.exists() else {}


def _differing(one: Sequence[str], other: Sequence[str]) -> int:
    """Words that are not the same at the same position."""
    return sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))


def _changed(changes: Callable[[TransformerConfig], Iterable[Change]]) -> Callable[[Translator, Translation], Found]:
    """Try changes that a network of this shape has, one by one."""

    def search(translator: Translator, run: Translation) -> Found:
        return (_tried(translator, run, change) for change in changes(translator.checkpoint.model.config))

    return search


def _tried(translator: Translator, run: Translation, change: Change) -> tuple[int, Experiment]:
    changed = translator.translate(run.sentence, interventions=Interventions((change,)))
    return _differing(run.output, changed.output), Experiment(run.sentence, (asdict(change),))


def _heads(config: TransformerConfig) -> Iterator[Change]:
    for layer, head in product(range(config.num_decoder_layers), range(config.n_heads)):
        yield AblateHead("cross", layer, head)


def _errors(translator: Translator, run: Translation) -> Iterator[tuple[int, ForceWord]]:
    """The likeliest word that is not the model's choice, forced at each step but the last ones. A run that ends on
    other words ranks first: nothing shows of an error from which the model recovers.
    """
    for step, each in enumerate(run.steps[:-2]):
        word = next(c.token for c in each.candidates if c.token not in (*SPECIAL, ".", each.token))
        differing, _ = _tried(translator, run, error := ForceWord(step, word))
        yield max(1, len(run.output) - differing) if differing > 2 else 0, error


def _word(translator: Translator, run: Translation) -> Found:
    return ((rank, Experiment(run.sentence, (asdict(error),))) for rank, error in _errors(translator, run))


def _forced(translator: Translator, run: Translation) -> Found:
    for rank, error in _errors(translator, run):
        yield rank, Experiment(run.sentence, (), {"step": error.step, "word": error.word})


def _beam(translator: Translator, run: Translation) -> Found:
    """A sentence that is likelier as a whole than greedy's, the more the better."""
    tree, settings = translator.beam(run.sentence), {"width": 4, "alpha": 0.6}
    gain = math.exp(tree.branches[tree.best].log_probability) - math.exp(run.log_probability)
    shows = run.complete and gain > VISIBLE and tree.text != run.text and len(tree.text.split()) >= MIN_WORDS
    yield 1 / gain if shows else 0, Experiment(run.sentence, (), settings)


def _sampling(translator: Translator, run: Translation) -> Found:
    seed = Sampling().first_other_seed([step.candidates.distribution for step in run.steps])
    yield 0 if seed is None else 1 + seed, Experiment(run.sentence, (), {"seed": seed})


def _explains(translator: Translator, run: Translation) -> Found:
    """Attention, the mean of all heads and layers, points less often to a word of the gold alignment than masking."""
    corpus = CORPORA[translator.name]
    pair = corpus.find(" ".join(run.source))
    if pair is None or pair.gold is None:
        return
    attended = np.mean([m.weights.mean(axis=0) for m in run.attention.cross], axis=0).argmax(axis=-1)  # (T,)
    scores = np.exp(scores_without(translator, run, [[i] for i in range(len(run.source))]))  # (1 + S, T)
    gold, missed = pair.gold.sure, scores[1:].argmin(axis=0)
    gain = sum(int(missed[t] in keys) - int(attended[t] in keys) for t, keys in enumerate(gold))
    yield CLEAREST if gain > 0 else 0, Experiment(run.sentence)


SEARCHES: dict[str, Callable[[Translator, Translation], Found]] = {
    "head": _changed(_heads),
    "mask": _changed(lambda _: [RemoveMask("decoder")]),
    "positions": _changed(lambda _: [Positions("encoder", "removed")]),
    "temperature": _changed(lambda _: [Temperature(temperature=5)]),
    "residual": _changed(lambda of: (DropResidual("decoder", i, 2) for i in reversed(range(of.num_decoder_layers)))),
    "encoder_residual": _changed(
        lambda of: (DropResidual("encoder", i, 1) for i in reversed(range(of.num_encoder_layers)))
    ),
    "word": _word,
    "beam": _beam,
    "sampling": _sampling,
    "forced": _forced,
    "explains": _explains,
}


def main() -> None:
    torch.set_num_threads(1)  # more threads only slow a small network down
    for checkpoint in sys.argv[1:] or CORPORA:
        translator = Translator.load(checkpoint, device="cpu")
        found = search(translator, *candidates(translator))
        text = json.dumps({name: asdict(each) for name, each in found.items()}, ensure_ascii=False, indent=1)
        (FOLDER / checkpoint / FILE).write_text(text + "\n", "utf-8")
        print(checkpoint, text)


if __name__ == "__main__":
    main()
