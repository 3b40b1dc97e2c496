"""A published translator against `transformers`: a Marian model of the size of opus-mt-de-en, with random weights.

Everything runs in this process in float32, as in models.py; both sides have read one folder.
"""

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from tests.marian import loaded, marian_folder
from transformer import Translator
from transformer.inference.decoding import beam_search
from transformer.network.engine import DecodingEngine
from transformer.storage.marian import load_marian

from .models import NEVER, decoded, words
from .ratio import Ratio, in_turn, ratio

MARIAN = "Marian of `transformers`"
TOKENS = 32  # of the source and of the output
WIDTH = 4
PIECES = 58_101
SENTENCE, SAID = "Ich möchte ein Bier.", 8  # tokens of a first translation
LOADS = 7
SIZES: dict[str, Any] = {
    "d_model": 512,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
    "max_position_embeddings": 512,
    "init_std": 0.02,
}

# In a process of its own, as the next one.
FIRST = """
import json, sys
from pathlib import Path
from tests.benchmarks.translators import first_translations

print(json.dumps(first_translations(Path(sys.argv[1]))))
"""
# The growth of its memory by a model, over the bytes of the model's weights in float32.
GROWTH = """
import gc, sys
from pathlib import Path
from transformer import Translator
import sentencepiece

def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * {page}

Translator.load("toy", device="cpu").translate("ich möchte ein bier")
before = resident()
translator = Translator.load(Path(sys.argv[1]), device="cpu")
print(resident() - before, sum(weight.nbytes for weight in translator.checkpoint.model.parameters()))
"""


def decoding(folder: Path) -> Iterator[Ratio]:
    """Neither side ends before its last token."""
    engine, peer = DecodingEngine(Translator.load(folder, device="cpu").checkpoint.model), loaded(folder)
    peer.final_logits_bias[:, peer.config.eos_token_id] = -torch.inf
    peer.generation_config.forced_eos_token_id = None
    ids = words(PIECES - 1, 1, TOKENS)
    asked = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "max_new_tokens": TOKENS, "do_sample": False}
    maps = {"output_attentions": True, "return_dict_in_generate": True}

    def greedy() -> None:
        decoded(engine, ids + 2, TOKENS)

    def beam() -> None:
        assert len(beam_search(engine, ids + 2, 1, NEVER, TOKENS, WIDTH, 0.0).hypotheses) > TOKENS

    took = in_turn(greedy, lambda: peer.generate(**asked, **maps, num_beams=1), 15)
    yield ratio(f"greedy with all maps, {TOKENS} tokens from {TOKENS}, opus-mt", MARIAN, 0.55, *took)
    took = in_turn(beam, lambda: peer.generate(**asked, num_beams=WIDTH, length_penalty=0.0), 9)
    yield ratio(f"beam of {WIDTH}, {TOKENS} tokens from {TOKENS}, opus-mt", MARIAN, 0.60, *took)
    fastest = _ctranslate2(folder)
    took = in_turn(greedy, lambda: fastest(ids[0].tolist()), 15)
    yield ratio(f"greedy with all maps, {TOKENS} tokens from {TOKENS}, opus-mt", "CTranslate2 without maps", 1.0, *took)


def _ctranslate2(folder: Path) -> Callable[[list[int]], object]:
    """Greedy decoding of as many tokens by CTranslate2, in float32 and with as many threads as PyTorch has."""
    import ctranslate2

    pieces = json.loads((folder / "vocab.json").read_text())
    last = max(pieces, key=pieces.__getitem__)
    pieces[last], pieces["<pad>"] = pieces["<pad>"], pieces[last]  # which the published models have last
    with tempfile.TemporaryDirectory() as name:
        source = shutil.copytree(folder, Path(name) / "model")
        (source / "vocab.json").write_text(json.dumps(pieces))
        made = ctranslate2.converters.TransformersConverter(str(source)).convert(str(Path(name) / "converted"))
        threads = torch.get_num_threads()
        model = ctranslate2.Translator(made, inter_threads=1, intra_threads=threads, compute_type="float32")
    piece_of = {i: piece for piece, i in pieces.items()}

    def greedy(ids: list[int]) -> object:
        (found,) = model.translate_batch(
            [[piece_of[i] for i in ids]], beam_size=1, min_decoding_length=TOKENS, max_decoding_length=TOKENS
        )
        assert len(found.hypotheses[0]) == TOKENS
        return found

    return greedy


def first_translations(folder: Path) -> tuple[list[float], list[float]]:
    """ms of first translations and of reading the file, in turn.

    The files are in the system's cache, as after a download; a translation has all its maps and candidates.
    """
    weights = folder / "model.safetensors"
    weights.symlink_to(weights.rename(folder / f"{0:064}"))  # a digest, as in the Hub's cache

    def translated() -> None:
        translator = Translator(load_marian(folder, "cpu", mapped=True), "cached")  # as one of the Hub's cache
        word = translator.checkpoint.tgt_vocab.tokens[-1]
        assert len(translator.translate(SENTENCE, forced=(*[word] * (SAID - 1), "E")).output) == SAID

    return in_turn(translated, weights.read_bytes, LOADS)


def first_translation(folder: Path) -> Ratio:
    """In a process of its own: a file is read into memory that another benchmark has freed in an eighth of the time."""
    took = json.loads(_printed(FIRST, folder))
    return ratio(f"first translation of a cached model, {SAID} tokens, opus-mt", "reading its file", 1.3, *took)


def memory(folder: Path) -> Ratio:
    printed = _printed(GROWTH.format(page=os.sysconf("SC_PAGE_SIZE")), folder)
    grown, weights = (int(each) / 2**20 for each in printed.split())
    what = "memory of a loaded model, opus-mt"
    return ratio(what, "its weights in float32", 1.25, [grown] * 2, [weights] * 2, unit="MiB")


def _printed(code: str, folder: Path) -> str:
    """What a process prints that runs this."""
    command, own = [sys.executable, "-c", code, str(folder)], os.environ | {"HF_HOME": str(folder)}
    return subprocess.run(command, env=own, capture_output=True, text=True, check=True).stdout


def measure() -> Iterator[Ratio]:
    """Measure all rows, in about two minutes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        marian_folder(folder, pieces=PIECES, **SIZES)
        yield from decoding(folder)
        gc.collect()
        yield first_translation(folder)
        yield memory(folder)
