"""The actions over HTTP, as another program calls them. What they answer is tested in tests/web/api."""

import json
import re
import shutil
import subprocess
from inspect import iscoroutine
from typing import Any

import numpy as np
import orjson
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from transformer.web.page import ACTIONS

from ..web.loop import in_a_loop
from .conftest import ROOT, TRAINED, get, post

DOCUMENT = (ROOT / "transformer/web/README.md").read_text().split("## API")[1].split("\n## ")[0]
HERE = "http://127.0.0.1:7860/"
NAMED = {action.__name__: action for action in ACTIONS}
BIER = "Ich möchte ein Bier"


def block(kind: str, url: str) -> str:
    """The document's code, for this server."""
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```", DOCUMENT, re.M | re.S)
    return found.replace(HERE, url).replace(HERE.rstrip("/"), url.rstrip("/"))


def expect_same(answer: Any, expected: Any) -> None:
    """Another number of threads rounds the last bits otherwise."""
    if isinstance(expected, dict):
        assert answer.keys() == expected.keys()
        for key in expected:
            expect_same(answer[key], expected[key])
    elif isinstance(expected, list) and expected and isinstance(expected[0], dict):
        for one, other in zip(answer, expected, strict=True):
            expect_same(one, other)
    elif isinstance(expected, float) or (isinstance(expected, list) and "float" in str(np.asarray(expected).dtype)):
        np.testing.assert_allclose(answer, expected, atol=1e-5, rtol=1e-4)
    else:
        assert answer == expected


def test_each_action_is_documented_and_called_in_python_and_in_curl() -> None:
    assert set(re.findall(r"^\| `/(\w+)`", DOCUMENT, re.M)) == NAMED.keys()
    assert set(re.findall(r'api_name="/(\w+)"', DOCUMENT)) == NAMED.keys()


def test_the_python_calls_run(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block("python no-test", url), "README.md", "exec"), {})
    assert "beer" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_every_action_answers_curl_as_it_answers_in_this_process(url: str) -> None:
    function, *calls = block("sh", url).strip().splitlines()
    asked = {name: json.loads(values) for name, values in re.findall(r"^call (\w+) '(.*)'$", "\n".join(calls), re.M)}
    assert asked.keys() == NAMED.keys()
    script = "\n".join([function, *(f"{call}; echo" for call in calls if call)])
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=TRAINED / 1000)
    for (name, values), answer in zip(asked.items(), run.stdout.splitlines(), strict=True):
        expected = NAMED[name](*values)
        if iscoroutine(expected):
            expected = in_a_loop(expected)
        (found,) = json.loads(answer)["data"]
        expect_same(found, json.loads(orjson.dumps(expected, option=orjson.OPT_SERIALIZE_NUMPY)))


def test_a_refusal_is_a_sentence(url: str) -> None:
    client = Client(url, verbose=False, httpx_kwargs={"timeout": 60})
    for name, arguments, named in (
        ("/translate", ("wasser",), "wasser"),
        ("/spot_the_bug", ("nonesuch",), "cross_padding"),
        ("/sample", ("ich", -1.0), "at least 0"),
    ):
        with pytest.raises(AppError, match=rf"\w+ \w+.*{named}"):
            client.predict(*arguments, api_name=name)


def test_the_request_queue_takes_the_action_that_a_body_names(url: str) -> None:
    """Gradio does what the body names, and not what the address does."""
    named = {each["api_name"]: each["id"] for each in get(f"{url}config").json()["dependencies"]}
    body = {"data": [BIER, "toy"], "fn_index": named["translate"]}
    answer = post(url, "gradio_api/run/spot_the_bug", body)
    assert answer.json()["data"][0]["text"] == "i want a beer ."


@pytest.mark.parametrize(
    "path", ["app.py", "checkpoints/toy/config.json", "/etc/passwd", "assets/../app.py", "https://example.com/"]
)
def test_other_files_stay_unreachable(url: str, path: str) -> None:
    assert get(f"{url}gradio_api/file={path}").status_code in (403, 404)
