"""What the page opens on is fetched ahead, with all that it imports."""

import re

from transformer.web.component import ASSETS, preloads


def test_what_is_fetched_ahead_is_there_and_imports_nothing_else() -> None:
    names = re.findall(r"/js/([\w/-]+)\.js", preloads("core/mount", "shell/run-bar"))
    assert names[:2] == ["core/mount", "shell/run-bar"]
    assert len(set(names)) == len(names)
    for name in names:
        lines = (ASSETS / "js" / f"{name}.js").read_text("utf-8").splitlines()
        imported = {line.split("/")[-1] for line in lines if line.startswith("import ")}
        assert imported <= {f'{each.split("/")[1]}.js";' for each in names}
