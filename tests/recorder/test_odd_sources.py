"""Source that is not simply a file of the workspace: what cannot be known has no line, and nothing breaks."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import Bundle, record, record_text
from test_sites import check_sites

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.11 brought columns")

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return self.fc(x)
"""
STEPS = """\
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(30):
    optimizer.zero_grad()
    net(torch.randn(4, 8)).pow(2).mean().backward()
    optimizer.step()
"""


def bundle_of(folder: Path, text: str) -> Bundle:
    run = record_text(folder, text)
    assert run.code == 0, run.err
    return run.bundle


def call_of(bundle: Bundle, path: str) -> dict[str, Any]:
    model = bundle.model
    return next(c["site"] for c in model["calls"] if model["modules"][c["module"]]["path"] == path)


def test_a_class_made_by_exec_has_the_lines_that_led_to_it(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, f"import torch\nspace = {{}}\nexec({MODEL!r}, space)\nnet = space['Net']()\n{STEPS}")
    child = bundle.module("fc")
    assert child["class_site"] is None or child["class"] == "Linear"
    assert bundle.text(child["attached"]) == "net = space['Net']()"
    assert bundle.text(call_of(bundle, "fc")) == "net(torch.randn(4, 8))"


def test_a_model_in_a_zip_is_named_and_has_no_copy(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "models.zip", "w") as file:
        file.writestr("zipped.py", MODEL)
    bundle = bundle_of(
        tmp_path, f"import sys\nsys.path.insert(0, 'models.zip')\nimport torch\nfrom zipped import Net\nnet = Net()\n{STEPS}"
    )
    site = bundle.module("fc")["attached"]
    row = bundle.model["files"][site["file"]]
    assert row["path"].endswith("zipped.py") and row["copy"] is None and site["line"] == 7
    assert bundle.text(bundle.module("")["attached"]) == "net = Net()"


def test_the_class_that_was_defined_last_under_a_name_is_meant(tmp_path: Path) -> None:
    first = MODEL.replace("nn.Linear(8, 8)", "nn.Linear(8, 9)")
    bundle = bundle_of(tmp_path, f"{first}\n\n{MODEL}\nnet = Net()\n{STEPS}")
    lines = (tmp_path / "train.py").read_text().splitlines()
    second = [number for number, line in enumerate(lines) if line.startswith("class Net")][1]
    assert bundle.module("")["class_site"]["line"] == second
    assert bundle.text(bundle.module("fc")["attached"]) == "self.fc = nn.Linear(8, 8)"


def test_windows_line_ends_tabs_and_wide_characters(tmp_path: Path) -> None:
    text = MODEL.replace("        self.fc", "        größe = '漢字😀'; self.fc").replace("    ", "\t") + f"net = Net()\n{STEPS}"
    (tmp_path / "train.py").write_bytes(("\ufeff" + text).replace("\n", "\r\n").encode())
    run = record(tmp_path, ["train.py"])
    assert run.code == 0, run.err
    assert run.bundle.text(run.bundle.module("fc")["attached"]) == "self.fc = nn.Linear(8, 8)"
    assert run.bundle.text(call_of(run.bundle, "fc")) == "self.fc(x)"
    assert check_sites(run.bundle) > 5


def test_a_file_that_is_deleted_or_broken_during_the_run(tmp_path: Path) -> None:
    (tmp_path / "deleted.py").write_text(MODEL)
    (tmp_path / "broken.py").write_text(MODEL.replace("Net", "Other"))
    start = "import os, torch\nfrom deleted import Net\nfrom broken import Other\nnet = torch.nn.Sequential(Net(), Other())\n"
    bundle = bundle_of(tmp_path, f"{start}os.remove('deleted.py')\nopen('broken.py', 'w').write('def (:')\n{STEPS}")
    for path in ("0.fc", "1.fc"):
        assert bundle.text(bundle.module(path)["attached"]) == "self.fc = nn.Linear(8, 8)"
        assert bundle.text(call_of(bundle, path)) == "self.fc(x)"


def test_modules_in_a_circle_and_modules_without_a_parent(tmp_path: Path) -> None:
    extra = "class Loose:\n    pass\nloose = Loose()\nloose.layer = nn.Linear(8, 8)\nnet = Net()\nobject.__setattr__(net, 'loose', loose)\n"
    text = MODEL.replace("return self.fc(x)", "return self.loose.layer(self.fc(x))") + extra + "net.fc.owner = [net]\n" + STEPS
    bundle = bundle_of(tmp_path, text)
    assert bundle.text(bundle.module("Linear")["attached"]) == "loose.layer = nn.Linear(8, 8)"
    assert bundle.text(call_of(bundle, "Linear")) == "self.loose.layer(self.fc(x))"
