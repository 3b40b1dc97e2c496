"""How far int8 weights are from float32: texts, maps and probabilities of sentences, and the time of a translation.

python -m tests.benchmarks.precision [MODEL [FILE]]: as Translator.load takes it, and a file with a sentence a line;
else the classroom model and 200 held-out sentences.
"""

import sys
from pathlib import Path
from statistics import fmean

import numpy as np

from transformer import Translator
from transformer.data import CORPORA
from transformer.inference.attention_maps import KINDS

from .ratio import in_turn


def main() -> None:
    model, file = (*sys.argv[1:], None, None)[:2]
    usual, rounded = (Translator.load(model or "classroom", "cpu", precision=each) for each in ("float32", "int8"))
    held_out = CORPORA["classroom"].held_out["held-out sentences"]
    sentences = Path(file).read_text().splitlines() if file else [pair.source for pair in held_out()[:200]]
    same, maps, probabilities = 0, [], []
    for sentence in sentences:
        run = usual.translate(sentence)
        other = rounded.translate(sentence, forced=run.output)
        same += rounded.translate(sentence).output == run.output
        for kind in KINDS:
            pairs = zip(run.attention.of(kind), other.attention.of(kind), strict=True)
            maps += [np.abs(one.weights - its.weights)[:, one.allowed].ravel() for one, its in pairs]
        for step, its in zip(run.steps, other.steps, strict=True):
            probabilities.append(abs(step.probability - its.probability))
    weights = np.concatenate([each.ravel() for each in maps])
    print(f"{usual.name}: {same} of {len(sentences)} texts are the same. Of the same inputs:")
    for name, of in (("attention weights", weights), ("probabilities of the words", np.array(probabilities))):
        print(
            f"  {name} differ by {of.mean():.4f} on average, by {np.quantile(of, 0.99):.3f} at most in 99 %, ", end=""
        )
        print(f"and by {of.max():.2f} at most")
    longest = max(sentences, key=len)
    took = in_turn(lambda: rounded.translate(longest), lambda: usual.translate(longest), 15)
    print(f"  time of a translation: {fmean(took[0]) / fmean(took[1]):.2f} of float32's")


if __name__ == "__main__":
    main()
