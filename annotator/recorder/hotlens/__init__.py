"""Hotlens recorder: runs an unmodified training script and writes a bundle (`../FORMAT.md`) that says where a step spends its time.

Needs only PyTorch (2.0 or newer) and the standard library, and neither is imported before the script asks for it.
Order of a run: construction capture and warm-up until it is known what a step is, plain timed steps, measured steps under torch.profiler,
one map step, one step whose program is kept, then the bundle. `run/session.py` owns that order. Each folder knows those above it alone:

    process/    the process that a script runs in: options, reports, signals, forks
    storage/    where bundles lie and grow
    source/     the script's source, and which statement a running frame stands for
    listening/  what torch is listened to by: methods replaced for a while, its optimizers and loaders
    loop/       the training loop's statements and their clocks
    compiled/   what torch.compile made
    map_step/   which module, from which line, ran which operators
    program/    the operators of one step, so that it can be run again
    steps/      what a step is, the phases of a run, the profiler around steps
    bundle/     the files that are written
    run/        one run, from its options to its exit status
    sweep/      several models of one script, trained as one
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
    from .run.handler import Handler

    return Handler(models, out)
