"""What the page opens on is fetched ahead, with all that it imports."""

import re

from transformer.web.component import ASSETS, preloads


def test_what_is_fetched_ahead_is_there_and_imports_nothing_else() -> None:
    names = re.findall(r"/js/([\w/-]+)\.js", preloads("core/mount", "shell/run-bar"))
    assert names[:2] == ["core/mount", "shell/run-bar"]
    assert len(set(names)) == len(names)
    for name in names:
        module = (ASSETS / "js" / f"{name}.js").read_text("utf-8")
        imported = set(re.findall(r'from "\S*/([\w-]+)\.js";$', module, re.M))
        assert imported <= {each.split("/")[1] for each in names}
