"""Which steps count as steps without a profiler. On a GPU it leaves something behind; phases are real, their times given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hotlens.phases import Measured, Phase, Plain
from hotlens.result import plain_phases, plain_steps, slowed


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
        ([[60, 61, 62], 5, [76], 1, [84]], None, [60, 61, 62, 76, 84], 0),
        ([1, [76], 1, [84], 5], "gpu", [76, 84], 0),  # none before: what there is
        ([[60, 61, 62]], "gpu", [60, 61, 62], 0),
        ([], "gpu", [], 0),
    ],
)
def test_steps_after_a_profiler_do_not_count_on_a_gpu(order: list[Any], device: object, steps: list[int], more: float) -> None:
    past = phases(order, device)
    assert plain_steps(past) == steps
    assert [n for phase in plain_phases(past) for n in phase.durations] == steps
    assert slowed(past) == pytest.approx(more)
