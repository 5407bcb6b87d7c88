"""What a step keeps until its backward pass: the recorder's walk of the graph against hooks on saved tensors, on many models.

    HOTLENS_MODELS_PYTHON tests/bench/saved_bytes.py     # a Python with torch and, for four of the models, transformers

The hooks look at one forward pass, the walk at the next, with the same random numbers. The hooks count
each storage once that a node still keeps when the forward pass is over. `nodes`: names of nodes that keep something.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "annotator/recorder"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/recorder"))
from hotlens.map_step.saved import SavedTensors
from recompute_models import MODELS
from saved_hooks import hooked_bytes

Step = tuple[nn.Module, Callable[[], Any]]


def of_bench(name: str) -> Step:
    build, data, batch = MODELS[name]
    model, given = build(), data(batch)
    x, y = given

    def loss() -> Any:
        made = model(x)
        return F.cross_entropy(made.flatten(0, -2), y.flatten())

    return model, loss


def lstm() -> Step:
    model = nn.ModuleList([nn.Embedding(100, 32), nn.LSTM(32, 64, num_layers=2, dropout=0.1), nn.Linear(64, 100)])
    x = torch.randint(0, 100, (20, 8))
    return model, lambda: F.cross_entropy(model[2](model[1](model[0](x))[0]).flatten(0, 1), x.flatten())


def encoder_decoder() -> Step:
    model = nn.Transformer(32, 4, 2, 2, 64, batch_first=True)
    x, y = torch.randn(4, 10, 32), torch.randn(4, 8, 32)
    return model, lambda: model(x, y).square().mean()


def time_loop() -> Step:
    model = nn.GRUCell(16, 32)
    x = torch.randn(12, 4, 16)

    def loss() -> Any:
        h = torch.zeros(4, 32)
        for t in range(12):
            h = model(x[t], h)
        return h.sum()

    return model, loss


def experts() -> Step:
    model = nn.ModuleList([nn.Linear(16, 4), *(nn.Linear(16, 16) for _ in range(4))])
    x = torch.randn(32, 16)

    def loss() -> Any:
        weights, chosen = model[0](x).softmax(-1).topk(2)
        out = torch.zeros_like(x)
        for expert in range(4):
            rows, place = torch.where(chosen == expert)
            out = out.index_add(0, rows, model[1 + expert](x[rows]) * weights[rows, place, None])
        return out.square().sum()

    return model, loss


def of_transformers(kind: str) -> Step:
    import transformers as t

    small: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "vocab_size": 100,
    }
    ids = torch.randint(3, 100, (2, 16))
    if kind == "gpt2":
        model = t.GPT2LMHeadModel(t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=32))
    elif kind == "bert":
        model = t.BertForMaskedLM(t.BertConfig(**small))
    elif kind == "llama":
        model = t.LlamaForCausalLM(t.LlamaConfig(**small))
    else:
        sizes: dict[str, Any] = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 100}
        model = t.T5ForConditionalGeneration(t.T5Config(**sizes, decoder_start_token_id=0))
    return model, lambda: model(input_ids=ids, labels=ids).loss


OWN: dict[str, Callable[[], Step]] = {
    **{name: (lambda name=name: of_bench(name)) for name in MODELS},  # type: ignore[misc]
    **{f.__name__: f for f in (lstm, encoder_decoder, time_loop, experts)},
    **{f"transformers {kind}": (lambda kind=kind: of_transformers(kind)) for kind in ("gpt2", "bert", "llama", "t5")},  # type: ignore[misc]
}


def main() -> None:
    equal = 0
    print(f"{'model':24}{'hooks':>14}{'recorder':>14}{'apart':>10}{'nodes':>8}{'not seen':>10}{'ms':>8}")
    for name, make in OWN.items():
        try:
            model, loss = make()
        except ImportError as missing:
            print(f"{name:24}{missing}")
            continue
        torch.manual_seed(1)
        hooks = hooked_bytes(loss)
        torch.manual_seed(1)
        saved = SavedTensors(list(model.modules()))
        saved.start()
        held = loss()
        began = time.perf_counter()
        saved._look((held,))
        took = time.perf_counter() - began
        held.backward()
        saved.stop()
        found = saved.found
        assert found is not None, saved.refused
        equal += found.bytes() == hooks
        nodes = {saver.node for kept in found.storages.values() for saver, _ in kept.by}
        unseen = sum(found.opaque.values()) + sum(found.hooked.values()) + found.unreadable
        print(f"{name:24}{hooks:14,}{found.bytes():14,}{found.bytes() - hooks:10,}{len(nodes):8}{unseen:10}{took * 1000:8.1f}", flush=True)
    print(f"equal to the byte: {equal}")


main()
