"""What a refusal leads to. The sentence and the models that it names are compared in tests/js/engine.test.ts."""

from transformer.web.api.refusals import SUGGESTED_PAIRS, alternatives, similar_pairs

from .endpoints import ask


def test_a_model_that_is_gone_reads_nothing() -> None:
    asked = {"checkpoint": "classroom", "sentence": "xyzzy", "own": ["own-gone"]}
    assert ask(alternatives, asked)["readers"] == []


def test_pairs_to_learn_are_like_the_sentence() -> None:
    found = ask(similar_pairs, {"checkpoint": "toy", "sentence": "Ich trinke ein Cola"})
    assert found[0] == ["Ich möchte ein Cola", "I want a coke."]
    for checkpoint in ("toy", "classroom"):
        assert len(ask(similar_pairs, {"checkpoint": checkpoint, "sentence": "xyzzy"})) == SUGGESTED_PAIRS
