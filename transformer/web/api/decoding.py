"""Decoding strategies beside greedy: beam search, sampling, teacher forcing; for the page, and for programs.

All of them use the model as it is: the changes of the run at the top have no part here.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...data.vocabulary import END, SPECIAL, Vocabulary
from ...inference import decoding
from ...inference.decoding import Sampling
from ...inference.translation import BeamTree, Candidate, Translation
from ...network.cost import count_parameters
from ..schema import BeamRequest, ForcedMistake, ForcedRequest, RunRequest, SampleRequest
from ..sessions.models import cached_per_checkpoint, translator
from .runs import reference, run

MAX_DROPPED = 3  # branches that the page shows of those dropped at a step, the likeliest
MAX_CANDIDATES = 10  # a step
MAX_MISTAKES = 24  # tried in search of one from which free running does not recover,
MAX_TRIED_WORK = 10**10  # and multiplications of these, so that a large model tries fewer

Branch = decoding.Hypothesis[str]


class Likelihood(TypedDict):
    """That the model gives a whole sentence, E included; the logarithm in nats."""

    log_probability: float
    probability: float


class RankedText(Likelihood):
    """A sentence that a beam search chose from."""

    branch: int
    text: str
    score: float
    finished: bool


class OutputText(Likelihood):
    """The whole output of a run."""

    text: str
    complete: bool


class BeamSearch(TypedDict):
    """The whole tree of a beam search beside greedy decoding; `best` is the branch that its text ends on."""

    text: str
    width: int
    alpha: float
    branches: Sequence[Branch]
    best: int
    hypotheses: list[RankedText]
    greedy: OutputText


class ShownBeamSearch(BeamSearch):
    """A beam search without most of what was dropped, and how much that is at each step."""

    left_out: list[int]


@cached_per_checkpoint(16)
def beam(request: BeamRequest) -> ShownBeamSearch:
    """The tree of a beam search beside greedy decoding, without most of what was dropped."""
    whole = _search(request)
    dropped = Counter[int]()
    branches: list[Branch] = []
    here: dict[int | None, int] = {}  # number in the whole tree -> in this one
    left_out = [0] * (whole["branches"][-1].step + 1)
    for n, branch in enumerate(whole["branches"]):  # of each step the likeliest first
        if branch.fate == "dropped":
            dropped[branch.step] += 1
            if dropped[branch.step] > MAX_DROPPED:
                left_out[branch.step] += 1
                continue
        here[n] = len(branches)
        branches.append(replace(branch, parent=here.get(branch.parent)))  # no parent is dropped
    hypotheses: list[RankedText] = [{**each, "branch": here[each["branch"]]} for each in whole["hypotheses"]]
    best = here[whole["best"]]
    return {**whole, "branches": branches, "best": best, "hypotheses": hypotheses, "left_out": left_out}


@cached_per_checkpoint(16)
def _search(request: BeamRequest) -> BeamSearch:
    model = translator(request.checkpoint)
    tree, greedy = model.beam(request.sentence, request.width, request.alpha), run(request.checkpoint, request.sentence)
    return {
        "text": tree.text,
        "width": request.width,
        "alpha": request.alpha,
        "branches": tree.branches,
        "best": tree.best,
        "hypotheses": _hypotheses(tree, model.checkpoint.tgt_vocab),
        "greedy": _output_text(greedy),
    }


def _hypotheses(tree: BeamTree, vocab: Vocabulary) -> list[RankedText]:
    """The finished hypotheses, best score first; where none finished, the unfinished ones of the last step."""
    numbered = list(enumerate(tree.branches))
    finished = [(n, branch) for n, branch in numbered if branch.fate == "finished"]
    last = tree.branches[-1].step
    unfinished = [(n, branch) for n, branch in numbered if branch.fate == "kept" and branch.step == last]
    return [
        {
            "branch": n,
            "text": vocab.decode(vocab.ids[token] for token in decoding.output_of(n, tree.branches)),
            "log_probability": branch.log_probability,
            "probability": math.exp(branch.log_probability),
            "score": branch.score,
            "finished": bool(finished),
        }
        for n, branch in sorted(finished or unfinished, key=lambda each: (-each[1].score, each[0] != tree.best))
    ]


def beam_search(sentence: str, width: int = 4, alpha: float = 0.6, checkpoint: str = "toy") -> dict[str, Any]:
    """Translate by beam search, with the whole tree.

    Args:
        sentence: German words that the checkpoint knows.
        width: places in the beam, 1 (greedy) to 5.
        alpha: of the length penalty, 0 (none) to 5.
        checkpoint: a shipped checkpoint, or a real model that the server lists.

    Returns:
        text, width, alpha, branches (token, parent, step, probability, log_probability, score, fate), best (number of
        the branch that text ends on), hypotheses (finished ones, best score first) and greedy.
    """
    return dict(_search(BeamRequest(sentence=sentence, width=width, alpha=alpha, checkpoint=checkpoint)))


class DrawnCandidate(TypedDict):
    """A candidate token: its probability in the model, and in the distribution that was sampled."""

    token: str
    probability: float
    drawn: float


class DrawnStep(DrawnCandidate):
    """A drawn token, and how many tokens were `left` to draw from."""

    left: int
    candidates: list[DrawnCandidate]


class Sample(OutputText):
    """A translation whose words were drawn."""

    temperature: float
    top_k: int
    top_p: float
    seed: int
    steps: list[DrawnStep]


@cached_per_checkpoint(16)
def sampled(request: SampleRequest) -> Sample:
    """A translation whose words are drawn, with what they were drawn from."""
    model, settings = translator(request.checkpoint), request.model_dump(exclude=set(RunRequest.model_fields))
    if request.seed is None:
        greedy = [step.candidates.distribution for step in run(request.checkpoint, request.sentence).steps]
        settings["seed"] = Sampling(**settings | {"seed": 0}).first_other_seed(greedy) or 0
    sampling = Sampling(**settings)
    drawn = model.translate(request.sentence, sampling=sampling)
    ids = model.checkpoint.tgt_vocab.ids
    steps: list[DrawnStep] = []
    for step in drawn.steps:
        drawn_from = sampling.distribution(step.candidates.distribution)
        candidates: list[DrawnCandidate] = [
            {"token": each.token, "probability": each.probability, "drawn": float(drawn_from[ids[each.token]])}
            for each in (Candidate(step.token, step.probability), *step.candidates[:MAX_CANDIDATES])
        ]
        chosen, *shown = candidates
        if chosen not in shown:
            shown[-1] = chosen
        left = int((drawn_from > 0).sum())
        steps.append({**chosen, "left": left, "candidates": shown})
    return {**settings, **_output_text(drawn), "steps": steps}  # type: ignore[typeddict-item]


def sample(
    sentence: str, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0, checkpoint: str = "toy"
) -> dict[str, Any]:
    """Translate by sampling each word instead of taking the likeliest.

    Args:
        sentence: German words that the checkpoint knows.
        temperature: above 1 unlikely words become more likely, 0 is greedy.
        top_k: sample only from this many of the likeliest words; 0 for all.
        top_p: sample only from the likeliest words that together reach this probability; 1 for all.
        seed: the same seed draws the same words.
        checkpoint: a shipped checkpoint, or a real model that the server lists.

    Returns:
        text, complete, probability and log_probability (nats) that the model gives all its words, and steps: token,
        probability (the model's), drawn (after the limits), left (words that could be drawn) and candidates.
    """
    settings: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    return dict(sampled(SampleRequest(sentence=sentence, checkpoint=checkpoint, **settings)))


class ForcedRow(TypedDict):
    """A step: its decoder input, its output, and the reference's token."""

    read: str
    output: str
    probability: float
    wanted: str | None


class TeacherForcing(TypedDict):
    """Teacher forcing beside free running.

    `right`: rows of each that output what was wanted; `recovered`: whether each outputs all that is wanted after the
    mistake, perhaps in later or earlier rows; `reference`: whether the corpus has a translation to force.
    """

    teacher: list[ForcedRow]
    free: list[ForcedRow]
    right: dict[Literal["teacher", "free"], int]
    recovered: dict[Literal["teacher", "free"], bool]
    of: int
    mistake: int | None
    reference: bool


TeacherForcedRun = tuple[Translation, tuple[str, ...], Translation]  # a free run, what is wanted, and the forced run


def _teacher_forced(request: RunRequest) -> TeacherForcedRun:
    """Without a reference all three are the free run, because forcing its own output changes nothing."""
    own = run(request.checkpoint, request.sentence)
    pair = reference(request.checkpoint, own)
    if not pair:
        return own, own.output, own
    wanted = (*pair.target.split(), END)
    return own, wanted, translator(request.checkpoint).translate(request.sentence, forced=wanted)


@cached_per_checkpoint(16)
def forced(request: ForcedRequest) -> TeacherForcing:
    """Teacher forcing beside free running. With a mistake, the model is made to output that word at that step. With
    teacher forcing it still reads the reference's word next; free-running, it reads its own."""
    return _compared(request, _teacher_forced(request), request.mistake)


def _compared(request: RunRequest, runs: TeacherForcedRun, mistake: ForcedMistake | None) -> TeacherForcing:
    own, wanted, forced = runs
    free = own
    teacher = _rows(forced, [each.candidates[0] for each in forced.steps], wanted)
    if mistake:
        last = min(len(wanted), len(own.output)) - 1
        if mistake.step > last:
            raise ValueError(f"A mistake happens at a step from 0 to {last}.")
        model = translator(request.checkpoint)
        free = model.translate(request.sentence, forced=(*own.output[: mistake.step], mistake.word))
        output = next(each for each in forced.steps[mistake.step].candidates if each.token == mistake.word)
        teacher[mistake.step] |= {"output": output.token, "probability": output.probability}
    rows = _rows(free, [Candidate(each.token, each.probability) for each in free.steps], wanted)
    return {
        "teacher": teacher,
        "free": rows,
        "right": {"teacher": _right(teacher), "free": _right(rows)},
        "recovered": {"teacher": _recovered(teacher, wanted, mistake), "free": _recovered(rows, wanted, mistake)},
        "of": len(wanted),
        "mistake": mistake.step if mistake else None,
        "reference": forced is not own,
    }


@cached_per_checkpoint(16)
def diverging(request: RunRequest) -> TeacherForcing:
    """Teacher forcing beside free running, after a forced mistake that free running does not recover from. The
    likeliest such mistake of those that are tried; if the model recovers from them all, the likeliest of them. No
    mistake is forced where nothing would follow it."""
    runs, likeliest = _teacher_forced(request), None
    config = translator(request.checkpoint).checkpoint.model.config
    tries = MAX_TRIED_WORK // (len(runs[0].output) * count_parameters(config))
    for mistake in _likely_mistakes(runs)[: max(2, tries)]:
        found = _compared(request, runs, mistake)
        if not found["recovered"]["free"]:
            return found
        likeliest = likeliest or found
    return likeliest or _compared(request, runs, None)


def _likely_mistakes(runs: TeacherForcedRun) -> list[ForcedMistake]:
    """Words that the model could output instead of the right one before its last step, the likeliest first."""
    own, wanted, _ = runs
    found = [
        (each.probability, ForcedMistake(step=step, word=each.token))
        for step in range(min(len(wanted), len(own.output)) - 1)
        for each in own.steps[step].candidates[1:MAX_CANDIDATES]
        if each.token not in (*SPECIAL, wanted[step])
    ]
    return [mistake for _, mistake in sorted(found, key=lambda each: -each[0])[:MAX_MISTAKES]]


def _rows(translation: Translation, output: list[Candidate], wanted: tuple[str, ...]) -> list[ForcedRow]:
    """After the reference's end nothing is wanted."""
    words = (*wanted, *[None] * len(output))[: len(output)]
    return [
        {"read": read, "output": each.token, "probability": each.probability, "wanted": word}
        for read, each, word in zip(translation.decoder_input, output, words, strict=True)
    ]


def _recovered(rows: list[ForcedRow], wanted: tuple[str, ...], mistake: ForcedMistake | None) -> bool:
    rest = wanted[mistake.step + 1 :] if mistake else wanted
    outputs = tuple(row["output"] for row in rows[mistake.step if mistake else 0 :])
    return not rest or outputs[-len(rest) :] == rest


def _right(rows: list[ForcedRow]) -> int:
    return sum(row["output"] == row["wanted"] for row in rows)


def teacher_forcing(sentence: str, checkpoint: str = "toy", step: int | None = None, word: str = "") -> dict[str, Any]:
    """Compare the model's output when it reads the reference (teacher forcing) with its output in free running.

    Args:
        sentence: German words that the checkpoint knows.
        checkpoint: a shipped checkpoint, or a real model that the server lists.
        step: from 0, where the model is forced to output `word` (a forced mistake); none if left out.
        word: that the model can output; only with a step.

    Returns:
        teacher and free (rows of read, output, probability, wanted), right (rows of each that output what was wanted)
        of how many, recovered (whether each outputs all that is wanted after the mistake), reference (whether the
        corpus has a translation; else the model's own is forced), mistake.
    """
    if (step is None) != (word == ""):
        raise ValueError("A forced mistake has both a step and a word.")
    mistake = None if step is None else ForcedMistake(step=step, word=word)
    return dict(forced(ForcedRequest(sentence=sentence, checkpoint=checkpoint, mistake=mistake)))


def _output_text(run: Translation) -> OutputText:
    log = run.log_probability
    return {"text": run.text, "complete": run.complete, "log_probability": log, "probability": math.exp(log)}
