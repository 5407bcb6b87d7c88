"""Loops that do unusual things to autograd, threads, optimizers or the model itself; marked as in shapes.py."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from models import Checkpointed, Net, PlainOptimizer, Squared, batch
from record import STEPS, Loop
from torch import nn
from torch.profiler import record_function
from training import sgd, train, update, zero_grad


def forward_in_thread(loop: Loop) -> None:
    """A worker thread runs the model, the main thread goes backward."""
    model = Net()
    optimizer = sgd(model)
    x, y = batch()
    loop.watch(model)

    def forward() -> torch.Tensor:
        with loop.stage("forward"):
            return model(x)

    with ThreadPoolExecutor(1) as pool:
        for _ in range(STEPS):
            with loop.step():
                zero_grad(loop, optimizer)
                out = pool.submit(forward).result()
                with loop.stage("loss"):
                    loss = nn.functional.cross_entropy(out, y)
                with loop.stage("backward"):
                    loss.backward()
                update(loop, optimizer)


def checkpoint_reentrant(loop: Loop) -> None:
    """Recomputation in a nested backward."""
    train(loop, Checkpointed(reentrant=True))


def checkpoint_hooks(loop: Loop) -> None:
    """Recomputation by saved-tensor hooks."""
    train(loop, Checkpointed(reentrant=False))


def custom_function(loop: Loop) -> None:
    """A custom autograd function, a gradient hook, a module called twice."""
    train(loop, Squared())


def double_backward(loop: Loop) -> None:
    """A gradient penalty: backward through a backward."""
    model = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = sgd(model)
    x, _ = batch()
    for _ in range(STEPS):
        with loop.step():
            zero_grad(loop, optimizer)
            point = x.clone().requires_grad_()
            with loop.stage("forward"):
                out = model(point)
            with loop.stage("loss"):
                total = out.sum()
            with loop.stage("backward"):
                (grad,) = torch.autograd.grad(total, point, create_graph=True)
            with loop.stage("loss"):
                loss = grad.pow(2).sum()
            with loop.stage("backward"):
                loss.backward()
            update(loop, optimizer)


def backward_twice(loop: Loop) -> None:
    """Two losses go backward through one graph, one after the other."""
    model = Net()
    loop.watch(model)
    optimizer = sgd(model)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            zero_grad(loop, optimizer)
            with loop.stage("forward"):
                out = model(x)
            for _ in range(2):
                with loop.stage("loss"):
                    loss = nn.functional.cross_entropy(out, y)
                with loop.stage("backward"):
                    loss.backward(retain_graph=True)
            update(loop, optimizer)


def replicas_in_threads(loop: Loop) -> None:
    """Two threads run the model on half a batch each, as data parallelism does."""
    model = Net()
    optimizer = sgd(model)
    x, y = batch()
    loop.watch(model)

    def forward(part: torch.Tensor, outputs: list[Any], place: int) -> None:
        with loop.stage("forward"):
            outputs[place] = model(part)

    for _ in range(STEPS):
        with loop.step():
            outputs: list[Any] = [None, None]
            threads = [threading.Thread(target=forward, args=(part, outputs, i)) for i, part in enumerate(x.chunk(2))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            out = torch.cat(outputs)
            with loop.stage("loss"):
                loss = nn.functional.cross_entropy(out, y)
            with loop.stage("backward"):
                loss.backward()
            update(loop, optimizer)


def foreign_optimizer(loop: Loop) -> None:
    """The optimizer is none of torch's, as in fastai."""
    model = Net()
    train(loop, model, optimizer=PlainOptimizer(list(model.parameters())), zero="last")


def update_by_hand(loop: Loop) -> None:
    """Gradients from torch.autograd.grad, the update written out."""
    model = Net()
    parameters = list(model.parameters())
    x, y = batch()
    loop.watch(model)
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("forward"):
                out = model(x)
            with loop.stage("loss"):
                loss = nn.functional.cross_entropy(out, y)
            with loop.stage("backward"):
                grads = torch.autograd.grad(loss, parameters)
            with loop.stage("optimizer"), torch.no_grad():
                for parameter, grad in zip(parameters, grads, strict=True):
                    parameter -= 0.1 * grad


def optimizer_in_hooks(loop: Loop) -> None:
    """Every parameter is updated as soon as its gradient is there."""
    model = Net()
    loop.watch(model)
    optimizers = {parameter: torch.optim.SGD([parameter], lr=0.1) for parameter in model.parameters()}

    def update(parameter: torch.Tensor) -> None:
        with loop.stage("optimizer"):
            optimizers[parameter].step()
        with loop.stage("zero_grad"):
            optimizers[parameter].zero_grad(set_to_none=False)

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("forward"):
                out = model(x)
            with loop.stage("loss"):
                loss = nn.functional.cross_entropy(out, y)
            with loop.stage("backward"):
                loss.backward()


def scripted(loop: Loop) -> None:
    """torch.jit.script."""
    model = torch.jit.script(Net())
    x, y = batch()
    for _ in range(3):
        nn.functional.cross_entropy(model(x), y).backward()  # the first calls compile
    train(loop, model)


def compiled(loop: Loop) -> None:
    """torch.compile with a backend that needs no compiler."""
    model = torch.compile(Net(), backend="aot_eager")
    x, y = batch()
    nn.functional.cross_entropy(model(x), y).backward()
    train(loop, model)


def annotated(loop: Loop) -> None:
    """Every module call stands in a range that the person opened, as for NVTX."""
    model = Net()
    for path, module in model.named_modules():
        _open_range_around(module, path or "net")
    train(loop, model)


def _open_range_around(module: nn.Module, name: str) -> None:
    opened: list[Any] = []

    def before(_module: nn.Module, _inputs: Any) -> None:
        opened.append(record_function(name))
        opened[-1].__enter__()

    def after(_module: nn.Module, _inputs: Any, _output: Any) -> None:
        opened.pop().__exit__(None, None, None)

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)
