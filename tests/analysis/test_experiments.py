"""Each shipped experiment shows what it was shipped for, and is what its search finds."""

from functools import cache

import pytest

from transformer import Translator
from transformer.analysis.experiments import SEARCHES, Experiment, candidates, on_sentence, shipped
from transformer.inference.decoding import Sampling
from transformer.inference.interventions import Interventions

candidates_of = cache(lambda translator: dict(candidates(translator)[0]))
FOUND = [(checkpoint, name) for checkpoint in ("toy", "classroom") for name in shipped(checkpoint)]
UNCHANGED = ("classroom", "explains")  # a run of which the measures differ: tests/browser/test_lesson.py


def changed_text(translator: Translator, experiment: Experiment) -> str:
    """The text of the run that the experiment makes."""
    if experiment.changes:
        return translator.translate(
            experiment.sentence, interventions=Interventions.parse(list(experiment.changes))
        ).text
    settings = experiment.settings
    if "seed" in settings:
        return translator.translate(experiment.sentence, sampling=Sampling(**settings)).text
    if "width" in settings:
        return translator.beam(experiment.sentence, **settings).text
    own = translator.translate(experiment.sentence).output[: settings["step"]]
    return translator.translate(experiment.sentence, forced=[*own, settings["word"]]).text


@pytest.mark.slow
@pytest.mark.parametrize(("checkpoint", "name"), [each for each in FOUND if each != UNCHANGED])
def test_an_experiment_changes_words(checkpoint: str, name: str, request: pytest.FixtureRequest) -> None:
    translator: Translator = request.getfixturevalue(checkpoint)
    experiment = shipped(checkpoint)[name]
    text = translator.translate(experiment.sentence).text
    changed = changed_text(translator, experiment)
    assert changed != text
    if name in ("word", "forced"):  # more than what was forced
        assert sum(a != b for a, b in zip(text.split(), changed.split(), strict=False)) > 1
    if name == "beam":
        one, many = (translator.beam(experiment.sentence, width) for width in (1, experiment.settings["width"]))
        assert many.branches[many.best].log_probability > one.branches[one.best].log_probability
    else:
        assert experiment.sentence in candidates_of(translator)


def test_the_classroom_has_one_of_every_kind() -> None:
    assert set(shipped("classroom")) == set(SEARCHES)


@pytest.mark.slow
@pytest.mark.parametrize("sentence", ["Heute habe ich ein kaltes Bier getrunken", "Es war schön"])
def test_what_is_tried_on_a_sentence_changes_it_or_brings_one_that_it_changes(
    classroom: Translator, sentence: str
) -> None:
    tried = on_sentence(classroom, classroom.translate(sentence), shipped("classroom"))
    assert set(tried) == {name for name, each in shipped("classroom").items() if each.changes}
    assert all(changed_text(classroom, each) != classroom.translate(each.sentence).text for each in tried.values())
    assert any(each.sentence == sentence for each in tried.values())
