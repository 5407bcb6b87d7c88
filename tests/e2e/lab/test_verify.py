"""`hotlens whatif --verify`: the script run before and after a change, the file untouched, the outcome in the ledger."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import CACHE, HOTLENS, PYTHON, Done
from gated import SCRIPT as SCRIPT_GATED
from warm import interpreter

# Dropout is most of the step, so that taking it away is a gain beyond any noise.
SCRIPT = """\
import torch
from torch import nn

{seed}
model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.1), nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
x, y = torch.randn(4096, 64), torch.randint(8, (4096,))
for step in range(40):
    optimizer.zero_grad()
    out = model[1](x.repeat(8, 1)).view(8, 4096, 64).sum(0)
    loss = nn.functional.cross_entropy(model(out), y)
    loss.backward()
    optimizer.step()
"""


def ask(folder: Path, *arguments: str) -> Done:
    settings = {**os.environ, "XDG_CACHE_HOME": str(CACHE)}
    return subprocess.run([HOTLENS, *arguments], cwd=folder, capture_output=True, text=True, timeout=900, env=settings)


def profiled(folder: Path, script: str, *words: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(script)
    done = ask(folder, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "train.py", *words)
    assert done.returncode == 0, done.stderr
    return folder


def verified(folder: Path, kind: str, *words: str) -> tuple[dict[str, Any], str]:
    done = ask(folder, "whatif", kind, "--verify", "--python", PYTHON, "--format", "json", *words)
    assert done.returncode == 0, done.stderr
    (item,) = json.loads(done.stdout)["items"]
    return item, done.stderr


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return profiled(tmp_path_factory.mktemp("verify") / "work", SCRIPT.format(seed="torch.manual_seed(0)"))


def test_a_gain_is_verified_kept_and_reported(seeded: Path) -> None:
    script = (seeded / "train.py").read_text()
    item, said = verified(seeded, "no_dropout")
    assert "4 to 20 pairs" in said and "pair 4: " in said
    assert item["state"] == "verified"
    assert item["verified"]["faster"] and item["verified"]["high"] < 1
    assert item["verified"]["losses"] == "unknown"  # without dropout they are others
    assert (seeded / "train.py").read_text() == script

    rows = [json.loads(line) for line in (seeded / ".hotlens/ledger.jsonl").read_text().splitlines()]
    assert [row["event"] for row in rows] == ["predicted", "verified"]
    assert rows[0]["ratio"] == pytest.approx(item["ratio"])
    record = ask(seeded, "report", "--track-record", "--format", "json")
    (outcome,) = json.loads(record.stdout)["outcomes"]
    assert outcome["error"] == pytest.approx(item["ratio"] / item["verified"]["ratio"] - 1)
    text = ask(seeded, "report", "--track-record").stdout
    assert "no_dropout" in text and "predicted " in text and "verified " in text


MANY_SMALL_OPERATORS = """\
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(64, 64), nn.Linear(64, 8)

    def forward(self, x):
        x = self.first(x)
        for _ in range(12):
            x = x * 1.01 + 0.1
        return self.last(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x, y = torch.randn(16384, 64), torch.randint(8, (16384,))
for step in range(30):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles with a C++ compiler")
def test_what_no_replay_knows_is_measured_with_what_its_start_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    work = profiled(tmp_path / "compiled", MANY_SMALL_OPERATORS)
    listed = json.loads(ask(work, "whatif", "list", "--format", "json").stdout)["items"]
    (known,) = [row for row in listed if row["kind"] == "compile"]
    assert "ratio" not in known and "no replay knows" in known["evidence"][0]["what"]
    item, said = verified(work, "compile", "--apply")
    assert "replaying" not in said
    assert item["state"] == "applied" and item["verified"]["faster"]
    assert item["verified"]["losses"] in ("equal", "close")
    assert item["verified"]["startup_longer_ns"] > 1e9 and item["verified"]["pays_back_after"] > 0
    assert "model.compile()\noptimizer = " in (work / "train.py").read_text()
    (row,) = [json.loads(line) for line in (work / ".hotlens/ledger.jsonl").read_text().splitlines() if '"verified"' in line]
    assert row["kind"] == "compile"


def test_states_of_a_time_loop_in_chunks_train_the_same_model(tmp_path: Path) -> None:
    work = profiled(tmp_path / "gated", SCRIPT_GATED.format(shape=(4, 100, 16), dtype="float64"))
    run = lambda: float(subprocess.run([PYTHON, "train.py"], cwd=work, capture_output=True, text=True, check=True).stdout)  # noqa: E731
    before = run()
    done = ask(work, "whatif", "scan_time", "--apply")
    assert done.returncode == 0, done.stderr
    assert ":17: `for t in range(x.size(1)): … 2 lines more` → `all_states = scan_steps(" in done.stdout
    assert run() == pytest.approx(before, rel=1e-9)
    again = ask(work, "whatif", "scan_time", "--apply")
    assert again.returncode != 0 and "has changed since it was profiled" in again.stdout


def test_what_did_not_become_faster_is_not_applied_and_its_losses_are_compared(seeded: Path) -> None:
    """The update is next to nothing here: fused or not, the step takes as long."""
    script = (seeded / "train.py").read_text()
    item, said = verified(seeded, "fused_optimizer", "--apply", "--limit", "1")
    assert item["state"] == "verified"
    assert item["verified"]["losses"] in ("equal", "close")
    assert "not applied" in said
    assert (seeded / "train.py").read_text() == script


def test_a_limit_that_is_too_short_is_told_before_anything_runs(tmp_path: Path) -> None:
    slow = SCRIPT.format(seed="import time\ntime.sleep(9)")
    work = profiled(tmp_path / "slow", slow)
    done = ask(work, "whatif", "no_dropout", "--verify", "--python", PYTHON, "--limit", "1")
    assert done.returncode == 3
    assert "the limit is" in done.stderr and "--limit MINUTES" in done.stderr


def test_a_script_that_fails_in_a_run_says_so(tmp_path: Path) -> None:
    work = profiled(tmp_path / "once", SCRIPT.format(seed="import os\nassert not os.path.exists('stop'), 'stopped'"))
    (work / "stop").touch()
    done = ask(work, "whatif", "no_dropout", "--verify", "--python", PYTHON)
    assert done.returncode == 4
    assert "AssertionError: stopped" in done.stderr


def test_a_run_with_a_hidden_secret_is_not_repeated(tmp_path: Path) -> None:
    work = profiled(tmp_path / "secret", SCRIPT.format(seed=""), "--api-key", "abcdef")
    done = ask(work, "whatif", "no_dropout", "--verify", "--python", PYTHON)
    assert done.returncode == 3
    assert "secret" in done.stderr


def test_eight_outcomes_of_a_kind_give_its_interval(seeded: Path) -> None:
    """They were off by a fifth: so may this one be, and it says so."""
    ledger = seeded / ".hotlens/ledger.jsonl"
    kept = ledger.read_text() if ledger.exists() else ""
    try:
        with ledger.open("w") as out:
            for at in range(8):
                row = {
                    "schema": "hotlens.ledger/1",
                    "time": "2026-11-24T10:00:00Z",
                    "profile": f"p{at}",
                    "kind": "no_dropout",
                    "torch": "2",
                }
                out.write(json.dumps({**row, "event": "predicted", "method": "replay", "ratio": 0.8, "low": 0.78, "high": 0.82}) + "\n")
                out.write(json.dumps({**row, "event": "verified", "ratio": 0.96, "low": 0.95, "high": 0.97, "pairs": 4}) + "\n")
        done = ask(seeded, "whatif", "no_dropout", "--python", PYTHON, "--format", "json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        (item,) = answer["items"]
        assert item["interval"] == "as 8 such changes turned out here: 8 of them within 20.0 %"
        assert item["high"] / item["ratio"] >= 1.19
        if not answer["warnings"]:
            assert item["ratio"] / item["low"] == pytest.approx(item["high"] / item["ratio"])
        assert json.loads(ledger.read_text().splitlines()[-1])["interval"] == item["interval"]
    finally:
        ledger.write_text(kept)
