"""Lines of a dataset that run in worker processes: which of them a batch waits for, whatever else the workers do."""

from __future__ import annotations

import collections
import os
import signal
import time
from pathlib import Path
from types import FrameType

import pytest
from conftest import record_text
from hotlens.loop.spawned import begins
from hotlens.loop.ticks import Ticks
from hotlens.loop.worker_lines import WorkerLines, look_from_outside
from hotlens.source.frames import Files, line_of

SCRIPT = """\
import signal, time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset


def label(index):
    return sum(number * number for number in range(3000)) % 4


BEGIN
class Mapped(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        kind = label(index)
        time.sleep(0.0002)
        return torch.full((8,), 1.0), kind


class Iterated(IterableDataset):
    def __iter__(self):
        for index in range(400):
            kind = label(index)
            time.sleep(0.0002)
            yield torch.full((8,), 1.0), kind


class Impatient(Mapped):
    def __getitem__(self, index):
        signal.signal(signal.SIGALRM, lambda *_: exec("raise TimeoutError"))
        signal.alarm(5)
        try:
            return super().__getitem__(index)
        finally:
            signal.alarm(0)


class Held(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.full((8,), float(label(index)) * 0), 1


def main():
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(DATASET, batch_size=8, num_workers=2, OPTIONS)
    held = DataLoader(Held(), batch_size=8, num_workers=1)
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for x, y in held:
                model(x)


if __name__ == "__main__":
    main()
"""
BEGIN = """\
def begin(worker):
    assert torch.utils.data.get_worker_info().id == worker
"""
SCRIPT = SCRIPT.replace("BEGIN", BEGIN)
LINES = SCRIPT.splitlines()


def fetches(folder: Path, dataset: str, options: str = "") -> list[tuple[list[str], float]]:
    """Each stack of lines, by their text, with its part."""
    run = record_text(folder, SCRIPT.replace("DATASET", dataset).replace("OPTIONS", options))
    model = run.bundle.model
    assert [line["id"] for line in model["lines"]] == list(range(len(model["lines"])))
    return [([LINES[model["lines"][line]["line"]].strip() for line in row["lines"]], row["weight"]) for row in model.get("fetches", [])]


@pytest.mark.parametrize(
    ("dataset", "options"),
    [("Mapped()", ""), ("Mapped()", "persistent_workers=True"), ("Iterated()", ""), ("Impatient()", "")]
    + [("Mapped()", f"multiprocessing_context='{how}', worker_init_fn=begin") for how in ("spawn", "forkserver")]
    + [("Iterated()", "multiprocessing_context='spawn'")],
)
def test_a_worker_is_seen_at_its_lines(tmp_path: Path, dataset: str, options: str) -> None:
    found = fetches(tmp_path, dataset, options)
    assert 0.5 < sum(weight for _, weight in found) <= 1
    computes = sum(weight for stack, weight in found if "return sum(" in stack[-1])
    sleeps = sum(weight for stack, weight in found if stack[-1] == "time.sleep(0.0002)")
    assert computes > 0.1 and sleeps > 0.1, found
    assert all("kind = label(index)" in stack for stack, _ in found if "return sum(" in stack[-1]), "it lies inside its caller's line"
    assert not any("Held" in text or "* 0), 1" in text for stack, _ in found for text in stack), "what only evaluation fetches"
    assert not any("for x, y in loader" in text or text == "main()" for stack, _ in found for text in stack), "of another process"


FAILING = """\
def begin(worker):
    if worker == 1:
        raise RuntimeError("no such camera")
"""


def test_the_scripts_own_function_begins_a_worker_and_may_fail(tmp_path: Path) -> None:
    text = SCRIPT.replace("DATASET", "Mapped()").replace("OPTIONS", "multiprocessing_context='spawn', worker_init_fn=begin")
    run = record_text(tmp_path, text.replace(BEGIN, FAILING))
    assert run.code != 0 and "no such camera" in run.err


def test_a_worker_whose_memory_is_gone_begins_as_ever(tmp_path: Path) -> None:
    begun: list[int] = []
    other = os.open(tmp_path, os.O_RDONLY)
    try:
        for memory in (f"/proc/self/fd/{other}", "/proc/self/fd/99999", str(tmp_path / "none")):
            with pytest.raises(OSError):
                look_from_outside((), memory, 0)
            begins(begun.append, (), memory, 0)(0)
    finally:
        os.close(other)
    assert begun == [0, 0, 0]


def test_ticks_come_on_the_main_thread_between_start_and_stop() -> None:
    seen: list[str] = []
    ticks = Ticks(0.001, lambda frame: seen.append(frame.f_code.co_name))

    def busy() -> None:
        end = time.perf_counter() + 0.5
        while time.perf_counter() < end:
            pass

    busy()
    assert not seen
    ticks.start()
    busy()
    ticks.stop()
    count = len(seen)
    assert count > 10 and seen.count("busy") > 0.8 * count
    busy()
    assert len(seen) == count
    with pytest.raises(OSError, match="in use"):
        Ticks(0.001, print)


def test_what_is_written_by_halves_is_nothing(tmp_path: Path) -> None:
    lines = WorkerLines(Files([str(tmp_path)]))
    path = (("a.py", 3, "get"), ("b.py", 7, "blur"))
    lines._samplers.append(5)
    lines._slots.write(0, {path: 4, (): 1})
    assert lines.of({5}) == {path: 4, (): 1} and lines.of({6}) == {}
    lines._slots._shared[10] = 0
    assert lines.of({5}) == {}
    lines._slots.write(0, {((("x" * 70_000), 1, "long"),): 1})  # more than there is room for: what was there stays
    assert lines.of({5}) == {}


def words_in(vocabulary: set[str], words: list[str], until: float) -> list[str]:
    known = []
    while time.perf_counter() < until:
        for word in words:
            if word in vocabulary:
                known.append(word)
        known.clear()
    return known


def test_the_jump_back_of_a_loop_is_no_line_of_its_function_s_head() -> None:
    """From Python 3.11 on it may have no line, and it is where a tick is dealt with."""
    seen: collections.Counter[int] = collections.Counter()

    def look(frame: FrameType) -> None:
        if frame.f_code is words_in.__code__:
            seen[line_of(frame) - frame.f_code.co_firstlineno] += 1

    signal.signal(signal.SIGRTMAX - 3, signal.SIG_DFL)  # whatever ran before in this process
    ticks = Ticks(0.0005, look)
    words = [f"w{i}" for i in range(200)]
    ticks.start()
    words_in(set(words), words, time.perf_counter() + 0.3)
    ticks.stop()
    assert sum(seen.values()) > 100
    assert seen[3] + seen[4] + seen[5] > 0.9 * sum(seen.values()), seen
    assert seen[0] == 0
