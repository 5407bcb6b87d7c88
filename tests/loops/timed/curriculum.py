"""Sequences that grow with the epochs and are padded to the longest of their batch: no two steps have the same shapes."""

import torch
from clocks import clock, updated
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 48)
        self.lstm = nn.LSTM(48, 64, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(128, 7)

    def forward(self, tokens):
        return self.tags(self.lstm(self.embed(tokens))[0])


def collate(rows):
    with clock("padding"):
        tokens, tags = (pad_sequence(column, batch_first=True, padding_value=value) for column, value in zip(zip(*rows), (0, -100)))
    return tokens, tags


def sentences(longest):
    lengths = torch.randint(longest // 3, longest, (320,)).tolist()
    return [(torch.randint(1, 100, (length,)), torch.randint(0, 7, (length,))) for length in lengths]


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
for longest in (12, 20, 28, 36):
    loader = DataLoader(sentences(longest), batch_size=16, shuffle=True, collate_fn=collate)
    for tokens, tags in loader:
        with clock("forward"):
            logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=-100)
        with clock("backward"):
            loss.backward()
        with clock("clipping"):
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with clock("optimizer"):
            optimizer.step()
        optimizer.zero_grad()
        updated(loss.item())
    schedule.step()
