"""Self-checks of the run that the page shows."""

from ...analysis.self_checks import Check, check
from ..schema import ChangedRunRequest
from ..sessions.models import cached_per_checkpoint, translator
from .runs import run_of


@cached_per_checkpoint(256)
def checks(request: ChangedRunRequest) -> list[Check]:
    """Measurements on one run, each with its limit."""
    return check(translator(request.checkpoint), run_of(request))
