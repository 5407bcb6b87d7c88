"""How far a layer is from the measured peaks of its device, in its hover."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import PYTHON
from lsp_client import RICH, SERVER, Client
from warm import interpreter

SCRIPT = """\
import torch
from torch import nn

model = nn.Linear(512, 512)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(30):
    optimizer.zero_grad()
    model(torch.randn(512, 512)).sum().backward()
    optimizer.step()
"""
MODEL = 3


def hover(client: Client, uri: str) -> str:
    at = {"line": MODEL, "character": 0}
    found = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})
    return str(found["contents"]["value"]) if found else ""


def test_a_layer_says_what_its_device_could_do_where_that_was_measured(start: Callable[..., Client], tmp_path: Path) -> None:
    work, cache = tmp_path / "work", tmp_path / "cache"
    work.mkdir()
    (work / "train.py").write_text(SCRIPT)
    subprocess.run(
        [SERVER, "run", "--python", interpreter(), "--steps", "2", "--warmup", "1", "train.py"], cwd=work, check=True, capture_output=True
    )
    (manifest,) = work.glob(".hotlens/profiles/2*/manifest.json")
    told: dict[str, Any] = json.loads(manifest.read_text())
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}

    def said() -> str:
        client = start(env=environment)
        client.initialize([work], RICH, {"python": PYTHON})
        uri = client.open(work / "train.py")
        client.hints_when_known(uri)
        words = client.wait(lambda: hover(client, uri))
        if (cache / "hotlens").exists():
            words = client.wait(lambda: hover(client, uri) if "peaks" in hover(client, uri) else "")
        client.kill()
        return words

    assert "FLOP/s" in said() and "peaks" not in said()
    row = {"schema": "hotlens.device/1", "name": told["devices"][0]["name"], "kind": "cpu", "threads": told["threads"], "torch": "2"}
    peaks = [{"what": "gemm", "type": "f32", "flops_per_s": 1e15}, {"what": "copy", "bytes_per_s": 1e15}]
    (cache / "hotlens/devices").mkdir(parents=True)
    (cache / "hotlens/devices/this.json").write_text(json.dumps({**row, "measured": "2026-11-26T00:00:00Z", "peaks": peaks}))
    assert "× faster at the device's measured peaks" in said()
