"""The batch size edited in the script: told where two sizes are recorded, as `--batch-size` tells it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import HOTLENS, ask
from training import LOOP, edit, predicted, record, recorded_peak
from warm import interpreter

SCRIPT = LOOP.format(
    model="""
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tensors = lambda n: (torch.randn(n, 8, 8), torch.randint(10, (n,)))
"""
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("batch")
    (folder / "train.py").write_text(SCRIPT)
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "--batch-sizes", "6,8", "train.py"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return folder


def test_it_is_told_at_its_line(recorded: Path, tmp_path: Path) -> None:
    text = edit(recorded, SCRIPT, "batch_size=8", "batch_size=12")
    document = predicted(recorded)
    (told,) = document["edits"]
    assert not document["refused"]
    assert told["what"] == "batch size 8 → 12"
    assert "batch_size=12" in text.splitlines()[told["line"]]
    assert told["low_ns"] <= told["step_ns"] <= told["high_ns"]
    record(tmp_path, text)
    assert told["peak_bytes"] == recorded_peak(tmp_path)
    points = json.loads(ask(recorded, "--batch-size", "12", "--format", "json").stdout)["points"]
    assert points[-1]["peak_bytes"] == told["peak_bytes"]
    assert points[0]["step_ns"] == told["step_was_ns"]


def test_beside_edited_layers_it_is_refused(recorded: Path) -> None:
    edit(recorded, SCRIPT, SCRIPT, SCRIPT.replace("batch_size=8", "batch_size=12").replace("96", "80"))
    document = predicted(recorded)
    (refused,) = document["refused"]
    assert "what another batch size makes of the other edits" in refused["reason"]
    assert len(document["edits"]) == 3 and not any("step_ns" in one for one in document["edits"])


@pytest.mark.parametrize("now", ["batch_size=size", "batch_size=0", "batch_size=8, shuffle=True"])
def test_what_is_no_other_size_is_told_as_before(recorded: Path, now: str) -> None:
    edit(recorded, SCRIPT, "batch_size=8", now)
    (refused,) = predicted(recorded)["refused"]
    assert "something else than layers was edited" in refused["reason"]
