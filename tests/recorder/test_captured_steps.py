"""A step that is captured in a CUDA graph is none; each replay of the graph is. A graph that nothing stepped in makes no step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hotlens.listening.optimizers import Optimizers
from hotlens.listening.patches import Patches


class Graph:
    """What torch's is where there is no GPU to capture on."""

    def capture_begin(self, begins: bool = True) -> None:
        if not begins:
            raise RuntimeError("no pool")

    def capture_end(self) -> None: ...
    def replay(self) -> None: ...


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    told: list[int] = []
    patches = Patches()
    optimizers = Optimizers(patches, told.append, lambda number: None, lambda: None)
    optimizers.watch_steps(None)
    yield told
    patches.take_back()
    optimizers.forget_steps()


def step_of(layer: torch.nn.Module) -> torch.optim.Optimizer:
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for parameter in layer.parameters():
        parameter.grad = torch.ones_like(parameter)
    return optimizer


def test_each_replay_is_a_step_and_the_capture_is_none(stepped: list[int]) -> None:
    optimizer, graph, forward_alone = step_of(torch.nn.Linear(2, 2)), Graph(), Graph()
    optimizer.step()
    forward_alone.capture_begin()
    forward_alone.capture_end()
    graph.capture_begin()
    optimizer.step()
    graph.capture_end()
    assert len(stepped) == 1
    for _ in range(3):
        forward_alone.replay()
        graph.replay()
    assert stepped == [stepped[0]] * 4
    optimizer.step()
    assert len(stepped) == 5


def test_a_capture_that_does_not_begin_hides_no_step(stepped: list[int]) -> None:
    optimizer = step_of(torch.nn.Linear(2, 2))
    with pytest.raises(RuntimeError):
        Graph().capture_begin(begins=False)
    optimizer.step()
    assert len(stepped) == 1
