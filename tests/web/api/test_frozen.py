"""A run as one file: what is in it, how large it is, and that it says what the server says."""

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic_core import to_jsonable_python

from transformer import Translation, Translator
from transformer.inference.decoding import Sampling
from transformer.inference.interventions import Interventions
from transformer.web.api import frozen, sublayers, translate, why
from transformer.web.api.downloads import interactive
from transformer.web.api.payload import for_page

from ...visitors import alike
from .endpoints import BEER, CHANGED, FLAGSHIP, RUN, ask, floats


class File:
    """A file, unpacked."""

    def __init__(self, text: str) -> None:
        def data(name: str) -> str:
            found = re.search(rf'id="{name}">([^<]*)<', text)
            assert found
            return found[1]

        self.size = len(text.encode())
        line, self.content = gzip.decompress(base64.b64decode(data("packed"))).split(b"\n", 1)
        self.packed: Any = json.loads(line)
        self.opening: Any = json.loads(data("opening")) | {"shown": self.whole(self.packed["shown"])}

    def whole(self, value: Any) -> Any:
        """With its arrays, as frozen.ts puts them in."""
        if isinstance(value, list):
            return [self.whole(each) for each in value]
        if not isinstance(value, dict):
            return value
        if value.keys() != {"array"}:
            return {key: self.whole(each) for key, each in value.items()}
        if isinstance(value["array"], list):
            terms = [np.frombuffer(self.bytes_of(each), "<f4") for each in value["array"]]
            return base64.b64encode((terms[0] + terms[1]).tobytes()).decode()
        return base64.b64encode(self.bytes_of(value["array"])).decode()

    def bytes_of(self, number: int) -> bytes:
        start, end, size = self.packed["arrays"][number]
        planes = np.frombuffer(self.content[start:end], np.uint8).reshape(size, -1)
        return planes.T.tobytes()

    def asked(self, name: str) -> list[Any]:
        return [request for question, request, _ in self.packed["answers"] if question == name]

    def answer(self, name: str, **request: Any) -> Any:
        found = [answer for question, asked, answer in self.packed["answers"] if (question, asked) == (name, request)]
        return self.whole(found[0])


def saved(run: Translation, folder: Path, **how: Any) -> File:
    run.to_html(folder / "run.html", **how)
    return File((folder / "run.html").read_text("utf-8"))


def test_a_file_says_what_the_server_says(toy: Translator, tmp_path: Path) -> None:
    changes = CHANGED["changes"]
    file = saved(toy.translate(BEER, interventions=Interventions.parse(changes)), tmp_path)
    shown = ask(translate.translate, CHANGED)
    assert alike(file.opening["shown"], shown)
    assert file.opening["shown"]["baseline"] is not None
    for function, more in (
        (sublayers.inside, {"kind": "decoder", "layer": 3}),
        (sublayers.value_norms, {}),
        (why.why, {"step": 2, "other": None, "words": False}),
    ):
        assert alike(file.answer(function.__name__, **CHANGED, **more), ask(function, {**CHANGED, **more}))


def test_every_view_of_the_toy_has_what_it_asks_for(toy: Translator, tmp_path: Path) -> None:
    file = saved(toy.translate(BEER), tmp_path, ablations=True)
    places = {(each["kind"], each["layer"]) for each in file.asked("inside")}
    assert places == {(kind, layer) for kind in ("encoder", "decoder", "cross") for layer in range(6)}
    assert {each["stack"] for each in file.asked("input_sum")} == {"encoder", "decoder"}
    steps = file.opening["shown"]["run"]["steps"]
    assert {each["step"] for each in file.asked("why") if each["other"] is None} == set(range(len(steps)))
    assert {each["step"] for each in file.asked("why") if each["other"]} == set(range(len(steps)))
    for name in ("checks", "shapes", "value_norms", "lens", "heads"):
        assert len(file.asked(name)) == 1, name
    assert file.opening["schema"]["parameters"]["tab"]["choices"] == list(frozen.TABS)
    assert set(file.packed["catalogues"]) == set(file.opening["schema"]["languages"])


def test_a_file_is_small_and_the_same_every_time(toy: Translator, tmp_path: Path) -> None:
    run = toy.translate(BEER)
    file = saved(run, tmp_path)
    assert file.size <= 700_000
    assert not file.asked("heads")
    first = (tmp_path / "run.html").read_bytes()
    run.to_html(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_bytes() == first


def test_of_a_long_run_the_opened_sublayer_comes_first(
    classroom: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen, "MAX_ARRAYS", 110_000)
    monkeypatch.setattr(frozen, "SMALL", 0)
    monkeypatch.setattr(frozen, "MAX_EXPLAINING", 0)
    run = classroom.translate(FLAGSHIP)
    file = saved(run, tmp_path, place={"tab": "inside", "kind": "encoder", "layer": 1, "step": 3})
    places = [(each["kind"], each["layer"]) for each in file.asked("inside")]
    assert places[0] == ("encoder", 1)
    assert len(places) < 6
    asked = {"checkpoint": "classroom", "sentence": FLAGSHIP, "changes": [], "kind": "encoder", "layer": 1}
    kept, whole = (answer["arrays"] for answer in (file.answer("inside", **asked), ask(sublayers.inside, asked)))
    for name in ("q", "scores", "sum"):  # 16 significant bits
        np.testing.assert_allclose(floats(kept[name]["data"]), floats(whole[name]["data"]), rtol=2**-16, atol=1e-5)
    assert [each["step"] for each in file.asked("why")] == [3]
    assert file.opening["place"] == "tab=inside&kind=encoder&layer=2&step=4"
    explained = saved(run, tmp_path, place={"step": 3, "why": "contrast"}).asked("why")
    assert [(each["step"], each["other"] is None) for each in explained] == [(3, True), (3, False)]
    wrong: list[Any] = [{"room": "x"}, {"tab": "train"}, {"layer": -1}, {"head": True}, {"mean": 1}, {"language": "fr"}]
    for place in (*wrong, {"layer": 2}):
        with pytest.raises(ValueError, match=next(iter(place))):
            run.to_html(tmp_path / "run.html", place=place)


def test_no_file_explains_more_steps_than_takes_a_bounded_work(marian: Path) -> None:
    """A small model's too: a long run has hundreds of steps, each with four explanations. The opened one is first."""
    run = Translator.load(marian).translate("Frau Müller wohnt 1987 in Wien!")
    shown = to_jsonable_python(for_page(run, None, run.translator.checkpoint))
    place = {"step": "3", "words": "yes", "why": "contrast"}

    def explained(long: int) -> list[Any]:
        """As if the source had so many tokens."""
        longer = replace(run, source=run.source * long)
        return list(frozen._explained(run.translator.checkpoint.model.config, longer, shown, place))

    every, some, opened = (explained(long) for long in (1, 30, 10_000))
    assert len(every) == len(set(every)) == 4 * len(run.steps)
    assert opened == every[:2]
    places = [(step > 0, other is None, words) for step, other, words in opened]
    assert places == [(True, True, True), (True, False, True)]
    assert some == every[: len(some)]
    assert len(opened) < len(some) < len(every)


def test_a_run_is_saved_as_it_was_made(toy: Translator, tmp_path: Path) -> None:
    """Also one that no question asks for, and of a model that only has the name of a shipped one."""
    run = toy.translate(BEER, forced=("i", "want", "a", "coke"))
    assert "coke" in run.text
    opening = saved(run, tmp_path).opening
    assert (opening["shown"]["run"]["text"], opening["drawn"]) == (run.text, [])
    other = Translator.load("classroom").named("toy").translate(FLAGSHIP)
    assert saved(other, tmp_path).opening["shown"]["run"]["text"] == other.text
    with pytest.raises(TypeError, match="place is a str"):
        run.to_html(tmp_path / "run.html", place="attention")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a probe"):
        toy.translate(BEER, probe=lambda name, value: value).to_html(tmp_path / "run.html")
    with pytest.raises(ValueError, match="no Translator"):
        replace(run, translator=None).to_html(tmp_path / "run.html")


def test_a_drawn_word_is_not_a_forced_one(toy: Translator, tmp_path: Path) -> None:
    drawn = toy.translate(BEER, forced=("i", "want"), sampling=Sampling(temperature=50, seed=1))
    assert drawn.drawn == tuple(range(2, len(drawn.output)))
    file = saved(drawn, tmp_path)
    assert file.opening["drawn"] == list(drawn.drawn)
    changed = [each["step"] for each in file.opening["shown"]["run"]["changes"]]
    assert changed
    assert set(changed) <= set(drawn.drawn)


def test_the_download_opens_where_the_visitor_is_and_leads_back() -> None:
    asked = {**RUN, "place": "?tab=attention&layer=3&sentence=other&room=1", "page": "https://example.org/"}
    answer = ask(interactive, asked)
    file = File(answer["text"])
    assert answer["name"] == "toy-attention.html"
    assert (file.opening["place"], file.opening["home"]) == ("tab=attention&layer=3", "https://example.org/")
    assert File(ask(interactive, {**RUN, "place": "?tab=train&layer=3"})["text"]).opening["place"] == "layer=3"
    assert ask(interactive, {**RUN, "page": "javascript:alert(1)"})["error"]["key"]
