"""Pairs that a visitor of the page brings, as a file or an edited table: read, judged row by row, made into a corpus.

A row is called by the number that an editor or a spreadsheet shows: the line that it begins on, from 1.
"""

import csv
import io
import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..alignment import AlignedPair, Gold
from ..message import Message
from ..vocabulary import END, PAD, START, SentenceError, Vocabulary, check_visible, fold
from .base import Corpus, Example, Material, Pair

MOST_PAIRS = 2000  # that are taken, and bad rows that are listed
MOST_WORDS = 60  # of a sentence, its punctuation marks counted: attention grows with their square
MOST_CHARACTERS = 500  # of a sentence; the translator takes no longer one
MOST_BYTES = 2 * 2**20  # of a file

_MOST_OF_A_ROW = 4096  # characters: more than two sentences fill, and few enough to look for a lost quotation mark in
_DELIMITERS = "\t;,"
_LOOKED_AT = 5000  # lines that decide which delimiter it is
_SHOWN_EXAMPLES, _SHOWN_PAIRS = 4, 200
_BARE = Vocabulary((PAD,))  # which knows no word, so it takes the punctuation off all of them

# What headings are made of, folded. Short, because what is in it can be no first pair.
_HEADINGS = """
    source src target tgt from to input output original translation sentence sentences
    german english french spanish italian portuguese dutch polish russian ukrainian turkish swedish danish czech arabic
    chinese japanese korean
    deutsch englisch français francais español espanol italiano português portugues nederlands polski русский українська
    türkçe turkce svenska dansk čeština العربية 中文 英文 英语 英語 德文 德语 德語 日本語 한국어
    de en fr es it pt nl pl ru uk tr sv da cs ar zh ja ko
    deu ger eng fra fre spa ita por nld dut pol rus ukr tur swe dan ces cze ara zho chi jpn kor
"""
_HEADING_WORDS = frozenset(_HEADINGS.split())


@dataclass(frozen=True)
class BadRow:
    """A row that is no pair, and why; or the first of all that were left out."""

    row: int
    message: Message


@dataclass(frozen=True)
class Table:
    """What somebody's rows hold.

    Attributes:
        pairs: (source, target) as typed, without the space around them; at least one, MOST_PAIRS at most.
        bad: the other rows, in their order; MOST_PAIRS and one that stands for all after it at most.
        header: whether the first row was taken as headings.
    """

    pairs: tuple[Pair, ...]
    bad: tuple[BadRow, ...]
    header: bool


class TableError(ValueError):
    """A file or a table without one pair that could be used. The message tells a visitor what to do about it.

    Attributes:
        bad: its rows and what is wrong with each, if it was read so far.
    """

    def __init__(self, key: str, english: str, bad: Sequence[BadRow] = (), **values: Any) -> None:
        self.message = Message(f"pairs.{key}", english, values)
        self.bad = tuple(bad)
        super().__init__(str(self.message))


def read_table(content: bytes, header: bool | None = None) -> Table:
    """Pairs of a file of two columns: UTF-8, with a byte order mark or without; any line ends.

    Columns are separated by tabs, semicolons or commas, whichever makes most rows two columns. Cells may stand in
    quotation marks, doubled where one is meant, and may then hold separators and line breaks. Rows without any text are
    no rows.

    Args:
        content: the file.
        header: whether the first row is headings. None finds out: it is, if both its cells have nothing but words of
            headings in them, in upper or lower case: source, target, src, tgt, from, to, input, output, original,
            translation, sentence, and names and codes of languages (German, Deutsch, de, deu …). A file whose first
            pair is "es", "it" wants a False.

    Raises:
        TableError: the file is too large, not UTF-8, empty, or has no row that is a pair.
    """
    if len(content) > MOST_BYTES:
        raise TableError("too_large", "The file is larger than {most} MB. Take fewer pairs.", most=MOST_BYTES // 2**20)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError(
            "not_utf8", "The file is not text in UTF-8. Save it as UTF-8 (spreadsheets call that “CSV UTF-8”)."
        ) from error
    # A line ends where an editor ends it, and not at a form feed, as str.splitlines would have it.
    lines = io.StringIO(text, newline="").readlines()
    if lines and re.fullmatch(f"sep=[{_DELIMITERS}]", lines[0].strip(" \r\n")):  # Excel's word to itself
        lines[0] = "\n"
    rows = _rows(lines, max(_DELIMITERS, key=lambda delimiter: _two_columns(lines, delimiter)))
    first = next(rows, None)
    if header is None:
        header = first is not None and _is_header(first[1])
    return _judged(rows if header or first is None else itertools.chain([first], rows), header and first is not None)


def check_rows(rows: Any) -> Table:
    """The same of the rows of an edited table, [[source, target], …], whoever sent them. Empty rows are no rows.

    Raises:
        TableError: it is no list of lists of texts, is empty, or has no row that is a pair.
    """
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise _no_table()
    if not all(isinstance(cell, str) for row in rows for cell in row):
        raise _no_table()
    cells = ((number, [cell.strip() for cell in row]) for number, row in enumerate(rows, 1))
    return _judged((each for each in cells if any(each[1])), header=False)


def _no_table() -> TableError:
    return TableError("no_table", "A table is a list of rows, and each row a list of two texts.")


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str] | Message]]:
    """Every row with its number: its cells, stripped, or why it has none.

    A quotation mark that is never closed takes its own row along and no other: the rows that it ran through are read
    again, each as one line. So no line is read more than twice, whatever the file does.
    """
    at = alone = 0  # the line that comes next, and the first that may again be followed by others in its row
    while at < len(lines):
        if lines[at].isspace():
            at += 1
            continue
        if len(lines[at]) > _MOST_OF_A_ROW:
            english = "The row has {count} characters. At most {most} fit in a sentence."
            values = {"count": len(lines[at]), "most": MOST_CHARACTERS}
            yield at + 1, Message("pairs.long_row", english, values)
            at += 1
            continue
        row = csv.reader(_some(lines, at, at < alone), delimiter=delimiter, strict=True, skipinitialspace=True)
        try:
            cells = [cell.strip() for cell in next(row)]
            while len(cells) > 2 and not cells[-1]:  # spreadsheets write columns that nobody filled
                cells.pop()
        except csv.Error:
            english = "A quotation mark is not closed, or does not stand at the beginning or the end of a sentence."
            yield at + 1, Message("pairs.quotes", english)
            alone = max(alone, at + row.line_num)
            at += 1
        else:
            if any(cells):
                yield at + 1, cells
            at += row.line_num


def _some(lines: Sequence[str], first: int, alone: bool) -> Iterator[str]:
    """Lines that one row could be made of."""
    yield lines[first]
    size = len(lines[first])
    for i in range(first + 1, first + 1 if alone else len(lines)):
        size += len(lines[i])
        if size > _MOST_OF_A_ROW:
            return
        yield lines[i]


def _two_columns(lines: Sequence[str], delimiter: str) -> int:
    """How many rows at the beginning a delimiter cuts into two."""
    rows = _rows(lines[:_LOOKED_AT], delimiter)
    return sum(not isinstance(cells, Message) and len(cells) == 2 and all(cells) for _, cells in rows)


def _is_header(cells: list[str] | Message) -> bool:
    if isinstance(cells, Message) or len(cells) != 2 or max(map(len, cells)) > MOST_CHARACTERS:
        return False
    words = [re.split(r"[\s_-]+", cell.casefold()) for cell in cells]
    return all(word in _HEADING_WORDS for cell in words for word in cell)


def _judged(rows: Iterable[tuple[int, list[str] | Message]], header: bool) -> Table:
    pairs: list[Pair] = []
    bad: list[BadRow] = []
    for number, cells in rows:
        judged = cells if isinstance(cells, Message) else _pair(cells)
        if isinstance(judged, Message) and len(bad) == MOST_PAIRS:
            english = "{most} rows before this one cannot be used. It and those after it were not read."
            bad.append(BadRow(number, Message("pairs.unread", english, {"most": MOST_PAIRS})))
            break
        if isinstance(judged, Message):
            bad.append(BadRow(number, judged))
        elif len(pairs) == MOST_PAIRS:
            english = "At most {most} pairs are taken. This row and those after it are left out."
            bad.append(BadRow(number, Message("pairs.left_out", english, {"most": MOST_PAIRS})))
            break
        else:
            pairs.append(judged)
    if pairs:
        return Table(tuple(pairs), tuple(bad), header)
    if bad:
        english = "No row can be used. A row needs two columns: a sentence, and its translation."
        raise TableError("none", english, bad)
    raise TableError("empty", "There is no sentence pair yet.")


def _pair(cells: list[str]) -> Pair | Message:
    """A row's pair, or why it is none."""
    if len(cells) == 1:
        english = "There is one column, not two: no tab, comma or semicolon stands between two sentences."
        return Message("pairs.one_column", english)
    if len(cells) != 2:
        english = (
            'There are {count} columns, not two. Put a sentence that has the separator in it into "quotation marks".'
        )
        return Message("pairs.columns", english, {"count": len(cells)})
    for column, cell in enumerate(cells, 1):
        if not cell:
            return Message("pairs.empty_cell", "Column {column} is empty.", {"column": column})
        if len(cell) > MOST_CHARACTERS:
            english = "Column {column} has {count} characters. At most {most} fit."
            return Message("pairs.characters", english, {"column": column, "count": len(cell), "most": MOST_CHARACTERS})
        try:
            check_visible(cell)
        except SentenceError as error:
            english = "Column {column} has an invisible character in it ({code}). Type it again without that."
            return Message("pairs.invisible", english, {"column": column, **error.message.values})
        if not _BARE.split(cell):
            return Message("pairs.no_word", "Column {column} has no word in it.", {"column": column})
        if (count := len(_with_marks(cell))) > MOST_WORDS:
            english = "Column {column} has {count} words and punctuation marks. At most {most} fit."
            return Message("pairs.words", english, {"column": column, "count": count, "most": MOST_WORDS})
    return cells[0], cells[1]


def _with_marks(text: str) -> list[str]:
    """Folded words; each punctuation mark at the edge of one is a word of its own: "Beer!" -> beer, !"""
    words = []
    for word in fold(text).split():
        core = "".join(_BARE.split(word))  # "" of what is nothing but punctuation
        before, _, after = word.partition(core) if core else (word, "", "")
        words += [*before, *([core] if core else []), *after]
    return words


def own_corpus(pairs: Sequence[Pair], name: str = "own", shared_vocabulary: bool = False) -> Corpus:
    """Any pairs as a corpus.

    Its sources are the words that `Vocabulary.split` reads when they are typed later; punctuation at the edges of a
    target's words is words of its own. No word is P, S or E: those are upper case, and what is folded is not. Every
    source is padded to the longest; where all are of one length, to one more, so that padding is there to be seen.
    Its pairs are aligned with nothing: nobody said which words stand for which.

    Args:
        shared_vocabulary: one vocabulary for both sides, as `tie_weights` needs it.

    Raises:
        SentenceError: a sentence has no word, or characters that cannot be shown (a ValueError).
        ValueError: there is no pair.
    """
    if not pairs:
        raise ValueError("there is no sentence pair")
    targets = [_with_marks(target) for _, target in pairs]
    source_words = dict.fromkeys(word for source, _ in pairs for word in _BARE.split(source))
    target_words = dict.fromkeys(word for target in targets for word in target)
    if shared_vocabulary:
        src_vocab = tgt_vocab = Vocabulary((PAD, START, END, *(source_words | target_words)))
    else:
        src_vocab, tgt_vocab = Vocabulary((PAD, *source_words)), Vocabulary((PAD, START, END, *target_words))
    # Read by the vocabulary itself: a shared one knows the targets' punctuation, and keeps it where it stands alone.
    sources = [src_vocab.split(source) for source, _ in pairs]
    read = [(" ".join(source), " ".join(target)) for source, target in zip(sources, targets, strict=True)]
    typed = [(" ".join(source.split()), " ".join(target.split())) for source, target in pairs]
    aligned: dict[str, AlignedPair] = {}  # of several translations of one source, the first
    for (source, target), (spelling, _) in zip(read, typed, strict=True):
        nothing = ((),) * len(target.split())
        aligned.setdefault(source, AlignedPair(source, target, Gold(nothing, nothing), spelling))
    lengths = {len(source) for source in sources}
    examples = itertools.islice(aligned.values(), _SHOWN_EXAMPLES)
    return Corpus(
        name=name,
        pairs=tuple(read),
        src_vocab=src_vocab,
        tgt_vocab=tgt_vocab,
        source_length=max(lengths) + (len(lengths) == 1),
        material=Material(
            size=len(pairs),
            examples=tuple(Example("", pair.spelling, "") for pair in examples),
            words={"all": tuple(itertools.islice(dict.fromkeys(typed), _SHOWN_PAIRS))},  # the page lists two columns
            read=aligned.get,
            held_out={},
        ),
    )


def hold_out(pairs: Sequence[Pair], share: float, seed: int) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Keep a share of pairs from training: (training, held out), each in its old order, the same for the same seed.

    A pair that occurs twice goes to one side with both, else what is held out would have been learned. So give this the
    pairs of a corpus, whose vocabulary then covers both parts, rather than the same words spelled in several ways.

    Args:
        share: of the different pairs, from 0 to 0.5. Above 0 at least one is held out, unless there is no other.

    Raises:
        ValueError: another share.
    """
    if not 0 <= share <= 0.5:
        raise ValueError(f"share ({share}) is not from 0 to 0.5")
    different = list(dict.fromkeys(pairs))
    count = max(1, round(share * len(different))) if share and len(different) > 1 else 0
    held = set(random.Random(seed).sample(different, count))
    return tuple(pair for pair in pairs if pair not in held), tuple(pair for pair in pairs if pair in held)
