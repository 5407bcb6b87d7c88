"""A trace without a bundle, on the right lines of the source: against a tracer that saw the modules being made."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import HERE, PYTHON, Recorded, check
from lsp_client import Client, uri_of

Record = Callable[[str], Recorded]


def found_lines(trace: Path, truth: dict[str, Any], role: str) -> dict[str, tuple[str, range]]:
    """Module's frame name -> the file and lines (1-based) of its anchor of that role."""
    files = sorted({Path(file) for row in truth.values() for file, _ in row["lines"]})
    found = {}
    for file in check(trace, files)["files"]:
        for anchor in file["anchors"]:
            if anchor["role"] == role:
                for module in anchor["modules"]:
                    found[module.rpartition("/")[2]] = file["path"], range(anchor["line"] + 1, anchor["end_line"] + 2)
    return found


Lines = tuple[list[str], list[str], list[str]]  # leaves right, wrong, unknown


def judged(record: Record, model: str) -> Lines:
    right, wrong, unknown = [], [], []
    folder, truth = record(model)
    found = found_lines(folder / "trace.json", truth, "definition")
    for name, row in truth.items():
        if not row["leaf"] or not row["lines"]:
            continue
        if name not in found:
            unknown.append(f"{model} {row['path']}")
        elif any(file == found[name][0] and line in found[name][1] for file, line in row["lines"]):
            right.append(f"{model} {row['path']}")
        else:
            wrong.append(f"{model} {row['path']}: {found[name]}, not {row['lines']}")
    return right, wrong, unknown


def test_leaves_stand_on_the_lines_that_made_them(record: Record) -> None:
    models = [judged(record, model) for model in ("forms", "bert", "gpt2", "t5")]
    right, wrong, unknown = ([leaf for lines in kind for leaf in lines] for kind in zip(*models, strict=True))
    leaves = len(right) + len(wrong) + len(unknown)
    assert leaves > 100
    assert len(wrong) <= 0.01 * leaves, wrong
    assert len(right) >= 0.9 * leaves, unknown


def test_what_a_body_calls_in_ways_that_are_not_followed_has_no_line(record: Record) -> None:
    models = [judged(record, model) for model in ("scores", "counted", "direct", "namesakes")]
    right, wrong, unknown = ([leaf for lines in kind for leaf in lines] for kind in zip(*models, strict=True))
    # Modules that map calls, that a helper is given, that stand in a list under one class, whose forward another calls, of one name.
    assert not right and not wrong and len(unknown) == 16 + 8 + 2 + 2, (right, wrong)


def test_entries_under_a_condition_on_the_index_have_lines_where_their_class_tells(record: Record) -> None:
    right, wrong, unknown = judged(record, "steps")
    assert len(right) == 4 and not wrong and len(unknown) == 5, (right, wrong, unknown)


def test_what_may_have_been_replaced_is_what_the_trace_says_where_that_decides(record: Record) -> None:
    right, wrong, unknown = judged(record, "changed")
    assert not wrong and unknown == ["changed mixer"], (wrong, unknown)  # a table may give a Linear, too
    assert sorted(right) == ["changed act", "changed both.1", "changed first"]


def test_what_a_condition_does_to_a_part_may_not_have_happened(record: Record) -> None:
    right, wrong, unknown = judged(record, "late")
    assert not wrong and len(right) == 2 and len(unknown) == 2, (right, wrong, unknown)


def test_a_module_of_several_names_has_no_line(record: Record) -> None:
    right, wrong, unknown = judged(record, "shared")
    assert len(right) == 5 and not wrong, (right, wrong)
    assert sorted(unknown) == ["shared position", "shared tail.position"]


def test_what_a_script_makes_and_passes_in_has_its_lines(record: Record) -> None:
    models = [judged(record, model) for model in ("passed_in", "plain", "local")]
    right, wrong, unknown = ([leaf for lines in kind for leaf in lines] for kind in zip(*models, strict=True))
    assert len(right) == 6 + 3 + 2 and not wrong and not unknown, (wrong, unknown)


def test_lists_changed_in_place_have_lines_where_their_classes_tell(record: Record) -> None:
    right, wrong, unknown = judged(record, "kept")
    assert len(right) == 8 and not wrong and len(unknown) == 4, (right, wrong, unknown)


BASE = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)
"""
SUBCLASS = """\
from base import Block as BaseBlock
from torch import nn

class Gate(nn.Module):
    def forward(self, x):
        return x.sigmoid()

class Block(BaseBlock):
    def __init__(self):
        super(BaseBlock, self).__init__()
        self.fc = nn.Linear(4, 4, bias=False)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList()
        for kind in self.kinds():
            self.blocks.append(kind())
        self.gate = Gate()

    def kinds(self):
        return vars(self).get("of", [Block])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.gate(x)
"""


def test_a_subclass_of_the_same_name_may_be_what_ran(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(BASE)
    (tmp_path / "subclass.py").write_text(SUBCLASS)
    (tmp_path / "make.py").write_text("import torch\n\ndef net():\n    subclass = __import__('subclass')\n    x = torch.randn(2, 4)\n")
    with (tmp_path / "make.py").open("a") as script:
        script.write("    return subclass.Net(), lambda model: model(x).sum()\n")
    command = [PYTHON, str(HERE / "record.py"), "make", str(tmp_path), "net"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True)
    anchors = check(tmp_path / "net" / "trace.json", [tmp_path / "base.py"])["files"][0]["anchors"]
    assert not [anchor for anchor in anchors if anchor["role"] == "definition"]  # its line is in the other file


def test_what_parametrizes_a_module_has_no_line(record: Record) -> None:
    right, wrong, unknown = judged(record, "normed")
    assert sorted(right) == ["normed act", "normed last.1"] and not wrong, (right, wrong)
    assert all("parametrizations" in leaf for leaf in unknown) and len(unknown) == 3


def test_every_anchor_says_that_its_line_was_not_recorded(record: Record) -> None:
    folder, _ = record("forms")
    document = check(folder / "trace.json", [folder / "models.py"])
    anchors = document["files"][0]["anchors"]
    assert anchors and {anchor["how"] for anchor in anchors} == {"static"}
    assert all("line guessed from the source" in hint["tooltip"] for hint in document["files"][0]["hints"])


def test_a_source_of_another_version_is_only_a_guess(record: Record, tmp_path: Path) -> None:
    folder, _ = record("forms")
    (tmp_path / "models.py").write_text("# one line more\n" + (folder / "models.py").read_text())
    anchors = check(folder / "trace.json", [tmp_path / "models.py"])["files"][0]["anchors"]
    assert {anchor["how"] for anchor in anchors if anchor["role"] == "definition"} <= {"guess"}


def test_a_choice_that_the_trace_does_not_decide_stays_unknown(record: Record, tmp_path: Path) -> None:
    folder, _ = record("forms")
    text = (folder / "models.py").read_text().replace("self.gate = nn.Identity()", "self.gate = nn.Sigmoid()")
    text = text.replace("        if gated:\n", "        if torch.rand(1) < 0.5:\n")
    (tmp_path / "models.py").write_text(text)
    anchors = check(folder / "trace.json", [tmp_path / "models.py"])["files"][0]["anchors"]
    definitions = [module for anchor in anchors if anchor["role"] == "definition" for module in anchor["modules"]]
    assert definitions and not any("Sigmoid" in module for module in definitions)


def test_a_trace_that_is_opened_gives_hints_in_the_editor(record: Record, tmp_path: Path) -> None:
    folder, _ = record("forms")
    work = tmp_path / "work"
    work.mkdir()
    (work / "models.py").write_text((folder / "models.py").read_text())
    (work / "x.pt.trace.json.gz").write_bytes(gzip.compress((folder / "trace.json").read_bytes()))
    client = Client(cwd=work)
    try:
        client.settings = {"profile": {"trace": "x.pt.trace.json.gz"}, "hints": {"minPercent": 0}}
        client.initialize([work], options=client.settings)
        uri = client.open(work / "models.py")
        client.hints_when_known(uri)
        hints = {hint["position"]["line"]: hint for hint in client.hints(uri)}
        lines = (work / "models.py").read_text().splitlines()
        line = next(n for n, text in enumerate(lines) if "self.fc1 = " in text)
        assert "×5" in hints[line]["label"]  # two blocks of layer1 and three of the list
        hover = client.request(
            "textDocument/hover", {"textDocument": {"uri": uri_of(work / "models.py")}, "position": {"line": line, "character": 10}}
        )
        assert "line guessed from the source" in json.dumps(hover)
    finally:
        client.kill()


LOOP = """\
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with profile(with_stack=True, activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=2), on_trace_ready=keep) as p:
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(32, 64)).sum().backward()
        optimizer.step()
        p.step()
"""
HEAD = """\
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

def keep(profiler):
    profiler.export_chrome_trace("trace.json")

"""


@pytest.mark.parametrize("inside", [False, True])
def test_a_model_of_torchs_own_classes_stands_where_the_loop_around_the_steps_makes_it(tmp_path: Path, inside: bool) -> None:
    body = "def main():\n" + textwrap.indent(LOOP, "    ") + "\nmain()\n" if inside else LOOP
    (tmp_path / "train.py").write_text(HEAD + body)
    subprocess.run([PYTHON, "train.py"], cwd=tmp_path, check=True, capture_output=True)
    (file,) = check(tmp_path / "trace.json", [tmp_path / "train.py"])["files"]
    line = (HEAD + body).splitlines().index("    " * inside + LOOP.partition("\n")[0])
    defined = {anchor["modules"][0].rpartition("/")[2]: anchor["line"] for anchor in file["anchors"] if anchor["role"] == "definition"}
    assert defined == dict.fromkeys(("Sequential_0", "Linear_0", "ReLU_0", "Linear_1"), line)
