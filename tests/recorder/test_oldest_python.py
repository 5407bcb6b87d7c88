"""The recorder runs in the environment of the script, from Python 3.9 on: what it may not say before 3.10 or 3.11."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

RECORDER = Path(__file__).resolve().parents[2] / "annotator" / "recorder" / "hotlens"


def unions_that_run(tree: ast.Module) -> list[int]:
    """Lines with `X | None` outside of annotations, which stay text: Python 3.9 cannot evaluate it."""
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for field in ("annotation", "returns")
        if isinstance(getattr(node, field, None), ast.expr)
        for inner in ast.walk(getattr(node, field))
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and id(node) not in annotations
        if isinstance(node.right, ast.Constant) and node.right.value is None
    ]


@pytest.mark.parametrize("file", sorted(RECORDER.glob("*.py")), ids=lambda file: file.name)
def test_the_oldest_python_can_read_and_import_it(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))
    assert unions_that_run(tree) == []


def test_what_is_looked_for_is_found() -> None:
    assert unions_that_run(ast.parse("def f(x: int | None) -> str | None: ...\nA = tuple[int | None]\ny: int | None = 1 | 2")) == [2]
