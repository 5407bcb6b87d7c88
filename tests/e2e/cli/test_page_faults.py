"""Steps that pay for the same memory over and over: told with the setting that ends it, which is verified by running the script with it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from shell import Run, record

# Whatever lies on the heap, glibc maps so large a block by itself and gives it back when it is freed (`M_MMAP_THRESHOLD` of mallopt(3)).
SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 4096)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(2100, 8)
for step in range(60):
    loss = model(x).relu().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
KEEP = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "1073741824"}


def recorded(hotlens: Run, folder: Path) -> dict[str, Any]:
    record(hotlens, folder, SCRIPT, "--warmup", "8")
    report: dict[str, Any] = json.loads(hotlens("report", "--format", "json").stdout)
    return report


def test_the_report_says_so_and_names_the_setting_and_runs_with_it_verify_it(hotlens: Run, tmp_path: Path) -> None:
    report = recorded(hotlens, tmp_path)
    faults = report["profile"]["page_faults"]
    pages = 2100 * 4096 * 4 // 4096
    assert faults["count"] >= pages
    assert faults["time_ns"] == min(faults["count"] * faults["each_ns"], faults["step_ns"])
    (found,) = [one for one in report["findings"] if one["kind"] == "keep_freed"]
    assert found["bound"] and found["low"] == pytest.approx(1 - faults["time_ns"] / faults["step_ns"], abs=0.02)
    text = hotlens("report").stdout
    assert f"page faults: {faults['count']} a step" in text
    assert " ".join(f"{name}={value}" for name, value in KEEP.items()) in text

    refused = hotlens("whatif", "keep_freed", "--apply")
    assert refused.returncode == 3 and "by hand: begin the command with MALLOC_MMAP_THRESHOLD_=1073741824" in refused.stdout
    python = os.environ["HOTLENS_TEST_PYTHON"]
    command = [os.environ["HOTLENS_BIN"], "whatif", "keep_freed", "--verify", "--python", python, "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    (item,) = json.loads(done.stdout)["items"]
    assert item["verified"]["faster"] and item["state"] == "verified"
    assert found["low"] <= item["verified"]["high"], "no more than the bound"
    assert (tmp_path / "train.py").read_text() == SCRIPT


def test_where_the_setting_is_made_nothing_is_said(hotlens: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEEP.items():
        monkeypatch.setenv(name, value)
    report = recorded(hotlens, tmp_path)
    assert "keep_freed" not in {one["kind"] for one in report["findings"]}
    assert "MALLOC_" not in hotlens("report").stdout
