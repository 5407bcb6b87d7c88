"""`hotlens run` and `check` of a notebook: cells with their figures, places by cell and line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "recorder"))
from notebooks import markdown, notebook
from scripts import MODEL, STEP, indent

PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
LOOP = f"%%time\nfor x, y in loader():\n{indent(STEP)}"
BACKWARD = LOOP.splitlines().index("    loss.backward()")


def hotlens(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [os.environ["HOTLENS_BIN"], *arguments]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "train.ipynb").write_text(notebook(markdown("# words"), "!pip list\n", MODEL, LOOP))
    done = hotlens(folder, "run", "--python", PYTHON, "--warmup", "1", "--steps", "2", "train.ipynb")
    assert done.returncode == 0, done.stderr
    assert "train.ipynb cell 3, line" in done.stdout + done.stderr
    return folder


def test_check_prints_the_cells_with_their_figures(folder: Path) -> None:
    shown = hotlens(folder, "check", "train.ipynb").stdout.splitlines()
    first, second, third = (shown.index(f"cell {number}") for number in (1, 2, 3))
    assert shown[first + 1 : second] == ["    1 !pip list"]
    cell = [line for line in shown[third + 1 :] if line[:5].strip()]
    assert [int(line[:5]) for line in cell] == list(range(1, len(LOOP.splitlines()) + 1))
    assert cell[0] == "    1 %%time" and "ms" in cell[BACKWARD] + cell[BACKWARD].replace("µs", "ms")


def test_check_as_json_counts_lines_in_cells(folder: Path) -> None:
    (file,) = json.loads(hotlens(folder, "check", "--format", "json", "train.ipynb").stdout)["files"]
    assert (3, BACKWARD) in {(hint["cell"], hint["line"]) for hint in file["hints"]}
    layer = next(a for a in file["anchors"] if a["role"] == "definition" and a["modules"] == ["a"])
    assert (layer["cell"], layer["line"]) == (2, MODEL.splitlines().index("        self.a = nn.Linear(8, 16)"))
    assert {anchor["state"] for anchor in file["anchors"]} == {"fresh"} and all(anchor["confirmed"] for anchor in file["anchors"])


def test_cells_that_were_moved_and_edited_keep_their_figures(folder: Path, tmp_path: Path) -> None:
    (folder / "train.ipynb").rename(tmp_path / "before.ipynb")
    try:
        (folder / "train.ipynb").write_text(notebook("import os\n", LOOP, "# model\n" + MODEL))
        (file,) = json.loads(hotlens(folder, "check", "--format", "json", "train.ipynb").stdout)["files"]
        hints = {(hint["cell"], hint["line"]): hint["label"] for hint in file["hints"]}
        assert (2, BACKWARD) in hints and "≠" not in hints[2, BACKWARD]
    finally:
        (tmp_path / "before.ipynb").rename(folder / "train.ipynb")


def test_the_report_names_cells(folder: Path) -> None:
    told = hotlens(folder, "report", "latest").stdout
    assert "train.ipynb cell 3, line" in told and re.search(r"train\.ipynb:\d", told) is None


def test_what_would_help_names_cells(folder: Path) -> None:
    told = hotlens(folder, "whatif", "list").stdout
    assert "train.ipynb cell 3:" in told and re.search(r"train\.ipynb:\d", told) is None


def test_a_change_is_not_written_into_a_notebook(folder: Path) -> None:
    before = (folder / "train.ipynb").read_text()
    done = hotlens(folder, "whatif", "latest", "zero_grad_none", "--apply")
    assert (folder / "train.ipynb").read_text() == before and done.returncode != 0


@pytest.mark.parametrize(
    "text, said",
    [
        ("{", "train.ipynb is no notebook: it is not JSON"),
        ("[]", "train.ipynb is no notebook: it has no list of cells"),
        (notebook("1", metadata={"kernelspec": {"language": "R"}}), "train.ipynb is a notebook for R"),
    ],
)
def test_what_is_no_python_notebook_is_told_so(folder: Path, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "train.ipynb").write_text(text)
    (profile,) = (folder / ".hotlens" / "profiles").iterdir()
    done = hotlens(tmp_path, "check", "--profile", str(profile), "train.ipynb")
    assert done.returncode == 3 and said in done.stderr
    done = hotlens(tmp_path, "run", "--python", PYTHON, "train.ipynb")
    assert done.returncode == 3 and said in done.stderr and "Traceback" not in done.stderr
