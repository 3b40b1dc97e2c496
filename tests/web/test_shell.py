"""The page's document without Gradio: whatever a visitor wrote is data in it."""

import base64
import gzip
import json
from html.parser import HTMLParser

import pytest

from transformer.web.shell import file_document

HOSTILE = (
    *("</script><script>alert(1)</script>", "<!--<script>", "]]>", "&lt;b&gt; <b>x</b>", "\u2028\u2029\x00", "\ud800"),
    *("</title><img src=x onerror=alert(1)>", '" onload="alert(1)', "${1}{{2}}", "</style>", "🍺\n\\"),
)


class Elements(HTMLParser):
    """The elements of a document, and the text in each script and in the title."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[str] = []
        self.texts: dict[str, str] = {}
        self._inside = ""
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.texts[self._inside] = self.texts.get(self._inside, "") + data


def in_a_file(text: str) -> str:
    return file_document({"text": text}, "run()", text, b"\n\x00rest", answers=[text])


@pytest.mark.parametrize("text", HOSTILE)
def test_a_visitors_text_is_data(text: str) -> None:
    document = in_a_file(text)
    found, plain = Elements(document), Elements(in_a_file("plain"))
    assert found.names == plain.names
    assert json.loads(found.texts["opening"]) == {"text": text}
    assert document.isprintable() or "\u2028" not in document.split("<title>")[0]
    if "\x00" not in text and "\ud800" not in text:
        assert found.texts["title"].startswith(text)


def test_what_is_packed_comes_out_again() -> None:
    packed = gzip.decompress(base64.b64decode(Elements(in_a_file("</script>")).texts["packed"]))
    line, content = packed.split(b"\n", 1)
    assert content == b"\n\x00rest"
    unpacked = json.loads(line)
    assert (unpacked["script"], unpacked["answers"]) == ("run()", ["</script>"])
    assert unpacked["style"].startswith(":root")
