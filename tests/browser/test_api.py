"""The actions over HTTP, as another program calls them. What they answer and refuse is tested in tests/web."""

import json
import re
import shutil
import subprocess

import pytest

from transformer.web.api.table import ACTIONS

from .conftest import BIER, ROOT, TRAINED, get, post
from .wire import action

DOCUMENT = (ROOT / "transformer/web/README.md").read_text().split("## API")[1].split("\n## ")[0]
HERE = "http://127.0.0.1:7860/"
NAMED = {action.__name__: action for action in ACTIONS}


def block(kind: str, url: str) -> str:
    """The document's code, for this server."""
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```", DOCUMENT, re.M | re.S)
    return found.replace(HERE, url).replace(HERE.rstrip("/"), url.rstrip("/"))


def test_each_action_is_documented_and_called_in_python_and_in_curl() -> None:
    assert set(re.findall(r"^\| `/(\w+)`", DOCUMENT, re.M)) == NAMED.keys()
    assert set(re.findall(r'api_name="/(\w+)"', DOCUMENT)) == NAMED.keys()


def test_the_python_calls_run(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block("python no-test", url), "README.md", "exec"), {})
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


def test_the_request_queue_takes_the_action_that_a_body_names(url: str) -> None:
    """Gradio does what the body names, and not what the address does."""
    named = {each["api_name"]: each["id"] for each in get(f"{url}config").json()["dependencies"]}
    answer = post(url, action("spot_the_bug"), {"data": [BIER, "toy"], "fn_index": named["translate"]})
    assert answer.json()["data"][0]["text"] == "i want a beer ."
