"""Marks by share beside the lines: the numbers of the hints, asked for again whenever hints are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import RICH, Client

Start = Callable[..., Client]
DRAWS = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1, "heat": True}}}


def heat(client: Client, uri: str) -> Any:
    return client.request("hotlens/heat", {"textDocument": {"uri": uri}})


def heat_when_known(client: Client, uri: str) -> list[dict[str, Any]]:
    """As a client does: at once, then after each notice."""
    while not (found := heat(client, uri)["marks"]):
        client.next_message("hotlens/heatChanged", after=len(client.messages("hotlens/heatChanged")) - 1)
    return list(found)


def edit(client: Client, uri: str, version: int, text: str) -> None:
    start = {"line": 0, "character": 0}
    changes = [{"range": {"start": start, "end": start}, "text": text}]
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes})


def test_marks_stand_where_hints_with_a_time_stand_and_levels_follow_the_share(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example], DRAWS)
    levels = set()
    for file in ("blocks.py", "model.py", "train.py"):
        uri = client.open(example / file)
        marks = heat_when_known(client, uri)
        labels = {hint["position"]["line"]: str(hint["label"]) for hint in client.hints(uri)}
        timed = sorted(line for line, label in labels.items() if "start-up" not in label and "→" not in label)
        assert [mark["line"] for mark in marks] == timed
        for mark in marks:
            assert mark["level"] == (3 if mark["share"] >= 0.2 else 2 if mark["share"] >= 0.05 else 1)
            assert 0.01 <= mark["share"] <= 1
            levels.add(mark["level"])
        hottest = max(client.request("hotlens/hotLines", {"limit": 200})["lines"], key=lambda line: line["share"])
        if hottest["uri"] == uri:
            here = next(mark for mark in marks if mark["line"] == hottest["position"]["line"])
            assert here["share"] == pytest.approx(hottest["share"], abs=1e-4)
    assert levels == {1, 2, 3}


def test_marks_move_with_edits_and_stay_while_hints_tell_memory(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example], DRAWS)
    uri = client.open(example / "blocks.py")
    before = heat_when_known(client, uri)
    edit(client, uri, 2, "# é\n\n")
    after = heat(client, uri)
    assert after["version"] == 2
    assert after["marks"] == [{**mark, "line": mark["line"] + 2} for mark in before]
    client.command("hotlens.server.hintUnit", {"unit": "memory"})
    assert heat(client, uri)["marks"] == after["marks"]


def test_the_setting_takes_marks_away_at_once_and_hints_stay(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example], DRAWS)
    uri = client.open(example / "blocks.py")
    heat_when_known(client, uri)
    told = len(client.messages("hotlens/heatChanged"))
    client.settings = {"heat": False}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.next_message("hotlens/heatChanged", after=told)
    assert heat(client, uri)["marks"] == []
    assert client.hints(uri)


def test_only_a_client_that_draws_marks_is_told_of_them(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example])
    uri = client.open(example / "blocks.py")
    client.hints_when_known(uri)
    assert heat(client, uri)["marks"]
    assert client.messages("hotlens/heatChanged") == []


def test_files_that_are_not_open_or_not_measured_have_no_marks(start: Start, example: Path, tmp_path: Path) -> None:
    client = start()
    client.initialize([example], DRAWS)
    heat_when_known(client, client.open(example / "blocks.py"))
    assert heat(client, (example / "model.py").as_uri()) is None
    assert heat(client, client.open(example / "data.py", "x = 1\n"))["marks"] == []
    with pytest.raises(Exception, match="expected"):
        client.request("hotlens/heat", {"textDocument": {}})
