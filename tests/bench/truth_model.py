"""A small training script whose leaf modules wrap their own work in ranges, so that a trace of it carries the truth.

Forward: a range around every call of a leaf module. Backward: a range around every autograd node that the call created, by hooks on the
nodes. One module is called twice, one is recomputed, one's parameters are clipped; none of the ranges has a name that Hotlens knows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.profiler import record_function
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    """A feed-forward block with a residual."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.act = nn.GELU()
        self.down = nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.drop(self.down(self.act(self.up(self.norm(x)))))


class Net(nn.Module):
    """Convolution, embedding, blocks (the first one twice, the last one checkpointed) and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.project = nn.Linear(8 * 64, 64)
        self.blocks = nn.ModuleList([Block(64) for _ in range(3)])
        self.embedding = nn.Embedding(10, 64)
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.bn(self.conv(x))).flatten(1)
        hidden = self.project(hidden) + self.embedding(y)
        for block in self.blocks[:2]:
            hidden = block(hidden)
        hidden = self.blocks[0](hidden)
        hidden = checkpoint(self.blocks[2], hidden, use_reentrant=False)
        return self.head(hidden)


def range_around_node(node: Any, name: str) -> None:
    """Opens a range before an autograd node runs and closes it after."""
    open_ranges: list[Any] = []

    def before(_grads: Any) -> None:
        open_ranges.append(record_function(name))
        open_ranges[-1].__enter__()

    def after(_inputs: Any, _outputs: Any) -> None:
        open_ranges.pop().__exit__(None, None, None)

    node.register_prehook(before)
    node.register_hook(after)


def range_around_backward(path: str, inputs: Any, output: Any) -> None:
    """Ranges around the nodes between a call's output and its inputs."""
    stops = {tensor.grad_fn for tensor in inputs if isinstance(tensor, torch.Tensor)}
    todo, seen = [output.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen or node in stops or type(node).__name__ == "AccumulateGrad":
            continue
        seen.add(node)
        range_around_node(node, f"truth.backward.{path}")
        todo.extend(next_node for next_node, _ in node.next_functions)


def range_around_calls(path: str, module: nn.Module) -> None:
    """Ranges around the calls of one leaf module and what they leave for backward."""
    open_ranges: list[Any] = []

    def before(_module: nn.Module, _inputs: Any) -> None:
        open_ranges.append(record_function(f"truth.forward.{path}"))
        open_ranges[-1].__enter__()

    def after(_module: nn.Module, inputs: Any, output: Any) -> None:
        open_ranges.pop().__exit__(None, None, None)
        if output is not None and output.grad_fn is not None:
            range_around_backward(path, inputs, output)

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after, always_call=True)  # a recomputation ends by an exception


def main() -> None:
    """Sixteen steps are enough for warm-up, plain, measured and map step."""
    torch.set_num_threads(1)
    model = Net()
    for path, module in model.named_modules():
        if not list(module.children()):
            range_around_calls(path, module)
    data = torch.utils.data.TensorDataset(torch.randn(1024, 1, 8, 8), torch.randint(0, 10, (1024,)))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, y in torch.utils.data.DataLoader(data, batch_size=64):
        optimizer.zero_grad()
        loss = criterion(model(x, y), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


if __name__ == "__main__":
    main()
