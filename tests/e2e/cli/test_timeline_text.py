"""`hotlens timeline`: the step as text, down to what takes most of its time."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import Run, steps_trace

Write = Callable[[str, dict[str, Any]], Path]


def test_the_step_its_axis_and_its_tracks(hotlens: Run, write: Write) -> None:
    result = hotlens("timeline", write("x.json", steps_trace([1000], [800])), "--width", "98")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[2] == "step  1.00 ms"
    assert lines[3].split() == ["╷0", "╷200", "µs", "╷400", "µs", "╷600", "µs", "╷800", "µs"]
    track = lines[4]
    assert track.startswith("CPU main".ljust(18))
    # 80 columns stand for 1 ms; forward lies from 10 to 850 µs.
    start = track.index("forward") - 1
    assert abs((start - 18) * 12.5 - 10) <= 12.5


def test_no_line_is_wider_than_asked(hotlens: Run, write: Write) -> None:
    trace = write("x.json", steps_trace([1000, 1200], [800, 900], name="Linear_" + "宽" * 80))
    for width in (40, 77, 200):
        text = hotlens("timeline", trace, "--width", str(width)).stdout
        drawn = [line for line in text.splitlines()[2:] if line.startswith("CPU")]
        assert drawn
        assert all(sum(2 if c == "宽" else 1 for c in line) <= width for line in drawn)


def test_names_of_a_trace_draw_nothing_but_themselves(hotlens: Run, write: Write) -> None:
    text = hotlens("timeline", write("x.json", steps_trace([1000], [800], name="Evil\x1b[2J\x07_1"))).stdout
    assert "\x1b" not in text
    assert "\x07" not in text


def test_colours_on_a_terminal_alone(write: Write) -> None:
    trace = write("x.json", steps_trace([1000], [800]))
    ours, theirs = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color"}
    settings.pop("NO_COLOR", None)
    subprocess.run([os.environ["HOTLENS_BIN"], "timeline", trace], stdout=theirs, check=True, env=settings)
    os.close(theirs)
    coloured = os.read(ours, 1 << 16).decode()
    assert "\x1b[48;5;74;38;5;233m▏forward 840 µs" in coloured
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", coloured)


@pytest.mark.parametrize("width", ["39", "501", "wide"])
def test_an_absurd_width_is_wrong_usage(hotlens: Run, write: Write, width: str) -> None:
    assert hotlens("timeline", write("x.json", steps_trace([1000])), "--width", width).returncode == 2


def test_what_is_no_trace_is_said(hotlens: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("my notes")
    result = hotlens("timeline", "notes.json")
    assert result.returncode == 3
    assert "notes.json" in result.stderr
