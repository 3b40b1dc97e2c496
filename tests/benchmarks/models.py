"""The network against torch.nn and Hugging Face's Marian: passes, decoding, a step of training.

Everything runs in this process with PyTorch's default number of threads, in float32. In each row both sides have
the same sizes, vocabularies and ids; weights are random, except in `new_sentences`. Except in training, both run in
evaluation mode without gradients.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer import Transformer, TransformerConfig, Translator
from transformer.data import CORPORA, Batch
from transformer.inference.decoding import continued
from transformer.network.engine import DecodingEngine, EngineDecoding
from transformer.training import TrainingConfig, seeded_model, train

from .ratio import Ratio, in_turn, ratio

TOY = TransformerConfig(6, 9, d_model=64, d_ff=256)  # checkpoints/toy
PAPER = TransformerConfig(10_000, 10_000)
NEVER = -1  # an id that is never output, so that decoding runs to its limit


def words(vocabulary: int, batch: int, length: int) -> Tensor:
    """Ids (batch, length) without padding."""
    return torch.randint(1, vocabulary, (batch, length))


@dataclass(frozen=True)
class Size:
    name: str
    config: TransformerConfig
    batch: int
    source: int
    target: int
    rounds: int

    def ids(self) -> tuple[Tensor, Tensor]:
        """Source and target."""
        src = words(self.config.src_vocab_size, self.batch, self.source)
        return src, words(self.config.tgt_vocab_size, self.batch, self.target)


SIZES = (
    Size("toy", TOY, 1, 5, 6, 301),
    Size("paper's size, 32 × 10/12", PAPER, 32, 10, 12, 25),
    Size("paper's size, 8 × 128/128", PAPER, 8, 128, 128, 15),
)


def ours(config: TransformerConfig, **fields: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(**(vars(config) | fields))).eval()


# The peers


def marian(config: TransformerConfig) -> Any:
    """Marian of the same size without an end token, so that `generate` runs to its limit."""
    from transformers import MarianConfig, MarianMTModel
    from transformers.utils import logging

    logging.set_verbosity_error()
    end = config.tgt_vocab_size - 1
    shape = MarianConfig(
        vocab_size=config.src_vocab_size,
        decoder_vocab_size=config.tgt_vocab_size,
        share_encoder_decoder_embeddings=False,
        tie_word_embeddings=False,
        d_model=config.d_model,
        encoder_layers=config.num_encoder_layers,
        decoder_layers=config.num_decoder_layers,
        encoder_attention_heads=config.n_heads,
        decoder_attention_heads=config.n_heads,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=config.pad_id,
        eos_token_id=end,
        forced_eos_token_id=None,
        decoder_start_token_id=config.pad_id,
        attn_implementation="eager",  # the only one that returns attention weights
    )
    model = MarianMTModel(shape).eval()
    model.final_logits_bias[:, end] = -torch.inf
    return model


class Torch(nn.Module):
    """torch.nn.Transformer with embeddings, positions, masks and the output projection, which it lacks."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        same = ours(config, final_norm="both").train()  # nn.Transformer ends on norms
        self.pad_id, self.scale, self.dropout = config.pad_id, config.d_model**0.5, nn.Dropout(config.dropout)
        self.src_embedding, self.tgt_embedding = same.src_embedding, same.tgt_embedding
        self.register_buffer("positions", same.positions)
        self.transformer, self.output_projection = same.to_torch(), same.output_projection

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        closed = src == self.pad_id  # PyTorch's True = may NOT attend
        x = self.transformer(
            self.embed(self.src_embedding, src),
            self.embed(self.tgt_embedding, tgt),
            tgt_mask=torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).triu(1),
            src_key_padding_mask=closed,
            memory_key_padding_mask=closed,
            tgt_key_padding_mask=tgt == self.pad_id,
        )
        return self.output_projection(x)  # (B, T, V)

    def embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        return self.dropout(embedding(ids) * self.scale + self.positions[: ids.size(1)])


# The rows


def forward_without_maps(size: Size) -> Ratio:
    model, peer = ours(size.config, final_norm="both"), Torch(size.config).eval()  # nn.Transformer ends on norms
    src, tgt = size.ids()
    with torch.no_grad():
        took = in_turn(lambda: model(src, tgt, need_weights=False), lambda: peer(src, tgt), size.rounds)
    return ratio(f"forward without maps, {size.name}", "`nn.Transformer`", 1.0, *took)


def greedy_with_maps(name: str, config: TransformerConfig, source: int, said: int, rounds: int, wanted: float) -> Ratio:
    engine, peer = DecodingEngine(ours(config)), marian(config)
    src = words(config.src_vocab_size, 1, source)
    asked = {"input_ids": src, "attention_mask": torch.ones_like(src), "max_new_tokens": said}
    took = in_turn(
        lambda: decoded(engine, src, said),
        lambda: peer.generate(
            **asked, num_beams=1, do_sample=False, output_attentions=True, return_dict_in_generate=True
        ),
        rounds,
    )
    return ratio(f"greedy with maps, {name}", "Marian `generate` with maps", wanted, *took)


def decoded(engine: DecodingEngine, src: Tensor, said: int) -> None:
    """As `Translator` does, maps included."""
    with torch.inference_mode():
        decoding = EngineDecoding(engine, src, said)
        assert len([*continued(decoding, 1, NEVER, said)]) == said
        assert decoding.attention()[2].size(-2) == said


def new_sentences() -> Ratio:
    """Eight of six words, as a class sends them, in one call of the engine; one after another by the network, as before
    there was an engine."""
    translator = Translator.load("classroom", device="cpu")
    held_out = next(iter(CORPORA["classroom"].held_out.values()))()
    sentences = [pair.source for pair in held_out if len(pair.source.split()) == 6][:8]

    def alone() -> None:
        for sentence in sentences:
            translator.translate(sentence, probe=lambda _, value: value)  # the engine has no intermediates to watch

    took = in_turn(lambda: translator.translate_many(sentences), alone, 31)
    return ratio("8 new sentences in one call, classroom", "one by one by the network", 0.5, *took)


def greedy_and_memory() -> Ratio:
    """Each token needs every weight of the decoder from memory once.

    The time to read them is that of `torch.sum` over each matrix, which reads every byte once at the speed of memory,
    because the matrices are several times larger than the caches. The pass over the source counts only on our side.
    """
    model, said = ours(PAPER), 32
    src = words(PAPER.src_vocab_size, 1, said)
    weights = [
        module.weight.detach().contiguous()  # row-major, PyTorch's default
        for part in (model.decoder, model.output_projection)
        for name, module in part.named_modules()
        if isinstance(module, nn.Linear) and not name.endswith(("cross_attn.k_proj", "cross_attn.v_proj"))
    ]

    def each_once_a_token() -> None:
        for weight in weights * said:
            torch.sum(weight)

    engine = DecodingEngine(model)
    took = in_turn(lambda: decoded(engine, src, said), each_once_a_token, 15)
    note = f"{sum(weight.nbytes for weight in weights) / 2**20:.0f} MiB a token"
    what, against = "greedy with maps, paper's size, 32 tokens", "reading the decoder's weights once a token"
    return ratio(what, against, 1.25, *took, note=note)


def training_step(size: Size) -> Ratio:
    """Our step is a whole step of `train`, with its accuracy and with gradient clipping, which the peer has too."""
    config = size.config
    data = Batch(*size.ids(), words(config.tgt_vocab_size, size.batch, size.target))
    plan = TrainingConfig(steps=10**6, batch_size=size.batch)
    steps = train(seeded_model(TransformerConfig(**(vars(config) | {"final_norm": "both"})), 0), data, plan)
    torch.manual_seed(0)
    peer = Torch(config)
    optimizer = torch.optim.Adam(peer.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)

    def theirs() -> float:
        logits = peer(data.src, data.tgt_in)
        loss = F.cross_entropy(logits.flatten(0, 1), data.tgt_out.flatten(), ignore_index=config.pad_id)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(peer.parameters(), plan.clip_norm)
        optimizer.step()
        return loss.item()

    took = in_turn(lambda: next(steps), theirs, 15)
    return ratio(f"training step, {size.name}", "`nn.Transformer` step", 1.0, *took)


ROWS: tuple[Callable[[], Ratio], ...] = (
    *(partial(forward_without_maps, size) for size in SIZES),
    partial(greedy_with_maps, "toy, 6 tokens", TOY, 5, 6, 101, 0.40),
    partial(greedy_with_maps, "paper's size, 32 tokens", PAPER, 32, 32, 15, 0.60),
    greedy_and_memory,
    new_sentences,
    partial(training_step, SIZES[1]),
)


def measure() -> Iterator[Ratio]:
    for row in ROWS:
        yield row()
