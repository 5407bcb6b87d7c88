"""What stands below the tracks of a step: every thread of the host, memory and the device's queue over time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_socket import Json, Page, page_of
from small_trace import Trace


def memory(trace: Trace, at: float, bytes_: int, total: int) -> None:
    args = {"Addr": 1, "Bytes": bytes_, "Total Allocated": total, "Total Reserved": 4096, "Device Type": 1, "Device Id": 0}
    trace.events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": "9", "tid": "1", "ts": at, "args": args})


def trace_of_threads(path: Path) -> Path:
    trace = Trace()
    trace.add("user_annotation", "ProfilerStep#0", 0, 1000)
    trace.add("python_function", "main.py(1): <module>", -50, 2000)
    trace.add("python_function", "train.py(41): rollout", 100, 300)
    trace.add("python_function", "torch/nn/modules/module.py(7): _call_impl", 120, 100)
    trace.add("cpu_op", "aten::mm", 130, 60)
    trace.launch("sgemm", 140, 300, 100)
    trace.launch("sgemm", 150, 450, 100)
    trace.add("python_function", "threading.py(5): run", 10, 500, thread="2")
    memory(trace, 135, 400, 1400)
    memory(trace, 160, 600, 2000)
    memory(trace, 700, -600, 1400)
    return trace.write(path)


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with page_of(trace_of_threads(tmp_path_factory.mktemp("threads") / "threads.json")) as page:
        yield page


def bars(flame: Json, row: int) -> list[tuple[str, str, int, int]]:
    columns = flame["rows"][row]
    return [
        (flame["labels"][label], flame["kinds"][kind], start, duration)
        for label, kind, start, duration in zip(columns["label"], columns["kind"], columns["start"], columns["duration"], strict=True)
    ]


def test_threads_are_listed_and_only_open_ones_are_told(threads: Page) -> None:
    answer = threads.ask("lanes", width=1000)
    assert [(each["id"], each["frames"], each["others"]) for each in answer["threads"]] == [("main", 3, 4), ("t2", 1, 0)]
    assert all("flame" not in each for each in answer["threads"])
    main, other = threads.ask("lanes", width=1000, open=["main", "nobody"])["threads"]
    assert "flame" not in other
    flame = main["flame"]
    assert flame["outer"] == ["main.py(1): <module>"]
    assert bars(flame, 0) == [("train.py(41): rollout", "own", 100_000, 300_000)]
    assert bars(flame, 1) == [("torch/nn/modules/module.py(7): _call_impl", "python", 120_000, 100_000)]
    assert bars(flame, 2) == [("aten::mm", "operator", 130_000, 60_000)]
    assert [kind for _, kind, _, _ in bars(flame, 3)] == ["launch", "launch"]


def test_a_function_of_ones_own_has_a_place_and_torchs_has_none(threads: Page) -> None:
    flame = threads.ask("lanes", width=1000, open=["main"])["threads"][0]["flame"]
    assert flame["rows"][0]["place"] == [0]
    assert flame["places"] == [{"file": "train.py", "line": 40}]
    assert flame["rows"][1]["place"] == [-1]


def test_a_window_holds_what_reaches_into_it(threads: Page) -> None:
    flame = threads.ask("lanes", width=1000, open=["main"], **{"from": 190_000, "to": 400_000})["threads"][0]["flame"]
    assert [len(row["start"]) for row in flame["rows"]] == [1, 1, 0, 0]
    assert threads.refused("lanes", open=["main"])["code"] == -32602


def test_memory_over_time_has_the_overviews_peak(threads: Page) -> None:
    counters = {each["id"]: each for each in threads.ask("lanes", width=1000)["counters"]}
    overview = threads.ask("overview")
    held = counters["memory"]
    assert held["peak"] == {"time": overview["memoryPeakAt"]["time"], "value": overview["memoryPeak"]}
    assert list(zip(held["start"], held["most"], strict=True)) == [(0, 1000), (135_000, 1400), (160_000, 2000), (700_000, 1400)]
    assert held["name"] == "memory, GPU 0"


def test_work_is_queued_from_its_launch_until_it_runs(threads: Page) -> None:
    queue = {each["id"]: each for each in threads.ask("lanes", width=1000)["counters"]}["queue"]
    assert list(zip(queue["start"], queue["most"], strict=True)) == [(0, 0), (140_000, 1), (150_000, 2), (300_000, 1), (450_000, 0)]
    assert queue["mean"] == pytest.approx((160 + 300) / 1000)


def test_what_was_not_recorded_has_no_counter(page: Page) -> None:
    assert [each["id"] for each in page.ask("lanes", width=100)["counters"]] == ["queue"]
