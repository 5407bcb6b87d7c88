"""The arithmetic of a training step in `hotlens report`, counted a second way: by torch's own counter, and by hand.

torch counts no recurrent layers, of causal attention the masked half too, and weight gradients of grouped convolutions as if they had one
group: of those the hand count stands in the test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from shell import Run
from test_devices import row
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.flop_counter import FlopCounterMode


class Grouped(nn.Module):
    """Depthwise and grouped, as in MobileNet and ResNeXt."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.Conv2d(16, 16, 3, padding=2, dilation=2, groups=16),
            nn.Hardswish(),
            nn.Conv2d(16, 32, 1),
            nn.Conv2d(32, 32, 3, padding=1, groups=4),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).mean()


class UNet(nn.Module):
    """Down, up by a transposed convolution, and a skip."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up, self.out = (
            nn.Conv2d(3, 8, 4, stride=2, padding=1),
            nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1),
            nn.Conv2d(6, 2, 3),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.cat([x, self.up(F.relu(self.down(x)))], 1)).mean()


class Sound(nn.Module):
    """One and three dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.three = nn.Conv1d(3, 8, 5, stride=3), nn.Conv3d(1, 4, (2, 3, 3), padding=(0, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.one(x.flatten(2)).mean() + self.three(x.unsqueeze(1)).mean()


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 10, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.layers(x), torch.zeros(len(x), dtype=torch.long))


class Composed(nn.Module):
    """Attention from products and a softmax, over patches of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.mixed = nn.Conv2d(3, 24, 4, stride=4), nn.Linear(24, 72)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.mixed(self.patches(x).flatten(2).transpose(1, 2)).chunk(3, -1)
        return (torch.softmax(q @ k.transpose(1, 2), -1) @ v).mean()


class Bilinear(nn.Module):
    """Matrices times vectors, batches with a bias, einsum."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.vector = nn.Parameter(torch.randn(16, 16)), nn.Parameter(torch.randn(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x[:, 0]
        return torch.baddbmm(x, x, torch.einsum("bij,jk->bik", x, self.weight)).mean() + (x[0] @ self.weight).mean()


class Attention(nn.Module):
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.mixed, self.causal = nn.Linear(16, 48), causal

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in self.mixed(x.flatten(1, 2)).chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).mean()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = nn.LSTM(16, 12, num_layers=2, bidirectional=True), nn.GRU(24, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.gru(self.lstm(x[:, 0].transpose(0, 1))[0])[0]
        return y.mean()


def images() -> torch.Tensor:
    return torch.randn(4, 3, 16, 16)


def step(model: nn.Module, x: torch.Tensor) -> None:
    model.zero_grad()
    model(x).backward()


def counted_by_torch(model: nn.Module, x: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter:
        step(model, x)
    return counter.get_total_flops()


def trace_of(file: Path, model: nn.Module, x: torch.Tensor) -> Path:
    step(model, x)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as done, record_function("ProfilerStep#0"):
        step(model, x)
    done.export_chrome_trace(str(file))
    return file


def costs_of(hotlens: Run, trace: Path) -> dict[str, Any]:
    result = hotlens("report", trace, "--format", "json")
    assert result.returncode == 0, result.stderr
    costs: dict[str, Any] = json.loads(result.stdout)["costs"]
    return costs


@pytest.mark.parametrize("model", [UNet, Sound, Perceptron, Composed, Bilinear], ids=lambda model: model.__name__)
def test_a_step_has_the_arithmetic_that_torch_counts(hotlens: Run, tmp_path: Path, model: Callable[[], nn.Module]) -> None:
    made = model()
    costs = costs_of(hotlens, trace_of(tmp_path / "x.json", made, images()))
    assert costs["flops"] == counted_by_torch(made, images())
    assert costs["coverage"] > 0.5


def test_grouped_convolutions_have_the_arithmetic_of_a_hand_count(hotlens: Run, tmp_path: Path) -> None:
    """Elements of each result times its window, in forward; twice that in backward, without the gradient of the images."""
    costs = costs_of(hotlens, trace_of(tmp_path / "x.json", Grouped(), images()))
    first, depthwise, pointwise, grouped = 4 * 16 * 64 * 27, 4 * 16 * 64 * 9, 4 * 32 * 64 * 16, 4 * 32 * 64 * 8 * 9
    assert costs["flops"] == 2 * (3 * (first + depthwise + pointwise + grouped) - first)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_has_the_arithmetic_of_a_hand_count(hotlens: Run, tmp_path: Path, causal: bool) -> None:
    """Heads of 8 over 48 positions; of a causal one half the pairs and half the diagonal. Forward two products, backward five."""
    costs = costs_of(hotlens, trace_of(tmp_path / "x.json", Attention(causal), images()))
    pairs = 48 * 49 // 2 if causal else 48 * 48
    [forward] = [kind["flops"] for kind in costs["kinds"] if kind["work"] == "attention"]
    assert forward == (2 + 5) * 2 * 4 * 2 * pairs * 8


def test_recurrent_layers_have_the_arithmetic_of_a_hand_count(hotlens: Run, tmp_path: Path) -> None:
    """16 steps of 4 sequences; four gates of 12 in two layers and directions, three gates of 10. Backward is twice forward."""
    costs = costs_of(hotlens, trace_of(tmp_path / "x.json", Recurrent(), images()))
    lstm = 2 * 64 * 2 * 48 * ((16 + 12) + (24 + 12))
    gru = 2 * 64 * 30 * (24 + 10)
    by_work = {kind["work"]: kind["flops"] for kind in costs["kinds"]}
    assert by_work["recurrent"] == 3 * lstm
    assert by_work["product"] == 3 * gru - 2 * 4 * 30 * 10  # the first state wants no gradient


def test_a_measured_device_gives_shares_and_a_wrong_one_says_so(hotlens: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "cache/hotlens/devices"
    folder.mkdir(parents=True)
    (tmp_path / "train.py").write_text(
        "import torch\nfrom torch import nn\nmodel = nn.Linear(512, 512)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "for _ in range(30):\n    optimizer.zero_grad()\n    model(torch.randn(512, 512)).sum().backward()\n    optimizer.step()\n"
    )
    result = hotlens("run", "--python", os.environ["HOTLENS_TEST_PYTHON"], "--steps", "2", "--warmup", "1", "train.py")
    assert result.returncode == 0, result.stderr
    without = hotlens("report").stdout
    assert "Arithmetic and bytes, shapes known for" in without
    assert "are kept: run hotlens bench-device there" in without
    device = json.loads(hotlens("report", "--format", "json").stdout)["profile"]["devices"][0]["name"]
    threads = json.loads(next((tmp_path / ".hotlens/profiles").glob("*/manifest.json")).read_text())["threads"]

    def keep(gemm: float) -> None:
        (folder / "x.json").write_text(json.dumps(row(device, gemm, 1e14, threads=threads)))

    keep(1e15)
    report = json.loads(hotlens("report", "--format", "json").stdout)
    assert 0 < report["costs"]["kinds"][0]["of_peak"] < 1
    [linear] = [module for module in report["modules"] if module["class"] == "Linear"]
    assert linear["costs"]["forward"]["flops"] == 2 * 512**3
    assert linear["costs"]["backward"]["flops"] == 2 * 512**3  # of the weight: the input wants no gradient
    keep(1e6)
    report = json.loads(hotlens("report", "--format", "json").stdout)
    assert "the measurement does not fit this run" in report["costs"]["misfit"]
    assert "of_peak" not in report["costs"]["kinds"][0]
