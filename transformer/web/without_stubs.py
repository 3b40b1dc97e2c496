"""Gradio starts a second sooner: at each import it writes type stubs (.pyi) beside its own components, for editors.

That needs most of the time of `import gradio`, so this is done before it, by `transformer.web`. Like what stands in
server/gradio_internals.py it relies on Gradio's internals, and is tested with them.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

WRITER = "gradio.component_meta", "create_or_modify_pyi"


class _Loader(Loader):
    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        setattr(module, WRITER[1], lambda *_: None)


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == WRITER[0] else None
        if spec and spec.loader:
            spec.loader = _Loader(spec.loader)
        return spec


sys.meta_path.insert(0, _Finder())
