"""nanoGPT's shape: two micro-batches an update, batches made by a function, an evaluation every tenth update."""

import torch
from clocks import clock, updated
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(x)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(128, 64)
        self.blocks = nn.ModuleList(Block(64) for _ in range(2))
        self.head = nn.Linear(64, 128)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


data = torch.randint(0, 128, (20_000,))


def get_batch():
    starts = torch.randint(len(data) - 33, (64,))
    tokens = torch.stack([data[start : start + 33] for start in starts])
    return tokens[:, :-1], tokens[:, 1:]


@torch.no_grad()
def estimate(model):
    model.eval()
    losses = [model(*get_batch()).item() for _ in range(8)]
    model.train()
    return sum(losses) / len(losses)


def main():
    model = Language()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(60):
        if step % 10 == 0:
            with clock("evaluation"):
                estimate(model)
        for _micro in range(2):
            with clock("data"):
                tokens, targets = get_batch()
            with clock("forward"):
                loss = model(tokens, targets)
            with clock("backward"):
                loss.backward()
        with clock("clipping"):
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with clock("optimizer"):
            optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        updated(loss.item())


main()
