"""What a shell sees of every verb: help with an example, wrong usage, unusable input, results and messages on their own streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import Run, steps_trace

VERBS = ["lsp", "run", "report", "check", "diff", "export", "predict", "whatif", "timeline", "bench-device", "doctor", "serve", "mcp"]
Write = Callable[[str, dict[str, Any]], Path]


def verbs_of_the_program() -> list[str]:
    text = subprocess.run([os.environ["HOTLENS_BIN"], "--help"], capture_output=True, text=True, check=True).stdout
    rows = text[text.index("Subcommands:") :].splitlines()[1:]
    return [row.split()[0] for row in rows if row.startswith("  ") and not row.startswith("   ")]


@pytest.mark.parametrize("verb", verbs_of_the_program())
def test_help_has_an_example(hotlens: Run, verb: str) -> None:
    result = hotlens(verb, "--help")
    assert result.returncode == 0
    assert f"Example: hotlens {verb}" in result.stdout
    assert result.stderr == ""


def test_the_verbs_of_the_contract_are_there() -> None:
    assert set(VERBS) <= set(verbs_of_the_program())


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["report", "--nonsense"],
        ["report", "--format", "xml"],
        ["report", "--step", "1", "--events"],
        ["check"],
        ["diff", "one.json"],
        ["diff", "a", "b", "--module", "x"],
        ["diff", "a", "b", "--fail-over", "many"],
        ["diff", "a", "b", "--fail-over", "-5%"],
        ["diff", "a", "b", "--fail-over", "nan"],
        ["export", "x.json"],
        ["export", "x.json", "--to", "pdf"],
        ["run", "--steps", "0", "x.py"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_2(hotlens: Run, arguments: list[str]) -> None:
    result = hotlens(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.strip()


UNUSABLE = {
    "missing.json": None,
    "empty.json": b"",
    "notes.json": b"these are my notes",
    "other.json": b'{"name": "a web app"}',
    "nothing.json": b'{"traceEvents": []}',
    "cut.json.gz": b"\x1f\x8b\x08\x00\x00",
}


@pytest.mark.parametrize("name", UNUSABLE)
@pytest.mark.parametrize("verb", ["report", "diff", "export"])
def test_unusable_input_is_3_with_one_sentence_that_names_the_file(
    hotlens: Run, write: Write, tmp_path: Path, verb: str, name: str
) -> None:
    content = UNUSABLE[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    good = write("good.json", steps_trace([1000]))
    arguments = {"report": [name], "diff": [good, name], "export": [name, "--to", "csv"]}[verb]
    result = hotlens(verb, *arguments)
    assert result.returncode == 3
    assert result.stdout == ""
    assert name in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_results_and_messages_keep_to_their_streams(hotlens: Run, write: Write) -> None:
    trace = write("x.json", steps_trace([1000, 1000]))
    cut = trace.with_name("cut.json")
    cut.write_text(trace.read_text()[:-30])
    result = hotlens("report", cut, "--format", "json")
    assert result.returncode == 0
    assert "breaks off" in result.stderr
    assert result.stdout.startswith("{")
    assert "\x1b" not in hotlens("report", trace).stdout


def test_a_report_of_one_step_holds_its_numbers_alone(hotlens: Run, write: Write) -> None:
    trace = write("x.json", steps_trace([1000, 3000, 1100], [100, 700, 120]))
    whole = json.loads(hotlens("report", trace, "--format", "json").stdout)
    one = json.loads(hotlens("report", trace, "--step", "1", "--format", "json").stdout)
    assert one["steps"] == [whole["steps"][1]]
    assert one["totals"]["wall_ns"] == sum(bucket["wall_ns"] for bucket in one["buckets"]) == 3_000_000
    linear = next(module for module in one["modules"] if module["class"] == "Linear")
    assert linear["forward"]["cpu_total_ns"] == linear["forward"]["p90_ns"] == 700_000


def test_a_step_that_is_not_there_is_wrong_usage(hotlens: Run, write: Write) -> None:
    result = hotlens("report", write("x.json", steps_trace([1000, 1100])), "--step", "7")
    assert (result.returncode, result.stdout) == (2, "")
    assert "no step 7; the profile holds steps 0 to 1" in result.stderr


@pytest.mark.parametrize("number, says", [(9, "memory"), (15, "without Hotlens")])
def test_a_script_that_a_signal_ends_has_failed_and_it_is_said(hotlens: Run, tmp_path: Path, number: int, says: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"import os\nos.kill(os.getpid(), {number})\n")
    result = hotlens("run", "--python", os.environ.get("HOTLENS_TEST_PYTHON", sys.executable), "--out", str(tmp_path), str(script))
    assert result.returncode == 4
    assert f"ended by signal {number}" in result.stderr and says in result.stderr


TRAINS_ON = """\
import os, signal, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1000):
    if step == 8:  # three steps of warm-up, a measured one, one between the profilers, the map step
        os.kill(os.getppid(), signal.SIGTERM)
        signal.pause()
    model(torch.randn(2, 8)).sum().backward()
    optimizer.step()
"""


def test_a_run_that_is_told_to_end_shows_what_it_has_measured(hotlens: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS_ON)
    run = hotlens("run", "--python", os.environ["HOTLENS_TEST_PYTHON"], "train.py")
    assert run.returncode == 4 and "Linear" in run.stdout and "forward" in run.stdout
    assert "SIGTERM stopped the run after 1 of 5 measured steps" in run.stderr
    report = json.loads(hotlens("report", "latest", "--format", "json").stdout)
    assert report["profile"]["steps"] == 1 and "stopped" in {w["code"] for w in report["warnings"]}


def test_a_trace_without_frames_says_which_flag_is_missing(hotlens: Run, write: Write, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("x = 1\n")
    said = "no line of code can be given: the trace was recorded without with_stack=True. Record it again"
    for verb in (["report"], ["check", "model.py", "--profile"]):
        trace = steps_trace([1000, 1000])
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event["cat"] != "python_function"]
        assert said in hotlens(*verb, write("x.json", trace)).stderr
        assert said not in hotlens(*verb, write("y.json", {**trace, "with_stack": 1})).stderr
