"""Sentence pairs that a visitor uploads or edits in a table: parsed, validated row by row, made into a corpus.

A row's number is the one that an editor or a spreadsheet shows: the line that it begins on, from 1.
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
from .alignment import AlignedPair, GoldAlignment
from .corpus import Corpus, Example, Pair
from .vocabulary import (
    END,
    PAD,
    START,
    SentenceError,
    Vocabulary,
    check_visible,
    has_word,
    lower,
    strip_punctuation,
    words_and_marks,
)

MAX_PAIRS = 2000  # per corpus; also the most bad rows that are listed
MAX_WORDS = 60  # per sentence, punctuation marks included: attention grows with their square
MAX_CELL_CHARACTERS = 500  # per sentence: fewer than the translator reads
MAX_BYTES = 2 * 2**20  # per file

_MAX_ROW_CHARACTERS = 4096  # enough for two sentences, and a bound on the search for a lost quotation mark
_DELIMITERS = "\t;,"
_SNIFFED_LINES = 5000  # that decide which delimiter the file has
_SHOWN_EXAMPLES, _SHOWN_PAIRS = 4, 200

# Words of headings, folded. Few, because a first pair of such words would be taken for headings.
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
    """A row that is not a pair, and why; or the first row beyond a limit."""

    row: int
    message: Message


@dataclass(frozen=True)
class Table:
    """Parsed rows."""

    pairs: tuple[Pair, ...]  # (source, target) as typed, without the space around them; at least one, MAX_PAIRS at most
    bad: tuple[BadRow, ...]  # the other rows, in order; at most MAX_PAIRS, and one that stands for all after it
    header: bool  # whether the first row was taken as headings


class TableError(MessageError):
    """A file or a table without a usable pair, and its bad rows, where it could be parsed. The message tells a visitor
    how to fix it."""

    def __init__(self, key: str, bad: Sequence[BadRow] = (), **values: Any) -> None:
        super().__init__(key, **values)
        self.bad = tuple(bad)


def read_table(content: bytes, header: bool | None = None) -> Table:
    """Parse a file of two columns: UTF-8, with or without a byte order mark; any line endings.

    Columns are separated by tabs, semicolons or commas, whichever gives the most rows two columns. Cells may be quoted,
    with quotation marks doubled inside, and may then hold separators and line breaks. Empty rows are skipped.

    Args:
        content: the file.
        header: whether the first row holds headings. None detects it: both cells hold only words of headings, in any
            case: source, target, src, tgt, from, to, input, output, original, translation, sentence, and names and
            codes of languages (German, Deutsch, de, deu …). A file whose first pair is "es", "it" needs False.

    Raises:
        TableError: the file is too large, not UTF-8, empty, or has no pair.
    """
    if len(content) > MAX_BYTES:
        raise TableError("pairs.too_large", most=MAX_BYTES // 2**20)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError("pairs.not_utf8") from error
    # Lines end where an editor ends them, not at a form feed as with str.splitlines.
    lines = io.StringIO(text, newline="").readlines()
    if lines and re.fullmatch(f"sep=[{_DELIMITERS}]", lines[0].strip(" \r\n")):  # Excel's note to itself
        lines[0] = "\n"
    rows = _rows(lines, max(_DELIMITERS, key=lambda delimiter: _two_columns(lines, delimiter)))
    first = next(rows, None)
    if header is None:
        header = first is not None and _is_header(first[1])
    return _validated(rows if header or first is None else itertools.chain([first], rows), header and first is not None)


def check_rows(rows: Any) -> Table:
    """Parse the rows of an edited table, [[source, target], …]. Empty rows are skipped. Raises TableError: it is not a
    list of lists of texts, is empty, or has no pair."""
    if (
        not isinstance(rows, list)
        or not all(isinstance(row, list) for row in rows)
        or not all(isinstance(cell, str) for row in rows for cell in row)
    ):
        raise TableError("pairs.no_table")
    cells = ((number, [cell.strip() for cell in row]) for number, row in enumerate(rows, 1))
    return _validated((each for each in cells if any(each[1])), header=False)


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str] | Message]]:
    """Every row with its number: its stripped cells, or why they cannot be parsed.

    A quotation mark that is never closed spoils its own row only: the lines that it ran through are parsed again, each
    as a row of its own. So no line is parsed more than twice, whatever the file holds.
    """
    at = 0  # the next line
    single_line_until = 0  # rows that begin before this line hold one line
    while at < len(lines):
        if lines[at].isspace():
            at += 1
            continue
        if len(lines[at]) > _MAX_ROW_CHARACTERS:
            yield at + 1, Message("pairs.long_row", {"count": len(lines[at]), "most": MAX_CELL_CHARACTERS})
            at += 1
            continue
        row = csv.reader(
            _row_lines(lines, at, at < single_line_until), delimiter=delimiter, strict=True, skipinitialspace=True
        )
        try:
            cells = [cell.strip() for cell in next(row)]
            while len(cells) > 2 and not cells[-1]:  # spreadsheets write empty columns
                cells.pop()
        except csv.Error:
            yield at + 1, Message("pairs.quotes")
            single_line_until = max(single_line_until, at + row.line_num)
            at += 1
        else:
            if any(cells):
                yield at + 1, cells
            at += row.line_num


def _row_lines(lines: Sequence[str], first: int, single: bool) -> Iterator[str]:
    """The lines that one row may span."""
    yield lines[first]
    size = len(lines[first])
    for i in range(first + 1, first + 1 if single else len(lines)):
        size += len(lines[i])
        if size > _MAX_ROW_CHARACTERS:
            return
        yield lines[i]


def _two_columns(lines: Sequence[str], delimiter: str) -> int:
    """How many rows at the beginning a delimiter splits into two columns."""
    rows = _rows(lines[:_SNIFFED_LINES], delimiter)
    return sum(not isinstance(cells, Message) and len(cells) == 2 and all(cells) for _, cells in rows)


def _is_header(cells: list[str] | Message) -> bool:
    if isinstance(cells, Message) or len(cells) != 2 or max(map(len, cells)) > MAX_CELL_CHARACTERS:
        return False
    words = [re.split(r"[\s_-]+", cell.casefold()) for cell in cells]
    return all(word in _HEADING_WORDS for cell in words for word in cell)


def _validated(rows: Iterable[tuple[int, list[str] | Message]], header: bool) -> Table:
    pairs: list[Pair] = []
    bad: list[BadRow] = []
    for number, cells in rows:
        pair = cells if isinstance(cells, Message) else _pair(cells)
        if isinstance(pair, Message) and len(bad) == MAX_PAIRS:
            bad.append(BadRow(number, Message("pairs.unread", {"most": MAX_PAIRS})))
            break
        if isinstance(pair, Message):
            bad.append(BadRow(number, pair))
        elif len(pairs) == MAX_PAIRS:
            bad.append(BadRow(number, Message("pairs.left_out", {"most": MAX_PAIRS})))
            break
        else:
            pairs.append(pair)
    if pairs:
        return Table(tuple(pairs), tuple(bad), header)
    if bad:
        raise TableError("pairs.none", bad)
    raise TableError("pairs.empty")


def _pair(cells: list[str]) -> Pair | Message:
    """A row's pair, or why it is not one."""
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
        if not has_word(cell):
            return Message("pairs.no_word", {"column": column})
        if (count := len(words_and_marks(cell))) > MAX_WORDS:
            return Message("pairs.words", {"column": column, "count": count, "most": MAX_WORDS})
    return cells[0], cells[1]


def uploaded_corpus(pairs: Sequence[Pair], name: str = "own", shared_vocabulary: bool = False) -> Corpus:
    """A corpus of any pairs.

    Words keep their case and their letters; punctuation at their edges becomes tokens of its own, on both sides. A word
    that is called P, S or E stands in quotes. Every source is padded to the longest, or one further where all have the
    same length, so that attention maps show padding. There is no gold alignment.

    Args:
        shared_vocabulary: one vocabulary for both sides, as `tie_weights` needs it (§3.4).

    Raises:
        ValueError: there is no pair. Empty sentences raise SentenceError as soon as they are encoded.
    """
    if not pairs:
        raise ValueError("there is no sentence pair")
    sources, targets = ([words_and_marks(sentence) for sentence in side] for side in zip(*pairs, strict=True))
    source_words = dict.fromkeys(word for source in sources for word in source)
    target_words = dict.fromkeys(word for target in targets for word in target)
    if shared_vocabulary:
        src_vocab = tgt_vocab = Vocabulary((PAD, START, END, *(source_words | target_words)), folds=True)
    else:
        src_vocab = Vocabulary((PAD, *source_words), folds=True)
        tgt_vocab = Vocabulary((PAD, START, END, *target_words), folds=True)
    tokenised = [(" ".join(source), " ".join(target)) for source, target in zip(sources, targets, strict=True)]
    typed = [(" ".join(source.split()), " ".join(target.split())) for source, target in pairs]
    aligned: dict[str, AlignedPair] = {}  # of several translations of one source, the first
    for (source, target), (spelling, _) in zip(tokenised, typed, strict=True):
        unaligned = ((),) * len(target.split())
        gold = GoldAlignment(unaligned, unaligned)
        aligned.setdefault(
            source, AlignedPair(source, target, gold, _closed_up(source) if spelling == source else spelling)
        )
    without_marks: dict[str, AlignedPair] = {}
    for source, pair in aligned.items():
        without_marks.setdefault(_without_marks(source), pair)
    lengths = {len(source) for source in sources}
    examples = itertools.islice(aligned.values(), _SHOWN_EXAMPLES)
    return Corpus(
        name=name,
        size=len(pairs),
        source_length=max(lengths) + (len(lengths) == 1),
        load=lambda: (tuple(tokenised), src_vocab, tgt_vocab),
        examples=tuple(Example("", pair.spelling, "") for pair in examples),
        words={"all": tuple(itertools.islice(dict.fromkeys(typed), _SHOWN_PAIRS))},  # the page lists two columns
        find=lambda source: aligned.get(source) or without_marks.get(_without_marks(source)),
    )


def _closed_up(source: str) -> str:
    """The tokens of a model's file as people write them: "Ja , gut !" -> "Ja, gut!". A quoted P stays apart."""
    return re.sub(r"(?<!”) (?=[.,;:!?…](?: |$))", "", source)


def _without_marks(source: str) -> str:
    """A source in lower case, without its punctuation."""
    return " ".join(word for word in lower(source).split() if strip_punctuation(word))


def hold_out(pairs: Sequence[Pair], share: float, seed: int) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Hold out a share of the pairs: (training, held out), each in its old order, the same for the same seed.

    Copies of a pair go to one side together, or training would see what is held out. So pass the pairs of a corpus,
    whose vocabulary covers both parts and which spells each word in one way.

    Args:
        share: of the distinct pairs, from 0 to 0.5. Above 0 at least one is held out, unless there is only one.

    Raises:
        ValueError: the share is not from 0 to 0.5.
    """
    if not 0 <= share <= 0.5:
        raise ValueError(f"share ({share}) is not from 0 to 0.5")
    distinct = list(dict.fromkeys(pairs))
    count = max(1, round(share * len(distinct))) if share and len(distinct) > 1 else 0
    held_out = set(random.Random(seed).sample(distinct, count))
    return tuple(pair for pair in pairs if pair not in held_out), tuple(pair for pair in pairs if pair in held_out)
