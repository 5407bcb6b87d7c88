"""Layers that come, go, are repeated or of another kind: their peak memory against a run of the script that was really edited so."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import LOOP, edit, predicted, record_all, told_as_run

PICTURES = LOOP.format(
    model="""
class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.Dropout(0.2)
    def forward(self, x):
        return self.drop(F.relu(self.norm(self.conv(x))))
model = nn.Sequential(
    Block(3, 16), nn.MaxPool2d(2), *[Block(16, 16) for _ in range(2)], nn.Dropout(0.1), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
    nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randn(n, 3, 32, 32), torch.randint(10, (n,)))
"""
)

WORDS = LOOP.format(
    model="""
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads = 4
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))
    def forward(self, x):
        b, l, w = x.shape
        q, k, v = (part.view(b, l, self.heads, w // self.heads).transpose(1, 2) for part in self.qkv(self.norm(x)).split(w, 2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, l, w))
        return x + self.mlp(x)
DEPTH, WIDTH = 2, 32
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed, self.places = nn.Embedding(50, width), nn.Parameter(torch.zeros(1, 12, width))
        self.layers = nn.ModuleList(Layer(width) for _ in range(DEPTH))
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(width, 10)
    def forward(self, x):
        x = self.drop(self.embed(x) + self.places)
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])
model = Model(WIDTH)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
tensors = lambda n: (torch.randint(50, (n, 12)), torch.randint(10, (n,)))
"""
)

# The same loop, written otherwise.
HANDED = "for layer in self.layers:\n            x = layer(x)"
COUNTED = WORDS.replace(HANDED, "for i, layer in enumerate(self.layers):\n            x = layer(x=x)")
INDEXED = WORDS.replace(HANDED, "for i in range(len(self.layers)):\n            x = self.layers[i](x)")

TAKEN = WORDS.replace(
    "def forward(self, x):\n        b, l, w", "def forward(self, x, more):\n        x = x + more\n        b, l, w"
).replace(HANDED, "more = [x, 2 * x, 3 * x]\n        for layer in self.layers:\n            x = layer(x, more.pop())")

# Clipped, updated in lists; its output is kept from one step to the next.
FORWARD = """self.width = hidden
    def forward(self, x):
        return self.head(self.norm(self.rnn(self.embed(x))[0].mean(1)))"""
MEMORY = LOOP.format(
    model="""
class Tagger(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.embed, self.rnn, self.head = nn.Embedding(500, 48), nn.LSTM(48, hidden, batch_first=True), nn.Linear(hidden, 500)
        self.norm = nn.LayerNorm(hidden)
        FORWARD
model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
tensors = lambda n: (torch.randint(500, (n, 16)), torch.randint(500, (n,)))
"""
)
MEMORY = MEMORY.replace("FORWARD", FORWARD).replace(
    "    optimizer.step()", "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()"
)
MEMORY = MEMORY.replace("loss = F.cross_entropy(model(x), y)", "out = model(x)\n    loss = F.cross_entropy(out, y)")

# Every loop but its own output is small: what is kept decides.
KEPT = MEMORY.replace("nn.Linear(hidden, 500)", "nn.Linear(hidden, 5000)")

# Layers that are given more than what goes through them: edges, of which each call makes views; a mask, angles, a text of one shape.
GRAPH = LOOP.format(
    model="""
class Messages(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.sent, self.own, self.norm = nn.Linear(width, width), nn.Linear(width, width), nn.LayerNorm(width)
    def forward(self, x, begin, end):
        sent = self.sent(x).gather(1, begin[..., None].expand(-1, -1, x.shape[2]))
        came = torch.zeros_like(x).scatter_add(1, end[..., None].expand(-1, -1, x.shape[2]), sent)
        return x + F.relu(self.norm(self.own(x) + came))
DEPTH, WIDTH = 3, 64
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed, self.layers = nn.Linear(16, width), nn.ModuleList(Messages(width) for _ in range(DEPTH))
        self.head = nn.Linear(width, 10)
    def forward(self, nodes):
        x, edges = self.embed(nodes), torch.arange(384).view(192, 2).remainder(48).expand(len(nodes), -1, -1)
        for layer in self.layers:
            x = layer(x, edges[..., 0], edges[..., 1])
        return self.head(x.mean(1))
model = Model(WIDTH)
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randn(n, 48, 16), torch.randint(10, (n,)))
"""
)

DECODER = LOOP.format(
    model="""
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.out, self.other = nn.Linear(width, width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
    def forward(self, x, text, mask, cos, sin):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k = q * cos + q.roll(1, -1) * sin, k * cos + k.roll(1, -1) * sin
        x = x + self.out((q @ k.transpose(1, 2)).masked_fill(mask, -1e9).softmax(-1) @ v)
        x = x + (x @ self.other(text).transpose(1, 2)).softmax(-1) @ text
        return x + self.mlp(x)
DEPTH, WIDTH = 2, 32
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed, self.text = nn.Embedding(50, width), nn.Embedding(50, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(DEPTH))
        self.head = nn.Linear(width, 10)
    def forward(self, x):
        text, mask = self.text(x).tanh(), torch.ones(12, 12, dtype=torch.bool).triu(1)
        angles = torch.arange(12.0)[:, None] * torch.ones(x.shape[-1])[:1]
        cos, sin = angles.cos(), angles.sin()
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x, text, mask, cos, sin)
        return self.head(x[:, 0])
model = Model(WIDTH)
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randint(50, (n, 12)), torch.randint(10, (n,)))
"""
)

# What the first state is made as large as.
STATES = LOOP.format(
    model="""
class Cell(nn.Module):
    def __init__(self, i, hidden):
        super().__init__()
        self.hidden, self.take, self.keep = hidden, nn.Linear(i, hidden), nn.Linear(hidden, hidden)
    def forward(self, x):
        h = torch.zeros(x.size(0), self.hidden, device=x.device)
        for t in range(x.size(1)):
            h = torch.tanh(self.take(x[:, t]) + self.keep(h))
        return h
class Model(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.hidden, self.depth = hidden, 2
        self.rnn, self.cell, self.head = nn.LSTM(16, hidden, self.depth, batch_first=True), Cell(hidden, hidden), nn.Linear(hidden, 10)
    def forward(self, x):
        h0 = torch.zeros(self.depth, x.size(0), self.hidden).to(x.device)
        c0 = x.new_zeros((self.depth, x.size(0), self.hidden))
        return self.head(self.cell(self.rnn(x, (h0, c0))[0]))
HIDDEN = 48
model = Model(HIDDEN)
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randn(n, 10, 16), torch.randint(10, (n,)))
"""
)

# As torchvision writes its residual nets.
STAGES = LOOP.format(
    model="""
class Block(nn.Module):
    def __init__(self, i, o, stride=1, shortcut=None):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.norm2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.relu, self.shortcut = nn.ReLU(inplace=True), shortcut
    def forward(self, x):
        kept, out = x, self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        if self.shortcut is not None:
            kept = self.shortcut(x)
        out += kept
        return self.relu(out)
class Net(nn.Module):
    def __init__(self, block, layers, width=8):
        super().__init__()
        self.planes = width
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.layer1 = self._make_layer(block, width, layers[0])
        self.layer2 = self._make_layer(block, 2 * width, layers[1], 2)
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(2 * width, 10)
    def _make_layer(self, block, planes, blocks, stride=1):
        shortcut = None
        if stride != 1 or self.planes != planes:
            shortcut = nn.Sequential(nn.Conv2d(self.planes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
        layers = [block(self.planes, planes, stride, shortcut)]
        self.planes = planes
        for _ in range(1, blocks):
            layers.append(block(self.planes, planes))
        return nn.Sequential(*layers)
    def forward(self, x):
        return self.head(self.pool(self.layer2(self.layer1(self.stem(x)))).flatten(1))
model = Net(Block, [2, 2])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
tensors = lambda n: (torch.randn(n, 3, 32, 32), torch.randint(10, (n,)))
"""
)

SCRIPTS = {
    "stages": STAGES,
    "counted": COUNTED,
    "taken": TAKEN,
    "indexed": INDEXED,
    "states": STATES,
    "pictures": PICTURES,
    "words": WORDS,
    "memory": MEMORY,
    "kept": KEPT,
    "graph": GRAPH,
    "decoder": DECODER,
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(tmp_path_factory.mktemp("structure"), SCRIPTS)


def edited(folder: Path, old: str, new: str) -> str:
    return edit(folder, SCRIPTS[folder.name], old, new)


@pytest.mark.parametrize(
    ("name", "old", "new", "what"),
    [
        # Removed, repeated.
        ("pictures", "nn.Dropout(0.1), ", "", "Dropout(0.1) removed"),
        ("pictures", "nn.ReLU(), ", "", "ReLU() removed"),
        ("pictures", "range(2)", "range(1)", "Block() removed"),
        ("pictures", "range(2)", "range(4)", "Block() added"),
        ("words", "DEPTH, WIDTH = 2", "DEPTH, WIDTH = 5", "Layer() added"),
        ("words", "DEPTH, WIDTH = 2", "DEPTH, WIDTH = 1", "Layer() removed"),
        ("words", "DEPTH, WIDTH = 2, 32", "DEPTH, WIDTH = 3, 64", "Layer() added"),
        ("graph", "DEPTH, WIDTH = 3", "DEPTH, WIDTH = 5", "Messages() added"),
        ("graph", "DEPTH, WIDTH = 3", "DEPTH, WIDTH = 1", "Messages() removed"),
        ("graph", "WIDTH = 3, 64", "WIDTH = 3, 96", "Linear(16, 64 → 96)"),
        ("counted", "DEPTH, WIDTH = 2", "DEPTH, WIDTH = 4", "Layer() added"),
        ("indexed", "DEPTH, WIDTH = 2", "DEPTH, WIDTH = 3", "Layer() added"),
        ("indexed", "DEPTH, WIDTH = 2", "DEPTH, WIDTH = 1", "Layer() removed"),
        ("states", "HIDDEN = 48", "HIDDEN = 64", "Cell.hidden 48 → 64"),
        ("decoder", "DEPTH, WIDTH = 2", "DEPTH, WIDTH = 4", "Block() added"),
        ("decoder", "DEPTH, WIDTH = 2", "DEPTH, WIDTH = 1", "Block() removed"),
        ("stages", "[2, 2]", "[1, 1]", "Block() removed"),
        ("stages", "[2, 2]", "[2, 4]", "Block() added"),
        ("stages", "width=8", "width=12", "Linear(16 → 24, 10)"),
        # Exchanged.
        ("stages", "nn.BatchNorm2d(width), nn.ReLU(inplace=True)", "nn.BatchNorm2d(width), nn.ReLU()", "ReLU(True → default)"),
        ("pictures", "nn.ReLU()", "nn.GELU()", "ReLU → GELU"),
        ("pictures", "nn.BatchNorm2d(o)", "nn.GroupNorm(4, o)", "BatchNorm2d → GroupNorm"),
        ("pictures", "nn.Dropout(0.2)", "nn.Identity()", "Dropout → Identity"),
        ("words", "nn.LayerNorm(width)", "nn.RMSNorm(width)", "LayerNorm → RMSNorm"),
        ("words", "= nn.Linear(width, 10)", "= nn.Sequential(nn.Linear(width, 64), nn.Tanh(), nn.Linear(64, 10))", "Linear → Sequential"),
        ("memory", "nn.LSTM", "nn.GRU", "LSTM → GRU"),
        ("memory", "nn.LayerNorm(hidden)", "nn.Identity()", "LayerNorm → Identity"),
        # Inserted.
        ("pictures", "    Block(3, 16)", "    nn.Conv2d(3, 3, 1), Block(3, 16)", "Conv2d(3, 3) added"),
        ("pictures", "nn.ReLU(), ", "nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), ", "Linear(64, 64) added"),
        ("pictures", "*[Block(16, 16) for _ in range(2)]", "Block(16, 32), Block(32, 16), Block(16, 16)", "Block() added"),
        ("words", "nn.GELU(), ", "nn.GELU(), nn.Linear(4 * width, 4 * width), nn.GELU(), ", "Linear(128, 128) added"),
        # Called otherwise by `forward`.
        ("pictures", "self.drop(F.relu(self.norm(self.conv(x))))", "F.relu(self.norm(self.conv(x)))", "Dropout(0.2) not called"),
        ("pictures", "F.relu(self.norm(self.conv(x)))", "F.gelu(self.norm(self.conv(x)))", "relu → gelu"),
        ("pictures", "F.relu(self.norm(self.conv(x)))", "self.norm(F.relu(self.conv(x)))", "BatchNorm2d(16) called"),
        ("words", "return x + self.mlp(x)", "return x + self.mlp(self.norm(x))", "LayerNorm(32) called"),
        (
            "memory",
            FORWARD,
            "self.fc = nn.Linear(hidden, hidden)\n        " + FORWARD.replace("self.norm(", "self.fc(self.norm(") + ")",
            "Linear(64, 64) added",
        ),
        ("memory", "self.norm = nn.LayerNorm(hidden)\n        " + FORWARD, FORWARD.replace("self.norm(", "("), "LayerNorm(64) removed"),
        # What the script keeps from the step before.
        ("kept", "hidden, 5000", "hidden, 9000", "Linear(64, 5000 → 9000)"),
        ("kept", "nn.Linear(hidden, 5000)", "nn.Sequential(nn.Linear(hidden, 5000), nn.Dropout(0.1))", "Linear → Sequential"),
    ],
)
def test_the_peak_is_that_of_the_script_really_edited_so(recorded: Path, tmp_path: Path, name: str, old: str, new: str, what: str) -> None:
    text = edited(recorded / name, old, new)
    assert what in told_as_run(recorded / name, text, tmp_path / "truth")


def test_a_new_layer_stands_at_the_line_that_makes_it(recorded: Path) -> None:
    text = edited(recorded / "pictures", "nn.Linear(256, 64), ", "nn.Linear(256, 64),\n    nn.Dropout(0.3),\n    ")
    (edit,) = predicted(recorded / "pictures")["edits"]
    assert (edit["what"], edit["modules"]) == ("Dropout(0.3) added", ["8"])
    assert "nn.Dropout(0.3)" in text.splitlines()[edit["line"]]
    assert edit["low_ns"] <= edit["step_ns"] <= edit["high_ns"]


def test_a_layer_that_nothing_calls_counts_with_its_weights_alone(recorded: Path) -> None:
    edited(recorded / "words", "self.drop = ", "self.more = nn.Linear(100, 100)\n        self.drop = ")
    (edit,) = predicted(recorded / "words")["edits"]
    assert edit["peak_bytes"] - edit["peak_was_bytes"] == 4 * (100 * 100 + 100)


def test_a_new_layer_that_does_not_fit_is_said_with_both_lines(recorded: Path) -> None:
    text = edited(recorded / "pictures", "nn.ReLU(), ", "nn.ReLU(), nn.Linear(64, 65),\n    ")
    (misfit,) = predicted(recorded / "pictures")["misfits"]
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "nn.Linear(64, 65)" in one)
    assert misfit["reason"].startswith(f"Linear(64, 10) gets 65 features from line {line}: mat1 and mat2 shapes cannot be multiplied")
    assert (misfit["module"], misfit["operator"]) == ("10", "aten::linear")


@pytest.mark.parametrize(
    ("name", "old", "new", "module", "reason"),
    [
        ("pictures", "nn.ReLU()", "nn.PixelShuffle(1)", "8", "what a new PixelShuffle holds is not known"),
        ("pictures", "nn.ReLU()", "nn.Bilinear(64, 64, 64)", "8", "what a new Bilinear calls is not known"),
        ("pictures", "nn.ReLU()", "nn.Dropout(0.1, generator=None)", "8", "`generator`"),
        ("words", "self.head = nn.Linear(width, 10)", "self.head = nn.LSTM(width, 10)", "head", "not called alike"),
        ("words", "            x = layer(x)", "            x = layer(x) + x", "", "Model.forward was edited"),
        ("taken", "DEPTH, WIDTH = 2", "DEPTH, WIDTH = 3", "layers", "does with `layers` is not followed"),
        ("memory", "self.norm = nn.LayerNorm(hidden)", "pass", "norm", "it is gone, and the step calls it"),
    ],
)
def test_what_cannot_be_known_is_refused_with_its_reason(recorded: Path, name: str, old: str, new: str, module: str, reason: str) -> None:
    edited(recorded / name, old, new)
    document = predicted(recorded / name)
    (refusal,) = document["refused"]
    assert reason in refusal["reason"]
    assert refusal.get("module", "") == module
    assert all("peak_bytes" not in edit for edit in document["edits"])
