"""The page without a server: `python -m transformer.web.site FOLDER` writes it for any host of static files.

The shipped models run in the visitor's browser (assets/web/engine); what needs a server says where it can be had. All
files but index.html and sw.js stand in a folder of their version, so that a host and a browser may keep them.
"""

import argparse
import gzip
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from pydantic_core import to_jsonable_python

from ..data import CORPORA
from ..files import shipped
from ..messages import Message
from ..storage.checkpoint import FOLDER, WEIGHTS, available_checkpoints
from .api.opening import Site, opening, page_schema
from .api.payload import byte_planes
from .api.table import QUESTIONS
from .engine_data import engine_data
from .shell import site_document

WEIGHT_BYTES = 4
VERSIONS = "v-"  # how the folders of versions begin; the first digits of a digest follow
DIGITS = 12
# Trainings, files, classes, and models of the Hub.
NEED_SERVER = {name for name, each in QUESTIONS.items() if each.streams} | {
    *("pairs", "plan", "stop_training", "delete_model", "share_model", "shared_model"),
    *("open_class", "vote", "lead_class", "weights_csv", "notebook", "interactive"),
    "similar_pairs",  # which a training would learn
    "candidates",  # of pieces, which only published models have
}


def write(folder: Path, page: str = "") -> None:
    """Write the site into a folder; other versions that are there go. `page` is the address of a page with a server, to
    which visitors are led for what the site lacks."""
    files = _files()
    digests = (hashlib.sha256(name.encode() + content).digest() for name, content in sorted(files.items()))
    version = VERSIONS + hashlib.sha256(b"".join(digests)).hexdigest()[:DIGITS]
    for old in folder.glob(VERSIONS + "[0-9a-f]" * DIGITS):
        shutil.rmtree(old)
    for name, content in files.items():
        file = folder / version / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    app, style, icon = (f"{version}/{name}" for name in ("app.js", "app.css", "favicon.png"))
    document = site_document(_opening(version, page), app, style, icon)
    (folder / "index.html").write_text(document, "utf-8")
    kept = json.dumps(["./", *(f"{version}/{name}" for name in sorted(files))])
    digest = hashlib.sha256(document.encode()).hexdigest()[:DIGITS]
    constants = f'const VERSION = "{digest}";\nconst FILES = {kept};\n'
    (folder / "sw.js").write_text(constants + (shipped("assets") / "service-worker.js").read_text("utf-8"), "utf-8")


def _files() -> dict[str, bytes]:
    """Every file of a version by its path in it."""
    assets = shipped("assets")
    found = {name: (assets / "dist" / name).read_bytes() for name in ("app.js", "app.css", "engine.js")}
    found |= {name: (assets / name).read_bytes() for name in ("handout.css", "favicon.png")}
    found |= {f"locales/{each.name}.gz": _packed(each.read_bytes()) for each in (assets / "locales").glob("*.json")}
    for name in _models():
        data = to_jsonable_python(engine_data(name))
        found[f"{name}.json.gz"] = _packed(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
        found[f"{name}.planes.gz"] = _packed(byte_planes((FOLDER / name / WEIGHTS).read_bytes(), WEIGHT_BYTES))
    return found


def _models() -> list[str]:
    return [name for name in CORPORA if name in available_checkpoints()]


def _opening(version: str, page: str) -> dict[str, Any]:
    questions = [name for name in QUESTIONS if name not in NEED_SERVER]
    opened: Any = opening(page_schema(assets=version, plotly="", streams=[]) | {"classes": False})
    site: Site = {"questions": questions, "models": _models(), "page": page}
    shipped_models = {name: each for name, each in opened["models"].items() if name in site["models"]}
    here = {"device": "browser", "why": Message("device.browser").for_page(), "space_host": None}
    return {**opened, **here, "models": shipped_models, "site": site}


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m transformer.web.site", description="Write the site into a folder.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--page", default="", help="the address of a page with a server, for what the site lacks")
    asked = parser.parse_args()
    torch.set_num_threads(1)  # more only slow a small network down
    write(asked.folder, asked.page)
