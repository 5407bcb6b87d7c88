"""`hotlens bench-device` and what another device would make of a step: a bracket from what both reach at their best."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import Run

Write = Callable[[str, dict[str, Any]], Path]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def row(name: str, gemm: float, copy: float, **more: Any) -> dict[str, Any]:
    peaks = [{"what": "gemm", "type": "f32", "flops_per_s": gemm}, {"what": "copy", "bytes_per_s": copy}]
    return {"schema": "hotlens.device/1", "name": name, "kind": "cuda", "threads": 0, "torch": "2", "measured": "", "peaks": peaks, **more}


def device_bound(kernel: str = "ampere_sgemm_128x64_tn") -> dict[str, Any]:
    """1 ms: a kernel of 600 µs and one of 300 µs, launched ahead in 40; then the host waits for both, and 50 µs are left."""

    def complete(category: str, name: str, start: int, duration: int, tid: int = 1, **args: Any) -> dict[str, Any]:
        return {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": 1 if tid == 1 else 0,
            "tid": tid,
            "ts": start,
            "dur": duration,
            "args": args,
        }

    events = [
        complete("user_annotation", "ProfilerStep#0", 0, 1000),
        complete("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=1),
        complete("cuda_runtime", "cudaLaunchKernel", 20, 5, correlation=2),
        complete("kernel", kernel, 50, 600, tid=7, correlation=1, device=0, stream=7),
        complete("kernel", "vectorized_elementwise_kernel", 650, 300, tid=7, correlation=2, device=0, stream=7),
        complete("cuda_runtime", "cudaDeviceSynchronize", 40, 910, correlation=3),
    ]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Old GPU", "totalGlobalMem": 1}], "traceEvents": events}


def test_a_device_is_measured_printed_and_kept(hotlens: Run, tmp_path: Path, own_cache: Path) -> None:
    result = hotlens("bench-device", "--python", os.environ["HOTLENS_TEST_PYTHON"], "--out", "here.json", "--format", "json")
    assert result.returncode == 0, result.stderr
    measured = json.loads(result.stdout)
    assert measured == json.loads((tmp_path / "here.json").read_text())
    assert measured["schema"] == "hotlens.device/1"
    rates = {(peak["what"], peak.get("type", "")): peak.get("flops_per_s", peak.get("bytes_per_s")) for peak in measured["peaks"]}
    assert {("gemm", "f32"), ("convolution", "f32"), ("gemm", "bf16"), ("copy", "")} <= set(rates)
    assert all(1e8 < rate < 1e16 for rate in rates.values())
    [kept] = (own_cache / "hotlens/devices").iterdir()
    assert json.loads(kept.read_text()) == measured


def test_the_bracket_goes_from_bandwidth_to_unchanged(hotlens: Run, write: Write) -> None:
    trace = write("x.json", device_bound())
    write("old.json", row("Old GPU", 10e12, 1e12))
    write("new.json", row("New GPU", 20e12, 4e12))
    result = hotlens("predict", trace, "--device", "new.json", "--recorded-on", "old.json", "--format", "json")
    assert result.returncode == 0, result.stderr
    [point] = json.loads(result.stdout)["points"]
    # 50 µs before, 50 after; 600 / 2 + 300 / 4 by rates, 900 / 4 by bandwidth.
    assert point["step_was_ns"] == 1_000_000
    assert point["step_ns"] == 475_000
    assert (point["low_ns"], point["high_ns"]) == (325_000, 1_000_000)
    assert (point["covered"], point["device"]["name"]) == (1, "New GPU")
    text = hotlens("predict", trace, "--device", "new.json", "--recorded-on", "old.json").stdout
    assert "a step of 1.00 ms would take 325 µs to 1.00 ms, by rates 475 µs" in text


def test_a_product_of_known_shapes_is_told_by_its_roof(hotlens: Run, write: Write) -> None:
    """(1, 4096) times (4096, 4096): 33.6 MFLOP and 67.1 MB take 3.4 µs of arithmetic and 67.1 µs of memory on the old GPU."""
    trace = device_bound()
    given = {"Input Dims": [[1, 4096], [4096, 4096]], "Input type": ["float", "float"]}
    trace["traceEvents"].append(
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 9, "dur": 7, "args": given},
    )
    write("old.json", row("Old GPU", 10e12, 1e12))
    write("new.json", row("New GPU", 20e12, 4e12))
    result = hotlens("predict", write("x.json", trace), "--device", "new.json", "--recorded-on", "old.json", "--format", "json")
    assert result.returncode == 0, result.stderr
    [point] = json.loads(result.stdout)["points"]
    # Its kernel took 600 µs: what the roof explains goes by bandwidth, the rest by arithmetic. Beside it 100 µs of host, 300 of a copy.
    moved = 4 * (4096 + 4096 * 4096 + 4096) / 1e12 * 1e9
    assert point["step_ns"] == round(100_000 + moved / 4 + (600_000 - moved) / 2 + 300_000 / 4)


def test_a_kept_measurement_is_found_by_its_name(hotlens: Run, write: Write, own_cache: Path) -> None:
    folder = own_cache / "hotlens/devices"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(json.dumps(row("NVIDIA Old GPU", 10e12, 1e12)))
    (folder / "b.json").write_text(json.dumps(row("NVIDIA New GPU 80GB", 20e12, 1e12)))
    trace = write("x.json", device_bound())
    [point] = json.loads(hotlens("predict", trace, "--device", "new gpu", "--format", "json").stdout)["points"]
    assert point["step_ns"] == 700_000
    missing = hotlens("predict", trace, "--device", "TPU")
    assert missing.returncode == 3
    assert "there are NVIDIA Old GPU; NVIDIA New GPU 80GB" in missing.stderr


def test_work_of_no_known_kind_is_no_ground_for_a_prediction(hotlens: Run, write: Write) -> None:
    trace = write("x.json", device_bound(kernel="zzz_secret"))
    write("old.json", row("Old GPU", 10e12, 1e12))
    result = hotlens("predict", trace, "--device", "old.json", "--recorded-on", "old.json")
    assert result.returncode == 3
    assert "only 33% of the work is of a known kind" in result.stderr


@pytest.mark.parametrize(
    "content",
    [
        "",
        "my notes",
        "[]",
        '{"schema": "hotlens.device/1"}',
        json.dumps(row("x", -1, 1e12)),
        json.dumps(row("x", 1e12, 1e12, peaks=[3, None])),
    ],
)
def test_what_is_no_measurement_is_said(hotlens: Run, write: Write, tmp_path: Path, content: str) -> None:
    (tmp_path / "bad.json").write_text(content)
    result = hotlens("predict", write("x.json", device_bound()), "--device", "bad.json", "--recorded-on", "bad.json")
    assert result.returncode == 3
    assert "bad.json is no measurement of a device" in result.stderr


def test_one_thing_is_predicted_at_a_time(hotlens: Run, write: Write) -> None:
    trace = write("x.json", device_bound())
    assert hotlens("predict", trace, "--device", "x", "--batch-size", "8").returncode == 2
    assert hotlens("predict", trace).returncode == 2
