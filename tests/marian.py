"""Small random Marian models, made by `transformers` as it saves the published ones; and their folders."""

import io
import json
import random
import warnings
from pathlib import Path
from typing import Any

import torch

GERMAN = (
    "Der alte Mann trinkt heute ein kaltes Bier im Garten.",
    "Die Donaudampfschifffahrt ist schön, aber teuer!",
    "Wir haben 1987 in Wien gewohnt; Frau Müller nicht.",
    "Ich möchte gern einen Kaffee und zwei Stück Kuchen, bitte.",
    "Pech gehabt: PSE ist kein Wort, P S E auch nicht?",
)
ENGLISH = (
    "The old man is drinking a cold beer in the garden today.",
    "The Danube steamboat company is lovely but expensive!",
    "We lived in Vienna in 1987; Mrs Müller did not.",
    "I would like a coffee and two pieces of cake, please.",
    "Bad luck: PSE is not a word, nor is P S E?",
)
SENTENCES = ("Der alte Mann trinkt ein kaltes Bier.", "Frau Müller wohnt 1987 in Wien!", "Kuchen?", "P S E")
HOSTILE = (
    *("</s>", "a </s> b", "<unk><pad>x", "<pad>", ">>xx<< Bier", ">>fr<<", ">>", ">>a<<b<< c", " >>fr<< x", "a>>fr<<b"),
    *(
        "</s>>>fr<< Bier",
        "<s>",
        "<script>alert(1)</script>",
        "日本語 mit Bier",
        "e\u0301 ﬁ Ⅷ",
        "\u200b\u202e\x00\x07 x",
    ),
    *("\t\n Bier \n", "🍺👩‍👩‍👧", "▁▁Bier▁", "= 1+1", "{name} %s", "“P” ““P””", "ⅷ" * 50, "a" * 200, "\ufffd\ue000"),
)


def _pieces(sentences: tuple[str, ...], seed: int) -> bytes:
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 3),
        model_writer=model,
        vocab_size=90 + seed,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def marian_folder(
    folder: Path,
    seed: int = 0,
    *,
    shared: bool = True,
    tied: bool = True,
    start_is_pad: bool = True,
    suppresses_padding: bool = True,
    dtype: torch.dtype = torch.float32,
    max_length: int = 24,
    pieces: int = 0,
    **fields: Any,
) -> Any:
    """Write a folder as the Hub has them; returns its MarianMTModel in float32, with every bias and norm random.

    Args:
        pieces: of each vocabulary, filled up with pieces that no sentence has; 0 fills up none.
        fields: of MarianConfig.
    """
    import sentencepiece
    from transformers import GenerationConfig, MarianConfig, MarianMTModel

    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(seed)
    vocabularies = []
    for name, sentences in (("source.spm", GERMAN), ("target.spm", ENGLISH)):
        content = _pieces(sentences, seed % 7)
        (folder / name).write_bytes(content)
        cut = sentencepiece.SentencePieceProcessor(model_proto=content)
        own = [cut.id_to_piece(i) for i in range(cut.get_piece_size())]
        vocabularies.append([piece for piece in own if piece not in ("<unk>", "<s>", "</s>")])
    separate = not shared
    joint = list(dict.fromkeys([*vocabularies[0], *vocabularies[1]]))
    source, target = (
        [*each, "</s>", "<unk>", "<pad>", ">>fr<<", "“P”"] for each in (vocabularies if separate else (joint, joint))
    )
    for each in (source, target):
        each += [f"▁filler{n}" for n in range(len(each), pieces)]
    chance.shuffle(source)  # no id is sentencepiece's own
    if separate:  # transformers knows one id of each special token for both sides
        chance.shuffle(target)
        for piece in ("</s>", "<unk>", "<pad>"):
            at = source.index(piece)
            source.append(source.pop(at))
            target.remove(piece)
        at = chance.randrange(min(len(source), len(target)) - 3)
        source[at:at] = [source.pop() for _ in range(3)]
        target[at:at] = source[at : at + 3]
    else:
        target = source
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(source)}))
    if separate:
        (folder / "target_vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(target)}))
    languages = {"source_lang": "de", "target_lang": "en"}
    about = languages | {"separate_vocabs": separate, "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    end, padding = target.index("</s>"), target.index("<pad>")
    ids = {
        "eos_token_id": end,
        "pad_token_id": padding,
        "decoder_start_token_id": padding if start_is_pad else target.index(chance.choice(vocabularies[1])),
        "forced_eos_token_id": end,
    }
    sizes: dict[str, Any] = {
        "d_model": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        "max_position_embeddings": 256,
        "activation_function": "swish",
        "scale_embedding": True,
        "init_std": 0.3,
    }
    torch.manual_seed(seed)
    config = MarianConfig(
        vocab_size=len(source),
        decoder_vocab_size=len(target),
        share_encoder_decoder_embeddings=shared,
        tie_word_embeddings=tied,
        attn_implementation="eager",
        **sizes | ids | fields,
    )
    model = MarianMTModel(config).eval()
    model.generation_config = GenerationConfig(
        **ids, max_length=max_length, bad_words_ids=[[padding]] if suppresses_padding else None
    )
    with torch.no_grad():
        for name, value in (*model.named_parameters(), ("final_logits_bias", model.final_logits_bias)):
            if value.dim() == 1 or name == "final_logits_bias":
                value.copy_(torch.randn_like(value) * 0.3 + ("norm.weight" in name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.to(dtype).save_pretrained(folder)
    return loaded(folder)


def loaded(folder: Path) -> Any:
    """The MarianMTModel of a folder, in float32."""
    from transformers import MarianMTModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    return MarianMTModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def edited(file: Path, fields: dict[str, Any]) -> None:
    """Change these fields of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def tokenizer(folder: Path) -> Any:
    """The MarianTokenizer of a folder."""
    from transformers import MarianTokenizer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MarianTokenizer.from_pretrained(folder)
