"""Marian models of the Hugging Face Hub, fetched into its cache: every byte checked, and each model only once.

`owner/name`, with an optional `@revision`: a branch, a tag or a commit. huggingface_hub downloads and caches. Beside
its cache the folder `attention-bitte` records which files belong to a commit, and keeps what pickled.py has converted,
so that a model that was fetched once loads without a network.

Weights are `model.safetensors` of the revision; else of the pull request in which the Hub's conversion bot adds it;
else `pytorch_model.bin`.
"""

import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from . import marian
from .checkpoint import INVALID_CONTENT, CheckpointError, first_line
from .pickled import converted, own_cache

Progress = Callable[[int, int], None]  # bytes fetched so far, bytes in all; it may raise to cancel

MAX_BYTES = 2 * 2**30  # of a model's files: opus-mt has 300 MB, tc-big 480 MB, or twice that in full precision
BOT = "SFconvertbot"
REQUIRED = (marian.VOCABULARY, marian.SOURCE_PIECES, marian.TARGET_PIECES)
OPTIONAL = (marian.GENERATION, marian.TOKENIZER, marian.TARGET_VOCABULARY)
_NAME = re.compile(r"(?P<repository>[A-Za-z0-9][\w.-]*/[\w.-]+)(?:@(?P<revision>[\w.][\w./-]*))?", re.ASCII)


Reason = Literal["broken", "digest", "missing", "not_there", "offline", "other", "too_large"]


class HubError(CheckpointError):
    """A model cannot be fetched.

    Args:
        reason: one word for it.
        size: bytes of its files, where they are too large.
    """

    def __init__(self, text: str, reason: Reason, size: int = 0) -> None:
        super().__init__(text)
        self.reason, self.size = reason, size


@dataclass(frozen=True)
class Fetched:
    """A model in the cache: its folder, and its weights as safetensors, which may be a pull request's."""

    folder: Path
    weights: Path


def is_on_hub(name: str) -> bool:
    """Whether a name is `owner/name` with an optional `@revision`, and no path beside an existing folder."""
    found = _NAME.fullmatch(name)
    return found is not None and not os.path.isdir(found["repository"].split("/")[0])


def fetch(name: str, progress: Progress | None = None, max_bytes: int = MAX_BYTES) -> Fetched:
    """Fetch what the cache lacks of a model. Of several calls for one model, in any process, one fetches.

    Args:
        name: `owner/name` or `owner/name@revision`; the revision is `main` if left out.
        progress: called for every part that arrives; without it, huggingface_hub draws a bar.
        max_bytes: the most that its files may have in all.

    Raises:
        HubError: there is no such model, it is too large or not what the Hub says it is, or the connection broke; the
            message is one line.
        CheckpointError: it is not the name of a model, or huggingface_hub is not installed.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise CheckpointError(f"{name}: not owner/name of a model, with an optional @revision")
    try:
        import huggingface_hub  # noqa: F401  # slow to import, and only this needs it
    except ImportError as error:
        raise CheckpointError(f"{name}: fetching it takes the package huggingface_hub") from error
    return _Repository(found["repository"], found["revision"] or "main").fetch(progress, max_bytes)


class _WrongDigestError(ValueError):
    """A file is not what the Hub says."""


class _Repository:
    def __init__(self, repository: str, revision: str) -> None:
        from huggingface_hub import constants

        self.repository, self.revision = repository, revision
        self.name = repository if revision == "main" else f"{repository}@{revision}"
        # The variable may be set after huggingface_hub's import.
        self.endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
        self.cancelled: BaseException | None = None  # raised by a caller's progress
        self.ours = own_cache()
        self.cache = Path(os.environ.get("HF_HUB_CACHE") or self.ours.parent / "hub")

    def fetch(self, progress: Progress | None, max_bytes: int) -> Fetched:
        from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

        with self._explained():
            self.ours.mkdir(parents=True, exist_ok=True)
            if re.fullmatch("[0-9a-f]{40}", self.revision) and (done := self._recorded(self.revision)):
                return done  # a commit never changes
            with WeakFileLock(self.ours / f"{self.repository.replace('/', '--')}.lock"):
                commit = self._commit()
                if done := self._recorded(commit):
                    return done
                try:
                    wanted = self._wanted(commit)
                except Exception as error:
                    if _is_network(error) and (done := self._complete(commit)):
                        return done
                    raise
                size = sum(meta.size for *_, meta in wanted)
                if size > max_bytes:
                    raise HubError(
                        f"{self.name}: its files have {size:,} bytes; at most {max_bytes:,} are taken",
                        "too_large",
                        size,
                    )
                self._download(wanted, size, progress)
                file, at, _ = wanted[-1]
                self._record_of(commit).write_text(json.dumps({"files": [each[:2] for each in wanted]}))
                return _fetched(self._cached(marian.CONFIG, commit), self._cached(file, at))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever goes wrong becomes a HubError of one line that names the model."""
        from huggingface_hub import errors

        try:
            yield
        except CheckpointError:
            raise
        except errors.RevisionNotFoundError as error:
            raise HubError(f"{self.name}: the model has no such revision", "not_there") from error
        except errors.RepositoryNotFoundError as error:
            raise HubError(f"{self.name}: the Hub has no such model, or not for everybody", "not_there") from error
        except errors.RemoteEntryNotFoundError as error:
            raise HubError(f"{self.name}: no model: {marian.CONFIG} is missing", "missing") from error
        except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as error:
            raise HubError(
                f"{self.name}: not in the cache, and {self.endpoint} cannot be reached", "offline"
            ) from error
        except errors.HfHubHTTPError as error:
            raise HubError(f"{self.name}: the Hub answers {first_line(error)[:200]}", "other") from error
        except Exception as error:
            if error is self.cancelled:
                raise
            if _is_network(error):
                raise HubError(f"{self.name}: the connection broke ({first_line(error)[:200]})", "broken") from error
            if isinstance(error, INVALID_CONTENT):
                digest = isinstance(error, _WrongDigestError)
                raise HubError(f"{self.name}: {first_line(error)[:200]}", "digest" if digest else "other") from error
            raise

    def _record_of(self, commit: str) -> Path:
        return self.ours / f"{self.repository.replace('/', '--')}@{commit}.json"

    def _recorded(self, commit: str) -> Fetched | None:
        """The model if it was fetched before and all its files are still in the cache."""
        try:
            files = json.loads(self._record_of(commit).read_bytes())["files"]
            paths = [self._cached(file, at) for file, at in files]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return _fetched(paths[0], paths[-1])

    def _complete(self, commit: str) -> Fetched | None:
        """The model if another program has cached all its files."""
        for weights in (marian.WEIGHTS, marian.PICKLE):
            try:
                paths = [self._cached(file, commit) for file in (marian.CONFIG, *REQUIRED, weights)]
            except FileNotFoundError:
                continue
            return _fetched(paths[0], paths[-1])
        return None

    def _cached(self, file: str, commit: str) -> Path:
        from huggingface_hub import try_to_load_from_cache

        path = try_to_load_from_cache(self.repository, file, cache_dir=self.cache, revision=commit)
        if not isinstance(path, str):
            raise FileNotFoundError(f"{file} is not in the cache")
        return Path(path)

    def _commit(self) -> str:
        """The revision's commit: as the Hub says, else as the cache remembers."""
        from huggingface_hub import errors

        try:
            commit = self._meta(marian.CONFIG, self.revision).commit_hash
        except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.RemoteEntryNotFoundError):
            raise
        except Exception as error:
            try:
                return self._cached(marian.CONFIG, self.revision).parent.name
            except FileNotFoundError:
                if _is_network(error):
                    raise errors.LocalEntryNotFoundError(first_line(error)) from error
                raise error from None
        if not re.fullmatch("[0-9a-f]{40}", commit or ""):
            raise ValueError(f"{self.endpoint} does not name the commit of {marian.CONFIG}")
        return commit

    def _meta(self, file: str, revision: str) -> Any:
        """Size, digest and commit of a file, by one request."""
        from huggingface_hub import errors, get_hf_file_metadata, hf_hub_url

        if _is_offline():
            raise errors.OfflineModeIsEnabled("HF_HUB_OFFLINE is set")
        url = hf_hub_url(self.repository, file, revision=revision, endpoint=self.endpoint)
        meta = get_hf_file_metadata(url, endpoint=self.endpoint)
        if meta.size is None:
            raise ValueError(f"{self.endpoint} does not say how large {file} is")
        return meta

    def _wanted(self, commit: str) -> list[tuple[str, str, Any]]:
        """Every file with the commit that has it; the configuration first, the weights last.

        Raises:
            HubError: a file is missing.
        """
        from huggingface_hub import errors

        def found(file: str, at: str) -> list[tuple[str, str, Any]]:
            try:
                return [(file, at, self._meta(file, at))]
            except (errors.RemoteEntryNotFoundError, errors.RevisionNotFoundError):
                return []

        files = found(marian.CONFIG, commit)
        for file in REQUIRED:
            there = found(file, commit)
            if not there:
                raise HubError(f"{self.name}: {file} is missing", "missing")
            files += there
        for file in OPTIONAL:
            files += found(file, commit)
        weights = found(marian.WEIGHTS, commit)
        for request in () if weights else self._requests_of_the_bot():
            weights = [(file, meta.commit_hash, meta) for file, _, meta in found(marian.WEIGHTS, request)]
            if weights:
                break
        weights = weights or found(marian.PICKLE, commit)
        if not weights:
            raise HubError(f"{self.name}: it has neither {marian.WEIGHTS} nor {marian.PICKLE}", "missing")
        return files + weights

    def _requests_of_the_bot(self) -> Iterator[str]:
        """Revisions of the pull requests in which the Hub's bot adds safetensors; anybody may open others."""
        from huggingface_hub import HfApi, errors

        api = HfApi(endpoint=self.endpoint)
        try:
            asked = api.get_repo_discussions(self.repository, author=BOT, discussion_type="pull_request")
            for each in itertools.islice(asked, 100):
                if (
                    each.author == BOT
                    and each.is_pull_request
                    and each.status != "closed"
                    and "safetensors" in each.title
                ):
                    yield f"refs/pr/{each.num}"
        except (errors.HfHubHTTPError, KeyError, TypeError):  # discussions may be switched off
            return

    def _download(self, wanted: list[tuple[str, str, Any]], size: int, progress: Progress | None) -> None:
        from huggingface_hub import hf_hub_download

        def tell(arrived: int) -> None:
            try:
                if progress:
                    progress(min(arrived, size), size)
            except BaseException as error:
                self.cancelled = error
                raise

        before = 0
        for file, at, meta in wanted:
            path = hf_hub_download(
                self.repository,
                file,
                # By its name, so that the cache knows its commit on a day without a network.
                revision=self.revision if file == marian.CONFIG else at,
                cache_dir=self.cache,
                endpoint=self.endpoint,
                tqdm_class=_bar(lambda arrived: tell(before + arrived)) if progress else None,  # noqa: B023
            )
            _check_digest(file, Path(path), meta.etag)
            before += meta.size
            tell(before)


def _fetched(config: Path, weights: Path) -> Fetched:
    if weights.name == marian.PICKLE:
        blob = weights.resolve().name  # the cache names large files by their digests
        weights = converted(weights, digest=blob if re.fullmatch("[0-9a-f]{64}", blob) else "")
    return Fetched(config.parent, weights)


def _is_offline() -> bool:
    from huggingface_hub import constants

    return constants.HF_HUB_OFFLINE or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def _is_network(error: Exception) -> bool:
    """Whether the connection failed before a complete answer."""
    from huggingface_hub import errors

    is_broken = "Consistency check failed" in str(error)  # huggingface_hub says so of half a file, as an OSError
    return isinstance(error, errors.OfflineModeIsEnabled | errors.LocalEntryNotFoundError | ConnectionError) or (
        is_broken or type(error).__module__.split(".")[0] in ("httpx", "httpx2", "httpcore")
    )


def _bar(tell: Callable[[int], None]) -> Any:
    """A progress bar for huggingface_hub that draws nothing and reports the bytes that have arrived."""
    from tqdm import tqdm

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.arrived = int(kwargs.get("initial") or 0)
            super().__init__(*args, **kwargs | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            self.arrived += int(n or 0)
            tell(self.arrived)

    return Bar


def _check_digest(file: str, path: Path, etag: str | None) -> None:
    """Large files' tags are SHA-256 digests, those of others are Git's SHA-1; another tag says nothing.

    Raises:
        _WrongDigestError: the file is another; it has been deleted.
    """
    blob = path.resolve()
    tag = etag or ""
    if re.fullmatch("[0-9a-f]{64}", tag):
        with blob.open("rb") as content:
            digests = [hashlib.file_digest(content, "sha256").hexdigest()]
    elif re.fullmatch("[0-9a-f]{40}", tag):
        content_bytes = blob.read_bytes()
        in_git = b"blob %d\0" % len(content_bytes)
        digests = [hashlib.sha1(prefix + content_bytes).hexdigest() for prefix in (in_git, b"")]
    else:
        return
    if tag not in digests:
        path.unlink(missing_ok=True)
        blob.unlink(missing_ok=True)
        raise _WrongDigestError(f"{file} is not what the Hub says: its digest is {digests[0]}, not {tag}")
