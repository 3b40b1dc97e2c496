"""Training follows the paper, is repeatable, and can be observed and stopped at any step; scores are exact."""

import itertools
import math
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transformer import Transformer, TransformerConfig, Translator
from transformer.data import Batch
from transformer.training import Progress, TrainingConfig, evaluate, seeded_model, train
from transformer.training.__main__ import main

from ..networks import SIZES, network, padded

SIZE = SIZES | {"src_vocab_size": 6, "tgt_vocab_size": 9}
PADDED = Batch(  # sentences of two lengths; ids as in SIZES
    src=torch.tensor([[1, 2, 3], [4, 5, 0]]),
    tgt_in=torch.tensor([[11, 1, 2, 3], [11, 4, 0, 0]]),
    tgt_out=torch.tensor([[1, 2, 3, 12], [4, 12, 0, 0]]),
)


def learner(seed: int = 0, **fields: Any) -> Transformer:
    """An untrained network with the toy's vocabularies."""
    return seeded_model(TransformerConfig(**(SIZE | fields)), seed)


def trained(data: Batch) -> tuple[dict[str, Tensor], list[Progress]]:
    model = learner()
    progress = list(train(model, data, TrainingConfig(steps=4)))
    return model.state_dict(), progress


def test_the_seed_determines_the_weights_and_the_dropout(toy_data: Batch) -> None:
    """Whatever is drawn, one step of ten differs by more than rounding."""

    def losses(start: int, seed: int) -> Tensor:
        return torch.tensor([each.loss for each in train(learner(start), toy_data, TrainingConfig(10, seed=seed))])

    one = losses(0, 0)
    assert (one - losses(1, 0)).abs().max() > 1e-3
    assert (one - losses(0, 1)).abs().max() > 1e-3  # dropout


def test_every_step_runs_in_training_mode(toy_data: Batch) -> None:
    model = learner().eval()
    losses = []
    for progress in train(model, toy_data, TrainingConfig(steps=4)):
        assert model.training
        losses.append(progress.loss)
        model.eval()
    assert losses == [progress.loss for progress in trained(toy_data)[1]]


@pytest.mark.parametrize("data", ["toy", "padded"])
@pytest.mark.parametrize("schedule", ["constant", "warmup", "one-cycle"])
def test_losses_equal_those_of_a_plain_loop(toy_data: Batch, schedule: Any, data: str) -> None:
    sizes, batch = (SIZE, toy_data) if data == "toy" else (SIZES, PADDED)
    shared: dict[str, Any] = {"schedule": schedule, "warmup_steps": 5, "label_smoothing": 0.1, "clip_norm": 0.5}
    config = TrainingConfig(steps=8, weight_decay=9.0, **shared)
    ours, model = (seeded_model(TransformerConfig(**sizes, dropout=0.0), 0) for _ in range(2))
    adam, losses, words = torch.optim.Adam(model.parameters(), 1e-3, (0.9, 0.98), 1e-9), [], batch.tgt_out != 0
    for step in range(1, 9):
        if schedule == "warmup":
            adam.param_groups[0]["lr"] = 16**-0.5 * min(step**-0.5, step * 5**-1.5)
        if schedule == "one-cycle":  # highest at 1.2 of 8 steps
            fall = 1e-3 * (1 + math.cos(math.pi * (step - 1.2) / 6.8)) / 2
            adam.param_groups[0]["lr"] = 1e-3 / 1.2 if step == 1 else fall
        log_p = model(batch.src, batch.tgt_in).logits.log_softmax(-1)
        gold = log_p.gather(-1, batch.tgt_out[..., None])[..., 0]
        loss = -(0.9 * gold + 0.1 * log_p.mean(-1))[words].mean()
        adam.zero_grad()
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        for p in model.parameters():
            p.grad *= min(1.0, 0.5 / norm)
            p.data *= 1 - 9.0 * (p.dim() > 1) * adam.param_groups[0]["lr"]  # decoupled: no part of the gradient
        adam.step()
        losses.append(loss.item())
    assert [p.loss for p in train(ours, batch, config)] == pytest.approx(losses, abs=1e-4)


@given(st.integers(1, 2000), st.floats(1e-6, 1))
def test_one_cycle_has_one_peak_and_never_exceeds_the_learning_rate(steps: int, learning_rate: float) -> None:
    config = TrainingConfig(schedule="one-cycle", steps=steps, learning_rate=learning_rate)
    rates = [config.rate(step, 64) for step in range(1, steps + 1)]
    assert all(0 <= rate <= learning_rate * (1 + 1e-9) for rate in rates)
    peak = rates.index(max(rates))
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert rates[-1] == pytest.approx(0, abs=learning_rate * 1e-9)
    if steps >= 20:
        assert max(rates) >= 0.9 * learning_rate
        assert 0.1 * steps <= peak + 1 <= 0.2 * steps


def test_the_same_seed_gives_the_same_weights_bit_for_bit_wherever_a_training_is_stopped(toy_data: Batch) -> None:
    stopped = learner()
    progress = list(itertools.islice(train(stopped, toy_data, TrainingConfig(steps=1000)), 4))
    weights, whole = trained(toy_data)
    assert progress == whole
    assert all(torch.equal(value, weights[name]) for name, value in stopped.state_dict().items())


def of_many_lengths(count: int) -> Batch:
    """The source and target of pair i repeat the id i; lengths vary and are in mixed order."""
    lengths = [(1 + i * 7 % 6, 1 + i * 5 % 9) for i in range(1, count + 1)]
    return Batch(
        src=padded([[i] * source for i, (source, _) in enumerate(lengths, 1)]),
        tgt_in=padded([[1, *[i] * target] for i, (_, target) in enumerate(lengths, 1)]),
        tgt_out=padded([[*[i] * target, 2] for i, (_, target) in enumerate(lengths, 1)]),
    )


def batches_of(data: Batch, steps: int, batch_size: int) -> list[tuple[Tensor, Tensor]]:
    """The sources and decoder inputs of each training step."""
    model = network(src_vocab_size=100, tgt_vocab_size=100)
    read: list[tuple[Tensor, Tensor]] = []
    model.register_forward_pre_hook(lambda _, ids: read.append((ids[0].clone(), ids[1].clone())))
    list(train(model, data, TrainingConfig(steps=steps, batch_size=batch_size)))
    return read


@pytest.mark.parametrize(("count", "batch_size"), [(50, 8), (48, 8), (9, 1)])
def test_each_pass_covers_every_pair_exactly_once(count: int, batch_size: int) -> None:
    data, a_pass = of_many_lengths(count), math.ceil(count / batch_size)
    read = batches_of(data, 2 * a_pass, batch_size)
    for batches in (read[:a_pass], read[a_pass:]):
        rows = [row for src, tgt_in in batches for row in zip(src.tolist(), tgt_in.tolist(), strict=True)]
        assert sorted(src[0] for src, _ in rows) == list(range(1, count + 1))
        for src, tgt_in in rows:
            i = src[0] - 1
            assert [word for word in src if word] == [word for word in data.src[i].tolist() if word]
            assert [word for word in tgt_in if word] == [word for word in data.tgt_in[i].tolist() if word]
    orders = [[src[:, 0].tolist() for src, _ in some] for some in (read[:a_pass], read[a_pass:])]
    assert orders[0] != orders[1]


def test_a_batch_has_sentences_of_similar_length_and_no_column_of_padding_only() -> None:
    """No pair outside a batch has a length between those of two pairs in it."""
    data = of_many_lengths(50)
    read = batches_of(data, 13, 4)
    assert all((ids != 0).any(dim=0).all() for batch in read for ids in batch)
    assert min(tgt_in.size(1) for _, tgt_in in read) < data.tgt_in.size(1)
    words = [sorted(((src != 0).sum(1) + (tgt_in != 0).sum(1)).tolist()) for src, tgt_in in read]
    in_order = sorted(words)
    assert all(shorter[-1] <= longer[0] for shorter, longer in itertools.pairwise(in_order))
    assert words != in_order  # not sorted by length


POSITIVE = ("steps", "batch_size", "warmup_steps", "learning_rate", "clip_norm")
INVALID: list[tuple[str, Any]] = [(name, value) for name in POSITIVE for value in (0, -1, math.nan)]
INVALID += [("label_smoothing", 1.0), ("label_smoothing", -0.1), ("weight_decay", -0.1)]
INVALID += [("schedule", "cosine"), ("precision", "int8")]


@pytest.mark.parametrize(("name", "value"), INVALID)
def test_an_invalid_setting_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name} \({value!r}\)"):
        TrainingConfig(**{name: value})


@pytest.mark.slow
def test_bfloat16_trains_as_well_and_keeps_float32_weights(toy_data: Batch) -> None:
    model, dtypes = learner(dropout=0.0), set()

    def watch(name: str, value: Tensor) -> Tensor:
        dtypes.add((name.split(".")[-1], value.dtype))
        return value

    config = TrainingConfig(steps=60, learning_rate=3e-3, precision="bfloat16")
    progress = list(train(model, toy_data, config, probe=watch))
    assert {("logits", torch.bfloat16), ("q", torch.bfloat16), ("norm1", torch.float32)} <= dtypes
    assert {p.dtype for p in model.parameters()} == {p.grad.dtype for p in model.parameters()} == {torch.float32}
    in_float32 = next(train(learner(dropout=0.0), toy_data, TrainingConfig())).loss
    assert 1e-6 < abs(progress[0].loss - in_float32) < 0.1
    assert evaluate(model, toy_data, start_id=6, end_id=7).exact_match == 1


# Scores


def test_an_exact_match_is_decoded_without_the_decoder_input(toy: Translator, toy_data: Batch) -> None:
    misled = evaluate(toy.checkpoint.model, replace(toy_data, tgt_in=torch.full_like(toy_data.tgt_in, 6)), 6, 7)
    assert misled.token_accuracy < misled.exact_match == 1


@pytest.mark.parametrize("batch_size", [1, 2])
def test_scores_are_means_over_words_without_padding(batch_size: int) -> None:
    model = network(max_len=PADDED.tgt_out.size(1)).train()
    score = evaluate(model, PADDED, 11, 12, batch_size)
    assert model.training  # as before
    assert score.exact_match == 0
    model.eval()
    log_p, words = model(PADDED.src, PADDED.tgt_in).logits.log_softmax(-1), PADDED.tgt_out != 0
    assert score.loss == pytest.approx(
        -log_p.gather(-1, PADDED.tgt_out[..., None])[..., 0][words].mean().item(), rel=1e-4
    )
    assert score.token_accuracy == pytest.approx((log_p.argmax(-1) == PADDED.tgt_out)[words].float().mean().item())


# The command

QUICK = shlex.split("--d-model 32 --n-heads 4 --d-ff 64 --layers 2 --steps 80 --learning-rate 3e-3 --device cpu")


@pytest.mark.slow
def test_the_command_writes_a_checkpoint_that_translates(tmp_path: Path) -> None:
    out = tmp_path / "new" / "toy"
    command = [sys.executable, "-m", "transformer.training", "--corpus", "toy", "--out", str(out), *QUICK]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    assert "100%" in run.stderr  # the progress bar
    translator = Translator.load(out, device="cpu")
    assert translator.translate("Ich möchte ein Bier").text == "i want a beer ."
    assert translator.translate("Ich möchte ein Cola").text == "i want a coke ."
    for weight in translator.checkpoint.model.parameters():  # rounded, so that they compress
        assert not (weight.detach().view(torch.int32) & 0xFF).any()
    card = (out / "card.md").read_text()
    assert card.strip() == run.stdout.strip()
    assert "--steps 80" in card
    assert "exact match, free-running | 100.0%" in card


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--steps", "0"], "steps (0)"),
        (["--d-model", "63"], "d_model (63)"),
        (["--device", "nonesuch"], "nonesuch"),
        (["--seed", str(10**30)], "seed"),
        (["--out", "a-file"], "a-file"),
        (["--keep-every", "-1"], "--keep-every -1 is below 0"),
    ],
)
def test_bad_arguments_exit_with_2_and_a_message(
    arguments: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a-file").touch()
    with pytest.raises(SystemExit) as error:
        main(["--out", "new", *QUICK, *arguments])
    assert error.value.code == 2
    assert named in capsys.readouterr().err.splitlines()[-1]
    assert not Path("new").exists()
