"""The API calls of transformer/web/README.md, run as printed, against a server."""

import json
import re
import shutil
import subprocess

import pytest

from transformer.web.page import ACTIONS

from .conftest import ROOT

SECTION = (ROOT / "transformer/web/README.md").read_text().split("## API")[1].split("\n## ")[0]
HERE = "http://127.0.0.1:7860/"
NAMES = {action.__name__ for action in ACTIONS}


def block(kind: str, url: str) -> str:
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```", SECTION, re.M | re.S)
    return found.replace(HERE, url).replace(HERE.rstrip("/"), url.rstrip("/"))


def test_each_action_is_in_the_table_and_called_in_python_and_in_curl() -> None:
    assert set(re.findall(r"^\| `/(\w+)`", SECTION, re.M)) == NAMES
    assert set(re.findall(r'api_name="/(\w+)"', SECTION)) == NAMES
    assert set(re.findall(r"^call (\w+) ", SECTION, re.M)) == NAMES


def test_the_python_calls_run(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block("python no-test", url), "README.md", "exec"), {})
    assert "beer" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_the_curl_calls_answer(url: str) -> None:
    function, *calls = block("sh", url).strip().splitlines()
    calls = [call for call in calls if call]
    assert len(calls) == len(NAMES)
    script = "\n".join([function, *(f"{call}; echo" for call in calls)])
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    answers = run.stdout.splitlines()
    assert len(answers) == len(calls), run
    for call, answer in zip(calls, answers, strict=True):
        assert json.loads(answer)["data"][0], call
