"""Other optimizers, other options of theirs, and clipping that comes and goes: peaks as of the edited script when it runs.

Parameters outweigh a batch by far, so that the peak lies in the update or follows what optimizers hold.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from training import edit, predicted, record, told_as_run

TEXT = """
import torch
from torch import nn, optim
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW
DECAY = 0.05
def main(rate):
    model = nn.Sequential(nn.Linear(60, 100), nn.LayerNorm(100), nn.ReLU(), nn.Linear(100, 60))
    optimizer = AdamW(model.parameters(), lr=rate, weight_decay=DECAY)
    for step in range(24):
        x = torch.randn(4, 60)
        loss = (model(x) - x).pow(2).mean()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
main(1e-3)
"""
OPTIMIZER = "AdamW(model.parameters(), lr=rate, weight_decay=DECAY)"
CLIPPING = "        clip_grad_norm_(model.parameters(), 1.0)\n"
EDITS = {  # what the optimizer is, or what else is replaced by what; how it is told
    "SGD": ("optim.SGD(model.parameters(), rate)", "AdamW(weight_decay=0.05) → SGD"),
    "momentum": ("optim.SGD(model.parameters(), rate, 0.9)", "AdamW(weight_decay=0.05) → SGD(momentum=0.9)"),
    "all that SGD has": (
        "optim.SGD(model.parameters(), rate, 0.9, weight_decay=DECAY, nesterov=True, maximize=True)",
        "AdamW(weight_decay=0.05) → SGD(maximize=True, momentum=0.9, nesterov=True, weight_decay=0.05)",
    ),
    "Adam": ("torch.optim.Adam(model.parameters(), weight_decay=1e-4)", "AdamW(weight_decay=0.05) → Adam(weight_decay=1e-4)"),
    "all that Adam has": (
        "optim.Adam(\n        model.parameters(),\n        weight_decay=0.1,\n        amsgrad=True,\n        maximize=True,\n    )",
        "AdamW(weight_decay=0.05) → Adam(amsgrad=True, maximize=True, weight_decay=0.1)",
    ),
    "no decay": ("AdamW(model.parameters(), lr=rate, weight_decay=0)", "AdamW(weight_decay=0.05) → AdamW(weight_decay=0)"),
    "in lists": ("optim.Adam(model.parameters(), foreach=True)", "AdamW(weight_decay=0.05) → Adam(foreach=True)"),
    "fused": ("optim.SGD(model.parameters(), fused=True, momentum=0.5)", "AdamW(weight_decay=0.05) → SGD(fused=True, momentum=0.5)"),
}


def replaced(*pairs: tuple[str, str]) -> str:
    text = TEXT
    for was, now in pairs:
        assert was in text
        text = text.replace(was, now)
    return text


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("optimizers")
    record(folder, TEXT)
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_another_optimizer(recorded: Path, tmp_path: Path, name: str) -> None:
    now, told = EDITS[name]
    assert told_as_run(recorded, edit(recorded, TEXT, OPTIMIZER, now), tmp_path) == [told]


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([("DECAY = 0.05", "DECAY = 0.0")], ["AdamW(weight_decay=0.05) → AdamW(weight_decay=0)"]),
        ([("import AdamW", "import Adam"), ("AdamW(model", "Adam(model")], ["AdamW(weight_decay=0.05) → Adam(weight_decay=0.05)"]),
        ([(CLIPPING, "")], ["clip_grad_norm_ removed"]),
        (
            [(CLIPPING, ""), (OPTIMIZER, "optim.SGD(model.parameters(), rate)")],
            ["clip_grad_norm_ removed", "AdamW(weight_decay=0.05) → SGD"],
        ),
        (
            [("100), nn.ReLU(), nn.Linear(100, 60)", "100), nn.Linear(100, 60)"), (OPTIMIZER, "optim.SGD(model.parameters(), rate, 0.9)")],
            ["ReLU() removed", "AdamW(weight_decay=0.05) → SGD(momentum=0.9)"],
        ),
    ],
    ids=["a constant", "another import", "no clipping", "both", "a layer too"],
)
def test_what_else_says_so(recorded: Path, tmp_path: Path, pairs: list[tuple[str, str]], told: list[str]) -> None:
    said = told_as_run(recorded, edit(recorded, TEXT, TEXT, replaced(*pairs)), tmp_path)
    assert sorted(said) == sorted(told)


def test_clipping_comes_to_gradients_that_nothing_clipped(tmp_path: Path) -> None:
    plain = replaced((CLIPPING, ""))
    record(tmp_path / "plain", plain)
    assert told_as_run(tmp_path / "plain", edit(tmp_path / "plain", plain, plain, TEXT), tmp_path / "clips") == ["clip_grad_norm_ added"]


PAIR = """
import torch
from torch import nn
first, second = nn.Linear(80, 90), nn.Linear(90, 10)
one = torch.optim.Adam(first.parameters(), betas=(0.5, 0.9))
other = torch.optim.Adam(second.parameters(), betas=(0.5, 0.9))
for step in range(24):
    made = first(torch.randn(2, 80))
    second(made.detach()).mean().backward()
    other.step()
    other.zero_grad()
    second(made).mean().backward()
    one.step()
    one.zero_grad()
"""


@pytest.mark.parametrize("which", ["first", "second"])
def test_of_two_optimizers_that_which_is_edited_is_another(tmp_path: Path, which: str) -> None:
    record(tmp_path / "pair", PAIR)
    text = edit(tmp_path / "pair", PAIR, f"Adam({which}.parameters(), betas=(0.5, 0.9))", f"SGD({which}.parameters())")
    assert told_as_run(tmp_path / "pair", text, tmp_path / "truth") == ["Adam → SGD"]


def test_rates_change_nothing(recorded: Path) -> None:
    edit(recorded, TEXT, TEXT, replaced(("lr=rate", "lr=rate * 2"), ("DECAY = 0.05", "DECAY = 0.06"), ("1.0)\n", "0.5)\n")))
    answer = predicted(recorded)
    assert not answer["edits"] and not answer["refused"] and not answer["misfits"]


@pytest.mark.parametrize(
    ("was", "now", "why"),
    [
        (OPTIMIZER, "optim.SGD(model.parameters(), rate, momentum=rate)", "what `momentum` is cannot be told"),
        (OPTIMIZER, "optim.RMSprop(model.parameters())", "RMSprop"),
        (OPTIMIZER, 'optim.Adam([{"params": model.parameters(), "momentum": 0, "weight_decay": 0}])', "[{"),
        (OPTIMIZER, "optim.SGD(model[0].parameters(), rate)", "model[0]"),
        (OPTIMIZER, "optim.Adam(model.parameters(), lr=torch.tensor(rate))", "torch.tensor(rate)"),
        (CLIPPING, "        norm = clip_grad_norm_(model.parameters(), 1.0)\n", "norm = clip_grad_norm_"),
        (CLIPPING, "        clip_grad_norm_(model.parameters(), 1.0, norm_type=1)\n", "norm_type=1"),
    ],
)
def test_what_is_not_followed_is_refused(recorded: Path, was: str, now: str, why: str) -> None:
    edit(recorded, TEXT, was, now)
    (refused,) = predicted(recorded)["refused"]
    assert why in refused["reason"]
