"""Notebooks: cells that are opened, edited and moved, with the figures of the script that they make."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from conftest import PYTHON, ROOT
from lsp_client import RICH, SERVER, Client, text_of, uri_of

sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests" / "recorder"))
from notebooks import markdown, notebook
from scripts import MODEL, STEP, indent

Start = Callable[..., Client]
PROFILE = "hotlens.server.profile"
CELLS = ["%matplotlib inline\nwidth = 3\n", MODEL, f"for x, y in loader():\n{indent(STEP)}"]
LAZY = {**RICH, "textDocument": {**RICH["textDocument"], "inlayHint": {"resolveSupport": {"properties": ["tooltip"]}}}}
OUTLINE = {
    **RICH,
    "textDocument": {**RICH["textDocument"], "documentSymbol": {"hierarchicalDocumentSymbolSupport": True}},
    "experimental": {"hotlens": {"protocolVersion": 1, "showTimeline": {"commandLinks": True}}},
}
OWN = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1, "heat": True}}}
SHOWS = {**RICH, "window": {"workDoneProgress": True, "showDocument": {"support": True}}}


@pytest.fixture(scope="session")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a notebook and one profile of it. Not to be changed."""
    folder = tmp_path_factory.mktemp("notebook é")
    write(folder, *CELLS)
    command = [SERVER, "run", "--python", PYTHON, "--warmup", "1", "--steps", "2", "train.ipynb"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return folder


def write(folder: Path, *cells: str) -> None:
    (folder / "train.ipynb").write_text(notebook(markdown("# Training"), *cells), encoding="utf-8")


class Notebook:
    """What an editor sends of one; the markdown cell is not synchronised, as the server asks for Python cells."""

    def __init__(self, client: Client, path: Path, cells: list[str]) -> None:
        self.client, self.uri = client, uri_of(path)
        self.version = 1
        self.cells = [self.cell_uri(i) for i in range(len(cells))]
        self.versions = dict.fromkeys(self.cells, 1)
        documents = [self.text_item(uri, text) for uri, text in zip(self.cells, cells)]
        document = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": 1, "cells": [self.cell(uri) for uri in self.cells]}
        client.notify("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": documents})

    def cell_uri(self, name: int | str) -> str:
        return f"vscode-notebook-cell:{self.uri.removeprefix('file:')}#W{name}sZmlsZQ%3D%3D"

    @staticmethod
    def cell(uri: str) -> dict[str, Any]:
        return {"kind": 2, "document": uri, "metadata": {}, "executionSummary": {"executionOrder": 7}}

    @staticmethod
    def text_item(uri: str, text: str) -> dict[str, Any]:
        return {"uri": uri, "languageId": "python", "version": 1, "text": text}

    def change(self, **cells: Any) -> None:
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        self.client.notify("notebookDocument/didChange", {"notebookDocument": document, "change": {"cells": cells}})

    def edit(self, cell: str, line: int, begin: int, end: int, text: str) -> None:
        self.versions[cell] += 1
        range = {"start": {"line": line, "character": begin}, "end": {"line": line, "character": end}}
        changes = [{"range": range, "text": text}]
        self.change(textContent=[{"document": {"uri": cell, "version": self.versions[cell]}, "changes": changes}])

    def hints(self, cell: str, **more: Any) -> dict[int, str]:
        return {hint["position"]["line"]: text_of(hint["label"]) for hint in self.client.hints(cell, **more)}

    def known(self) -> dict[int, str]:
        self.client.hints_when_known(self.cells[-1])
        return self.hints(self.cells[-1])


def opened(start: Start, folder: Path, cells: list[str] | None = None, **options: Any) -> Notebook:
    client = start()
    client.initialize([folder], **options)
    return Notebook(client, folder / "train.ipynb", cells or CELLS)


def line_of(cell: str, text: str) -> int:
    return next(number for number, line in enumerate(cell.splitlines()) if text in line)


BACKWARD = line_of(CELLS[2], "loss.backward()")
LAYER = line_of(CELLS[1], "self.a = ")


def test_the_server_asks_for_python_cells(start: Start, profiled: Path) -> None:
    capabilities = start().initialize([profiled])["capabilities"]
    selector = [{"notebook": "jupyter-notebook", "cells": [{"language": "python"}]}]
    assert capabilities["notebookDocumentSync"] == {"notebookSelector": selector, "save": True}


def test_each_cell_has_its_own_hints(start: Start, profiled: Path) -> None:
    book = opened(start, profiled)
    assert BACKWARD in book.known() and book.hints(book.cells[0]) == {}
    assert LAYER in book.hints(book.cells[1])
    for cell, text in zip(book.cells, CELLS):
        for hint in book.client.hints(cell):
            line = hint["position"]["line"]
            assert hint["position"]["character"] == len(text.splitlines()[line])
        only = book.client.hints(cell, LAYER, LAYER + 1)
        assert {h["position"]["line"] for h in only} <= {LAYER}


def test_hover_lens_action_and_symbols_are_the_cells(start: Start, profiled: Path) -> None:
    book = opened(start, profiled, capabilities=OUTLINE)
    book.known()
    client, last = book.client, book.cells[-1]
    at = {"textDocument": {"uri": last}, "position": {"line": BACKWARD, "character": 6}}
    hover = client.request("textDocument/hover", at)
    assert hover["range"]["start"]["line"] == BACKWARD and "backward" in hover["contents"]["value"]
    asked = re.search(r"command:hotlens.showTimeline\?([^)]+)\)", hover["contents"]["value"])
    assert asked is not None and json.loads(unquote(asked[1])) == [{"uri": last, "position": at["position"]}]
    lenses = [client.request("textDocument/codeLens", {"textDocument": {"uri": cell}}) for cell in book.cells]
    (profile,) = [lens for cell in lenses for lens in cell if lens["command"]["command"] == PROFILE]
    assert all(lens["range"]["start"]["line"] < len(text.splitlines()) for cell, text in zip(lenses, CELLS) for lens in cell)
    assert profile["command"]["arguments"][0]["uri"] in (book.uri, *book.cells)
    range = {"start": at["position"], "end": at["position"]}
    actions = client.request("textDocument/codeAction", {"textDocument": {"uri": last}, "range": range, "context": {"diagnostics": []}})
    assert any(action["kind"] == "hotlens.profile" for action in actions)
    symbols = client.request("textDocument/documentSymbol", {"textDocument": {"uri": book.cells[1]}})
    assert [s["name"] for s in symbols if s["range"]["start"]["line"] == line_of(MODEL, "class Net")] == ["Net"]


def test_a_lazy_hint_is_completed_in_its_cell(start: Start, profiled: Path) -> None:
    book = opened(start, profiled, capabilities=LAZY)
    book.known()
    hint = next(h for h in book.client.hints(book.cells[-1]) if h["position"]["line"] == BACKWARD)
    resolved = book.client.request("inlayHint/resolve", hint)
    assert "backward" in resolved["tooltip"]["value"] and resolved["position"] == hint["position"] and resolved["data"] == hint["data"]
    gone = {**hint, "data": [*hint["data"][:2], "vscode-notebook-cell:/gone"]}
    assert book.client.request("inlayHint/resolve", gone) == gone


def test_marks_have_the_version_of_the_cell(start: Start, profiled: Path) -> None:
    book = opened(start, profiled, capabilities=OWN)
    book.known()
    book.edit(book.cells[2], 0, 0, 0, "# a\n")
    marks = book.client.request("hotlens/heat", {"textDocument": {"uri": book.cells[2]}})
    assert marks["version"] == 2 and BACKWARD + 1 in {mark["line"] for mark in marks["marks"]}
    assert book.client.request("hotlens/heat", {"textDocument": {"uri": book.cells[1]}})["version"] == 1


def test_a_cell_that_is_edited_takes_its_hints_along(start: Start, profiled: Path) -> None:
    book = opened(start, profiled)
    before = book.known()[BACKWARD]
    book.edit(book.cells[0], 0, 0, 0, "import os\nimport sys\n")
    assert book.hints(book.cells[2])[BACKWARD] == before
    book.edit(book.cells[2], 0, 0, 0, "# first\n\n")
    assert book.hints(book.cells[2])[BACKWARD + 2] == before
    book.edit(book.cells[2], BACKWARD + 2, 4, 19, "loss.sum().backward()")
    assert book.hints(book.cells[2])[BACKWARD + 2].startswith("≠ ")


def test_a_cell_that_is_moved_takes_its_hints_along(start: Start, profiled: Path) -> None:
    book = opened(start, profiled)
    before = book.known()
    refreshes = len(book.client.messages("workspace/inlayHint/refresh"))
    book.change(structure={"array": {"start": 2, "deleteCount": 1}})
    book.change(structure={"array": {"start": 0, "deleteCount": 0, "cells": [book.cell(book.cells[2])]}})
    book.client.next_message("workspace/inlayHint/refresh", after=refreshes)
    assert book.hints(book.cells[2]).keys() == before.keys()
    assert LAYER in book.hints(book.cells[1])


def test_cells_come_and_go(start: Start, profiled: Path) -> None:
    book = opened(start, profiled)
    before = book.known()
    new = book.cell_uri("new")
    book.change(
        structure={"array": {"start": 1, "deleteCount": 0, "cells": [book.cell(new)]}, "didOpen": [book.text_item(new, "a = 1\nb = 2\n")]}
    )
    assert book.hints(new) == {} and book.hints(book.cells[2]) == before
    book.change(structure={"array": {"start": 2, "deleteCount": 1}, "didClose": [{"uri": book.cells[1]}]})
    assert book.client.hints(book.cells[1]) is None and book.hints(book.cells[2]) != {}
    book.client.notify("notebookDocument/didClose", {"notebookDocument": {"uri": book.uri}, "cellTextDocuments": []})
    assert book.client.hints(book.cells[2]) is None


def test_a_line_that_is_shown_is_shown_in_its_cell(start: Start, profiled: Path) -> None:
    book = opened(start, profiled, capabilities=SHOWS)
    book.known()
    told = book.client.command("hotlens.server.hotLine", {"uri": book.cells[0], "position": {"line": 0, "character": 0}})
    shown = book.client.next_message("window/showDocument")
    assert told["uri"] == shown["uri"] and told["uri"] in book.cells
    text = CELLS[book.cells.index(told["uri"])].splitlines()
    assert text[told["position"]["line"]].strip() == told["text"] and shown["selection"]["start"] == told["position"]
    again = book.client.command("hotlens.server.hotLine", {"uri": told["uri"], "position": told["position"]})
    assert again["rank"] == 2
    lines = book.client.request("hotlens/hotLines", {"textDocument": {"uri": book.cells[2]}})["lines"]
    assert {line["uri"] for line in lines} <= set(book.cells)


def test_what_is_copied_names_the_cell(start: Start, profiled: Path) -> None:
    book = opened(start, profiled)
    book.known()
    place = {"uri": book.cells[2], "position": {"line": BACKWARD, "character": 4}}
    copied = book.client.command("hotlens.server.describe", place)["markdown"]
    assert copied.startswith(f"train.ipynb cell 3, line {BACKWARD + 1}\n```python\n    loss.backward()\n")
    calls = book.client.command("hotlens.server.calls", {"uri": book.cells[1], "position": {"line": LAYER, "character": 10}})
    assert {place["uri"] for place in calls["places"]} == {book.cells[1]}
    assert {place["range"]["start"]["line"] for place in calls["places"]} == {LAYER, line_of(MODEL, "return self.b")}


def test_profile_runs_the_notebook_and_says_what_is_not_saved(start: Start, tmp_path: Path) -> None:
    write(tmp_path, *CELLS)
    book = opened(start, tmp_path, options={"python": PYTHON, "profile": {"warmup": 1, "steps": 2}})
    book.edit(book.cells[0], 0, 0, 0, "# not saved\n")
    started = book.client.command(PROFILE, {"uri": book.cells[0]})
    assert started["started"] is True and started["script"] == str(tmp_path / "train.ipynb")
    assert "train.ipynb" in book.client.next_message("window/showMessage")["message"]
    assert BACKWARD in book.known()
    written = json.loads((tmp_path / "train.ipynb").read_text())
    assert "".join(written["cells"][1]["source"]) == CELLS[0]


def test_a_failure_is_marked_in_its_cell(start: Start, tmp_path: Path) -> None:
    cells = ["import torch\n\n\ndef train():\n    raise ValueError('too early')\n", "x = 1\ntrain()\n", "loss.backward()\n"]
    write(tmp_path, *cells)
    book = opened(start, tmp_path, cells, options={"python": PYTHON})
    book.client.command(PROFILE, {"uri": book.cells[1]})
    told = book.client.next_message("textDocument/publishDiagnostics", limit=90)
    assert told["uri"] == book.cells[0]
    assert [(d["range"]["start"]["line"], d["message"]) for d in told["diagnostics"]] == [(4, "ValueError: too early")]


def test_an_unsaved_new_notebook_is_left_in_peace(start: Start, tmp_path: Path) -> None:
    client = start()
    client.initialize([tmp_path])
    document = {"uri": "untitled:Untitled-1.ipynb", "notebookType": "jupyter-notebook", "version": 1, "cells": []}
    client.notify("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": []})
    client.notify("notebookDocument/didChange", {"notebookDocument": {"uri": document["uri"], "version": 2}, "change": {}})
    assert client.hints("vscode-notebook-cell:Untitled-1.ipynb#W0") is None
    assert client.stop() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"cells": {"structure": {"array": {"start": 9, "deleteCount": 3}}}},
        {"cells": {"structure": {"array": {"start": 0, "deleteCount": 4000000000}}}},
        {"cells": {"structure": 3}},
        {"cells": {"textContent": [{"document": {"uri": "nowhere", "version": 1}, "changes": [{"text": "x"}]}]}},
        {"cells": {"structure": {"array": {"start": 0, "deleteCount": 0, "cells": [{"kind": 2, "document": "no-text"}]}}}},
        3,
        {},
    ],
)
def test_a_change_that_does_not_fit_costs_nothing_else(start: Start, profiled: Path, change: Any) -> None:
    book = opened(start, profiled)
    before = book.known()
    book.client.notify("notebookDocument/didChange", {"notebookDocument": {"uri": book.uri, "version": 2}, "change": change})
    assert book.hints(book.cells[2]) == before


def test_ten_thousand_cells_are_typed_into(start: Start, profiled: Path) -> None:
    cells = [*CELLS, *(f"x{i} = {i}\n" for i in range(10_000))]
    book = opened(start, profiled, cells)
    book.client.hints_when_known(book.cells[2])
    for _ in range(20):
        book.edit(book.cells[2], 0, 0, 0, "\n")
    assert BACKWARD + 20 in book.hints(book.cells[2], limit=10)
