"""Marian models of the Hugging Face Hub, `owner/name` with an optional `@revision`: a branch, a tag or a commit.

`huggingface_hub.snapshot_download` fetches, resumes and caches them. This module says which files, bounds their size,
compares their digests, and turns whatever fails into one line. Weights are `model.safetensors`, else
`pytorch_model.bin`, which pickled.py converts; `@refs/pr/4` takes those of a pull request.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from . import marian
from .checkpoint import INVALID_CONTENT, CheckpointError, first_line

Progress = Callable[[int, int], None]  # bytes fetched so far, bytes in all; it may raise to cancel

MAX_BYTES = 2 * 2**30  # of a model's files: opus-mt has 300 MB, tc-big 480 MB, or twice that in full precision
REQUIRED = (marian.CONFIG, marian.VOCABULARY, marian.SOURCE_PIECES, marian.TARGET_PIECES)
OPTIONAL = (marian.GENERATION, marian.TOKENIZER, marian.TARGET_VOCABULARY)
_NAME = re.compile(r"(?P<repository>[A-Za-z0-9][\w.-]*/[\w.-]+)(?:@(?P<revision>[\w.][\w./-]*))?", re.ASCII)


Reason = Literal["broken", "digest", "missing", "not_there", "offline", "other", "too_large"]


class HubError(CheckpointError):
    """A model cannot be fetched; `size` is the bytes of its files, where they are too large."""

    def __init__(self, text: str, reason: Reason, size: int = 0) -> None:
        super().__init__(text)
        self.reason, self.size = reason, size


def is_on_hub(name: str) -> bool:
    """Whether a name is `owner/name` with an optional `@revision`, and no path beside an existing folder."""
    found = _NAME.fullmatch(name)
    return found is not None and not os.path.isdir(found["repository"].split("/")[0])


def fetch(name: str, progress: Progress | None = None, max_bytes: int = MAX_BYTES) -> Path:
    """Fetch what the cache lacks of a model; returns its folder there.

    Args:
        name: `owner/name` or `owner/name@revision`; the revision is `main` if left out.
        progress: called for every part that arrives; without it, huggingface_hub draws a bar.
        max_bytes: the most that its files may have in all.

    Raises:
        HubError: there is no such model, it is too large or not what the Hub says it is, or the connection broke; the
            message is one line.
        CheckpointError: it is not the name of a model.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise CheckpointError(f"{name}: not owner/name of a model, with an optional @revision")
    repository, revision = found["repository"], found["revision"] or "main"
    reporter = _Reporter(progress)
    from huggingface_hub import HfApi, constants, errors  # slow to import, and only this needs it

    with _explained(name, reporter):
        if re.fullmatch("[0-9a-f]{40}", revision) and (cached := _cached(repository, revision)):
            return cached  # a commit never changes
        try:
            info = HfApi().model_info(repository, revision=revision, files_metadata=True)
        except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError):
            raise
        except Exception as error:
            if cached := _cached(repository, revision):
                return cached
            if _is_network(error):
                text = f"{name}: not in the cache, and {constants.ENDPOINT} cannot be reached"
                raise HubError(text, "offline") from error
            raise
        if info.sha and (cached := _cached(repository, info.sha)):
            return cached
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        files = _wanted(name, sizes)
        reporter.size = sum(sizes[file] for file in files)
        if reporter.size > max_bytes:
            text = f"{name}: its files have {reporter.size:,} bytes; at most {max_bytes:,} are taken"
            raise HubError(text, "too_large", reporter.size)
        return _downloaded(name, repository, revision, files, reporter)


class _Reporter:
    """Passes bytes on to a caller's progress; what that raises, ends the downloads in all threads."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress, self.arrived, self.size = progress, 0, 0
        self.cancelled: BaseException | None = None

    def report(self, arrived: int) -> None:
        if self.cancelled:
            raise self.cancelled
        self.arrived = max(self.arrived, min(arrived, self.size))
        try:
            if self.progress:
                self.progress(self.arrived, self.size)
        except BaseException as error:
            self.cancelled = error
            raise

    def bar(self) -> Any:
        """A progress bar for huggingface_hub that draws nothing; None where nobody listens."""
        from tqdm import tqdm

        reporter = self

        class Bar(tqdm):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                self.counts_bytes = kwargs.get("unit") == "B"  # another one counts files
                self.arrived = 0
                super().__init__(*args, **kwargs | {"disable": True})

            def update(self, n: float | None = 1) -> None:
                self.arrived += int(n or 0)
                if self.counts_bytes:
                    reporter.report(self.arrived)

        return Bar if self.progress else None


@contextmanager
def _explained(name: str, reporter: _Reporter) -> Iterator[None]:
    """Whatever goes wrong becomes a HubError of one line that names the model."""
    from huggingface_hub import errors

    try:
        yield
    except CheckpointError:
        raise
    except errors.RevisionNotFoundError as error:
        raise HubError(f"{name}: the model has no such revision", "not_there") from error
    except errors.RepositoryNotFoundError as error:
        raise HubError(f"{name}: the Hub has no such model, or not for everybody", "not_there") from error
    except errors.HfHubHTTPError as error:
        raise HubError(f"{name}: the Hub answers {first_line(error)[:200]}", "other") from error
    except Exception as error:
        if error is reporter.cancelled:
            raise
        if _is_network(error):
            raise HubError(f"{name}: the connection broke ({first_line(error)[:200]})", "broken") from error
        if isinstance(error, INVALID_CONTENT):
            raise HubError(f"{name}: {first_line(error)[:200]}", "other") from error
        raise


def _is_network(error: Exception) -> bool:
    """Whether the connection failed before a complete answer."""
    from huggingface_hub import errors

    is_broken = "Consistency check failed" in str(error)  # huggingface_hub says so of half a file, as an OSError
    is_lost = isinstance(error, ConnectionError | errors.LocalEntryNotFoundError)
    return is_broken or is_lost or type(error).__module__.split(".")[0] in ("httpx", "httpx2", "httpcore")


def _cached(repository: str, revision: str) -> Path | None:
    """The model's folder if all its files are in the cache."""
    from huggingface_hub import errors, snapshot_download

    try:
        files = [*REQUIRED, *OPTIONAL]
        folder = Path(snapshot_download(repository, revision=revision, allow_patterns=files, local_files_only=True))
    except errors.LocalEntryNotFoundError:
        return None
    is_complete = all((folder / file).is_file() for file in REQUIRED) and marian.weights_in(folder)
    return folder if is_complete else None


def _wanted(name: str, sizes: Mapping[str, int]) -> list[str]:
    """The files to fetch of those that the Hub has. Raises HubError: one is missing."""
    for file in REQUIRED:
        if file not in sizes:
            raise HubError(f"{name}: {file} is missing", "missing")
    weights = next((file for file in (marian.WEIGHTS, marian.PICKLE) if file in sizes), None)
    if weights is None:
        raise HubError(f"{name}: it has neither {marian.WEIGHTS} nor {marian.PICKLE}", "missing")
    return [*REQUIRED, *(file for file in OPTIONAL if file in sizes), weights]


def _downloaded(name: str, repository: str, revision: str, files: list[str], reporter: _Reporter) -> Path:
    from huggingface_hub import HfApi, snapshot_download

    folder = Path(snapshot_download(repository, revision=revision, allow_patterns=files, tqdm_class=reporter.bar()))
    # huggingface_hub itself compares sizes only.
    for wrong in HfApi().verify_repo_checksums(repository, revision=folder.name).mismatches:
        if wrong["path"] in files:
            (folder / wrong["path"]).resolve().unlink()
            (folder / wrong["path"]).unlink()
            digests = f"its digest is {wrong['actual']}, not {wrong['expected']}"
            raise HubError(f"{name}: {wrong['path']} is not what the Hub says: {digests}", "digest")
    reporter.report(reporter.size)
    if marian.weights_in(folder) is None:
        raise HubError(f"{name}: {files[-1]} is missing", "missing")
    return folder
