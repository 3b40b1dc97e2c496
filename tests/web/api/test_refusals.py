"""A refusal names what can read the sentence, the nearest sentence that can be read, and pairs to learn beside it."""

from transformer.web.api.refusals import SUGGESTED_PAIRS, alternatives

from .endpoints import BEER, ask


def test_a_refused_sentence_leads_on() -> None:
    found = ask(alternatives, {"checkpoint": "toy", "sentence": "Ich trinke ein Cola"})
    assert found["nearest"] == "Ich möchte ein Cola"
    assert found["readers"] == ["classroom"]
    assert found["pairs"][0] == ["Ich möchte ein Cola", "I want a coke."]
    found = ask(alternatives, {"checkpoint": "classroom", "sentence": "xyzzy", "own": ["own-gone"]})
    assert (found["nearest"], found["readers"]) == (None, [])
    assert len(found["pairs"]) == SUGGESTED_PAIRS
    assert ask(alternatives, {"checkpoint": "toy", "sentence": f"{BEER} xyzzy"})["readers"] == []
    found = ask(alternatives, {"checkpoint": "classroom", "sentence": "Nein, was möchte Cousine Lisa?"})
    assert found["pairs"][0][1] == "No, what would Lisa like?"
