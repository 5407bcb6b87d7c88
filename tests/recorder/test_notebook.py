"""A notebook runs as the script that its code cells make, and is spoken of in cells."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run, record
from scripts import MODEL, STEP, indent
from test_bundle import check_bundle

sys.path.insert(0, str(ROOT / "tests"))
from hotlens.source.magics import without_magics
from notebooks import PYTHON, code, markdown, notebook

LOOP = f"for x, y in loader():\n{indent(STEP)}"
CASES = json.loads((ROOT / "tests" / "notebook_cells.json").read_text())


def record_notebook(folder: Path, *cells: str | dict[str, Any], **more: Any) -> Run:
    (folder / "train.ipynb").write_text(notebook(*cells), encoding="utf-8")
    return record(folder, ["train.ipynb"], **more)


def cell_texts(run: Run) -> list[str]:
    """Of the script in the bundle, by cell; before them what is ours."""
    row = run.bundle.model["files"][0]
    lines = (run.bundle.path / row["copy"]).read_text(encoding="utf-8").splitlines(keepends=True)
    return ["".join(lines[a:b]) for a, b in zip([0, *row["cells"]], [*row["cells"], len(lines)])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_a_cell_without_what_only_ipython_runs(case: dict[str, str]) -> None:
    assert "".join(without_magics(case["cell"]).lines) == case["script"]


def test_a_notebook_is_recorded_by_cells(tmp_path: Path) -> None:
    before = notebook(markdown("# Training"), MODEL, markdown("and"), LOOP)
    run = record_notebook(tmp_path, markdown("# Training"), MODEL, markdown("and"), LOOP)
    check_bundle(run.bundle)
    file = run.bundle.model["files"][0]
    assert file["path"] == str(tmp_path / "train.ipynb") and file["workspace"]
    assert file["copy"] == "files/0-train.ipynb.py" and file["cells"] == [1, 1 + len(MODEL.splitlines())]
    assert cell_texts(run) == ["# coding: utf-8\n", MODEL, LOOP]
    assert run.bundle.text(run.bundle.module("a")["attached"]) == "self.a = nn.Linear(8, 16)"
    assert run.bundle.text(run.bundle.module("")["class_site"]) == "class Net(nn.Module)"
    assert run.bundle.stages()["data"] == ["for x, y in loader()"] and run.bundle.stages()["backward"] == ["loss.backward()"]
    assert run.bundle.manifest["argv"] == ["train.ipynb"] and run.bundle.manifest["error"] is None
    assert (tmp_path / "train.ipynb").read_text() == before


def test_its_loop_has_clocks(tmp_path: Path) -> None:
    bundle = record_notebook(tmp_path, MODEL, LOOP).bundle
    rows = json.loads((bundle.path / "loop.json").read_text())["statements"]
    timed = {row["line"] for row in rows if row["loop"] == 0 and row["calls"]}
    start = bundle.model["files"][0]["cells"][1]
    assert timed == set(range(start, start + 5))
    assert {row["file"] for row in rows} == {0}


def test_magics_are_left_out_with_a_sentence(tmp_path: Path) -> None:
    inside = f"%%time\nfor x, y in loader():\n    %memit 1\n{indent(STEP)}    %time last = loss\n    !ls\n"
    run = record_notebook(tmp_path, "%matplotlib inline\n%cd ..\n" + MODEL, "%%bash\nexit 1\n", inside)
    check_bundle(run.bundle)
    [said] = [m for m in run.own_messages() if "IPython" in m]
    assert said == (
        "what only IPython runs is left out of train.ipynb: `%matplotlib inline` (cell 1, line 1); "
        "`%cd ..` (cell 1, line 2). Use os.chdir; `%%bash` (cell 2, line 1); and 4 more"
    )
    assert {"code": "notebook_magics", "message": said, "count": 1} in run.bundle.manifest["warnings"]
    assert run.bundle.stages()["optimizer"] == ["optimizer.step()"]


def test_a_failure_names_the_cell_and_the_line_in_it(tmp_path: Path) -> None:
    helper = "def inner():\n    raise ValueError('it broke')\n"
    run = record_notebook(tmp_path, "import torch\n", markdown("then"), helper, "x = 1\ninner()\n")
    where = tmp_path / "train.ipynb"
    assert f'File "{where} cell 3", line 2, in <module>\n    inner()\n' in run.err
    assert f"File \"{where} cell 2\", line 2, in inner\n    raise ValueError('it broke')\n" in run.err
    assert run.code == 1 and run.err.count("Traceback") == 1
    error = run.progress[-1]["error"]
    assert (error["file"], error["cell"], error["line"]) == (str(where), 2, 1)


def test_what_the_notebook_prints_itself_names_cells_too(tmp_path: Path) -> None:
    printing = (
        "import traceback, warnings, sys\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\nwarnings.warn('careful')\n"
    )
    run = record_notebook(tmp_path, "a = 1\n", printing)
    assert 'train.ipynb cell 2", line 3, in <module>\n    1 / 0\n' in run.err
    assert "train.ipynb cell 2:6: UserWarning: careful\n  warnings.warn('careful')" in run.err


def test_a_cell_that_does_not_parse_is_named(tmp_path: Path) -> None:
    run = record_notebook(tmp_path, "import torch\n", "x = (1\n", "y = 1\n")
    assert f'File "{tmp_path}/train.ipynb cell 2", line 1\n    x = (1' in run.err and run.code == 1
    assert (run.progress[-1]["error"]["cell"], run.progress[-1]["error"]["line"]) == (2, 0)


def test_code_that_needs_ipython_is_told_so(tmp_path: Path) -> None:
    run = record_notebook(tmp_path, "import torch\n", "files = !ls\n")
    assert "NameError: name 'get_ipython' is not defined" in run.err and 'cell 2", line 1' in run.err
    assert run.own_messages()[-1] == "The cells run without IPython. Put what needs it behind: if 'get_ipython' in globals()"
    guarded = record_notebook(tmp_path, "if 'get_ipython' in globals():\n    get_ipython().run_line_magic('x', '')\n" + MODEL + LOOP)
    check_bundle(guarded.bundle)


def test_it_runs_where_jupyter_would_run_it(tmp_path: Path) -> None:
    """In the notebook's folder, with its modules; `display` prints; `__file__` is not known."""
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "sizes.py").write_text("BATCH = 4\n")
    (folder / "data.txt").write_text("7\n")
    text = "import sizes, sys\ndisplay(sizes.BATCH, open('data.txt').read(), '__file__' in globals(), __name__, sys.argv)\n"
    (folder / "a.ipynb").write_text(notebook(text + MODEL, LOOP))
    run = record(tmp_path, ["books/a.ipynb", "--lr", "1"])
    assert run.out == "4 7\n False __main__ ['books/a.ipynb', '--lr', '1']\n"
    assert run.bundle.manifest["cwd"] == str(tmp_path)


def test_future_imports_may_stand_behind_magics(tmp_path: Path) -> None:
    run = record_notebook(tmp_path, "%autoreload 2\nfrom __future__ import annotations\n", "def f(x: unknown): pass\n" + MODEL + LOOP)
    check_bundle(run.bundle)
    assert cell_texts(run)[0] == "from __future__ import annotations\n"


def test_worker_processes_of_a_loader_work(tmp_path: Path) -> None:
    check_bundle(record_notebook(tmp_path, MODEL, LOOP.replace("loader()", "loader(num_workers=1)"), fresh=True).bundle)


def test_execution_counts_do_not_matter(tmp_path: Path) -> None:
    run = record_notebook(tmp_path, code(MODEL, execution_count=9), code(LOOP, execution_count=2))
    assert cell_texts(run)[1:] == [MODEL, LOOP]


def test_other_forms_of_the_file(tmp_path: Path) -> None:
    """A source as one text or a list, no ids, a byte order mark, version 3 with its worksheets."""
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": [
        {"cell_type": "heading", "level": 1, "source": ["Old"]},
        {"cell_type": "code", "language": "python", "input": MODEL.splitlines(keepends=True), "outputs": []},
        {"cell_type": "code", "language": "python", "input": LOOP, "outputs": []}]}]}  # fmt: skip
    (tmp_path / "train.ipynb").write_text("\ufeff" + json.dumps(old), encoding="utf-8")
    assert cell_texts(record(tmp_path, ["train.ipynb"]))[1:] == [MODEL, LOOP]


REFUSED = [
    ("", "train.ipynb has no code cell. Name a notebook that trains"),
    (notebook(markdown("words")), "train.ipynb has no code cell. Name a notebook that trains"),
    ("{", "train.ipynb is no notebook: it is not JSON (Expecting property name"),
    ("[" * 100_000, "train.ipynb is no notebook: it is not JSON ("),
    ('{"cells": 3}', "train.ipynb is no notebook: it has no list of cells. Name"),
    ("3", "train.ipynb is no notebook: it has no list of cells. Name"),
    (notebook("1", metadata={"kernelspec": {"language": "R"}}), "train.ipynb is a notebook for R. Hotlens runs Python notebooks only"),
    (notebook("1", metadata={"language_info": {"name": "julia"}}), "train.ipynb is a notebook for julia. Hotlens runs Python"),
]


@pytest.mark.parametrize("text, said", REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_python_notebook_is_told_so(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "train.ipynb").write_text(text)
    run = record(tmp_path, ["train.ipynb"])
    assert run.code == 3 and run.err.startswith(f"hotlens: {said}") and "Traceback" not in run.err
    assert run.progress[-1]["phase"] == "failed"


def test_odd_metadata_is_no_matter(tmp_path: Path) -> None:
    odd: list[Any] = [3, {"kernelspec": 3}, {"language_info": {"name": None}}, PYTHON]
    for metadata in odd:
        (tmp_path / "train.ipynb").write_text(notebook("print('ran')", metadata=metadata))
        assert record(tmp_path, ["train.ipynb"]).out == "ran\n"


def test_ten_thousand_cells(tmp_path: Path) -> None:
    (tmp_path / "train.ipynb").write_text(notebook(MODEL, *(f"x{i} = {i}" for i in range(10_000)), LOOP))
    began = time.monotonic()
    run = record(tmp_path, ["train.ipynb"])
    assert len(cell_texts(run)) == 10_003 and time.monotonic() - began < 60
    assert run.bundle.stages()["optimizer"] == ["optimizer.step()"]


def test_other_batch_sizes_of_a_notebook(tmp_path: Path) -> None:
    run = record_notebook(tmp_path, "%magic\n" + MODEL, LOOP, options=["--batch-sizes", "4"])
    [row] = run.bundle.manifest["programs"]
    line = 3 + MODEL.splitlines().index(next(line for line in MODEL.splitlines() if "batch_size=8" in line))
    assert row["replaced"] == f"the number in line {line} of the script, 8 -> 4" and row["failed"] is None
