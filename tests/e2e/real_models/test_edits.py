"""Files as people edit them: formatted by black, switched to another branch and back, split in two. The anchors of a real profile follow.

Needs what test_truth.py needs. The oracle for black is Python's own syntax tree: black changes the text and not the tree, so the code at an
anchor's place must mean the same before and after.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

HOTLENS = Path(os.environ["HOTLENS_BIN"]).resolve()
PYTHON = os.environ.get("HOTLENS_MODELS_PYTHON", "")

pytestmark = pytest.mark.skipif(not PYTHON, reason="HOTLENS_MODELS_PYTHON is not set: no environment with the models' packages")

TRAIN = """\
import sys
import torch
import model

net = model.TransformerWrapper(num_tokens=100, max_seq_len=32, attn_layers=model.Decoder(dim=32, depth=2, heads=2, rotary_pos_emb=True))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
for _ in range(30):
    loss = net(torch.randint(0, 100, (2, 16))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def output_of(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose model.py is the largest single-file model at hand, profiled."""
    folder = tmp_path_factory.mktemp("edits").resolve()
    where = "import importlib.util as u; print(u.find_spec('x_transformers').submodule_search_locations[0])"
    package = Path(output_of(folder, PYTHON, "-c", where).strip())
    (folder / "model.py").write_bytes((package / "x_transformers.py").read_bytes())
    (folder / "train.py").write_text(TRAIN)
    output_of(folder, str(HOTLENS), "run", "--warmup", "1", "--steps", "2", "--python", PYTHON, "train.py")
    return folder


def anchors(folder: Path) -> list[dict[str, Any]]:
    checked = output_of(folder, str(HOTLENS), "check", "--format", "json", "model.py")
    found: list[dict[str, Any]] = json.loads(checked)["files"][0]["anchors"]
    return found


def code_at(text: bytes, anchor: dict[str, Any]) -> str:
    lines = text.splitlines(keepends=True)[anchor["line"] : anchor["end_line"] + 1]
    lines[-1] = lines[-1][: anchor["end_character"]]
    lines[0] = lines[0][anchor["character"] :]
    return b"".join(lines).decode()


def meaning(code: str, role: str) -> str:
    """What the code says, whatever its form: the dump of its tree; of a class header its name and bases."""
    code = code.strip()
    if role == "class":
        code = code.rstrip(":").rstrip() + ":\n pass"
    return ast.dump(ast.parse(code if role in ("class", "definition") else f"(\n{code}\n)"))


@pytest.mark.parametrize("options", [["-l", "50"], ["-l", "180", "-C"], ["-l", "88"]], ids=["narrow", "wide", "plain"])
def test_black_changes_the_text_and_no_anchor(project: Path, options: list[str]) -> None:
    file = project / "model.py"
    original = file.read_bytes()
    before = anchors(project)
    assert len(before) > 60 and {a["state"] for a in before} == {"fresh"}
    try:
        output_of(project, PYTHON, "-m", "black", "-q", *options, "model.py")
        formatted = file.read_bytes()
        assert formatted != original
        after = anchors(project)
    finally:
        file.write_bytes(original)
    assert {a["state"] for a in after} <= {"fresh", "moved"}
    assert all(a["confirmed"] for a in after)
    wrong = []
    for old, new in zip(before, after, strict=True):
        assert (old["role"], old["modules"]) == (new["role"], new["modules"])
        if meaning(code_at(original, old), old["role"]) != meaning(code_at(formatted, new), new["role"]):
            wrong.append((old, code_at(formatted, new)))
    assert wrong == []


def test_another_branch_and_back(project: Path) -> None:
    file = project / "model.py"
    original = file.read_bytes()
    before = anchors(project)
    try:
        # The other branch: other imports, a helper more, one class renamed, and no feed-forward class.
        text = (
            original.decode().replace("class Attention(", "class SelfAttention(").replace("import torch\n", "import os\nimport torch\n", 1)
        )
        begin = text.index("class FeedForward(")
        end = text.index("\nclass ", begin)
        file.write_text(text[:begin] + text[end:])
        switched = anchors(project)
        file.write_bytes(original)
        after = anchors(project)
    finally:
        file.write_bytes(original)
    assert after == before
    gone = [a for a, old in zip(switched, before, strict=True) if "class FeedForward(" in enclosing(original, old)]
    assert gone and {a["state"] for a in gone} == {"orphan"}
    now = (text[:begin] + text[end:]).encode()
    for old, new in zip(before, switched, strict=True):
        if new["state"] in ("fresh", "moved"):
            assert code_at(now, new) == code_at(original, old)
            assert enclosing(now, new) == enclosing(original, old)


def with_text(folder: Path, text: str) -> list[dict[str, Any]]:
    """The anchors while model.py holds this text."""
    file = folder / "model.py"
    original = file.read_bytes()
    try:
        file.write_text(text)
        return anchors(folder)
    finally:
        file.write_bytes(original)


def test_a_renamed_class_keeps_its_layers(project: Path) -> None:
    original = (project / "model.py").read_text()
    before = anchors(project)
    for name in ("FeedForward", "Attention", "TransformerWrapper"):
        renamed = re.sub(rf"\b{name}\b", f"{name}Renamed", original)
        after = with_text(project, renamed)
        for old, new in zip(before, after, strict=True):
            then, now = code_at(original.encode(), old), code_at(renamed.encode(), new)
            assert new["state"] != "orphan", (name, then)
            # An edited statement is marked as a whole, also where the layer was only a part of it.
            assert re.sub(rf"\b{name}\b", f"{name}Renamed", then) in now, (name, then, now)
            if now == then:
                assert new["state"] in ("fresh", "moved", "context"), (name, then, new["state"])
            else:
                assert new["state"] in ("edited", "context"), (name, then, new["state"])
    assert anchors(project) == before


def single_line_statements(text: str, found: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Definitions that have their line to themselves: (index into `found`, anchor)."""
    lines = text.splitlines()
    whole = [
        (i, a)
        for i, a in enumerate(found)
        if a["role"] == "definition" and a["line"] == a["end_line"] and lines[a["line"]].strip() == code_at(text.encode(), a)
    ]
    return whole[:: max(1, len(whole) // 8)]


def test_a_layer_wrapped_in_a_condition_is_still_that_layer(project: Path) -> None:
    original = (project / "model.py").read_text()
    chosen = single_line_statements(original, anchors(project))
    assert len(chosen) >= 6
    for index, anchor in chosen:
        lines = original.splitlines(keepends=True)
        statement = lines[anchor["line"]]
        indent = statement[: len(statement) - len(statement.lstrip())]
        lines[anchor["line"]] = f"{indent}if use_this_layer:\n    {statement}"
        now = with_text(project, "".join(lines))[index]
        assert now["state"] in ("moved", "context")
        assert now["line"] == anchor["line"] + 1 and code_at("".join(lines).encode(), now) == statement.strip()


def test_a_changed_layer_is_stale_at_once_and_fresh_again_when_undone(project: Path) -> None:
    original = (project / "model.py").read_text()
    before = anchors(project)
    for index, anchor in single_line_statements(original, before):
        lines = original.splitlines(keepends=True)
        code = lines[anchor["line"]]
        lines[anchor["line"]] = code.replace(")", ", dtype = None)", 1) if ")" in code else code.replace(" = ", " = not ", 1)
        assert lines[anchor["line"]] != code
        after = with_text(project, "".join(lines))
        assert (after[index]["state"], after[index]["line"]) == ("edited", anchor["line"])
        others = [a["state"] for a in after if a["line"] != anchor["line"]]
        assert set(others) <= {"fresh", "moved"}
    assert anchors(project) == before


def test_a_class_that_moved_to_another_file_is_gone_and_nothing_else(project: Path) -> None:
    original = (project / "model.py").read_text()
    before = anchors(project)
    begin = original.index("class FeedForward(")
    end = original.index("\nclass ", begin)
    text = "from parts import FeedForward\n" + original[:begin] + original[end:]
    after = with_text(project, text)
    for old, new in zip(before, after, strict=True):
        moved_out = "class FeedForward(" in enclosing(original.encode(), old)
        assert (new["state"] == "orphan") == moved_out
        if not moved_out:
            assert code_at(text.encode(), new) == code_at(original.encode(), old)


def enclosing(text: bytes, anchor: dict[str, Any]) -> str:
    """The header of the class around an anchor; "" outside classes."""
    lines = text.decode().splitlines()
    for number in range(anchor["line"], -1, -1):
        if lines[number] and not lines[number][0].isspace() and lines[number][0] not in ")#":
            return lines[number] if lines[number].startswith("class ") else ""
    return ""
