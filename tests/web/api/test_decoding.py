"""Other decoding strategies are answered with the model's own numbers."""

import math

import pytest

from transformer.data.vocabulary import END
from transformer.inference.decoding import Hypothesis, Sampling
from transformer.web.api import decoding
from transformer.web.api.runs import reference, run
from transformer.web.sessions.models import translator

from .endpoints import BEER, FLAGSHIP, Answer, as_sent, asked, called

MISTAKEN = "Wo ist der junge Junge"  # the model leaves “young” out
ASKED = [("toy", BEER), ("classroom", FLAGSHIP), ("classroom", MISTAKEN)]


def way(branches: list[Answer], number: int | None) -> list[str]:
    """The words from the first one to this one."""
    if number is None:
        return []
    return [*way(branches, branches[number]["parent"]), branches[number]["token"]]


# Beam search


@pytest.mark.parametrize(("checkpoint", "sentence"), ASKED)
def test_the_tree_is_the_translators(checkpoint: str, sentence: str) -> None:
    """The page's leaves out some of the branches that were dropped, and changes no number."""
    width, alpha = 5, 0.6
    tree = translator(checkpoint).beam(sentence, width, alpha)
    answer = called(decoding.beam_search, sentence=sentence, width=width, alpha=alpha, checkpoint=checkpoint)
    assert [Hypothesis(**branch) for branch in answer["branches"]] == list(tree.branches)
    assert (answer["text"], answer["best"]) == (tree.text, tree.best)

    shown = asked(decoding.beam, checkpoint, sentence=sentence, width=width, alpha=alpha)
    branches, hypotheses = shown["branches"], shown["hypotheses"]
    ways = {tuple(way(answer["branches"], n)): n for n in range(len(tree.branches))}
    for n, branch in enumerate(branches):
        assert branch == answer["branches"][ways[tuple(way(branches, n))]] | {"parent": branch["parent"]}
    assert way(branches, shown["best"]) == way(answer["branches"], tree.best)
    for step, left_out in enumerate(shown["left_out"]):
        dropped = [each for each in branches if each["step"] == step and each["fate"] == "dropped"]
        of_all = [b.log_probability for b in tree.branches if b.step == step and b.fate == "dropped"]
        assert left_out == max(0, len(of_all) - decoding.MAX_DROPPED)
        assert [each["log_probability"] for each in dropped] == sorted(of_all, reverse=True)[: decoding.MAX_DROPPED]

    assert (hypotheses[0]["branch"], hypotheses[0]["text"]) == (shown["best"], shown["text"])
    assert [each["score"] for each in hypotheses] == sorted((each["score"] for each in hypotheses), reverse=True)
    finished = [n for n, branch in enumerate(branches) if branch["fate"] == "finished"]
    assert sorted(each["branch"] for each in hypotheses) == finished
    for each in hypotheses:
        words = way(branches, each["branch"])
        assert words[-1] == END
        assert each["text"].split() == [word for word in words if word not in ("S", "P", END)]
        assert each["probability"] == pytest.approx(math.exp(branches[each["branch"]]["log_probability"]))
    assert shown["greedy"]["text"] == run(checkpoint, sentence).text


# Sampling


@pytest.mark.parametrize(("checkpoint", "sentence"), ASKED[:2])
@pytest.mark.parametrize(
    ("seed", "temperature", "top_k", "top_p"), [(1, 1.7, 4, 1.0), (2, 3.0, 0, 0.6), (3, 0, 0, 1.0)]
)
def test_what_is_drawn_is_the_translators(
    checkpoint: str, sentence: str, seed: int, temperature: float, top_k: int, top_p: float
) -> None:
    limits = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    sampling = Sampling(**limits)  # type: ignore[arg-type]
    drawn = translator(checkpoint).translate(sentence, sampling=sampling)
    answer = asked(decoding.sampled, checkpoint, sentence=sentence, **limits)
    assert answer == decoding.sample(sentence, **limits, checkpoint=checkpoint)  # type: ignore[arg-type]
    assert {name: answer[name] for name in limits} == limits
    assert (answer["text"], answer["complete"]) == (drawn.text, drawn.complete)
    assert answer["log_probability"] == pytest.approx(sum(math.log(step.probability) for step in drawn.steps))
    ids = translator(checkpoint).checkpoint.tgt_vocab.ids
    for step, said in zip(drawn.steps, answer["steps"], strict=True):
        after = sampling.distribution(step.candidates.distribution)
        assert (said["token"], said["probability"]) == (step.token, step.probability)
        assert said["drawn"] > 0  # or it could not have been drawn
        assert said["left"] <= (top_k or len(ids))
        for each in said["candidates"]:
            assert each["drawn"] == pytest.approx(float(after[ids[each["token"]]]))


# Teacher forcing


@pytest.mark.parametrize(("checkpoint", "sentence"), ASKED)
def test_the_teacher_reads_the_reference_and_free_running_itself(checkpoint: str, sentence: str) -> None:
    baseline = run(checkpoint, sentence)
    answer = asked(decoding.forced, checkpoint, sentence=sentence, mistake=None)
    assert answer == as_sent(decoding.teacher_forcing(sentence, checkpoint))
    pair = reference(checkpoint, baseline)
    assert pair is not None
    wanted = [*pair.target.split(), END]
    assert (answer["reference"], answer["of"], answer["mistake"]) == (True, len(wanted), None)
    assert [row["wanted"] for row in answer["teacher"]] == wanted
    assert [row["read"] for row in answer["teacher"]] == ["S", *wanted[:-1]]
    assert tuple(row["output"] for row in answer["free"]) == baseline.output
    assert [row["probability"] for row in answer["free"]] == [step.probability for step in baseline.steps]
    taught = translator(checkpoint).translate(sentence, forced=wanted)
    for row, step in zip(answer["teacher"], taught.steps, strict=True):
        assert (row["output"], row["probability"]) == (step.candidates[0].token, step.candidates[0].probability)
    right = {way: sum(row["output"] == row["wanted"] for row in answer[way]) for way in ("teacher", "free")}
    assert answer["right"] == right
    assert right["free"] < right["teacher"] if sentence == MISTAKEN else right["free"] == len(wanted)


def test_without_a_reference_the_models_own_words_are_the_teachers() -> None:
    answer = asked(decoding.forced, "toy", sentence="cola bier", mistake=None)
    assert answer["reference"] is False
    assert answer["teacher"] == answer["free"]
    assert answer["right"] == {"teacher": answer["of"], "free": answer["of"]}


@pytest.mark.parametrize(("checkpoint", "sentence"), [("toy", BEER), ("classroom", "Mein Freund ruft mich oft an")])
def test_a_forced_mistake_is_found_that_free_running_does_not_recover_from(checkpoint: str, sentence: str) -> None:
    found = asked(decoding.diverging, checkpoint, sentence=sentence)
    own, at = run(checkpoint, sentence), found["mistake"]
    word = found["free"][at]["output"]
    assert found == asked(decoding.forced, checkpoint, sentence=sentence, mistake={"step": at, "word": word})
    assert word not in (own.output[at], *"SEP")
    assert found["right"]["teacher"] == found["of"] - 1, "with teacher forcing the mistake costs one word"
    outputs = [row["output"] for row in found["free"]]
    rest = [row["wanted"] for row in found["teacher"]][at + 1 :]
    assert outputs[at:][-len(rest) :] != rest, "nor is the rest moved on"
    assert found["recovered"] == {"teacher": True, "free": False}
    assert [row["read"] for row in found["free"]] == ["S", *outputs[:-1]]


@pytest.mark.parametrize(("checkpoint", "sentence"), ASKED)
def test_a_sample_without_a_seed_differs_from_greedy_decoding(checkpoint: str, sentence: str) -> None:
    found = asked(decoding.sampled, checkpoint, sentence=sentence)
    assert found == asked(decoding.sampled, checkpoint, sentence=sentence, seed=found["seed"])
    tokens = [each["token"] for each in found["steps"]]
    assert tokens != list(run(checkpoint, sentence).output)
    assert asked(decoding.sampled, checkpoint, sentence=sentence, top_k=1)["seed"] == 0  # where no seed can differ
