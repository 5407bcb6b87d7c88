"""Runs a recorded program again, without the script: `python replay.py program.json.gz` prints what the allocator held, as JSON.

The check of what the recorder writes: tensors are made from the list with other values, every operator is called by its name with the
recorded arguments, autograd makes the backward pass, and what the script had let go is let go. Memory is counted from before the first
tensor.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import checkpoint

START = "replay.start"


class Replay:
    def __init__(self, program: dict[str, Any]) -> None:
        self.program = program
        self.tensors: dict[int, torch.Tensor] = {}
        self.storages: dict[int, torch.UntypedStorage] = {}
        self.later = {n for o in program["operators"] if o["op"] == "hotlens::input" for n in o["args"]}
        self.rows = {row["id"]: row for row in program["tensors"]}

    def prepare(self) -> None:
        rows = [row for row in self.program["tensors"] if row["id"] not in self.later]
        for row in rows:
            self.tensors[row["id"]] = self.made(row)
        parameters = {row["name"]: self.tensors[row["id"]] for row in rows if row["kind"] == "parameter"}
        for row in rows:
            if row["kind"] == "gradient":
                parameters[row["name"]].grad = self.tensors.pop(row["id"])
        self.storages.clear()

    def made(self, row: dict[str, Any]) -> torch.Tensor:
        number = row["storage"]
        if number not in self.storages:
            self.storages[number] = torch.UntypedStorage(row["storage_bytes"], device=row["device"])
        tensor = torch.empty(0, dtype=getattr(torch, row["dtype"]), device=row["device"])
        tensor.set_(self.storages[number], row["offset"], row["shape"], row["stride"])
        fill(tensor, row)
        return tensor.requires_grad_(row["requires_grad"])

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if not isinstance(value, dict):
            return value
        ((kind, what),) = value.items()
        if kind == "t":
            return self.tensors[what]
        if kind == "gradient":
            return self.tensors[what].grad
        if kind in ("dtype", "layout", "memory_format"):
            return getattr(torch, what)
        special = {"device": torch.device, "generator": lambda _: None, "complex": lambda c: complex(*c)}
        special |= {"inf": lambda sign: sign * float("inf"), "nan": lambda _: float("nan")}
        return special[kind](what)

    def keep(self, numbers: Any, result: Any) -> None:
        if isinstance(numbers, int):
            self.tensors[numbers] = result
        elif isinstance(numbers, list):
            for number, each in zip(numbers, result, strict=True):
                self.keep(number, each)

    def run(self) -> None:
        self.run_all(self.program["operators"], self.run_one)

    def run_all(self, operators: list[dict[str, Any]], run_one: Callable[[dict[str, Any]], None]) -> None:
        rest = iter(operators)
        for operator in rest:
            if operator["op"] == "hotlens::block":
                self.block([each["t"] for each in operator["kwargs"]["inputs"]], list(within_block(rest)), run_one)
            else:
                run_one(operator)

    def run_one(self, operator: dict[str, Any]) -> None:
        try:
            self.step(operator)
        except Exception as error:
            raise RuntimeError(f"{operator}: {error}") from error

    def block(self, inputs: list[int], operators: list[dict[str, Any]], run_one: Callable[[dict[str, Any]], None]) -> None:
        """As torch.utils.checkpoint runs them: with nothing kept but what is here now, and of that the inputs by autograd."""
        taken = {number for o in operators for number in numbers([o["args"], list(o["kwargs"].values())])}
        given = {number: self.tensors[number] for number in taken - set(inputs) if number in self.tensors}
        first = True

        def run(*tensors: torch.Tensor) -> None:
            nonlocal first
            if first:
                first = False
                return self.run_all(operators, run_one)
            whole, self.tensors = self.tensors, {**given, **dict(zip(inputs, tensors, strict=True))}
            try:
                self.run_all(operators, self.step_again)
            finally:
                self.tensors = whole

        checkpoint.checkpoint(run, *[self.tensors[number] for number in inputs], use_reentrant=False)

    def step_again(self, operator: dict[str, Any]) -> None:
        """An exception may be how checkpoint ends it."""
        if operator["op"] == "hotlens::free":
            operator = {**operator, "args": [number for number in operator["args"] if number in self.tensors]}
        self.step(operator)

    def function(self, operator: dict[str, Any]) -> None:
        """One that autograd makes a node for, whose backward pass is a list as well."""
        taken = held_for_backward(operator)

        class Applied(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *_: Any) -> Any:
                given = self.run_pass(operator["forward"], ctx, [])
                ctx.kept = {number: self.tensors[number] for number in taken}
                return tuple(given)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                whole, self.tensors = self.tensors, dict(ctx.kept)
                try:
                    return tuple(self.run_pass(operator["backward"], ctx, gradients))
                finally:
                    self.tensors = whole

        results = Applied.apply(*self.value(operator["args"]))
        self.keep(operator["out"][: len(results)], results)  # the rest is what its forward pass leaves

    def run_pass(self, operators: list[dict[str, Any]], ctx: Any, gradients: Any) -> Any:
        given = None
        for operator in operators:
            name = operator["op"].removeprefix("hotlens::")
            if name == "received":
                self.keep(operator["out"], gradients)
            elif name == "saved":
                self.keep(operator["out"], ctx.saved_tensors)
            elif name == "save":
                ctx.save_for_backward(*self.value(operator["args"]))
            elif name == "returned":
                given = self.value(operator["args"])
            else:
                self.step(operator)
        return given

    def step(self, operator: dict[str, Any]) -> None:
        name, args = operator["op"], operator["args"]
        if name == "hotlens::function":
            return self.function(operator)
        if name == "hotlens::free":
            for number in args:
                del self.tensors[number]
        elif name == "hotlens::clear_gradient":
            for number in args:
                self.tensors[number].grad = None
        elif name == "hotlens::input":
            for number in args:
                self.tensors[number] = self.made(self.rows[number])
            self.storages.clear()
        elif name == "hotlens::requires_grad":
            for number in args:
                self.tensors[number].requires_grad_(operator["kwargs"]["value"])
        elif name == "hotlens::clear_autocast_cache":
            torch.clear_autocast_cache()
        elif name == "hotlens::backward":
            self.set_autocast(operator["autocast"])
            torch.autograd.backward(*self.value(args), **self.value_of(operator["kwargs"]))
        elif name == "hotlens::grad":
            roots, seeds, inputs = self.value(args)
            self.keep(operator["out"], torch.autograd.grad(roots, inputs, seeds, allow_unused=True, **self.value_of(operator["kwargs"])))
        else:
            self.call(operator)

    def value_of(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {name: self.value(value) for name, value in kwargs.items()}

    def set_autocast(self, dtype: str | None) -> None:
        kind = self.program["device"].partition(":")[0]
        torch.set_autocast_enabled(kind, dtype is not None)
        if dtype is not None:
            torch.set_autocast_dtype(kind, getattr(torch, dtype))

    def call(self, operator: dict[str, Any]) -> None:
        space, _, name = operator["op"].partition("::")
        function = getattr(getattr(getattr(torch.ops, space), name), operator["overload"] or "default")
        self.set_autocast(operator["autocast"])
        with torch.set_grad_enabled(operator["grad"]):
            result = function(*self.value(operator["args"]), **self.value_of(operator["kwargs"]))
        assert shapes(result) == operator["shapes"], f"{shapes(result)} is not {operator['shapes']}"
        self.keep(operator["out"], result)


def within_block(operators: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Up to the end of the block that has begun."""
    inside = 1
    for operator in operators:
        inside += {"hotlens::block": 1, "hotlens::block_end": -1}.get(operator["op"], 0)
        if inside == 0:
            return
        yield operator


def held_for_backward(operator: dict[str, Any]) -> set[int]:
    """Tensors that its backward pass reads and nothing in it makes."""
    made: set[int] = set()
    held: set[int] = set()
    for each in operator["backward"] or []:
        held.update(number for number in numbers(each["args"]) if number not in made)
        held.update(number for number in numbers(list(each["kwargs"].values())) if number not in made)
        made.update(out_numbers(each["out"]))
    return held


def out_numbers(out: Any) -> Iterator[int]:
    if isinstance(out, int):
        yield out
    for each in out if isinstance(out, list) else []:
        yield from out_numbers(each)


def numbers(value: Any) -> Iterator[int]:
    """Of the tensors that arguments name."""
    if isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, dict) and "t" in value:
        yield value["t"]


def fill(tensor: torch.Tensor, row: dict[str, Any]) -> None:
    if "value" in row:
        tensor.fill_(row["value"])
    elif tensor.is_floating_point():
        least, most = row.get("min", 0.0), row.get("max", 0.02)
        tensor.uniform_(least, most) if least < most else tensor.fill_(least)
    elif "min" in row:
        tensor.random_(int(row["min"]), int(row["max"]) + 1)
    else:
        tensor.zero_()


def shapes(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return list(result.shape)
    return [shapes(each) for each in result] if isinstance(result, (list, tuple)) else None


def held(path: Path) -> dict[str, int]:
    """Bytes held when all tensors of the list are there, and the most that were held after that, by the profiler's memory events."""
    with path.open("rb") as file:
        events = json.load(file)["traceEvents"]
    start = next(e["ts"] for e in events if e.get("name") == START)
    moments = sorted((e for e in events if e.get("name") == "[memory]"), key=lambda e: e["ts"])
    blocks: dict[int, int] = {}
    at_start = now = peak = 0
    for moment in moments:
        size, address = moment["args"]["Bytes"], moment["args"]["Addr"]
        now += size if size > 0 else -blocks.pop(address, 0)
        if size > 0:
            blocks[address] = size
        if moment["ts"] < start:
            at_start = peak = now
        peak = max(peak, now)
    return {"start_bytes": at_start, "peak_bytes": peak}


def replay(program: dict[str, Any]) -> dict[str, int]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    again = Replay(program)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        again.prepare()
        with torch.profiler.record_function(START):
            pass
        again.run()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return held(path)


if __name__ == "__main__":
    with gzip.open(sys.argv[1]) as file:
        print(json.dumps(replay(json.load(file))))
