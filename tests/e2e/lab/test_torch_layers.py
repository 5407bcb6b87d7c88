"""Edits of torch.nn's own layers that hold others, of copies, and of arguments that make another layer of the same class."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import LOOP, edit, predicted, record_all, told_as_run

TEXT = LOOP.replace("model(x), y)", "model(x).flatten(0, 1), y.flatten())").replace("import torch\n", "import copy, math\nimport torch\n")
DATA = """
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randint(50, (n, 12)), torch.randint(50, (n, 12)))
"""

# As torch's tutorial has it.
ENCODER = TEXT.format(
    model="""
class Places(nn.Module):
    def __init__(self, width, longest=40):
        super().__init__()
        pe = torch.zeros(longest, width)
        position = torch.arange(0, longest, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, width, 2).float() * (-math.log(10000.0) / width))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        pe = pe.unsqueeze(0)
        self.register_buffer("pe", pe)
    def forward(self, x):
        return x + self.pe[:, : x.size(1)]
class Model(nn.Module):
    def __init__(self, width=32, heads=4, hidden=64, depth=2, dropout=0.1):
        super().__init__()
        self.width, self.embed, self.places = width, nn.Embedding(50, width), Places(width)
        layer = nn.TransformerEncoderLayer(width, heads, hidden, dropout, batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, depth), nn.Linear(width, 50)
    def forward(self, x):
        return self.head(self.encoder(self.places(self.embed(x) * math.sqrt(self.width))))
model = Model()"""
    + DATA
)

DECODER = TEXT.format(
    model="""
class Model(nn.Module):
    def __init__(self, width=32, heads=4, depth=2):
        super().__init__()
        self.embed, self.memory = nn.Embedding(50, width), nn.Linear(8, width)
        layer = nn.TransformerDecoderLayer(width, heads, 2 * width, batch_first=True, norm_first=True)
        self.decoder, self.head = nn.TransformerDecoder(layer, num_layers=depth), nn.Linear(width, 50)
    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        memory = self.memory(torch.ones(x.size(0), 5, 8))
        return self.head(self.decoder(self.embed(x), memory, tgt_mask=mask, tgt_is_causal=True))
model = Model()"""
    + DATA
)

CLONES = TEXT.format(
    model="""
def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])
class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True)
    def forward(self, x):
        h = self.norm(x)
        return x + self.attention(h, h, h, need_weights=False)[0]
class Model(nn.Module):
    def __init__(self, width=32, heads=4, depth=3):
        super().__init__()
        self.embed, self.layers, self.head = nn.Embedding(50, width), clones(Block(width, heads), depth), nn.Linear(width, 50)
    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
model = Model()"""
    + DATA
)

# Queries that are parameters ask a picture's parts, as detectors do.
QUERIES = LOOP.format(
    model="""
class Model(nn.Module):
    def __init__(self, width=32, heads=4, encoders=2, decoders=1, queries=5):
        super().__init__()
        self.parts = nn.Conv2d(3, width, 4, 4)
        self.both = nn.Transformer(width, heads, encoders, decoders, dim_feedforward=48)
        self.queries, self.head = nn.Parameter(torch.rand(queries, width)), nn.Linear(width, 10)
        self.rows, self.columns = nn.Parameter(torch.rand(20, width // 2)), nn.Parameter(torch.rand(20, width // 2))
    def forward(self, x):
        grid = self.parts(x)
        tall, wide = grid.shape[-2:]
        places = torch.cat([self.columns[:wide].unsqueeze(0).repeat(tall, 1, 1), self.rows[:tall].unsqueeze(1).repeat(1, wide, 1)], -1)
        parts = grid.flatten(2).permute(2, 0, 1) + places.flatten(0, 1).unsqueeze(1)
        return self.head(self.both(parts, self.queries.unsqueeze(1).repeat(1, x.size(0), 1)).mean(0))
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randn(n, 3, 24, 24), torch.randint(10, (n,)))
"""
)

ARGUMENTS = LOOP.format(
    model="""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.pool = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.MaxPool2d(2)
        self.rnn = nn.GRU(16, 24, 2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(24, 10)
    def forward(self, x):
        x = self.pool(F.relu(self.norm(self.conv(x))))
        return self.head(self.rnn(x.flatten(2).transpose(1, 2))[0].mean(1))
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
tensors = lambda n: (torch.randn(n, 3, 16, 16), torch.randint(10, (n,)))
"""
)

# Cells of all kinds, parameters made in many ways, and a network with layers of its own that is called three times in a row.
CELLS = LOOP.format(
    model="""
class Model(nn.Module):
    def __init__(self, width=24, state=16):
        super().__init__()
        self.rnn, self.mixer = nn.RNN(12, width, 2, batch_first=True, nonlinearity="relu"), nn.Bilinear(width, state, 20)
        self.cells = nn.ModuleList([nn.LSTMCell(width, state), nn.GRUCell(state, state), nn.RNNCell(state, state)])
        self.twin = nn.Sequential(nn.Linear(width, state), nn.Tanh(), nn.Linear(state, state))
        self.decay = nn.Parameter(torch.linspace(-5, 3, width) * (1 + 0.5))
        self.share = nn.Parameter(torch.full((1, width), 0.5))
        self.turn = nn.Parameter(torch.eye(width))
        self.scale = nn.Parameter(torch.tensor([0.5, 0.25]))
        self.ends = nn.Parameter(torch.cat([torch.zeros(2, width), torch.ones(3, width)]))
        self.register_buffer("window", torch.full_like(torch.ones(width), 0.5))
        self.head = nn.Linear(20 + state, 10)
    def forward(self, x):
        seen, _ = self.rnn(x)
        seen = (seen * torch.exp(self.decay) + self.share * self.window) @ self.turn + self.ends.mean(0)
        long, gated, plain = self.cells
        h, c = long(seen[:, 0])
        for t in range(1, 4):
            h, c = long(seen[:, t], (h, c))
            h = gated(h) + plain(h)
        a = self.twin(seen[:, 0])
        b = self.twin(seen[:, 1])
        d = self.twin(seen[:, 2])
        return self.head(torch.cat([self.mixer(seen[:, 3], h), a + b * self.scale[0] + d], -1))
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randn(n, 4, 12), torch.randint(10, (n,)))
"""
)

SCRIPTS = {"encoder": ENCODER, "decoder": DECODER, "clones": CLONES, "queries": QUERIES, "arguments": ARGUMENTS, "cells": CELLS}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(tmp_path_factory.mktemp("torch"), SCRIPTS)


@pytest.mark.parametrize(
    ("name", "old", "new", "what"),
    [
        ("encoder", "width=32", "width=48", "Places.pe"),
        ("encoder", "longest=40", "longest=80", "Places.pe"),
        ("encoder", "heads=4", "heads=8", "MultiheadAttention(32, 4 → 8, dropout=0.1, bias=True, batch_first=True)"),
        ("encoder", "depth=2", "depth=4", "TransformerEncoderLayer(32, 4) added"),
        ("encoder", "dropout=0.1", "dropout=0.0", "Dropout(0.1 → 0)"),
        ("decoder", "width=32", "width=48", "Linear(32 → 48, 50)"),
        ("decoder", "depth=2", "depth=1", "TransformerDecoderLayer(32, 4) removed"),
        ("clones", "width=32", "width=64", "MultiheadAttention(32 → 64, 4, dropout=0.1, batch_first=True)"),
        ("clones", "depth=3", "depth=5", "Block() added"),
        ("queries", "width=32", "width=48", "Conv2d(3, 32 → 48, 4, stride=4)"),
        ("queries", "heads=4", "heads=8", "MultiheadAttention(32, 4 → 8, dropout=0.1, bias=True, batch_first=False)"),
        ("queries", "encoders=2", "encoders=3", "TransformerEncoderLayer(32, 4) added"),
        ("queries", "queries=5", "queries=9", "Model.queries"),
        ("queries", "width, 4, 4)", "width, 4, 2)", "Conv2d(3, 32, 4, stride=4 → 2)"),
        ("queries", "dim_feedforward=48", "dim_feedforward=96", "Linear(32, 48 → 96, bias=True)"),
        ("arguments", "padding=1)", "padding=1, bias=False)", "Conv2d(3, 16, 3, padding=1, bias=True → False)"),
        ("arguments", "nn.MaxPool2d(2)", "nn.MaxPool2d(4)", "MaxPool2d(2 → 4)"),
        ("arguments", "nn.BatchNorm2d(16)", "nn.BatchNorm2d(16, affine=False)", "BatchNorm2d(16, affine=default → False)"),
        ("arguments", "nn.GRU(16, 24, 2", "nn.GRU(16, 24, 3", "GRU(16, 24, num_layers=2 → 3, batch_first=True, dropout=0.1)"),
        ("cells", "width=24", "width=40", "RNN(12, 24 → 40, num_layers=2, nonlinearity='relu', batch_first=True)"),
        ("cells", "state=16", "state=32", "Bilinear(24, 16 → 32, out_features=20)"),
        ("cells", "a = self.twin(seen[:, 0])", "a = F.dropout(self.twin(seen[:, 0]))", "dropout added"),
        ("cells", "d = self.twin(seen[:, 2])", "d = F.relu(self.twin(seen[:, 2]))", "relu added"),
        ("arguments", "dropout=0.1", "dropout=0.0", "GRU(16, 24, num_layers=2, batch_first=True, dropout=0.1 → 0)"),
    ],
)
def test_the_peak_is_that_of_the_script_really_edited_so(recorded: Path, tmp_path: Path, name: str, old: str, new: str, what: str) -> None:
    text = edit(recorded / name, SCRIPTS[name], old, new)
    assert what in told_as_run(recorded / name, text, tmp_path / "truth")


@pytest.mark.parametrize("more", ["norm_first=True", "activation=F.silu"])
def test_another_order_or_kind_within_a_layer_that_holds_others_is_refused(recorded: Path, more: str) -> None:
    edit(recorded / "encoder", ENCODER, "batch_first=True)", f"batch_first=True, {more})")
    (refusal,) = predicted(recorded / "encoder")["refused"]
    assert "TransformerEncoderLayer" in refusal["reason"]


def test_a_recurrent_layer_that_gets_other_features_does_not_fit(recorded: Path) -> None:
    """Some kernels of torch would read past the end of a row."""
    edit(recorded / "arguments", ARGUMENTS, "nn.GRU(16, 24", "nn.GRU(19, 24")
    (misfit,) = predicted(recorded / "arguments")["misfits"]
    assert misfit["reason"].startswith("GRU(19, 24) gets 16 features") and "Expected 19, got 16" in misfit["reason"]
