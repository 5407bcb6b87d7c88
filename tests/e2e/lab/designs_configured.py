"""Models that a configuration shapes: what is named, chosen or left out as they are made. Scripts, as templates of tests."""

from __future__ import annotations

from training import LOOP

# A configuration that takes whatever it is given, stages by name, a function in the constructor, columns with categories of their own.
CONFIGURED = LOOP.format(
    model="""
class Settings:
    def __init__(self, **given):
        self.__dict__.update(given)
class Mixer(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.parts = nn.ModuleDict(dict(wide=nn.Linear(settings.width, settings.factor * settings.width), act=nn.GELU(),
                                        back=nn.Linear(settings.factor * settings.width, settings.width)))
        parts = self.parts
        self.mix = lambda x: parts.back(parts.act(parts.wide(x)))
        self.norm = nn.LayerNorm(settings.width)
    def forward(self, x):
        return self.norm(x + self.mix(x))
class Applied(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.apply_it = lambda x: torch.sin(x * factor)
    def forward(self, x):
        return self.apply_it(x)
class Net(nn.Module):
    def __init__(self, settings, normed=False):
        super().__init__()
        assert settings.width % 4 == 0
        self.tables = nn.ModuleList([nn.Embedding(rows, settings.width) for rows in settings.rows])
        for name, depth in zip(["first", "second"], settings.depths):
            setattr(self, name, nn.Sequential(*[Mixer(settings) for _ in range(depth)]))
        self.waves = nn.Sequential(*[Applied(factor) for factor in (2, 3)])
        head = nn.Sequential()
        def add(place, size):
            head.add_module("wide{0}".format(place), nn.Linear(settings.width, size))
            if normed:
                head.add_module("norm{0}".format(place), nn.BatchNorm1d(size))
        add(0, settings.width)
        add(1, 10)
        self.head = head
    def forward(self, codes):
        x = torch.stack([table(codes[:, place]) for place, table in enumerate(self.tables)]).sum(0)
        return self.head(self.second(self.first(self.waves(x)))).view(-1, 10)
def tensors(count):
    codes = torch.stack([torch.randint(rows, (count,)) for rows in (9, 40, 3)], 1)
    return codes, torch.randint(10, (count,))
model = Net(Settings(width=24, factor=2, rows=[9, 40, 3], depths=[2, 1]))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
"""
)

# Shortcuts that widths ask for, a rate that switches a function on, a norm of the script's own with the name of torch's.
SHORTCUTS = LOOP.format(
    model="""
class LayerNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))
    def forward(self, x):
        apart = x - x.mean(-1, keepdim=True)
        return self.scale * apart / (apart.std(-1, keepdim=True) + 1e-6) + self.shift
class Chosen(nn.Module):
    def __init__(self, size, wide):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, wide), nn.ReLU())
        self.short = nn.Linear(size, wide) if size != wide else None
        self.act = nn.ReLU()
    def forward(self, x):
        out = self.body(x)
        beside = x if self.short is None else self.short(x)
        return self.act(out + beside)
class Asked(nn.Module):
    def __init__(self, size, wide, rate=0.0, short=None):
        super().__init__()
        self.wide, self.norm = nn.Linear(size, wide), nn.BatchNorm1d(wide)
        self.act, self.rate, self.short = nn.ReLU(inplace=True), rate, short
    def forward(self, x):
        kept = x
        out = self.norm(self.act(self.wide(x)))
        if self.rate > 0:
            out = F.dropout(out, p=self.rate, training=self.training)
        if self.short is not None:
            kept = self.short(x)
        out += kept
        return self.act(out)
class Net(nn.Module):
    def __init__(self, sizes, rate=0.0, switched=0.2):
        super().__init__()
        self.chosen = nn.Sequential(*[Chosen(size, wide) for size, wide in zip(sizes, sizes[1:])])
        short = None
        if sizes[-1] != 24:
            short = nn.Sequential(nn.Linear(sizes[-1], 24), nn.BatchNorm1d(24))
        self.asked = Asked(sizes[-1], 24, rate, short)
        self.own, self.last = LayerNorm(24), Asked(24, 24, switched)
        self.norm, self.head = nn.LayerNorm(24), nn.Linear(24, 10)
    def forward(self, x):
        x = self.chosen(x)
        x = self.last(self.own(self.asked(x)))
        x = self.norm(x)
        return self.head(x)
def tensors(count):
    return torch.randn(count, 24), torch.randint(10, (count,))
model = Net([24, 24, 24])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
"""
)
