"""Self-checks of the run that the page shows."""

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis.self_checks import check
from ..schema import ChangedRunRequest
from ..sessions.models import cached_per_checkpoint, translator
from .runs import run_of


class Check(TypedDict):
    """A measurement: its largest error and the error that is allowed."""

    name: str
    error: float
    limit: float
    ok: bool


class Checks(TypedDict):
    """All of a run."""

    checks: list[Check]


@cached_per_checkpoint(256)
def checks(request: ChangedRunRequest) -> Checks:
    """Measurements on one run, each with its limit."""
    found = check(translator(request.checkpoint), run_of(request))
    return {"checks": [{"name": each.name, "error": each.error, "limit": each.limit, "ok": each.ok} for each in found]}
