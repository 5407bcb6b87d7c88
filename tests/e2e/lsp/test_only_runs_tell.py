"""A change whose gain only runs tell, as an editor has it: behind what promises one, without a number, with its edit."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import PYTHON
from lsp_client import SERVER, Client
from test_advice import action, hints, hover, opened

Start = Callable[..., Client]
OPTIMIZER = 4

SCRIPT = """\
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    x, y = torch.randn(4, 3, 8, 8), torch.randint(4, (4,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def on_a_gpu(bundle: Path) -> None:
    """As if its steps had run on one: two alike, of a convolution that the host waits for."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["devices"].append({"kind": "cuda", "name": "NVIDIA"})
    (bundle / "manifest.json").write_text(json.dumps({**manifest, "cudnn_benchmark": False}))
    events: list[dict[str, Any]] = []
    for number in range(2):
        rows = [
            ("user_annotation", f"ProfilerStep#{number}", 0, 1000, 0),
            ("cpu_op", "aten::cudnn_convolution", 10, 20, 0),
            ("cuda_runtime", "cudaLaunchKernel", 15, 4, number + 1),
            ("kernel", "sm80_xmma_fprop_implicit_gemm_f16f16", 30, 900, number + 1),
            ("cuda_runtime", "cudaStreamSynchronize", 55, 880, number + 100),
        ]
        for category, name, start, duration, launch in rows:
            place = {"pid": 0, "tid": 7} if category == "kernel" else {"pid": 9, "tid": 1}
            at = {"ts": number * 1000 + start, "dur": duration, "args": {"correlation": launch} if launch else {}}
            events.append({"ph": "X", "cat": category, "name": name, **place, **at})
    (bundle / "trace-0.json.gz").write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()))


def test_cudnns_search_is_a_hint_without_a_number_where_it_can_be_edited(start: Start, tmp_path: Path) -> None:
    for name, text in (("open", SCRIPT), ("set", SCRIPT.replace("model =", "torch.backends.cudnn.benchmark = False\nmodel ="))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "train.py").write_text(text)
        command = [SERVER, "run", "--python", PYTHON, "--warmup", "1", "--steps", "2", "train.py"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        (bundle,) = folder.glob(".hotlens/profiles/2*")
        on_a_gpu(bundle)

    client, uri = opened(start, tmp_path / "open")
    found = lambda: [one for one in hints(client, uri) if one["code"] == "cudnn_benchmark"]  # noqa: E731
    (hint,) = client.wait(found)
    assert hint["message"] == "cudnn.benchmark: cuDNN could choose faster convolution kernels: only runs tell how much"
    assert hint["range"]["start"]["line"] == OPTIMIZER
    words = hover(client, uri, OPTIMIZER)
    assert "Nothing is foretold; assumes that shapes stay the same" in words and "the same in each of 2 steps, 900 µs" in words
    apply = action(client, uri, OPTIMIZER, "Apply", "cudnn.benchmark")
    (edit,) = apply["edit"]["documentChanges"][0]["edits"]
    assert edit["newText"] == "torch.backends.cudnn.benchmark = True\n"
    kept = {"command": apply["command"]["command"], "arguments": apply["command"]["arguments"]}
    assert client.request("workspace/executeCommand", kept) == {"kept": True}
    (applied,) = [json.loads(line) for line in (tmp_path / "open/.hotlens/ledger.jsonl").read_text().splitlines()]
    assert applied["event"] == "applied", "nothing was predicted"

    client, uri = opened(start, tmp_path / "set")  # somebody has decided already
    client.hints_when_known(uri)
    assert "could choose faster" not in hover(client, uri, OPTIMIZER + 1)
    assert not [one for one in hints(client, uri) if one["code"] == "cudnn_benchmark"]
