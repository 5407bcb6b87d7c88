"""`hotlens whatif --apply` on a real profile: the source has exactly the edit, and runs with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import CACHE, HOTLENS, PYTHON, Done
from warm import interpreter

SCRIPT = """\
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(), nn.Dropout(0.1), nn.Flatten(), nn.Linear(8 * 256, 10))
optimizer = torch.optim.Adam(model.parameters())  # é
data = TensorDataset(torch.randn(800, 3, 16, 16), torch.randint(10, (800,)))
for x, y in DataLoader(data, batch_size=8):
    out = model(x)
    loss = F.cross_entropy(
        out, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
"""

# Kind: what is replaced by what.
EDITS = {
    "fused_optimizer": [("parameters())", "parameters(), fused=True)")],
    "foreach_optimizer": [("parameters())", "parameters(), foreach=True)")],
    "no_dropout": [("Dropout(0.1)", "Dropout(0.0)")],
    "gelu_to_relu": [("GELU()", "ReLU()")],
    "zero_grad_none": [("set_to_none=False", "set_to_none=True")],
    "channels_last": [
        ("optimizer = torch", "model.to(memory_format=torch.channels_last)\noptimizer = torch"),
        ("model(x)", "model(x.to(memory_format=torch.channels_last))"),
    ],
    "autocast_bf16": [
        (
            "    out = model(x)\n    loss = F.cross_entropy(\n        out, y)",
            '    with torch.autocast("cpu", torch.bfloat16):\n        out = model(x)\n        loss = F.cross_entropy(\n            out, y)',
        )
    ],
    "fused_optimizer+no_dropout": [("parameters())", "parameters(), fused=True)"), ("Dropout(0.1)", "Dropout(0.0)")],
}


def edited(changes: list[tuple[str, str]]) -> str:
    text = SCRIPT
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def record(folder: Path) -> None:
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="session")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("apply") / "work"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    record(folder)
    return folder


def whatif(folder: Path, *arguments: str) -> Done:
    settings = {**os.environ, "XDG_CACHE_HOME": str(CACHE)}
    return subprocess.run([HOTLENS, "whatif", *arguments], cwd=folder, capture_output=True, text=True, timeout=300, env=settings)


def document(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", EDITS)
def test_a_change_edits_exactly_what_it_names_and_the_script_runs(profiled: Path, kind: str) -> None:
    source = profiled / "train.py"
    dry = whatif(profiled, kind, "--apply", "--dry-run", "--format", "json")
    assert dry.returncode == 0, dry.stdout + dry.stderr
    assert source.read_text() == SCRIPT
    (item,) = document(dry)["items"]
    assert item["state"] == "open"
    assert all(edit["file"] == str(source) for edit in item["edits"])
    try:
        done = whatif(profiled, kind, "--apply")
        assert done.returncode == 0, done.stderr
        assert "applied: " in done.stdout
        assert source.read_text() == edited(EDITS[kind])
        run = [PYTHON, "-c", source.read_text().replace("800", "16")]
        subprocess.run(run, cwd=profiled, check=True, capture_output=True)
        again = whatif(profiled, kind, "--apply", "--format", "json")
        assert again.returncode == 3
        assert "has changed since it was profiled" in document(again)["refused"][0]["reason"]
    finally:
        source.write_text(SCRIPT)


NO_TORCH = (
    SCRIPT.replace("import torch\n", '"""Trains."""\nfrom __future__ import annotations\n', 1)
    .replace("torch.manual_seed(0)", "manual_seed(0)")
    .replace("torch.optim.Adam", "Adam")
    .replace("torch.rand", "rand")
    .replace(
        "DataLoader, TensorDataset\n",
        "DataLoader, TensorDataset\nfrom torch import manual_seed, randint, randn\nfrom torch.optim import Adam\n",
    )
)


@pytest.mark.parametrize("kind", ["channels_last", "autocast_bf16"])
def test_an_edit_that_needs_torch_imports_it_and_the_script_runs(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "train.py"
    source.write_text(NO_TORCH)
    assert "import torch\n" not in NO_TORCH and "torch." not in NO_TORCH.split("manual_seed(0)")[1]
    record(tmp_path)
    done = whatif(tmp_path, kind, "--apply", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    (item,) = document(done)["items"]
    assert item["edits"][-1]["text"] == "\nimport torch"
    text = source.read_text()
    assert text.startswith('"""Trains."""\nfrom __future__ import annotations\n')
    assert "from torch.optim import Adam\nimport torch\n" in text
    subprocess.run([PYTHON, "-c", text.replace("800", "16")], cwd=tmp_path, check=True, capture_output=True)


def test_a_change_without_a_safe_edit_says_what_to_do_by_hand(tmp_path: Path) -> None:
    script = SCRIPT.replace("for x, y in", "for part in (model,):\n    part.train()\nfor x, y in")
    (tmp_path / "train.py").write_text(script)
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "1", "train.py"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    done = whatif(tmp_path, "batch_norm_eval", "--apply")
    assert done.returncode == 3
    assert "by hand: call eval()" in done.stdout
    assert (tmp_path / "train.py").read_text() == script


def test_a_file_that_is_read_only_stays_as_it_is(profiled: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes everything")
    (profiled / "train.py").chmod(0o444)
    try:
        done = whatif(profiled, "fused_optimizer", "--apply")
        assert done.returncode == 3 and "read-only" in done.stdout
    finally:
        (profiled / "train.py").chmod(0o644)


@pytest.mark.parametrize(
    "words", [["--apply"], ["list", "--apply"], ["fused_optimizer,no_dropout", "--apply"], ["no_dropout", "--dry-run"]]
)
def test_one_change_is_applied_at_a_time(profiled: Path, words: list[str]) -> None:
    assert whatif(profiled, *words).returncode == 2
    assert (profiled / "train.py").read_text() == SCRIPT


def test_an_optimizer_of_a_library_is_not_edited(tmp_path: Path) -> None:
    library = tmp_path / "lib"
    library.mkdir()
    (library / "made.py").write_text("import torch\n\ndef make(parameters):\n    return torch.optim.Adam(parameters)\n")
    script = SCRIPT.replace("torch.optim.Adam(", "made.make(").replace("import torch\n", "import torch\nimport made\n", 1)
    work = tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text(script)
    command = [HOTLENS, "run", "--python", PYTHON, "--warmup", "1", "--steps", "1", "train.py"]
    subprocess.run(command, cwd=work, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(library)})
    done = whatif(work, "fused_optimizer", "--apply")
    assert done.returncode == 3
    assert "a library makes the optimizer; by hand: give the optimizer fused=True" in done.stdout
    shutil.rmtree(work)


def seen_rows(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / ".hotlens/ledger.jsonl").read_text().splitlines()]
    return [row for row in rows if row["event"] in ("seen", "unseen")]


def recorded_again(folder: Path) -> str:
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "train.py"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stderr


def test_the_next_profile_after_a_change_says_what_it_takes_now(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    record(tmp_path)
    assert whatif(tmp_path, "no_dropout", "--apply").returncode == 0
    said = recorded_again(tmp_path)
    assert "hotlens: no_dropout is in this profile: " in said
    (row,) = seen_rows(tmp_path)
    profiles = sorted(folder.name for folder in tmp_path.glob(".hotlens/profiles/2*"))
    assert [row["profile"], row["after"]] == profiles
    assert row["ratio"] == pytest.approx(row["step_ns"] / row["step_was_ns"]) and row["low"] < row["ratio"] < row["high"]
    recorded_again(tmp_path)  # no news
    assert len(seen_rows(tmp_path)) == 1
    report = subprocess.run([HOTLENS, "report", "--track-record"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "  not predicted  seen " in report and profiles[1] in report


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: SCRIPT, "the change is not in train.py any more"),
        (lambda text: text.replace("batch_size=8", "batch_size=4"), "train.py was changed elsewhere as well, or otherwise"),
    ],
)
def test_a_change_that_was_taken_back_or_has_company_is_not_counted(tmp_path: Path, change: Any, reason: str) -> None:
    source = tmp_path / "train.py"
    source.write_text(SCRIPT)
    record(tmp_path)
    assert whatif(tmp_path, "no_dropout", "--apply").returncode == 0
    source.write_text(change(source.read_text()))
    assert reason in recorded_again(tmp_path)
    (row,) = seen_rows(tmp_path)
    assert row["event"] == "unseen" and row["reason"] == reason and "ratio" not in row
    report = subprocess.run([HOTLENS, "report", "--track-record"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert f"not counted in {row['after']}: {reason}" in report


SLOW_DATA = """\
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, at):
        time.sleep(0.002)
        return torch.ones(16), 1


model = nn.Sequential(nn.Linear(16, 2000), nn.ReLU(), nn.Linear(2000, 2000), nn.ReLU(), nn.Linear(2000, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Slow(), batch_size=10):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def test_what_a_rule_foretold_of_a_change_that_is_made_is_kept_and_seen(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SLOW_DATA)
    record(tmp_path)
    ledger = tmp_path / ".hotlens/ledger.jsonl"
    assert whatif(tmp_path, "loader_workers", "--apply", "--dry-run").returncode == 0
    assert not ledger.exists()
    assert whatif(tmp_path, "loader_workers", "--apply").returncode == 0
    foretold, applied = (json.loads(line) for line in ledger.read_text().splitlines())
    assert foretold["event"] == "predicted" and foretold["method"] in ("profile", "bound") and foretold["ratio"] < 0.98
    assert applied["event"] == "applied" and "num_workers" in applied["edits"][0]["text"]
    assert "loader_workers is in this profile" in recorded_again(tmp_path)
    command = [HOTLENS, "report", "--track-record", "--format", "json"]
    told = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout)
    (outcome,) = told["outcomes"]
    assert outcome["method"] == foretold["method"] and outcome["predicted"]["ratio"] == pytest.approx(foretold["ratio"])
    assert outcome["seen"]["ratio"] > 0 and told["kinds"][0]["kind"] == "loader_workers"
