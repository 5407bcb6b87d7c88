"""What a person adds up: the lines of a stage are the stage, the calls of a module are the module. Against ranges that the script records.

The scripts run for real. A line of theirs that ends in `# @name` runs between two empty ranges, `name` and `/name`, which end up in the
measured trace and mean nothing to Hotlens: how long the operators between them took is the truth for what the editor says.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lsp_client import SERVER, Client
from warm import interpreter

Start = Callable[..., Client]
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)

GAN = """\
import torch
from torch import nn
from torch.profiler import record_function


def mark(name):
    with record_function(name):
        pass


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(784, 512)
        self.shared = nn.Linear(512, 512)
        self.head = nn.Linear(512, 1)

    def forward(self, x):
        h = self.body(x).relu()
        h = self.shared(h).relu()
        h = torch.cat([h, h, h]).relu()
        h = self.shared(h).relu() + self.shared(h.flip(0))
        return self.head(h)[: len(x)]


def main():
    torch.manual_seed(0)
    data = torch.utils.data.DataLoader(torch.randn(64 * 12, 784), batch_size=64)
    gen = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 784))
    critic, bce = Critic(), nn.BCEWithLogitsLoss()
    opt_g, opt_d = torch.optim.Adam(gen.parameters()), torch.optim.Adam(critic.parameters())
    for real in data:
        noise = torch.randn(len(real), 16)
        fake = gen(noise)  # @gen
        on_real = critic(real)  # @on_real
        on_fake = critic(fake.detach())  # @on_fake
        loss_d = bce(on_real, torch.ones_like(on_real)) + bce(on_fake, torch.zeros_like(on_fake))
        opt_d.zero_grad()
        loss_d.backward()  # @backward_d
        opt_d.step()  # @step_d
        opt_g.zero_grad()
        verdict = critic(fake)  # @verdict
        loss_g = bce(verdict, torch.ones_like(verdict))
        loss_g.backward()  # @backward_g
        opt_g.step()  # @step_g


main()
"""

ACCUMULATION = """\
import torch
from torch import nn
from torch.profiler import record_function


def mark(name):
    with record_function(name):
        pass


def half_step(model, x, scale):
    out = model(x)  # @half_model
    loss = out.pow(2).mean() * scale
    loss.backward()  # @half


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x in torch.utils.data.DataLoader(torch.randn(64 * 12, 256), batch_size=64):
    for micro in x.chunk(4):
        model(micro).abs().mean().backward()
    half_step(model, x, 0.5)
    penalty = sum(p.pow(2).sum() for p in model.parameters())
    penalty.backward()  # @penalty
    optimizer.step()
    optimizer.zero_grad()
"""


def with_marks(script: str) -> str:
    """Every marked line between its ranges, still on one line."""
    return re.sub(r"^( *)(.*?)  # @(\w+)$", r'\1mark("\3"); \2; mark("/\3")', script, flags=re.MULTILINE)


def line_of(script: str, name: str) -> int:
    return next(number for number, line in enumerate(script.splitlines()) if line.endswith(f"# @{name}"))


@dataclass
class Span:
    """Milliseconds between two marks: from the first operator to the end of the last, and to the next operator after it."""

    operators: float
    reach: float

    def holds(self, value: float) -> bool:
        return 0.98 * self.operators - 0.05 <= value <= 1.02 * self.reach + 0.05


def measured(folder: Path) -> dict[str, Span]:
    """Of the one measured step, by mark."""
    trace = next(folder.glob(".hotlens/profiles/*/trace-0.json.gz"))
    events = [e for e in json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"] if e.get("ph") == "X"]
    step = next(e for e in events if e["name"].startswith("ProfilerStep#"))
    work = [e for e in events if e["cat"] == "cpu_op" or e["name"].startswith(("Optimizer.", "enumerate("))]
    ends = {e["name"]: e["ts"] for e in events if e["name"].startswith("/") and step["ts"] <= e["ts"] < step["ts"] + step["dur"]}
    spans: dict[str, Span] = {}
    for e in events:
        if "/" + e["name"] not in ends or not step["ts"] <= e["ts"] < step["ts"] + step["dur"]:
            continue
        until = ends["/" + e["name"]]
        inside = [w for w in work if e["ts"] <= w["ts"] < until]
        begin, end = min(w["ts"] for w in inside), max(w["ts"] + w["dur"] for w in inside)
        after = min((w["ts"] for w in work if w["ts"] >= until), default=step["ts"] + step["dur"])
        spans[e["name"]] = Span((end - begin) / 1000, (after - begin) / 1000)
    return spans


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {name: tmp_path_factory.mktemp(name).resolve() for name in ("gan", "accumulation")}

    def record(name: str, script: str) -> None:
        (folders[name] / "train.py").write_text(with_marks(script))
        command = [SERVER, "run", "--python", interpreter(), "--warmup", "2", "--steps", "1", "train.py"]
        subprocess.run(command, cwd=folders[name], check=True, stdout=subprocess.DEVNULL)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(record, ("gan", "accumulation"), (GAN, ACCUMULATION)))
    return folders


def ms(text: str) -> float:
    number, unit = text.replace(",", " ").split()[:2]
    return float(number) * {"s": 1e3, "ms": 1.0, "µs": 1e-3, "ns": 1e-6}[unit]


class Shown:
    """What the editor says about one recorded script."""

    def __init__(self, start: Start, folder: Path) -> None:
        self.client = start()
        self.client.initialize([folder], options={"hotlens": {"hints": {"minPercent": 0}}})
        self.uri = self.client.open(folder / "train.py")
        self.text = (folder / "train.py").read_text().splitlines()
        self.client.hints_when_known(self.uri)

    def hover(self, line: int, character: int) -> str:
        answer = self.client.request(
            "textDocument/hover", {"textDocument": {"uri": self.uri}, "position": {"line": line, "character": character}}
        )
        return answer["contents"]["value"] if answer else ""

    def stage(self, line: int, call: str, stage: str) -> float:
        """Milliseconds of a stage on a line, by the hover on `call`."""
        row = re.search(rf"^{stage} +(\S+ \S+) wall", self.hover(line, self.text[line].index(call) + 1), re.MULTILINE)
        return ms(row[1]) if row else 0.0

    def headline(self, line: int, character: int) -> float:
        return ms(self.hover(line, character).split("— ")[1])


def stages_of(folder: Path) -> dict[str, float]:
    done = subprocess.run([SERVER, "report", "--format", "json"], cwd=folder, check=True, capture_output=True, text=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return {stage["name"]: stage["wall_ns"] / 1e6 for stage in report["stages"]}


def test_each_line_of_a_stage_has_its_own_time(start: Start, projects: dict[str, Path]) -> None:
    truth, shown = measured(projects["gan"]), Shown(start, projects["gan"])
    expected = {"backward_d": ("loss_d.backward", "backward"), "backward_g": ("loss_g.backward", "backward")}
    expected |= {"step_d": ("opt_d.step", "optimizer"), "step_g": ("opt_g.step", "optimizer")}
    expected |= {"gen": ("gen(", "forward"), "on_real": ("critic(", "forward"), "on_fake": ("critic(", "forward")}
    expected |= {"verdict": ("critic(", "forward")}
    found = {name: shown.stage(line_of(GAN, name), call, stage) for name, (call, stage) in expected.items()}
    assert [(name, found[name], truth[name]) for name in expected if not truth[name].holds(found[name])] == []
    whole = stages_of(projects["gan"])
    for stage in ("forward", "backward", "optimizer"):
        assert sum(found[name] for name in found if expected[name][1] == stage) == pytest.approx(whole[stage], rel=0.02)


def test_passes_of_accumulation_are_told_apart_through_functions(start: Start, projects: dict[str, Path]) -> None:
    truth, shown = measured(projects["accumulation"]), Shown(start, projects["accumulation"])
    whole = stages_of(projects["accumulation"])

    def line(text: str) -> int:
        return next(number for number, code in enumerate(shown.text) if text in code)

    passes = [shown.stage(line("abs().mean()"), ".backward(", "backward")]
    passes += [
        shown.stage(line_of(ACCUMULATION, "half"), "loss.b", "backward"),
        shown.stage(line_of(ACCUMULATION, "penalty"), "penalty.b", "backward"),
    ]
    assert truth["half"].holds(passes[1]) and truth["penalty"].holds(passes[2])
    assert sum(passes) == pytest.approx(whole["backward"], rel=0.02)
    assert truth["half_model"].holds(shown.stage(line_of(ACCUMULATION, "half_model"), "model(x)", "forward"))


def test_a_module_called_from_several_places_is_the_sum_of_its_calls(start: Start, projects: dict[str, Path]) -> None:
    shown = Shown(start, projects["gan"])
    definition = next(number for number, line in enumerate(shown.text) if "self.shared = " in line)
    calls = [(n, at.start()) for n, line in enumerate(shown.text) for at in re.finditer(r"self\.shared\(", line)]
    assert len(calls) == 3 and calls[1][0] == calls[2][0]
    times = [shown.headline(line, character + 1) for line, character in calls]
    assert all(time > 0 for time in times)
    assert sum(times) == pytest.approx(shown.headline(definition, shown.text[definition].index("self")), rel=0.02)
    assert all("called from 3 places" in shown.hover(line, character + 1) for line, character in calls)
