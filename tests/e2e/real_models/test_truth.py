"""Every module of real models stands at the line that made it, every call at the expression that calls: against `truth.py`.

Needs HOTLENS_BIN, and HOTLENS_MODELS_PYTHON: a Python with torch and the packages of requirements.txt (`install_models.sh` makes it).
HOTLENS_MODELS names the models to run, all without it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
HOTLENS = Path(os.environ["HOTLENS_BIN"]).resolve()
PYTHON = os.environ.get("HOTLENS_MODELS_PYTHON", "")
AIM = 0.995
WORKERS = 2

pytestmark = pytest.mark.skipif(not PYTHON, reason="HOTLENS_MODELS_PYTHON is not set: no environment with the models' packages")

Place = tuple[str, int, int]  # file, line, column


def output_of(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr[-4000:]}"
    return done.stdout


def model_names(folder: Path) -> list[str]:
    chosen = os.environ.get("HOTLENS_MODELS", "").split()
    return chosen or output_of(folder, PYTHON, "-c", "import catalog; print(*catalog.MODELS)").split()


def shown_anchors(folder: Path, name: str, files: set[str]) -> list[tuple[str, dict[str, Any]]]:
    """Runs the script under `hotlens run`; what `hotlens check` says then about the files: (file, anchor)."""
    output_of(folder, str(HOTLENS), "run", "--warmup", "1", "--steps", "2", "--python", PYTHON, "--out", name, "train.py", name)
    bundle = next((folder / name / ".hotlens" / "profiles").iterdir())
    checked = output_of(folder, str(HOTLENS), "check", "--format", "json", "--profile", str(bundle), *sorted(files))
    return [(file["path"], anchor) for file in json.loads(checked)["files"] for anchor in file["anchors"]]


@dataclass
class Verdict:
    definitions: Counter[bool] = field(default_factory=Counter)  # by module instance
    calls: Counter[bool] = field(default_factory=Counter)  # by call
    unconfirmed: int = 0
    wrong: list[str] = field(default_factory=list)


def spot(place: Place) -> str:
    return f"{Path(place[0]).name}:{place[1] + 1}:{place[2]}"


def compare(name: str, truth: dict[str, Any], anchors: list[tuple[str, dict[str, Any]]]) -> Verdict:
    found: dict[tuple[str, str], set[Place]] = {}
    verdict = Verdict()
    for file, anchor in anchors:
        verdict.unconfirmed += not anchor["confirmed"] and anchor["role"] in ("definition", "constructor", "call")
        for path in anchor["modules"]:
            found.setdefault((anchor["role"], path), set()).add((file, anchor["line"], anchor["character"]))

    def judge(tally: Counter[bool], role: str, path: str, at: list[Any] | None, count: int) -> None:
        expected = tuple(at) if at else None
        places = found.get((role, path), set())
        right = expected in places if role == "call" else places == ({expected} if expected else set())
        tally[right] += count
        if not right:
            shown = ", ".join(map(spot, sorted(places))) or "nowhere"
            verdict.wrong.append(f"{name}: {role} of {path or 'the model'} is {spot(expected) if expected else 'nowhere'}, shown {shown}")

    for module in truth["modules"]:
        judge(verdict.definitions, "definition", module["path"], module["at"], 1)
    for call in truth["calls"]:
        judge(verdict.calls, "call", call["path"], call["at"], call["count"])
    return verdict


def share(tally: Counter[bool]) -> float:
    return tally[True] / tally.total()


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    folder = tmp_path_factory.mktemp("models").resolve()
    for script in ("train.py", "catalog.py", "truth.py"):
        shutil.copy(HERE / script, folder)
    names = model_names(folder)
    with ThreadPoolExecutor(WORKERS) as pool:
        halves = [names[i::WORKERS] for i in range(WORKERS)]
        list(pool.map(lambda i: output_of(folder, PYTHON, "truth.py", f"truth-{i}.json", *halves[i]), range(WORKERS)))
        truth: dict[str, Any] = {}
        for i in range(WORKERS):
            truth |= json.loads((folder / f"truth-{i}.json").read_text())
        running: dict[str, Future[list[tuple[str, dict[str, Any]]]]] = {}
        for name, model in truth.items():
            files = {row["at"][0] for row in (*model["modules"], *model["calls"]) if row["at"]}
            running[name] = pool.submit(shown_anchors, folder, name, {f for f in files if Path(f).is_file()})
        return {name: compare(name, truth[name], anchors.result()) for name, anchors in running.items()}


def total(tallies: list[Counter[bool]]) -> Counter[bool]:
    return sum(tallies, Counter())


def test_every_module_has_the_line_that_made_it(verdicts: dict[str, Verdict], capsys: pytest.CaptureFixture[str]) -> None:
    every = total([v.definitions for v in verdicts.values()])
    with capsys.disabled():
        print(f"\n{len(verdicts)} models: {every[True]} of {every.total()} module instances at their definition line ({share(every):.2%})")
    wrong = [w for v in verdicts.values() for w in v.wrong if ": definition" in w]
    assert share(every) >= AIM, "\n".join(wrong)


def test_every_call_has_the_expression_that_calls(verdicts: dict[str, Verdict], capsys: pytest.CaptureFixture[str]) -> None:
    every = total([v.calls for v in verdicts.values()])
    with capsys.disabled():
        print(f"\n{len(verdicts)} models: {every[True]} of {every.total()} calls at their expression ({share(every):.2%})")
    wrong = [w for v in verdicts.values() for w in v.wrong if ": call" in w]
    assert share(every) >= AIM, "\n".join(wrong)


def test_no_model_stays_far_behind_the_others(verdicts: dict[str, Verdict]) -> None:
    behind = [name for name, v in verdicts.items() if min(share(v.definitions), share(v.calls)) < 0.95]
    assert behind == [], "\n".join(w for name in behind for w in verdicts[name].wrong)


def test_the_syntax_confirms_what_was_recorded(verdicts: dict[str, Verdict]) -> None:
    assert {name: v.unconfirmed for name, v in verdicts.items() if v.unconfirmed} == {}
