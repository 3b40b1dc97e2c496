"""Pairs that a visitor brings: any bytes are pairs, or rows with a reason, or one sentence that helps."""

import csv
import io
import sys
import unicodedata
from typing import Any

import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from transformer.data import TOY, TableError, check_rows, classroom_corpus, hold_out, read_table, uploaded_corpus
from transformer.data.uploaded_pairs import MAX_BYTES, MAX_CELL_CHARACTERS, MAX_PAIRS, MAX_WORDS, Table
from transformer.data.vocabulary import PAD, SPECIAL, SentenceError, Vocabulary, check_visible, fold
from transformer.inference.translator import MAX_CHARACTERS

DELIMITERS = "\t;,"


def read(text: str, header: bool | None = None) -> Table:
    return read_table(text.encode(), header)


def reasons(table: Table | TableError) -> list[tuple[int, str]]:
    """(row, key without its room) of every bad row."""
    return [(bad.row, bad.message.key.removeprefix("pairs.")) for bad in table.bad]


def refused(content: Any) -> TableError:
    """What a file, or rows, are refused with."""
    with pytest.raises(TableError) as error:
        read_table(content) if isinstance(content, bytes) else check_rows(content)
    assert str(error.value) == str(error.value.message)
    assert error.value.message.key.startswith("pairs.")
    return error.value


# ---- files ----


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_two_columns_are_pairs(delimiter: str, end: str, mark: str) -> None:
    rows = ["Ich möchte ein Bier", "I want a beer."], ["Danke!", "Thanks!"]
    table = read(mark + end.join(map(delimiter.join, rows)))
    assert table == Table(tuple((source, target) for source, target in rows), (), header=False)


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_quotation_marks_hold_separators_line_breaks_and_themselves(delimiter: str) -> None:
    cell = f'Sie sagt: ""Ja{delimiter} gern"".\nUnd du?'
    table = read(f'"{cell}"{delimiter}x\nbitte{delimiter} "please, ""now"""')
    assert table.pairs == ((cell.replace('""', '"'), "x"), ("bitte", 'please, "now"'))


def test_a_separator_that_the_sentences_have_in_them_is_not_taken_for_the_files() -> None:
    assert read("Ja, ich will\tYes, I do\nNein\tNo").pairs == (("Ja, ich will", "Yes, I do"), ("Nein", "No"))
    assert read("Ja, gut;Yes\nNein;No").pairs == (("Ja, gut", "Yes"), ("Nein", "No"))
    assert read('"Ich kam; ich sah","I came; I saw"').pairs == (("Ich kam; ich sah", "I came; I saw"),)


@pytest.mark.parametrize("first", ["source,target", "SRC;tgt", "From\tTo", "de,en", '"Deutsch","English"', "deu\teng"])
def test_headings_are_found(first: str) -> None:
    delimiter = next(each for each in DELIMITERS if each in first)
    table = read(f"\n{first}\nja{delimiter}yes")
    assert (table.pairs, table.header) == ((("ja", "yes"),), True)


@pytest.mark.parametrize("first", ["German sentence,English_translation", "Input,Output", "français,中文", "zh,en"])
def test_headings_may_be_of_several_words(first: str) -> None:
    assert read(f"{first}\nja,yes").header


@pytest.mark.parametrize(
    "first", ["ja,yes", "Deutsch,I speak German", "source,beer", "de", "de,en,fr", "Ja,", "von,from"]
)
def test_what_is_no_heading_in_both_columns_is_a_row(first: str) -> None:
    table = read(f"{first}\nnein,no")
    assert not table.header
    assert len(table.pairs) + len(table.bad) == 2


def test_who_knows_about_headings_says_so() -> None:
    assert read("de,en\nja,yes", header=False) == Table((("de", "en"), ("ja", "yes")), (), header=False)
    assert read("nein,no\nja,yes", header=True) == Table((("ja", "yes"),), (), header=True)
    assert read('"broken\nja,yes', header=True).pairs == (("ja", "yes"),)


def test_rows_without_any_text_are_no_rows() -> None:
    table = read('\n \n\t\nja,yes\n,\n"",""\n\n , \nnein,no\n\n')
    assert table == Table((("ja", "yes"), ("nein", "no")), (), header=False)


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


@pytest.mark.parametrize(("row", "reason"), BAD.items())
def test_a_bad_row_is_named_with_its_reason_and_takes_no_other_along(row: str, reason: str) -> None:
    table = read(f"ja,yes\n\n{row}\nnein,no\n")
    assert table.pairs == (("ja", "yes"), ("nein", "no"))
    assert reasons(table) == [(3, reason)]
    said = str(table.bad[0].message)
    assert said.endswith((".", '".'))
    assert "{" not in said


def test_a_reason_says_the_column_and_the_numbers() -> None:
    table = read(f"ja,yes\n{LONG},two\none,t\u200bwo\n1,2,3\nja,{'a. ' * 31}")
    assert [str(bad.message) for bad in table.bad] == [
        "Column 1 has 501 characters. At most 500 fit.",
        "Column 2 has an invisible character in it (U+200B). Type it again without that.",
        'There are 3 columns, not two. Put a sentence that has the separator in it into "quotation marks".',
        "Column 2 has 62 words and punctuation marks. At most 60 fit.",
    ]


def test_what_just_fits_is_a_pair() -> None:
    longest, most = "x" * MAX_CELL_CHARACTERS, " ".join(["a"] * MAX_WORDS)
    quotes = "x" + '"' * (MAX_CELL_CHARACTERS - 2) + "x"
    doubled = quotes.replace('"', '""')
    table = read(f'{longest},{most}\n"{doubled}","{doubled}"')
    assert table == Table(((longest, most), (quotes, quotes)), (), header=False)
    assert MAX_CELL_CHARACTERS == MAX_CHARACTERS


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_rows_are_called_by_the_line_they_begin_on(end: str) -> None:
    text = end.join(["", "ja,yes", '"zwei', "", 'Zeilen","two', 'lines"', "bad", '"a', 'b","c', 'd",bad', "bad"])
    table = read(text)
    assert table.pairs == (("ja", "yes"), (f"zwei{end}{end}Zeilen", f"two{end}lines"))
    assert reasons(table) == [(7, "one_column"), (8, "columns"), (11, "one_column")]


def test_a_lost_quotation_mark_is_looked_for_and_the_rows_behind_it_are_read() -> None:
    rows = [f"wort{i},word{i}" for i in range(1000)]
    table = read("\n".join([*rows[:500], '"lost,mark', *rows[500:]]))
    assert reasons(table) == [(501, "quotes")]
    assert table.pairs == tuple(tuple(row.split(",")) for row in rows)


@pytest.mark.parametrize("line", ["", ",", '"', '"a', 'a","b', '"a"""', "a", "\0,", '""', '","'])
def test_a_file_that_is_nothing_but_trouble_is_soon_read(line: str) -> None:
    """Without limits these take minutes, or as many objects as the file has bytes."""
    error = refused(((line + "\n") * MAX_BYTES)[:MAX_BYTES].encode())
    assert len(error.bad) <= MAX_PAIRS + 1


@pytest.mark.parametrize("content", [b'"' * MAX_BYTES, b"a" * MAX_BYTES, b"," * MAX_BYTES, b"\0" * MAX_BYTES])
def test_one_endless_row_is_a_bad_row(content: bytes) -> None:
    error = refused(content)
    assert error.message.key == "pairs.none"
    assert reasons(error) == [(1, "long_row")]


def test_after_so_many_pairs_the_rest_is_left_out_from_a_row_on() -> None:
    table = read("\n".join(["bad"] + ["ja,yes"] * MAX_PAIRS))
    assert (len(table.pairs), reasons(table)) == (MAX_PAIRS, [(1, "one_column")])
    table = read("\n".join(["bad"] + ["ja,yes"] * MAX_PAIRS + ["bad"] + ["ja,yes"] * 3 + ["bad"]))
    assert (len(table.pairs), reasons(table)) == (
        MAX_PAIRS,
        [(1, "one_column"), (MAX_PAIRS + 2, "one_column"), (MAX_PAIRS + 3, "left_out")],
    )
    assert str(MAX_PAIRS) in str(table.bad[-1].message)


def test_after_so_many_bad_rows_reading_ends() -> None:
    table = read("\n".join(["ja,yes"] + ["bad"] * MAX_PAIRS + ["nein,no"] + ["bad", "bald,soon"]))
    assert table.pairs == (("ja", "yes"), ("nein", "no"))
    assert (len(table.bad), reasons(table)[-1]) == (MAX_PAIRS + 1, (MAX_PAIRS + 3, "unread"))


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b" \r\n\t\n", "empty"),
        (b"source,target\n", "empty"),
        (b"only\none\ncolumn", "none"),
        ("Ich möchte,I want".encode("latin-1"), "not_utf8"),
        ("Ich möchte,I want".encode("utf-16"), "not_utf8"),
        ("\ufeffja,yes".encode("utf-16-be"), "not_utf8"),
        (b"ja,yes\n" * MAX_BYTES, "too_large"),
    ],
)
def test_a_file_without_a_pair_is_refused(content: bytes, key: str) -> None:
    assert refused(content).message.key == f"pairs.{key}"


def test_a_file_that_is_not_utf8_is_told_what_to_do() -> None:
    assert "Save it as UTF-8" in str(refused(b"\xff\xfe"))
    assert "2 MB" in str(refused(b" " * (MAX_BYTES + 1)))


def test_utf_16_without_a_mark_is_bad_rows() -> None:
    assert set(reasons(refused("ja,yes\nno,nein".encode("utf-16-le")))) <= {(1, "invisible"), (2, "invisible")}


TROUBLE = st.lists(
    st.sampled_from(
        [b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"\0", b" ", b"\xff", b"\xef\xbb\xbf", b"de", b"a.", b"\xc3\xa4"]
    )
).map(b"".join)


@settings(max_examples=300)
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
        uploaded_corpus(table.pairs)
        bad = table.bad
    rows = [each.row for each in bad]
    assert rows == sorted(set(rows))
    assert all(1 <= row <= content.count(b"\n") + content.count(b"\r") + 1 for row in rows)
    assert all(str(each.message) for each in bad)


def shown(text: str) -> bool:
    """Whether a cell is one that a pair can have."""
    try:
        check_visible(text)
    except SentenceError:
        return False
    return bool(Vocabulary((PAD,)).split(text))


SENTENCES = st.text(st.characters(exclude_categories=("C",)) | st.sampled_from(" \",;'\n\t.!¿")).filter(shown)
CELLS = SENTENCES.map(str.strip).filter(lambda cell: len(cell) <= 50)
WRITTEN = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8)


@given(
    WRITTEN,
    st.sampled_from(DELIMITERS),
    st.sampled_from(["\n", "\r", "\r\n"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_what_a_spreadsheet_writes_is_read_back(
    pairs: list[tuple[str, str]], delimiter: str, end: str, mark: bool, header: bool, quoting: int
) -> None:
    if quoting == csv.QUOTE_MINIMAL:  # then nothing may stand outside of marks that could separate columns or rows
        others = set(DELIMITERS + "\r\n") - {delimiter, *end}
        assume(not others & set("".join(map("".join, pairs))))
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
    rows: list[int] = []  # where each begins
    for row in [("source", "target")] * header + pairs:
        rows.append(1 + len(io.StringIO(file.getvalue(), newline="").readlines()))
        writer.writerow(row)
    content = ("\ufeff" * mark + file.getvalue()).encode()
    assert read_table(content, header) == Table(tuple(pairs), (), header)
    # The same with a bad row behind: its number is the line that it begins on.
    last = 1 + len(io.StringIO(file.getvalue(), newline="").readlines())
    table = read_table(content + b'"..."' + delimiter.encode() + b'"x"', header)
    assert (table.pairs, reasons(table)) == (tuple(pairs), [(last, "no_word")])


# ---- an edited table ----


def test_rows_of_the_page_are_judged_alike() -> None:
    table = check_rows([[" ja ", "yes"], ["", ""], [], ["", "two"], ["one"], ["a", "b", "c"], ["nein", "no\n"]])
    assert table.pairs == (("ja", "yes"), ("nein", "no"))
    assert reasons(table) == [(4, "empty_cell"), (5, "one_column"), (6, "columns")]
    assert not table.header
    assert not check_rows([["de", "en"]]).header  # the page's table has its headings elsewhere


@pytest.mark.parametrize("rows", [None, 3, "ja", {"a": 1}, [None], ["ja"], [["ja", 1]], [["ja", None]], [["a", ["b"]]]])
def test_what_is_no_table_is_refused(rows: Any) -> None:
    assert refused(rows).message.key == "pairs.no_table"


@pytest.mark.parametrize("rows", [[], [[]], [["", " "]]])
def test_an_empty_table_is_refused(rows: Any) -> None:
    assert refused(rows).message.key == "pairs.empty"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
)


@given(JSON | st.lists(st.lists(st.text(st.characters(exclude_categories=())), max_size=3)))
def test_any_rows_are_pairs_or_refused(rows: Any) -> None:
    try:
        table = check_rows(rows)
    except TableError:
        return
    uploaded_corpus(table.pairs)


# ---- the corpus ----

SPANISH = [("Was willst du?", "¿Qué quieres?"), ("Ich weiß's nicht.", 'I don\'t know "it"…'), ("Bier!", "Beer.")]


def test_sources_lose_the_punctuation_that_targets_keep_as_words() -> None:
    corpus = uploaded_corpus(SPANISH)
    assert corpus.pairs == (
        ("was willst du", "¿ qué quieres ?"),
        ("ich weiss's nicht", 'i don\'t know " it " …'),
        ("bier", "beer ."),
    )
    assert corpus.src_vocab.tokens == ("P", "was", "willst", "du", "ich", "weiss's", "nicht", "bier")
    assert corpus.tgt_vocab.tokens[:8] == ("P", "S", "E", "¿", "qué", "quieres", "?", "i")
    assert corpus.tgt_vocab.tokens[8:] == ("don't", "know", '"', "it", "…", "beer", ".")
    assert (corpus.name, corpus.source_length, corpus.pad_source) == ("own", 3, True)
    assert corpus.batch().src.tolist() == [[1, 2, 3], [4, 5, 6], [7, 0, 0]]


def test_sources_of_one_length_get_a_column_of_padding() -> None:
    assert uploaded_corpus([("a b", "c"), ("d e", "f")]).batch().src.tolist() == [[1, 2, 0], [3, 4, 0]]


def test_a_shared_vocabulary_has_every_word_once() -> None:
    corpus = uploaded_corpus([("Bier im Taxi", "Beer in a taxi."), ("Taxi ? !", "Taxi!")], shared_vocabulary=True)
    assert corpus.src_vocab is corpus.tgt_vocab
    assert corpus.src_vocab.tokens == ("P", "S", "E", "bier", "im", "taxi", "beer", "in", "a", ".", "!")
    assert corpus.pairs == (("bier im taxi", "beer in a taxi ."), ("taxi !", "taxi !"))  # "!" is known, "?" is not


def test_it_has_something_to_show() -> None:
    pairs = [("Ja\n gut", "Yes."), ("ja gut!", "OK"), ("a", "b"), ("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
    material = uploaded_corpus(pairs, name="mine").material
    assert (material.size, material.held_out) == (7, {})
    assert [(each.name, each.sentence, each.watch) for each in material.examples] == [
        ("", sentence, "") for sentence in ("Ja gut", "a", "c", "e")
    ]
    assert material.words == {
        "all": (("Ja gut", "Yes."), ("ja gut!", "OK"), ("a", "b"), ("c", "d"), ("e", "f"), ("g", "h"))
    }
    found = material.read("ja gut")
    assert found is not None
    assert (found.source, found.target, found.spelling, found.held_out) == ("ja gut", "yes .", "Ja gut", "")
    assert (found.gold.sure, found.gold.possible, found.gold.asked()) == (((), ()), ((), ()), [])
    assert material.read("ja") is None


def test_a_long_list_of_words_is_cut() -> None:
    assert len(uploaded_corpus([(f"a{i}", "b") for i in range(300)]).material.words["all"]) == 200


def test_any_pairs_will_do_but_not_none() -> None:
    with pytest.raises(ValueError, match="no sentence pair"):
        uploaded_corpus([])
    for wrong in ("...", "a\0"):
        with pytest.raises(SentenceError):
            uploaded_corpus([(wrong, "b")])


@pytest.mark.parametrize("shared", [False, True])
def test_pairs_of_a_corpus_stay_as_they_are(shared: bool) -> None:
    for pairs in (TOY.pairs, classroom_corpus(1000).pairs):
        corpus = uploaded_corpus(pairs, "tied", shared)
        assert corpus.pairs == pairs
        words = {word for source, target in pairs for word in f"{source} {target}".split()}
        assert words | SPECIAL == set(corpus.src_vocab.tokens) | set(corpus.tgt_vocab.tokens)


@given(WRITTEN, st.booleans())
@example([("P S E", "p s e P")], True)
@example([("Ist das so ?", "Is that so ?"), ("? a", "? b ?")], True)
@example([("(…)a", "(…)")], True)
def test_every_pair_becomes_ids_and_its_words_again(pairs: list[tuple[str, str]], shared: bool) -> None:
    corpus = uploaded_corpus(pairs, shared_vocabulary=shared)
    for (typed, typed_target), (source, target) in zip(pairs, corpus.pairs, strict=True):
        assert corpus.src_vocab.split(typed) == source.split()  # typed later, it is read alike
        assert corpus.src_vocab.decode(corpus.src_vocab.encode(typed)) == source
        assert corpus.tgt_vocab.decode(corpus.tgt_vocab.encode(target)) == target
        assert "".join(target.split()) == "".join(fold(typed_target).split())  # nothing is lost
        found = corpus.material.read(source)
        assert found is not None
        assert len(found.gold.sure) == len(found.gold.possible) == len(found.target.split())
    for vocab in (corpus.src_vocab, corpus.tgt_vocab):
        assert not SPECIAL & set(vocab.words)
    batch = corpus.batch()
    lengths = (batch.src != 0).sum(dim=1)
    assert batch.src.size(1) == corpus.source_length <= lengths.max() + 1
    assert (lengths < batch.src.size(1)).any()
    assert torch.equal(batch.tgt_in[:, 0], torch.full((len(pairs),), 1))


def test_no_character_folds_to_a_special_token_or_to_one_that_cannot_be_shown() -> None:
    """Folding goes character by character and then only joins letters and marks, so this is true of any text."""
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs"):
            folded = fold(chr(code))
            assert not set(folded) & SPECIAL
            if shown(chr(code)):
                check_visible(folded)
                assert folded.split() == [folded]


def test_columns_that_nobody_filled_are_none() -> None:
    assert read_table(b"ja,yes,,\nnein,no,").pairs == (("ja", "yes"), ("nein", "no"))
    assert [each.row for each in read_table(b"ja,yes\nnein,no,nope").bad] == [2]


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_excels_line_about_the_separator_is_no_row(delimiter: str) -> None:
    table = read_table(f"sep={delimiter}\r\nsource{delimiter}target\r\nja{delimiter}yes\r\n".encode())
    assert (table.pairs, table.bad, table.header) == ((("ja", "yes"),), (), True)


# ---- held out ----


@given(WRITTEN, st.floats(0, 0.5), st.integers())
def test_holding_out_keeps_every_pair_on_one_side(pairs: list[tuple[str, str]], share: float, seed: int) -> None:
    training, held = hold_out(pairs, share, seed)
    assert training
    assert not set(training) & set(held)
    assert sorted(training + held) == sorted(pairs)
    assert list(training) == [pair for pair in pairs if pair in training]
    different = len(set(pairs))
    assert bool(held) == (share > 0 and different > 1)
    assert len(set(held)) <= max(1, share * different + 0.5)
    assert hold_out(pairs, share, seed) == (training, held)


def test_the_seed_decides_what_is_held_out() -> None:
    pairs = [(str(i), str(i)) for i in range(100)]
    assert {len(hold_out(pairs, 0.1, seed)[1]) for seed in range(20)} == {10}
    assert len({hold_out(pairs, 0.1, seed) for seed in range(20)}) == 20


def test_a_pair_and_its_copy_are_not_torn_apart() -> None:
    for seed in range(10):
        assert len(hold_out([("a", "b"), ("c", "d"), ("a", "b")], 0.5, seed)[1]) in (1, 2)
    assert hold_out([("a", "b")] * 3, 0.5, 0) == ((("a", "b"),) * 3, ())


@pytest.mark.parametrize("share", [-0.1, 0.6, 1, float("nan")])
def test_a_share_is_up_to_a_half(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        hold_out([("a", "b")], share, 0)
