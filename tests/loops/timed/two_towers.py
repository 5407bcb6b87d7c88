"""Contrastive training of two towers: words become numbers in Python, a symmetric loss, retrieval every fifteenth update."""

import random

import torch
from clocks import clock, updated
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
random.seed(0)
WORDS = ["".join(random.choices("abcdefghij", k=6)) for _ in range(500)]
NUMBERS = {word: number for number, word in enumerate(WORDS)}


def caption():
    return " ".join(random.choice(WORDS) for _ in range(24))


def tokenize(captions):
    return torch.tensor([[NUMBERS[word] for word in each.lower().split()] for each in captions])


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.out = nn.Linear(32, 64)

    def forward(self, x):
        return F.normalize(self.out(self.body(x).flatten(1)), dim=-1)


class Texts(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(len(WORDS), 64)
        self.layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.out = nn.Linear(64, 64)

    def forward(self, tokens):
        return F.normalize(self.out(self.layer(self.embed(tokens)).mean(1)), dim=-1)


pictures, texts = Pictures(), Texts()
temperature = nn.Parameter(torch.tensor(2.0))
optimizer = torch.optim.AdamW([*pictures.parameters(), *texts.parameters(), temperature], lr=1e-3)
captions = [caption() for _ in range(2000)]
held_out = torch.randn(96, 3, 32, 32)


@torch.no_grad()
def retrieval():
    found = pictures(held_out) @ texts(tokenize(captions[:96])).T
    return (found.argmax(1) == torch.arange(96)).float().mean().item()


for step in range(75):
    with clock("captions"):
        tokens = tokenize([caption() for _ in range(48)])
    images = torch.randn(48, 3, 32, 32)
    with clock("pictures"):
        seen = pictures(images)
    with clock("texts"):
        read = texts(tokens)
    logits = temperature.exp() * seen @ read.T
    with clock("loss"):
        loss = (F.cross_entropy(logits, torch.arange(48)) + F.cross_entropy(logits.T, torch.arange(48))) / 2
    optimizer.zero_grad()
    with clock("backward"):
        loss.backward()
    with clock("optimizer"):
        optimizer.step()
    if step % 15 == 14:
        with clock("retrieval"):
            retrieval()
    updated(loss.item())
