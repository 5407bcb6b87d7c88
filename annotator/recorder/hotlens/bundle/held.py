"""What a training holds beside its parameters between two steps: gradients and the state of optimizers. Sizes only; no tensor is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Nested so deep, a state is no container of tensors but an object graph of somebody's.
DEEPEST = 4


@dataclass(frozen=True)
class OptimizerState:
    name: str  # class
    state_bytes: int  # all of its state, on whatever device
    elsewhere_bytes: int  # of it on the parameters' device, but of no single parameter


@dataclass(frozen=True)
class Held:
    """Bytes by `id` of a parameter, each tensor once. A parameter that no optimizer has is in neither table."""

    optimizers: list[OptimizerState] = field(default_factory=list)
    state: dict[int, int] = field(default_factory=dict)
    gradients: dict[int, int] = field(default_factory=dict)


def look(optimizers: Iterable[Any]) -> Held:
    """Only what lies on the device of its parameter belongs to it: state that is kept on the host takes nothing of the device's memory."""
    held = Held()
    seen: set[int] = set()
    for optimizer in optimizers:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        shared = _is_shared(optimizer, parameters)
        whole = elsewhere = 0
        for parameter in parameters:
            here = 0
            for tensor in _tensors(optimizer.state.get(parameter), DEEPEST):
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    whole += _bytes(tensor)
                    here += _bytes(tensor) if tensor.device == parameter.device else 0
            elsewhere += here if shared else 0
            held.state[id(parameter)] = held.state.get(id(parameter), 0) + (0 if shared else here)
            if parameter.grad is not None and not parameter.grad.is_sparse:
                held.gradients[id(parameter)] = _bytes(parameter.grad)
        held.optimizers.append(OptimizerState(type(optimizer).__name__, whole, elsewhere))
    return held


def _is_shared(optimizer: Any, parameters: list[Any]) -> bool:
    """One state for several parameters (LBFGS keeps it with the first) is of none of them."""
    trained = [p for p in parameters if p.requires_grad]
    return len(trained) > 1 and sum(bool(optimizer.state.get(p)) for p in trained) == 1


def _tensors(value: Any, depth: int) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif depth > 0 and isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _tensors(each, depth - 1)


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())
