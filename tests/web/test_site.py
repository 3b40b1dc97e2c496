"""The files of the page without a server."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from transformer.storage.checkpoint import FOLDER, WEIGHTS
from transformer.web.api.mistakes import mistake
from transformer.web.api.payload import byte_planes
from transformer.web.api.question import Question
from transformer.web.engine_data import engine_data
from transformer.web.schema import MistakeRequest
from transformer.web.sessions.models import examples_of
from transformer.web.site import write

pytestmark = pytest.mark.slow  # the files take seconds to make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "v-before").mkdir()
    (folder / "CNAME").write_text("somebody's own")
    write(folder)
    return folder


def test_it_is_small_and_its_parts_are_found(folder: Path) -> None:
    files = [each for each in folder.rglob("*") if each.is_file()]
    assert sum(each.stat().st_size for each in files) <= 6_000_000
    kept = re.findall(r'"(v-[^"]+)"', (folder / "sw.js").read_text())
    assert {*kept} == {str(each.relative_to(folder)) for each in files if each.parent != folder}
    page = (folder / "index.html").read_text()
    for name in re.findall(r'"\.?/?(v-[\w-]+/[\w.]+)"', page):
        assert (folder / name).exists(), name


def test_an_earlier_version_goes_and_other_files_stay(folder: Path) -> None:
    assert len(list(folder.glob("v-*"))) == 1
    assert not (folder / "v-before").exists()
    assert (folder / "CNAME").exists()


def test_the_same_files_are_the_same_version(folder: Path, tmp_path: Path) -> None:
    write(tmp_path)
    assert (tmp_path / "sw.js").read_text() == (folder / "sw.js").read_text()


def test_weights_are_those_of_the_checkpoint(folder: Path) -> None:
    for name in ("toy", "classroom"):
        weights = (FOLDER / name / WEIGHTS).read_bytes()
        packed = next(folder.glob(f"v-*/{name}.planes.gz")).read_bytes()
        found = np.frombuffer(gzip.decompress(packed), np.uint8).reshape(4, -1)
        assert found.T.tobytes() == weights
        assert byte_planes(weights, 4) == found.tobytes()


def test_an_answer_that_is_kept_stays_as_it_is() -> None:
    asked = MistakeRequest(checkpoint="classroom", sentence=examples_of("classroom")[0].sentence, name="unscaled")
    before = Question("mistake", mistake).dump(mistake(asked))
    engine_data("classroom")
    assert Question("mistake", mistake).dump(mistake(asked)) == before
