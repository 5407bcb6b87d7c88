"""A trainer of one's own: the loop is a method, its parts are methods, and callbacks come at the end of an epoch."""

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)


class Trainer:
    def __init__(self, model, epochs):
        self.model, self.epochs = model, epochs
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.history = []

    def batches(self):
        for _ in range(10):
            yield torch.randn(128, 40), torch.randint(0, 6, (128,))

    def train_step(self, inputs, targets):
        with clock("forward"):
            loss = nn.functional.cross_entropy(self.model(inputs), targets)
        with clock("backward"):
            loss.backward()
        with clock("optimizer"):
            self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def fit(self):
        for _epoch in range(self.epochs):
            for inputs, targets in self.batches():
                loss = self.train_step(inputs, targets)
                with clock("callback"):
                    self.on_step(loss)
                updated(loss)
            with clock("validation"):
                self.validate()

    def on_step(self, loss):
        self.history.append(loss)
        return sorted(value * scale for value in self.history[-70:] for scale in range(12))

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        for inputs, targets in self.batches():
            self.history.append(nn.functional.cross_entropy(self.model(inputs), targets).item())
        self.model.train()


Trainer(nn.Sequential(nn.Linear(40, 192), nn.GELU(), nn.Linear(192, 192), nn.GELU(), nn.Linear(192, 6)), 26).fit()
