"""`peaks` of the package: best of repeated runs, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hotlens.steps import peaks


def test_the_best_run_counts_and_the_first_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 0.0, 5.0, 5.0, 8.0, 8.0, 12.0, 12.0])  # three runs, of 5, 3 and 4 seconds
    monkeypatch.setattr(peaks.time, "perf_counter", lambda: next(ticks))
    runs: list[int] = []
    assert peaks.best(lambda: runs.append(len(runs)), lambda: None, budget=0.0) == 3.0
    assert len(runs) == 1 + peaks.LEAST_RUNS


def test_rates_are_operations_and_bytes_over_the_best_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def half_a_second(run: Any, wait: Any, budget: float = 0.0) -> float:
        calls.append(run())
        return 0.5

    monkeypatch.setattr(peaks, "best", half_a_second)
    torch = pytest.importorskip("torch")
    assert peaks.product("cpu", torch.float32, 64, lambda: None) == 2 * 64**3 / 0.5
    assert peaks.convolution("cpu", torch.float32, 2, lambda: None) == 2 * 2 * 9 * 64 * 64 * 56**2 / 0.5
    assert peaks.copy("cpu", 4096, lambda: None) == 2 * 4096 / 0.5
    assert calls[0].shape == (64, 64)
    assert calls[1].shape == (2, 64, 56, 56)
    assert calls[2].numel() == 1024
