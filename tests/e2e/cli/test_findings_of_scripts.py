"""What a recorded script gives evidence for, at the line that would change, and its hover in the editor."""

from __future__ import annotations

import json
from pathlib import Path

from shell import Run, record

SCRIPT = """\
import math
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Words(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, at):
        return torch.randn(192, 48).sort(0).values.sort(1).values.cumsum(0), at % 10


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.up, self.down, self.head = nn.Linear(48, 144), nn.Linear(48, 192), nn.Linear(192, 48), nn.Linear(48, 10)
        self.decay = nn.Parameter(torch.rand(48))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(48)
        weights = F.softmax(scores, -1)
        x = x + weights @ v
        h = self.up(x)
        h = 0.5 * h * (1.0 + torch.tanh(0.8 * (h + 0.044715 * torch.pow(h, 3.0))))
        x, state = self.down(h), 0.0
        for t in range(192):
            state = self.decay * state + x[:, t]
        return self.head(state)


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in DataLoader(Words(), batch_size=8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""

LINES = {
    "unbind_time": "            state = self.decay * state + x[:, t]",
    "fused_attention": "        weights = F.softmax(scores, -1)",
    "gelu_tanh": "        h = 0.5 * h * (1.0 + torch.tanh(0.8 * (h + 0.044715 * torch.pow(h, 3.0))))",
    "loader_workers": "for x, y in DataLoader(Words(), batch_size=8):",
}


def test_findings_stand_at_the_lines_that_would_change(hotlens: Run, tmp_path: Path) -> None:
    record(hotlens, tmp_path, SCRIPT)
    lines = SCRIPT.splitlines()
    found = json.loads(hotlens("report", "--format", "json").stdout)["findings"]
    items = [item for item in found if item["kind"] != "keep_freed"]  # a variable of the command has no line
    places = {item["kind"]: lines[item["line"]] for item in items}
    told = {kind: line for kind, line in places.items() if kind in LINES}
    assert told, "the step has all of it, at least one is worth telling"
    assert told == {kind: LINES[kind] for kind in told}
    assert "unbind_time" in told
    assert all(item["file"] == str(tmp_path / "train.py") for item in items)
    for item in items:  # a bound, or of the loader more where a processor was free
        assert item["low"] <= item["ratio"] <= item["high"]
        assert item["bound"] or item["kind"] == "loader_workers"
        assert not item["bound"] or item["high"] == 1
    # The hover of the line says the largest.
    file = json.loads(hotlens("check", "train.py", "--format", "json").stdout)["files"][0]
    hover = "\n".join(hover["markdown"] for hover in file["hovers"] if lines[hover["line"]] == LINES["unbind_time"])
    assert "Could help, at most" in hover
    assert "Take time steps apart once" in hover
    # What one argument sets is edited; of the rest it is said how to do it by hand.
    if "loader_workers" in told:
        (item,) = json.loads(hotlens("whatif", "loader_workers", "--apply", "--dry-run", "--format", "json").stdout)["items"]
        (edit,) = item["edits"]
        assert lines[edit["line"]] == LINES["loader_workers"] and edit["text"].startswith(", num_workers=")
        assert "ratio" not in item, "a bound is no prediction"
        assert (tmp_path / "train.py").read_text() == SCRIPT
    apart = hotlens("whatif", "unbind_time", "--apply", "--dry-run")
    assert apart.returncode == 0 and "`x_steps = x.unbind(1)` added" in apart.stdout
    fused = hotlens("whatif", "fused_attention", "--apply", "--dry-run")
    assert fused.returncode == 0 and "`weights @ v` → `F.scaled_dot_product_attention(q, k, v, scale=1.0 / math.sqrt(48))`" in fused.stdout
    refused = hotlens("whatif", "gelu_to_relu", "--apply")
    assert refused.returncode == 3 and "GELU" in refused.stdout
    never = hotlens("whatif", "pin_memory", "--apply")
    assert never.returncode == 3 and "no evidence that it would help" in never.stdout


def test_without_the_evidence_nothing_is_said(hotlens: Run, tmp_path: Path) -> None:
    plain = SCRIPT.replace("for t in range(192):", "for step in x.unbind(1):").replace("x[:, t]", "step")
    plain = plain.replace("0.5 * h * (1.0 + torch.tanh(0.8 * (h + 0.044715 * torch.pow(h, 3.0))))", 'F.gelu(h, approximate="tanh")')
    plain = plain.replace("weights @ v", "F.scaled_dot_product_attention(q, k, v)").replace("weights = F.softmax(scores, -1)", "pass")
    record(hotlens, tmp_path, plain)
    kinds = {item["kind"] for item in json.loads(hotlens("report", "--format", "json").stdout)["findings"]}
    assert not kinds & {"unbind_time", "gelu_tanh", "fused_attention"}
