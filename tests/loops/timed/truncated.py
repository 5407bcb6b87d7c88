"""Backpropagation through time in pieces: an update for each piece of a sequence, the state carried on, a check after each sequence."""

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.cell = nn.LSTMCell(32, 64)
        self.head = nn.Linear(64, 64)

    def forward(self, tokens, state):
        out = []
        for column in self.embed(tokens).unbind(1):
            state = self.cell(column, state)
            out.append(self.head(state[0]))
        return torch.stack(out, 1), state


def sequences(count):
    for _ in range(count):
        yield torch.randint(0, 64, (32, 65))


def check(model, tokens):
    with torch.no_grad():
        return model(tokens, None)[0].argmax(-1).eq(tokens).float().mean().item()


def train(model, optimizer):
    for tokens in sequences(20):
        state = None
        for start in range(0, 64, 16):
            piece, targets = tokens[:, start : start + 16], tokens[:, start + 1 : start + 17]
            with clock("forward"):
                out, state = model(piece, state)
            loss = nn.functional.cross_entropy(out.flatten(0, 1), targets.flatten())
            with clock("zero"):
                optimizer.zero_grad()
            with clock("backward"):
                loss.backward()
            with clock("clipping"):
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            with clock("optimizer"):
                optimizer.step()
            state = tuple(each.detach() for each in state)
            updated(loss.item())
        with clock("check"):
            check(model, tokens)


tagger = Tagger()
train(tagger, torch.optim.Adam(tagger.parameters(), lr=1e-3))
