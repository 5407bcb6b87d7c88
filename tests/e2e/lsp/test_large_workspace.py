"""A workspace of fifty thousand files: what the server says does not wait for them, and it never walks through them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, name_it
from lsp_client import RICH, Client

Start = Callable[..., Client]
TALKS = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1, "dialogs": True}}}
FILES = 50_000
MOST_MEMORY = 60.0  # MB
PATIENCE = 3.0  # seconds, for any answer; a busy machine takes its time
# Looking at each of so many files once takes more processor time than this.
LEAST_WALK = 0.05  # seconds


def make_files(root: Path) -> None:
    """Nested packages of the project, objects of git, an environment and a front end beside them, as they grow in real ones."""
    trees = {
        "src": ("__init__.py", 0.5),
        ".git/objects": ("pack", 0.2),
        "web/node_modules": ("index.js", 0.2),
        ".venv/lib": ("mod.py", 0.1),
    }
    for tree, (name, part) in trees.items():
        for number in range(int(FILES * part) // 50):
            folder = root / tree / f"{number % 16:02x}" / f"{number // 16 % 16:02x}" / f"part{number}"
            folder.mkdir(parents=True)
            for each in range(50):
                (folder / (name if each == 0 else f"{each}_{name}")).touch()
    for number in range(500):  # side by side at the top
        (root / f"tool{number}.py").touch()


@pytest.fixture(scope="module")
def workspace(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded folder among so many files."""
    root = tmp_path_factory.mktemp("large")
    make_files(root)
    shutil.copytree(recorded / ".hotlens", root / ".hotlens")
    for script in recorded.glob("*.py"):
        shutil.copy(script, root)
    name_it(root, recorded)
    return root


def processor_time(client: Client) -> float:
    """Seconds of all threads so far."""
    tasks = Path(f"/proc/{client.process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def memory(client: Client) -> float:
    status = Path(f"/proc/{client.process.pid}/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) / 1024


def opened(start: Start, folder: Path) -> tuple[Client, str, float]:
    """And the seconds from the start of the program to the first hint."""
    begin = time.monotonic()
    client = start()
    client.initialize([folder], TALKS, {"python": PYTHON})
    uri = client.open(folder / "model.py")
    assert client.hints_when_known(uri)
    return client, uri, time.monotonic() - begin


def answered_in(client: Client, method: str, params: Any = None) -> tuple[float, Any]:
    begin = time.monotonic()
    answer = client.request(method, params)
    return time.monotonic() - begin, answer


def test_hints_lists_and_hot_lines_come_as_in_a_small_workspace(start: Start, example: Path, workspace: Path) -> None:
    assert sum(1 for path in workspace.rglob("*") if path.is_file()) >= FILES
    small = min(opened(start, example)[2] for _ in range(3))
    took = min(opened(start, workspace)[2] for _ in range(3))
    print(f"start to first hint: {took * 1e3:.0f} ms among {FILES} files, {small * 1e3:.0f} ms among few")
    assert took < 3 * small + 0.1 and took < PATIENCE

    client, uri, _ = opened(start, workspace)
    asked = {"textDocument": {"uri": uri}}
    for method, params in (
        ("hotlens/history", {}),
        ("hotlens/hotLines", {}),
        ("hotlens/profileState", {}),
        ("hotlens/timeline/profiles", {}),
        ("textDocument/codeLens", asked),
        ("textDocument/documentSymbol", asked),
    ):
        seconds, answer = answered_in(client, method, params)
        print(f"{method}: {seconds * 1e3:.1f} ms")
        assert seconds < PATIENCE and answer
    assert memory(client) < MOST_MEMORY


def test_a_session_at_rest_walks_through_no_files(start: Start, example: Path, workspace: Path) -> None:
    def spent(folder: Path) -> float:
        client, uri, _ = opened(start, folder)
        client.open(folder / "train.py")
        client.request("hotlens/hotLines", {})
        before = processor_time(client)
        time.sleep(3)  # what looks again and again does so more than once
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        client.notify("workspace/didChangeWatchedFiles", {"changes": []})
        client.request("hotlens/history", {})
        after = processor_time(client)
        print(
            f"{folder.name}: {before * 1e3:.0f} ms to the hints, {(after - before) * 1e3:.0f} ms in three seconds, {memory(client):.0f} MB"
        )
        assert memory(client) < MOST_MEMORY
        client.kill()
        return after

    small = min(spent(example) for _ in range(2))
    large = min(spent(workspace) for _ in range(2))
    assert large < small + LEAST_WALK


def test_the_strand_answers_while_a_run_is_planned_among_many_scripts(start: Start, workspace: Path) -> None:
    client = start()
    client.initialize([workspace], TALKS, {"python": "/nowhere/python"})
    id = client.send("workspace/executeCommand", {"command": "hotlens.server.profile", "arguments": []})
    seconds, state = answered_in(client, "hotlens/profileState", {})
    assert seconds < 1.0 and "running" in state
    assert client.result(id)["started"] is False  # there is no such Python
