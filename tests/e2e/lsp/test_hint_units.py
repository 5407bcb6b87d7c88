"""Hints in time, share, memory or throughput: by setting, or by the command that goes through them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import Client, RequestError
from test_features import by_line, line_of, opened

Start = Callable[..., Client]
UNIT = "hotlens.server.hintUnit"
SHAPES = {
    "time": r"[0-9.]+(\+<?[0-9.]+)* (µs|ms|s)",
    "share": r"<?[0-9]+%( ×[0-9]+)?$",
    "memory": r"[0-9.]+ (B|kB|MB) <?[0-9]+%$",
    "throughput": r"[0-9.]+/s$",
}


def label(client: Client, uri: str, line: int) -> str:
    return by_line(client.hints(uri)).get(line, "")


def test_a_command_goes_through_the_units_and_back(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    line = line_of(example / "model.py", "x = self.layer1(x)")
    before = label(client, uri, line)
    assert re.match(SHAPES["time"], before), before
    for unit in ("share", "memory", "throughput", "time"):
        refreshes = len(client.messages("workspace/inlayHint/refresh"))
        assert client.command(UNIT) == {"unit": unit}
        client.wait(lambda refreshes=refreshes: len(client.messages("workspace/inlayHint/refresh")) > refreshes)
        assert re.match(SHAPES[unit], label(client, uri, line)), label(client, uri, line)
    assert label(client, uri, line) == before
    assert client.command(UNIT, {"unit": "memory"}) == {"unit": "memory"}
    for wrong in ({"unit": "bytes"}, {"unit": 5}, {"unit": ""}):
        with pytest.raises(RequestError) as refused:
            client.command(UNIT, wrong)
        assert refused.value.code == -32602
    assert re.match(SHAPES["memory"], label(client, uri, line))


@pytest.mark.parametrize("unit", sorted(SHAPES))
def test_the_setting_decides_until_it_changes(start: Start, example: Path, unit: str) -> None:
    client, uri = opened(start, example, options={"hints": {"unit": unit}})
    line = line_of(example / "model.py", "x = self.layer2(x)")
    assert re.match(SHAPES[unit], label(client, uri, line)), label(client, uri, line)
    client.settings = {"hints": {"unit": "share"}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: re.match(SHAPES["share"], label(client, uri, line)))


def test_no_label_is_longer_than_a_hint_may_be(start: Start, example: Path) -> None:
    for unit in SHAPES:
        settings: dict[str, Any] = {"hints": {"unit": unit, "minPercent": 0}}
        client, uri = opened(start, example, "blocks.py", options=settings)
        labels = by_line(client.hints(uri)).values()
        assert labels and all(0 < len(each) <= 20 for each in labels), labels
        client.kill()
