"""Steps that differ from the map step, under `hotlens run`: nothing is claimed that the trace denies, and the report says it."""

from __future__ import annotations

import collections
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from compare import HOTLENS, Truth, operators, reported
from record import Recording

SCRIPT = Path(__file__).with_name("changing.py")
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
Pairs = collections.Counter[tuple[str, str | None]]


def run(folder: Path, *arguments: str) -> tuple[Recording, dict[str, Any]]:
    """A bundle of the script as a recording, and its report."""
    command = [HOTLENS, "run", "--python", PYTHON, "--steps", "6", "--", str(SCRIPT), *arguments]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    bundle = next(folder.glob(".hotlens/profiles/*/manifest.json")).parent
    with gzip.open(bundle / "trace-0.json.gz", "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    command = [HOTLENS, "report", str(bundle), "--format", "json"]
    answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    truth = [event for event in events if str(event.get("name", "")).startswith("truth.")]
    return Recording(bundle, events, truth, {}), answer


def said_of_modules(recording: Recording) -> dict[int, Pairs]:
    """By step: how many operators have this module in truth and that one as reported."""
    said, truth = reported(recording), Truth(recording, "module")
    pairs: dict[int, Pairs] = collections.defaultdict(collections.Counter)
    for index, event in operators(recording):
        want = truth.around(event)
        if want is not None and index in said:
            pairs[said[index]["step"]][want, said[index]["module"]] += 1
    return pairs


def holds(got: str | None, want: str) -> bool:
    """The module itself or one around it."""
    return got is not None and (got in ("", want) or want.startswith(got + "."))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_layer_gets_what_another_ran(seed: int, tmp_path: Path) -> None:
    recording, answer = run(tmp_path, "layers", str(seed))
    by_step = said_of_modules(recording)
    confidence = {step["index"]: step["confidence"] for step in answer["steps"]}
    for step, pairs in by_step.items():
        wrong = {pair: count for pair, count in pairs.items() if not holds(pair[1], pair[0])}
        assert not wrong, (step, wrong)
        exact = sum(count for (want, got), count in pairs.items() if want == got)
        # Truth is known of what lies in modules; the rest of the step is certain or not as well.
        assert (exact < pairs.total()) == (confidence[step] < 1), (step, pairs)
    layers = {step: {want.split(".")[2] for want, _ in pairs if want.startswith("body.layers.")} for step, pairs in by_step.items()}
    assert len({frozenset(ran) for ran in layers.values()}) > 1  # the steps differ indeed
    assert min(confidence.values()) < 1
    warning = next(w for w in answer["warnings"] if w["code"] == "ambiguous-modules")
    uncertain = [str(step) for step, share in confidence.items() if share < 1]
    assert all(number in warning["message"] for number in uncertain)
    assert "body" in warning["message"]


def test_a_cell_keeps_its_time_however_often_it_runs(tmp_path: Path) -> None:
    recording, answer = run(tmp_path, "lengths", "1")
    by_step = said_of_modules(recording)
    lengths = {step: sum(count for (want, _), count in pairs.items() if want == "body.cell.of_input") for step, pairs in by_step.items()}
    assert len(set(lengths.values())) > 1
    pairs: Pairs = sum(by_step.values(), collections.Counter())
    assert not {pair: count for pair, count in pairs.items() if not holds(pair[1], pair[0])}
    cell = {pair: count for pair, count in pairs.items() if pair[0].startswith("body.cell.")}
    exact = sum(count for (want, got), count in cell.items() if want == got)
    assert exact >= 0.95 * sum(cell.values()), cell
    assert "body.cell" in [module["path"] for module in answer["modules"]]
