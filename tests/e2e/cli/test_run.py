"""`hotlens run` ends as the script does, says what came of it, and finds the bundle on the disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "recorder"))
from scripts import STEP, loop

PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
AT_ONCE = "ended with code {} at once, as os._exit does"


def run(folder: Path, text: str, *options: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(text)
    command = [os.environ["HOTLENS_BIN"], "run", "--python", PYTHON, *options, "train.py", *arguments]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)


ARGPARSE = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()\n"
BEFORE_A_STEP = "train.py ended with code {} before a training step"


@pytest.mark.parametrize(
    "script, code, said",
    [
        ("import sys\nsys.exit(7)\n", 7, BEFORE_A_STEP.format(7)),
        (ARGPARSE, 2, BEFORE_A_STEP.format(2) + ": `the following arguments are required: --data`"),
        ("import os\nos._exit(7)\n", 7, AT_ONCE.format(7)),
        ("import os\nos._exit(0)\n", 3, AT_ONCE.format(0)),
        ("raise ValueError('too early')\n", 4, "ValueError: too early"),
        ("import os\nos.kill(os.getpid(), 9)\n", 4, "the script was ended by signal 9"),
        ("print('hello')\n", 3, "the script never imported torch"),
    ],
    ids=["a code", "argparse", "os._exit", "os._exit(0)", "an exception", "a signal", "no training"],
)
def test_the_code_is_the_scripts_own_and_4_where_it_has_none(tmp_path: Path, script: str, code: int, said: str) -> None:
    done = run(tmp_path, script)
    assert done.returncode == code and said in done.stderr
    assert sum(line.startswith("hotlens: ") for line in done.stderr.splitlines()) == ("ValueError" not in said)


def test_the_help_says_the_same() -> None:
    text = subprocess.run([os.environ["HOTLENS_BIN"], "run", "--help"], capture_output=True, text=True, check=True).stdout
    assert "Exit code: the script's own; 4 where an exception or a signal ended it; 3 where" in " ".join(text.split())


@pytest.mark.parametrize(
    "end, code", [("sys.exit(7)", 7), ("raise ValueError", 4), ("os._exit(7)", 7)], ids=["a code", "an exception", "os._exit"]
)
def test_an_end_after_measured_steps_has_the_same_codes(tmp_path: Path, end: str, code: int) -> None:
    script = "import os, sys\ncount = 0\n" + loop(step=f"count += 1\nif count == 12: {end}\n" + STEP)
    done = run(tmp_path, script)
    assert done.returncode == code
    kept = not end.startswith("os")
    assert ("hotlens report" in done.stdout) == kept == (AT_ONCE.format(7) not in done.stderr)


RARE = """\
count += 1
if count % 4 == 0:
    for _ in range(200): torch.randn(16, 16) @ torch.randn(16, 16)
"""


def test_the_summary_has_the_costliest_lines_and_tells_a_step_from_rare_work(tmp_path: Path) -> None:
    done = run(tmp_path, "count = 0\n" + loop("loader(16_000)", RARE + STEP))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    costliest = lines[lines.index("  costliest lines of the loop, without the profiler:") + 1 : lines.index("  the profiled step:")]
    (rare,) = [line for line in costliest if "for _ in range(200)" in line]
    assert "every 4 updates" in rare
    assert re.search(r"Net [\d.]+ .s/step(?: \([\d.]+ .s profiled\))? \+ [\d.]+ .s rare work", done.stdout)
    # A measured step in which it came is not unlike the map step by fault.
    report = subprocess.run(
        [os.environ["HOTLENS_BIN"], "report", "--format", "json"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "other operators" not in done.stderr + report.stderr
    whole = json.loads(report.stdout)["loop"]
    assert 0.2 < whole["rare_ns"] / whole["update_ns"] < 0.9


@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_bundle_is_found_when_the_script_has_closed_all_descriptors(tmp_path: Path, format_: str) -> None:
    done = run(tmp_path, "import os\nos.closerange(3, 256)\n" + loop(), "--format", format_)
    assert done.returncode == 0 and done.stderr == ""
    (bundle,) = (tmp_path / ".hotlens" / "profiles").iterdir()
    assert bundle.name in done.stdout
    if format_ == "json":
        assert json.loads(done.stdout)["folder"] == str(bundle)


def test_repeat_writes_a_bundle_a_run(tmp_path: Path) -> None:
    done = run(tmp_path, loop(), "--repeat", "2", "--format", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    stored = sorted(path.name for path in (tmp_path / ".hotlens" / "profiles").iterdir())
    assert (told["schema"], told["repeat"]) == ("hotlens.run/1", 2)
    assert [row["profile"] for row in told["runs"]] == stored and len(stored) == 2


SECOND_FAILS = "import os, sys\nif os.path.exists('ran'): sys.exit(7)\nopen('ran', 'w').close()\n"


def test_a_failing_run_ends_the_series_with_the_scripts_code(tmp_path: Path) -> None:
    done = run(tmp_path, SECOND_FAILS + loop(), "--repeat", "3")
    assert done.returncode == 7
    assert "run 2 of 3 ended with code 7, so the series ends here; runs that are whole: 1" in done.stderr
    assert len(list((tmp_path / ".hotlens" / "profiles").iterdir())) == 1


def test_an_interrupt_ends_the_series(tmp_path: Path) -> None:
    script = "import os, signal, sys\nif os.path.exists('ran'): os.kill(os.getppid(), signal.SIGINT)\nopen('ran', 'w').close()\n"
    done = run(tmp_path, script + loop(), "--repeat", "3")
    assert done.returncode != 0
    assert "run 2 of 3 was stopped, so the series ends here; runs that are whole: 1" in done.stderr
    assert "run 3" not in done.stderr


def test_a_python_that_cannot_start_the_recorder(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 5\n")
    python.chmod(0o755)
    (tmp_path / "train.py").write_text("")
    done = subprocess.run(
        [os.environ["HOTLENS_BIN"], "run", "--python", str(python), "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3 and "the recorder did not start (exit code 5)" in done.stderr and "hotlens doctor" in done.stderr


def test_no_secret_is_shown(tmp_path: Path) -> None:
    done = run(tmp_path, loop(), arguments=("--api-key", "very-hidden-value"))
    assert done.returncode == 0 and "the value of --api-key looks like a secret" in done.stderr
    report = subprocess.run([os.environ["HOTLENS_BIN"], "report"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "very-hidden-value" not in done.stdout + done.stderr + report and "--api-key ***" in report


def test_a_launcher_of_a_python_without_torch(tmp_path: Path) -> None:
    """As `hotlens run -m torch.distributed.run …` with such a python on PATH."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "python3").write_text(f'#!/bin/sh\nexec "{PYTHON}" -S "$@"\n')
    (bin_ / "python3").chmod(0o755)
    (tmp_path / "train.py").write_text("")
    variables = {k: v for k, v in ENVIRONMENT.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")} | {"PATH": f"{bin_}:/usr/bin:/bin"}
    command = [os.environ["HOTLENS_BIN"], "run", "-m", "torch.distributed.run", "--nproc_per_node", "2", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "Traceback" not in done.stderr and "PyTorch is not installed" in done.stderr
