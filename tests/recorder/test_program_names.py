"""A recorded program says until when names of Python held what the graph kept longer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from conftest import record_text

TEXT = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 2)
    def forward(self, x):
        hidden = self.first(x)
        kept = [torch.tanh(hidden)]
        wide = torch.sigmoid(torch.exp(torch.cos(kept[0])))
        wide = torch.sin(wide)
        {more}
        return self.last(wide)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(24):
    out = model(torch.randn(8, 4))
    loss = torch.cos(out).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {late}
"""


def last_names(folder: Path, more: str = "", late: str = "") -> dict[str, str]:
    """By the operator that made a tensor that the graph kept: the last one that ran while a name held it."""
    run = record_text(folder, TEXT.format(more=more or "pass", late=late or "pass"))
    operators = json.loads(gzip.decompress((run.bundle.path / run.bundle.manifest["program"]).read_bytes()))["operators"]
    made = {one["out"]: one["op"].removeprefix("aten::") for one in operators if isinstance(one["out"], int)}
    return {made.get(number, "batch"): one["op"].removeprefix("aten::") for one in operators for number in one.get("last_named", ())}


def test_names_live_until_they_are_given_anew_or_their_function_returns(tmp_path: Path) -> None:
    assert last_names(tmp_path) == {
        "batch": "linear",  # `x`, until `forward` returns
        "tanh": "linear",  # in a list
        "sigmoid": "sin",  # given anew
        "sin": "linear",
    }


def test_what_asks_for_its_own_names_keeps_them(tmp_path: Path) -> None:
    """Its dictionary is shared with who reads its frame: it is neither read nor cleared."""
    more = "names = locals(); torch.relu(wide); assert names['hidden'] is hidden and len(names) > 4"
    assert "tanh" not in last_names(tmp_path, more)


def test_reading_names_holds_on_to_nothing(tmp_path: Path) -> None:
    """The recorded peak is that of the allocator in the same step, to the byte, though names were given anew within it."""
    more = "for turn in range(4): big = torch.ones(20_000); big = big + 1"
    run = record_text(tmp_path, TEXT.format(more=more, late="pass"))
    program = json.loads(gzip.decompress((run.bundle.path / run.bundle.manifest["program"]).read_bytes()))
    rise = program["allocator"]["peak_bytes"] - program["allocator"]["start_bytes"]
    assert 3 * 80_000 > rise >= 2 * 80_000


def test_of_a_loop_in_a_function_no_batch_of_before_is_there(tmp_path: Path) -> None:
    """The map step is traced, which leaves copies of a function's variables."""
    lines = TEXT.format(more="pass", late="pass").splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("for step"))
    body = [line.replace("model(torch.randn(8, 4))", "model(x)") for line in lines[at + 1 :]]
    loop = ["def main():", "    " + lines[at], "        x = torch.randn(8, 4)", *("    " + line for line in body), "main()"]
    run = record_text(tmp_path, "\n".join([*lines[:at], *loop]) + "\n")
    program = json.loads(gzip.decompress((run.bundle.path / run.bundle.manifest["program"]).read_bytes()))
    assert [one["kind"] for one in program["tensors"] if one["shape"] == [8, 4]] == ["input"]
