"""A click is answered with a run, and with the sentence that goes into the box."""

import json

from hypothesis import given
from hypothesis import strategies as st
from transformer.web.api.events import ask, choose, example, show, surprise

from .endpoints import BEER
from .test_endpoints import refused

FIRST = "Heute habe ich ein kaltes Bier getrunken"  # of the classroom's examples


def test_a_refused_sentence_has_an_error_and_no_run() -> None:
    assert ask({"checkpoint": "toy", "sentence": "wasser"})[1] == {
        "run": None,
        "baseline": None,
        "error": {
            "key": "error.unknown",
            "english": "This model does not know “wasser”. It knows ich, mochte, ein, bier and cola.",
            "values": {
                "unknown": {"shown": ("“wasser”",), "rest": 0},
                "known": {"shown": ("ich", "mochte", "ein", "bier", "cola"), "rest": 0},
            },
        },
    }


@given(st.text())
def test_any_text_is_answered(sentence: str) -> None:
    answer = ask({"checkpoint": "toy", "sentence": sentence})[1]
    assert (answer["run"] is None) != (answer["error"] is None)
    json.dumps(answer).encode()


def test_a_typed_sentence_stays_in_its_box_and_an_example_goes_there() -> None:
    typed = ask({"checkpoint": "toy", "sentence": BEER})
    clicked = example({"checkpoint": "toy", "sentence": BEER})
    assert (typed[0], clicked[0]) == (None, BEER)
    assert typed[1] == clicked[1]
    assert typed[1]["run"]


def test_a_surprise_is_a_held_out_sentence_translated_by_the_model_that_never_saw_it() -> None:
    sentences = {surprise({"checkpoint": "classroom"})[0] for _ in range(5)}
    assert len(sentences) > 1
    for sentence in sentences:
        run = ask({"checkpoint": "classroom", "sentence": sentence})[1]["run"]
        assert run["checkpoint"] == "classroom"
        assert run["reference"]["held_out"]


def test_the_toy_has_no_surprise() -> None:
    assert refused(surprise({"checkpoint": "toy"})[1], "error.no_held_out")


def test_another_model_keeps_the_visitors_own_sentence_where_it_knows_the_words() -> None:
    kept, answer = choose({"checkpoint": "classroom", "sentence": BEER, "example": False})
    assert answer["run"]["sentence"] == BEER
    assert kept is None
    sentence, answer = choose({"checkpoint": "classroom", "sentence": BEER, "example": True})
    assert sentence == answer["run"]["sentence"] == FIRST


def test_a_sentence_that_another_model_or_a_link_cannot_read_stays_beside_the_refusal() -> None:
    for own, key in (("hunt", "error.unknown_near"), ("", "error.empty")):
        kept, answer = choose({"checkpoint": "classroom", "sentence": own, "example": False})
        assert kept is None
        assert (answer["run"]["sentence"], answer["error"]["key"]) == (FIRST, key)
    changes = [
        {"do": "ablate", "kind": "cross", "layer": 0, "head": 1},
        {"do": "swap_word", "position": 3, "word": "cola"},
    ]
    typed, answer = example({"checkpoint": "toy", "sentence": "wasser", "changes": changes})
    assert typed == "wasser"
    assert answer["error"]["key"] == "error.unknown"
    assert (answer["run"]["sentence"], answer["run"]["changes"]) == (BEER, changes[:1])


def test_the_page_learns_what_the_corpus_says() -> None:
    reference = show("classroom", "Gestern hat sie drei Bücher gelesen")["run"]["reference"]
    assert reference["text"] == "yesterday she read three books ."
    words = reference["text"].split()
    assert reference["gold"]["sure"][words.index("read")] == [5]
    assert reference["gold"]["possible"][words.index("read")] == [1]
    assert show("toy", "cola bier")["run"]["reference"] is None
