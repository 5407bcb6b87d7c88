"""Two editors on one workspace at once: nothing that one keeps is lost to the other, and both show the newest profile."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import PYTHON
from lsp_client import RICH, Client

Start = Callable[..., Client]
TALKS = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1, "dialogs": True, "showTimeline": {}}}}
PROFILE, BASELINE, CHOOSE, SILENCE = (f"hotlens.server.{name}" for name in ("profile", "setBaseline", "chooseRun", "silence"))
RUN_LIMIT = 120.0
SCRIPTS = ("one.py", "two.py")

SCRIPT = """\
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 160
    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.randn(16), index % 4

model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Rows(), batch_size=4):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def make_workspace(folder: Path) -> Path:
    folder.mkdir()
    for name in SCRIPTS:
        (folder / name).write_text(SCRIPT)
    return folder


def opened(start: Start, folder: Path, files: tuple[str, ...] = SCRIPTS) -> Client:
    client = start()
    client.initialize([folder], TALKS, {"python": PYTHON, "profile": {"warmup": 1, "steps": 2}})
    for file in files:
        client.open(folder / file)
    return client


def state(client: Client) -> Any:
    return client.request("hotlens/profileState")


def shown(client: Client) -> str:
    return str(state(client).get("profile", {}).get("id", ""))


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What they return, each in a thread of its own."""
    results: list[Any] = [None] * len(calls)

    def run(number: int) -> None:
        results[number] = calls[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def codes(client: Client, uri: str) -> list[str]:
    """Of the hints that the client was told last."""
    told = [message["diagnostics"] for message in client.messages("textDocument/publishDiagnostics") if message["uri"] == uri]
    shown = [each for each in (told[-1] if told else []) if each["severity"] == 4]
    return sorted(each["code"] for each in shown if ": at most " not in each["message"])  # bounds differ from run to run


def manifest_of(folder: Path, bundle: str) -> Any:
    return json.loads((folder / ".hotlens/profiles" / bundle / "manifest.json").read_text())


def bundles(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".hotlens/profiles/2*"))


def predict(folder: Path, profile: str) -> None:
    """A prediction as `hotlens whatif` keeps it (annotator/advice/FORMAT.md)."""
    row = {
        "schema": "hotlens.ledger/1",
        "event": "predicted",
        "time": "2026-11-24T10:00:00Z",
        "profile": profile,
        "kind": "fused_optimizer",
    }
    row |= {"torch": "2", "method": "replay", "ratio": 0.8, "low": 0.75, "high": 0.85}
    (folder / ".hotlens/ledger.jsonl").write_text(json.dumps(row) + "\n")


def kept(folder: Path) -> Any:
    """Whole whenever it is read."""
    file = folder / ".hotlens" / "state.json"
    return json.loads(file.read_text()) if file.exists() else {}


def test_two_sessions_share_a_workspace_and_lose_nothing(start: Start, tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "work")
    one, two = opened(start, folder), opened(start, folder)
    uris = [(folder / name).as_uri() for name in SCRIPTS]

    # Both profile at once: two whole bundles, both show the newer one.
    runs = at_once(lambda: one.command(PROFILE, {"uri": uris[0]}), lambda: two.command(PROFILE, {"uri": uris[1]}))
    assert [run["started"] for run in runs] == [True, True]
    for client in (one, two):
        client.wait(lambda client=client: not state(client)["running"], RUN_LIMIT)
    older, newest = bundles(folder)
    for client in (one, two):
        client.wait(lambda client=client: shown(client) == newest)
        assert client.request("hotlens/history")["total"] == 2
    assert not list(folder.glob(".hotlens/profiles/*.partial"))
    scripts = {bundle: Path(manifest_of(folder, bundle)["argv"][0]).name for bundle in (older, newest)}
    assert sorted(scripts.values()) == sorted(SCRIPTS)

    # Both set a baseline, again and again: the file is whole at every moment, and one of the two stands in it.
    for _ in range(10):
        at_once(lambda: one.command(BASELINE, {"profile": older}), lambda: two.command(BASELINE, {"profile": newest}))
        one.wait(lambda: kept(folder).get("baseline") in (older, newest))
    assert state(one)["baseline"] == older and state(two)["baseline"] == newest

    # Each silences something: both lines are whole, and both sessions heed both.
    predict(folder, newest)
    uri = uris[SCRIPTS.index(scripts[newest])]
    kinds = ["data-bound", "fused_optimizer"]
    for client in (one, two):
        client.wait(lambda client=client: codes(client, uri) == kinds)
    silence = [
        lambda: one.command(SILENCE, {"profile": newest, "kind": kinds[0]}),
        lambda: two.command(SILENCE, {"profile": newest, "kind": kinds[1]}),
    ]
    assert at_once(*silence) == [{"silenced": True}] * 2
    for client in (one, two):
        client.wait(lambda client=client: codes(client, uri) == [])
    assert sorted(json.loads(line)["kind"] for line in (folder / ".hotlens/silenced.jsonl").read_text().splitlines()) == kinds


def test_what_two_sessions_keep_in_one_file_is_all_there(start: Start, example: Path) -> None:
    """One chooses run configurations, the other baselines: both stand in state.json, which is read, changed and written."""
    (profile,) = bundles(example)
    names = [f"run{number}" for number in range(12)]
    runs = [{"name": name, "script": f"train{number}.py"} for number in range(12) for name in (names[number], "other")]
    for number in range(12):
        (example / f"train{number}.py").write_text("raise SystemExit(3)\n")
    (example / ".hotlens/runs.json").write_text(json.dumps({"runs": runs}))
    one, two = (opened(start, example, ("model.py",)) for _ in range(2))
    one.hints_when_known((example / "model.py").as_uri())
    two.hints_when_known((example / "model.py").as_uri())

    def choose() -> None:
        for number, name in enumerate(names):
            one.command(CHOOSE, {"script": f"train{number}.py", "configuration": name})
            one.wait(lambda: not state(one)["running"], RUN_LIMIT)

    def compare() -> None:
        for _ in range(60):
            two.command(BASELINE, {"clear": True})
            two.command(BASELINE, {"profile": profile})

    at_once(choose, compare)
    two.wait(lambda: kept(example).get("baseline") == profile)
    assert kept(example)["configurations"] == {f"train{number}.py": name for number, name in enumerate(names)}
