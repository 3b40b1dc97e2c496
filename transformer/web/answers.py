"""Every answer that crosses the wire, as types: without a run-time cost, and the source of the JavaScript's types."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import PlainValidator
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ..inference.attention_maps import Kind
from ..inference.interventions import AnyChange
from ..messages import MessageJSON as ErrorMessage

ChangeJSON = Annotated[dict[str, Any], PlainValidator(dict, json_schema_input_type=AnyChange)]


class Refusal(TypedDict):
    """The answer to every request of the page that cannot be met."""

    error: ErrorMessage


class Candidate(TypedDict):
    """A token that could come next."""

    token: str
    probability: float


class Step(Candidate):
    """One decoding step: the token that was output, and the likeliest ones."""

    candidates: list[Candidate]


class AttentionMaps(TypedDict):
    """All maps of one kind: L layers of H heads, from Q queries to K keys."""

    layers: int
    heads: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: list[list[bool]]  # [query][key]
    weights: str  # (L, H, Q, K), base64 of float32


class MapsByKind(TypedDict):
    """Every map of a run."""

    encoder: AttentionMaps
    decoder: AttentionMaps
    cross: AttentionMaps


class GoldLinks(TypedDict):
    """Numbers of source words, one list an output position."""

    sure: tuple[tuple[int, ...], ...]
    possible: tuple[tuple[int, ...], ...]


class Reference(TypedDict):
    """The corpus's own translation, whether the run's is the same, and then its gold alignment."""

    text: str
    same: bool
    aligned: bool
    held_out: str
    gold: GoldLinks | None
    error_rates: list[list[float]] | None  # [layer][head] of cross-attention


class TokenIds(TypedDict):
    """What both stacks read."""

    source: list[int]
    decoder_input: list[int]


class NetworkFacts(TypedDict):
    """The size and the kind of a network."""

    d_model: int
    heads: int
    layers: int
    d_ff: int
    positions: bool
    norm_first: bool
    final_norm: bool
    tied: bool
    source_words: int
    target_words: int


class HeadTable(TypedDict):
    """A row for each head, with the names of the columns."""

    columns: list[str]
    data: list[list[Any]]


class BesideStep(TypedDict):
    """What a modified run leaves of a step of the baseline: see analysis.compare."""

    kept: float | None
    same_input: bool


class Run(TypedDict):
    """One translation with everything that was recorded of it."""

    sentence: str
    checkpoint: str
    changes: list[ChangeJSON]
    complete: bool
    source: tuple[str, ...]
    decoder_input: tuple[str, ...]
    output: tuple[str, ...]
    steps: list[Step]
    ids: TokenIds
    model: NetworkFacts
    attention: MapsByKind
    heads: HeadTable
    reference: Reference | None
    beside: NotRequired[list[BesideStep]]


class ShownRun(TypedDict):
    """What an event is answered with. `baseline` is the same run without its changes; None where it has none."""

    run: Run | None
    baseline: Run | None
    error: ErrorMessage | None


class HeldOutScores(TypedDict):
    """The alignment error rate of each cross-attention head, [layer][head], over the held-out sentences."""

    sentences: int
    error_rates: list[list[float]]


class HeadAblation(TypedDict):
    """What one cross-attention head is worth: see analysis.head_ablation."""

    layer: int
    head: int
    weight: float
    query: int
    key: int
    probability: float
    text: str


class Heads(TypedDict):
    """What the cross-attention heads of a run are worth."""

    held_out: HeldOutScores | None
    silenced: list[HeadAblation]


Figure = dict[str, Any]  # of Plotly


class Encoding(TypedDict):
    """The positional encoding as figures; the page moves the two curves itself."""

    length: int
    d_model: int
    wavelengths: list[float]
    similarity: str  # (length, length), base64 of float32
    heatmap: Figure
    curve: Figure
    similar: Figure


class InputFigure(TypedDict):
    """Embedding + position = input."""

    tokens: tuple[str, ...]
    d_model: int
    figure: Figure


class FloatArray(TypedDict):
    """An array as base64 of float32."""

    shape: tuple[int, ...]
    data: str


class Sublayer(TypedDict):
    """Every number of one attention sublayer: see analysis.sublayer."""

    kind: Kind
    layer: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    norm_first: bool
    head_dim: int
    eps: float
    allowed: list[list[bool]]
    arrays: dict[str, FloatArray]


class ParameterRow(TypedDict):
    """One row of a matrix, base64 of float32, and its bias, if it has one."""

    weights: str
    bias: float | None


class StackVectors(TypedDict):
    """Every token's vector before the first layer and after each, (L + 1, tokens, d_model)."""

    encoder: FloatArray
    decoder: FloatArray


class Check(TypedDict):
    """A measurement of whether what is shown is true."""

    name: str
    error: float
    limit: float
    ok: bool


class Checks(TypedDict):
    """All of a run."""

    checks: list[Check]


class ShapeRow(TypedDict):
    """The shape of a tensor here, and in a network of the paper's size."""

    stage: str
    layers: int
    here: tuple[int, ...]
    paper: tuple[int, ...]


class NetworkSize(TypedDict):
    """As the paper calls it."""

    d_model: int
    n_heads: int
    d_ff: int
    layers: int


class Shapes(TypedDict):
    """The shape of every tensor."""

    rows: list[ShapeRow]
    facts: NetworkSize


class Download(TypedDict):
    """A file for the visitor."""

    name: str
    text: str


class TrainedOn(TypedDict):
    """What a visitor's own model has learned from."""

    pairs: int
    steps: int | None
    settings: dict[str, Any]


class Provenance(TypedDict):
    """What made a model, and what runs it here. A shipped one has a `command`, a visitor's own has `trained`."""

    checkpoint: str
    command: str | None
    seed: int | str | None
    trained: TrainedOn | None
    weights: int
    device: str
    versions: dict[str, str]


class Sweep(TypedDict):
    """The probability of reference translations, and what each head's loss costs of it, by kind, [layer][head]."""

    sentences: int
    unbroken: float
    reference: str | None
    drop: dict[Kind, list[list[float]]]


class Vocabulary(TypedDict):
    """Words that a model reads, and that it can output."""

    source: list[str]
    target: list[str]


class Branch(TypedDict):
    """A node of a beam search's tree."""

    token: str
    parent: int | None
    step: int
    probability: float
    log_probability: float
    score: float
    fate: Literal["kept", "finished", "dropped"]


class Hypothesis(TypedDict):
    """A sentence that a beam search chose from."""

    branch: int
    text: str
    log_probability: float
    probability: float
    score: float
    finished: bool


class GreedyText(TypedDict):
    """What greedy decoding outputs."""

    text: str
    complete: bool
    log_probability: float
    probability: float


class BeamSearch(TypedDict):
    """The whole tree of a beam search beside greedy decoding; `best` is the branch that its text ends on."""

    text: str
    width: int
    alpha: float
    branches: list[Branch]
    best: int
    hypotheses: list[Hypothesis]
    greedy: GreedyText


class ShownBeamSearch(BeamSearch):
    """The same without most of what was dropped, and how much that is at each step."""

    left_out: list[int]


class DrawnCandidate(Candidate):
    """Its probability in the model, and in what it was drawn from."""

    drawn: float


class DrawnStep(DrawnCandidate):
    """A drawn token, and how many tokens were `left` to draw from."""

    left: int
    candidates: list[DrawnCandidate]


class Sample(TypedDict):
    """A translation whose words were drawn."""

    text: str
    complete: bool
    temperature: float
    top_k: int
    top_p: float
    seed: int
    log_probability: float
    probability: float
    steps: list[DrawnStep]


class ForcedRow(TypedDict):
    """A step: what was read, what was output, and what the reference has there."""

    read: str
    said: str
    probability: float
    wanted: str | None


class RightCounts(TypedDict):
    """Rows that output what was wanted."""

    teacher: int
    free: int


class TeacherForcing(TypedDict):
    """Teacher forcing beside free running. `reference`: whether the corpus has a translation to force."""

    teacher: list[ForcedRow]
    free: list[ForcedRow]
    right: RightCounts
    of: int
    slip: int | None
    reference: bool


class SymptomMap(TypedDict):
    """A map of one side of a mistake; `weights` of its heads one after the other, row by row."""

    kind: Kind
    layer: int
    heads: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: list[list[bool]]
    weights: list[float]


class SymptomSide(TypedDict):
    """What was measured on one side of a mistake."""

    numbers: dict[str, float]
    text: str
    attention: SymptomMap | None


class Symptom(TypedDict):
    """The same thing done right and wrong."""

    sentence: str
    wanted: str
    head: int
    right: SymptomSide
    wrong: SymptomSide


class DecodingSymptom(Symptom):
    """A mistake of decoding, and the model that shows it: `elsewhere` where it is not the one that was asked about."""

    model: str
    elsewhere: bool


class BadRow(TypedDict):
    """A row that is no pair; 0 for the whole table."""

    row: int
    message: ErrorMessage


class Pairs(TypedDict):
    """Sentence pairs, and the rows that are none."""

    pairs: tuple[tuple[str, str], ...]
    bad: list[BadRow]
    header: bool


class PairsRefusal(Refusal):
    """There is not one pair."""

    bad: NotRequired[list[BadRow]]


class Problem(TypedDict):
    """Why a training cannot start; `field` is the setting to change, "" if it is no single one."""

    field: str
    message: ErrorMessage


class PairCounts(TypedDict):
    """How many pairs are learned from, and how many are held out."""

    training: int
    held_out: int


class ShownVocabularies(TypedDict):
    """The first words of both, and their sizes."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    source_size: int
    target_size: int


class PairAsIds(TypedDict):
    """The first pair as a network reads it."""

    source: list[str]
    source_ids: list[int]
    decoder_input: list[str]
    decoder_input_ids: list[int]
    target: list[str]
    target_ids: list[int]


class TrainingPlan(TypedDict):
    """What a training comes to before it starts: see live.plan.Plan."""

    problems: list[Problem]
    parameters: int | None
    bytes: int | None
    seconds: float | None
    pairs: PairCounts | None
    watch: str
    uniform: float | None
    vocabularies: ShownVocabularies | None
    example: PairAsIds | None


class Example(TypedDict):
    """A sentence worth a click: see data.Example."""

    name: str
    sentence: str
    watch: str


class Model(TypedDict):
    """What the page tells of a model before it runs; of a visitor's own also its name and its size."""

    checkpoint: str
    sentences: int
    examples: list[Example]
    words: Mapping[str, tuple[tuple[str, str], ...]]
    surprise: bool
    name: NotRequired[str]
    corpus: NotRequired[str]
    weights: NotRequired[int]
    layers: NotRequired[int]
    heads: NotRequired[int]
    d_model: NotRequired[int]


class MistakeCode(TypedDict):
    """What the page knows of a mistake before it is shown."""

    name: str
    kind: Literal["training", "decoding"]
    right: str
    wrong: str
