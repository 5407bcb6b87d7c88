"""Hooks on saved tensors: the second way of counting what a step keeps until its backward pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch


class _Packed:
    """Lives as long as the node that has saved it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def hooked_bytes(forward: Callable[[], Any]) -> int:
    """The same seen by hooks: every storage that a node keeps when the backward pass begins, once."""
    alive: weakref.WeakSet[_Packed] = weakref.WeakSet()

    def pack(tensor: torch.Tensor) -> _Packed:
        packed = _Packed(tensor)
        alive.add(packed)
        return packed

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed.tensor):
        loss = forward()
    storages = {p.tensor.untyped_storage()._cdata: p.tensor.untyped_storage().nbytes() for p in alive}
    del loss
    return sum(storages.values())
