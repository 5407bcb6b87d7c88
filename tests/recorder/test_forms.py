"""Forms of definitions and calls, one small script each: markers in comments say which modules belong to a line.

`def:` the line that defines the module, `made:` the line that ran its constructor where that is another one, `call:` a line that calls it.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from conftest import Bundle, record

FORMS = Path(__file__).resolve().parent / "forms"
MARKER = re.compile(r"(def|made|call): ((?:[\w.]+ ?)+?)(?= *(?:def|made|call):|$)")
Lines = dict[tuple[str, str], set[tuple[str, int]]]  # (kind, module) -> (file, line)

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.11 brought columns")


def marked(names: list[str]) -> Lines:
    found: Lines = defaultdict(set)
    for name in names:
        for number, line in enumerate((FORMS / name).read_text().splitlines()):
            _, _, comment = line.partition("  # ")
            for kind, paths in MARKER.findall(comment):
                for path in paths.split():
                    found[kind, path].add((name, number))
    return found


def recorded(bundle: Bundle) -> Lines:
    model = bundle.model
    found: Lines = defaultdict(set)

    def note(kind: str, module: dict, site: dict | None) -> None:
        if site is not None:
            found[kind, module["path"]].add((Path(model["files"][site["file"]]["path"]).name, site["line"]))

    for module in model["modules"]:
        note("def", module, module["attached"])
        note("made", module, module["constructed"])
    for call in model["calls"]:
        note("call", model["modules"][call["module"]], call["site"])
    return found


def bundle_of(folder: Path, script: str) -> Bundle:
    for file in FORMS.glob("*.py"):
        shutil.copy(file, folder)
    run = record(folder, [script])
    assert run.code == 0, run.err
    return run.bundle


def wrong(expected: Lines, found: Lines) -> list[str]:
    return [
        f"{kind} {path}: {sorted(found[kind, path])}, not {sorted(at)}" for (kind, path), at in expected.items() if found[kind, path] != at
    ]


def test_every_form_of_definition_is_on_its_line(tmp_path: Path) -> None:
    expected = marked(["definitions.py", "base.py"])
    expected = {key: lines for key, lines in expected.items() if key[0] != "call"}
    assert len(expected) > 60
    found = recorded(bundle_of(tmp_path, "definitions.py"))
    assert wrong(expected, found) == []
    unmarked = {path for kind, path in found if kind == "made"} - {path for kind, path in expected if kind == "made"}
    assert unmarked == set()


def test_every_form_of_call_is_on_its_line(tmp_path: Path) -> None:
    expected = marked(["calls.py"])
    assert len(expected) > 30
    found = recorded(bundle_of(tmp_path, "calls.py"))
    assert wrong(expected, found) == []
    assert found["call", "never"] == set()
