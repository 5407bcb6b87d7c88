"""Training loops in the shapes that people write them, small enough to record in a moment.

Every function runs STEPS steps on a Loop. Stages are marked as a person would name them; where two names are both honest, `a|b`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from record import STEPS, Loop
from torch import nn
from torch.profiler import record_function
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

CLIPPING = "optimizer|other"


class Net(nn.Module):
    """A small classifier with a layer of each common kind."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 64)
        self.act = nn.GELU()
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.act(self.up(self.norm(x)))))


def batch(size: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and labels, made outside every step."""
    return torch.randn(size, 32), torch.randint(0, 10, (size,))


def _train_step(
    loop: Loop, model: nn.Module, criterion: Callable[..., torch.Tensor], optimizer: Any, x: torch.Tensor, y: torch.Tensor, zero: str
) -> None:
    def zero_grad() -> None:
        with loop.stage("zero_grad"):
            optimizer.zero_grad(set_to_none=False)

    if zero == "first":
        zero_grad()
    with loop.stage("forward"):
        out = model(x)
    with loop.stage("loss"):
        loss = criterion(out, y)
    if zero == "between":
        zero_grad()
    with loop.stage("backward"):
        loss.backward()
    with loop.stage("optimizer"):
        optimizer.step()
    if zero == "last":
        zero_grad()


def _plain(loop: Loop, criterion: Callable[..., torch.Tensor], zero: str = "first") -> None:
    model = Net()
    loop.watch(model)
    if isinstance(criterion, nn.Module):
        loop.watch(criterion, "criterion")
    optimizer = torch.optim.AdamW(model.parameters())
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            _train_step(loop, model, criterion, optimizer, x, y, zero)


def plain(loop: Loop) -> None:
    """Zero, forward, loss, backward, step."""
    _plain(loop, nn.CrossEntropyLoss())


def zero_grad_last(loop: Loop) -> None:
    """Gradients are zeroed after the update, with a loader that tells the steps."""
    model, data = Net(), TensorDataset(*batch(16 * STEPS))
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = iter(DataLoader(data, batch_size=16))
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("data"):
                x, y = next(loader)
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "last")


def zero_grad_between(loop: Loop) -> None:
    """Gradients are zeroed between loss and backward."""
    _plain(loop, nn.CrossEntropyLoss(), "between")


def zero_grad_absent(loop: Loop) -> None:
    """Nobody zeroes anything."""
    _plain(loop, nn.CrossEntropyLoss(), "never")


def functional_loss(loop: Loop) -> None:
    """The loss is a function."""
    _plain(loop, nn.functional.cross_entropy)


class Distance(nn.Module):
    """A criterion whose name says nothing."""

    def forward(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (out - nn.functional.one_hot(y, 10)).pow(2).mean()


def custom_loss_name(loop: Loop) -> None:
    """The criterion is a module without `loss` in its name or its operators."""
    _plain(loop, Distance())


class WithLoss(nn.Module):
    """A model that returns its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.net = Net()
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.criterion(self.net(x), y)


def loss_in_model(loop: Loop) -> None:
    """The model computes its own loss."""
    model = WithLoss()
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            optimizer.zero_grad()
            with loop.stage("forward|loss"):
                loss = model(x, y)
            with loop.stage("backward"):
                loss.backward()
            with loop.stage("optimizer"):
                optimizer.step()


def accumulation(loop: Loop) -> None:
    """Four batches to an update."""
    model, data = Net(), TensorDataset(*batch(4 * 8 * STEPS))
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = iter(DataLoader(data, batch_size=8))
    for _ in range(STEPS):
        with loop.step():
            for _ in range(4):
                with loop.stage("data"):
                    x, y = next(loader)
                with loop.stage("forward"):
                    out = model(x)
                with loop.stage("loss"):
                    loss = nn.functional.cross_entropy(out, y) / 4
                with loop.stage("backward"):
                    loss.backward()
            with loop.stage("optimizer"):
                optimizer.step()
            with loop.stage("zero_grad"):
                optimizer.zero_grad()


def gan(loop: Loop) -> None:
    """Two models and two optimizers to a batch, no loader."""
    maker = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32))
    critic = nn.Sequential(nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 1))
    loop.watch(maker, "maker")
    loop.watch(critic, "critic")
    of_maker, of_critic = torch.optim.Adam(maker.parameters()), torch.optim.Adam(critic.parameters())
    x, _ = batch()
    ones, zeros, noise = torch.ones(16, 1), torch.zeros(16, 1), torch.randn(16, 8)
    loss_of = nn.functional.binary_cross_entropy_with_logits
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("zero_grad"):
                of_critic.zero_grad(set_to_none=False)
            with loop.stage("forward"):
                fake = maker(noise)
                says, says_fake = critic(x), critic(fake.detach())
            with loop.stage("loss"):
                loss = loss_of(says, ones) + loss_of(says_fake, zeros)
            with loop.stage("backward"):
                loss.backward()
            with loop.stage("optimizer"):
                of_critic.step()
            with loop.stage("zero_grad"):
                of_maker.zero_grad(set_to_none=False)
            with loop.stage("forward"):
                says_fake = critic(fake)
            with loop.stage("loss"):
                loss = loss_of(says_fake, ones)
            with loop.stage("backward"):
                loss.backward()
            with loop.stage("optimizer"):
                of_maker.step()


def closure(loop: Loop) -> None:
    """LBFGS runs forward and backward inside its step."""
    model = Net()
    loop.watch(model)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    x, y = batch()

    def evaluate() -> torch.Tensor:
        with loop.stage("zero_grad"):
            optimizer.zero_grad()
        with loop.stage("forward"):
            out = model(x)
        with loop.stage("loss"):
            loss = nn.functional.cross_entropy(out, y)
        with loop.stage("backward"):
            loss.backward()
        return loss

    for _ in range(STEPS):
        with loop.step(), loop.stage("optimizer"):
            optimizer.step(evaluate)


def scaler_and_clipping(loop: Loop) -> None:
    """Autocast, a gradient scaler, clipping."""
    model = Net()
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("zero_grad"):
                optimizer.zero_grad()
            with loop.stage("forward"), torch.autocast("cpu", torch.bfloat16):
                out = model(x).float()
            with loop.stage("loss"):
                loss = scaler.scale(nn.functional.cross_entropy(out, y))
            with loop.stage("backward"):
                loss.backward()
            with loop.stage(CLIPPING):
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()


def inference(loop: Loop) -> None:
    """No gradients, no optimizer."""
    model = Net().eval()
    loop.watch(model)
    x, _ = batch()
    for _ in range(STEPS):
        with loop.step(), torch.inference_mode(), loop.stage("forward"):
            model(x)


def forward_in_thread(loop: Loop) -> None:
    """A worker thread runs the model, the main thread goes backward."""
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    loop.watch(model)

    def forward() -> torch.Tensor:
        with loop.stage("forward"):
            return model(x)

    with ThreadPoolExecutor(1) as pool:
        for _ in range(STEPS):
            with loop.step():
                with loop.stage("zero_grad"):
                    optimizer.zero_grad(set_to_none=False)
                out = pool.submit(forward).result()
                with loop.stage("loss"):
                    loss = nn.functional.cross_entropy(out, y)
                with loop.stage("backward"):
                    loss.backward()
                with loop.stage("optimizer"):
                    optimizer.step()


def evaluation_between(loop: Loop) -> None:
    """After every step the model is evaluated on other data; that is no part of a step."""
    model, data = Net(), TensorDataset(*batch(16 * STEPS))
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = iter(DataLoader(data, batch_size=16))
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("data"):
                x, y = next(loader)
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "first")
        with torch.no_grad():
            for x, _y in DataLoader(data, batch_size=32):
                model(x)


class Slow(IterableDataset[Any]):
    """A loader that computes in Python and hardly at all in torch."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            until = time.perf_counter() + 0.02
            while time.perf_counter() < until:
                sum(range(1000))
            yield batch()


def heavy_loader(loop: Loop) -> None:
    """Most of the step is Python in the loader."""
    model = Net()
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = iter(DataLoader(Slow(), batch_size=None))
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("data"):
                x, y = next(loader)
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "first")


class Checkpointed(nn.Module):
    """Blocks of which the middle one is recomputed."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(32, 32), Net(), nn.Linear(10, 10)
        self.reentrant = reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = checkpoint(self.middle, self.first(x), use_reentrant=self.reentrant)
        return self.last(hidden)


def _checkpointed(loop: Loop, reentrant: bool) -> None:
    model = Checkpointed(reentrant)
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "first")


def checkpoint_reentrant(loop: Loop) -> None:
    """Recomputation in a nested backward."""
    _checkpointed(loop, True)


def checkpoint_hooks(loop: Loop) -> None:
    """Recomputation by saved-tensor hooks."""
    _checkpointed(loop, False)


class Square(torch.autograd.Function):
    """A function with a backward in Python."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grads[0]


class Squared(nn.Module):
    """A model around the custom function, one layer of it called twice, its hidden gradient watched by a hook."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.square = Squaring()
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.square(self.layer(self.layer(x)))
        if hidden.requires_grad:
            hidden.register_hook(lambda grad: grad * 1.0)
        return self.head(hidden)


class Squaring(nn.Module):
    """The custom function as a module."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Square.apply(x)


def custom_function(loop: Loop) -> None:
    """A custom autograd function, a gradient hook, a module called twice."""
    model = Squared()
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "first")


def double_backward(loop: Loop) -> None:
    """A gradient penalty: backward through a backward."""
    model = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, _ = batch()
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("zero_grad"):
                optimizer.zero_grad(set_to_none=False)
            point = x.clone().requires_grad_()
            with loop.stage("forward|loss"):  # the first backward accumulates into its input alone: no parameter tells the loss apart
                out = model(point)
            with loop.stage("loss|forward"):
                total = out.sum()
            with loop.stage("backward"):
                (grad,) = torch.autograd.grad(total, point, create_graph=True)
            with loop.stage("loss|forward"):
                loss = grad.pow(2).sum()
            with loop.stage("backward"):
                loss.backward()
            with loop.stage("optimizer"):
                optimizer.step()


def backward_twice(loop: Loop) -> None:
    """Two losses go backward through one graph, one after the other."""
    model = Net()
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("zero_grad"):
                optimizer.zero_grad(set_to_none=False)
            with loop.stage("forward"):
                out = model(x)
            for _ in range(2):
                with loop.stage("loss"):
                    loss = nn.functional.cross_entropy(out, y)
                with loop.stage("backward"):
                    loss.backward(retain_graph=True)
            with loop.stage("optimizer"):
                optimizer.step()


def replicas_in_threads(loop: Loop) -> None:
    """Two threads run the model on half a batch each, as data parallelism does."""
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
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
            with loop.stage("optimizer"):
                optimizer.step()


class PlainOptimizer:
    """An optimizer that torch knows nothing of."""

    def __init__(self, parameters: list[torch.Tensor]) -> None:
        self.parameters = parameters

    @torch.no_grad()
    def step(self) -> None:
        for parameter in self.parameters:
            parameter.add_(parameter.grad, alpha=-0.1)

    @torch.no_grad()
    def zero_grad(self, set_to_none: bool = False) -> None:
        for parameter in self.parameters:
            parameter.grad = None if set_to_none else parameter.grad.zero_()


def foreign_optimizer(loop: Loop) -> None:
    """The optimizer is none of torch's, as in fastai."""
    model = Net()
    loop.watch(model)
    optimizer = PlainOptimizer(list(model.parameters()))
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "last")


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


def two_forwards(loop: Loop) -> None:
    """Sharpness-aware: step up, again, and one update."""
    model = Net()
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()

    def pass_through() -> None:
        with loop.stage("forward"):
            out = model(x)
        with loop.stage("loss"):
            loss = nn.functional.cross_entropy(out, y)
        with loop.stage("backward"):
            loss.backward()

    for _ in range(STEPS):
        with loop.step():
            pass_through()
            with loop.stage(CLIPPING), torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(parameter.grad, alpha=0.05)
            with loop.stage("zero_grad"):
                optimizer.zero_grad()
            pass_through()
            with loop.stage(CLIPPING), torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(parameter.grad, alpha=0.05)
            with loop.stage("optimizer"):
                optimizer.step()


def scripted(loop: Loop) -> None:
    """torch.jit.script."""
    model = torch.jit.script(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    for _ in range(3):
        nn.functional.cross_entropy(model(x), y).backward()  # the first calls compile
    for _ in range(STEPS):
        with loop.step():
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "first")


def compiled(loop: Loop) -> None:
    """torch.compile with a backend that needs no compiler."""
    model = torch.compile(Net(), backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    nn.functional.cross_entropy(model(x), y).backward()
    for _ in range(STEPS):
        with loop.step():
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "first")


def annotated(loop: Loop) -> None:
    """Every module call stands in a range that the person opened, as for NVTX."""
    model = Net()
    for path, module in model.named_modules():
        _open_range_around(module, path or "net")
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "first")


def _open_range_around(module: nn.Module, name: str) -> None:
    opened: list[Any] = []

    def before(_module: nn.Module, _inputs: Any) -> None:
        opened.append(record_function(name))
        opened[-1].__enter__()

    def after(_module: nn.Module, _inputs: Any, _output: Any) -> None:
        opened.pop().__exit__(None, None, None)

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)


def loader_with_workers(loop: Loop) -> None:
    """Batches come from another process."""
    model, data = Net(), TensorDataset(*batch(16 * (STEPS + 2)))
    loop.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = iter(DataLoader(data, batch_size=16, num_workers=1))
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("data"):
                x, y = next(loader)
            _train_step(loop, model, nn.functional.cross_entropy, optimizer, x, y, "first")
