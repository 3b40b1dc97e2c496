"""The card of a checkpoint: how it was made, its scores, and figures of its maps."""

import math
from dataclasses import asdict, dataclass

import numpy as np

from ..analysis.faithfulness import measures_table
from ..data import Corpus
from ..inference.attention_maps import KINDS, AttentionMaps
from ..inference.translator import MAX_CHARACTERS, Translator
from ..storage.checkpoint import Checkpoint
from .evaluation import MEASURED, Scores, scores_table

FROM_UNIFORM = """*From uniform*: the largest difference of any head of
the layer from uniform attention over the allowed keys."""
ABOUT_MEASURES = f"""\
Measures of what contributes to a word, under teacher forcing on the first {MEASURED} sentences of each set. AER as
above, of the mean map of all heads or of the best head. *Rank correlation*: Spearman's with the drop of the word's
log-probability without a source word (masked from cross-attention), or without a head of the last decoder layer; 1 is
perfect, 0 is chance. `make evaluate` prints this table, too."""
SAMPLE = 200  # held-out sentences whose maps are measured


@dataclass(frozen=True)
class MapFigures:
    """Figures of the attention maps of a corpus's sentences, from free-running decoding."""

    entropy: dict[str, list[float]]  # by kind, per layer the mean over sentences, heads and rows, nats
    # By kind, per layer the largest difference of any head from uniform attention over the allowed keys.
    from_uniform: dict[str, list[float]]
    # The largest weight of any cross-attention head on the source word that decides a target word (bier for beer) when
    # that word is predicted; the smallest over the corpus. None if the corpus names no such words.
    telling: float | None


def map_figures(checkpoint: Checkpoint, corpus: Corpus) -> MapFigures:
    """Translate every sentence of `corpus`, or a sample of its first held-out set, and measure the maps."""
    translator = Translator(checkpoint, corpus.name)
    runs = [translator.translate(source) for source in _sentences(corpus)]
    telling = [
        largest_cross_weight(run.attention, run.output.index(target_word), run.source.index(source_word))
        for run in runs
        for target_word, source_word in corpus.deciding_words.items()
        if target_word in run.output and source_word in run.source
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
    measures: dict[str, dict[str, float]] | None = None,
    tried: str = "",
) -> str:
    """The card as Markdown.

    Args:
        facts: figures of the training run.
        scores, measures: on the held-out sets, if there are any.
        tried: a table of other sizes and schedules, with its own heading.
    """
    figures = map_figures(checkpoint, corpus)
    weights = sum(parameter.numel() for parameter in checkpoint.model.parameters())
    # No training chooses these two.
    config = {n: v for n, v in asdict(checkpoint.model.config).items() if n not in ("tie_output", "sinusoid")}
    paragraphs = [
        f"# {corpus.name}",
        f"{corpus.size} sentence pairs, {weights:,} weights. Made by",
        f"    {command}",
        "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in facts.items())]),
        *(_about_scores(scores, corpus) if scores else [_about_maps(corpus)]),
        _map_table(figures),
        *([ABOUT_MEASURES, measures_table(measures)] if measures else []),
    ]
    if figures.telling is not None:
        words = ", ".join(f"{target} → {source}" for target, source in corpus.deciding_words.items())
        paragraphs.append(
            f"Largest weight of any cross-attention head on the deciding word ({words}), the smaller of the\n"
            f"sentences: {figures.telling:.2f}."
        )
    if tried:
        paragraphs.append(tried.strip())
    paragraphs.append("Configuration: " + ", ".join(f"{name} {value}" for name, value in config.items()) + ".")
    return "\n\n".join(paragraphs) + "\n"


def _about_scores(scores: dict[str, Scores], corpus: Corpus) -> list[str]:
    return [
        "On sentences that training never saw:",
        corpus.about_held_out,
        "AER is the alignment error rate of cross-attention under teacher forcing: each target word is aligned to\n"
        "the source word with the highest weight; 0 is perfect. `make evaluate` prints this table.",
        scores_table(scores),
        f"Its maps, over the free-running decoding of {SAMPLE} of the {next(iter(scores))}. Entropy in nats;\n"
        f"uniform attention over n words would be ln n. {FROM_UNIFORM}",
    ]


def _about_maps(corpus: Corpus) -> str:
    """The facts of a corpus without held-out sentences."""
    uniform = math.log(max(len(source.split()) for source, _ in corpus.pairs))
    which = "all its" if len(corpus.pairs) == corpus.size else f"its first {len(corpus.pairs)}"
    return (
        f"Its maps, over the free-running decoding of {which} sentences. Entropy in nats; uniform\n"
        f"attention over all source words would be {uniform:.2f}. {FROM_UNIFORM}"
    )


def _map_table(figures: MapFigures) -> str:
    depth = max(map(len, figures.entropy.values()))
    lines = ["| | " + " | ".join(f"layer {i}" for i in range(1, depth + 1)) + " |", "| --- |" + " --- |" * depth]
    for kind in KINDS:
        for name, layers in (("mean entropy", figures.entropy[kind]), ("from uniform", figures.from_uniform[kind])):
            lines.append(f"| {kind}: {name} | " + " | ".join(f"{value:.2f}" for value in layers) + " |")
    return "\n".join(lines)
