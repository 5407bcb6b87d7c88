"""`hotlens export`, read by the tools it is for: Python's csv, speedscope in a browser, speedscope's importer of Chrome's trace events."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from shell import Run, steps_trace

Write = Callable[[str, dict[str, Any]], Path]
SEEDS = (0, 4, 7)
HOSTILE = '=HYPERLINK("http://x","a"),\r\n\x1b[2J<script>_0'


def test_csv_is_read_by_pythons_csv(hotlens: Run, write: Write) -> None:
    trace = write("x.json", steps_trace([1000, 1000, 1000], [300, 310, 320], HOSTILE))
    text = hotlens("export", trace, "--to", "csv", "-o", "x.csv")
    assert text.returncode == 0
    content = (trace.parent / "x.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    assert [row["path"] for row in rows] == ["Net_0", f"Net_0/{HOSTILE}"]
    assert [row["class"] for row in rows] == ["Net", "'" + HOSTILE.removesuffix("_0")]  # a spreadsheet must not run it
    assert [int(row["forward_cpu_total_ns"]) for row in rows] == [350_000, 310_000]
    assert {len(row) for row in rows} == {16}
    assert content.count("\r\n") == 5  # three rows, and one in the name and the class of the last


def test_a_file_appears_whole_or_not_at_all(hotlens: Run, write: Write, tmp_path: Path) -> None:
    trace = write("x.json", steps_trace([1000]))
    assert hotlens("export", trace, "--to", "json", "-o", tmp_path / "no" / "x.json").returncode == 3
    assert hotlens("export", trace, "--to", "json", "-o", "y.json").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.json", "y.json"]
    assert json.loads((tmp_path / "y.json").read_text()) == json.loads(hotlens("export", trace, "--to", "json").stdout)


def test_a_full_disk_is_said(hotlens: Run, write: Write) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    trace = write("x.json", steps_trace([1000] * 50))
    result = subprocess.run(
        ["sh", "-c", 'exec "$0" export "$1" --to json > /dev/full', hotlens("--version").args[0], trace], capture_output=True, text=True
    )
    assert result.returncode == 3
    assert "cannot be written" in result.stderr


def opened(viewers: Path, files: list[Path]) -> list[dict[str, Any]]:
    command = ["node", str(viewers / "open.mjs"), *map(str, files)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_speedscope_opens_the_speedscope_export(hotlens: Run, viewers: Path, tmp_path: Path) -> None:
    files = []
    for seed in SEEDS:
        (tmp_path / f"{seed}.json").write_text(synthetic.trace(seed))
        files.append(tmp_path / f"{seed}.speedscope.json")
        assert hotlens("export", f"{seed}.json", "--to", "speedscope", "-o", files[-1]).returncode == 0
    for file, result in zip(files, opened(viewers, files), strict=True):
        profiles = json.loads(file.read_text())["profiles"]
        assert result == {"profiles": len(profiles), "complaints": [], "schema": []}


def test_a_chrome_trace_importer_opens_the_perfetto_export(hotlens: Run, viewers: Path, tmp_path: Path) -> None:
    files = []
    for seed in SEEDS:
        (tmp_path / f"{seed}.json").write_text(synthetic.trace(seed))
        files.append(tmp_path / f"{seed}.perfetto.json")
        assert hotlens("export", f"{seed}.json", "--to", "perfetto", "-o", files[-1]).returncode == 0
    for file, result in zip(files, opened(viewers, files), strict=True):
        events = json.loads(file.read_text())["traceEvents"]
        tracks = {(event["pid"], event["tid"]) for event in events if event["ph"] == "X"}
        names = {event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
        assert {"steps", "stages", "buckets", "modules forward, thread 11"} <= names
        assert result["profiles"] == len(tracks)
        ours = [line for line in result["complaints"] if "Hotlens" in line or "modules" in line]
        assert ours == []
