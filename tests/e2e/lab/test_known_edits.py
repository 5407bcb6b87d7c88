"""Edits that are what-ifs: typed as the action would write them, they are told as one."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import LOOP, edit, predicted, record

SCRIPT = LOOP.format(
    model="""
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tensors = lambda n: (torch.randn(n, 8, 8), torch.randint(10, (n,)))
"""
)
FORWARD = "    loss = F.cross_entropy(model(x), y)\n"


def under(context: str) -> str:
    return f"    # in half the width\n    with {context}:\n        loss = F.cross_entropy(model(x), y)\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known") / "one"
    record(folder, SCRIPT)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "what", "line"),
    [
        ("lr=1e-3)", "lr=1e-3, fused=True)", "Optimizer with fused=True", "fused=True"),
        ("lr=1e-3)", "lr=1e-3,\n    foreach=True)  # faster?", "Optimizer with foreach=True", "lr=1e-3,"),
        ("lr=1e-3)", "lr=1e-2, fused=True)", "Optimizer with fused=True", "fused=True"),
        (FORWARD, under('torch.autocast("cpu", torch.bfloat16)'), "Forward and loss under autocast to bfloat16", "with torch"),
        (FORWARD, under("torch.autocast(device_type='cpu')"), "Forward and loss under autocast to bfloat16", "with torch"),
        (FORWARD, under("torch.amp.autocast('cpu', dtype=torch.bfloat16)"), "Forward and loss under autocast to bfloat16", "with torch"),
    ],
)
def test_an_edit_that_is_a_what_if_has_its_prediction(recorded: Path, old: str, new: str, what: str, line: str) -> None:
    text = edit(recorded, SCRIPT, old, new)
    document = predicted(recorded)
    assert not document["refused"]
    (told,) = document["edits"]
    assert told["what"] == what
    assert line in text.splitlines()[told["line"]]
    assert told["low_ns"] <= told["step_ns"] <= told["high_ns"]
    assert told["peak_bytes"] > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (FORWARD, under("torch.autocast('cpu', dtype=torch.float16)")),
        (FORWARD, under("torch.autocast('cuda', dtype=torch.bfloat16)")),
        (FORWARD, under("torch.autocast('cpu', enabled=False)")),
    ],
)
def test_another_edit_of_the_same_place_is_refused(recorded: Path, old: str, new: str) -> None:
    edit(recorded, SCRIPT, old, new)
    document = predicted(recorded)
    assert document["refused"]
