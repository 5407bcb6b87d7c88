"""What would help, in the editor: predictions of the ledger as hints at their lines, with what can be done about them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT
from lsp_client import RICH, SERVER, Client, uri_of
from warm import interpreter

Start = Callable[..., Client]
Kinds = dict[str, tuple[float, float, float]]

# Dropout is most of the step, so that taking it away is a gain beyond any noise.
SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Linear(64, 64), nn.Dropout(0.1)]
layers.append(nn.GELU())
model = nn.Sequential(*layers, nn.Linear(64, 8))
name = "größe"; optimizer = torch.optim.Adam(model.parameters(), foreach=False)
x, y = torch.randn(4096, 64), torch.randint(8, (4096,))
for step in range(80):
    out = sum(model[1](x) for _ in range(8))
    loss = nn.functional.cross_entropy(model(out), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
"""
DROPOUT, GELU, OPTIMIZER = 4, 5, 7
# Of this the recording alone gives evidence.
FOUND = """\
import torch
from torch import nn

torch.manual_seed(0)


class Leaky(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.decay, self.head = nn.Linear(16, 48), nn.Parameter(torch.rand(48)), nn.Linear(48, 8)

    def forward(self, x):
        x, state = self.into(x), 0.0
        for t in range(192):
            state = self.decay * state + x[:, t]
        return self.head(state)


model = Leaky()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 192, 16), torch.randint(8, (8,))
for step in range(40):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SELECTION = 14
# A step that is mostly page faults promises no gain. The heap grows for some steps before it holds what a step needs.
NO_FAULTS = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
CACHE = {**os.environ, "XDG_CACHE_HOME": str(ROOT / "build" / "cache")}
EDITS = {**RICH, "workspace": {**RICH["workspace"], "workspaceEdit": {"documentChanges": True}}}


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("advice") / "work"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    command = [SERVER, "run", "--python", PYTHON, "--warmup", "12", "--steps", "5", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, **NO_FAULTS})
    return folder


@pytest.fixture
def work(profiled: Path) -> Path:
    """The profiled folder, without anything that an earlier test left there."""
    (profiled / "train.py").write_text(SCRIPT)
    for file in profiled.glob(".hotlens/*.json*"):
        file.unlink()
    return profiled


def bundle_of(folder: Path) -> Path:
    (bundle,) = folder.glob(".hotlens/profiles/2*")
    return bundle


def predict(folder: Path, kinds: Kinds) -> None:
    """Predictions as `hotlens whatif` keeps them (annotator/advice/FORMAT.md)."""
    with (folder / ".hotlens/ledger.jsonl").open("a") as ledger:
        for kind, (ratio, low, high) in kinds.items():
            row = {"schema": "hotlens.ledger/1", "event": "predicted", "time": "2026-11-24T10:00:00Z", "profile": bundle_of(folder).name}
            row |= {"kind": kind, "torch": "2", "method": "replay", "ratio": ratio, "low": low, "high": high}
            ledger.write(json.dumps(row) + "\n")


def opened(start: Start, folder: Path, capabilities: Any = None) -> tuple[Client, str]:
    client = start(env=CACHE)
    client.initialize([folder], capabilities or EDITS, {"python": PYTHON})
    return client, client.open(folder / "train.py")


def hints(client: Client, uri: str) -> list[dict[str, Any]]:
    """All that the client was told last."""
    told = [message["diagnostics"] for message in client.messages("textDocument/publishDiagnostics") if message["uri"] == uri]
    return [one for one in (told[-1] if told else []) if one["severity"] == 4]


def advice(client: Client, uri: str) -> list[dict[str, Any]]:
    """Without bounds: how much of the step they are differs from run to run."""
    return [one for one in hints(client, uri) if ": at most " not in one["message"]]


def kinds_and_lines(client: Client, uri: str) -> list[tuple[str, int]]:
    return [(one["code"], one["range"]["start"]["line"]) for one in advice(client, uri)]


def actions(client: Client, uri: str, line: int) -> list[dict[str, Any]]:
    at = {"line": line, "character": 0}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": [], "only": ["quickfix"]}}
    found: list[dict[str, Any]] = client.request("textDocument/codeAction", params)
    return found


def action(client: Client, uri: str, line: int, word: str, of: str = "") -> dict[str, Any]:
    (found,) = [one for one in actions(client, uri, line) if one["title"].startswith(f"{word}: {of}")]
    return found


def hover(client: Client, uri: str, line: int) -> str:
    found = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": 0}})
    return str(found["contents"]["value"]) if found else ""


def change(client: Client, uri: str, text: str, version: int) -> None:
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]})


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """The text after edits; of texts without characters that take two units of UTF-16."""
    lines = text.splitlines(keepends=True)
    offset = lambda at: sum(map(len, lines[: at["line"]])) + at["character"]  # noqa: E731
    for edit in sorted(edits, key=lambda one: -offset(one["range"]["start"])):
        begin, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:begin] + edit["newText"] + text[end:]
    return text


def test_a_replayed_gain_is_a_hint_with_its_evidence_and_an_edit_of_one_expression(start: Start, work: Path) -> None:
    client, uri = opened(start, work)
    client.hints_when_known(uri)
    assert "no_dropout" not in dict(kinds_and_lines(client, uri))

    done = subprocess.run([SERVER, "whatif", "no_dropout", "--python", PYTHON], cwd=work, env=CACHE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "faster: " in done.stdout, done.stdout
    (hint,) = client.wait(lambda: [one for one in advice(client, uri) if one["code"] == "no_dropout"])
    assert hint["source"] == "hotlens"
    assert hint["message"].startswith("Dropout off (p=0): ≈ ") and " → " in hint["message"] and "…" in hint["message"]
    said = done.stdout.partition("faster: ")[2].partition(",")[0]
    assert said and said in hint["message"]  # one spelling on every screen
    assert hint["range"] == {"start": {"line": DROPOUT, "character": 0}, "end": {"line": DROPOUT, "character": 45}}

    words = hover(client, uri, DROPOUT)
    assert "drops values" in words and "assumes that the model trains without this regularisation" in words
    assert "drops values" not in hover(client, uri, GELU)

    apply = action(client, uri, DROPOUT, "Apply")
    assert apply["kind"] == "quickfix" and apply["diagnostics"] == [hint]
    (change_of_file,) = apply["edit"]["documentChanges"]
    assert change_of_file["textDocument"] == {"uri": uri, "version": 1}
    new = edited(SCRIPT, change_of_file["edits"])
    assert new == SCRIPT.replace("Dropout(0.1)", "Dropout(0.0)")
    assert (work / "train.py").read_text() == SCRIPT  # the editor edits, nobody else

    change(client, uri, new, 2)
    client.wait(lambda: "no_dropout" not in dict(kinds_and_lines(client, uri)))
    assert actions(client, uri, DROPOUT) == []
    change(client, uri, SCRIPT, 3)  # undone
    client.wait(lambda: advice(client, uri))


def test_the_three_largest_gains_stand_at_the_lines_of_their_edits(start: Start, work: Path) -> None:
    predict(
        work,
        {
            "foreach_optimizer": (0.9, 0.85, 0.95),  # fused is better, and one optimizer has one form
            "fused_optimizer": (0.8, 0.75, 0.85),
            "no_dropout": (0.7, 0.65, 0.75),
            "gelu_to_relu": (0.97, 0.96, 0.98),
            "zero_grad_none": (0.985, 0.98, 0.99),  # less than 2 % of the step
            "autocast_bf16": (0.95, 0.8, 1.1),  # perhaps no gain at all
        },
    )
    client, uri = opened(start, work)
    client.wait(lambda: advice(client, uri))
    assert kinds_and_lines(client, uri) == [("no_dropout", DROPOUT), ("fused_optimizer", OPTIMIZER), ("gelu_to_relu", GELU)]
    assert "20 % (" in advice(client, uri)[1]["message"]

    # The interval of a later prediction counts.
    predict(work, {"no_dropout": (0.99, 0.98, 1.0), "gelu_to_relu": (0.7, 0.65, 0.75)})
    wanted = [("gelu_to_relu", GELU), ("fused_optimizer", OPTIMIZER)]
    client.wait(lambda: kinds_and_lines(client, uri) == wanted)


def test_an_edit_counts_columns_as_the_client_does(start: Start, work: Path) -> None:
    predict(work, {"fused_optimizer": (0.8, 0.75, 0.85)})
    for capabilities in (EDITS, RICH):
        client, uri = opened(start, work, capabilities)
        client.wait(lambda client=client, uri=uri: advice(client, uri))
        edit = action(client, uri, OPTIMIZER, "Apply")["edit"]
        edits = edit["documentChanges"][0]["edits"] if capabilities is EDITS else edit["changes"][uri]
        assert edited(SCRIPT, edits) == SCRIPT.replace("foreach=False", "foreach=False, fused=True")
        client.kill()


def test_a_file_that_changed_elsewhere_keeps_its_hint_and_refuses_the_edit(start: Start, work: Path) -> None:
    predict(work, {"fused_optimizer": (0.8, 0.75, 0.85)})
    client, uri = opened(start, work)
    client.wait(lambda: advice(client, uri))
    change(client, uri, "# a comment\n" + SCRIPT, 2)
    client.wait(lambda: kinds_and_lines(client, uri) == [("fused_optimizer", OPTIMIZER + 1)])
    refused = action(client, uri, OPTIMIZER + 1, "Apply")
    assert "edit" not in refused
    assert refused["disabled"]["reason"].startswith("train.py has changed since it was profiled; profile it again")


def test_a_change_without_a_safe_edit_says_what_to_do_by_hand(start: Start, work: Path, tmp_path: Path) -> None:
    script = SCRIPT.replace("parameters(), foreach=False)", "parameters())\nother = torch.optim.Adam(model.parameters(), lr=0)")
    folder = tmp_path / "two"
    folder.mkdir()
    (folder / "train.py").write_text(script)
    command = [SERVER, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    predict(folder, {"fused_optimizer": (0.8, 0.75, 0.85)})
    client, uri = opened(start, folder)
    ((_, line),) = client.wait(lambda: kinds_and_lines(client, uri))
    assert script.split("\n")[line].strip() == "optimizer.step()"
    reason = action(client, uri, line, "Apply")["disabled"]["reason"]
    assert "several places make an optimizer" in reason and "by hand: give the optimizer fused=True" in reason


def test_an_untrusted_workspace_has_hints_and_no_edits(start: Start, work: Path) -> None:
    predict(work, {"fused_optimizer": (0.8, 0.75, 0.85)})
    client = start(env=CACHE)
    client.initialize([work], EDITS, {"python": PYTHON, "trusted": False})
    uri = client.open(work / "train.py")
    client.wait(lambda: advice(client, uri))
    assert "not trusted" in action(client, uri, OPTIMIZER, "Apply")["disabled"]["reason"]


def test_a_broken_ledger_costs_its_broken_lines_alone(start: Start, work: Path) -> None:
    (work / ".hotlens/ledger.jsonl").write_text('{"schema":"hotlens.ledger/1"\n[]\n\x00\n')
    predict(work, {"fused_optimizer": (0.8, 0.75, 0.85), "no-such-kind": (0.1, 0.1, 0.1)})
    client, uri = opened(start, work)
    assert client.wait(lambda: kinds_and_lines(client, uri)) == [("fused_optimizer", OPTIMIZER)]


def test_an_edit_of_the_editor_is_kept_and_seen_in_the_next_profile(start: Start, work: Path, tmp_path: Path) -> None:
    predict(work, {"fused_optimizer": (0.8, 0.75, 0.85)})
    client, uri = opened(start, work)
    client.wait(lambda: advice(client, uri))
    apply = action(client, uri, OPTIMIZER, "Apply")
    new = edited(SCRIPT, apply["edit"]["documentChanges"][0]["edits"])
    change(client, uri, new, 2)
    client.wait(lambda: not advice(client, uri))
    argument = {"command": apply["command"]["command"], "arguments": apply["command"]["arguments"]}
    assert client.request("workspace/executeCommand", argument) == {"kept": True}
    rows = [json.loads(line) for line in (work / ".hotlens/ledger.jsonl").read_text().splitlines()]
    assert rows[-1]["event"] == "applied" and rows[-1]["edits"][0]["text"] == ", fused=True"

    (work / "train.py").write_text(new)
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    before = set(work.glob(".hotlens/profiles/2*"))
    try:
        client.request("workspace/executeCommand", {"command": "hotlens.server.profile", "arguments": [{"uri": uri}]})
        shown = lambda: [one["message"] for one in client.messages("window/showMessage") if "is in this profile" in one["message"]]  # noqa: E731
        assert client.wait(shown)[0].startswith("fused_optimizer is in this profile: ")
    finally:
        client.kill()
        for bundle in set(work.glob(".hotlens/profiles/2*")) - before:
            shutil.rmtree(bundle)


def test_a_document_behind_a_link_has_its_hints(start: Start, work: Path, tmp_path: Path) -> None:
    predict(work, {"fused_optimizer": (0.8, 0.75, 0.85)})
    (tmp_path / "link").symlink_to(work)
    client, uri = opened(start, tmp_path / "link")
    client.wait(lambda: advice(client, uri))
    changed = action(client, uri, OPTIMIZER, "Apply")["edit"]["documentChanges"]
    assert [one["textDocument"]["uri"] for one in changed] == [uri_of(tmp_path / "link/train.py")]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("found") / "work"
    folder.mkdir()
    (folder / "train.py").write_text(FOUND)
    command = [SERVER, "run", "--python", PYTHON, "--warmup", "5", "--steps", "3", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, **NO_FAULTS})
    return folder


@pytest.fixture
def found(recorded: Path) -> Path:
    for file in recorded.glob(".hotlens/*.json*"):
        file.unlink()
    return recorded


def of_loop(client: Client, uri: str) -> list[dict[str, Any]]:
    return [one for one in hints(client, uri) if one["code"] == "unbind_time"]


def test_what_the_recording_gives_evidence_for_is_a_hint_with_its_bound_and_edit(start: Start, found: Path) -> None:
    client, uri = opened(start, found)
    (hint,) = client.wait(lambda: of_loop(client, uri))
    assert hint["range"]["start"]["line"] == SELECTION and hint["severity"] == 4
    assert hint["message"].startswith("Take time steps apart once, with x.unbind(): at most \u2212") and " → " in hint["message"]

    words = hover(client, uri, SELECTION)
    assert "is differentiated 192 times" in words and "so the most that it gives, if the loop takes its steps from" in words
    assert "Could help" not in words, "it is said once"

    apply = action(client, uri, SELECTION, "Apply", "Take time steps apart")
    assert apply["kind"] == "quickfix" and hint in apply["diagnostics"]
    (of_file,) = apply["edit"]["documentChanges"]
    new = edited(FOUND, of_file["edits"])
    assert "x.unbind(1)" in new and "x[:, t]" not in new
    change(client, uri, new, 2)
    client.wait(lambda: not of_loop(client, uri))
    argument = {"command": apply["command"]["command"], "arguments": apply["command"]["arguments"]}
    assert client.request("workspace/executeCommand", argument) == {"kept": True}
    foretold, applied = [json.loads(line) for line in (found / ".hotlens/ledger.jsonl").read_text().splitlines()]
    assert (foretold["event"], foretold["method"], foretold["high"]) == ("predicted", "bound", 1) and applied["event"] == "applied"


CHUNKS = "States of a time loop in chunks"


def test_a_loop_over_time_can_be_changed_otherwise_where_only_runs_tell_what_that_gives(start: Start, found: Path) -> None:
    client, uri = opened(start, found)
    (hint,) = client.wait(lambda: of_loop(client, uri))
    apply = action(client, uri, SELECTION, "Apply", CHUNKS)
    assert apply["title"] == f"Apply: {CHUNKS}", "it promises nothing"
    assert hint in apply["diagnostics"]
    (verify,) = [one for one in actions(client, uri, SELECTION) if one["title"].startswith(f"Verify by running: {CHUNKS}")]
    assert verify["command"]["arguments"][0]["kind"] == "scan_time" and "disabled" not in verify
    assert not any(CHUNKS in one["title"] for one in actions(client, uri, SELECTION) if one["title"].startswith("Not here"))

    new = edited(FOUND, apply["edit"]["documentChanges"][0]["edits"])
    assert "def scan_steps(" in new and "for t in range(192)" not in new
    change(client, uri, new, 2)
    client.wait(lambda: not of_loop(client, uri))
    argument = {"command": apply["command"]["command"], "arguments": apply["command"]["arguments"]}
    assert client.request("workspace/executeCommand", argument) == {"kept": True}
    (applied,) = [json.loads(line) for line in (found / ".hotlens/ledger.jsonl").read_text().splitlines()]
    assert (applied["event"], applied["kind"]) == ("applied", "scan_time")


def test_a_finding_is_silenced_at_its_place(start: Start, found: Path) -> None:
    client, uri = opened(start, found)
    client.wait(lambda: of_loop(client, uri))
    # On a busy machine the line may be marked for what limits the step, too.
    silence = [one["command"] for one in actions(client, uri, SELECTION) if one["title"].startswith("Not here:")]
    (command,) = [one for one in silence if one["arguments"][0]["kind"] == "unbind_time"]
    assert client.request("workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]}) == {
        "silenced": True
    }
    client.wait(lambda: not of_loop(client, uri))


def test_a_replay_counts_and_not_the_bound(start: Start, found: Path) -> None:
    predict(found, {"unbind_time": (0.99, 0.97, 1.01)})
    client, uri = opened(start, found)
    client.hints_when_known(uri)
    predict(found, {"unbind_time": (0.5, 0.45, 0.55)})
    (hint,) = client.wait(lambda: of_loop(client, uri))
    assert ": ≈ \u221250 %" in hint["message"]
    told = [one["diagnostics"] for one in client.messages("textDocument/publishDiagnostics") if one["uri"] == uri]
    assert not any("at most" in one["message"] for hints in told for one in hints if one.get("code") == "unbind_time")
