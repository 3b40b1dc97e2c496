"""Small models as checkpoints and as portable files, and any JSON."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from hypothesis import strategies as st

from transformer import Transformer, Translator, Vocabulary
from transformer.data import uploaded_corpus
from transformer.data.vocabulary import END, PAD, START
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.portable import PortableModel, save_portable

from .networks import SIZES, network

TRAINING = {"steps": 3, "learning_rate": 0.001, "schedule": "constant", "seed": 42, "held_out_pairs": 0}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def small(word: str = "wort", **fields: Any) -> Checkpoint:
    """A random network with words."""
    model = network(**fields)
    src_vocab = Vocabulary(("P", *(f"{word}{i}" for i in range(10))), folds=True)
    tgt_vocab = Vocabulary(("P", "S", "E", *(f"{word}{i}" for i in range(model.config.tgt_vocab_size - 3))), folds=True)
    return Checkpoint(model, src_vocab, tgt_vocab, source_length=5, output_limit=7)


def of_words(count: int, sharpness: float, **sizes: int) -> Checkpoint:
    """A random network with this number of words on both sides, whose attention can be as sharp as a trained one's."""
    source = Vocabulary((PAD, *(f"wort{n}" for n in range(count))), folds=True)
    target = Vocabulary((PAD, START, END, *(f"word{n}" for n in range(count))), folds=True)
    words = {"src_vocab_size": len(source), "tgt_vocab_size": len(target), "max_len": count + 1, "d_model": 64}
    model = network(**words | sizes)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("q_proj.weight"):
                weight.mul_(sharpness)
    return Checkpoint(model, source, target, source_length=count, output_limit=count)


def packed(pad_source: bool = True, **fields: Any) -> PortableModel:
    """A small network with everything that a file holds."""
    return PortableModel(
        checkpoint=Checkpoint(**(vars(small(**fields)) | {"pad_source": pad_source})),
        name="Mein Modell",
        corpus="own",
        pairs=(("wort1 wort2", "wort2 wort1"), ("übung !", "“quoted” .")),
        training=TRAINING,
        card="# Mein Modell\n\nSays “nothing”.\n",
    )


def of_pairs(*pairs: tuple[str, str]) -> PortableModel:
    """A model of a visitor's own pairs, with their vocabularies."""
    corpus = uploaded_corpus(pairs)
    sizes = {"src_vocab_size": len(corpus.src_vocab), "tgt_vocab_size": len(corpus.tgt_vocab)}
    model = network(d_model=2, n_heads=1, num_encoder_layers=1, num_decoder_layers=1, max_len=200, **sizes)
    checkpoint = Checkpoint(model, corpus.src_vocab, corpus.tgt_vocab, corpus.source_length, output_limit=91)
    return PortableModel(checkpoint, "big", "own", corpus.pairs, {}, "")


def as_file(model: PortableModel) -> bytes:
    """The file that a visitor sends."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        save_portable(model, file)
        return file.read_bytes()


def babbling(model: Transformer) -> Translator:
    """An untrained network with a vocabulary: its output is long nonsense, its attention nearly uniform."""
    checkpoint = Checkpoint(
        model,
        src_vocab=Vocabulary(("P", *(f"wort{i}" for i in range(1, SIZES["src_vocab_size"]))), folds=True),
        tgt_vocab=Vocabulary(("P", "S", "E", *(f"word{i}" for i in range(3, model.config.tgt_vocab_size))), folds=True),
        source_length=6,
        output_limit=8,
    )
    return Translator(checkpoint, "babbler")
