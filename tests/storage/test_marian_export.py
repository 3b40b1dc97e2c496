"""What is saved as a Marian model gives `transformers` the same numbers, and this project when it is loaded again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer import Transformer, TransformerConfig, Translator, Vocabulary
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.marian_export import save_marian

from ..inference.test_translator import assert_close
from ..marian import SENTENCES, loaded, marian_folder, tokenizer

pytestmark = pytest.mark.slow
NETWORKS: dict[str, dict[str, Any]] = {
    "no biases": {"bias": False, "qkv_bias": False, "attention_dropout": False},
    "depths": {"num_encoder_layers": 1, "num_decoder_layers": 3, "activation": "gelu", "scale_embeddings": False},
    "odd width": {"d_model": 15, "n_heads": 3, "activation": "silu"},
    "halves": {"sinusoid": "halves", "tie_weights": True},
    "tied output": {"tie_output": True},
}
WORDS = Vocabulary(("P", "S", "E", "ein", "Bier", "</s>", "▁x", "“P”"))


def checkpoint(**fields: Any) -> Checkpoint:
    """A random one, in which no bias is zero and no norm is one."""
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "num_encoder_layers": 2, "num_decoder_layers": 2, "max_len": 9}
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(**{"src_vocab_size": 8, "tgt_vocab_size": 8} | sizes | fields)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return Checkpoint(model, WORDS, WORDS, source_length=6, output_limit=7)


def assert_same(folder: Path, ours: Checkpoint) -> None:
    """Logits and maps of a folder with vocabularies of words: of `transformers`, and of this project."""
    size, own = ours.model.config.src_vocab_size, Translator.load(folder, device="cpu").checkpoint
    src, tgt = torch.randint(1, size, (3, 6)), torch.randint(1, ours.model.config.tgt_vocab_size, (3, 5))
    src[0, -2:] = 0
    with torch.no_grad():
        out = loaded(folder)(
            input_ids=src, attention_mask=(src != 0).long(), decoder_input_ids=tgt, output_attentions=True
        )
        expected, again = ours.model(src, tgt), own.model(src, tgt)
    theirs = (out.encoder_attentions, out.decoder_attentions, out.cross_attentions)
    for logits, maps in ((out.logits, theirs), (again.logits, vars(again.attention).values())):
        torch.testing.assert_close(logits, expected.logits, rtol=0, atol=2e-5)
        for found, wanted in zip(maps, vars(expected.attention).values(), strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)
    for name in ("src_vocab", "tgt_vocab", "source_length", "output_limit", "pad_source"):
        assert getattr(own, name) == getattr(ours, name)


@pytest.mark.parametrize("kind", NETWORKS)
def test_random_networks(kind: str, tmp_path: Path) -> None:
    ours = checkpoint(**NETWORKS[kind])
    save_marian(ours, tmp_path)
    assert_same(tmp_path, ours)


@pytest.mark.parametrize("name", ["toy", "classroom"])
def test_shipped_models(name: str, tmp_path: Path) -> None:
    ours = Translator.load(name, device="cpu")
    save_marian(ours.checkpoint, tmp_path)
    assert_same(tmp_path, ours.checkpoint)
    run = ours.translate({"toy": "Ich möchte ein Bier", "classroom": "Den Hund sieht der Lehrer"}[name])
    src = torch.tensor([[ours.checkpoint.src_vocab.ids[token] for token in run.source]])
    found = loaded(tmp_path).generate(src, attention_mask=(src != 0).long(), num_beams=1, do_sample=False)
    assert [ours.checkpoint.tgt_vocab.tokens[i] for i in found[0, 1:].tolist()] == list(run.output)


@pytest.mark.parametrize(
    "fields",
    [{}, {"start_is_pad": False, "suppresses_padding": False}, {"shared": False}, {"tied": False}],
    ids=lambda fields: "-".join(fields) or "plain",
)
def test_a_model_of_pieces_comes_back(fields: dict[str, Any], tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    theirs = marian_folder(first, seed=3, **fields)
    ours = Translator.load(first, device="cpu")
    save_marian(ours.checkpoint, second)
    saved, back = loaded(second), Translator.load(second, device="cpu")
    for name in ("pad_token_id", "decoder_start_token_id", "eos_token_id"):
        assert getattr(saved.config, name) == getattr(theirs.config, name)
    assert back.checkpoint.forces_end
    assert back.checkpoint.output_limit == ours.checkpoint.output_limit
    for sentence in SENTENCES:
        ids = tokenizer(second)(sentence)["input_ids"]
        assert ids == tokenizer(first)(sentence)["input_ids"]
        asked = {"input_ids": torch.tensor([ids]), "decoder_input_ids": torch.tensor([[5, 9, 4]])}
        with torch.no_grad():
            one, two = theirs(**asked).logits, saved(**asked).logits
        torch.testing.assert_close(two[two.isfinite()], one[two.isfinite()], rtol=0, atol=1e-5)
        suppressed = {word for (word,) in theirs.generation_config.bad_words_ids or []}
        assert {*(~two[0, 0].isfinite()).nonzero().flatten().tolist()} == suppressed
        assert_close(back.translate(sentence), ours.translate(sentence))


@pytest.mark.parametrize("fields", [{"norm_first": True}, {"final_norm": "both"}, {"positional_encoding": False}])
def test_a_network_that_marian_has_not_is_refused(fields: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^{next(iter(fields))} is .*, but .*Marian"):
        save_marian(checkpoint(**fields), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_pieces_that_a_folder_cannot_hold_are_refused(marian: Path, tmp_path: Path) -> None:
    cut = Vocabulary.of_pieces("abcde", tokenizer=object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tokenizer"):
        save_marian(replace(checkpoint(), src_vocab=cut), tmp_path)
    changed = Translator.load(marian, device="cpu").checkpoint
    with torch.no_grad():
        changed.model.src_embedding.weight[1] += 1
    with pytest.raises(ValueError, match="S is not a copy"):
        save_marian(changed, tmp_path)
