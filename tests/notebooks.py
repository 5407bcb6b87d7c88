"""Notebooks for tests, as Jupyter and VS Code save them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

PYTHON = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}


def code(source: str | list[str], **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source, **more}


def markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def notebook(*cells: str | dict[str, Any], metadata: Any = None) -> str:
    """The text of a file; a string is a code cell."""
    made: Sequence[dict[str, Any]] = [code(cell.splitlines(keepends=True)) if isinstance(cell, str) else cell for cell in cells]
    for number, cell in enumerate(made):
        cell.setdefault("id", f"cell-{number}")
    return json.dumps({"cells": made, "metadata": PYTHON if metadata is None else metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)
