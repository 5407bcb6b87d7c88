"""The Python files that Inductor generates: where they call which kernel, and their C++ kernels by name in a trace.

A generated function calls its kernels one after another, one on a line. Operators of torch name themselves in a trace; a C++ kernel does
not, so while a profiler is on it is called through a range with its name. Nothing of that stays: outside of profiled steps, the user's
compiled code is what it was.
"""

from __future__ import annotations

import ast
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable

from ..source.statements import MAX_SOURCE_BYTES

# What calls a kernel of torch's in a generated file.
EXTERN = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.")
FUNCTIONS = ("call", "partition_")
CPP = "cpp_"


@dataclass(frozen=True)
class KernelCall:
    line: int  # 1-based
    name: str  # "extern_kernels.mm", "cpp_fused_add_0"


def loaded() -> list[Any]:
    """The modules that Inductor has loaded in this process. Empty where this torch keeps them elsewhere."""
    cache = getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)
    found = getattr(cache, "modules", None)
    if isinstance(found, dict):  # torch 2.0 to 2.2, by key
        found = list(found.values())
    return list(found) if isinstance(found, list) else []


def files() -> list[str]:
    return [name for name in dict.fromkeys(getattr(m, "__file__", None) for m in loaded()) if isinstance(name, str)]


def text_of(filename: str) -> str | None:
    try:
        if os.path.getsize(filename) > MAX_SOURCE_BYTES:
            return None
        with open(filename, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None


def bare(text: str) -> list[str]:
    """A generated text without its comments: they name the nodes of the model that was compiled first, not of those that share the file."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def kernel_calls(text: str) -> list[KernelCall]:
    """In order. Raises SyntaxError."""
    tree = ast.parse(text)
    made = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and _dotted(node.value).startswith("async_compile.")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or not function.name.startswith(FUNCTIONS):
            continue
        for node in ast.walk(function):
            name = _dotted(node).removesuffix(".run") if isinstance(node, ast.Call) else ""
            if name in made or name.startswith(EXTERN):
                found.append(KernelCall(node.lineno, name))  # type: ignore[attr-defined]
    return sorted(set(found), key=lambda call: call.line)


def _dotted(node: ast.AST) -> str:
    """ "extern_kernels.mm" of a call of it, or of the name alone."""
    if isinstance(node, ast.Call):
        return _dotted(node.func)
    if isinstance(node, ast.Attribute):
        around = _dotted(node.value)
        return f"{around}.{node.attr}" if around else ""
    return node.id if isinstance(node, ast.Name) else ""


class NamedKernels:
    """C++ kernels of compiled code, in ranges of their names while this is on."""

    def __init__(self) -> None:
        self._replaced: list[tuple[dict[str, Any], str, Any]] = []

    def put(self) -> None:
        open_range = _open_range() if loaded() else None
        if open_range is None:
            return
        for module in loaded():
            space = vars(module)
            for name, kernel in list(space.items()):
                if name.startswith(CPP) and callable(kernel):
                    self._replaced.append((space, name, kernel))
                    space[name] = _named(kernel, name, open_range)

    def take_back(self) -> None:
        for space, name, kernel in reversed(self._replaced):
            space[name] = kernel
        self._replaced.clear()


def _open_range() -> Callable[[str], Any] | None:
    """The range that costs least (torch 2.1 and newer), an operator in the trace."""
    import torch

    return getattr(getattr(torch._C, "_profiler", None), "_RecordFunctionFast", None)


def _named(kernel: Callable[..., Any], name: str, open_range: Callable[[str], Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        with open_range(name):
            return kernel(*args)

    return run
