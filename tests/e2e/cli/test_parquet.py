"""`hotlens export --to parquet`, read by DuckDB: sums of the table are those of the report, of one rank and of several."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from shell import Run, steps_trace

FORMATS = Path(__file__).resolve().parents[3] / "annotator/report/FORMATS.md"
Write = Callable[[str, dict[str, Any]], Path]


def rank_trace(rank: int, kernels: list[tuple[str, int]], linear: int = 800) -> dict[str, Any]:
    trace = steps_trace([1000, 1200], [linear, linear + 50])
    trace["distributedInfo"] = {"rank": rank, "world_size": 2, "backend": "nccl"}
    for number, (name, duration) in enumerate(kernels):
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1100 + number, "dur": 1}
        kernel = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1200 + 100 * number, "dur": duration}
        trace["traceEvents"] += [event | {"args": {"correlation": number + 1, "device": 0, "stream": 7}} for event in (launch, kernel)]
    return trace


def test_the_sums_of_the_table_are_those_of_the_report(hotlens: Run, write: Write, tmp_path: Path) -> None:
    trace = write("x.json", rank_trace(3, [("ampere_sgemm_128x64_tn", 40), ("elementwise_kernel", 7), ("elementwise_kernel", 9)]))
    assert hotlens("export", trace, "--to", "parquet", "-o", "x.parquet").returncode == 0
    report = json.loads(hotlens("report", trace, "--format", "json").stdout)
    table = str(tmp_path / "x.parquet")
    walls = dict(duckdb.sql(f"select step, sum(wall_ns) from '{table}' group by step").fetchall())
    assert walls == {step["index"]: step["wall_ns"] for step in report["steps"]}
    kernels = duckdb.sql(
        f"select kernel, family, sum(calls), sum(device_ns) from '{table}' where kernel is not null group by all"
    ).fetchall()
    assert sorted(kernels) == [("ampere_sgemm_128x64_tn", "gemm", 1, 40_000), ("elementwise_kernel", "elementwise", 2, 16_000)]
    assert duckdb.sql(f"select distinct rank from '{table}'").fetchall() == [(3,)]
    inner = duckdb.sql(f"select distinct module, class from '{table}' where module like '%Linear_0'").fetchall()
    assert inner == [("Net_0/Linear_0", "Linear")]
    facts = dict(duckdb.sql(f"select key::varchar, value::varchar from parquet_kv_metadata('{table}')").fetchall())
    assert facts["hotlens.schema"] == "hotlens.parquet/1"


def test_ranks_become_one_table_which_the_example_reads(hotlens: Run, write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(3):
        (folder / f"r{rank}.json").write_text(json.dumps(rank_trace(rank, [("ncclKernel_AllReduce_RING", 50 - 10 * rank)])))
    assert hotlens("export", folder, "--to", "parquet", "-o", "ranks.parquet").returncode == 0
    example = re.search(r"```sql\n(.*?)```", FORMATS.read_text(), re.S)
    assert example, "FORMATS.md has an example"
    rows = duckdb.sql(example[1].replace("ranks.parquet", str(tmp_path / "ranks.parquet"))).fetchall()
    assert [(row[0], row[-1]) for row in rows] == [(0, 50_000), (1, 40_000), (2, 30_000)]


def test_many_names_and_none(hotlens: Run, write: Write, tmp_path: Path) -> None:
    """Dictionaries of more than 256 words, texts that are absent, names that are no text."""
    names = [f"kernel_{number}" for number in range(300)] + ["evil\x1b[2J\u202e\x07"]
    write("x.json", rank_trace(0, [(name, 1 + number % 50) for number, name in enumerate(names)]))
    assert hotlens("export", "x.json", "--to", "parquet", "-o", "x.parquet").returncode == 0
    found = duckdb.sql(f"select kernel, sum(device_ns) from '{tmp_path / 'x.parquet'}' where kernel is not null group by kernel").fetchall()
    assert {name: time for name, time in found if name.startswith("kernel_")} == {
        f"kernel_{number}": (1 + number % 50) * 1000 for number in range(300)
    }
    odd = [name for name, _ in found if not name.startswith("kernel_")]
    assert len(odd) == 1
    assert odd[0].isprintable()


def test_a_table_is_no_text(hotlens: Run, write: Write) -> None:
    result: subprocess.CompletedProcess[str] = hotlens("export", write("x.json", steps_trace([1000])), "--to", "parquet")
    assert result.returncode == 2
    assert "--output" in result.stderr
