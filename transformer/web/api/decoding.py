"""Other roads of decoding than greedy: beam search, sampling, teacher forcing; for the page, and for programs.

Every question is a dict that anybody may have written; what cannot be answered is refused with {"error": a sentence}.
All of it is the model as it is: what "What if" changes in the run at the top has no part here.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import gradio as gr

from ...data.vocabulary import END, Vocabulary
from ...inference.translator import BeamTree, Candidate, Sampling, Translation
from .models import cached_per_checkpoint, translator
from .runs import reference, run

DROPPED = 3  # branches a step that the page shows of those that found no place, the likeliest
SHOWN = 10  # candidates a step
HOTTEST, MAX_WORDS = 100, 1_000_000  # a temperature and a top-k beyond all sense
NUMBERS = {int, float}  # not bool, which isinstance takes for an int
Answer = dict[str, Any]


def beam(question: Any) -> Answer:
    """The tree of a beam search beside greedy: `{"checkpoint", "sentence", "width", "alpha"}`."""
    return _beam(_pictured, question)


def sampled(question: Any) -> Answer:
    """A drawn translation: `{"checkpoint", "sentence", "temperature", "top_k", "top_p", "seed"}`."""
    match question:
        case {
            "checkpoint": str(checkpoint),
            "sentence": str(sentence),
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
        } if {type(temperature), type(top_p)} <= NUMBERS and type(top_k) is type(seed) is int:
            return _answer(_drawn, checkpoint, sentence, temperature, top_k, top_p, seed)
    return _refuse("A checkpoint, a sentence, a temperature, a top-k, a top-p and a seed are needed.")


def forced(question: Any) -> Answer:
    """Teacher forcing beside free running: `{"checkpoint", "sentence", "slip"}`.

    A slip is None, or `{"step", "word"}`: there the model is taken to say that word. With a teacher it reads the
    teacher's word next all the same; free, it reads its own.
    """
    match question:
        case {"checkpoint": str(checkpoint), "sentence": str(sentence), "slip": None}:
            return _answer(_forced, checkpoint, sentence)
        case {"checkpoint": str(checkpoint), "sentence": str(sentence), "slip": {"step": step, "word": str(word)}} if (
            type(step) is int
        ):
            return _answer(_forced, checkpoint, sentence, step, word)
    return _refuse("A checkpoint, a sentence and a slip (none, or a step and a word) are needed.")


def beam_search(sentence: str, width: int = 4, alpha: float = 0.6, checkpoint: str = "toy") -> Answer:
    """Translate by beam search, and tell the whole tree.

    Args:
        sentence: German words that the checkpoint knows.
        width: places in the beam, 1 (greedy) to 5.
        alpha: of the length penalty, 0 (none) to 5.
        checkpoint: a shipped checkpoint.

    Returns:
        text, width, alpha, branches (token, parent, step, probability, log_probability, score, fate), best (number of
        the branch that text ends on), hypotheses (finished ones, best score first) and greedy.
    """
    return _or_raise(_beam(_searched, {"sentence": sentence, "width": width, "alpha": alpha, "checkpoint": checkpoint}))


def sample(
    sentence: str,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
    checkpoint: str = "toy",
) -> Answer:
    """Translate by drawing each word, instead of taking the likeliest.

    Args:
        sentence: German words that the checkpoint knows.
        temperature: above 1 it is bolder, 0 is greedy.
        top_k: only the so many likeliest words; 0 for all.
        top_p: only the likeliest words that together reach this probability; 1 for all.
        seed: the same seed draws the same words.
        checkpoint: a shipped checkpoint.

    Returns:
        text, complete, probability and log_probability (nats) that the model gives all its words, and steps: token,
        probability (the model's), drawn (after the limits), left (words that could be drawn) and candidates.
    """
    limits = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    return _or_raise(sampled({"sentence": sentence, "checkpoint": checkpoint, **limits}))


def teacher_forcing(sentence: str, checkpoint: str = "toy", step: int | None = None, word: str = "") -> Answer:
    """What the model says when the right words are read to it, beside what it says when it reads its own.

    Args:
        sentence: German words that the checkpoint knows.
        checkpoint: a shipped checkpoint.
        step, word: where the model is taken to have said this word (a slip), from 0; none if left out.

    Returns:
        teacher and free (rows of read, said, probability, wanted), right (rows of each that say what was wanted) of
        how many, reference (whether the corpus has a translation; else the model's own is the teacher's), slip.
    """
    slip = None if step is None else {"step": step, "word": word}
    return _or_raise(forced({"sentence": sentence, "checkpoint": checkpoint, "slip": slip}))


def _beam(answer: Callable[[str, str, int, float], Answer], question: Any) -> Answer:
    match question:
        case {"checkpoint": str(checkpoint), "sentence": str(sentence), "width": width, "alpha": alpha} if (
            type(width) is int and type(alpha) in NUMBERS
        ):
            return _answer(answer, checkpoint, sentence, width, alpha)
    return _refuse("A checkpoint, a sentence, a width and a length penalty are needed.")


@cached_per_checkpoint(64)
def _searched(checkpoint: str, sentence: str, width: int, alpha: float) -> Answer:
    model = translator(checkpoint)
    tree, greedy = model.beam(sentence, width, alpha), run(checkpoint, sentence)
    log = _log_probability(greedy)
    return {
        "text": tree.text,
        "width": width,
        "alpha": alpha,
        "branches": [asdict(branch) for branch in tree.branches],
        "best": tree.best,
        "hypotheses": _hypotheses(tree, model.checkpoint.tgt_vocab),
        "greedy": {
            "text": greedy.text,
            "complete": greedy.complete,
            "log_probability": log,
            "probability": math.exp(log),
        },
    }


def _hypotheses(tree: BeamTree, vocab: Vocabulary) -> list[Answer]:
    """What the search chose from, the best score first: what was finished, else what was cut off."""
    finished = [n for n, branch in enumerate(tree.branches) if branch.fate == "finished"]
    last = tree.branches[-1].step
    cut = [n for n, branch in enumerate(tree.branches) if branch.fate == "kept" and branch.step == last]
    found = []
    for n in sorted(finished or cut, key=lambda n: (-tree.branches[n].score, n != tree.best)):
        branch = tree.branches[n]
        ids, here = [vocab.ids[branch.token]], branch
        while here.parent is not None:
            here = tree.branches[here.parent]
            ids.append(vocab.ids[here.token])
        log = branch.log_probability
        scored = {"log_probability": log, "probability": math.exp(log), "score": branch.score}
        found.append({"branch": n, "text": vocab.decode(reversed(ids)), **scored, "finished": bool(finished)})
    return found


@cached_per_checkpoint(64)
def _pictured(checkpoint: str, sentence: str, width: int, alpha: float) -> Answer:
    """The same without most of what was dropped; `left_out` of each step so many."""
    whole = _searched(checkpoint, sentence, width, alpha)
    dropped = Counter[int]()
    branches: list[Answer] = []
    numbers: dict[int | None, int | None] = {None: None}  # in the whole tree -> here
    left_out = [0] * (whole["branches"][-1]["step"] + 1)
    for n, branch in enumerate(whole["branches"]):  # of each step the likeliest first
        if branch["fate"] == "dropped":
            dropped[branch["step"]] += 1
            if dropped[branch["step"]] > DROPPED:
                left_out[branch["step"]] += 1
                continue
        numbers[n] = len(branches)
        branches.append(branch | {"parent": numbers[branch["parent"]]})  # what was dropped is nobody's parent
    hypotheses = [each | {"branch": numbers[each["branch"]]} for each in whole["hypotheses"]]
    shown = {"branches": branches, "best": numbers[whole["best"]], "hypotheses": hypotheses, "left_out": left_out}
    return whole | shown


@cached_per_checkpoint(64)
def _drawn(checkpoint: str, sentence: str, temperature: float, top_k: int, top_p: float, seed: int) -> Answer:
    if not (0 <= temperature <= HOTTEST and 0 <= top_k <= MAX_WORDS and 0 < top_p <= 1 and 0 <= seed < 2**63):
        raise ValueError(
            f"A temperature is from 0 to {HOTTEST}, top-k from 0 to {MAX_WORDS}, top-p above 0 and at most 1, and a "
            "seed from 0 to 2^63 − 1."
        )
    sampling = Sampling(temperature, top_k, top_p, seed)
    drawn = translator(checkpoint).translate(sentence, sampling=sampling)
    steps = []
    for step in drawn.steps:
        after = step.drawn_from(sampling)
        both = [
            {"token": c.token, "probability": c.probability, "drawn": p}
            for c, p in zip(step.candidates, after, strict=True)
        ]
        said = next(each for each in both if each["token"] == step.token)
        shown = both[:SHOWN] if said in both[:SHOWN] else [*both[: SHOWN - 1], said]
        steps.append({**said, "left": sum(p > 0 for p in after), "candidates": shown})
    log = _log_probability(drawn)
    whole = {"log_probability": log, "probability": math.exp(log)}
    settings = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    return {"text": drawn.text, "complete": drawn.complete, **settings, **whole, "steps": steps}


@cached_per_checkpoint(64)
def _forced(checkpoint: str, sentence: str, step: int | None = None, word: str = "") -> Answer:
    model, own = translator(checkpoint), run(checkpoint, sentence)
    pair = reference(checkpoint, own)
    wanted = (*pair.target.split(), END) if pair else own.output
    taught = model.translate(sentence, forced=wanted) if pair else own  # its own words read to it change nothing
    free = own
    if step is not None:
        last = min(len(wanted), len(own.output)) - 1
        if not 0 <= step <= last:
            raise ValueError(f"A slip happens at a step from 0 to {last}.")
        free = model.translate(sentence, forced=(*own.output[:step], word))
    rows = {
        "teacher": _rows(taught, [each.candidates[0] for each in taught.steps], wanted),
        "free": _rows(free, [Candidate(each.token, each.probability) for each in free.steps], wanted),
    }
    if step is not None:
        said = next(each for each in taught.steps[step].candidates if each.token == word)
        rows["teacher"][step] |= {"said": said.token, "probability": said.probability}
    return {
        **rows,
        "right": {name: sum(row["said"] == row["wanted"] for row in rows[name]) for name in rows},
        "of": len(wanted),
        "slip": step,
        "reference": pair is not None,
    }


def _rows(translation: Translation, said: list[Candidate], wanted: tuple[str, ...]) -> list[Answer]:
    """After the end of what was wanted, nothing is."""
    return [
        {
            "read": read,
            "said": each.token,
            "probability": each.probability,
            "wanted": wanted[t] if t < len(wanted) else None,
        }
        for t, (read, each) in enumerate(zip(translation.decoder_input, said, strict=True))
    ]


def _log_probability(translation: Translation) -> float:
    """Of the whole sentence, E included, nats."""
    return sum(math.log(step.probability) for step in translation.steps)


def _answer(answer: Callable[..., Answer], *asked: Any) -> Answer:
    try:
        return answer(*asked)
    except ValueError as error:  # SentenceError, CheckpointError, and those of a width, a limit or a word
        return _refuse(str(error))


def _refuse(sentence: str) -> Answer:
    return {"error": sentence}


def _or_raise(answer: Answer) -> Answer:
    if "error" in answer:
        raise gr.Error(answer["error"])
    return answer
