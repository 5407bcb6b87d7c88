"""Evolution of weights: no gradient and no optimizer; the model runs in a function without gradients that a loop calls."""

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(24, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 4))
weights = nn.utils.parameters_to_vector(policy.parameters()).detach()
observed, wanted = torch.randn(256, 24), torch.randn(256, 4)


def fitness(vector: torch.Tensor) -> torch.Tensor:
    nn.utils.vector_to_parameters(vector, policy.parameters())
    with torch.no_grad():
        return -(policy(observed) - wanted).square().mean()


for _generation in range(80):
    with clock("noise"):
        noise = torch.randn(12, weights.numel())
    scores = []
    for direction in noise:
        with clock("fitness"):
            scores.append(fitness(weights + 0.05 * direction))
    ranked = torch.stack(scores)
    ranked = (ranked - ranked.mean()) / (ranked.std() + 1e-8)
    with clock("blend"):
        weights = weights + 0.03 * ((ranked.unsqueeze(1) * noise).sum(0) + (ranked.unsqueeze(1) * noise.abs().sqrt()).mean(0))
    updated(float(ranked.max()))
