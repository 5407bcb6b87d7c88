"""A replay buffer: an action and a step of the environment for each update, a sample of old ones, a target that follows now and then."""

import random
from collections import deque

import numpy as np
import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
random.seed(0)
generator = np.random.default_rng(0)


class Environment:
    def __init__(self):
        self.state = np.zeros(12, dtype=np.float32)

    def step(self, action):
        for _ in range(12):  # physics in small pieces
            self.state = np.tanh(self.state * 0.99 + 0.05 * action + 0.1 * generator.standard_normal(12).astype(np.float32))
        return self.state, float(self.state.sum())


def network():
    return nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))


class Buffer:
    def __init__(self):
        self.rows = deque(maxlen=2000)

    def sample(self, count):
        rows = random.sample(self.rows, count)
        return [torch.tensor(np.array([row[at] for row in rows]), dtype=torch.float32) for at in range(4)]


def play(policy, environment, episodes):
    rewards = 0.0
    for _ in range(episodes):
        for _ in range(10):
            with torch.no_grad():
                action = policy(torch.from_numpy(environment.state)).argmax().item()
            rewards += environment.step(action)[1]
    return rewards


def main():
    policy, target, environment, buffer = network(), network(), Environment(), Buffer()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for _ in range(200):
        state = environment.state
        after, reward = environment.step(int(generator.integers(4)))
        buffer.rows.append((state, 0, reward, after))
    for step in range(240):
        state = environment.state
        with clock("act"):
            action = policy(torch.from_numpy(state)).argmax().item() if random.random() > 0.1 else random.randrange(4)
        with clock("environment"):
            after, reward = environment.step(action)
        buffer.rows.append((state, action, reward, after))
        with clock("sample"):
            states, actions, rewards, following = buffer.sample(96)
        with torch.no_grad():
            wanted = rewards + 0.99 * target(following).max(1).values
        with clock("forward"):
            loss = nn.functional.smooth_l1_loss(policy(states).gather(1, actions.long()[:, None])[:, 0], wanted)
        optimizer.zero_grad()
        with clock("backward"):
            loss.backward()
        with clock("optimizer"):
            optimizer.step()
        if step % 20 == 19:
            with clock("target"):
                target.load_state_dict(policy.state_dict())
            with clock("test"):
                play(policy, environment, 6)
        updated(loss.item())


main()
