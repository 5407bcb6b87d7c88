"""Edits of layers on real recordings: the text that `hotlens whatif --apply` leaves trains as before, with the peak that was foretold."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import PYTHON
from test_whatif import Change, answer, ask, changed, record, row
from training import LOOP

NORMS = LOOP.format(
    model="""
class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o)
        self.last = nn.Conv2d(o, o, 1)
    def forward(self, x):
        return self.last(F.relu(self.norm(self.conv(x))))
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1, bias=True),
    nn.BatchNorm2d(16),
    Block(16, 16),
    Block(16, 32),
    nn.Flatten(),
    nn.Linear(32 * 64, 64),
    nn.BatchNorm1d(64),
    nn.Linear(64, 10),
)
for m in model.modules():
    if isinstance(m, nn.Conv2d) and m.bias is not None:
        nn.init.constant_(m.bias, 0.5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
tensors = lambda n: (torch.randn(n, 3, 8, 8), torch.randint(10, (n,)))
"""
)

# The peak is where a ReLU of frozen layers has its input and its result.
RELUS = LOOP.format(
    model="""
class Stem(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.pool = nn.Conv2d(3, 64, 3, padding=1), nn.AvgPool2d(8)
    def forward(self, x):
        with torch.no_grad():
            x = self.conv(x)
            return self.pool(F.relu(x))
class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU()
        self.other = nn.Conv2d(o, o, 1)
    def forward(self, x):
        x = self.norm(self.conv(x))
        y = self.act(x)
        z = self.other(y)
        return F.relu(z) + y
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
    def forward(self, x):
        return self.act(torch.sigmoid(x) - 0.2) * torch.sigmoid(F.relu(x) + x)
model = nn.Sequential(
    Stem(), Block(64, 16), nn.Conv2d(16, 64, 1), nn.ReLU(), nn.AvgPool2d(4), Gate(), nn.Flatten(), nn.Linear(64, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
tensors = lambda n: (torch.randn(n, 3, 32, 32), torch.randint(10, (n,)))
"""
)

POOLS = LOOP.format(
    model="""
class Tail(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.pool, self.act, self.last = nn.Conv2d(32, 32, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(32, 32, 3)
    def forward(self, x):
        x = self.pool(F.relu(self.conv(x)))
        x = F.max_pool2d(self.act(self.last(x)), 3, stride=1)
        return F.avg_pool2d(F.relu(x), 2)
def stage(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
model = nn.Sequential(stage(3, 32), stage(32, 32), Tail(), nn.Flatten(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
tensors = lambda n: (torch.randn(n, 3, 48, 48), torch.randint(10, (n,)))
"""
)

# Kind: the script, what its edit changes, the layers.
CASES: dict[str, tuple[str, list[Change], list[str]]] = {
    "no_conv_bias": (
        NORMS,
        [
            ("nn.Conv2d(i, o, 3, padding=1)", "nn.Conv2d(i, o, 3, padding=1, bias=False)"),
            ("nn.Conv2d(3, 16, 3, padding=1, bias=True)", "nn.Conv2d(3, 16, 3, padding=1, bias=False)"),
            ("nn.Linear(32 * 64, 64)", "nn.Linear(32 * 64, 64, bias=False)"),
        ],
        ["0", "2.conv", "3.conv", "5"],
    ),
    "inplace_relu": (
        RELUS,
        [
            ("nn.BatchNorm2d(o), nn.ReLU()", "nn.BatchNorm2d(o), nn.ReLU(inplace=True)"),
            ("self.pool(F.relu(x))", "self.pool(F.relu(x, inplace=True))"),
            ("return F.relu(z) + y", "return F.relu(z, inplace=True) + y"),
            ("        self.act = nn.ReLU()", "        self.act = nn.ReLU(inplace=True)"),
            ("nn.Conv2d(16, 64, 1), nn.ReLU()", "nn.Conv2d(16, 64, 1), nn.ReLU(inplace=True)"),
        ],
        ["0", "1.act", "1", "3", "5.act"],
    ),
    "pool_before_relu": (
        POOLS,
        [
            ("nn.ReLU(), nn.MaxPool2d(2))", "nn.MaxPool2d(2), nn.ReLU())"),
            ("self.pool(F.relu(self.conv(x)))", "F.relu(self.pool(self.conv(x)))"),
            ("F.max_pool2d(self.act(self.last(x)), 3, stride=1)", "self.act(F.max_pool2d(self.last(x), 3, stride=1))"),
        ],
        ["0.1", "0.2", "1.1", "1.2", "2", "2.pool", "2.act"],
    ),
}

# The same weights for layers of the same name, and a loss after each step.
EQUAL = """
import zlib
for name, weight in model.named_parameters():
    seed = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    weight.data = torch.randn(weight.shape, generator=seed) * 0.1
torch.manual_seed(0)
losses = []
for x, y in"""
TELL = "\n    losses.append(loss.item())\nimport json\nprint(json.dumps(losses))"


def losses(text: str) -> list[float]:
    short = text.replace("\nfor x, y in", EQUAL).replace("tensors(160)", "tensors(40)")
    done = subprocess.run([PYTHON, "-c", short.rstrip() + TELL], capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout)
    assert len(found) == 5
    return found


@pytest.mark.parametrize("kind", CASES)
def test_the_edited_layers_train_as_before(tmp_path: Path, kind: str) -> None:
    script, changes, modules = CASES[kind]
    folder = tmp_path / "work"
    was = record(folder, script)
    item = row(answer(folder, kind)["items"], kind)
    assert item["peak_was_bytes"] == was
    assert item["modules"] == modules
    shown = ask(folder, kind, "--apply", "--dry-run")
    assert shown.returncode == 0 and (folder / "train.py").read_text() == script
    done = ask(folder, kind, "--apply")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (folder / "train.py").read_text()
    assert text == changed(script, changes)
    assert losses(text) == pytest.approx(losses(script), rel=1e-4)
    assert item["peak_bytes"] == record(tmp_path / "after", text) < was
    assert row(answer(tmp_path / "after", kind)["refused"], kind)["reason"]


@pytest.mark.parametrize("name", ["as it was made", "train() in each epoch"])
def test_batch_norms_are_in_evaluation_mode_from_the_first_step(tmp_path: Path, name: str) -> None:
    script, indentation = NORMS, ""
    if name == "train() in each epoch":
        head, _, loop = NORMS.partition("for x, y in")
        body = "    model.train()\n    for x, y in" + loop.replace("\n    ", "\n        ")
        script, indentation = head + "for epoch in range(2):\n" + body, "    "
    folder = tmp_path / "work"
    record(folder, script)
    item = row(answer(folder, "batch_norm_eval")["items"], "batch_norm_eval")
    done = ask(folder, "batch_norm_eval", "--apply")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [
        "for each_norm in model.modules():",
        "    if isinstance(each_norm, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):",
        "        each_norm.eval()",
    ]
    added = "".join(f"{indentation}{line}\n" for line in lines)
    before = "    for x, y in" if indentation else "optimizer = torch"
    text = (folder / "train.py").read_text()
    assert text == changed(script, [(before, added + before)])
    assert item["peak_bytes"] == pytest.approx(record(tmp_path / "after", text), rel=0.001)
    assert row(answer(tmp_path / "after", "batch_norm_eval")["refused"], "batch_norm_eval")["reason"]
