"""The decoding engine beside ONNX Runtime: `python -m tests.benchmarks.onnx_runtime`, with `onnx`, `onnxscript` and
`onnxruntime` installed.

Both decode 32 tokens from 32 greedily with all maps, in float32, with random weights and as many threads. What ONNX
Runtime runs was exported with the same fused products, keys and values kept as its own values.
"""

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer import TransformerConfig
from transformer.network.engine import DecodingEngine

from .models import PAPER, decoded, ours, words
from .ratio import Ratio, in_turn, ratio

TOKENS, LAYERS, HEADS, WIDTH, HIDDEN = 32, 6, 8, 512, 2048
PART = WIDTH // HEADS


def linears(out: int, width: int, count: int = LAYERS) -> nn.ModuleList:
    return nn.ModuleList(nn.Linear(width, out) for _ in range(count))


class Stack(nn.Module):
    def __init__(self, vocabulary: int, norms: int) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Buffer(torch.randn(512, WIDTH))
        self.qkv, self.out = linears(3 * WIDTH, WIDTH), linears(WIDTH, WIDTH)
        self.linear1, self.linear2 = linears(HIDDEN, WIDTH), linears(WIDTH, HIDDEN)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(norms * LAYERS))

    def heads(self, i: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.qkv[i](x).view(-1, 3, HEADS, PART).permute(1, 2, 0, 3).unbind(0)
        return q, k, v

    def feed_forward(self, i: int, norm: int, x: Tensor) -> Tensor:
        return self.norms[norm](x + self.linear2[i](self.linear1[i](x).relu()))


def attend(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    weights = (q @ k.transpose(-1, -2) * PART**-0.5).softmax(-1)
    return (weights @ v).transpose(0, 1).flatten(1), weights


class Encoder(Stack):
    def __init__(self, vocabulary: int) -> None:
        super().__init__(vocabulary, norms=2)
        self.source = nn.Linear(WIDTH, 2 * LAYERS * WIDTH)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, maps = self.embedding(ids)[0] + self.positions[: ids.size(1)], []
        for i in range(LAYERS):
            attended, weights = attend(*self.heads(i, x))
            maps.append(weights)
            x = self.norms[2 * i](x + self.out[i](attended))
            x = self.feed_forward(i, 2 * i + 1, x)
        source = self.source(x).view(-1, LAYERS, 2, HEADS, PART).permute(1, 2, 3, 0, 4)
        return torch.stack(maps), source[:, 0].contiguous(), source[:, 1].contiguous()


class Step(Stack):
    def __init__(self, vocabulary: int) -> None:
        super().__init__(vocabulary, norms=3)
        self.cross_q, self.cross_out = linears(WIDTH, WIDTH), linears(WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, vocabulary)

    def forward(
        self, ids: Tensor, at: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, ...]:
        x, kept = self.embedding(ids) + self.positions[at], []
        for i in range(LAYERS):
            q, new_k, new_v = self.heads(i, x)
            all_k, all_v = torch.cat([k[i], new_k], 1), torch.cat([v[i], new_v], 1)
            attended, own = attend(q, all_k, all_v)
            x = self.norms[3 * i](x + self.out[i](attended))
            attended, cross = attend(self.cross_q[i](x).view(-1, HEADS, PART).transpose(0, 1), keys[i], values[i])
            x = self.norms[3 * i + 1](x + self.cross_out[i](attended))
            x = self.feed_forward(i, 3 * i + 2, x)
            kept.append((all_k, all_v, own, cross))
        return self.output(x), *map(torch.stack, zip(*kept, strict=True))


def exported(folder: Path, vocabulary: int) -> tuple[Any, Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    source, past = torch.export.Dim("S", min=2, max=512), torch.export.Dim("P", min=1, max=511)
    cache, kept = torch.randn(LAYERS, HEADS, 4, PART), torch.randn(LAYERS, HEADS, 7, PART)
    cases: list[tuple[nn.Module, Any, Any]] = [
        (Encoder(vocabulary), (words(vocabulary, 1, 7),), ({1: source},)),
        (
            Step(vocabulary),
            (torch.tensor([1]), torch.tensor([4]), cache, cache.clone(), kept, kept.clone()),
            (None, None, {2: past}, {2: past}, {2: source}, {2: source}),
        ),
    ]
    sessions = []
    for module, inputs, shapes in cases:
        program: Any = torch.onnx.export(module.eval(), inputs, dynamo=True, dynamic_shapes=shapes, verbose=False)
        file = folder / f"{type(module).__name__}.onnx"
        program.save(file, external_data=True)
        sessions.append(onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"]))
    return sessions[0], sessions[1]


def greedy(encoder: Any, step: Any, ids: Tensor) -> None:
    import onnxruntime

    def value(tensor: Tensor) -> Any:
        return onnxruntime.OrtValue.ortvalue_from_numpy(tensor.numpy())

    _, keys, values = encoder.run_with_ort_values(None, {encoder.get_inputs()[0].name: value(ids)})
    k = v = value(torch.zeros(LAYERS, HEADS, 0, PART))
    own, cross = torch.zeros(LAYERS, HEADS, TOKENS, TOKENS), torch.zeros(LAYERS, HEADS, TOKENS, ids.size(1))
    names, token = [each.name for each in step.get_inputs()], 1
    for t in range(TOKENS):
        inputs = value(torch.tensor([token])), value(torch.tensor([t])), k, v, keys, values
        outputs = step.run_with_ort_values(None, dict(zip(names, inputs, strict=True)))
        logits, k, v = outputs[:3]
        own[:, :, t, : t + 1], cross[:, :, t] = (torch.from_numpy(each.numpy())[:, :, 0] for each in outputs[3:])
        token = int(torch.from_numpy(logits.numpy()).softmax(-1).argmax())


def compared(name: str, config: TransformerConfig) -> Ratio:
    engine, ids = DecodingEngine(ours(config)), words(config.src_vocab_size, 1, TOKENS)
    with tempfile.TemporaryDirectory() as folder:
        sessions = exported(Path(folder), config.tgt_vocab_size)
        took = in_turn(lambda: greedy(*sessions, ids), lambda: decoded(engine, ids, TOKENS), 15)
    return ratio(f"ONNX Runtime, greedy with all maps, {name}", "the decoding engine", 1.0, *took)


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    for name, config in (("opus-mt", TransformerConfig(58_102, 58_102)), ("paper's size", PAPER)):
        print(compared(name, config))
