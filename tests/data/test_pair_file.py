"""Pairs from a file: every pass reads each once, memory does not grow with the file, and other lines are refused."""

import itertools
import shlex
import tracemalloc
from pathlib import Path

import pytest
import torch

from transformer import Translator
from transformer.data import Pair, PairFile, PairFileError, pair_file
from transformer.data.pair_file import MAX_BYTES, MAX_WORDS
from transformer.training.__main__ import main

TOY = "Ich möchte ein Bier\ti want a beer .\nIch möchte ein Cola\ti want a coke ."


def numbered(folder: Path, count: int) -> Path:
    """A file whose pair i holds i % 1000 on both sides, and i % 5 words more."""
    texts = [f"{i % 1000}" + " wort" * (i % 5) for i in range(count)]
    (folder / f"{count}.tsv").write_text("".join(f"{text}\t{text} .\n" for text in texts))
    return folder / f"{count}.tsv"


def drawn(file: PairFile, batches: int, seed: int = 0) -> list[list[Pair]]:
    return list(itertools.islice(file.batches(4, torch.Generator().manual_seed(seed)), batches))


# Scanning


def test_words_are_kept_as_they_are_in_the_order_of_first_appearance(tmp_path: Path) -> None:
    (tmp_path / "toy.tsv").write_text(TOY)  # the last line ends without a line break
    file = PairFile.scan(tmp_path / "toy.tsv")
    assert file.src_vocab.tokens == ("P", "Ich", "möchte", "ein", "Bier", "Cola")
    assert file.tgt_vocab.tokens == ("P", "S", "E", "i", "want", "a", "beer", ".", "coke")
    assert (file.size, file.source_length, file.target_length) == (2, 4, 6)
    batch = file.encode([("Ich möchte ein Cola", "i want a coke .")])
    assert (batch.src.tolist(), batch.tgt_out.tolist()) == ([[1, 2, 3, 5]], [[3, 4, 5, 8, 7, 2]])
    assert file.corpus().pairs == tuple(tuple(line.split("\t")) for line in TOY.splitlines())
    assert (file.corpus().size, file.corpus().held_out) == (2, {})
    (tmp_path / "windows.tsv").write_bytes((TOY.replace("\n", "\r\n") + "\r\n").encode())
    windows = PairFile.scan(tmp_path / "windows.tsv")
    assert windows.tgt_vocab == file.tgt_vocab
    assert windows.digest != file.digest  # of bytes


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"", "has 0 tabs, not one between source and target"),
        (b"ein\tbier\ta beer", "has 2 tabs"),
        (b"\ta beer", "the source has 0 words, not 1 to 250"),
        (b"ein bier\ta" + b" beer" * MAX_WORDS, "the target has 251 words"),
        (b"ein b\xeer\ta beer", "is not UTF-8"),
        ("ein\u200bbier\ta beer".encode(), "U+200B"),
        (b"ein bier\ta\x00beer", "U+0000"),
        (b"a" * MAX_BYTES, "is longer than 1,048,576 bytes"),
    ],
)
def test_a_line_that_is_not_a_pair_is_refused_by_its_number(line: bytes, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.tsv"
    file.write_bytes(b"eins\tone\nzwei\ttwo\n" + line + b"\nvier\tfour\n")
    with pytest.raises(PairFileError) as error:
        PairFile.scan(file)
    assert str(error.value).startswith(f"{file}: line 3")
    assert complaint in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_an_empty_or_missing_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(PairFileError, match="empty: there is no sentence pair in it"):
        PairFile.scan(tmp_path / "empty")
    for name in ("nonesuch", "."):
        with pytest.raises(PairFileError, match=r"cannot be read: (No such file|Is a directory)"):
            PairFile.scan(tmp_path / name)


# Batches


def test_each_pass_reads_every_pair_once_shuffled_by_the_seed_within_the_buffer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_file, "BUFFER", 5)  # batches, of 4: full buffers and one that is not
    file = PairFile.scan(numbered(tmp_path, 103))
    batches = drawn(file, 52)
    assert drawn(file, 60)[:52] == batches != drawn(file, 52, seed=1)
    first, second = (list(itertools.chain(*some)) for some in (batches[:26], batches[26:]))
    assert len(set(first)) == 103
    assert sorted(first) == sorted(second)
    assert first != second
    for i in range(5):  # 5 batches, and so 20 pairs, at a time
        buffer = [int(source.split()[0]) for source, _ in first[20 * i : 20 * i + 20]]
        assert sorted(buffer) == list(range(20 * i, 20 * i + 20)) != buffer
    assert all(len({len(source.split()) for source, _ in batch}) == 1 for batch in batches[:25])  # of one length


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_file, "BUFFER", 20)
    peaks = []
    for count in (1_000, 4_000):
        path = numbered(tmp_path, count)
        tracemalloc.start()
        batches = PairFile.scan(path).batches(8, torch.Generator().manual_seed(0))
        assert sum(len(next(batches)) for _ in range(count // 8)) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


# The command

QUICK = shlex.split("--d-model 32 --n-heads 4 --d-ff 64 --layers 1 --steps 60 --learning-rate 3e-3 --device cpu")


@pytest.mark.slow
def test_the_command_learns_a_file_and_its_checkpoint_translates(tmp_path: Path) -> None:
    (tmp_path / "classroom.tsv").write_text(TOY + "\n" + "ja\tyes\n" * 40)
    main(["--pairs", str(tmp_path / "classroom.tsv"), "--out", str(tmp_path / "out"), "--batch-size", "21", *QUICK])
    translator = Translator.load(tmp_path / "out", device="cpu")
    assert translator.translate("Ich möchte ein Bier").text == "i want a beer ."
    assert translator.translate("ja").text == "yes"
    card = (tmp_path / "out" / "card.md").read_text()
    assert card.startswith("# classroom\n\n42 sentence pairs")
    assert f"--pairs {tmp_path / 'classroom.tsv'}" in card
    assert "decoding of its first 20 sentences" in card
    assert "never saw" not in card  # nothing is held out, whatever the file is called


def test_the_command_refuses_a_bad_file_before_it_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.tsv").write_text("eins\tone\nzwei\n")
    for arguments in (["--pairs", str(tmp_path / "bad.tsv")], ["--pairs", "bad.tsv", "--corpus", "classroom"]):
        with pytest.raises(SystemExit) as error:
            main([*arguments, "--out", str(tmp_path / "out")])
        assert error.value.code == 2
    first, second = (line for line in capsys.readouterr().err.splitlines() if "error:" in line)
    assert f"{tmp_path / 'bad.tsv'}: line 2 has 0 tabs" in first
    assert "not allowed with argument" in second
    assert not (tmp_path / "out").exists()
