"""The page's HTML document without Gradio: around a site's files, or with everything inside it.

What a visitor wrote reaches the document as JSON in a script that is no program, in which no character can end that
script, and in the title, escaped. The page puts it in its place as text.
"""

import base64
import gzip
import html
import json
from typing import Any

from ..files import shipped
from ..messages import catalogues

NAME = "Attention, bitte"
NO_REQUESTS = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

# As Gradio has it: `__theme` in the address, else what was chosen before (header.ts), else what the system prefers.
THEME = """
const asked = /[?&#]__theme=(dark|light)/.exec(location.href)?.[1];
let chosen = null;
try { chosen = localStorage.getItem("attention-bitte-theme"); } catch {}
const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.body.classList.toggle("dark", (asked ?? chosen ?? preferred) === "dark");
"""

# What waits for its views is hidden: see assets/head.html.
FAIL = """
const fail = (sentence) => (error) => {
    const place = document.querySelector(".html-container");
    Object.assign(place.style, { visibility: "visible", whiteSpace: "pre-line" });
    place.textContent = sentence;
    throw error;
};
"""

# A module that an old browser cannot read, or that came in part, fails as one that did not come.
START = """
import("./{app}").then(({{ start }}) => start(document.querySelector(".html-container > .view"))).catch(lost);
const keep = async () => navigator.serviceWorker?.register("./sw.js");
keep().catch(() => {{}}); // a browser may keep nothing, and a frame may not even ask
"""

UNPACK = """
(async () => {
    const bytes = Uint8Array.from(atob(document.getElementById("packed").textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const all = new Uint8Array(await new Response(stream).arrayBuffer());
    const end = all.indexOf(10);
    globalThis.unpacked = JSON.parse(new TextDecoder().decode(all.subarray(0, end)));
    unpacked.content = all.subarray(end + 1);
    for (const kind of ["style", "script"])
        document.head.append(Object.assign(document.createElement(kind), { textContent: unpacked[kind] }));
})()"""


def file_document(opening: Any, script: str, title: str, content: bytes, **more: Any) -> str:
    """A document that asks nobody for anything.

    Args:
        opening: what the page is opened with.
        script: a program that fills the page's place; it finds `content` and `more` in `globalThis.unpacked`.
        title: what stands before the page's name.
    """
    style = (shipped("assets") / "dist" / "app.css").read_text("utf-8")
    line = json.dumps({"style": style, "script": script, **more}, separators=(",", ":")).encode()
    packed = base64.b64encode(gzip.compress(line + b"\n" + content, mtime=0)).decode()
    policy = f'<meta http-equiv="Content-Security-Policy" content="{NO_REQUESTS}">'
    parts = (_data("opening", opening), f'<script type="text/plain" id="packed">{packed}</script>')
    return _document(
        f"{title} · {NAME}", policy, *parts, f"<script>{FAIL}{UNPACK}.catch({_fail('shell.old')});</script>"
    )


def site_document(opening: Any, script: str, style: str, icon: str) -> str:
    """A document beside its files: the addresses of the page's module, its styles and its icon."""
    links = (("stylesheet", style), ("icon", icon), ("modulepreload", script))
    linked = "\n".join(f'<link rel="{name}" href="{address}">' for name, address in links)
    module = f'<script type="module">{START.format(app=script)}</script>'
    lost = f"const lost = {_fail('shell.lost')};"
    return _document(NAME, linked, _data("opening", opening), f"<script>{FAIL}{lost}</script>", module)


def _fail(key: str) -> str:
    return f"fail({json.dumps(_in_every_language(key))})"


def _in_every_language(key: str) -> str:
    """A sentence, where what knows the visitor's language has not come."""
    return "\n".join(texts[key] for texts in catalogues().values())


def _data(name: str, value: Any) -> str:
    """JSON for the page: without "<", and in ASCII."""
    return f'<script type="application/json" id="{name}">{json.dumps(value).replace("<", chr(92) + "u003c")}</script>'


def _document(title: str, head: str, *body: str) -> str:
    """With the containers that our styles expect: those that Gradio has."""
    frame, reset = ((shipped("assets") / name).read_text("utf-8") for name in ("head.html", "standalone.css"))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{head}
<title>{html.escape(title)}</title>
<style>{reset}</style>
{frame}</head>
<body>
<noscript style="white-space: pre-line">{html.escape(_in_every_language("shell.no_script"))}</noscript>
<script>{{{THEME}}}</script>
<div class="gradio-container"><div class="main"><main class="contain"><div class="html-container">
<div class="view"></div>
</div></main></div></div>
{chr(10).join(body)}
</body>
</html>
"""
