"""Records a bare trace of a model and, by other means than Hotlens, the line on which each of its modules was made.

    record.py MODULE OUT FACTORY…      MODULE.FACTORY() -> (model, run); run(model) is one forward that gives a loss

Truth: the frames that stood on the stack when a module was given its name (a subclass of nothing of ours: nn.Module's own methods are
wrapped while the factory runs). A named child belongs to the statement that names it, an entry of a container to the expressions that led
to its constructor. Writes OUT/FACTORY/trace.json and …/truth.json: {frame name: {"path", "leaf", "lines": [[file, line], …]}}, lines
1-based; and …/files.json: the files of all classes, where a wrong line may be.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

TORCH = str(Path(torch.__file__).parent)
Lines = list[tuple[str, int]]


def user_frames(frame: FrameType | None) -> list[FrameType]:
    found = []
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((TORCH, "<")) and name != __file__:
            found.append(frame)
        frame = frame.f_back
    return found


def span(frame: FrameType) -> tuple[int, int]:
    """The first and last line of the expression that a frame stands at."""
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    return positions[0] or frame.f_lineno, positions[1] or frame.f_lineno


class Truth:
    def __init__(self) -> None:
        self.made: dict[int, list[tuple[str, int]]] = {}
        self.named: dict[tuple[int, str], list[tuple[str, int]]] = {}
        self.keep: list[Any] = []

    def capture(self, factory: Any) -> Any:
        original = {name: nn.Module.__dict__[name] for name in ("__init__", "__setattr__", "add_module")}

        def init(module: nn.Module, *args: Any, **kwargs: Any) -> None:
            self.keep.append(module)
            frames = [f for f in user_frames(sys._getframe(1)) if f.f_locals.get("self") is not module]
            self.made.setdefault(id(module), [(f.f_code.co_filename, line) for f in frames for line in span(f)])
            original["__init__"](module, *args, **kwargs)

        def naming(how: str) -> Any:
            def name_it(module: nn.Module, name: str, value: Any) -> None:
                frames = user_frames(sys._getframe(1))
                if isinstance(value, nn.Module) and frames:
                    first, last = span(frames[0])
                    self.named[id(module), name] = [(frames[0].f_code.co_filename, line) for line in (first, last)]
                original[how](module, name, value)

            return name_it

        nn.Module.__init__ = init  # type: ignore[method-assign]
        nn.Module.__setattr__, nn.Module.add_module = naming("__setattr__"), naming("add_module")  # type: ignore[method-assign]
        try:
            return factory()
        finally:
            for name, method in original.items():
                setattr(nn.Module, name, method)

    def lines(self, parent: nn.Module, name: str, child: nn.Module) -> Lines:
        named = self.named.get((id(parent), name), [])
        return self.made.get(id(child), named) if name.isdigit() else named


def files_of_classes(model: nn.Module) -> list[str]:
    classes = {cls for module in model.modules() for cls in type(module).__mro__}
    files = {getattr(sys.modules.get(cls.__module__), "__file__", None) for cls in classes}
    return sorted(file for file in files if file and not file.startswith(TORCH))


def record(factory: Any, out: Path) -> None:
    truth = Truth()
    model, run = truth.capture(factory)
    run(model)
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as profiler:
        run(model).backward()
        profiler.step()
    out.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(out / "trace.json"))

    path_of = {id(m): path for path, m in reversed(list(model.named_modules()))}
    by_path = dict(model.named_modules(remove_duplicate=False))
    rows: dict[str, dict[str, Any]] = {}
    todo = list(profiler.profiler.kineto_results.experimental_event_tree())
    while todo:
        event = todo.pop()
        todo.extend(event.children)
        if not event.name.startswith("nn.Module: "):
            continue
        path = path_of.get(event.extra_fields.module.self_ptr)
        if path:
            holder, _, name = path.rpartition(".")
            child = by_path[path]
            lines = truth.lines(by_path[holder], name, child)
            leaf = next(child.children(), None) is None
            rows[event.name.removeprefix("nn.Module: ")] = {"path": path, "leaf": leaf, "lines": sorted(set(lines))}
    (out / "files.json").write_text(json.dumps(files_of_classes(model)))
    (out / "truth.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    factories = importlib.import_module(sys.argv[1])
    for name in sys.argv[3:]:
        record(getattr(factories, name), Path(sys.argv[2]) / name)
