"""The scores of a checkpoint on held-out sentences: translation quality, and alignment by cross-attention.

`python -m transformer.training.evaluation` prints the tables of the classroom checkpoint's card, and with a model and
sentences behind it how well that model's measures of contribution agree with removing heads and words.

L layers, H heads, T target words, S source words.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..analysis.faithfulness import measures_table, rank_correlations, score_measures, word_measures
from ..data import CORPORA, Pair, encode_pairs, padded
from ..data.alignment import AlignedPair, AlignmentCounts, count_links
from ..data.corpus import batches_by_length
from ..data.vocabulary import END, START, SentenceError
from ..inference.decoding import evaluating, greedy_batch
from ..inference.translator import Translator
from ..storage.checkpoint import FOLDER, Checkpoint, CheckpointError, load_checkpoint

BATCH = 250
MEASURED = 100  # sentences of each set on which measures of contribution are scored: gradients take their time


@dataclass(frozen=True)
class AlignmentScores:
    """Alignment error rates of cross-attention: 0 finds every gold link, 1 none."""

    heads: list[list[float]]  # [layer][head]
    layers: list[float]  # per layer, of the mean map of its heads
    all_heads: float  # of the mean map of all heads


@dataclass(frozen=True)
class Scores:
    """The scores of a checkpoint on one set of sentences."""

    sentences: int
    seconds: float  # of decoding
    exact_match: float  # share of sentences that free-running greedy decoding translates exactly
    bleu: float  # of the same decoding, 0 to 100 (sacrebleu, untokenised)
    alignment: AlignmentScores  # measured with teacher forcing on the references, which the gold links belong to
    near: int  # how many of the sentences become a training sentence by replacing one word


def score(checkpoint: Checkpoint, pairs: Sequence[AlignedPair], training: Sequence[Pair] = ()) -> Scores:
    """Decode and align a set of sentences, in padded batches.

    Args:
        training: the pairs that the checkpoint was trained on.

    Raises:
        SentenceError: a sentence has an unknown word.
        ModuleNotFoundError: sacrebleu is not installed (tests/requirements.txt has it).
    """
    from sacrebleu import corpus_bleu  # only measuring needs it

    begin = time.perf_counter()
    output = translate_all(checkpoint, [pair.source for pair in pairs])
    seconds = time.perf_counter() - begin
    references = [pair.target for pair in pairs]
    return Scores(
        sentences=len(pairs),
        seconds=seconds,
        exact_match=sum(map(str.__eq__, output, references)) / len(pairs),
        bleu=corpus_bleu(output, [references], tokenize="none", force=True).score,
        alignment=alignment_scores(checkpoint, pairs),
        near=count_near([pair.source for pair in pairs], [source for source, _ in training]),
    )


def count_near(sources: Sequence[str], training: Sequence[str]) -> int:
    """How many of the sources become a training source by replacing one word."""
    seen = {gap for source in training for gap in _with_a_gap(source)}
    return sum(any(gap in seen for gap in _with_a_gap(source)) for source in sources)


def _with_a_gap(source: str) -> Iterator[tuple[str | None, ...]]:
    words = source.split()
    for i in range(len(words)):
        yield (*words[:i], None, *words[i + 1 :])


def translate_all(checkpoint: Checkpoint, sources: Sequence[str]) -> list[str]:
    """Free-running greedy translations; sentences of similar length share a batch."""
    start, end = (checkpoint.tgt_vocab.ids[token] for token in (START, END))
    texts = [""] * len(sources)
    for index in batches_by_length([len(source.split()) for source in sources], BATCH):
        src = padded([checkpoint.src_vocab.encode(sources[i]) for i in index]).to(checkpoint.model.positions.device)
        rows = greedy_batch(checkpoint.model, src, start, end, checkpoint.output_limit)
        for i, row in zip(index, rows, strict=True):
            texts[i] = checkpoint.tgt_vocab.decode(row)
    return texts


def alignment_scores(checkpoint: Checkpoint, pairs: Sequence[AlignedPair]) -> AlignmentScores:
    """The word with each cross-attention head's highest weight, with teacher forcing, against the gold alignment."""
    config, device = checkpoint.model.config, checkpoint.model.positions.device
    heads = [[AlignmentCounts()] * config.n_heads for _ in range(config.num_decoder_layers)]
    layers = [AlignmentCounts()] * config.num_decoder_layers
    everything = AlignmentCounts()
    for index in batches_by_length([len(pair.source.split()) for pair in pairs], BATCH):
        batch = encode_pairs(
            [(pairs[i].source, pairs[i].target) for i in index], checkpoint.src_vocab, checkpoint.tgt_vocab
        ).to(device)
        with evaluating(checkpoint.model):
            attention = checkpoint.model(batch.src, batch.tgt_in).attention
        assert attention is not None
        cross = torch.stack(attention.cross, dim=1).cpu().numpy()  # (B, L, H, T, S)
        for maps, i in zip(cross, index, strict=True):
            gold = pairs[i].gold
            for n, layer in enumerate(maps):
                heads[n] = [so_far + count_links(head, gold) for so_far, head in zip(heads[n], layer, strict=True)]
                layers[n] += count_links(layer.mean(axis=0), gold)
            everything += count_links(maps.mean(axis=(0, 1)), gold)
    return AlignmentScores(
        heads=[[counts.error_rate for counts in layer] for layer in heads],
        layers=[counts.error_rate for counts in layers],
        all_heads=everything.error_rate,
    )


def scores_table(scores: dict[str, Scores]) -> str:
    """A Markdown table, one column per set."""

    def row(name: str, values: Sequence[str]) -> str:
        return f"| {name} | " + " | ".join(values) + " |"

    each, aligned = list(scores.values()), [s.alignment for s in scores.values()]
    lines = [row("", list(scores)), row("---", ["---"] * len(each))]
    lines.append(row("sentences", [f"{s.sentences:,}" for s in each]))
    lines.append(row("one word from a training sentence", [f"{s.near:,}" for s in each]))
    lines.append(row("exact match, free-running", [f"{s.exact_match:.1%}" for s in each]))
    lines.append(row("BLEU, free-running", [f"{s.bleu:.1f}" for s in each]))
    for n, layer in enumerate(aligned[0].heads):
        for i in range(len(layer)):
            lines.append(row(f"AER, layer {n + 1} head {i + 1}", [f"{a.heads[n][i]:.3f}" for a in aligned]))
        lines.append(row(f"AER, layer {n + 1}, mean of its rates", [f"{np.mean(a.heads[n]):.3f}" for a in aligned]))
        lines.append(row(f"AER, layer {n + 1}, its mean map", [f"{a.layers[n]:.3f}" for a in aligned]))
    lines.append(row("AER, all heads, mean of the rates", [f"{np.mean(a.heads):.3f}" for a in aligned]))
    lines.append(row("AER, all heads, the mean map", [f"{a.all_heads:.3f}" for a in aligned]))
    lines.append(row("AER, best head", [f"{np.min(a.heads):.3f}" for a in aligned]))
    return "\n".join(lines)


def speed(scores: dict[str, Scores]) -> str:
    """The decoding speed over all sets."""
    seconds = sum(s.seconds for s in scores.values())
    return f"{sum(s.sentences for s in scores.values()) / seconds:,.0f} sentences per second"


def score_held_out(checkpoint: Checkpoint, corpus: str) -> dict[str, Scores]:
    """The scores on every held-out set of a corpus, by name."""
    training = CORPORA[corpus].pairs
    return {name: score(checkpoint, pairs(), training) for name, pairs in CORPORA[corpus].held_out.items()}


def measure_held_out(checkpoint: Checkpoint, corpus: str) -> dict[str, dict[str, float]]:
    """The scores of measures of contribution on the first sentences of every held-out set, by name."""
    translator = Translator(checkpoint, corpus)
    return {name: score_measures(translator, pairs()[:MEASURED]) for name, pairs in CORPORA[corpus].held_out.items()}


def main(arguments: list[str]) -> None:
    """Score a shipped checkpoint on the held-out sets of its corpus; or any model's measures of contribution on
    sentences, which have no gold alignment, against removing heads and words."""
    scored = [name for name, corpus in CORPORA.items() if corpus.held_out]
    parser = argparse.ArgumentParser(prog="python -m transformer.training.evaluation", description=main.__doc__)
    parser.add_argument("checkpoint", nargs="?", default=scored[0], help="as Translator.load takes it")
    parser.add_argument("sentences", nargs="*", help="instead of the held-out sets")
    args = parser.parse_args(arguments)
    if not args.sentences and args.checkpoint not in scored:
        parser.error(f"{args.checkpoint} has no held-out sets: name sentences")
    try:
        if args.sentences:
            translator = Translator.load(args.checkpoint)
            runs = translator.translate_many(args.sentences, value_weighted=True)
            gradients = ["gradient × input"]  # integrated gradients would take minutes of a large model
            words = [word_measures(translator, run, gradients) for run in runs]
            print(measures_table({args.checkpoint: rank_correlations(translator, runs, words)}))
            return
        checkpoint = load_checkpoint(FOLDER / args.checkpoint)
    except (CheckpointError, SentenceError) as error:
        sys.exit(str(error))
    scores = score_held_out(checkpoint, args.checkpoint)
    print(scores_table(scores))
    print(f"\nDecoded {speed(scores)} ({torch.get_num_threads()} threads), free-running.\n")
    print(measures_table(measure_held_out(checkpoint, args.checkpoint)))


if __name__ == "__main__":
    main(sys.argv[1:])
