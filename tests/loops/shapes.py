"""Training loops in the shapes that people write them, small enough to record in a moment.

Every function runs STEPS steps on a Loop. Stages are marked as a person would name them; where two names are both honest, `a|b`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from models import Checkpointed, Distance, Net, PlainOptimizer, Slow, Squared, WithLoss, batch
from record import STEPS, Loop
from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

CLIPPING = "optimizer|other"
Criterion = Callable[..., torch.Tensor]


def _sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1)


def _loader(size: int = 16, batches: int = STEPS, **options: Any) -> Iterator[Any]:
    return iter(DataLoader(TensorDataset(*batch(size * batches)), batch_size=size, **options))


def _next(loop: Loop, loader: Iterator[Any]) -> Any:
    with loop.stage("data"):
        return next(loader)


def _zero_grad(loop: Loop, optimizer: Any) -> None:
    with loop.stage("zero_grad"):
        optimizer.zero_grad(set_to_none=False)


def _update(loop: Loop, optimizer: Any) -> None:
    with loop.stage("optimizer"):
        optimizer.step()


def _pass(loop: Loop, forward: Callable[[], torch.Tensor], criterion: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Forward, loss, backward."""
    with loop.stage("forward"):
        out = forward()
    with loop.stage("loss"):
        loss = criterion(out)
    with loop.stage("backward"):
        loss.backward()


def _step(loop: Loop, model: nn.Module, criterion: Criterion, optimizer: Any, x: torch.Tensor, y: torch.Tensor, zero: str) -> None:
    """One step; `zero`: where gradients are zeroed."""
    if zero == "first":
        _zero_grad(loop, optimizer)
    with loop.stage("forward"):
        out = model(x)
    with loop.stage("loss"):
        loss = criterion(out, y)
    if zero == "between":
        _zero_grad(loop, optimizer)
    with loop.stage("backward"):
        loss.backward()
    _update(loop, optimizer)
    if zero == "last":
        _zero_grad(loop, optimizer)


def _train(
    loop: Loop,
    model: nn.Module | None = None,
    criterion: Criterion = nn.functional.cross_entropy,
    *,
    optimizer: Any = None,
    zero: str = "first",
    loader: Iterator[Any] | None = None,
    after: Callable[[nn.Module], None] = lambda model: None,
) -> None:
    """Steps over one batch, or over those of a loader; `after`: what runs between two steps."""
    model = Net() if model is None else model
    loop.watch(model)
    if isinstance(criterion, nn.Module):
        loop.watch(criterion, "criterion")
    optimizer = _sgd(model) if optimizer is None else optimizer
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            if loader is not None:
                x, y = _next(loop, loader)
            _step(loop, model, criterion, optimizer, x, y, zero)
        after(model)


def plain(loop: Loop) -> None:
    """Zero, forward, loss, backward, step."""
    model = Net()
    _train(loop, model, nn.CrossEntropyLoss(), optimizer=torch.optim.AdamW(model.parameters()))


def zero_grad_last(loop: Loop) -> None:
    """Gradients are zeroed after the update, with a loader that tells the steps."""
    _train(loop, zero="last", loader=_loader())


def zero_grad_between(loop: Loop) -> None:
    """Gradients are zeroed between loss and backward."""
    _train(loop, criterion=nn.CrossEntropyLoss(), zero="between")


def zero_grad_absent(loop: Loop) -> None:
    """Nobody zeroes anything."""
    _train(loop, criterion=nn.CrossEntropyLoss(), zero="never")


def functional_loss(loop: Loop) -> None:
    """The loss is a function."""
    _train(loop)


def custom_loss_name(loop: Loop) -> None:
    """The criterion is a module without `loss` in its name or its operators."""
    _train(loop, criterion=Distance())


def loss_in_model(loop: Loop) -> None:
    """The model computes its own loss."""
    model = WithLoss()
    loop.watch(model)
    optimizer = _sgd(model)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            optimizer.zero_grad()
            with loop.stage("forward|loss"):
                loss = model(x, y)
            with loop.stage("backward"):
                loss.backward()
            _update(loop, optimizer)


def growing(loop: Loop, size: int) -> None:
    """Convolutions that grow with the batch, behind a loader that takes the same time for each."""
    convolutions = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 32, 5, padding=2)
    model = nn.Sequential(nn.Unflatten(1, (1, 16, 16)), *convolutions, nn.AvgPool2d(16), nn.Flatten(), nn.Linear(32, 10))
    _train(loop, model, loader=iter(DataLoader(Slow(lambda: batch(size, 256)), batch_size=None)))


def accumulation(loop: Loop) -> None:
    """Four batches to an update."""
    model, loader = Net(), _loader(8, 4 * STEPS)
    loop.watch(model)
    optimizer = _sgd(model)

    def forward_and_backward(x: torch.Tensor, y: torch.Tensor) -> None:
        _pass(loop, lambda: model(x), lambda out: nn.functional.cross_entropy(out, y) / 4)

    for _ in range(STEPS):
        with loop.step():
            for _ in range(4):
                forward_and_backward(*_next(loop, loader))
            _update(loop, optimizer)
            _zero_grad(loop, optimizer)


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
    optimizer = _sgd(model)
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
    optimizer = _sgd(model)
    x, y = batch()
    loop.watch(model)

    def forward() -> torch.Tensor:
        with loop.stage("forward"):
            return model(x)

    with ThreadPoolExecutor(1) as pool:
        for _ in range(STEPS):
            with loop.step():
                _zero_grad(loop, optimizer)
                out = pool.submit(forward).result()
                with loop.stage("loss"):
                    loss = nn.functional.cross_entropy(out, y)
                with loop.stage("backward"):
                    loss.backward()
                _update(loop, optimizer)


def evaluation_between(loop: Loop) -> None:
    """After every step the model is evaluated on other data; that is no part of a step."""
    data = TensorDataset(*batch(16 * STEPS))

    def evaluate(model: nn.Module) -> None:
        with torch.no_grad():
            for x, _y in DataLoader(data, batch_size=32):
                model(x)

    _train(loop, loader=_loader(), after=evaluate)


def heavy_loader(loop: Loop) -> None:
    """Most of the step is Python in the loader."""
    _train(loop, loader=iter(DataLoader(Slow(batch), batch_size=None)))


def checkpoint_reentrant(loop: Loop) -> None:
    """Recomputation in a nested backward."""
    _train(loop, Checkpointed(reentrant=True))


def checkpoint_hooks(loop: Loop) -> None:
    """Recomputation by saved-tensor hooks."""
    _train(loop, Checkpointed(reentrant=False))


def custom_function(loop: Loop) -> None:
    """A custom autograd function, a gradient hook, a module called twice."""
    _train(loop, Squared())


def double_backward(loop: Loop) -> None:
    """A gradient penalty: backward through a backward."""
    model = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = _sgd(model)
    x, _ = batch()
    for _ in range(STEPS):
        with loop.step():
            _zero_grad(loop, optimizer)
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
            _update(loop, optimizer)


def backward_twice(loop: Loop) -> None:
    """Two losses go backward through one graph, one after the other."""
    model = Net()
    loop.watch(model)
    optimizer = _sgd(model)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            _zero_grad(loop, optimizer)
            with loop.stage("forward"):
                out = model(x)
            for _ in range(2):
                with loop.stage("loss"):
                    loss = nn.functional.cross_entropy(out, y)
                with loop.stage("backward"):
                    loss.backward(retain_graph=True)
            _update(loop, optimizer)


def replicas_in_threads(loop: Loop) -> None:
    """Two threads run the model on half a batch each, as data parallelism does."""
    model = Net()
    optimizer = _sgd(model)
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
            _update(loop, optimizer)


def foreign_optimizer(loop: Loop) -> None:
    """The optimizer is none of torch's, as in fastai."""
    model = Net()
    _train(loop, model, optimizer=PlainOptimizer(list(model.parameters())), zero="last")


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
    optimizer = _sgd(model)
    x, y = batch()

    def move(alpha: float) -> None:
        with loop.stage(CLIPPING), torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(parameter.grad, alpha=alpha)

    def forward_and_backward() -> None:
        _pass(loop, lambda: model(x), lambda out: nn.functional.cross_entropy(out, y))

    for _ in range(STEPS):
        with loop.step():
            forward_and_backward()
            move(0.05)
            with loop.stage("zero_grad"):
                optimizer.zero_grad()
            forward_and_backward()
            move(-0.05)
            _update(loop, optimizer)


def scripted(loop: Loop) -> None:
    """torch.jit.script."""
    model = torch.jit.script(Net())
    x, y = batch()
    for _ in range(3):
        nn.functional.cross_entropy(model(x), y).backward()  # the first calls compile
    _train(loop, model)


def compiled(loop: Loop) -> None:
    """torch.compile with a backend that needs no compiler."""
    model = torch.compile(Net(), backend="aot_eager")
    x, y = batch()
    nn.functional.cross_entropy(model(x), y).backward()
    _train(loop, model)


def annotated(loop: Loop) -> None:
    """Every module call stands in a range that the person opened, as for NVTX."""
    model = Net()
    for path, module in model.named_modules():
        _open_range_around(module, path or "net")
    _train(loop, model)


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
    _train(loop, loader=_loader(batches=STEPS + 2, num_workers=1))
