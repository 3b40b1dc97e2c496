"""What tests/record.py asks, as data. When a rebuild renames something private, only the first three tables change."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

import transformer as library
from transformer import Transformer, TransformerConfig, Translator, Vocabulary

EVENTS = {"ask": "ask", "example": "example", "choose": "choose"}  # our name -> event of the page; surprise is random
FUNCTIONS: dict[str, tuple[str, dict[str, Any]]] = {  # our name -> function of the page, what it takes beside the run
    "checks": ("checks", {}),
    "heads": ("heads", {}),
    "sweep": ("sweep", {"on": "sentence"}),
    "sweep held out": ("sweep", {"on": "held_out"}),
    "words": ("vocabulary", {}),
    "beam": ("beam", {"width": 4, "alpha": 0.6}),
    "beam 1": ("beam", {"width": 1, "alpha": 0}),
    "beam 5": ("beam", {"width": 5, "alpha": 1.3}),
    "sample": ("sampled", {"temperature": 1.7, "top_k": 12, "top_p": 0.85, "seed": 41}),
    "sample 1": ("sampled", {"temperature": 1, "top_k": 0, "top_p": 1, "seed": 0}),
    "forced": ("forced", {"mistake": None}),
    "slip": ("forced", {"mistake": {"step": 1, "word": "a"}}),
    "inside encoder": ("inside", {"kind": "encoder", "layer": 0}),
    "inside decoder": ("inside", {"kind": "decoder", "layer": 1}),
    "inside cross": ("inside", {"kind": "cross", "layer": 1}),
    "row": ("parameters", {"kind": "cross", "layer": 1, "part": "q_proj", "row": 5}),
    "stack": ("stack", {}),
    "shapes": ("shapes", {}),
    "input encoder": ("input_sum", {"stack": "encoder"}),
    "input decoder": ("input_sum", {"stack": "decoder"}),
    "positions": ("positional_encoding", {"length": 30, "d_model": 64}),
    "csv": ("weights_csv", {}),
    "notebook": ("notebook", {}),
    "provenance": ("provenance", {}),
    "rows": ("pairs", {"rows": [["ein Bier", "a beer"], ["", "x"], ["zwei", "two"], ["zwei", "two"]]}),
    "file": ("pairs", {"file": "ZWluIEJpZXIJYSBiZWVyCnp3ZWkgQmllcgl0d28gYmVlcnMK", "header": None}),
}
FUNCTIONS |= {
    f"bug {name}": ("mistake", {"name": name})
    for name in (
        "padding_rows", "cross_padding", "no_eval", "never_stops", "unscaled", "axes_swapped", "after_dropout",
        "one_head", "positions_from_ids", "norm_in_forward", "causal_mask",
    )
}  # fmt: skip
SEEN = {  # what a link restores -> where the page shows it
    "tab": "() => document.querySelector('[role=tab][aria-selected=true]')?.dataset.tabId",
    "sentence": "() => document.querySelector('#sentence input, #sentence textarea')?.value",
    "translation": "() => [...document.querySelectorAll('#translation button')].map((each) => each.textContent)",
    "step": "() => document.querySelector('#step')?.value",
    "changes": "() => document.querySelectorAll('.changed li button.change').length",
    "language": "() => document.documentElement.lang",
    "message": "() => document.querySelector('#top .message:not([hidden])')?.textContent ?? ''",
}
CHANGED = ("checks", "inside cross", "stack", "input encoder", "input decoder", "csv", "shapes")  # of changed runs
TABS = ("overview", "translate", "attention", "positions", "inside", "train", "break", "lesson")

KINDS: tuple[Any, ...] = ("encoder", "decoder", "cross")
BEER, COLA, FLAGSHIP = "Ich möchte ein Bier", "ich mochte ein cola", "Heute habe ich ein kaltes Bier getrunken"
PLAIN = [("toy", each) for each in (BEER, COLA, "  ein BIER, möchte ich!  ", "Cola Bier ein ich mochte")] + [
    ("classroom", each)
    for each in (FLAGSHIP, "Den Hund sieht der Lehrer", "Das Kind schläft", BEER, "Bier der sieht nicht nicht")
]


def silence(layer: int = 1, head: int = 2, kind: str = "cross") -> dict[str, Any]:
    return {"do": "silence", "kind": kind, "layer": layer, "head": head}


CHANGES: dict[str, list[dict[str, Any]]] = {
    "silence": [silence()],
    "silence three": [silence(0, 0, "encoder"), silence(1, 3, "decoder"), silence(0, 1)],
    "isolate": [{"do": "isolate", "kind": "encoder", "layer": 0, "heads": [1, 3]}],
    "no mask encoder": [{"do": "remove_mask", "kind": "encoder"}],
    "no mask decoder": [{"do": "remove_mask", "kind": "decoder"}],
    "no mask cross": [{"do": "remove_mask", "kind": "cross"}],
    "close": [{"do": "edit_mask", "kind": "cross", "query": 3, "key": 3, "allowed": False}],
    "open": [{"do": "edit_mask", "kind": "decoder", "query": 1, "key": 3, "allowed": True}],
    "no positions": [{"do": "positions", "stack": "encoder", "how": "removed"}],
    "shuffled": [{"do": "positions", "stack": "decoder", "how": "shuffled", "seed": 3}],
    "hot": [{"do": "temperature", "kind": "all", "temperature": 5}],
    "cold": [{"do": "temperature", "kind": "cross", "temperature": 0.5}],
    "no residual": [{"do": "drop_residual", "stack": "decoder", "layer": 1, "sublayer": 2}],
    "swap": [{"do": "swap_word", "position": 3, "word": "Cola"}],
    "force": [{"do": "force_word", "step": 3, "word": "coke"}],
}
CHANGES["all at once"] = [CHANGES[name][0] for name in ("silence", "no positions", "hot", "force", "close", "swap")]
RUNS = [(*run, name, list_) for run in (PLAIN[0], PLAIN[4]) for name, list_ in CHANGES.items()]
BAD_CHANGES: list[Any] = [
    "silence", [5], [{"do": "nope"}], [{"do": "silence"}], [silence(layer=99)], [silence(head=-1)],
    [{**silence(), "x": 1}], [silence(layer=True)],
    [{"do": "force_word", "step": 3, "word": "xyz"}], [silence(i % 6, i) for i in range(501)],
    [{"do": "swap_word", "position": i, "word": "cola"} for i in (0, 99)], [{"do": "temperature", "temperature": 0}],
    [{"do": "force_word", "step": 1, "word": word} for word in ("a", "beer")], {"do": "silence"}, None,
]  # fmt: skip
BAD_SENTENCES: list[Any] = [
    "ich trinke Wasser", "", "ein " * 100, "x" * 600, "ich\0möchte", "<img src=x onerror=alert(1)>", 5, None, ["ich"],
]  # fmt: skip
BAD_CHECKPOINTS: list[Any] = ["nope", "../toy", "", "__proto__", 7, None, "own:mine"]
HOSTILE = (
    [{"checkpoint": "toy", "sentence": each, "changes": []} for each in BAD_SENTENCES]
    + [{"checkpoint": each, "sentence": BEER, "changes": []} for each in BAD_CHECKPOINTS]
    + [{"checkpoint": "toy", "sentence": BEER, "changes": each} for each in BAD_CHANGES]
)
MISTAKES = (
    "causal_mask", "rank_collapse", "output_in_forward", "teacher_forced_test", "padding_rows", "cross_padding",
    "no_eval", "never_stops", "unscaled", "axes_swapped", "after_dropout", "one_head", "positions_from_ids",
    "norm_in_forward",
)  # fmt: skip
ACTIONS: list[tuple[str, Any]] = [  # of programs: documented, so compared path by path
    *(("translate", [sentence, checkpoint]) for checkpoint, sentence in PLAIN),
    *(("translate", [each, "toy"]) for each in BAD_SENTENCES),
    *(("translate", [BEER, each]) for each in BAD_CHECKPOINTS),
    ("translate", [BEER]), ("translate", []), ("translate", "x"), ("translate", [BEER, "toy", 1]),
    *(("attention", [BEER, kind, 1, 3, name]) for kind in KINDS for name in ("toy", "classroom")),
    *(("attention", [BEER, *each]) for each in
      (["cross", 6, 0, "toy"], ["cross", 0, -1, "toy"], ["x", 0, 0, "toy"], ["cross", "1", 0, "toy"])),
    *(("positions", each) for each in ([10, 64], [1, 2], [64, 64], [65, 64], [0, 64], [5, 7], ["a", 64], [True, 2])),
    *(("what_if", [sentence, list_, checkpoint]) for checkpoint, sentence, _, list_ in RUNS),
    *(("what_if", [BEER, each, "toy"]) for each in BAD_CHANGES), ("what_if", [COLA, [], "toy"]),
    *(("which_heads_matter", each) for each in
      ([BEER, "toy"], ["", "toy"], ["", "classroom"], [FLAGSHIP, "classroom"], ["nein", "toy"], [1, 2])),
    *(("spot_the_bug", [name, BEER, "toy"]) for name in MISTAKES),
    *(("spot_the_bug", each) for each in
      (["no_eval", FLAGSHIP, "classroom"], ["nope", BEER, "toy"], ["no_eval", "x", "toy"])),
    *(("beam_search", [sentence, *how, name]) for name, sentence in PLAIN for how in ((4, 0.6), (2, 0))),
    *(("beam_search", [BEER, *each, "toy"]) for each in ([0, 1], [6, 1], [4, -1], [4, 9], ["4", 1], [4, None])),
    *(("sample", [sentence, 2.0, top_k, 0.9, 7, name]) for name, sentence in PLAIN for top_k in (0, 3)),
    *(("sample", [BEER, *each, "toy"]) for each in
      ([0, 0, 1, 0], [-1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 1, -1], [1, 0.5, 1, 0])),
    *(("teacher_forcing", [sentence, name, None, ""]) for name, sentence in PLAIN),
    *(("teacher_forcing", [BEER, "toy", *each]) for each in ([3, "coke"], [99, "coke"], [1, "xyz"], ["1", "a"])),
]  # fmt: skip

SMALL = {"d_model": 16, "n_heads": 2, "layers": 1, "d_ff": 32, "dropout": 0.0, "positional_encoding": True,
         "norm_first": False, "tie_weights": False}  # fmt: skip
STEPS = {"steps": 5, "batch_size": 8, "schedule": "constant", "learning_rate": 0.01, "warmup_steps": 10,
         "label_smoothing": 0.0, "seed": 3}  # fmt: skip
TRAINING: dict[str, Any] = {  # what the tab Train asks
    "name": "mine", "corpus": "own", "pairs": [["ein Bier", "a beer"], ["zwei Bier", "two beers"]], "watch": "",
    "visit": "record", "model": SMALL, "training": STEPS, "held_out": 0.0,
}  # fmt: skip
PLANS: list[Any] = [
    TRAINING, TRAINING | {"corpus": "toy", "watch": BEER}, TRAINING | {"corpus": "classroom"},
    TRAINING | {"corpus": "x"}, TRAINING | {"model": SMALL | {"d_model": 1024, "layers": 12, "d_ff": 8192}},
    TRAINING | {"name": ""}, TRAINING | {"pairs": []}, TRAINING | {"held_out": 2}, TRAINING | {"watch": "nein"},
    TRAINING | {"model": SMALL | {"d_model": 15}}, TRAINING | {"model": SMALL | {"n_heads": 0}},
    TRAINING | {"training": STEPS | {"steps": 0, "batch_size": "x"}},
    TRAINING | {"training": STEPS | {"learning_rate": 5, "schedule": "none"}}, {}, [], None,
]  # fmt: skip
FUNCTIONS |= {f"plan {i}": ("plan", each) for i, each in enumerate(PLANS) if isinstance(each, dict)}
REQUESTS: list[tuple[str, str, Any]] = [  # beside Gradio's own addresses
    ("GET", "health", None), ("GET", "models/nobody", None), ("DELETE", "models/nobody", None), ("GET", "models", None),
    ("POST", "models", b"nothing"), ("POST", "models?visit=record", b"nothing"), ("POST", "train/stop", {"run": "x"}),
    ("POST", "mistake", {}), ("POST", "mistake", {"name": "no_eval", "visit": "record"}), ("GET", "train", None),
    *(("POST", "train", each) for each in PLANS[3:]), ("POST", "train", b"{"), ("POST", "train", b"x" * 300_000),
    ("POST", "train", {**TRAINING, "visit": ""}), ("POST", "gradio_api/run/translate", b"{"), ("POST", "nowhere", {}),
    ("POST", "gradio_api/run/nothing", {"data": []}), ("POST", "gradio_api/mcp/", {}), ("GET", "health/", None),
    ("POST", "gradio_api/run/translate", {"data": ["x" * 300_000, "toy"]}), ("POST", "gradio_api/upload", b"x"),
]  # fmt: skip

LINKS = [
    "",
    # README
    "?checkpoint=classroom&sentence=Den+Hund+sieht+der+Lehrer&tab=lesson&stop=12&layer=2&head=3&step=5&language=en",
    "?tab=break&part=whatif&changes=silence.cross.2.6*remove_mask.decoder*force_word.4.coke",
    "?tab=break&part=bugs&exercise=causal_mask",
    "?tab=break&part=roads&checkpoint=classroom&width=5&alpha=1",
    # every other parameter
    "?tab=translate&mean=no&layer=6&head=8&step=1",
    "?sentence=ein+Cola&tab=attention&kind=encoder&layer=5&head=3&drawing=lines&query=3",
    "?tab=attention&kind=decoder&layer=4&head=7&drawing=table&mean=yes",
    "?checkpoint=classroom&tab=attention&gold=yes&kind=cross&drawing=heatmap",
    "?checkpoint=toy&tab=positions&step=3&gold=no",
    "?checkpoint=classroom&sentence=Das+Kind+schl%C3%A4ft&tab=inside&kind=decoder&layer=2&head=4&query=3",
    "?tab=train&language=zh-Hans",
    "?tab=lesson&stop=3&present=yes",
    "?tab=lesson&stop=14&language=zh-Hant",
    "?tab=break&part=bugs&exercise=rank_collapse&step=2",
    "?tab=break&part=bugs&exercise=one_head&checkpoint=classroom",
    "?tab=break&part=roads&road=beam&width=1&alpha=0",
    "?tab=break&part=roads&road=sampling&temperature=1.7&top_k=12&top_p=0.85&seed=41",
    "?tab=break&part=roads&road=forced&slip=4.coke",
    "?part=roads&road=forced&checkpoint=classroom&slip=1.i&width=2&seed=7",
    # every change
    "?changes=silence.encoder.1.1*silence.decoder.6.8&tab=attention&kind=encoder",
    "?tab=break&part=whatif&changes=isolate.encoder.1.2-4",
    "?tab=break&changes=remove_mask.cross*remove_mask.encoder",
    "?tab=break&changes=edit_mask.cross.3.4.closed*edit_mask.decoder.2.4.open&sentence=Ich+m%C3%B6chte+ein+Cola",
    "?tab=break&changes=positions.encoder.removed.0",
    "?tab=break&changes=positions.decoder.shuffled.3&checkpoint=classroom",
    "?tab=lesson&stop=5&changes=temperature.all.5*temperature.cross.0.5",
    "?tab=inside&changes=drop_residual.decoder.6.2*drop_residual.encoder.1.1",
    "?tab=break&changes=swap_word.4.cola",
    "?tab=break&changes=force_word.2..",
    "?tab=break&changes=force_word.40.beer&checkpoint=classroom",
    # what cannot be
    "?layer=99&head=abc&step=1e9&tab=nope&kind=x&drawing=__proto__&gold=1&mean=true&present=maybe&stop=3",
    "?head=9&step=7&stop=15&query=9999&tab=attention&drawing=lines&layer=3",
    "?tab=break&part=roads&road=__proto__&width=6&alpha=2.1&temperature=1e1&top_k=-1&top_p=0&seed=9999999999&slip=1.nobody",
    "?checkpoint=../../etc&tab=lesson&stop=3&layer=2",
    "?checkpoint=own:nobody&tab=attention",
    "?changes=silence.cross.1.1*edit_mask.cross.1.1.constructor&tab=break&head=3",
    "?changes=silence.cross.9.1&tab=attention&head=3",
    "?tab=break&changes=force_word.1.nonsense*silence.cross.1.1",
    "?sentence=ich+trinke+Wasser&tab=lesson&stop=4",
    f"?checkpoint=classroom&sentence={'x' * 600}&tab=inside",
    "?language=xx&head=3",
    "?step=%zz&tab=attention&sentence=",
]  # fmt: skip

SETTINGS = {  # every variable of the README, none at its default
    "TRANSFORMER_AT_ONCE": "2", "TRANSFORMER_LINE": "7", "TRANSFORMER_DEVICE": "cpu", "TRANSFORMER_LOG": "json",
    "TRANSFORMER_MCP": "1", "TRANSFORMER_HOME": ".", "TRANSFORMER_TRAIN_SECONDS": "127",
    "TRANSFORMER_TRAIN_PARAMETERS": "50000017", "TRANSFORMER_TRAIN_MEMORY": "1511", "TRANSFORMER_TRAIN_PAIRS": "2003",
    "TRANSFORMER_TRAIN_TOKENS": "60013", "TRANSFORMER_TRAIN_AT_ONCE": "3", "TRANSFORMER_TRAIN_WAITING": "31",
    "TRANSFORMER_TRAIN_MODELS": "5", "TRANSFORMER_TRAIN_MEGABYTES": "1009", "TRANSFORMER_TRAIN_MINUTES": "61",
    "OMP_NUM_THREADS": "2", "GRADIO_ANALYTICS_ENABLED": "False", "GRADIO_ANALYTICS_CACHE_FREQUENCY": "1009",
}  # fmt: skip
NONSENSE = [
    ("TRANSFORMER_AT_ONCE", "0"), ("TRANSFORMER_LINE", "many"), ("TRANSFORMER_LOG", "xml"),
    ("TRANSFORMER_DEVICE", "quantum"), ("TRANSFORMER_DEVICE", "meta"), ("TRANSFORMER_TRAIN_SECONDS", "0"),
    ("TRANSFORMER_TRAIN_PAIRS", "some"), ("TRANSFORMER_TRAIN_MINUTES", "-1"),
]  # fmt: skip


def _seen(sentence: str, name: str, **how: Any) -> Callable[[], Any]:
    """Each part by itself, so that a name that is gone hides no other."""

    def run() -> Any:
        run = Translator.load(name, device="cpu").translate(sentence, **how)
        maps = [each for kind in KINDS for each in run.attention.of(kind)]
        return {
            "words": [run.sentence, run.text, run.source, run.decoder_input, run.output, run.checkpoint],
            "facts": lambda: [run.complete, run.device],
            "steps": lambda: [[step.token, step.probability] for step in run.steps],
            "candidates": lambda: [[c.token, c.probability] for step in run.steps for c in step.candidates[:5]],
            "maps": [[m.kind, m.layer, m.query_tokens, m.key_tokens, m.weights, m.allowed] for m in maps],
            "entropy": lambda: [m.entropy() for m in maps],
            "distance": lambda: [m.distance() for m in maps],
            "from uniform": lambda: [m.from_uniform() for m in maps],
            "source input": lambda: [getattr(run.source_input, each) for each in ("embedding", "positions", "input")],
            "target input": lambda: [getattr(run.target_input, each) for each in ("embedding", "positions", "input")],
            "table": lambda: [list(run.table().columns), run.table()["weight"].to_numpy()],
            "heads": lambda: [list(run.heads().columns), run.heads()[["entropy", "distance"]].to_numpy()],
        }

    return run


def _model(**how: Any) -> Any:
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(**{"src_vocab_size": 50, "tgt_vocab_size": 60, "d_model": 32} | how)).eval()
    source, target = torch.arange(1, 31).reshape(3, 10), torch.arange(1, 37).reshape(3, 12)
    source[1, 7:] = 0
    with torch.no_grad():
        out = model(source, target)
        bare = model(source, target, need_weights=False)
        steps = library.greedy_decode(model, source[:1], 1, 2, 6)
    maps = [each for kind in KINDS for each in getattr(out.attention, kind)]
    return [out.logits, bare.logits, bare.attention is None, maps, sorted(model.state_dict()),
            [[step.token, step.probability] for step in steps],
            library.greedy_batch(model, source, 1, 2, 6)]  # fmt: skip


def _probed() -> Any:
    recorder = library.Recorder()
    Translator.load("toy", device="cpu").translate(BEER, probe=recorder)
    return {name: [value.float() for value in values] for name, values in recorder.values.items()}


def _deaf() -> Any:
    def deaf(name: str, value: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(value) if name.endswith("cross_attention.output") else value

    return Translator.load("toy", device="cpu").translate("ich möchte ein Cola", probe=deaf).text


def _saved() -> Any:
    checkpoint = Translator.load("toy", device="cpu").checkpoint
    with TemporaryDirectory() as folder:
        library.save_checkpoint(checkpoint, Path(folder) / "x", "a card")
        files = sorted(each.name for each in (Path(folder) / "x").iterdir())
        again, run = library.load_checkpoint(Path(folder) / "x"), Translator.load(Path(folder) / "x").translate(BEER)
        return [files, again.src_vocab.tokens, again.output_limit, run.text, run.steps[0].probability]


def _beam(name: str, sentence: str) -> Any:
    tree = Translator.load(name, device="cpu").beam(sentence, width=4, alpha=0.6)
    return [tree.text, tree.best, [[b.token, b.parent, b.step, b.probability, b.score, b.fate] for b in tree.branches]]


def _vocabulary(text: str) -> Callable[[], Any]:
    return lambda: Vocabulary(("P", "ich", "strasse", "bier", "中"), folds=True).encode(text)


PYTHON: dict[str, Callable[[], Any]] = {
    **{f"translate {name} {sentence}": _seen(sentence, name) for name, sentence in PLAIN},
    **{f"refuse {each!r}"[:60]: _seen(each, "toy") for each in BAD_SENTENCES},
    **{f"load {each!r}": _seen(BEER, each) for each in ("nope", "../toy", "")},
    "forced": _seen("Den Hund sieht der Lehrer", "classroom", forced=("the", "cat")),
    "forced wrong": _seen(BEER, "toy", forced=("xyz",)),
    "forced long": _seen(BEER, "toy", forced=("a",) * 99),
    **{f"model {how}": lambda how=how: _model(**how) for how in (  # type: ignore[misc]
        {}, {"norm_first": True, "final_norm": "both"}, {"positional_encoding": False}, {"dropout": 0.5},
        {"n_heads": 4, "d_ff": 64, "num_encoder_layers": 1, "num_decoder_layers": 2}, {"n_heads": 5}, {"d_model": 0},
        {"dropout": 2}, {"tie_weights": True}, {"tie_weights": True, "src_vocab_size": 60}, {"d_ff": "x"})},
    "probe": _probed, "deaf": _deaf, "saved": _saved, "beam toy": lambda: _beam("toy", BEER),
    "beam classroom": lambda: _beam("classroom", FLAGSHIP), "beam wrong": lambda: _beam("toy", "nein"),
    **{f"vocabulary {text!r}": _vocabulary(text) for text in ("Ich Straße, BIER!", "中中 ich", "", "x", "ich\0")},
    "vocabulary wrong": lambda: Vocabulary(("ich",)), "vocabulary twice": lambda: Vocabulary(("P", "a", "a")),
    "decode": lambda: Vocabulary(("P", "S", "E", "a", "b")).decode([1, 3, 4, 2, 3]),
    "positions": lambda: library.sinusoidal_positions(20, 16), "odd": lambda: library.sinusoidal_positions(3, 5),
    "device": lambda: str(library.pick_device("cpu")), "no device": lambda: library.pick_device("quantum"),
    "names": lambda: library.__all__, "no checkpoint": lambda: library.load_checkpoint("/nowhere"),
}  # fmt: skip
