"""What the server answers to the initialize requests of editors: recorded ones of VS Code and Neovim, and those of editors that are played.

`initialize/NAME.json` are a request's params as the real editor sent them, with ROOT for the workspace; `initialize/answers.json` holds
the whole answers. HOTLENS_WRITE_ANSWERS=1 writes them anew: read what changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import Client
from test_other_editors import EDITORS, params_of

HERE = Path(__file__).parent / "initialize"
ANSWERS = HERE / "answers.json"
RECORDED = {"VS Code 1.100": "vscode", "Neovim 0.11": "neovim"}


def params(name: str, root: Path) -> dict[str, Any]:
    if name not in RECORDED:
        return params_of(name, root)
    recorded: dict[str, Any] = json.loads((HERE / f"{RECORDED[name]}.json").read_text().replace("ROOT", str(root)))
    return {**recorded, "processId": os.getpid()}


@pytest.mark.parametrize("name", [*RECORDED, *EDITORS])
def test_each_editor_gets_the_answer_that_it_understands(start: Callable[..., Client], tmp_path: Path, name: str) -> None:
    answer = start().request("initialize", params(name, tmp_path))
    assert answer["serverInfo"].pop("version")
    known: dict[str, Any] = json.loads(ANSWERS.read_text()) if ANSWERS.is_file() else {}
    if os.environ.get("HOTLENS_WRITE_ANSWERS") == "1":
        ANSWERS.write_text(json.dumps({**known, name: answer}, indent=1, sort_keys=True) + "\n")
    assert answer == json.loads(ANSWERS.read_text())[name]
