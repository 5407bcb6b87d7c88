"""Batched generation: the prompt is read once (prefill), then a token at a time (decode) with what was kept of the ones before."""

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, kept):
        q, k, v = self.qkv(x).chunk(3, -1)
        if kept is not None:
            k, v = torch.cat([kept[0], k], 1), torch.cat([kept[1], v], 1)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=kept is None))
        return x + self.mlp(x), (k, v)


class Language(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.embed = nn.Embedding(256, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(2))
        self.head = nn.Linear(width, 256)

    def forward(self, tokens, kept):
        x, after = self.embed(tokens), []
        for layer, before in zip(self.layers, kept, strict=True):
            x, state = layer(x, before)
            after.append(state)
        return self.head(x[:, -1]), after


model = Language().eval()


@torch.inference_mode()
def generate(prompts, count):
    with clock("prefill"):
        logits, kept = model(prompts, [None, None])
    tokens = [logits.argmax(-1)]
    for _ in range(count):
        with clock("decode"):
            logits, kept = model(tokens[-1][:, None], kept)
        with clock("choice"):
            tokens.append(torch.multinomial(logits.softmax(-1), 1)[:, 0])
    return torch.stack(tokens, 1)


def texts(rows):
    return ["".join(chr(32 + token % 90) for token in row) for row in rows.tolist()]


for _batch in range(24):
    answers = generate(torch.randint(0, 256, (16, 48)), 12)
    with clock("text"):
        text = texts(answers)
    updated(float(answers.sum()))
