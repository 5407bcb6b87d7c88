"""`hotlens.analyze(model)` as the `on_trace_ready` of a profiler that the user runs; and the verbs of `python -m hotlens`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import RECORDER, Bundle, bundles_in, environment
from hotlens.cli import cut, parse
from test_bundle import check_bundle
from test_map_step import check_nesting, markers, operators, step_ranges

SCRIPT = """\
import hotlens
import torch
from torch import nn
from torch.profiler import profile, schedule

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.b = nn.Linear(16, 3)

    def forward(self, x):
        return self.b(self.a(x).relu())


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
with profile(SCHEDULE on_trace_ready=hotlens.analyze(model, criterion)) as p:
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = criterion(model(torch.randn(8, 8)), torch.randint(0, 3, (8,)))
        loss.backward()
        optimizer.step()
        p.step()
print("end", step, "step" in vars(p))
"""
WINDOW = "schedule=schedule(wait=1, warmup=1, active=3, repeat=1),"


def profiled(folder: Path, schedule: str, steps: int) -> list[Bundle]:
    (folder / "train.py").write_text(SCRIPT.replace("SCHEDULE", schedule).replace("STEPS", str(steps)))
    path = os.pathsep.join([str(RECORDER.parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, env=environment(PYTHONPATH=path), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0 and done.stdout.startswith(f"end {steps - 1} "), done.stderr
    assert done.stdout.endswith("False\n") or steps < 12, "the profiler is not as it was"
    return bundles_in(folder)


def test_a_profiler_of_the_users_leaves_a_whole_bundle(tmp_path: Path) -> None:
    (bundle,) = profiled(tmp_path, WINDOW, 12)
    check_bundle(bundle)
    check_nesting(markers(bundle))
    manifest = bundle.manifest
    assert manifest["step"]["by"] == "profiler" and manifest["steps_measured"] == 3 and manifest["warnings"] == []
    (mapped,) = step_ranges(bundle.trace("trace-map.json.gz"))
    clean = bundle.trace("trace-0.json.gz")
    expected = operators(bundle.trace("trace-map.json.gz"), mapped)
    assert len(expected) > 20 and [operators(clean, s) for s in step_ranges(clean)] == [expected] * 3
    assert bundle.stages()["backward"] == ["loss.backward()"] and bundle.stages()["loss"][0].startswith("criterion(model(")
    assert bundle.text(bundle.module("a")["class_site"] or bundle.module("")["class_site"]) == "class Net(nn.Module)"


@pytest.mark.parametrize(
    "schedule, steps, measured", [(WINDOW, 5, 3), ("", 4, 1), ("schedule=schedule(wait=0, warmup=1, active=2),", 7, 2)]
)
def test_without_a_step_for_the_map_the_bundle_says_so(tmp_path: Path, schedule: str, steps: int, measured: int) -> None:
    found = profiled(tmp_path, schedule, steps)
    assert max(b.manifest["steps_measured"] for b in found) == measured
    for bundle in found:
        check_bundle(bundle)
        assert [w["code"] for w in bundle.manifest["warnings"]] == ["no_map_step"] and "map_trace" not in bundle.manifest
        assert [m["class"] for m in bundle.model["modules"]][:3] == ["Net", "Linear", "Linear"]


# -- verbs


@pytest.mark.parametrize(
    "words, command",
    [
        (["run", "train.py", "--steps", "9"], ["train.py", "--steps", "9"]),
        (["record", "--steps", "2", "--", "train.py", "--", "x"], ["train.py", "--", "x"]),
        (["record", "--keep-going", "-m", "pkg.train", "--out", "y"], ["-m", "pkg.train", "--out", "y"]),
        (["run", "--step", "loader", "--", "-m", "pkg"], ["-m", "pkg"]),
    ],
)
def test_the_scripts_words_are_its_own(words: list, command: list) -> None:
    assert cut(words)[1] == command
    options = parse(words)
    assert options.argv == command and options.announce == (words[0] == "run")
    assert options.step == ("loader" if "loader" in words else None) and options.steps == (2 if "2" in words else 5)


def test_a_verb_of_the_program_is_the_programs(tmp_path: Path) -> None:
    program = tmp_path / "hotlens"
    program.write_text('#!/bin/sh\necho "program $@"\nexit 7\n')
    program.chmod(0o755)
    command = [sys.executable, str(RECORDER), "report", "latest", "--format", "json"]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    beside = Path(sys.executable).with_name("hotlens").exists()
    done = subprocess.run(command, env=environment(PATH=path), capture_output=True, text=True, check=False)
    assert beside or (done.returncode, done.stdout) == (7, "program report latest --format json\n")
    none = subprocess.run(command, env=environment(PATH="/nowhere"), capture_output=True, text=True, check=False)
    assert beside or (none.returncode == 3 and "not installed beside" in none.stderr)
