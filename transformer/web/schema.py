"""Every request that crosses the wire, and all that the page's address can hold: declared once, here.

Requests are pydantic models: they validate what anybody may have written. Their answers are the types that the
functions in api/ return. `PageSchema` is what the browser needs to know. tests/js/wire.py makes the types of all of it
that the JavaScript is checked against.
"""

from collections.abc import Sequence
from dataclasses import Field as DataclassField
from dataclasses import fields
from typing import Annotated, Any, Literal, NotRequired, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PlainValidator
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ..analysis.sublayer import PARTS as MATRICES
from ..inference.attention_maps import KINDS, Kind
from ..inference.interventions import NOTHING, AnyChange, Change, Index, Interventions, Stack
from ..inference.translator import MAX_BEAM_WIDTH, MAX_CHARACTERS
from ..live.form import TrainingForm
from ..mistakes import MISTAKES

MAX_SEED = 2**63 - 1
MAX_POSITIONS = 200  # of an encoding that a visitor may look at
MAX_VALUES = 4096  # of an array that an API client may request: about 30 KB
MAX_SESSION_ID = 64  # characters
MAX_PIECE = 100  # characters that a piece is searched by
MAX_OWN_MODELS = 100  # of a session, in one request
MAX_ADDRESS = 2048  # characters of the page's address
MAX_PLACE = 8192  # characters of a link's parameters
MAX_CHOICES, MAX_CHOICE = 130, 300  # of a question to a class: the words of a long sentence; characters of one
MAX_QUESTION = 1000  # characters of its text
Drawing = Literal["heatmap", "lines", "table", "all"]  # how Attention draws a map
Measure = Literal["weight", "contribution"]  # what it draws
WhyPanel = Literal["closed", "word", "contrast"]  # on Translate: what it explains

# ---- requests ----


class Request(BaseModel):
    """An untrusted request: types are strict, and unknown fields are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


class CheckpointRequest(Request):
    checkpoint: str


class RunRequest(CheckpointRequest):
    """About a run without changes."""

    sentence: str


Changes = Annotated[Interventions, PlainValidator(Interventions.parse, json_schema_input_type=list[AnyChange])]


class ChangedRunRequest(RunRequest):
    """About a run, with the changes that are made in it."""

    changes: Changes = NOTHING


class DownloadRequest(ChangedRunRequest):
    """A run as a file; by words, where its tokens are pieces of them."""

    words: bool = False


class NotebookRequest(DownloadRequest):
    """A run as a notebook, which explains the output of a step."""

    step: int = Field(0, ge=0)


class PageFileRequest(ChangedRunRequest):
    """A run as a file with its page: with the run without each head, and opened at a place, as a link of `page` has
    it."""

    ablations: bool = False
    place: str = Field("", max_length=MAX_PLACE)
    page: str = Field("", max_length=MAX_ADDRESS, pattern=r"^(https?://.*)?$")


class CandidatesRequest(ChangedRunRequest):
    """Tokens that could come next at a step of a run, with a text in them."""

    step: int = Field(ge=0)
    text: str = Field("", max_length=MAX_PIECE)


class WhyRequest(ChangedRunRequest):
    """Why a step outputs its token, and not the `other`; of words, where tokens are pieces of them."""

    step: int = Field(ge=0)
    other: str | None = Field(None, max_length=MAX_PIECE)
    words: bool = False


class TranslateRequest(ChangedRunRequest):
    """A run to show. Where the checkpoint cannot read the sentence: with `or_other_model` another shipped one answers
    that can, with `or_example` the checkpoint's first example is shown."""

    or_example: bool = False
    or_other_model: bool = False


class RefusedRequest(RunRequest):
    """A sentence that a checkpoint has refused; `own` are the keys of the visitor's other models."""

    own: list[str] = Field([], max_length=MAX_OWN_MODELS)


class SurpriseRequest(CheckpointRequest):
    """A held-out sentence of a checkpoint's corpus."""

    changes: Changes = NOTHING


class SublayerRequest(ChangedRunRequest):
    kind: Kind
    layer: int


class ValueRequest(SublayerRequest):
    """One word's value in a head, after W_O."""

    head: int
    key: int


class ParametersRequest(CheckpointRequest):
    """One row of a matrix of a layer, and its bias."""

    kind: Kind
    layer: int
    part: Literal[MATRICES]  # type: ignore[valid-type]
    row: int


class MapRequest(RunRequest):
    kind: Kind
    layer: int
    head: int


class ValuesRequest(Request):
    """The positional encoding as values, at most MAX_VALUES."""

    length: int = Field(ge=1)
    d_model: int = Field(ge=2, multiple_of=2)


class InputRequest(ChangedRunRequest):
    stack: Stack


class HeadsRequest(RunRequest):
    """Each head's contribution to a sentence, as it is computed: heads of all kinds, or of cross-attention with the
    ablated model's output."""

    what: Literal["sweep", "ablations"]


class SweepRequest(RunRequest):
    """Each head's contribution to one sentence, or to held-out ones."""

    on: Literal["sentence", "held_out"]


def setting(default: float | None, *, slider: tuple[float, float, float], **bounds: float) -> Any:
    """A field of a request that the page has a control for; its default is None where the server chooses. The slider
    is least, most and step of what the page offers and its address takes, the bounds what a request may ask for."""
    low, high, step = slider
    return Field(default, json_schema_extra={"min": low, "max": high, "step": step}, **bounds)  # type: ignore[call-overload]


class BeamRequest(RunRequest):
    """A beam search; `alpha` is of the length penalty."""

    width: int = setting(4, slider=(1, MAX_BEAM_WIDTH, 1), ge=1, le=MAX_BEAM_WIDTH)
    alpha: float = setting(0.6, slider=(0, 2, 0.1), ge=0, le=5)


class SampleRequest(RunRequest):
    """A sampled translation; without a `seed`, the first seed whose sample differs from greedy decoding."""

    temperature: float = setting(1.0, slider=(0.1, 3, 0.1), ge=0, le=100)
    top_k: int = setting(0, slider=(0, 999_999, 1), ge=0, le=1_000_000)
    top_p: float = setting(1.0, slider=(0.05, 1, 0.05), gt=0, le=1)
    seed: int | None = setting(None, slider=(0, 999_999_999, 1), ge=0, le=MAX_SEED)


class ForcedMistake(Request):
    """A word that the model is made to output at a step."""

    step: int = Field(ge=0)
    word: str


class ForcedRequest(RunRequest):
    """Teacher forcing beside free running."""

    mistake: ForcedMistake | None = None


class MistakeRequest(RunRequest):
    """A mistake of decoding, in a run."""

    name: Literal[tuple(name for name, each in MISTAKES.items() if each.kind == "decoding")]  # type: ignore[valid-type]


class AnyMistakeRequest(MistakeRequest):
    name: Literal[tuple(MISTAKES)]  # type: ignore[valid-type]


class RowsRequest(Request):
    """Sentence pairs as the table has them."""

    rows: list[Any]


class FileRequest(Request):
    """Sentence pairs as a file, in base64; `header`: whether its first row is one, None for a guess."""

    file: str
    header: bool | None


PairsRequest = RowsRequest | FileRequest


# Read by live.plan alone, which answers a form with all of its problems instead of refusing it.
AnyTrainingForm = Annotated[
    dict[str, Any],
    PlainValidator(lambda form: form if isinstance(form, dict) else {}, json_schema_input_type=TrainingForm),
]


class TrainingMistakeRequest(Request):
    name: Literal[tuple(name for name, each in MISTAKES.items() if each.kind == "training")]  # type: ignore[valid-type]


class StopRequest(Request):
    """The end of a training, by the name that its `run` event gave it."""

    run: str


class OpenClassRequest(Request):
    """A class, whose students open the page at an address like the teacher's own."""

    page: str = Field(max_length=MAX_ADDRESS, pattern=r"^https?://")


class ClassRequest(Request):
    code: str = Field(min_length=1, max_length=MAX_SESSION_ID)


class StudentRequest(ClassRequest):
    """A student enters a class, or comes back to it."""

    student: str = Field(min_length=1, max_length=MAX_SESSION_ID)


class TeacherRequest(ClassRequest):
    """The teacher of a class, or any other holder of the secret."""

    secret: str = Field(max_length=MAX_SESSION_ID)


class VoteRequest(StudentRequest):
    """A student's choice in a round of a question."""

    question: int
    round: int = Field(ge=0)
    choice: int = Field(ge=0)


class ShowRequest(TeacherRequest):
    """Where the teacher is: the parameters of a link."""

    do: Literal["show"]
    place: str = Field(max_length=MAX_PLACE, pattern=r"^\?")


class AskRequest(TeacherRequest):
    """A question to the class, and the seconds until it closes."""

    do: Literal["ask"]
    about: str = Field(max_length=MAX_QUESTION)
    choices: list[Annotated[str, Field(max_length=MAX_CHOICE)]] = Field(min_length=2, max_length=MAX_CHOICES)
    seconds: float | None = Field(None, ge=1, le=3600)


class RevealRequest(TeacherRequest):
    """The votes and the right choice are shown to all; a question may have no right choice."""

    do: Literal["reveal"]
    right: int | None = Field(None, ge=0)


class LeadRequest(TeacherRequest):
    """The votes end, a second round begins, or the class ends."""

    do: Literal["close", "vote_again", "end"]


GuestRequest = StudentRequest | TeacherRequest
AnyLeadRequest = Annotated[ShowRequest | AskRequest | RevealRequest | LeadRequest, Field(discriminator="do")]


# ---- what the browser receives ----


class NotebookPlace(TypedDict, total=False):
    """Where a page in a notebook is: see `Translator.show`."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[misc]

    tab: Literal["overview", "translate", "attention", "positions", "inside"]
    kind: Kind
    drawing: Drawing
    measure: Measure
    layer: Index
    head: Index
    query: Index
    step: Index
    mean: bool
    gold: bool
    words: bool
    why: WhyPanel


class ChangeField(TypedDict):
    """A field of a change, in the order of a link.

    `position` and `positions` count from 0, and in a link from 1; `number` is written as it is.
    """

    kind: Literal["choice", "position", "positions", "number", "switch", "word"]
    choices: NotRequired[list[str]]


class ChangeForm(TypedDict):
    """The fields of a change; `of_sentence`: whether it applies to this sentence alone."""

    fields: dict[str, ChangeField]
    of_sentence: bool


class Parameter(TypedDict):
    """One parameter of the page's address, and the state that it holds.

    Its kind is "choice" of `choices`; "position", from 0 in the state and from 1 in the address; "number" from `min` to
    `max` by `step`; "switch", yes or no; or one that state/address.ts reads by itself.
    """

    kind: Literal[
        "choice", "position", "number", "switch", "checkpoint", "sentence", "changes", "language", "stops", "mistake"
    ]
    state: NotRequired[str]  # its name there
    default: NotRequired[str | float | bool]
    choices: NotRequired[list[str]]
    min: NotRequired[float]
    max: NotRequired[float]
    step: NotRequired[float]
    always: NotRequired[bool]  # it is in every address; others only where they differ from their default
    part: NotRequired[str]  # only where this part of Break it is open
    strategy: NotRequired[str]  # the decoding strategy that it sets
    of_run: NotRequired[bool]  # it means nothing for another run


class PageSchema(TypedDict):
    """The declarations of this module that the browser needs."""

    languages: list[str]  # one per catalogue, English first
    exercises: dict[str, tuple[str, ...]]  # mistakes, and those whose causes are offered beside each
    interventions: dict[str, ChangeForm]
    parameters: dict[str, Parameter]  # of the address, in their order there
    max_sentence: int  # characters
    max_piece: int  # characters that a piece is searched by
    streams: list[str]  # questions whose answers are streams
    assets: str  # the address of that folder
    plotly: str  # that of its JavaScript
    classes: bool  # whether a class can be opened
    max_choices: int  # of a question to a class
    max_choice: int  # characters of one
    max_question: int  # characters of a question's text


STRATEGIES: dict[str, type[Request]] = {"beam": BeamRequest, "sampling": SampleRequest, "forced": ForcedRequest}


def settings() -> dict[str, Parameter]:
    """Every decoding strategy's settings: the fields of its request that have a slider."""
    found: dict[str, Parameter] = {}
    for strategy, request in STRATEGIES.items():
        for name, each in request.model_fields.items():
            if not isinstance(each.json_schema_extra, dict):
                continue
            bounds = cast(dict[str, float], each.json_schema_extra)
            found[name] = Parameter(kind="number", state=name, part="decoding", strategy=strategy, **bounds)  # type: ignore[typeddict-item]
            if each.default is not None:
                found[name]["default"] = each.default
    return found


def parameters(tabs: Sequence[str], parts: Sequence[str]) -> dict[str, Parameter]:
    """Every parameter of the page's address."""

    def choice(name: str, choices: Sequence[str]) -> Parameter:
        return {"kind": "choice", "state": name, "choices": list(choices), "default": choices[0], "always": True}

    def position(name: str, of_run: bool = True) -> Parameter:
        return {"kind": "position", "state": name, "default": 0, "always": True, "of_run": of_run}

    return {
        "checkpoint": {"kind": "checkpoint"},
        "sentence": {"kind": "sentence", "max": MAX_CHARACTERS},
        "changes": {"kind": "changes"},
        "tab": choice("tab", tabs),
        "part": choice("part", parts),
        "exercise": choice("exercise", list(MISTAKES)),
        "kind": {**choice("kind", KINDS), "default": "cross"},
        "drawing": choice("drawing", get_args(Drawing)),
        "measure": {**choice("measure", get_args(Measure)), "always": False},
        **{name: position(name) for name in ("layer", "head", "query", "step")},
        "stop": position("stop", of_run=False),
        "stops": {"kind": "stops", "state": "stops"},
        "from": {"kind": "position", "state": "returnStop"},
        "mean": {"kind": "switch", "state": "averaged", "default": True},
        "gold": {"kind": "switch", "state": "gold", "default": False},
        "words": {"kind": "switch", "state": "inWords", "default": False},
        "why": {**choice("why", get_args(WhyPanel)), "always": False},
        "language": {"kind": "language"},
        "present": {"kind": "switch", "default": False},
        "strategy": {**choice("strategy", list(STRATEGIES)), "always": False, "part": "decoding"},
        **settings(),
        "mistake": {"kind": "mistake", "state": "forcedMistake", "part": "decoding", "of_run": True},
    }


def change_form(change: type[Change]) -> ChangeForm:
    """Read off the fields of an intervention."""

    def field_of(each: DataclassField[Any]) -> ChangeField:
        kind: Any = get_args(each.type)[0] if get_origin(each.type) is Annotated else each.type
        if get_origin(kind) is Literal:
            return {"kind": "choice", "choices": list(get_args(kind))}
        if kind is int:
            return {"kind": "position" if each.metadata.get("counted", True) else "number"}
        return {"kind": FIELD_KINDS[kind]}

    return {
        "fields": {each.name: field_of(each) for each in fields(change) if each.name != "do"},
        "of_sentence": change.of_sentence,
    }


FIELD_KINDS: dict[Any, Literal["positions", "number", "switch", "word"]] = {
    tuple[Index, ...]: "positions",
    float: "number",
    bool: "switch",
    str: "word",
}
