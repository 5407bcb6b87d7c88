"""A bundle of text alone, as somebody could send it: whatever its tables say, no run is needed to write it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from small_trace import small_trace

MODEL = "class Net:\n    def __init__(self):\n        self.layer = Linear(4, 4)\n"
SITE = {"file": 0, "line": 2, "end_line": 2, "column": 8, "end_column": 33, "function": "Net.__init__"}
TOP = {"line": 0, "end_line": 0, "column": 0, "end_column": 10}


def small_bundle(workspace: Path, name: str = "20261121T102300Z-aaaaaa", file: dict[str, Any] | None = None, **manifest: Any) -> Path:
    """`file`: keys of the row of model.py, `manifest`: of the manifest, in place of usual ones."""
    bundle = workspace / ".hotlens" / "profiles" / name
    (bundle / "files").mkdir(parents=True)
    (bundle / "files" / "0-model.py").write_text(MODEL)
    (workspace / "model.py").write_text(MODEL)
    small_trace(bundle / "trace-0.json")
    row = {"path": str(workspace / "model.py"), "sha256": "", "copy": "files/0-model.py", "workspace": True}
    modules = [
        {
            "id": 0,
            "path": "",
            "class": "Net",
            "parent": -1,
            "class_site": {**SITE, "line": 0, "end_line": 0, "column": 0, "end_column": 10},
        },
        {"id": 1, "path": "layer", "class": "Linear", "parent": 0, "attached": SITE},
    ]
    told = {"schema": "hotlens.bundle/1", "id": name, "created": "2026-11-21T10:23:00Z", "hotlens": "0.1.0", "argv": ["train.py"]}
    traces = [{"file": "trace-0.json", "rank": 0, "plain_step_ns": [1_000_000], "profiled_step_ns": [1_000_000]}]
    (bundle / "manifest.json").write_text(json.dumps({**told, "traces": traces, **manifest}))
    model = {"schema": "hotlens.model/1", "files": [{**row, **(file or {})}], "modules": modules, "roots": [{"module": 0, "role": "model"}]}
    (bundle / "model.json").write_text(json.dumps(model))
    return bundle
