"""Uploaded pairs: any bytes are pairs, or rows with a reason, or one message that helps."""

import csv
import io
from typing import Any, Literal

import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from transformer.data import TableError, check_rows, hold_out, read_table, uploaded_corpus
from transformer.data.uploaded_pairs import MAX_BYTES, MAX_CELL_CHARACTERS, MAX_PAIRS, MAX_WORDS, Table
from transformer.data.vocabulary import SPECIAL, SentenceError, check_visible, has_word, words
from transformer.inference.translator import MAX_CHARACTERS

from ..models import json_values

DELIMITERS = "\t;,"


def read(text: str, header: bool | None = None) -> Table:
    return read_table(text.encode(), header)


def reasons(table: Table | TableError) -> list[tuple[int, str]]:
    """(row, key without its prefix) of every bad row."""
    return [(bad.row, bad.message.key.removeprefix("pairs.")) for bad in table.bad]


def refused(content: Any) -> TableError:
    """The error for a file, or for rows."""
    with pytest.raises(TableError) as error:
        read_table(content) if isinstance(content, bytes) else check_rows(content)
    assert str(error.value) == str(error.value.message)
    return error.value


# Files


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("Ja, ich will\tYes, I do\nNein\tNo", [("Ja, ich will", "Yes, I do"), ("Nein", "No")]),
        ("Ja, gut;Yes\nNein;No", [("Ja, gut", "Yes"), ("Nein", "No")]),
        ('"Ich kam; ich sah","I came; I saw"', [("Ich kam; ich sah", "I came; I saw")]),
        ("ja,yes,,\nnein,no,", [("ja", "yes"), ("nein", "no")]),  # empty columns of a spreadsheet
        ('"Sie sagt: ""Ja; gern"".\nUnd du?";x', [('Sie sagt: "Ja; gern".\nUnd du?', "x")]),
        ('bitte\t "please, ""now"""', [("bitte", 'please, "now"')]),
        ("sep=;\r\nsource;target\r\nja;yes\r\n", [("ja", "yes")]),  # Excel's note to itself
    ],
)
def test_the_delimiter_is_the_one_that_gives_two_columns(text: str, pairs: list[tuple[str, str]]) -> None:
    table = read(text)
    assert (list(table.pairs), table.bad, table.header) == (pairs, (), "source" in text)


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        *((first, True) for first in ("source,target", "SRC;tgt", "From\tTo", "de,en", '"Deutsch","English"')),
        *((first, True) for first in ("German sentence,English_translation", "Input,Output", "français,中文", "zh,en")),
        *((first, False) for first in ("ja,yes", "Deutsch,I speak German", "source,beer", "de", "de,en,fr", "Ja,")),
    ],
)
def test_headings_are_detected_where_both_cells_hold_nothing_else(first: str, is_header: bool) -> None:
    delimiter = next((each for each in DELIMITERS if each in first), ",")
    table = read(f"\n{first}\nnein{delimiter}no")
    assert table.header is is_header
    assert len(table.pairs) + len(table.bad) == 2 - is_header


def test_the_caller_may_decide_about_headings() -> None:
    assert read("de,en\nja,yes", header=False) == Table((("de", "en"), ("ja", "yes")), (), header=False)
    assert read("nein,no\nja,yes", header=True) == Table((("ja", "yes"),), (), header=True)
    assert read('"broken\nja,yes', header=True).pairs == (("ja", "yes"),)


LONG = "x" * (MAX_CELL_CHARACTERS + 1)
BAD = {
    "one": "one_column",
    "one,two,three": "columns",
    "one,": "empty_cell",
    ",two": "empty_cell",
    f"{LONG},two": "characters",
    f"one,{LONG}": "characters",
    f"{LONG * 10},two": "long_row",
    f"{'a ' * (MAX_WORDS + 1)},two": "words",
    f"one,{'a. ' * (MAX_WORDS // 2 + 1)}": "words",
    "o\0ne,two": "invisible",
    "one,t\u200bwo": "invisible",
    "...,two": "no_word",
    "one,?!": "no_word",
    '"one,two': "quotes",
    '"one"s,two': "quotes",
    'one,"two" ': "quotes",
}


def test_a_bad_row_is_listed_with_its_reason_and_spoils_no_other() -> None:
    for row, reason in BAD.items():
        table = read(f"ja,yes\n\n{row}\nnein,no\n")
        assert table.pairs == (("ja", "yes"), ("nein", "no"))
        assert reasons(table) == [(3, reason)]
        assert "{" not in str(table.bad[0].message)
    values = [bad.message.values for bad in read(f"ja,yes\n{LONG},two\none,t\u200bwo\n1,2,3\nja,{'a. ' * 31}").bad]
    assert values == [
        {"column": 1, "count": 501, "most": 500},
        {"column": 2, "code": "U+200B"},
        {"count": 3},
        {"column": 2, "count": 62, "most": 60},
    ]


def test_the_longest_pair_fits() -> None:
    longest, most = "x" * MAX_CELL_CHARACTERS, " ".join(["a"] * MAX_WORDS)
    quotes = "x" + '"' * (MAX_CELL_CHARACTERS - 2) + "x"
    doubled = quotes.replace('"', '""')
    table = read(f'{longest},{most}\n"{doubled}","{doubled}"')
    assert table == Table(((longest, most), (quotes, quotes)), (), header=False)
    assert MAX_CELL_CHARACTERS <= MAX_CHARACTERS  # what was learned can be asked for


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_row_has_the_number_of_its_first_line(end: str) -> None:
    table = read(end.join(["", "ja,yes", '"zwei', "", 'Zeilen","two', 'lines"', "bad", '"a', 'b","c', 'd",bad', "bad"]))
    assert table.pairs == (("ja", "yes"), (f"zwei{end}{end}Zeilen", f"two{end}lines"))
    assert reasons(table) == [(7, "one_column"), (8, "columns"), (11, "one_column")]


def test_the_rows_after_a_lost_quotation_mark_are_read() -> None:
    rows = [f"wort{i},word{i}" for i in range(1000)]
    table = read("\n".join([*rows[:500], '"lost,mark', *rows[500:]]))
    assert reasons(table) == [(501, "quotes")]
    assert table.pairs == tuple(tuple(row.split(",")) for row in rows)


HEAVY = [*(line * 2**16 for line in (b'"\n', b'""\n', b'"a\n', b'a","b\n', b"a\n")), b'"' * MAX_BYTES, b"a," * 2**20]


@pytest.mark.parametrize("content", HEAVY, ids=range(len(HEAVY)))
def test_a_file_of_bad_rows_or_of_one_endless_row_is_refused_in_linear_time(content: bytes) -> None:
    """Without limits these take minutes, or as many objects as the file has bytes."""
    assert len(refused(content).bad) <= MAX_PAIRS + 1


def test_rows_beyond_the_limits_are_left_out_from_one_row_on() -> None:
    table = read("\n".join(["bad"] + ["ja,yes"] * MAX_PAIRS))
    assert (len(table.pairs), reasons(table)) == (MAX_PAIRS, [(1, "one_column")])
    table = read("\n".join(["bad"] + ["ja,yes"] * MAX_PAIRS + ["bad"] + ["ja,yes"] * 3 + ["bad"]))
    assert len(table.pairs) == MAX_PAIRS
    assert reasons(table) == [(1, "one_column"), (MAX_PAIRS + 2, "one_column"), (MAX_PAIRS + 3, "left_out")]
    table = read("\n".join(["ja,yes"] + ["bad"] * MAX_PAIRS + ["nein,no"] + ["bad", "bald,soon"]))
    assert table.pairs == (("ja", "yes"), ("nein", "no"))
    assert (len(table.bad), reasons(table)[-1]) == (MAX_PAIRS + 1, (MAX_PAIRS + 3, "unread"))


REFUSED: dict[str, list[Any]] = {
    "empty": [b"", b"\xef\xbb\xbf", b" \r\n\t\n", b"source,target\n", [], [[]], [["", " "]]],
    "none": [b"only\none\ncolumn", "ja,yes\nno,nein".encode("utf-16-le")],
    "not_utf8": [b"\xff\xfe", *("Ich möchte,I want".encode(encoding) for encoding in ("latin-1", "utf-16", "utf-32"))],
    "too_large": [b"ja,yes\n" * MAX_BYTES],
    "no_table": [None, 3, "ja", {"a": 1}, [None], ["ja"], [["ja", 1]], [["ja", None]], [["a", ["b"]]]],
}


@pytest.mark.parametrize("key", REFUSED)
def test_without_a_pair_a_table_is_refused(key: str) -> None:
    for content in REFUSED[key]:
        assert refused(content).message.key == f"pairs.{key}"


TROUBLE = st.lists(
    st.sampled_from(
        [b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"\0", b" ", b"\xff", b"\xef\xbb\xbf", b"de", b"a.", b"\xc3\xa4"]
    )
).map(b"".join)


@settings(max_examples=60)
@given(st.binary() | TROUBLE | st.text().map(str.encode), st.sampled_from([None, True, False]))
@example(b'"\n"\n', None)
@example(b'a,"\r\n', None)
def test_any_bytes_are_pairs_or_refused(content: bytes, header: bool | None) -> None:
    try:
        table = read_table(content, header)
    except TableError as error:
        bad = error.bad
    else:
        assert table.pairs
        assert check_rows([list(pair) for pair in table.pairs]) == Table(table.pairs, (), header=False)
        uploaded_corpus(table.pairs).batch()
        bad = table.bad
    rows = [each.row for each in bad]
    assert rows == sorted(set(rows))
    assert all(1 <= row <= content.count(b"\n") + content.count(b"\r") + 1 for row in rows)
    assert all(str(each.message) for each in bad)


def is_sentence(text: str) -> bool:
    """Whether a cell is one that a pair can have."""
    try:
        check_visible(text)
    except SentenceError:
        return False
    return has_word(text)


SENTENCES = st.text(st.characters(exclude_categories=["C"]) | st.sampled_from(" \",;'\n\t.!¿")).filter(is_sentence)
CELLS = SENTENCES.map(str.strip).filter(lambda cell: len(cell) <= 50)
PAIRS = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8)


@given(PAIRS, st.sampled_from(DELIMITERS), st.sampled_from(["\n", "\r", "\r\n"]), st.booleans(), st.booleans())
def test_a_spreadsheets_file_is_read_back(
    pairs: list[tuple[str, str]], delimiter: str, end: str, header: bool, quote_all: bool
) -> None:
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    if not quote_all:  # then no other separator may stand outside quotation marks
        others = set(DELIMITERS + "\r\n") - {delimiter, *end}
        assume(not others & set("".join(map("".join, pairs))))
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(
        [("source", "target")] * header + pairs
    )
    content = ("\ufeff" + file.getvalue()).encode()
    assert read_table(content, header) == Table(tuple(pairs), (), header)
    # The same with a bad row at the end: its number is the line that it begins on.
    last = 1 + len(io.StringIO(file.getvalue(), newline="").readlines())
    table = read_table(content + b'"..."' + delimiter.encode() + b'"x"', header)
    assert (table.pairs, reasons(table)) == (tuple(pairs), [(last, "no_word")])


# An edited table


def test_rows_of_the_page_are_validated_alike() -> None:
    table = check_rows([[" ja ", "yes"], ["", ""], [], ["", "two"], ["one"], ["a", "b", "c"], ["nein", "no\n"]])
    assert table.pairs == (("ja", "yes"), ("nein", "no"))
    assert reasons(table) == [(4, "empty_cell"), (5, "one_column"), (6, "columns")]
    assert not check_rows([["de", "en"]]).header  # the page's table has its headings elsewhere


ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(json_values | st.lists(st.lists(ANY_TEXT, max_size=3)))
def test_any_rows_are_pairs_or_refused(rows: Any) -> None:
    try:
        table = check_rows(rows)
    except TableError:
        return
    uploaded_corpus(table.pairs).batch()


# The corpus


def test_pairs_are_not_folded_and_keep_their_punctuation_as_tokens() -> None:
    corpus = uploaded_corpus([("Was willst du?", "¿Qué quieres?"), ("Ich weiß's nicht.", 'I don\'t know "it"…')])
    assert corpus.pairs == (("Was willst du ?", "¿ Qué quieres ?"), ("Ich weiß's nicht .", 'I don\'t know " it " …'))
    assert corpus.src_vocab.tokens == ("P", "Was", "willst", "du", "?", "Ich", "weiß's", "nicht", ".")
    assert corpus.tgt_vocab.tokens[:7] == ("P", "S", "E", "¿", "Qué", "quieres", "?")
    assert (corpus.name, corpus.source_length, corpus.pad_source) == ("own", 5, True)  # one further, to show padding
    assert corpus.batch().src.tolist() == [[1, 2, 3, 4, 0], [5, 6, 7, 8, 0]]


def test_the_page_has_examples_words_and_pairs_to_show() -> None:
    pairs = [("Ja\n gut", "Yes."), ("ja gut!", "OK"), ("a", "b"), ("a", "b"), ("c", "d"), ("e", "f")]
    corpus = uploaded_corpus(pairs, name="mine")
    assert (corpus.name, corpus.size, corpus.held_out) == ("mine", 6, {})
    assert [each.sentence for each in corpus.examples] == ["Ja gut", "ja gut!", "a", "c"]
    assert corpus.words == {"all": (("Ja gut", "Yes."), ("ja gut!", "OK"), ("a", "b"), ("c", "d"), ("e", "f"))}
    found = corpus.find("Ja gut")
    assert found is not None
    assert (found.target, found.spelling, found.gold.aligned_words()) == ("Yes .", "Ja gut", [])
    assert corpus.find("ja gut !") != found == corpus.find("JA gut .")  # marks and case decide between two
    assert corpus.find("ja") is None
    assert len(uploaded_corpus([(f"a{i}", "b") for i in range(300)]).words["all"]) == 200
    with pytest.raises(ValueError, match="no sentence pair"):
        uploaded_corpus([])


@given(PAIRS, st.booleans())
@example([("P S E", "p s e P")], True)
@example([("Ist das so ?", "Is that so ?"), ("? a", "? b ?")], True)
@example([("(…)a", "(…)")], True)
def test_every_pair_becomes_ids_and_its_words_again(pairs: list[tuple[str, str]], shared: bool) -> None:
    corpus = uploaded_corpus(pairs, shared_vocabulary=shared)
    assert uploaded_corpus(corpus.pairs, shared_vocabulary=shared).pairs == corpus.pairs  # tokens stay as they are
    for (typed, typed_target), (source, target) in zip(pairs, corpus.pairs, strict=True):
        assert corpus.src_vocab.split(typed) == source.split()  # typed later, it is read alike
        assert corpus.src_vocab.decode(corpus.src_vocab.encode(typed)) == source
        assert corpus.tgt_vocab.decode(corpus.tgt_vocab.encode(target)) == target
        assert "".join(target.split()) == "".join("".join(words(typed_target)).split())  # nothing is lost
        found = corpus.find(source)
        assert found is not None
        assert len(found.gold.sure) == len(found.gold.possible) == len(found.target.split())
    for vocab in (corpus.src_vocab, corpus.tgt_vocab):
        assert not SPECIAL & set(vocab.words)
    batch = corpus.batch()
    lengths = (batch.src != 0).sum(dim=1)
    assert batch.src.size(1) == corpus.source_length <= lengths.max() + 1
    assert (lengths < batch.src.size(1)).any()
    assert torch.equal(batch.tgt_in[:, 0], torch.full((len(pairs),), 1))


# Held out


@given(PAIRS, st.floats(0, 0.5), st.integers())
def test_holding_out_keeps_every_pair_on_one_side(pairs: list[tuple[str, str]], share: float, seed: int) -> None:
    training, held_out = hold_out(pairs, share, seed)
    assert training
    assert not set(training) & set(held_out)
    assert sorted(training + held_out) == sorted(pairs)
    assert list(training) == [pair for pair in pairs if pair in training]
    distinct = len(set(pairs))
    assert bool(held_out) == (share > 0 and distinct > 1)
    assert len(set(held_out)) <= max(1, share * distinct + 0.5)
    assert hold_out(pairs, share, seed) == (training, held_out)


def test_the_seed_decides_what_is_held_out_of_up_to_a_half() -> None:
    pairs = [(str(i), str(i)) for i in range(100)]
    assert {len(hold_out(pairs, 0.1, seed)[1]) for seed in range(20)} == {10}
    assert len({hold_out(pairs, 0.1, seed) for seed in range(20)}) == 20
    assert hold_out([("a", "b")] * 3, 0.5, 0) == ((("a", "b"),) * 3, ())
    for share in (-0.1, 0.6, 1, float("nan")):
        with pytest.raises(ValueError, match="share"):
            hold_out(pairs, share, 0)
