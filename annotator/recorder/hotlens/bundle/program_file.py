"""`program.json.gz` of `../FORMAT.md`: a program with names for its modules and tensors, and numbers without gaps."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import Any

from ..map_step.tree import Tree
from ..program.allocator import Memory
from ..program.program import INPUT, Operator, Program, every, numbers_in
from ..program.tensors import Known

PROGRAM_FILE = "program.json.gz"
FORMAT = 1
LARGEST_BYTES = 5_000_000  # of the file
TOO_LARGE = "its program would be larger than 5 MB"
LONGEST_TEXT = 200  # of an attribute
# Special operators whose arguments are numbers of tensors.
NUMBERS_ALONE = ("hotlens::free", "hotlens::clear_gradient", INPUT, "hotlens::requires_grad", "hotlens::block_end")
# Classes of torch.nn that are not a layer themselves.
CONTAINERS = ("torch.nn.modules.module", "torch.nn.modules.container")


def compressed(program: dict[str, Any]) -> bytes:
    """At most LARGEST_BYTES: a larger program leaves its facts and the reason."""
    data = _gzip(program)
    if len(data) > LARGEST_BYTES:
        data = _gzip({**program, "refused": TOO_LARGE, "modules": [], "tensors": [], "operators": []})
    return data


def _gzip(value: Any) -> bytes:
    return gzip.compress((json.dumps(value, separators=(",", ":")) + "\n").encode(), mtime=0)


def as_json(program: Program, memory: Memory | None, tree: Tree, batch_size: int | None, faults: int | None) -> dict[str, Any]:
    import torch

    refused = program.refused is not None
    numbers = _numbers(program)
    kept = [] if refused else program.operators
    return {
        "format": FORMAT,
        "torch": str(torch.__version__),
        "threads": program.threads,
        "device": program.device,
        "device_memory_bytes": _device_memory(program.device),
        "batch_size": batch_size,
        "allocator": {"start_bytes": memory.start_bytes, "peak_bytes": memory.peak_bytes} if memory is not None and not refused else None,
        "minor_faults": faults,
        "refused": program.refused,
        "modules": [] if refused else [_module(row.module, row.path) for row in tree.modules],
        "tensors": [] if refused else _tensors(program, tree, numbers),
        "operators": [_operator(o, tree, numbers) for o in kept],
    }


def _device_memory(device: str) -> int | None:
    import torch

    return int(torch.cuda.get_device_properties(device).total_memory) if device.startswith("cuda") else None


def _numbers(program: Program) -> dict[int, int]:
    """Of a tensor in the file, by the one in the step: those of the list first, then those that operators make, in order."""
    numbers: dict[int, int] = {}
    for known in program.tensors:
        numbers[known.number] = len(numbers)
    for operator in every(program.operators):
        for made in numbers_in(operator.out):
            numbers.setdefault(made, len(numbers))
    return numbers


# -- modules


def _module(module: Any, path: str) -> dict[str, Any]:
    return {"path": path, "class": type(module).__name__, "attributes": _attributes(module)}


def _attributes(module: Any) -> dict[str, Any]:
    """The numbers, switches and words that torch.nn's own layers are made with."""
    layer = any(cls.__module__.startswith("torch.nn.modules.") and cls.__module__ not in CONTAINERS for cls in type(module).__mro__)
    if not layer:
        return {}
    return {name: value for name, value in vars(module).items() if not name.startswith("_") and name != "training" and _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) <= LONGEST_TEXT and all(_is_plain(each) for each in value)
    if isinstance(value, float):
        return value == value and abs(value) != float("inf")
    return value is None or isinstance(value, (bool, int)) or (isinstance(value, str) and len(value) <= LONGEST_TEXT)


# -- tensors


def _tensors(program: Program, tree: Tree, numbers: dict[int, int]) -> list[dict[str, Any]]:
    names = _parameter_names(program, tree)
    storages: dict[int, int] = {}
    rows = []
    for known in program.tensors:
        kind, name = _kind_and_name(known, names, tree)
        storage = storages.setdefault(known.storage, len(storages))
        rows.append({"id": numbers[known.number], "kind": kind, "name": name, "storage": storage, **known.facts})
    return rows


def _parameter_names(program: Program, tree: Tree) -> dict[int, str]:
    """By identity, each its own: a copy of a model, as its running average, that the step does not call has the same names beside."""
    names: dict[int, str] = {}
    taken: Counter[str] = Counter()
    called_first = sorted(program.parameters.items(), key=lambda item: id(item[1].owner) not in tree.number)
    for identity, role in called_first:
        name = _full_name(role.owner, role.name, tree)
        taken[name] += 1
        names[identity] = name if taken[name] == 1 else f"{name}#{taken[name]}"
    return names


def _kind_and_name(known: Known, names: dict[int, str], tree: Tree) -> tuple[str, str | None]:
    if known.gradient_of is not None:
        return "gradient", _kind_and_name(known.gradient_of, names, tree)[1]
    role = known.role
    if role is None:
        return ("input" if known.used else "other"), None
    if role.kind == "state":
        return "state", f"{role.name} of {names.get(role.parameter, 'a parameter that is gone')}"
    if role.kind == "parameter":
        return role.kind, names[role.parameter]
    return role.kind, _full_name(role.owner, role.name, tree)


def _full_name(module: Any, name: str, tree: Tree) -> str:
    row = tree.number.get(id(module)) if module is not None else None
    path = tree.modules[row].path if row is not None else ""
    return f"{path}.{name}" if path else name


# -- operators


def _operator(operator: Operator, tree: Tree, numbers: dict[int, int]) -> dict[str, Any]:
    row = {
        "op": operator.op,
        "overload": operator.overload,
        "args": _args(operator, numbers),
        "kwargs": {name: _value(value, numbers) for name, value in operator.kwargs.items()},
        "out": _out(operator.out, numbers),
        "shapes": operator.shapes,
        "module": tree.number.get(id(operator.module), -1) if operator.module is not None else -1,
        "call": operator.call,
        "stage": operator.stage,
        "grad": operator.grad,
        "autocast": operator.autocast,
    }
    if operator.line is not None:
        row["line"] = operator.line
    if operator.last_named:
        row["last_named"] = [numbers[number] for number in operator.last_named]
    if operator.forward is not None:
        row["forward"] = [_operator(o, tree, numbers) for o in operator.forward]
        row["backward"] = None if operator.backward is None else [_operator(o, tree, numbers) for o in operator.backward]
    return row


def _args(operator: Operator, numbers: dict[int, int]) -> list[Any]:
    if operator.op in NUMBERS_ALONE:
        return [numbers[number] for number in operator.args]
    return [_value(value, numbers) for value in operator.args]


def _value(value: Any, numbers: dict[int, int]) -> Any:
    if isinstance(value, dict):
        return {kind: numbers[each] if kind in ("t", "gradient") else each for kind, each in value.items()}
    return [_value(each, numbers) for each in value] if isinstance(value, list) else value


def _out(out: Any, numbers: dict[int, int]) -> Any:
    if isinstance(out, int):
        return numbers[out]
    return [_out(each, numbers) for each in out] if isinstance(out, list) else None
