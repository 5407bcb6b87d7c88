"""Whether two programs are the same list of operators but for numbers: then each number is known as a function of the batch size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .program_file import NUMBERS_ALONE

NUMBER = "#"


def difference(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """The sentence for the first operator that differs; None where only numbers do."""
    operators = [list(_Comparable(program)) for program in (one, other)]
    for at, (a, b) in enumerate(zip(*operators)):
        if a != b:
            place = one["modules"][a["module"]]["path"] if 0 <= a["module"] < len(one["modules"]) else ""
            names = a["op"] if a["op"] == b["op"] else f"{a['op']} and {b['op']}"
            return f"operator {at} differs: {names}" + (f" in {place}" if place else "")
    if len(operators[0]) != len(operators[1]):
        return f"one has {len(operators[0])} operators, the other {len(operators[1])}"
    return None


class _Comparable:
    """The operators of a program with numbers left out, and tensors called by their names or by the order in which they come."""

    def __init__(self, program: dict[str, Any]) -> None:
        self.operators = program["operators"]
        self.names: dict[int, Any] = {t["id"]: f"{t['kind']} {t['name']}" for t in program["tensors"] if t["name"] is not None}
        self.unused = {t["id"] for t in program["tensors"] if t["kind"] == "other"}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._comparable(self.operators)

    def _comparable(self, operators: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for operator in operators:
            yield from self._comparable(operator.get("forward") or [])
            kept = {key: operator[key] for key in ("op", "overload", "module", "call", "stage", "grad", "autocast")}
            if operator["op"] in NUMBERS_ALONE:
                used = sorted(str(self._name(number)) for number in operator["args"] if number not in self.unused)
                if used:
                    yield {**kept, "args": used, "kwargs": operator["kwargs"]}
                continue
            kwargs = {name: self._value(value) for name, value in operator["kwargs"].items()}
            yield {**kept, "args": self._value(operator["args"]), "kwargs": kwargs, "out": self._out(operator["out"])}
            yield from self._comparable(operator.get("backward") or [])

    def _name(self, number: int) -> Any:
        return self.names.setdefault(number, len(self.names))

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            ((kind, what),) = value.items()
            return {kind: self._name(what)} if kind in ("t", "gradient") else value
        if isinstance(value, list):
            return [self._value(each) for each in value]
        return NUMBER if isinstance(value, (int, float)) and not isinstance(value, bool) else value

    def _out(self, out: Any) -> Any:
        return self._name(out) if isinstance(out, int) else [self._out(each) for each in out] if isinstance(out, list) else out


def sizes_differ(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether anything that the step gets or makes has another size."""
    inputs = [[t["shape"] for t in p["tensors"] if t["kind"] == "input"] for p in (one, other)]
    return inputs[0] != inputs[1] or [o["shapes"] for o in one["operators"]] != [o["shapes"] for o in other["operators"]]
