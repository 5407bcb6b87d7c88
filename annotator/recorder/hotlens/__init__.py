"""Hotlens recorder: runs an unmodified training script and writes a bundle (`../FORMAT.md`) that says where a step spends its time.

Needs only PyTorch (2.0 or newer) and the standard library, and neither is imported before the script asks for it.
Order of a run: construction capture and warm-up (`capture`, `steps`), plain timed steps, measured steps under torch.profiler (`measure`),
one map step (`mapping`), then the bundle (`bundle`). `session` owns that order; `hooks` is the only place that touches torch's classes.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def analyze(*models: Any, out: str = ".") -> Any:
    """An `on_trace_ready` for `torch.profiler.profile`: writes a bundle below `out` from the steps that your own profiler has recorded.

        with profile(schedule=schedule(wait=1, warmup=1, active=5, repeat=1), on_trace_ready=hotlens.analyze(model)) as p:
            for batch in loader:
                ...
                p.step()

    Two steps after the recorded ones become slower once: they tell which operator belongs to which line. Raises RecorderError where the
    folder cannot be written.
    """
    from .handler import Handler

    return Handler(models, out)
