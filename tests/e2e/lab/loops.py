"""Models whose loops do more with each layer than hand on what it gives, one class each; `DEPTH` is how many layers they have."""

from __future__ import annotations

from training import LOOP

MODEL = """
class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.fc, self.out = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
    def forward(self, x):
        return self.out(F.gelu(self.fc(self.norm(x))))
DEPTH = 4
class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed, self.norm, self.drop = nn.Linear(16, width), nn.LayerNorm(width), nn.Dropout(0.1)
        {lists}
        self.head = nn.Linear(width, 10)
    def forward(self, x):
        x = self.embed(x)
        {loop}
        return self.head(x.mean(1))
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randn(n, 24, 16), torch.randint(10, (n,)))
"""


def script(lists: str, loop: str) -> str:
    indented = loop.replace("\n", "\n        ")
    return LOOP.format(model=MODEL.format(lists=lists, loop=indented))


PARTS = "self.layers = nn.ModuleList(Part(width) for _ in range(DEPTH))"
LINEAR = "self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(DEPTH)])"
BOTH = f"{LINEAR}\n        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(DEPTH)])"
PAIRS = """self.layers = nn.ModuleList([])
        for _ in range(DEPTH):
            self.layers.append(nn.ModuleList([Part(width), nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))]))"""

MORE = """self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(DEPTH + 1)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(DEPTH)])"""
STREAMS = """class Pair(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(2 * width, width), nn.Linear(width, width)
            def forward(self, x, e):
                h = F.relu(self.a(torch.cat([x, e], -1)))
                return x + h, self.b(h)
        self.layers = nn.ModuleList(Pair() for _ in range(DEPTH))"""

SCRIPTS = {
    "added": script(PARTS, "for layer in self.layers:\n    x = x + layer(x)"),
    "in_place": script(PARTS, "for layer in self.layers:\n    h = self.drop(layer(x))\n    h += x\n    x = h"),
    "shared": script(
        PARTS, "for layer in self.layers:\n    h = self.norm(x)\n    h = layer(h)\n    x = x + F.dropout(h, 0.2, self.training)"
    ),
    "not_the_last": script(
        LINEAR, "for i, layer in enumerate(self.layers):\n    x = layer(x)\n    if i < len(self.layers) - 1:\n        x = F.relu(x)"
    ),
    "the_last_apart": script(
        LINEAR, "for layer in self.layers[:-1]:\n    x = F.dropout(layer(x).relu(), 0.1, self.training)\nx = self.layers[-1](x)"
    ),
    "zipped": script(BOTH, "for layer, norm in zip(self.layers, self.norms):\n    x = F.relu(norm(layer(x))) + x"),
    "indexed": script(BOTH, "for i in range(len(self.layers)):\n    x = F.relu(self.norms[i](self.layers[i](x)))"),
    "pairs": script(PAIRS, "for attend, feed in self.layers:\n    x = attend(x) + x\n    x = feed(x) + x"),
    "twice": script(PARTS, "for _ in range(2):\n    for layer in self.layers:\n        x = x + layer(x)"),
    "longer": script(
        MORE, "for layer, norm in zip(self.layers[:-1], self.norms):\n    x = self.drop(F.relu(norm(layer(x))))\nx = self.layers[-1](x)"
    ),
    "several": script(STREAMS, "e = x.tanh()\nfor layer in self.layers:\n    x, more = layer(x, e)\n    e = e + more\nx = x + e"),
    # What is not the same for one layer more.
    "kept": script(PARTS, "all = []\nfor layer in self.layers:\n    x = x + layer(x)\n    all.append(x)\nx = torch.stack(all).sum(0)"),
    "some": script(PARTS, "for i, layer in enumerate(self.layers):\n    x = layer(x)\n    if i < 3:\n        x = F.relu(x)"),
    "turns": script(
        PARTS, "for i, layer in enumerate(self.layers):\n    x = layer(x)\n    if i > len(self.layers) - 3:\n        x = F.relu(x)"
    ),
}
