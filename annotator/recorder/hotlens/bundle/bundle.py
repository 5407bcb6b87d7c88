"""Writing the bundle of `../FORMAT.md`: a folder that appears under its name only when it is whole."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .. import __version__
from ..compiled.compilation import Compiled
from ..compiled.graphs import Graphs
from ..loop.clocks import LoopClocks
from ..loop.worker_lines import Path
from ..map_step.capture import Capture
from ..map_step.mapping import MapStep
from ..map_step.parts import Parts, find
from ..map_step.sites import Sites
from ..map_step.tree import ParameterRow, Tree, build, parameter_bytes, parameter_facts
from ..process import page_faults
from ..process.masking import MASK, masked
from ..process.report import Warnings
from ..program.allocator import Memory
from ..program.program import Program
from ..program.switches import switch_of
from ..source.frames import Files
from ..source.statements import Statements
from ..steps.finder import Boundary
from ..steps.measure import ExportedTrace, accelerator_names, cpu_name, median
from ..storage.ranks import Part
from ..storage.store import EXPORTED, PRIVATE_FILE, Draft, replace, write_new
from .deciding import deciding_files
from .held import Held
from .program_file import PROGRAM_FILE, as_json, compressed
from .saved_file import SAVED_FILE, saved_json

BUNDLE_SCHEMA = "hotlens.bundle/1"
PROGRAM_FAILED = "the operators of a step could not be recorded ({}); nothing can be predicted from this profile. Please report this"
COMPILED = (
    "the script uses torch.compile: what was compiled runs as one piece, so its time is known as a whole and not by layer{}. "
    "Profile once with TORCH_COMPILE_DISABLE=1 to see the layers"
)
PARTLY = "the script uses torch.compile: some kernels of compiled code are of no layer, since {}"
MODEL_SCHEMA = "hotlens.model/1"
# Packages whose version explains a profile; only what the script has imported is listed.
LIBRARIES = (
    "torch",
    "numpy",
    "transformers",
    "lightning",
    "accelerate",
    "ignite",
    "fastai",
    "skorch",
    "timm",
    "torchvision",
    "diffusers",
    "triton",
)


@dataclass
class Recording:
    """Everything a run has measured; what is None was not reached."""

    argv: list[str]
    cwd: str
    warmup_steps: int
    steps_asked: int
    boundary: Boundary
    samples_per_step: int | None
    plain_ns: list[int]
    profiled_ns: list[int]
    measured: ExportedTrace
    map_ns: int | None
    mapped: MapStep | None
    map_trace: ExportedTrace | None
    warnings: Warnings
    rank: int = 0
    others: list[Part] = field(default_factory=list)  # of the other ranks
    held: Held = field(default_factory=Held)
    stopped_early: bool = False
    exit_code: int | None = None
    error: dict[str, Any] | None = None
    stopped_by: str | None = None  # the signal that ended the script
    loop: LoopClocks | None = None
    compiled: Compiled | None = None  # of a script that uses torch.compile
    graphs: Graphs | None = None  # likewise
    program: Program | None = None
    memory: Memory | None = None  # with a program that is not refused
    batch_size: int | None = None
    plain_faults: list[int | None] = field(default_factory=list)  # minor page faults of each plain step
    plain_fetching: list[int] = field(default_factory=list)  # ns of each in which a DataLoader without workers made batches
    cudnn_benchmark: bool | None = None  # cuDNN tries its convolutions; None: it has none to choose
    worker_lines: dict[Path, int] = field(default_factory=dict)  # of the loader that feeds the updates (loop/worker_lines.py)


def write(recording: Recording, capture: Capture, files: Files, draft: Draft) -> str:
    """Fills the draft and gives it its name; returns its path. Raises OSError when the disk does not take it."""
    _hide_secrets(recording)
    statements = recording.mapped.statements if recording.mapped else Statements()
    sites = Sites(files, statements)
    tree = build(capture, recording.mapped, sites, files)
    parts = _parts(recording, tree, files, statements)
    deciding = deciding_files(tree, capture, files)
    recording.measured.write(draft.path(f"trace-{recording.rank}.json.gz"))
    for part in recording.others:
        if part.trace is not None:
            shutil.move(part.trace, draft.path(f"trace-{part.rank}.json.gz"))
    if recording.map_trace is not None:
        recording.map_trace.write(draft.path("trace-map.json.gz"))
    if recording.loop is not None:
        _write_json(draft.path("loop.json"), recording.loop.as_json(sites.file))
    if recording.program is not None:
        _write_program(recording, recording.program, tree, draft)
    if recording.mapped is not None:
        _write_json(draft.path(SAVED_FILE), saved_json(recording.mapped, tree))
    _write_json(draft.path("model.json"), model_json(tree, recording, sites, deciding, draft.partial, parts))
    for name in os.listdir(draft.partial):
        if name.endswith(EXPORTED):
            os.remove(draft.path(name))
    _write_json(draft.path("manifest.json"), manifest_json(recording, draft.name, draft.moment))
    return draft.commit()


def _parts(recording: Recording, tree: Tree, files: Files, statements: Statements) -> Parts:
    """Of compiled code; what is not known of it is a warning."""
    if recording.graphs is None:
        return Parts()
    parts = find(recording.mapped, recording.graphs, tree, files, statements)
    why = "; ".join(dict.fromkeys(parts.without))
    if not any(row["shares"] for row in parts.rows):
        recording.warnings.add("compiled", COMPILED.format(f" ({why})" if why else ""))
    elif why:
        recording.warnings.add("compiled", PARTLY.format(why))
    return parts


def _write_program(recording: Recording, program: Program, tree: Tree, draft: Draft) -> None:
    """What fails in it is a warning: the profile is whole without. Raises OSError."""
    faults = median([n for n in recording.plain_faults if n is not None])
    try:
        data = compressed(as_json(program, recording.memory, tree, recording.batch_size, faults))
    except Exception as error:
        recording.warnings.add("program_failed", PROGRAM_FAILED.format(f"{type(error).__name__}: {error}"))
        recording.program = None
        return
    write_new(draft.path(PROGRAM_FILE), data, PRIVATE_FILE)


def _hide_secrets(recording: Recording) -> None:
    found = masked(recording.argv)
    recording.argv = found.words
    for name in found.names:
        recording.warnings.add("secret_hidden", f"the value of {name} looks like a secret; the bundle has {MASK} in its place")


def _write_json(path: str, value: Any) -> None:
    write_new(path, _json(value), PRIVATE_FILE)


def _json(value: Any) -> bytes:
    # A name on the disk may be no text: what of it is none becomes question marks.
    return (json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n").encode("utf-8", "replace")


def model_json(tree: Tree, recording: Recording, sites: Sites, deciding: list[str], partial: str, parts: Parts) -> dict[str, Any]:
    mapped, held = recording.mapped, recording.held
    modules = [
        {
            "id": i,
            "path": row.path,
            "class": type(row.module).__name__,
            "python_module": type(row.module).__module__,
            "parent": row.parent,
            "root": row.root,
            "parameters_bytes": parameter_bytes(row.module),
            "attached": row.attached.as_json() if row.attached else None,
            "constructed": row.constructed.as_json() if row.constructed else None,
            "class_site": row.class_site.as_json() if row.class_site else None,
            **_switch(tree, i),
        }
        for i, row in enumerate(tree.modules)
    ]
    parameters = [_parameter(p, held) for p in tree.parameters]
    calls: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    stages: list[dict[str, Any]] = []
    fetches: list[dict[str, Any]] = []
    if mapped is not None:
        for i, call in enumerate(mapped.calls.rows):
            site = sites.expression(call.site).as_json() if call.site else None
            calls.append({"id": i, "module": tree.number[id(call.module)], "parent": call.parent, "site": site})
        for (filename, line, function), i in mapped.lines.items():
            watching = {"watching_ns": ns} if (ns := mapped.watching.of(i)) else {}
            lines.append({"id": i, "file": sites.file(filename), "line": line - 1, "function": function, **watching})
        fetches = _fetches(recording.worker_lines, mapped, sites, lines)
        stages = _stages(tree, mapped, sites)
    sites.add(deciding)
    return {
        "schema": MODEL_SCHEMA,
        "files": sites.rows(partial),
        "modules": modules,
        "roots": [{"module": module, "role": role} for module, role in tree.roots],
        "parameters": parameters,
        "calls": calls,
        "lines": lines,
        "stages": stages,
        **({"parts": parts.rows} if parts.rows else {}),
        **({"fetches": fetches} if fetches else {}),
    }


def _switch(tree: Tree, row: int) -> dict[str, Any]:
    switch = switch_of(row, lambda at: tree.modules[at].module, lambda at: tree.modules[at].parent)
    return {"checkpoint_switch": switch} if switch else {}


def _fetches(seen: dict[Path, int], mapped: MapStep, sites: Sites, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What workers run to make a batch, each stack of lines with its part of the time. Lines that the map step has not seen are added."""
    numbers = dict(mapped.lines)

    def number(filename: str, line: int, function: str) -> int:
        key = (filename, mapped.statements.first_line(filename, line), function)
        if key not in numbers:
            numbers[key] = len(lines)
            lines.append({"id": len(lines), "file": sites.file(filename), "line": key[1] - 1, "function": function})
        return numbers[key]

    weights: dict[tuple[int, ...], int] = {}
    for path, count in seen.items():
        if path:
            stack = tuple(number(*place) for place in path)
            weights[stack] = weights.get(stack, 0) + count
    whole = sum(seen.values())
    return [{"lines": list(stack), "weight": round(count / whole, 6)} for stack, count in weights.items()]


def _parameter(row: ParameterRow, held: Held) -> dict[str, Any]:
    number = id(row.parameter)
    sizes = {"gradient_bytes": held.gradients.get(number), "optimizer_bytes": held.state.get(number)}
    return {"id": row.id, "module": row.module, "name": row.name, **parameter_facts(row.parameter), **sizes}


def _stages(tree: Tree, mapped: MapStep, sites: Sites) -> list[dict[str, Any]]:
    """Each place once: what the map step noted, and the calls of the model and of its criterion."""
    roles = dict(tree.roots)
    site_of = mapped.calls.loop_site
    found = [(stage, sites.expression(at)) for stage, around in mapped.calls.stages if (at := site_of(around)) is not None]
    for call in mapped.calls.rows:
        if call.parent >= 0 or call.in_backward or call.site is None:
            continue
        root = tree.modules[tree.number[id(call.module)]].root
        role = roles.get(root)
        if call.evaluates:
            stage = "evaluation"
        elif role == "model" or (role == "other" and parameter_bytes(tree.modules[root].module)):
            stage = "forward"
        elif role == "loss":
            stage = "loss"
        else:
            continue
        found.append((stage, sites.expression(site_of(call.around) or call.site)))
    return [{"stage": stage, "site": site.as_json()} for stage, site in dict.fromkeys(found)]


def manifest_json(r: Recording, name: str, moment: datetime) -> dict[str, Any]:
    import torch

    devices = [{"kind": "cpu", "name": cpu_name()}, *({"kind": kind, "name": n} for kind, n in accelerator_names())]
    manifest: dict[str, Any] = {
        "schema": BUNDLE_SCHEMA,
        "id": name,
        "created": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "hotlens": __version__,
        "argv": r.argv,
        "cwd": r.cwd,
        "python": {"version": ".".join(map(str, sys.version_info[:3])), "executable": sys.executable},
        "libraries": _libraries(),
        "threads": torch.get_num_threads(),
        "devices": devices,
        "step": {"by": r.boundary.by, "why": r.boundary.why},
        "samples_per_step": r.samples_per_step,
        "batch_size": r.batch_size,
        "warmup_steps": r.warmup_steps,
        "steps_asked": r.steps_asked,
        "steps_measured": len(r.profiled_ns),
        "plain_step_ns": r.plain_ns,
        "plain_step_faults": r.plain_faults,
        "plain_step_fetching_ns": r.plain_fetching,
        "page_faults": page_faults.as_json(),
        "cudnn_benchmark": r.cudnn_benchmark,
        "profiled_step_ns": r.profiled_ns,
        "map_step_ns": r.map_ns,
        "optimizers": [{"class": o.name, "state_bytes": o.state_bytes, "elsewhere_bytes": o.elsewhere_bytes} for o in r.held.optimizers],
        "stopped_early": r.stopped_early,
        "exit_code": r.exit_code,
        "error": r.error,
        "stopped_by": r.stopped_by,
        "git": _git(r.cwd),
        "warnings": r.warnings.as_list(),
        "traces": _traces(r),
    }
    if r.map_trace is not None:
        manifest["map_trace"] = "trace-map.json.gz"
    if r.mapped is not None:
        manifest["saved"] = SAVED_FILE
    if r.loop is not None:
        manifest["loop"] = "loop.json"
    if r.compiled is not None:
        manifest["compiled"] = r.compiled.as_json()
    if r.program is not None:
        manifest["program"] = PROGRAM_FILE
    return manifest


def _traces(r: Recording) -> list[dict[str, Any]]:
    """The rank that wrote the bundle first; it is the one that the map step belongs to."""
    parts = [Part(r.rank, "", r.plain_ns, r.profiled_ns), *(p for p in r.others if p.trace is not None)]
    return [
        {"file": f"trace-{p.rank}.json.gz", "rank": p.rank, "plain_step_ns": p.plain_ns, "profiled_step_ns": p.profiled_ns} for p in parts
    ]


def update_manifest(bundle: str, changes: dict[str, Any]) -> None:
    """Replaces keys of a manifest that is in place; readers see the old or the new one."""
    path = os.path.join(bundle, "manifest.json")
    with open(path, encoding="utf-8") as file:
        manifest = json.load(file)
    manifest.update(changes)
    replace(path, _json(manifest))


def _libraries() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            found[name] = str(version)
    return found


def _git(folder: str) -> dict[str, Any] | None:
    def ask(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", folder, *arguments], capture_output=True, text=True, timeout=5, stdin=subprocess.DEVNULL, check=False
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = ask("rev-parse", "HEAD")
    if not commit:
        return None
    return {"commit": commit, "dirty": bool(ask("status", "--porcelain", "--untracked-files=no"))}
