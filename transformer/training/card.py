"""What a checkpoint's card says: how it was made, what it scores, and what its maps show."""

import math
from dataclasses import asdict, dataclass

import numpy as np

from ..data import Corpus
from ..inference.attention_maps import KINDS, AttentionMaps
from ..inference.translator import MAX_CHARACTERS, Translator
from ..storage.checkpoint import Checkpoint
from .evaluation import Scores, scores_table

SAMPLE = 200  # sentences, where a corpus has more than one can draw maps of


@dataclass(frozen=True)
class MapFigures:
    """What the maps of a corpus's sentences look like, from the decodings that translate them.

    Attributes:
        entropy: kind -> a mean over sentences, heads and rows a layer, nats.
        from_uniform: kind -> a layer's largest distance of any head from looking at every allowed key alike.
        telling: the largest weight that any cross-attention head puts on the source word that decides a target word
            (bier for beer) when it says that word; the smallest over the corpus. None where no word is said to decide.
    """

    entropy: dict[str, list[float]]
    from_uniform: dict[str, list[float]]
    telling: float | None


def map_figures(checkpoint: Checkpoint, corpus: Corpus) -> MapFigures:
    """Translate every sentence of `corpus`, or a sample of its first held-out set, and measure the maps."""
    translator = Translator(checkpoint, corpus.name)
    runs = [translator.translate(source) for source in _sentences(corpus)]
    telling = [
        weight
        for run in runs
        for target_word, source_word in corpus.deciding_words.items()
        if target_word in run.output and source_word in run.source
        for weight in [
            largest_cross_weight(run.attention, run.output.index(target_word), run.source.index(source_word))
        ]
    ]
    every = {kind: list(zip(*(run.attention.of(kind) for run in runs), strict=True)) for kind in KINDS}
    return MapFigures(
        entropy={k: [float(np.mean([m.entropy().mean() for m in layer])) for layer in every[k]] for k in KINDS},
        from_uniform={k: [float(max(m.from_uniform().max() for m in layer)) for layer in every[k]] for k in KINDS},
        telling=min(telling, default=None),
    )


def largest_cross_weight(maps: AttentionMaps, query: int, key: int) -> float:
    """The largest weight of any cross-attention head from row `query` to column `key`."""
    return float(max(layer.weights[:, query, key].max() for layer in maps.cross))


def _sentences(corpus: Corpus) -> list[str]:
    for held_out in corpus.held_out.values():
        return [pair.source for pair in held_out()[:SAMPLE]]
    return [source for source, _ in corpus.pairs if len(source) <= MAX_CHARACTERS]


def write_card(
    checkpoint: Checkpoint,
    corpus: Corpus,
    command: str,
    facts: dict[str, str],
    scores: dict[str, Scores] | None = None,
    tried: str = "",
) -> str:
    """The card as Markdown.

    Args:
        facts: figures of the training run.
        scores: on the held-out sets, if there are any.
        tried: a table of other sizes and schedules that were measured, with its own heading.
    """
    figures, config = map_figures(checkpoint, corpus), checkpoint.model.config
    weights = sum(parameter.numel() for parameter in checkpoint.model.parameters())
    depth = max(map(len, figures.entropy.values()))
    lines = [
        f"# {corpus.name}",
        "",
        f"{corpus.size} sentence pairs, {weights:,} weights. Made by",
        "",
        f"    {command}",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {name} | {value} |" for name, value in facts.items()),
        "",
    ]
    if scores:
        lines += [
            "On sentences that it never saw. AER is the alignment error rate of cross-attention: each target word",
            "points at the source word that it looks at hardest while the reference is said; 0 is all right.",
            "`make evaluate` prints this table again.",
            "",
            scores_table(scores),
            "",
            f"Its maps, over the free-running decoding of {SAMPLE} of the {next(iter(scores))}. Entropy in nats;",
            "looking at n words alike would be ln n.",
        ]
    else:
        uniform = math.log(max(len(source.split()) for source, _ in corpus.pairs))
        which = "all its" if len(corpus.pairs) == corpus.size else f"its first {len(corpus.pairs)}"
        lines += [
            f"Its maps, over the free-running decoding of {which} sentences. Entropy in nats; spreading over all",
            f"source words alike would be {uniform:.2f}.",
        ]
    lines[-1] += " *From uniform*: how far a layer's most decided head"
    lines += [
        "is, at most, from looking at all that it may look at alike.",
        "",
        "| | " + " | ".join(f"layer {i}" for i in range(1, depth + 1)) + " |",
        "| --- |" + " --- |" * depth,
    ]
    for kind in KINDS:
        lines.append(f"| {kind}: mean entropy | " + " | ".join(f"{v:.2f}" for v in figures.entropy[kind]) + " |")
        lines.append(f"| {kind}: from uniform | " + " | ".join(f"{v:.2f}" for v in figures.from_uniform[kind]) + " |")
    if figures.telling is not None:
        words = ", ".join(f"{target} → {source}" for target, source in corpus.deciding_words.items())
        lines += ["", f"Largest weight of any cross-attention head on the word that decides ({words}), the smaller"]
        lines += [f"of the sentences: {figures.telling:.2f}."]
    if tried:
        lines += ["", tried.strip()]
    # The switch is named only where it is off: the shipped cards, signed with their weights, are older than it.
    shape = {k: v for k, v in asdict(config).items() if (k, v) != ("positional_encoding", True)}
    lines += ["", "Configuration: " + ", ".join(f"{k} {v}" for k, v in shape.items()) + ".", ""]
    return "\n".join(lines)
