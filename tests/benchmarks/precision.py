"""How far int8 weights are from float32: texts, maps, probabilities and the time of a translation.

python -m tests.benchmarks.precision [MODEL [FILE]]: a model as Translator.load takes it, and a file with a sentence a
line; else the classroom model with 200 held-out sentences, and the time of a model of opus-mt's size.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from transformer import Translator
from transformer.data import CORPORA
from transformer.inference.attention_maps import KINDS

from ..marian import marian_folder
from .ratio import in_turn
from .translators import PIECES, SENTENCE, SIZES


def main() -> None:
    model, file = (*sys.argv[1:], None, None)[:2]
    held_out = CORPORA["classroom"].held_out["held-out sentences"]
    sentences = Path(file).read_text().splitlines() if file else [pair.source for pair in held_out()[:200]]
    compare(model or "classroom", sentences)
    if not model:
        with tempfile.TemporaryDirectory() as name:
            marian_folder(Path(name), pieces=PIECES, **SIZES)
            print(f"Of opus-mt's size, random: {_time(*_both(name), SENTENCE, ('▁',) * 20)}")


def compare(model: str, sentences: Sequence[str]) -> None:
    usual, rounded = _both(model)
    same = 0
    maps: list[np.ndarray] = []
    probabilities: list[np.ndarray] = []
    for sentence in sentences:
        run = usual.translate(sentence)
        other = rounded.translate(sentence, forced=run.output)
        same += rounded.translate(sentence).output == run.output
        for kind in KINDS:
            pairs = zip(run.attention.of(kind), other.attention.of(kind), strict=True)
            maps += [np.abs(one.weights - its.weights)[:, one.allowed].ravel() for one, its in pairs]
        steps = zip(run.steps, other.steps, strict=True)
        probabilities.append(np.array([abs(step.probability - its.probability) for step, its in steps]))
    print(f"{usual.name}: {same} of {len(sentences)} texts are the same. Where the same words are read:")
    for name, parts in (("attention weights", maps), ("probabilities of the words", probabilities)):
        of = np.concatenate(parts)
        print(f"  {name} differ by {of.mean():.4f} on average, 99 % of them by {np.quantile(of, 0.99):.3f} at most")
        print(f"  and all of them by {of.max():.2f} at most")
    print(f"  {_time(usual, rounded, max(sentences, key=len))}")


def _both(model: str) -> tuple[Translator, Translator]:
    return Translator.load(model, "cpu", precision="float32"), Translator.load(model, "cpu", precision="int8")


def _time(usual: Translator, rounded: Translator, sentence: str, forced: Sequence[str] = ()) -> str:
    took = in_turn(
        lambda: rounded.translate(sentence, forced=forced), lambda: usual.translate(sentence, forced=forced), 15
    )
    return f"a translation takes {median(took[0]) / median(took[1]):.2f} of the time with float32"


if __name__ == "__main__":
    main()
