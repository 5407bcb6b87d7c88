"""Which steps count as steps without a profiler: it leaves something behind. Phases are real, their times given."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import record_text
from hotlens.bundle.result import plain_phases, plain_steps, slowed
from hotlens.steps import measure
from hotlens.steps.measure import cudnn_benchmark
from hotlens.steps.phases import Measured, Phase, Plain


class Clock:
    """Has a device, as that of a phase on a GPU."""

    def __init__(self, device: object) -> None:
        self.device = device


def phases(order: Sequence[Any], device: object) -> list[Phase]:
    """A list of times is a plain phase, a number a measured one of so many steps."""
    made: list[Phase] = []
    for what in order:
        phase: Phase = Measured(what) if isinstance(what, int) else Plain(len(what))
        phase.clock = Clock(device)  # type: ignore[assignment]
        phase.done = phase.steps
        phase.durations = what if isinstance(what, list) else []
        made.append(phase)
    return made


@pytest.mark.parametrize(
    ("order", "device", "steps", "more"),
    [
        ([[60, 61, 62], 5, [76], 1, [84]], "gpu", [60, 61, 62], 76 / 61 - 1),
        ([[60, 61, 62], 5, [76], 1, [84]], None, [60, 61, 62], 0),
        ([1, [76], 1, [84], 5], "gpu", [76, 84], 0),  # none before: what there is
        ([1, [76], 1, [64, 65, 66], 5, [84]], None, [64, 65, 66], 0),  # most of them do not follow a profiler
        ([[60, 61, 62]], "gpu", [60, 61, 62], 0),
        ([], "gpu", [], 0),
    ],
)
def test_steps_after_a_profiler_do_not_count(order: list[Any], device: object, steps: list[int], more: float) -> None:
    past = phases(order, device)
    assert plain_steps(past) == steps
    assert [n for phase in plain_phases(past) for n in phase.durations] == steps
    assert slowed(past) == pytest.approx(more)


SLOW = """
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, at):
        time.sleep(0.002)
        return torch.randn(6)


if __name__ == "__main__":
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in DataLoader(Rows(), batch_size=4, num_workers=WORKERS):
        model(x).mean().backward()
        optimizer.step()
        time.sleep(0.005)
"""


@pytest.mark.parametrize(("workers", "least"), [(0, 8_000_000), (1, 0)])
def test_what_a_loader_takes_in_the_scripts_own_process_is_told_for_each_plain_step(tmp_path: Path, workers: int, least: int) -> None:
    manifest = record_text(tmp_path, SLOW.replace("WORKERS", str(workers))).bundle.manifest
    fetching, steps = manifest["plain_step_fetching_ns"], manifest["plain_step_ns"]
    assert len(fetching) == len(steps) > 2
    for took, step in zip(fetching, steps):
        assert least <= took <= (step - 5_000_000 if least else 0)


def test_a_loader_that_another_thread_asks_takes_nothing_of_the_step() -> None:
    phase = Plain(1)
    phase.start()
    phase.begin_step()
    phase.fetched(300)
    ahead = threading.Thread(target=phase.fetched, args=(7_000,))
    ahead.start()
    ahead.join()
    phase.fetched(50)
    phase.end_step()
    assert phase.fetching == [350]


def test_whether_cudnn_tries_its_convolutions_is_told_where_it_may_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cudnn_benchmark() is None, "nothing runs on a device here"
    monkeypatch.setattr(measure, "device_module", lambda: object())
    monkeypatch.setattr(torch.version, "cuda", "12.6")
    flags = torch.backends.cudnn.flags
    for settings, told in (
        ({"benchmark": False}, False),
        ({"benchmark": True}, True),
        ({"benchmark": True, "deterministic": True}, None),
        ({"benchmark": True, "enabled": False}, None),
    ):
        with flags(**{"enabled": True, "deterministic": False, **settings}):
            assert cudnn_benchmark() is told
    monkeypatch.setattr(torch.version, "cuda", None)
    assert cudnn_benchmark() is None
