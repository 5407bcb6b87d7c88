"""Policy gradients: a rollout every fourth update is most of the time."""

import numpy as np
import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
generator = np.random.default_rng(0)
policy = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)


def rollout(steps):
    states, rewards = [], []
    state = np.zeros(16, dtype=np.float32)
    for _ in range(steps):
        with torch.no_grad():
            action = policy(torch.from_numpy(state)).argmax().item()
        state = np.tanh(state + 0.1 * action + generator.standard_normal(16).astype(np.float32) * 0.1)
        states.append(state)
        rewards.append(float(state.sum()))
    return torch.tensor(np.stack(states)), torch.tensor(rewards)


for _epoch in range(30):
    with clock("rollout"):
        states, rewards = rollout(256)
    for _batch in range(4):
        index = torch.randint(0, len(states), (64,))
        with clock("forward"):
            loss = -(policy(states[index]).log_softmax(-1)[:, 0] * rewards[index]).mean()
        optimizer.zero_grad()
        with clock("backward"):
            loss.backward()
        with clock("optimizer"):
            optimizer.step()
        updated(loss.item())
