"""Five models trained as one with torch.func: gradients by vmap and grad, an update by hand, no optimizer and no backward()."""

import torch
from clocks import clock, updated
from torch import nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

torch.manual_seed(0)
members = [nn.Sequential(nn.Linear(24, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 3)) for _ in range(5)]
parameters, buffers = stack_module_state(members)
parameters = {name: each.detach() for name, each in parameters.items()}
skeleton = members[0]
centres = torch.randn(3, 24)


def loss_of(parameters, buffers, inputs, targets):
    return nn.functional.cross_entropy(functional_call(skeleton, (parameters, buffers), (inputs,)), targets)


gradients_of = vmap(grad_and_value(loss_of), in_dims=(0, 0, None, None))
answers_of = vmap(lambda p, b, x: functional_call(skeleton, (p, b), (x,)), in_dims=(0, 0, None))


@torch.no_grad()
def vote(count):
    return sum(answers_of(parameters, buffers, batch(512)[0]).mean(0).argmax(1).eq(0).sum() for _ in range(count))


def batch(count):
    targets = torch.randint(0, 3, (count,))
    return centres[targets] + torch.randn(count, 24), targets


for step in range(80):
    with clock("batch"):
        inputs, targets = batch(256)
    with clock("gradients"):
        gradients, losses = gradients_of(parameters, buffers, inputs, targets)
    with clock("update"):
        parameters = {name: each - 0.05 * gradients[name] for name, each in parameters.items()}
    updated(losses.sum().item())
    if step % 10 == 9:
        with clock("vote"):
            right = vote(4)
