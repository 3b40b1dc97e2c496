"""What programs get of other decoding strategies is what the library computes and the page gets.

That the page's answers are right is tested in tests/js/engine.test.ts, where another program computes them, too.
"""

import pytest

from transformer.inference.decoding import Hypothesis
from transformer.web.api import decoding
from transformer.web.sessions.models import translator

from .endpoints import BEER, Answer, as_sent, asked, called

MISTAKEN = "Wo ist der junge Junge"  # the model leaves “young” out


def test_the_tree_of_a_beam_search_is_the_translators() -> None:
    tree = translator("classroom").beam(MISTAKEN, 5, 0.6)
    answer = called(decoding.beam_search, sentence=MISTAKEN, width=5, alpha=0.6, checkpoint="classroom")
    assert [Hypothesis(**branch) for branch in answer["branches"]] == list(tree.branches)
    assert (answer["text"], answer["best"]) == (tree.text, tree.best)


def test_a_sample_and_a_forced_mistake_are_the_pages() -> None:
    limits = {"temperature": 1.7, "top_k": 4, "top_p": 0.9, "seed": 1}
    drawn = decoding.sample(BEER, **limits, checkpoint="toy")  # type: ignore[arg-type]
    assert drawn == asked(decoding.sampled, "toy", **limits)
    assert {name: drawn[name] for name in limits} == limits
    assert asked(decoding.sampled, "toy", top_k=1)["seed"] == 0  # where no seed can differ
    forced = as_sent(decoding.teacher_forcing(BEER, "toy", 1, "a"))
    assert forced == asked(decoding.forced, "toy", mistake={"step": 1, "word": "a"})


@pytest.mark.parametrize("given", [{"step": 3}, {"word": "beer"}])
def test_a_forced_mistake_is_a_step_and_a_word(given: Answer) -> None:
    with pytest.raises(ValueError, match="both a step and a word"):
        decoding.teacher_forcing(BEER, **given)
