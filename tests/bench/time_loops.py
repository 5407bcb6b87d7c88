"""Whether loops over time are found, `x[t]` that is differentiated step by step, and nothing else is taken for one.

    HOTLENS_BIN=… HOTLENS_TEST_PYTHON=… HOTLENS_MODELS_PYTHON=… python tests/bench/time_loops.py [NAME…]

Every script is recorded by `hotlens run` and its report asked for the finding `unbind_time`. Found must be: each form of
time_loop_scripts.LOOPS in two sizes, and models of packages that have such a loop. Nothing may be said of time_loop_scripts.QUIET, of
the examples, of predict_models, of scripts of tests/loops/timed, and of the other models of packages (library_models).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from time_loop_scripts import LOOPS, QUIET, TRAINING

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parents[1]
HOTLENS = os.environ["HOTLENS_BIN"]
PYTHON = os.environ["HOTLENS_TEST_PYTHON"]
MODELS_PYTHON = os.environ.get("HOTLENS_MODELS_PYTHON", "")
SIZES = [{"steps": 64, "batch": 8, "width": 64}, {"steps": 40, "batch": 32, "width": 32}]
PREDICTED = ["resnet", "mobilenet", "unet", "gpt", "bert", "vit", "lstm", "dlrm"]
TIMED = [
    "truncated",
    "experts",
    "adversarial",
    "distillation",
    "ensemble",
    "diffusion",
    "frozen",
    "higher_order",
    "short_epochs",
    "periodic",
]


@dataclass
class Case:
    name: str
    wanted: bool
    command: list[str]
    files: dict[str, str] = field(default_factory=dict)
    python: str = PYTHON


def library_names() -> tuple[list[str], list[str]]:
    """Of models of packages: all, and those that have a loop over time."""
    code = "import json, library_models as found; print(json.dumps([list(found.MODELS), found.LOOPS]))"
    done = subprocess.run([MODELS_PYTHON, "-W", "ignore", "-c", code], cwd=BENCH, capture_output=True, text=True, check=True)
    every, loops = json.loads(done.stdout.splitlines()[-1])
    return every, loops


def cases() -> list[Case]:
    found = []
    for wanted, scripts in ((True, LOOPS), (False, QUIET)):
        for name, body in scripts.items():
            for size in SIZES if wanted else SIZES[:1]:
                text = TRAINING.format(**size, body=body)
                found.append(Case(f"{name}, {size['steps']} steps", wanted, ["train.py"], {"train.py": text}))
    found += [Case(name, False, [str(BENCH / "predict_models.py"), name, "8"]) for name in PREDICTED]
    found += [Case(name, False, [str(ROOT / "examples" / name / "train.py")]) for name in ("gpt_text", "resnet_digits")]
    found += [Case("timed " + name, False, [str(ROOT / "tests/loops/timed" / f"{name}.py")]) for name in TIMED]
    if MODELS_PYTHON:
        every, loops = library_names()
        script = str(BENCH / "library_models.py")
        found += [Case("model " + name, name in loops, [script, name], python=MODELS_PYTHON) for name in every]
    return found


def told(case: Case) -> str | None:
    """The evidence; None where nothing is said."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in case.files.items():
            (Path(folder) / name).write_text(text)
        settings = {**os.environ, "OMP_NUM_THREADS": "1", "TIMED_CLOCKS": str(Path(folder) / "clocks")}
        command = [HOTLENS, "run", "--python", case.python, "--steps", "2", "--out", folder, *case.command]
        subprocess.run(command, cwd=folder, capture_output=True, text=True, env=settings)
        report = subprocess.run([HOTLENS, "report", "latest", "--format", "json"], cwd=folder, capture_output=True, text=True)
        if report.returncode != 0:
            raise RuntimeError(f"{case.name}: {report.stderr.strip()}")
        findings = json.loads(report.stdout)["findings"]
    of = next((one for one in findings if one["kind"] == "unbind_time"), None)
    if of is None:
        return None
    times = re.sub(r"x\[t\] is differentiated | times, .*", "", of["evidence"][0]["what"])
    return f"{times} times at line {of.get('line', -1) + 1}, at most {of['low'] - 1:+.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    options = parser.parse_args()
    right = {True: 0, False: 0}
    count = {True: 0, False: 0}
    for case in cases():
        if options.names and not any(name in case.name for name in options.names):
            continue
        try:
            said = told(case)
        except RuntimeError as error:
            print(f"NOT RUN  {error}", flush=True)
            count[case.wanted] += 1
            continue
        count[case.wanted] += 1
        right[case.wanted] += (said is not None) == case.wanted
        mark = "" if (said is not None) == case.wanted else "WRONG  "
        print(f"{mark}{case.name:60} {'wanted' if case.wanted else 'quiet':8} {said or 'nothing said'}", flush=True)
    print(f"loops over time found: {right[True]} of {count[True]}; nothing said of others: {right[False]} of {count[False]}")
    sys.exit(0 if right == count else 1)


if __name__ == "__main__":
    main()
