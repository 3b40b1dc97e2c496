"""Weights in a pickle of PyTorch, converted once to safetensors, in a process of its own with little memory.

That process runs this file as a script. PyTorch's reader of weights alone (`weights_only`) runs no code of a pickle;
the process is there for whatever else a file may do to it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

DIGEST = re.compile("[0-9a-f]{64}")  # a SHA-256, which is the name of a large file in the Hub's cache
MEMORY_PER_BYTE, MEMORY = 3, 2**29  # for the weights, a copy and the file's pages; and for everything else
TIMEOUT = 600  # seconds
UNFINISHED, LEFT_SECONDS = "part-", 2 * TIMEOUT  # folders of a process that was killed while it wrote


def converted(file: Path) -> Path:
    """The weights as safetensors, in the Hub's cache under the pickle's digest. Raises CheckpointError: the file is not
    a pickle of weights, or needs too much memory or time."""
    from .checkpoint import CheckpointError, first_line, reading

    with reading(file):
        blob = file.resolve()
        digest = blob.name
        if blob.parent.name != "blobs" or not DIGEST.fullmatch(digest):  # the Hub's cache names large files by theirs
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
        done = own_cache() / f"{digest}.safetensors"
        if done.exists():
            return done
        with placed(done) as part:
            most = MEMORY + MEMORY_PER_BYTE * file.stat().st_size
            command = [sys.executable, "-P", __file__, str(file), str(part), str(most)]
            try:
                run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
            except subprocess.TimeoutExpired as error:
                raise CheckpointError(f"{file}: converting it took longer than {TIMEOUT} s") from error
            if run.returncode or not part.exists():
                lines = [line for line in run.stderr.splitlines() if line.strip()]
                why = lines[-1] if lines else f"its process ended with {run.returncode}"
                raise CheckpointError(f"{file}: not a pickle of weights ({first_line(ValueError(why))[:200]})")
        return done


@contextmanager
def placed(file: Path) -> Iterator[Path]:
    """Where to write a file of the own cache: it takes its place when the block ends, or nothing does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for left in file.parent.glob(f"{UNFINISHED}*"):
        with suppress(OSError):  # its process has just ended it
            if time.time() - left.stat().st_mtime > LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=file.parent) as temporary:
        part = Path(temporary) / file.name
        yield part
        os.replace(part, file)


def own_cache() -> Path:
    """The folder beside the Hub's cache in which this project has its own files."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE).expanduser().parent / "attention-bitte"


def _limit_memory(most: int) -> None:
    """Let this process take `most` bytes more than it has; where the system cannot, nothing happens."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + most
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ImportError, OSError, ValueError):
        pass


def _convert(file: str, target: str, most: int) -> None:
    import torch
    from safetensors.torch import save_file

    torch.set_num_threads(1)
    _limit_memory(most)
    weights = torch.load(file, map_location="cpu", weights_only=True)
    if not isinstance(weights, dict) or not all(isinstance(value, torch.Tensor) for value in weights.values()):
        raise TypeError("it holds something else than named tensors")
    first_names: dict[Any, str] = {}
    aliases: dict[str, str] = {}  # a tensor of several names is written once; transformers records them likewise
    for name, tensor in list(weights.items()):
        storage = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        first = first_names.setdefault(storage, name)
        if first == name:
            weights[name] = tensor.detach().contiguous()
        else:
            aliases[name] = first
            del weights[name]
    save_file(weights, target, metadata=aliases)


if __name__ == "__main__":
    try:
        _convert(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except BaseException as error:
        sys.exit(((str(error).splitlines() or [""])[0] or type(error).__name__)[:200])
