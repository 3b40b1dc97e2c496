"""The events of a training, one a line of JSON; web/sessions/training_queue.py adds those of its queue."""

from typing import Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ..inference.attention_maps import StackedMaps
from ..messages import MessageJSON


class Started(TypedDict):
    """`uniform` is the loss of a uniform guess."""

    event: Literal["started"]
    steps: int
    uniform: float
    parameters: int
    watch: str
    reference: str | None


class Progress(TypedDict):
    """`points`: step, loss and token accuracy of the steps since the last one; `left`: seconds."""

    event: Literal["progress"]
    points: list[list[float]]
    seconds: float
    left: float


class DecodedWords(TypedDict):
    output: tuple[str, ...]
    probabilities: list[float]


class CurrentTranslation(DecodedWords):
    """A translation of the watched sentence."""

    event: Literal["translation"]
    step: int


class HeldOutLoss(TypedDict):
    event: Literal["held_out"]
    step: int
    loss: float
    accuracy: float


class DecodedSnapshot(DecodedWords):
    text: str
    decoder_input: tuple[str, ...]
    decoder: StackedMaps
    cross: StackedMaps


class SnapshotTaken(TypedDict):
    """See snapshots.Snapshot; both runs share the encoder's maps.

    Weights are little-endian 16-bit integers, 65535 = 1: exact to 0.00001.
    """

    event: Literal["snapshot"]
    step: int
    source: tuple[str, ...]
    encoder: StackedMaps
    free: DecodedSnapshot
    forced: DecodedSnapshot | None


class End(TypedDict):
    """`processor_seconds` are those of one thread."""

    step: int
    seconds: float
    processor_seconds: float
    why: Literal["steps", "stop", "time"]


class Ended(End):
    """Scoring follows."""

    event: Literal["ended"]


class Scores(TypedDict):
    loss: float
    token_accuracy: float
    exact_match: float
    sentences: int


class Trained(End):
    """The model is usable; deferred snapshots may follow."""

    event: Literal["trained"]
    scores: dict[Literal["training", "held_out"], Scores | None]


class TrainedFile(Trained):
    """As the process writes it."""

    file: str


class Failed(TypedDict):
    """The last event of a stream that fails. A training leaves no model then."""

    event: Literal["error"]
    message: MessageJSON


LiveEvent = Started | Progress | CurrentTranslation | HeldOutLoss | SnapshotTaken | Ended | Failed
