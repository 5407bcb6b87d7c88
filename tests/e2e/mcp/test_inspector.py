"""The inspector of the Model Context Protocol asks the server: it checks what it gets against the protocol's schemas."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from conftest import HOTLENS, PYTHON

INSPECTOR = Path(__file__).parent / "node_modules/.bin/mcp-inspector"


def inspector(folder: Path, method: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(INSPECTOR), "--cli", HOTLENS, "mcp", "--folder", str(folder), "--python", PYTHON, "--method", method, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def inspect(folder: Path, method: str, *options: str) -> Any:
    done = inspector(folder, method, *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_lists_what_there_is(recorded: Path) -> None:
    tools = {tool["name"]: tool for tool in inspect(recorded, "tools/list")["tools"]}
    assert {"report", "hot_lines", "check", "whatif", "predict", "diff", "profile"} <= tools.keys()
    assert all(tool["inputSchema"]["type"] == "object" and tool["outputSchema"]["type"] == "object" for tool in tools.values())
    resources = inspect(recorded, "resources/list")["resources"]
    assert len(resources) == 2 and all(resource["name"] for resource in resources)


def test_it_calls_a_tool(recorded: Path) -> None:
    answer = inspect(recorded, "tools/call", "--tool-name", "hot_lines", "--tool-arg", "limit=2")
    lines = answer["structuredContent"]["lines"]
    assert len(lines) == 2 and lines[0]["file"] == "train.py" and not answer.get("isError")


def test_a_tool_that_does_not_exist_is_an_error(recorded: Path) -> None:
    done = inspector(recorded, "tools/call", "--tool-name", "nothing")
    assert done.returncode != 0 and "nothing" in done.stderr
