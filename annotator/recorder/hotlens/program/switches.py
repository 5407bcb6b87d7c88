"""Models that checkpoint their layers themselves: transformers' `model.activation_checkpointing_enable(…)`.

The switch is one for all: it reaches every layer of the model that is one of the package's `GradientCheckpointingLayer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_LAYER = ("transformers.modeling_layers", "GradientCheckpointingLayer")
# The older name works from 4.35 to 5; where both are there it is deprecated.
_METHODS = ("activation_checkpointing_enable", "gradient_checkpointing_enable")


def method_of(model: Any) -> str | None:
    """The name of the method that switches it on; None of a module without one."""
    if getattr(model, "supports_gradient_checkpointing", False) is not True:
        return None
    return next((name for name in _METHODS if callable(getattr(model, name, None))), None)


def is_switched(module: Any) -> bool:
    """Whether it is a layer that a switch reaches, and that is not on."""
    layer = any((cls.__module__, cls.__name__) == _LAYER for cls in type(module).__mro__)
    return layer and getattr(module, "gradient_checkpointing", None) is False


def switch_of(row: int, module_of: Callable[[int], Any], parent_of: Callable[[int], int]) -> dict[str, Any] | None:
    """`checkpoint_switch` of FORMAT.md: of the outermost module around a layer that has one."""
    if not is_switched(module_of(row)):
        return None
    found, at = None, parent_of(row)
    while at >= 0:
        method = method_of(module_of(at))
        found = {"module": at, "method": method} if method else found
        at = parent_of(at)
    return found
