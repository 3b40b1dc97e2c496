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

from ..messages import Message, MessageError
from .alignment import AlignedPair, Gold
from .corpus import Corpus, Example, Material, Pair
from .vocabulary import END, PAD, START, SentenceError, Vocabulary, check_visible, fold

MAX_PAIRS = 2000  # that are taken, and bad rows that are listed
MAX_WORDS = 60  # of a sentence, its punctuation marks counted: attention grows with their square
MAX_CELL_CHARACTERS = 500  # of a sentence; the translator takes no longer one
MAX_BYTES = 2 * 2**20  # of a file

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
        pairs: (source, target) as typed, without the space around them; at least one, MAX_PAIRS at most.
        bad: the other rows, in their order; MAX_PAIRS and one that stands for all after it at most.
        header: whether the first row was taken as headings.
    """

    pairs: tuple[Pair, ...]
    bad: tuple[BadRow, ...]
    header: bool


class TableError(MessageError):
    """A file or a table without one pair that could be used. The message tells a visitor what to do about it.

    Attributes:
        bad: its rows and what is wrong with each, if it was read so far.
    """

    def __init__(self, key: str, bad: Sequence[BadRow] = (), **values: Any) -> None:
        super().__init__(key, **values)
        self.bad = tuple(bad)


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
    if len(content) > MAX_BYTES:
        raise TableError("pairs.too_large", most=MAX_BYTES // 2**20)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError("pairs.not_utf8") from error
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
    return TableError("pairs.no_table")


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
            values = {"count": len(lines[at]), "most": MAX_CELL_CHARACTERS}
            yield at + 1, Message("pairs.long_row", values)
            at += 1
            continue
        row = csv.reader(_some(lines, at, at < alone), delimiter=delimiter, strict=True, skipinitialspace=True)
        try:
            cells = [cell.strip() for cell in next(row)]
            while len(cells) > 2 and not cells[-1]:  # spreadsheets write columns that nobody filled
                cells.pop()
        except csv.Error:
            yield at + 1, Message("pairs.quotes")
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
    if isinstance(cells, Message) or len(cells) != 2 or max(map(len, cells)) > MAX_CELL_CHARACTERS:
        return False
    words = [re.split(r"[\s_-]+", cell.casefold()) for cell in cells]
    return all(word in _HEADING_WORDS for cell in words for word in cell)


def _judged(rows: Iterable[tuple[int, list[str] | Message]], header: bool) -> Table:
    pairs: list[Pair] = []
    bad: list[BadRow] = []
    for number, cells in rows:
        judged = cells if isinstance(cells, Message) else _pair(cells)
        if isinstance(judged, Message) and len(bad) == MAX_PAIRS:
            bad.append(BadRow(number, Message("pairs.unread", {"most": MAX_PAIRS})))
            break
        if isinstance(judged, Message):
            bad.append(BadRow(number, judged))
        elif len(pairs) == MAX_PAIRS:
            bad.append(BadRow(number, Message("pairs.left_out", {"most": MAX_PAIRS})))
            break
        else:
            pairs.append(judged)
    if pairs:
        return Table(tuple(pairs), tuple(bad), header)
    if bad:
        raise TableError("pairs.none", bad)
    raise TableError("pairs.empty")


def _pair(cells: list[str]) -> Pair | Message:
    """A row's pair, or why it is none."""
    if len(cells) == 1:
        return Message("pairs.one_column")
    if len(cells) != 2:
        return Message("pairs.columns", {"count": len(cells)})
    for column, cell in enumerate(cells, 1):
        if not cell:
            return Message("pairs.empty_cell", {"column": column})
        if len(cell) > MAX_CELL_CHARACTERS:
            return Message("pairs.characters", {"column": column, "count": len(cell), "most": MAX_CELL_CHARACTERS})
        try:
            check_visible(cell)
        except SentenceError as error:
            return Message("pairs.invisible", {"column": column, **error.message.values})
        if not _BARE.split(cell):
            return Message("pairs.no_word", {"column": column})
        if (count := len(_with_marks(cell))) > MAX_WORDS:
            return Message("pairs.words", {"column": column, "count": count, "most": MAX_WORDS})
    return cells[0], cells[1]


def _with_marks(text: str) -> list[str]:
    """Folded words; each punctuation mark at the edge of one is a word of its own: "Beer!" -> beer, !"""
    words = []
    for word in fold(text).split():
        core = "".join(_BARE.split(word))  # "" of what is nothing but punctuation
        before, _, after = word.partition(core) if core else (word, "", "")
        words += [*before, *([core] if core else []), *after]
    return words


def uploaded_corpus(pairs: Sequence[Pair], name: str = "own", shared_vocabulary: bool = False) -> Corpus:
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
