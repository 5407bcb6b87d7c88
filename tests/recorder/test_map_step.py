"""The map step: its markers, and that it ran the same operators as the measured steps."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from conftest import Bundle, Run, record, record_text
from scripts import MODEL, STEP, indent

Event = dict[str, Any]
MARKER = re.compile(r"hotlens\.(call|line|rest|param|stage)#(\w+)$")


def ns(e: Event) -> tuple[int, int]:
    begin = round(e["ts"] * 1000)
    return begin, begin + round(e["dur"] * 1000)


def step_ranges(events: list[Event]) -> list[tuple[int, int]]:
    return sorted(ns(e) for e in events if e["name"].startswith("ProfilerStep#"))


def operators(events: list[Event], step: tuple[int, int]) -> list[str]:
    inside = [e for e in events if e.get("cat") == "cpu_op" and step[0] <= ns(e)[0] and ns(e)[1] <= step[1]]
    return [e["name"] for e in sorted(inside, key=lambda e: (e["tid"], ns(e)[0], -ns(e)[1]))]


def markers(bundle: Bundle) -> list[Event]:
    return [e for e in bundle.trace("trace-map.json.gz") if MARKER.match(e["name"])]


def check_nesting(events: list[Event]) -> None:
    by_thread = defaultdict(list)
    for e in events:
        by_thread[e["tid"]].append(ns(e))
    for ranges in by_thread.values():
        open_ends: list[int] = []
        for begin, end in sorted(ranges, key=lambda r: (r[0], -r[1])):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], "two markers cross"
            open_ends.append(end)


def test_measured_steps_and_the_map_step_run_the_same_operators(example: Run) -> None:
    clean, mapped = example.bundle.trace("trace-0.json.gz"), example.bundle.trace("trace-map.json.gz")
    (map_step,) = step_ranges(mapped)
    expected = operators(mapped, map_step)
    assert len(expected) > 500
    steps = step_ranges(clean)
    assert len(steps) == 5
    for step in steps:
        assert operators(clean, step) == expected


def test_the_measured_trace_holds_nothing_of_ours(example: Run) -> None:
    assert not [e for e in example.bundle.trace("trace-0.json.gz") if "hotlens" in e["name"]]


def test_markers_nest(example: Run) -> None:
    found = markers(example.bundle)
    assert len(found) > 100
    check_nesting(found)


def test_every_marker_names_a_row_and_every_row_is_marked(example: Run) -> None:
    model = example.bundle.model
    found = [MARKER.match(e["name"]).groups() for e in markers(example.bundle)]  # type: ignore[union-attr]
    ids = {kind: {int(i) for k, i in found if k == kind} for kind in ("call", "line", "rest", "param")}
    assert ids["call"] == set(range(len(model["calls"])))
    assert ids["line"] | ids["rest"] == set(range(len(model["lines"])))
    assert ids["param"] == {p["id"] for p in model["parameters"] if p["requires_grad"]}
    assert {i for k, i in found if k == "stage"} <= {"data", "zero_grad", "backward", "optimizer"}


def test_markers_are_annotations(example: Run) -> None:
    assert {e["cat"] for e in markers(example.bundle)} == {"user_annotation"}


def test_each_stage_is_entered_once(digits: Run) -> None:
    stages = Counter(e["name"] for e in markers(digits.bundle) if ".stage#" in e["name"])
    assert stages == {f"hotlens.stage#{s}": 1 for s in ("data", "zero_grad", "backward", "optimizer")}


def test_a_parameters_mark_lies_inside_its_accumulation(example: Run) -> None:
    events = example.bundle.trace("trace-map.json.gz")
    accumulations = [ns(e) for e in events if e["name"] == "torch::autograd::AccumulateGrad"]
    marks = [ns(e) for e in events if ".param#" in e["name"]]
    assert marks
    for begin, end in marks:
        assert any(b <= begin and end <= e for b, e in accumulations)


def test_the_call_tree_is_the_nesting_of_the_marks(example: Run) -> None:
    calls = example.bundle.model["calls"]
    ranges = {int(e["name"].split("#")[1]): ns(e) for e in markers(example.bundle) if ".call#" in e["name"]}
    for call in calls:
        begin, end = ranges[call["id"]]
        if call["parent"] >= 0:
            outer = ranges[call["parent"]]
            assert outer[0] <= begin and end <= outer[1]


def test_every_called_module_is_called_as_often_as_forward_runs_it(digits: Run) -> None:
    model = digits.bundle.model
    calls = Counter(model["modules"][c["module"]]["path"] for c in model["calls"])
    assert calls[""] == calls["layer1.0.conv1"] == calls["CrossEntropyLoss"] == 1
    never = {m["path"] for m in model["modules"]} - set(calls)
    assert never == set()


@pytest.mark.parametrize("line, function, executions", [("images = images.to(device)", "train_epoch", 1), ("return out", None, 0)])
def test_a_line_is_marked_as_often_as_it_runs(digits: Run, line: str, function: str, executions: int) -> None:
    assert line_executions(digits.bundle, line) == executions


def test_the_loops_line_is_one_execution_of_a_step(digits: Run, gpt: Run) -> None:
    assert line_executions(digits.bundle, "for images, labels in loader:") == 1
    assert line_executions(digits.bundle, "optimizer.step()") == 1
    assert line_executions(gpt.bundle, "optimizer.step()") == 1
    assert line_executions(gpt.bundle, "x = block(x)") == 4


def line_executions(bundle: Bundle, text: str) -> int:
    model = bundle.model
    texts = [(bundle.path / f["copy"]).read_text().splitlines() for f in model["files"]]
    ids = {r["id"] for r in model["lines"] if texts[r["file"]][r["line"]].strip() == text and r["function"] != "evaluate"}
    return sum(int(e["name"].split("#")[1]) in ids for e in markers(bundle) if ".line#" in e["name"])


EVALUATION_AFTER_UPDATE = """
import torch
from torch import nn

def evaluate(model, x):
    with torch.no_grad():
        return model(x).sum().item()

def step(model, optimizer, x):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    evaluate(model, x)

def main():
    model = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        step(model, optimizer, torch.randn(4, 8))

main()
"""


def test_a_line_that_runs_when_the_step_begins_has_its_rest_marked(tmp_path: Path) -> None:
    """The step begins in the middle of `step(…)`: what runs after the update is marked as that line's, as is what runs before it."""
    bundle = record_text(tmp_path, EVALUATION_AFTER_UPDATE).bundle
    texts = (bundle.path / bundle.model["files"][0]["copy"]).read_text().splitlines()
    names = {row["id"]: texts[row["line"]].strip() for row in bundle.model["lines"]}
    calling = [e for e in markers(bundle) if ".call#" in e["name"]]
    marked: dict[tuple[str, str], int] = {}
    for e in markers(bundle):
        kind, number = MARKER.match(e["name"]).groups()  # type: ignore[union-attr]
        if kind in ("line", "rest") and (key := (kind, names[int(number)])) not in marked:
            marked[key] = sum(ns(e)[0] <= ns(call)[0] and ns(call)[1] <= ns(e)[1] for call in calling)
    assert marked["rest", "step(model, optimizer, torch.randn(4, 8))"] == 1
    assert marked["line", "step(model, optimizer, torch.randn(4, 8))"] == 1
    assert marked["rest", "main()"] == 2 and ("line", "main()") not in marked
    check_nesting(markers(bundle))


EVALUATION_IN_EVERY_STEP = """
import torch
from torch import nn
from torch.nn import functional as F

model, teacher, criterion = nn.Linear(8, 8), nn.Linear(8, 8).eval(), nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def attacked(x):
    model.eval()
    point = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(point).sum(), point)
    model.train()
    return x + slope.sign()

@torch.no_grad()
def evaluate(x):
    model.eval()
    out = model(x + 1)
    value = criterion(out, x) + F.l1_loss(out, x)
    model.train()
    return value

for x in torch.utils.data.DataLoader(torch.randn(400, 8), batch_size=4):
    with torch.no_grad():
        goal = teacher(x)
    loss = criterion(model(attacked(x)), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    evaluate(x)
"""


@pytest.mark.parametrize("switches", [True, False])
def test_an_evaluation_in_every_step_is_no_forward_of_it(tmp_path: Path, switches: bool) -> None:
    """A teacher without gradients is forward, and so is an attack with gradients on a model that is in evaluation for it."""
    script = EVALUATION_IN_EVERY_STEP
    bundle = record_text(tmp_path, script if switches else script.replace("    model.eval()\n", "")).bundle
    stages = {name: sorted(places) for name, places in bundle.stages().items()}
    assert stages["evaluation"] == ["F.l1_loss(out, x)", "criterion(out, x)", "model(x + 1)"]
    assert stages["forward"] == ["model(attacked(x))", "model(point)", "teacher(x)"]
    assert stages["loss"] == ["criterion(model(attacked(x)), goal)"]
    assert sum(e["name"] == "hotlens.stage#evaluation" for e in markers(bundle)) == 3
    check_nesting(markers(bundle))


LAYER_DROP = """
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(6))
        self.spare = nn.ModuleList(nn.Linear(8, 8) for _ in range(6))
        self.seen = 0

    def forward(self, x):
        self.seen += 1
        few = self.seen % 3 != int(sys.argv[1])
        for number, layer in enumerate(self.layers):
            if not few or number == self.seen % 6:
                x = layer(x)
        return self.spare[0](x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for x in torch.utils.data.DataLoader(torch.randn(40, 8), batch_size=1):
    optimizer.zero_grad()
    net(x).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("full", [0, 1, 2])
def test_a_map_step_that_dropped_most_layers_is_taken_again(tmp_path: Path, full: int) -> None:
    (tmp_path / "train.py").write_text(LAYER_DROP)
    run = record(tmp_path, ["train.py", str(full)])
    assert run.code == 0, run.err
    model = run.bundle.model
    called = {model["modules"][call["module"]]["path"] for call in model["calls"]}
    assert {f"layers.{i}" for i in range(6)} <= called  # in two steps of three it is a single one
    assert "spare.0" in called and "spare.1" not in called  # a list that is never used whole does not keep the recorder waiting
    assert len([e for e in run.bundle.trace("trace-map.json.gz") if e["name"].startswith("ProfilerStep#")]) == 1


BUSY = """\
def busy(x):
    total = 0
    for row in range(40):
        for i in range(2000):
            total += i
        x = x + 1
    x = x * 2
    return x
"""


def test_a_loop_whose_lines_run_too_often_is_marked_as_a_whole(tmp_path: Path) -> None:
    body = "x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\nfor k in range(2000):\n    k += 1\nx = busy(x)\n" + STEP
    run = record_text(tmp_path, MODEL + BUSY + "for i in range(40):\n" + indent(body))
    assert run.code == 0, run.err
    assert {w["code"] for w in run.bundle.manifest["warnings"]} >= {"lines_capped"}
    texts = (run.bundle.path / run.bundle.model["files"][0]["copy"]).read_text().splitlines()
    rows = {row["id"]: texts[row["line"]].strip() for row in run.bundle.model["lines"]}
    times: Counter[str] = Counter()
    check_nesting(markers(run.bundle))
    for mark in markers(run.bundle):
        kind, number = MARKER.match(mark["name"]).groups()  # type: ignore[union-attr]
        if kind == "line":
            times[rows[int(number)]] += 1
    assert times["for i in range(2000):"] > 20, "the inner loop, once for each row"
    assert times["total += i"] < 10_000 and times["x = x + 1"] == 40
    assert times["x = x * 2"] == times["return x"] == 1 and times["loss.backward()"] == 1
    assert times["x = busy(x)"] == 1


ENTERING = """\
import pprint
for i in range(12):
    shown = pprint.pformat([list(range(40))] * 9)
    total = sum([1, 2, 3])
    x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
{step}
"""


def test_what_watching_adds_to_a_line_is_told_where_it_enters_functions_of_packages(tmp_path: Path) -> None:
    run = record_text(tmp_path, MODEL + ENTERING.format(step=indent(STEP)))
    assert run.code == 0, run.err
    model = run.bundle.model
    text = (run.bundle.path / model["files"][0]["copy"]).read_text(encoding="utf-8").splitlines()
    watching = {text[row["line"]].strip(): row.get("watching_ns", 0) for row in model["lines"] if row["file"] == 0}
    line = next(line for line in watching if line.startswith("shown"))
    number = next(row["id"] for row in model["lines"] if text[row["line"]].strip() == line)
    (length,) = [end - begin for begin, end in (ns(e) for e in markers(run.bundle) if e["name"] == f"hotlens.line#{number}")]
    assert 0.1 * length < watching[line] < length, "hundreds of functions"
    assert watching["total = sum([1, 2, 3])"] < 0.05 * watching[line], "no more than the clock of the statement"
