"""A refusal names what can read the sentence and the nearest sentence that can be read; pairs are learned beside it."""

from transformer.web.api.refusals import SUGGESTED_PAIRS, alternatives, similar_pairs

from .endpoints import BEER, ask


def test_a_refused_sentence_leads_on() -> None:
    found = ask(alternatives, {"checkpoint": "toy", "sentence": "Ich trinke ein Cola"})
    assert found["nearest"] == "Ich möchte ein Cola"
    assert found["readers"] == ["classroom"]
    found = ask(alternatives, {"checkpoint": "classroom", "sentence": "xyzzy", "own": ["own-gone"]})
    assert (found["nearest"], found["readers"]) == (None, [])
    assert ask(alternatives, {"checkpoint": "toy", "sentence": f"{BEER} xyzzy"})["readers"] == []


def test_pairs_to_learn_are_like_the_sentence() -> None:
    found = ask(similar_pairs, {"checkpoint": "toy", "sentence": "Ich trinke ein Cola"})
    assert found[0] == ["Ich möchte ein Cola", "I want a coke."]
    found = ask(similar_pairs, {"checkpoint": "classroom", "sentence": "Das Wetter ist heute furchtbar."})
    assert found[0][1] == "How is the weather today?"
    for checkpoint in ("toy", "classroom"):
        assert len(ask(similar_pairs, {"checkpoint": checkpoint, "sentence": "xyzzy"})) == SUGGESTED_PAIRS
