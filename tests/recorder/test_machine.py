"""What other programs take of the processors, against clocks of the processes themselves."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hotlens.process.machine import Processors, between, read_processors

BURN = "import time\nwhile time.process_time() < 0.6: pass\nprint(time.process_time(), flush=True)\n"
COARSE_NS = 100_000_000  # ticks of 10 ms, in several processes


def now() -> Processors:
    read = read_processors()
    if read is None:
        pytest.skip("this system tells nothing of its processors")
    return read


def test_this_process_and_its_children_are_ours() -> None:
    before, own = now(), time.process_time()
    while time.process_time() < own + 0.3:
        pass
    child = subprocess.run([sys.executable, "-c", BURN], capture_output=True, check=True)
    seen = between(before, now())
    assert seen["ours_ns"] == pytest.approx((time.process_time() - own + float(child.stdout)) * 1e9, abs=COARSE_NS)
    assert seen["wall_ns"] >= 300_000_000
    assert seen["count"] >= 1


def test_a_process_that_is_nobodys_child_is_another_program() -> None:
    before = now()
    # The shell ends at once; what it leaves running has no parent here.
    subprocess.run(["sh", "-c", '"$0" -c "$1" >/dev/null 2>&1 &', sys.executable, BURN], check=True)
    time.sleep(3)
    seen = between(before, now())
    assert seen["ours_ns"] < 300_000_000
    assert seen["others_ns"] >= 500_000_000
