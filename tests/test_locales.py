"""The page's words: catalogues that say the same, nothing in them that nobody says, nothing said beside them."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from transformer import Vocabulary
from transformer.messages import Listed, Message, catalogues, formatted
from transformer.web.page import opened

ROOT = Path(__file__).parent.parent
LOCALES = ROOT / "assets/locales"
LANGUAGES = ["en", *sorted({path.stem for path in LOCALES.glob("*.json")} - {"en"})]
CHINESE = [language for language in LANGUAGES if language.startswith("zh")]
PLACE = re.compile(r"\{(\w+)\}")
PLURAL = re.compile(r"\{(\w+), plural, ")
HAN = re.compile("[\u3400-\u9fff]")


def places(text: str) -> set[str]:
    return {*PLACE.findall(text), *PLURAL.findall(text)}


EN = catalogues()["en"]
OTHERS = LANGUAGES[1:]


# ---- catalogues that say the same ----


def test_the_page_offers_the_catalogues_that_there_are() -> None:
    assert opened()["schema"]["languages"] == LANGUAGES
    assert {"en", "zh-Hans", "zh-Hant"} <= set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_key_is_said_twice_and_no_text_is_empty(language: str) -> None:
    pairs = json.loads((LOCALES / f"{language}.json").read_text("utf-8"), object_pairs_hook=list)
    keys = [key for key, _ in pairs]
    assert [key for key in keys if keys.count(key) > 1] == []
    assert [key for key, text in pairs if not isinstance(text, str) or not text.strip()] == []
    for key, text in pairs:
        for count in (1, 2):
            filled = formatted(text, dict.fromkeys(places(text), count))
            assert not re.search("[{}#]", filled), key  # a malformed placeholder or plural


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_plural_has_the_forms_of_its_language(language: str) -> None:
    """As Unicode's plural rules have them: two for a count in English, one in Chinese, which needs no plural then."""
    for key, text in catalogues()[language].items():
        for plural in PLURAL.finditer(text):
            forms = re.match(r"((?:zero|one|two|few|many) \{.*?\} )+other \{", text[plural.end() :])
            assert forms, key
            assert forms[0].startswith("one {") or language != "en", key
            assert language not in CHINESE, key


@pytest.mark.parametrize("language", OTHERS)
def test_every_catalogue_has_the_same_keys_places_and_spaces(language: str) -> None:
    """Chinese puts no space between sentences, so a text may end on fewer than in English, never on more."""
    theirs = catalogues()[language]
    assert list(theirs) == list(EN)
    for key, text in theirs.items():
        assert places(text) == places(EN[key]), key
        assert text == text.strip() or EN[key] != EN[key].strip(), key


# What Chinese writes as it is: names of functions, of variables and of the paper's matrices, German words, file types.
INTERNATIONAL = re.compile(
    "softmax|FFN|LayerNorm|ReLU|AER|ln|[a-zA-Z]|d_model|d_k|SVG|PNG|CSV|HTML|Jupyter|logits?|torch|nn|Transformer"
    "|weil|dass|kein|nicht|sie"
)


@pytest.mark.parametrize("language", CHINESE)
def test_every_text_is_in_its_own_language(language: str) -> None:
    """A text without a Chinese character has no word that a Chinese reader would have to translate."""
    english = {}
    for key, text in catalogues()[language].items():
        words = re.findall(r"[^\W\d]\w*", PLACE.sub("", text))
        if not HAN.search(text) and not all(map(INTERNATIONAL.fullmatch, words)):
            english[key] = text
    assert english == {}


@pytest.mark.parametrize(("language", "script"), [("zh-Hans", "gb2312"), ("zh-Hant", "big5")])
def test_every_character_belongs_to_its_script(language: str, script: str) -> None:
    """GB 2312 has the simplified characters, Big5 the traditional ones; what both write alike is in both."""
    foreign: dict[str, str] = {}
    for key, text in catalogues()[language].items():
        for char in HAN.findall(text):
            try:
                char.encode(script)
            except UnicodeEncodeError:
                foreign[key] = foreign.get(key, "") + char
    assert foreign == {}


# ---- what the library says ----


def test_a_list_that_is_cut_short_says_so() -> None:
    known = Vocabulary(("P", *(f"w{i}" for i in range(30)))).some_words(3)
    assert str(Message("error.empty", {"known": known})).endswith("w0, w1, w2 and 27 more.")
    assert [str(Listed(("a", "b", "c")[:n])) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


KEY = re.compile(r"\w+(\.\w+)+")


@cache
def messages() -> set[str]:
    """The key of every message that the package can make."""
    keys: set[str] = set()
    for path in ROOT.glob("transformer/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                if re.fullmatch(r"Message|\w*Error", ast.unparse(node.func)) and KEY.fullmatch(str(node.args[0].value)):
                    keys.add(str(node.args[0].value))
            elif isinstance(node, ast.Constant) and node.value in EN:
                keys.add(str(node.value))
    return keys


def test_every_sentence_of_the_library_is_in_the_catalogue() -> None:
    said = messages()
    assert len(said) > 50
    assert said <= set(EN)


# ---- what the page says ----

SCRIPTS = [path.read_text("utf-8") for path in sorted((ROOT / "assets/web").rglob("*.ts"))]
NAMESPACES = {key.split(".")[0] for key in EN if "." in key}
CHOICE = re.compile(r'namedChoice\(.*?[\w\]],\s*"([\w.]+)",', re.DOTALL)  # of names whose texts are under a key
STRING = re.compile(r'"((?:\w+\.)+\w+)"|(?<!\w)(?:t|nodes)\(\s*"([^"]+)"')
VALUE = r"\$\{(?:[^{}`]|`[^`]*`)*\}"  # in a template
TEMPLATE = re.compile(rf"((?<!\w)(?:t|nodes)\(\s*)?`((?:[\w.]|{VALUE})+)`")


def named() -> Iterator[tuple[str, str]]:
    """(kind, key) of every string and template that is a key: what t or nodes is given, and what looks like one."""
    for source in SCRIPTS:
        choices = CHOICE.findall(source)
        yield from (("template", f"{key}.*") for key in choices)
        for dotted, given in STRING.findall(source):
            if given or (dotted.split(".")[0] in NAMESPACES and dotted not in choices):
                yield "string", given or dotted
        for given, text in TEMPLATE.findall(source):
            key = re.sub(rf"(?:{VALUE})+", "*", text)
            if "*" in key and key.strip("*.") and (given or key.split(".")[0] in NAMESPACES):
                yield "template", key


def test_every_key_that_the_page_names_is_in_the_catalogue() -> None:
    keys = {key for kind, key in named() if kind == "string"}
    assert len(keys) > 150
    assert keys - EN.keys() == set()


def matching(pattern: str) -> set[str]:
    """The keys that JavaScript can put together as `pattern`."""
    parts = [re.escape(part) for part in pattern.split("*")]
    return {key for key in EN if re.fullmatch(r"[\w.+= -]+".join(parts), key)}


def patterns() -> set[str]:
    return {key for kind, key in named() if kind == "template"}


def test_every_key_that_the_page_puts_together_is_in_the_catalogue() -> None:
    assert [pattern for pattern in patterns() if not matching(pattern)] == []


def test_every_variant_of_a_stop_of_the_lesson_has_a_text() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "assets/web/features/lesson/stops").glob("*.ts")]
    stops = re.findall(r"\nexport const (\w+): Stop = {(.*?)\n};", "\n".join(sources), re.DOTALL)
    assert stops
    for stop, declared in stops:
        found = re.search(r"\n  variants: .*?\n(?=  \w)", declared, re.DOTALL)
        for variant in re.findall(r'(?<!== )"(\w+)"', found[0]) if found else []:
            assert any(re.fullmatch(rf"lesson\.{stop}\.[a-z]+_{variant}", key) for key in EN), variant


def test_every_text_of_the_catalogue_is_used() -> None:
    used = {key for kind, key in named() if kind == "string"} | messages()
    used |= {key for pattern in patterns() for key in matching(pattern)}
    assert [key for key in EN if key not in used] == []
