"""A training of two processes: which one's times the editor shows, and that it says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lsp_client import SERVER, Client

Start = Callable[..., Client]
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)

SCRIPT = """\
import time
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.set_num_threads(1)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.Linear(256, 8)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    optimizer.zero_grad()
    loss = model(torch.randn(32, 64)).pow(2).mean()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks").resolve()
    (folder / "train.py").write_text(SCRIPT)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py"]
    subprocess.run([SERVER, "run", "--python", PYTHON, "--warmup", "1", "--steps", "2", *launcher], cwd=folder, check=True, timeout=300)
    return folder


class Shown:
    def __init__(self, start: Start, folder: Path, rank: int | None) -> None:
        self.client = start()
        self.client.initialize([folder], options={"hotlens": {"profile": {"rank": rank}}})
        self.uri = self.client.open(folder / "train.py")
        self.client.hints_when_known(self.uri)

    def hover(self) -> str:
        line = SCRIPT.splitlines().index("    loss.backward()")
        position = {"line": line, "character": 10}
        answer = self.client.request("textDocument/hover", {"textDocument": {"uri": self.uri}, "position": position})
        return answer["contents"]["value"]


def test_the_hover_says_whose_times_it_shows(start: Start, project: Path) -> None:
    assert "on rank 0 of 2" in Shown(start, project, None).hover()
    second = Shown(start, project, 1)
    assert "on rank 1 of 2" in second.hover()
    assert "**backward**" in second.hover()


def test_another_rank_is_shown_as_soon_as_it_is_asked_for(start: Start, project: Path) -> None:
    shown = Shown(start, project, None)
    shown.client.notify("workspace/didChangeConfiguration", {"settings": {"hotlens": {"profile": {"rank": 1}}}})
    shown.client.wait(lambda: "on rank 1 of 2" in shown.hover())


def test_a_rank_that_did_not_run_is_named_and_the_first_one_shown(start: Start, project: Path) -> None:
    shown = Shown(start, project, 5)
    assert "on rank 0 of 2" in shown.hover()
    shown.client.wait(lambda: any("has no rank 5" in m["message"] for m in shown.client.messages("window/showMessage")))
