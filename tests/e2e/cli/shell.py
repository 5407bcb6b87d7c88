"""What the tests of the command line share: how the program is called, and a small trace."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warm import interpreter

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def record(hotlens: Run, folder: Path, script: str, *options: str) -> None:
    """Profiles a script as `train.py` of the test's folder."""
    (folder / "train.py").write_text(script)
    done = hotlens("run", "--python", interpreter(), *options, "train.py")
    assert done.returncode == 0, done.stderr


def steps_trace(walls_us: list[int], linear_us: list[int] | None = None, name: str = "Linear_0") -> dict[str, Any]:
    """One `ProfilerStep` per wall time, each with a module `Net_0` that holds one other, of the given times."""
    events: list[dict[str, Any]] = []

    def complete(category: str, event: str, start: int, duration: int, **args: Any) -> None:
        events.append({"ph": "X", "cat": category, "name": event, "pid": 1, "tid": 1, "ts": start, "dur": duration, "args": args})

    start = 1000
    for number, wall in enumerate(walls_us):
        inner = linear_us[number] if linear_us else 100
        complete("user_annotation", f"ProfilerStep#{number}", start, wall)
        complete("python_function", "nn.Module: Net_0", start + 10, inner + 40, **{"Python id": 2 * number + 1, "Python parent id": None})
        complete(
            "python_function", f"nn.Module: {name}", start + 20, inner, **{"Python id": 2 * number + 2, "Python parent id": 2 * number + 1}
        )
        complete("cpu_op", "aten::linear", start + 21, inner - 2)
        start += wall
    return {"schemaVersion": 1, "traceEvents": events}
