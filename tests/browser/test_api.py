"""The actions over HTTP, as another program calls them. What they answer and refuse is tested in tests/web."""

import json
import re
import shutil
import subprocess

import pytest

from transformer.web.api.table import ACTIONS

from .conftest import ROOT, TRAINED

DOCUMENT = (ROOT / "transformer/web/README.md").read_text().split("## API")[1].split("\n## ")[0]
HERE = "http://127.0.0.1:7860/"
NAMED = {action.__name__: action for action in ACTIONS}


def block(kind: str, url: str) -> str:
    """The document's code, for this server."""
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```", DOCUMENT, re.M | re.S)
    return found.replace(HERE, url).replace(HERE.rstrip("/"), url.rstrip("/"))


def test_the_python_calls_run(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = block("python no-test", url)
    assert set(re.findall(r'api_name="/(\w+)"', code)) == NAMED.keys()
    exec(compile(code, "README.md", "exec"), {})
    assert "beer" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_every_action_answers_curl(url: str) -> None:
    function, *calls = block("sh", url).strip().splitlines()
    asked = {name: json.loads(values) for name, values in re.findall(r"^call (\w+) '(.*)'$", "\n".join(calls), re.M)}
    assert asked.keys() == NAMED.keys()
    script = "\n".join([function, *(f"{call}; echo" for call in calls if call)])
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=TRAINED / 1000)
    answers = dict(zip(asked, map(json.loads, run.stdout.splitlines()), strict=True))
    assert [name for name, answer in answers.items() if len(answer.get("data", [])) != 1] == []
    assert answers["translate"]["data"][0]["text"] == NAMED["translate"](*asked["translate"])["text"]
