"""`saved.json` of `../FORMAT.md`: what was kept for the backward pass, storages with the same savers in one row."""

from __future__ import annotations

from typing import Any

from ..listening.saved_graph import Graph, Kept, Saver
from ..map_step.mapping import MapStep
from ..map_step.tree import Tree

SAVED_FILE = "saved.json"
SCHEMA = "hotlens.saved/1"
MOST_ROWS = 20_000  # of savers and of storages
TOO_MANY = f"it keeps more than {MOST_ROWS} kinds of tensors"


def saved_json(mapped: MapStep, tree: Tree) -> dict[str, Any]:
    saved = mapped.saved
    if saved.found is None:
        return _refused(saved.refused or "")
    savers: dict[Saver, int] = {}
    rows = _rows(saved.found, savers)
    hooked = [[savers.setdefault(saver, len(savers)), count] for saver, count in saved.found.hooked.items()]
    if max(len(rows), len(savers)) > MOST_ROWS:
        return _refused(TOO_MANY)
    return {
        "schema": SCHEMA,
        "refused": None,
        "pass": saved.number,
        "passes": saved.passes,
        "savers": [{"node": s.node, "module": _module(s, mapped, tree), "line": s.line} for s in savers],
        "storages": rows,
        "hooked": [{"saver": saver, "count": count} for saver, count in hooked],
        "opaque": [{"node": node, "count": count} for node, count in saved.found.opaque.items()],
        "unreadable": saved.found.unreadable,
    }


def _refused(why: str) -> dict[str, Any]:
    return {"schema": SCHEMA, "refused": why}


def _module(saver: Saver, mapped: MapStep, tree: Tree) -> int:
    return tree.number[id(mapped.calls.rows[saver.call].module)] if saver.call >= 0 else -1


def _rows(graph: Graph, savers: dict[Saver, int]) -> list[dict[str, Any]]:
    alike: dict[tuple[Any, ...], dict[str, Any]] = {}
    for kept in graph.storages.values():
        by = _by(kept, savers)
        key = (kept.kind, kept.device, kept.bytes, tuple((b["saver"], b["as"], b["elements"]) for b in by))
        row = alike.setdefault(key, {"kind": kept.kind, "device": kept.device, "bytes": kept.bytes, "count": 0, "by": by})
        row["count"] += 1
    return list(alike.values())


def _by(kept: Kept, savers: dict[Saver, int]) -> list[dict[str, Any]]:
    rows = [{"saver": savers.setdefault(s, len(savers)), "as": what, "elements": most} for (s, what), most in kept.by.items()]
    return sorted(rows, key=lambda row: (row["saver"], row["as"]))
