"""Training loops in the shapes that people write them, small enough to record in a moment.

Every function runs STEPS steps on a Loop. Stages are marked as a person would name them; where two names are both honest, `a|b`.
"""

from __future__ import annotations

import timeit

import torch
from models import Distance, Net, Slow, WithLoss, batch
from record import STEPS, Loop
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from training import loader_of, next_batch, pass_through, sgd, train, update, zero_grad

CLIPPING = "optimizer|other"


def plain(loop: Loop) -> None:
    """Zero, forward, loss, backward, step."""
    model = Net()
    train(loop, model, nn.CrossEntropyLoss(), optimizer=torch.optim.AdamW(model.parameters()))


def zero_grad_last(loop: Loop) -> None:
    """Gradients are zeroed after the update, with a loader that tells the steps."""
    train(loop, zero="last", loader=loader_of())


def zero_grad_between(loop: Loop) -> None:
    """Gradients are zeroed between loss and backward."""
    train(loop, criterion=nn.CrossEntropyLoss(), zero="between")


def zero_grad_absent(loop: Loop) -> None:
    """Nobody zeroes anything."""
    train(loop, criterion=nn.CrossEntropyLoss(), zero="never")


def functional_loss(loop: Loop) -> None:
    """The loss is a function."""
    train(loop)


def custom_loss_name(loop: Loop) -> None:
    """The criterion is a module without `loss` in its name or its operators."""
    train(loop, criterion=Distance())


def loss_in_model(loop: Loop) -> None:
    """The model computes its own loss."""
    model = WithLoss()
    loop.watch(model)
    optimizer = sgd(model)
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            optimizer.zero_grad()
            with loop.stage("forward|loss"):
                loss = model(x, y)
            with loop.stage("backward"):
                loss.backward()
            update(loop, optimizer)


def growing(loop: Loop, size: int) -> None:
    """Convolutions that grow with the batch, behind a loader that takes as long as a step over 64."""
    convolutions = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
    model = nn.Sequential(nn.Unflatten(1, (1, 16, 16)), *convolutions, nn.AvgPool2d(16), nn.Flatten(), nn.Linear(16, 10))
    x, y = batch(64, 256)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several threads wait for one another on a busy machine, and a loader does not
    seconds = min(timeit.repeat(lambda: nn.functional.cross_entropy(model(x), y).backward(), number=1, repeat=5))
    train(loop, model, loader=iter(DataLoader(Slow(lambda: batch(size, 256), seconds), batch_size=None)))
    torch.set_num_threads(threads)


def accumulation(loop: Loop) -> None:
    """Four batches to an update."""
    model, loader = Net(), loader_of(8, 4 * STEPS)
    loop.watch(model)
    optimizer = sgd(model)

    def forward_and_backward(x: torch.Tensor, y: torch.Tensor) -> None:
        pass_through(loop, lambda: model(x), lambda out: nn.functional.cross_entropy(out, y) / 4)

    for _ in range(STEPS):
        with loop.step():
            for _ in range(4):
                forward_and_backward(*next_batch(loop, loader))
            update(loop, optimizer)
            zero_grad(loop, optimizer)


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
    optimizer = sgd(model)
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


def evaluation_between(loop: Loop) -> None:
    """After every step the model is evaluated on other data; that is no part of a step."""
    data = TensorDataset(*batch(16 * STEPS))

    def evaluate(model: nn.Module) -> None:
        with torch.no_grad():
            for x, _y in DataLoader(data, batch_size=32):
                model(x)

    train(loop, loader=loader_of(), after=evaluate)


def heavy_loader(loop: Loop) -> None:
    """Most of the step is Python in the loader."""
    train(loop, loader=iter(DataLoader(Slow(batch), batch_size=None)))


def two_forwards(loop: Loop) -> None:
    """Sharpness-aware: step up, again, and one update."""
    model = Net()
    loop.watch(model)
    optimizer = sgd(model)
    x, y = batch()

    def move(alpha: float) -> None:
        with loop.stage(CLIPPING), torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(parameter.grad, alpha=alpha)

    def forward_and_backward() -> None:
        pass_through(loop, lambda: model(x), lambda out: nn.functional.cross_entropy(out, y))

    for _ in range(STEPS):
        with loop.step():
            forward_and_backward()
            move(0.05)
            with loop.stage("zero_grad"):
                optimizer.zero_grad()
            forward_and_backward()
            move(-0.05)
            update(loop, optimizer)


def loader_with_workers(loop: Loop) -> None:
    """Batches come from another process."""
    train(loop, loader=loader_of(batches=STEPS + 2, num_workers=1))
