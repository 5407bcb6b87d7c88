"""What an edit of a layer would cost, said while somebody types: predicted from the recorded step, the file untouched."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT
from lsp_client import RICH, Client

Start = Callable[..., Client]
LIMIT = 180.0  # the worker may have to be built
LAYER = "hidden = nn.Linear(64, 512)"

SCRIPT = f"""\
import torch
from torch import nn

{LAYER}
head = nn.Linear(512, 4)
model = nn.Sequential(hidden, nn.ReLU(), head)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(256, 64), torch.randint(0, 4, (256,))
for step in range(60):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def until(true: Callable[[], bool], limit: float = LIMIT, pause: float = 0.1) -> bool:
    """Whether it came about in that time."""
    end = time.monotonic() + limit
    while not (found := true()) and time.monotonic() < end:
        time.sleep(pause)
    return found


def predicts(label: str) -> bool:
    """Whether it is "18.9 → ≈ 54.0 ms": what was measured, then what is predicted."""
    return re.fullmatch(r"[\d.]+( [µmn]?s)? → ≈ [\d.]+ [µmn]?s", label) is not None


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def below(process: int) -> dict[int, str]:
    """The command lines of the processes that it has started, and of those that these have; the outer ones first."""
    found: dict[int, str] = {}
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, thread.read_text().split()):
            with contextlib.suppress(OSError):  # gone meanwhile
                found[child] = Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
                found.update(below(child))
    return found


def replaying(server: int) -> dict[int, str]:
    """The prediction of an edited text and its worker, if both run."""
    found = {process: line for process, line in below(server).items() if "--edited" in line or "hotlens-lab" in line}
    return found if any("hotlens-lab" in line for line in found.values()) else {}


class Typist:
    """The document of the script, and what the editor shows of it."""

    def __init__(self, client: Client, path: Path) -> None:
        self.client, self.path, self.version = client, path, 1
        self.uri = client.open(path)

    def types(self, text: str) -> None:
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def hint(self, line: int) -> str:
        place = {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}
        hints = self.client.request("textDocument/inlayHint", {"textDocument": {"uri": self.uri}, "range": place}) or []
        labels = [one["label"] for one in hints if one["position"]["line"] == line]
        return "".join(part["value"] for part in labels[0]) if labels and isinstance(labels[0], list) else "".join(labels)

    def hover(self, line: int) -> str:
        answer = self.client.request("textDocument/hover", {"textDocument": {"uri": self.uri}, "position": {"line": line, "character": 12}})
        return str(answer["contents"]["value"]) if answer else ""

    def marks(self, code: str = "misfit") -> list[dict[str, Any]]:
        told = [one for one in self.client.messages("textDocument/publishDiagnostics") if one["uri"] == self.uri]
        found: list[dict[str, Any]] = [one for one in told[-1]["diagnostics"] if one.get("code") == code] if told else []
        return found

    def saves(self, text: str) -> None:
        self.path.write_text(text)
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": self.uri}})

    def profiles(self) -> None:
        """A run to its end."""
        ended = len(self.ended())
        assert self.client.command("hotlens.server.profile", {"uri": self.uri})["started"]
        self.client.wait(lambda: len(self.ended()) > ended, LIMIT)

    def ended(self) -> list[Any]:
        return [one for one in self.client.messages("$/progress") if one["value"]["kind"] == "end"]


def profiled(start: Start, tmp_path: Path, script: str) -> Typist:
    """After a profile of the script. Workers are kept between runs of the tests; where there is none, it is built as the offer says."""
    (tmp_path / "train.py").write_text(script)
    client = start(env={**os.environ, "XDG_CACHE_HOME": str(ROOT / "build" / "cache")})
    client.answer["window/showMessageRequest"] = lambda params: {
        "result": next((o for o in params["actions"] if o["title"] == "Build It"), None)
    }
    messages = {**RICH["window"], "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}}}
    client.initialize([tmp_path], {**RICH, "window": messages}, {"python": PYTHON, "profile": {"warmup": 1, "steps": 2}})
    made = Typist(client, tmp_path / "train.py")
    made.profiles()
    assert until(lambda: made.hint(10) != "")  # the loss and its backward pass
    return made


@pytest.fixture
def typist(start: Start, tmp_path: Path) -> Typist:
    return profiled(start, tmp_path, SCRIPT)


def test_a_wider_layer_tells_its_time_and_memory_before_it_runs(typist: Typist) -> None:
    wider = SCRIPT.replace("512", "4096")
    typist.types(wider)
    assert until(lambda: predicts(typist.hint(3)))
    assert predicts(typist.hint(4))
    told = typist.hover(3)
    assert "Linear(64, 512 → 4096)" in told.replace("\\", "")
    assert "instead of" in told and "peak of memory" in told and "nothing of the script ran" in told
    assert typist.marks() == []
    assert typist.path.read_text() == SCRIPT
    assert len(list((typist.path.parent / ".hotlens/profiles").iterdir())) == 1

    typist.types(SCRIPT)  # as it was: measured, not predicted
    assert until(lambda: "≈" not in typist.hint(3))
    typist.types(wider + "(")  # no Python yet
    assert "≈" not in typist.hint(3)


# Nothing of it runs in a step; a label at the layers' lines would be seen by nobody who types here.
def test_a_file_that_only_holds_numbers_has_the_label_where_somebody_types(start: Start, tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("WIDTH = 512\n")
    script = SCRIPT.replace("import torch\n", "import torch; from settings import WIDTH\n", 1).replace("512", "WIDTH")
    settings = Typist(profiled(start, tmp_path, script).client, tmp_path / "settings.py")
    settings.types("WIDTH = 4096\n")  # at once: the profile may reach the file that was just opened after it
    assert until(lambda: predicts(settings.hint(0)))
    assert "Linear(64, 512 → 4096)" in settings.hover(0).replace("\\", "")
    settings.types("WIDTH = 512\n")
    assert until(lambda: "≈" not in settings.hint(0))


# Replays of a step of 0.2 s take more than a second.
def test_a_longer_step_has_a_first_figure_before_it_was_replayed(start: Start, tmp_path: Path) -> None:
    slow = SCRIPT.replace("512", "4096").replace("256", "4096").replace("range(60)", "range(30)")
    typist = profiled(start, tmp_path, slow)
    typist.types(slow.replace("4, 4096", "4, 3500").replace("(4096, 4)", "(3500, 4)"))
    assert until(lambda: "peak of memory" in typist.hover(3))  # the recorded step was replayed: it is sound
    told: list[str] = []

    def has_memory() -> bool:
        told.append(typist.hover(3))
        return "2700" in told[-1] and "peak of memory" in told[-1]

    typist.types(slow.replace("4, 4096", "4, 2700").replace("(4096, 4)", "(2700, 4)"))
    assert until(has_memory, pause=0.01)
    assert any("one call of each kind" in one and "for its memory" in one and "2700" in one for one in told)
    assert "one call of each kind" not in told[-1] and predicts(typist.hint(3))


def test_layers_that_come_and_go_tell_their_time_at_the_line_of_their_constructor(typist: Typist) -> None:
    line = "model = nn.Sequential(hidden, nn.ReLU(), head)"
    typist.types(SCRIPT.replace(line, "model = nn.Sequential(hidden, nn.ReLU(),\n    nn.Linear(512, 512),\n    nn.GELU(), head)"))
    assert until(lambda: predicts(typist.hint(6)))
    assert "Linear(512, 512) added" in typist.hover(6).replace("\\", "")
    assert predicts(typist.hint(7))
    typist.types(SCRIPT.replace(line, "model = nn.Sequential(hidden, head)"))
    assert until(lambda: "ReLU() removed" in typist.hover(5).replace("\\", ""))
    assert predicts(typist.hint(5))
    assert typist.marks() == []


def test_what_does_not_fit_is_marked_in_the_operators_words(typist: Typist) -> None:
    typist.types(SCRIPT.replace(LAYER, "hidden = nn.Linear(64, 500)"))
    assert until(lambda: typist.marks() != [])
    (mark,) = typist.marks()
    assert mark["range"]["start"] == {"line": 4, "character": 0} and mark["severity"] == 2
    assert "Linear(512, 4) gets 500 features from line 4" in mark["message"]
    assert typist.hint(4) == "does not fit"
    typist.types(SCRIPT)
    assert until(lambda: typist.marks() == [])


def test_another_optimizer_tells_its_time_at_its_line(typist: Typist) -> None:
    typist.types(SCRIPT.replace("SGD(model.parameters(), lr=0.1)", "AdamW(model.parameters())"))
    assert until(lambda: predicts(typist.hint(6)))
    assert "SGD → AdamW" in typist.hover(6).replace("\\", "") and typist.marks("not-predicted") == []


def test_an_edit_beside_layers_is_marked_at_its_line_with_the_reason(typist: Typist) -> None:
    typist.types(SCRIPT.replace(LAYER, LAYER.replace("512", "1024") + ".half()").replace("head = nn.Linear(512", "head = nn.Linear(1024"))
    assert until(lambda: typist.marks("not-predicted") != [])
    (mark,) = typist.marks("not-predicted")
    assert mark["range"]["start"] == {"line": 3, "character": 0} and mark["severity"] == 3
    assert "something else than layers was edited: hidden = nn.Linear(64, 1024).half()" in mark["message"]
    assert "something else than layers was edited" in typist.hover(3)
    assert "≈" not in typist.hint(3) + typist.hint(4)
    typist.types(SCRIPT)
    assert until(lambda: typist.marks("not-predicted") == [])


def test_where_hints_show_memory_an_edit_tells_its_peak(typist: Typist) -> None:
    typist.types(SCRIPT.replace("512", "1024"))
    assert until(lambda: predicts(typist.hint(3)))
    typist.client.command("hotlens.server.hintUnit", {"unit": "memory"})
    assert re.fullmatch(r"[\d.]+( [kMG]?B)? → ≈ [\d.]+ [kMG]?B", typist.hint(3))


def test_a_new_profile_ends_the_prediction_and_tells_both_numbers(typist: Typist) -> None:
    wider = SCRIPT.replace("512", "1024")
    typist.types(wider)
    assert until(lambda: predicts(typist.hint(3)))
    typist.saves(wider)
    typist.profiles()
    assert until(lambda: "Predicted ≈" in typist.hover(3))
    assert re.search(r"Predicted ≈ [\d.]+ [µm]?s .*, measured [\d.]+ [µm]?s", typist.hover(3).replace("\\", ""))
    assert "≈" not in typist.hint(3) + typist.hint(4)
    ledger = typist.path.parent / ".hotlens/ledger.jsonl"
    assert until(lambda: ledger.exists() and ledger.read_text().count("\n") == 2)
    predicted, seen = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert (predicted["event"], seen["event"], predicted["kind"], seen["kind"]) == ("predicted", "seen", "edited_layers", "edited_layers")
    assert predicted["low"] < predicted["ratio"] < predicted["high"] and seen["ratio"] == seen["step_ns"] / seen["step_was_ns"]
    assert predicted["file"] == str(typist.path) and predicted["line"] == 3


def test_an_answer_that_failed_costs_no_other_answer(typist: Typist) -> None:
    program = next(typist.path.parent.glob(".hotlens/profiles/*/program.json.gz"))
    whole = program.read_bytes()
    program.write_bytes(b"broken")
    typist.types(SCRIPT.replace("512", "600"))
    assert until(lambda: any("is not predicted" in one["message"] for one in typist.client.messages("window/logMessage")))
    program.write_bytes(whole)
    typist.types(SCRIPT.replace("512", "700"))
    assert until(lambda: predicts(typist.hint(3)))


def test_a_keystroke_ends_the_replay_of_the_text_before(typist: Typist) -> None:
    """The process is stopped in its replay, so that it cannot end by itself."""
    server = typist.client.process.pid
    running: dict[int, str] = {}
    typist.types(SCRIPT.replace("512", "40000"))
    assert until(lambda: bool(running.update(replaying(server)) or running))
    *_, asked = (process for process, line in running.items() if "--edited" in line)  # the innermost
    os.kill(asked, signal.SIGSTOP)
    typist.types(SCRIPT.replace("512", "1024"))
    assert until(lambda: not any(map(is_alive, running)))
    assert until(lambda: predicts(typist.hint(3)))
    assert "512 → 1024" in typist.hover(3)
    typist.types(SCRIPT.replace("512", "40000"))
    assert not predicts(typist.hint(3))  # as it would at once if it had been answered


def test_texts_that_had_their_answer_have_it_at_once(typist: Typist) -> None:
    wider = SCRIPT.replace("512", "1024")
    typist.types(wider)
    assert until(lambda: predicts(typist.hint(3)))
    before = typist.hint(3)
    typist.types(SCRIPT)
    typist.types(wider)
    assert typist.hint(3) == before  # the next answer: nothing was waited for


def test_nothing_is_predicted_without_trust_or_where_the_setting_says_so(typist: Typist) -> None:
    client = typist.client
    client.notify("workspace/didChangeConfiguration", {"settings": {"hotlens": {"predict": {"edits": False}}}})
    typist.types(SCRIPT.replace("512", "1024"))
    client.notify("workspace/didChangeConfiguration", {"settings": {"hotlens": {"predict": {"edits": True}}}})
    client.notify("hotlens/trust", {"trusted": False})
    typist.types(SCRIPT.replace("512", "2048"))
    assert not until(lambda: predicts(typist.hint(3)), 8.0)
