"""What gradients and optimizers hold, of optimizers that exist: no script is run."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from hotlens.bundle.held import look

SIZE = 4 * (6 + 2)  # bytes of Linear(3, 2)


def stepped(kind: Any, layer: Any, **options: Any) -> Any:
    optimizer = kind(layer.parameters(), **options)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = layer(torch.ones(4, 3)).square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return optimizer


@pytest.mark.parametrize(
    ("kind", "options", "state"),
    [
        (torch.optim.SGD, {"lr": 0.1}, 0),
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}, SIZE),
        (torch.optim.AdamW, {"lr": 0.1}, 2 * SIZE + 2 * 4),
        (torch.optim.Adam, {"lr": 0.1, "amsgrad": True}, 3 * SIZE + 2 * 4),
    ],
)
def test_state_belongs_to_its_parameter(kind: Any, options: dict[str, Any], state: int) -> None:
    layer = torch.nn.Linear(3, 2)
    held = look([stepped(kind, layer, **options)])
    assert sum(held.state.values()) == state and set(held.state) == {id(p) for p in layer.parameters()}
    assert sum(held.gradients.values()) == SIZE
    assert [(o.name, o.state_bytes, o.elsewhere_bytes) for o in held.optimizers] == [(kind.__name__, state, 0)]


def test_one_state_for_all_parameters_is_of_none() -> None:
    layer = torch.nn.Linear(3, 2)
    held = look([stepped(torch.optim.LBFGS, layer)])
    assert set(held.state.values()) == {0}
    assert held.optimizers[0].elsewhere_bytes == held.optimizers[0].state_bytes > SIZE


def test_each_tensor_counts_once_and_a_parameter_without_optimizer_is_unknown() -> None:
    layer, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    optimizer = stepped(torch.optim.SGD, layer, lr=0.1, momentum=0.9)
    held = look([optimizer, optimizer])
    assert sum(held.state.values()) == SIZE
    assert not {id(p) for p in other.parameters()} & (held.state.keys() | held.gradients.keys())


def test_nothing_is_kept() -> None:
    layer = torch.nn.Linear(3, 2)
    optimizer = stepped(torch.optim.Adam, layer)
    held = look([optimizer])
    tensors = [weakref.ref(t) for state in optimizer.state.values() for t in state.values()]
    del layer, optimizer
    gc.collect()
    assert held.state and all(t() is None for t in tensors)
