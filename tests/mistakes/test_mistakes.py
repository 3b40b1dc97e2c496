"""Each mistake's symptom is really there, and not where the same thing is done right."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from transformer import Translator
from transformer.data import classroom_corpus
from transformer.messages import catalogues
from transformer.mistakes import MISTAKES, DecodingMistake, Symptom, TrainingMistake
from transformer.mistakes.decoding import MAX_RUNS, by_view
from transformer.mistakes.training import PAIRS

ENGLISH = catalogues()["en"]
SENTENCES = {"toy": "ich möchte ein Bier", "classroom": "Heute habe ich ein kaltes Bier getrunken"}
OF_RUNS = [mistake for mistake in MISTAKES.values() if isinstance(mistake, DecodingMistake)]
Case = tuple[str, Translator]


@pytest.fixture(scope="module", params=SENTENCES)
def case(request: pytest.FixtureRequest) -> Case:
    return SENTENCES[request.param], request.getfixturevalue(request.param)


def symptom(name: str, case: Case) -> Symptom:
    sentence, translator = case
    mistake = MISTAKES[name]
    assert isinstance(mistake, DecodingMistake)
    return mistake.run(translator, sentence)


def learned(name: str) -> Symptom:
    """What comes of the trainings of a mistake. live/test_mistake_training.py reads their steps."""
    mistake = MISTAKES[name]
    assert isinstance(mistake, TrainingMistake)
    learning = mistake.run()
    while True:
        try:
            next(learning)
        except StopIteration as end:
            found: Symptom = end.value
            assert found.sentence
            assert_numbers(found)
            return found


def assert_numbers(found: Symptom) -> None:
    """Both sides have the same ones, and the page has words for each."""
    assert set(found.right.numbers) == set(found.wrong.numbers)
    assert {f"mistakes.number.{number}" for number in found.wrong.numbers} <= set(ENGLISH)


def weights(found: Symptom) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the maps that show the mistake, right and wrong."""
    right, wrong = found.right.attention, found.wrong.attention
    assert right
    assert wrong
    assert (right.kind, right.layer) == (wrong.kind, wrong.layer)
    assert 0 <= found.head < wrong.n_heads
    return right.weights, wrong.weights


# In a run


def test_a_padding_mask_over_rows_gives_nan_or_looks_ahead(case: Case) -> None:
    found = symptom("padding_rows", case)
    assert found.right.numbers == {"nan_share": 0, "weight_on_future": 0}
    assert found.wrong.numbers["nan_share"] == 0.5  # one sentence of two: all of it, its real words too
    length = len(case[1].translate(case[0]).output) + 2
    assert found.wrong.numbers["weight_on_future"] == pytest.approx(1 / length)  # -1e9 everywhere: uniform
    _, wrong = weights(found)
    np.testing.assert_allclose(wrong[:, -2:], 1 / length, rtol=1e-5)  # the rows of P


def test_without_its_mask_cross_attention_looks_at_padding(case: Case) -> None:
    found = symptom("cross_padding", case)
    length, words = case[1].checkpoint.source_length, len(case[0].split())
    assert found.right.numbers == {"weight_on_padding": 0, "most_on_padding": 0, "padding": length - words}
    most = found.wrong.numbers["most_on_padding"]
    assert 0.05 < found.wrong.numbers["weight_on_padding"] < most <= 1
    run = case[1].translate(case[0])
    assert found.right.text == run.text
    right, wrong = weights(found)
    assert found.wrong.attention
    assert found.wrong.attention.key_tokens == (*run.source[:words], f"P × {length - words}")  # all of it in one column
    np.testing.assert_allclose(wrong.sum(axis=-1), 1, atol=1e-5)
    assert right[found.head, :, -1].max() == 0 < 0.2 < wrong[found.head, :, -1].max() == pytest.approx(most)


def test_an_inverted_mask_hides_the_words(case: Case) -> None:
    found = symptom("inverted_mask", case)
    assert found.wrong.numbers == {"difference": pytest.approx(0, abs=1e-5), "weight_on_padding": pytest.approx(1)}
    assert found.right.numbers["difference"] > 0.5
    assert found.right.numbers["weight_on_padding"] == 0
    one, two = found.wrong.text.split(" | ")
    assert one == two
    one, two = found.right.text.split(" | ")
    assert one == case[1].translate(case[0]).text != two
    right, wrong = weights(found)
    np.testing.assert_allclose(wrong[:, :, -1], 1, atol=1e-5)
    assert (wrong[:, :, :-1] == 0).all()
    assert (right[:, :, -1] == 0).all()


def test_softmax_over_queries_sums_the_columns_to_one(case: Case) -> None:
    found = symptom("softmax_dim", case)
    assert found.right.numbers["row_sum_error"] < 1e-5 > found.wrong.numbers["column_sum_error"]
    assert found.wrong.numbers["row_sum_error"] > 0.5 < found.right.numbers["column_sum_error"]
    _, wrong = weights(found)
    np.testing.assert_allclose(wrong.sum(axis=-2), 1, atol=1e-5)
    assert np.abs(wrong[found.head].sum(axis=-1) - 1).max() > 0.5


@pytest.mark.parametrize("sentence", ["Den Hund sieht der Lehrer", SENTENCES["classroom"]])
def test_with_heads_cut_by_view_a_later_word_changes_an_earlier_prediction(
    sentence: str, classroom: Translator
) -> None:
    found = symptom("heads_by_view", (sentence, classroom))
    assert found.wrong.numbers["weight_on_future"] == found.right.numbers["weight_on_future"] == 0
    assert found.right.numbers["difference"] < 1e-5 < 0.3 < found.wrong.numbers["difference"]
    assert found.right.text == classroom.translate(sentence).text != found.wrong.text
    right, wrong = weights(found)
    np.testing.assert_allclose(wrong.sum(axis=-1), 1, atol=1e-5)
    assert np.abs(wrong - right)[found.head].max() > 0.2


def test_view_cuts_as_the_exercise_says() -> None:
    x = torch.arange(24).view(1, 3, 8)  # three words of eight numbers, two heads
    right = x.view(1, 3, 2, 4).transpose(1, 2)
    wrong = by_view("encoder.0.self_attention.q", right)
    assert torch.equal(wrong, x.view(1, 2, 3, 4))
    assert wrong[0, 0].flatten().tolist() == list(range(12))  # the first word and half of the second


@pytest.mark.slow
@pytest.mark.parametrize("name", ["no_eval", "after_dropout"])
def test_dropout_is_the_same_for_concurrent_visitors_while_models_are_loaded(name: str, toy: Translator) -> None:
    """A model that is loaded draws its initial weights."""
    case = SENTENCES["toy"], toy
    alone = symptom(name, case).wrong
    with ThreadPoolExecutor(4) as visitors:
        loads = [visitors.submit(Translator.load, "toy", device="cpu") for _ in range(3)]
        found = list(visitors.map(lambda _: symptom(name, case).wrong, range(8)))
    assert all(load.result() for load in loads)
    assert {(side.text, *side.numbers.values()) for side in found} == {(alone.text, *alone.numbers.values())}


@pytest.mark.parametrize("sentence", ["Den Hund sieht der Lehrer", SENTENCES["classroom"]])
def test_without_eval_two_runs_differ(sentence: str, classroom: Translator) -> None:
    found = symptom("no_eval", (sentence, classroom))
    assert found.right.numbers == {"difference": pytest.approx(0, abs=1e-5), "runs": 2}
    assert found.wrong.numbers["difference"] > 0.01
    one, two = found.right.text.split(" | ")
    assert one == two == classroom.translate(sentence).text
    one, two = found.wrong.text.split(" | ")
    assert 2 <= found.wrong.numbers["runs"] <= MAX_RUNS
    assert one != two or found.wrong.numbers["runs"] == MAX_RUNS  # dropout's luck


def test_unscaled_scores_saturate_the_softmax(case: Case) -> None:
    found = symptom("unscaled", case)
    assert found.wrong.numbers["entropy"] < 0.8 * found.right.numbers["entropy"]
    left = [1 - side.numbers["mean_largest"] for side in (found.right, found.wrong)]  # for all other words
    assert left[1] < 0.75 * left[0]
    right, wrong = (side[found.head].max(axis=-1).mean() for side in weights(found))
    assert wrong > right + 0.2


def test_weights_after_dropout_have_holes(case: Case) -> None:
    found = symptom("after_dropout", case)
    assert found.right.numbers["row_sum_error"] < 1e-5
    assert found.right.numbers["lost_share"] < 0.03  # a weight may underflow
    assert found.wrong.numbers["row_sum_error"] > 0.1
    assert 0.05 < found.wrong.numbers["lost_share"] < 0.2
    right, wrong = weights(found)
    assert ((wrong[found.head] == 0) & (right[found.head] > 0)).any()
    np.testing.assert_allclose(wrong[wrong > 0], right[wrong > 0] / 0.9, rtol=1e-5)


def test_with_positions_from_ids_the_order_of_words_tells_nothing(case: Case) -> None:
    found = symptom("positions_from_ids", case)
    assert found.wrong.numbers["difference"] < 1e-5  # rounding
    assert found.right.numbers["difference"] > 5 * found.wrong.numbers["difference"]
    if case[1].name == "classroom":  # the toy hardly uses the order
        assert found.right.numbers["difference"] > 0.5
        assert len({*found.wrong.text.split(" | ")}) == 1


# In training


@pytest.mark.slow
def test_without_the_causal_mask_the_loss_is_lower_and_the_translations_are_wrong() -> None:
    found = learned("causal_mask")
    right, wrong = found.right, found.wrong
    assert len(right.losses) == len(wrong.losses) == 300
    assert wrong.numbers["loss"] == wrong.losses[-1] < 0.5 * right.losses[-1] == 0.5 * right.numbers["loss"]
    assert sum(wrong.losses[150:]) < sum(right.losses[150:])
    assert wrong.numbers["training_accuracy"] > 0.95  # "right about nearly every word"
    assert right.numbers["exact_match"] > 0.3
    assert wrong.numbers["exact_match"] < 0.1
    assert right.text == found.wanted != wrong.text


@pytest.mark.slow
def test_labels_that_are_not_shifted_are_repeated() -> None:
    found = learned("labels_not_shifted")
    for side in (found.right, found.wrong):
        assert side.numbers["loss"] < 0.05
        assert side.numbers["training_accuracy"] == 1
    assert (found.right.numbers["start_share"], found.wrong.numbers["start_share"]) == (0, 1)
    assert {*found.wrong.text.split()} == {"S"}
    assert found.right.text == f"{found.wanted} E"


@pytest.mark.slow
def test_a_loss_over_padding_depends_on_the_batch_and_is_too_low() -> None:
    found = learned("loss_over_padding")
    right, wrong = found.right.numbers, found.wrong.numbers
    assert right["loss_together"] == pytest.approx(right["loss_alone"], rel=1e-4)
    assert wrong["loss_together"] < 0.7 * wrong["loss_alone"]
    assert wrong["loss"] < 0.7 * right["loss"]
    labels = classroom_corpus(PAIRS).batch().tgt_out
    assert 0.4 < (labels == 0).float().mean() < 0.6  # "half of all labels"


@pytest.mark.slow
def test_embeddings_that_are_not_scaled_drown_in_the_positions() -> None:
    found = learned("embeddings_unscaled")
    right, wrong = found.right.numbers, found.wrong.numbers
    assert wrong["loss"] > 2 * right["loss"]
    assert wrong["place_similarity"] > 0.9 > wrong["word_similarity"] + 0.05
    assert right["place_similarity"] < 0.4 < 0.9 < right["word_similarity"]
    assert wrong["exact_match"] < 0.05 < right["exact_match"]


@pytest.mark.slow
def test_xavier_makes_every_head_uniform_and_the_translation_is_right_all_the_same() -> None:
    found = learned("rank_collapse")
    assert found.wrong.numbers["largest_weight"] == pytest.approx(0.25, abs=0.01)  # of four words
    assert found.wrong.numbers["from_uniform"] < 0.01 < 0.3 < found.right.numbers["from_uniform"]
    assert found.right.text == found.wrong.text == found.wanted == "i want a beer ."
    assert found.wrong.numbers["first_weight"] > 0.7
    assert found.right.numbers["loss"] < 0.05 > found.wrong.numbers["loss"]
    right, wrong = weights(found)
    np.testing.assert_allclose(wrong[:, :, :4], 0.25, atol=0.01)  # all heads, and P is masked
    assert right[found.head].max() == pytest.approx(found.right.numbers["largest_weight"])


@pytest.mark.slow
def test_an_output_layer_made_in_forward_learns_nothing() -> None:
    found = learned("output_in_forward")
    assert found.right.numbers["loss"] < 0.05
    assert min(found.wrong.losses) > 1.5
    assert np.mean(found.wrong.losses) == pytest.approx(math.log(9), rel=0.1)  # chance, up and down
    assert 0.3 < np.mean(np.diff(found.wrong.losses) > 0) < 0.7
    assert found.right.numbers["saved_output_values"] == 64 * 9 + 9
    assert found.wrong.numbers["saved_output_values"] == 0
    assert (found.right.numbers["texts"], found.wrong.numbers["texts"]) == (1, 2)
    assert found.right.text == f"{found.wanted} | {found.wanted}"


@pytest.mark.slow
def test_fed_with_the_answer_a_half_trained_model_looks_better_than_it_is() -> None:
    found = learned("teacher_forced_test")
    gaps = {name: found.wrong.numbers[name] - found.right.numbers[name] for name in found.wrong.numbers}
    assert gaps["words_right"] > 0.1
    assert abs(gaps["words_in_order"]) < gaps["words_right"] / 2  # "most of the gap is such a shift"

    def words(text: str) -> int:
        return sum(a == b for a, b in zip(text.split(), found.wanted.split(), strict=False))

    assert words(found.wrong.text) >= len(found.wanted.split()) - 3  # a slip or two
    assert words(found.right.text) <= words(found.wrong.text) - 3


# All of them


def test_a_wrong_guess_is_told_why() -> None:
    for name, mistake in MISTAKES.items():
        assert {f"mistakes.{name}.clue", *(f"mistakes.{each}.telltale" for each in mistake.distractors)} <= set(ENGLISH)


@pytest.mark.parametrize("mistake", OF_RUNS, ids=lambda mistake: mistake.name)
def test_a_mistake_is_the_same_again_and_leaves_the_model_as_it_was(
    mistake: DecodingMistake, classroom: Translator
) -> None:
    sentence, model = SENTENCES["classroom"], classroom.checkpoint.model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    plain = classroom.translate(sentence).steps
    one = mistake.run(classroom, sentence)
    state = torch.random.get_rng_state()
    two = mistake.run(classroom, sentence)
    assert torch.equal(torch.random.get_rng_state(), state)  # a training beside it draws the same numbers
    assert one == two
    assert_numbers(one)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module.training for module in model.modules())
    assert classroom.translate(sentence).steps == plain


@pytest.mark.parametrize("mistake", OF_RUNS, ids=lambda mistake: mistake.name)
def test_a_mistake_can_be_shown_on_any_network(mistake: DecodingMistake, babbler: Translator) -> None:
    for sentence in ("wort1", "wort3 wort1 wort4 wort1 wort2 wort5"):
        found = mistake.run(babbler, sentence)
        assert_numbers(found)
        assert found.sentence == sentence
