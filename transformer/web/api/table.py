"""Every question that the page asks, and every action for programs, once.

The routes of the page, the types of the browser's client and Gradio's API are made from this table.
"""

from collections.abc import Callable
from typing import Any

from . import (
    candidates,
    classes,
    decoding,
    downloads,
    mistakes,
    models,
    refusals,
    runs,
    sublayers,
    training,
    translate,
    what_if,
    why,
)
from .question import Question

SLOW = (downloads.notebook, downloads.interactive)  # a file with a model, or with every number of a run

QUESTIONS: dict[str, Question] = {
    function.__name__: Question(function.__name__, function, function in SLOW)
    for function in (
        translate.translate,
        translate.surprise,
        refusals.alternatives,
        refusals.similar_pairs,
        candidates.candidates,
        sublayers.checks,
        why.why,
        why.lens,
        why.scored,
        what_if.heads,
        sublayers.inside,
        sublayers.value_output,
        sublayers.value_norms,
        sublayers.parameters,
        sublayers.shapes,
        sublayers.stack,
        sublayers.input_sum,
        what_if.starters,
        what_if.sweep,
        what_if.head_events,
        what_if.vocabulary,
        decoding.beam,
        decoding.sampled,
        decoding.forced,
        decoding.diverging,
        mistakes.mistake,
        mistakes.recorded,
        mistakes.train_mistake,
        training.pairs,
        training.plan,
        training.train,
        training.stop_training,
        models.load_model,
        models.share_model,
        models.shared_model,
        models.delete_model,
        classes.open_class,
        classes.follow_class,
        classes.vote,
        classes.lead_class,
        downloads.weights_csv,
        downloads.notebook,
        downloads.interactive,
        downloads.provenance,
    )
}

ACTIONS: tuple[Callable[..., Any], ...] = (
    runs.translate,
    runs.attention,
    runs.contributions,
    sublayers.positions,
    what_if.what_if,
    what_if.which_heads_matter,
    decoding.beam_search,
    decoding.sample,
    decoding.teacher_forcing,
    mistakes.spot_the_bug,
)
