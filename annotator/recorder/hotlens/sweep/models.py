"""Several models of one script: one after another, as separate runs train them, and stacked into one with `torch.func` and `vmap`.

Each model has parameters and a learning rate of its own, all see the same batch. The stacked models share one optimizer of the script's
class over stacked parameters. What it does to a parameter is proportional to the learning rate in the classes of `PROPORTIONAL`, so each
model's part of the update is scaled by its own.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from .tape import Tape

PROPORTIONAL = ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta", "Adamax")
RATES = (1.0, 0.5, 0.8, 1.25, 0.65, 0.9, 1.1, 0.75)  # of the script's learning rate, again from the start for more models


def rates(count: int) -> list[float]:
    return [RATES[at % len(RATES)] for at in range(count)]


def varied(model: Any, count: int, seed: int = 0) -> list[Any]:
    """Copies with parameters of their own, near those of the script."""
    import torch

    copies = []
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        made = copy.deepcopy(model)
        with torch.no_grad():
            for parameter in made.parameters():
                noise = torch.randn(parameter.shape, generator=generator).to(parameter)
                parameter.add_(noise, alpha=0.01).requires_grad_(parameter.requires_grad)
                parameter.grad = None
        copies.append(made)
    return copies


class Settings:
    """The optimizer of the script, to be made again for other parameters, which are named as the model names them."""

    def __init__(self, optimizer: Any, model: Any) -> None:
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        self.made_of = type(optimizer)
        self.groups = [
            ({key: value for key, value in group.items() if key != "params"}, [names[id(p)] for p in group["params"]])
            for group in optimizer.param_groups
        ]
        accepted = inspect.signature(type(optimizer).__init__).parameters
        self.defaults = {key: value for key, value in optimizer.defaults.items() if key in accepted}

    def optimizer(self, parameters: dict[str, Any], rate: float = 1.0) -> Any:
        groups = []
        for settings, names in self.groups:
            mine = {**settings, "lr": float(settings["lr"]) * rate}
            groups.append({**mine, "params": [parameters[name] for name in names]})
        return self.made_of(groups, **{**self.defaults, "lr": float(self.groups[0][0]["lr"]) * rate})


class Separate:
    """One after another. `step` trains every model once and returns their losses."""

    def __init__(self, models: Sequence[Any], settings: Settings, tape: Tape, around: Any, precise: dict[int, Any] | None = None) -> None:
        self.models, self.tape, self.around, self.precise = models, tape, around, precise
        self.optimizers = [settings.optimizer(dict(m.named_parameters()), rate) for m, rate in zip(models, rates(len(models)))]

    def step(self) -> list[Any]:
        return [self.step_of(at) for at in range(len(self.models))]

    def step_of(self, at: int) -> Any:
        optimizer = self.optimizers[at]
        optimizer.zero_grad(set_to_none=True)
        with self.around():
            loss = self.tape.loss(self.models[at], self.precise)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def clear(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    def held(self) -> int:
        """Bytes of one model between two steps."""
        return _bytes([*self.models[0].parameters(), *self.models[0].buffers()], self.optimizers[0])

    def values(self, name: str) -> list[Any]:
        return [dict(_named(model))[name] for model in self.models]


class Together:
    """Stacked. `step` trains all of them at once and returns their losses."""

    def __init__(self, models: Sequence[Any], settings: Settings, tape: Tape, around: Any, precise: dict[int, Any] | None = None) -> None:
        import torch
        from torch.func import functional_call, stack_module_state, vmap

        self.around = around
        self.parameters, self.buffers = stack_module_state(list(models))
        trained = {name for name, parameter in models[0].named_parameters() if parameter.requires_grad}
        for name, parameter in self.parameters.items():
            parameter.requires_grad_(name in trained)
        self.optimizer = settings.optimizer(self.parameters)
        scale = torch.tensor(rates(len(models)), dtype=torch.float64)
        self.scaled = [p for group in self.optimizer.param_groups for p in group["params"]]
        self.scales = [scale.to(p).reshape(-1, *[1] * (p.dim() - 1)) for p in self.scaled]
        self.before = [parameter.detach().clone() for parameter in self.scaled]
        base = copy.deepcopy(models[0])

        def one(parameters: Any, buffers: Any) -> Any:
            return tape.loss(lambda *args, **kwargs: functional_call(base, (parameters, buffers), args, kwargs), precise)

        self.all = vmap(one, in_dims=(0, 0), randomness="different")

    def step(self) -> list[Any]:
        import torch

        self.optimizer.zero_grad(set_to_none=True)
        with self.around():
            losses = self.all(self.parameters, self.buffers)
        losses.sum().backward()
        with torch.no_grad():
            torch._foreach_copy_(self.before, self.scaled)
        self.optimizer.step()
        with torch.no_grad():
            for parameter, old, scale in zip(self.scaled, self.before, self.scales):
                torch.lerp(old, parameter, scale, out=parameter.detach())
        return list(losses.detach())

    def clear(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)

    def held(self) -> int:
        return _bytes([*self.parameters.values(), *self.buffers.values(), *self.before], self.optimizer)

    def named(self) -> dict[str, Any]:
        return {**self.parameters, **self.buffers}


def _named(model: Any) -> list[tuple[str, Any]]:
    return [*model.named_parameters(), *model.named_buffers()]


def _bytes(tensors: Sequence[Any], optimizer: Any) -> int:
    import torch

    state = [value for values in optimizer.state.values() for value in values.values() if isinstance(value, torch.Tensor)]
    return sum(tensor.numel() * tensor.element_size() for tensor in [*tensors, *state])


# -- whether both compute the same

STEPS_COMPARED = 20


@contextlib.contextmanager
def in_float64() -> Iterator[None]:
    """What the script's code makes in float32, or turns into it, is float64 meanwhile."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Wider(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function is torch.Tensor.float:
                function = torch.Tensor.double
            args = tuple(torch.float64 if one is torch.float32 else one for one in args)
            kwargs = {key: torch.float64 if one is torch.float32 else one for key, one in (kwargs or {}).items()}
            return function(*args, **kwargs)

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Wider():
            yield
    finally:
        torch.set_default_dtype(before)


def without_dropout(models: Sequence[Any]) -> None:
    """Also the one inside torch's attention."""
    import torch

    for model in models:
        for module in model.modules():
            if isinstance(module, torch.nn.modules.dropout._DropoutNd):
                module.p = 0.0
            elif isinstance(module, torch.nn.MultiheadAttention):
                module.dropout = 0.0


def without_training(models: Sequence[Any]) -> None:
    """Everything in evaluation mode but batch norms: for code that draws random numbers by itself while it trains."""
    import torch

    for model in models:
        for module in model.modules():
            module.training = isinstance(module, torch.nn.modules.batchnorm._BatchNorm)


def difference(model: Any, settings: Settings, tape: Tape, count: int) -> float | None:
    """In float64 after STEPS_COMPARED steps: the largest of losses, parameters and buffers, relative where they are above 1. Nothing
    where the model draws random numbers and so never computes the same twice."""
    precise = {id(tensor): tensor.double() for tensor in tape.given() if tensor.is_floating_point()}
    models = [made.double() for made in varied(model, count)]
    without_dropout(models)
    if not _is_certain(models[0], tape, precise):
        without_training(models)
    if not _is_certain(models[0], tape, precise):
        return None
    together = Together(copy.deepcopy(models), settings, tape, in_float64, precise)
    separate = Separate(models, settings, tape, in_float64, precise)
    most = 0.0
    for _ in range(STEPS_COMPARED):
        for a, b in zip(separate.step(), together.step()):
            most = max(most, _apart(a, b))
    for name, stacked in together.named().items():
        for a, b in zip(separate.values(name), stacked):
            most = max(most, _apart(a, b))
    return most


def _is_certain(model: Any, tape: Tape, precise: dict[int, Any]) -> bool:
    """Whether it computes the same loss twice."""
    import torch

    with torch.no_grad(), in_float64():
        one, other = (float(tape.loss(copy.deepcopy(model), precise)) for _ in range(2))
    return one == other


def _apart(a: Any, b: Any) -> float:
    if not a.numel():
        return 0.0
    a, b = a.detach().double(), b.detach().double()
    return float(((a - b).abs() / a.abs().clamp(min=1)).nan_to_num(nan=float("inf")).max())
