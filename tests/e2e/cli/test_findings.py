"""What a trace alone gives evidence for: `hotlens whatif TRACE` and the section of `hotlens report`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shell import Run

Write = Callable[[str, dict[str, Any]], Path]


def loading(share: int) -> dict[str, Any]:
    """A step of 1 ms on a CPU whose process loads for so many microseconds, then runs Adam's loop for 100."""

    def complete(category: str, name: str, start: int, duration: int) -> dict[str, Any]:
        return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": duration, "args": {}}

    events = [
        complete("user_annotation", "ProfilerStep#3", 0, 1000),
        complete("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, share),
        complete("python_function", "train.py(40): main", 0, 999),
        complete("cpu_op", "aten::linear", share + 10, 20),
        complete("user_annotation", "Optimizer.step#Adam.step", 890, 102),
        complete("cpu_op", "aten::addcdiv_", 891, 100),
    ]
    return {"schemaVersion": 1, "traceEvents": events}


def test_a_trace_is_told_what_it_gives_evidence_for(hotlens: Run, write: Write) -> None:
    trace = write("x.json", loading(600))
    result = hotlens("whatif", trace, "--format", "json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["schema"] == "hotlens.whatif/1"
    assert [item["kind"] for item in answer["items"]] == ["loader_workers", "fused_optimizer"]
    first = answer["items"][0]
    assert first["method"] == "profile"
    assert (first["ratio"], first["low"], first["high"], first["bound"]) == (0.4, 0.4, 1, True)
    assert (first["step_was_ns"], first["step_ns"], first["saved_ns"]) == (1_000_000, 400_000, 600_000)
    assert first["evidence"] == [{"what": "the training process makes the batches itself", "ns": 600_000}]
    assert (first["file"], first["line"]) == ("train.py", 39)
    report = json.loads(hotlens("report", trace, "--format", "json").stdout)
    assert report["findings"] == answer["items"]


def test_people_read_the_bound_its_evidence_and_its_condition(hotlens: Run, write: Write) -> None:
    trace = write("x.json", loading(600))
    text = hotlens("whatif", "loader_workers", trace).stdout
    assert "train.py:40" in text
    assert "60 %: 1.00 ms → 400 µs" in text
    assert "now: the training process makes the batches itself, 600 µs" in text
    assert "fused_optimizer" not in text
    assert "What could help, at most" in hotlens("report", trace).stdout


def test_what_is_too_small_for_a_person_is_not_told(hotlens: Run, write: Write) -> None:
    kinds = [item["kind"] for item in json.loads(hotlens("whatif", write("x.json", loading(10)), "--format", "json").stdout)["items"]]
    assert kinds == ["fused_optimizer"]


def test_what_needs_a_recorded_program_says_so_of_a_trace(hotlens: Run, write: Write) -> None:
    result = hotlens("whatif", write("x.json", loading(600)), "no_dropout")
    assert result.returncode == 0
    assert "no_dropout  not here: a trace has no recorded program to replay" in result.stdout


def test_words_that_are_neither_are_named(hotlens: Run, write: Write) -> None:
    trace = write("x.json", loading(600))
    for words in (["nonsense", trace], [trace, "loader-worker"], ["nonsense"]):
        result = hotlens("whatif", *words)
        assert result.returncode == 2, result.stderr
        assert "is no change that is known; there are " in result.stderr
    assert hotlens("whatif", "missing.json").returncode == 3


def test_a_change_at_a_place_is_that_of_this_place_alone(hotlens: Run, write: Write) -> None:
    trace = write("x.json", loading(600))
    here = json.loads(hotlens("whatif", trace, "loader_workers@train.py:40", "--format", "json").stdout)
    assert [item["kind"] for item in here["items"]] == ["loader_workers"]
    for place in ("train.py:41", "rain.py:40"):
        assert json.loads(hotlens("whatif", trace, f"loader_workers@{place}", "--format", "json").stdout)["items"] == []
    assert hotlens("whatif", trace, "loader_workers@train.py").returncode == 2


def exchanging(exchange: int) -> dict[str, Any]:
    """A step on a GPU: a product of 500 µs, an exchange of so many on another stream, an update of 50 µs, and 30 µs of the host."""
    events: list[dict[str, Any]] = []

    def complete(category: str, name: str, start: int, duration: int, stream: int = 0, launch: int = 0) -> None:
        place = {"pid": 0, "tid": stream} if stream else {"pid": 9, "tid": 1}
        args = {"correlation": launch} if launch else {}
        events.append({"ph": "X", "cat": category, "name": name, **place, "ts": start, "dur": duration, "args": args})

    complete("user_annotation", "ProfilerStep#3", 0, 600 + exchange)
    kernels = [("gemm", 20, 500, 7), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 520, exchange, 8), ("add", 520 + exchange, 50, 7)]
    for number, (name, start, duration, stream) in enumerate(kernels, 1):
        complete("cpu_op", f"aten::op{number}", number * 10 - 10, 9)
        complete("cuda_runtime", "cudaLaunchKernel", number * 10 - 8, 5, launch=number)
        complete("kernel", name, start, duration, stream, number)
    complete("cpu_op", "aten::item", 40, 555 + exchange)
    complete("cuda_runtime", "cudaStreamSynchronize", 45, 545 + exchange, launch=99)
    return {"schemaVersion": 1, "traceEvents": events}


def test_a_report_says_what_communication_costs_at_most(hotlens: Run, write: Write) -> None:
    report = json.loads(hotlens("report", write("short.json", exchanging(400)), "--format", "json").stdout)
    assert report["communication_sensitivity"] == {"hidden_ratio": 0.6, "without_ratio": 0.6}
    long = write("long.json", exchanging(1400))
    report = json.loads(hotlens("report", long, "--format", "json").stdout)
    assert report["communication_sensitivity"] == {"hidden_ratio": 0.7, "without_ratio": 0.3}
    words = "if communication were hidden behind computing \u221230 %, without communication \u221270 %"
    assert words in hotlens("report", long).stdout
    report = json.loads(hotlens("report", write("alone.json", loading(600)), "--format", "json").stdout)
    assert "communication_sensitivity" not in report
