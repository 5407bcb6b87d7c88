"""What is taken for a step, for the shapes that training loops have; whatever the shape, the bundle is well-formed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import record_text
from hotlens.steps.finder import StepFinder
from scripts import MODEL, STEP, counted_loop, indent, loop
from test_bundle import check_bundle
from test_map_step import check_nesting, markers
from test_sites import check_sites


class Shape(NamedTuple):
    name: str
    script: str
    by: str
    calls_of_model: int = 1  # in the map step


ACCUMULATION = """\
(criterion(model(x), y) / 2).backward()
count += 1
if count % 2 == 0:
    optimizer.step()
    optimizer.zero_grad()
"""
GAN = """\
d_optimizer.zero_grad()
d_loss = critic(model(x).detach()).mean() - critic(torch.randn(8, 3)).mean()
d_loss.backward()
d_optimizer.step()
optimizer.zero_grad()
(-critic(model(x)).mean()).backward()
optimizer.step()
"""
GAN_SETUP = "critic = nn.Linear(3, 1)\nd_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)\n"
CLOSURE = """\
def closure():
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    return loss
optimizer.step(closure)
"""
EPOCHS = """\
train, test = loader(64), loader(32)
for epoch in range(9):
    model.train()
    for x, y in train:
{step}
    model.eval()
    with torch.no_grad():
        for x, y in test:
            model(x)
"""
LAYERWISE = """\
parts = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}
def update(p):
    parts[p].step()
    parts[p].zero_grad()
for p in model.parameters():
    p.register_post_accumulate_grad_hook(update)
"""
DUCK = """\
class Mine:
    def step(self):
        for p in model.parameters():
            p.data.sub_(0.1 * p.grad)
    def zero_grad(self):
        for p in model.parameters():
            p.grad = None
optimizer = Mine()
"""
CHECKPOINT = """\
from torch.utils.checkpoint import checkpoint
class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Net()
        self.last = nn.Linear(3, 3)
    def forward(self, x):
        return self.last(checkpoint(self.inner, x.requires_grad_(), use_reentrant={reentrant}))
model = Wrapped()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
ODD_CALLS = """\
class Odd(Net):
    def __call__(self, x):
        return super().__call__(x)
    def pieces(self, x):
        yield self.a(x)
        try:
            self.a(x[:, :3])
        except RuntimeError:
            pass
        yield self.a.forward(x)
    def forward(self, x):
        return self.b(sum(self.pieces(x)).relu())
model = Odd()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
SCALER = """\
optimizer.zero_grad()
scaler.scale(criterion(model(x), y)).backward()
scaler.step(optimizer)
scaler.update()
"""
BY_HAND = """\
criterion(model(x), y).backward()
with torch.no_grad():
    for p in model.parameters():
        p -= 0.1 * p.grad
        p.grad = None
"""
STEPS_WITHIN = """\
from torch.func import functional_call
optimizer.zero_grad()
loss = 0.0
for task in range(4):
    fast = dict(model.named_parameters())
    for _ in range(3):
        inner = criterion(functional_call(model, fast, (x,)), y)
        slopes = torch.autograd.grad(inner, tuple(fast.values()), create_graph=True)
        fast = {name: value - 0.1 * slope for (name, value), slope in zip(fast.items(), slopes)}
    loss = loss + criterion(functional_call(model, fast, (x,)), y)
loss.backward()
optimizer.step()
"""
SCRIPTED = "model = torch.jit.script(model)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
DEEP = """\
def deep(n):
    return n and deep(n - 1)
try:
    deep(10**6)
except RecursionError:
    pass
"""
SPARSE = """\
if i == 0:
    model = nn.Sequential(nn.EmbeddingBag(10, 4, sparse=True), nn.LazyLinear(3))
    model(torch.randint(0, 10, (4, 3)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.zero_grad()
model(torch.randint(0, 10, (4, 3))).sum().backward()
optimizer.step()
"""
SHAPES = [
    Shape("loader", loop(), "loader"),
    Shape("no loader", counted_loop(100), "optimizer"),
    Shape("accumulation", "count = 0\n" + loop(step=ACCUMULATION), "optimizer", 2),
    Shape("accumulation without loader", "count = 0\n" + counted_loop(100, step=ACCUMULATION), "optimizer", 2),
    Shape("two optimizers", MODEL + GAN_SETUP + "for x, y in loader():\n" + indent(GAN), "loader", 2),
    Shape("two optimizers without loader", counted_loop(100, step=GAN).replace("for i in", GAN_SETUP + "for i in"), "optimizer", 2),
    Shape("closure", loop(step=CLOSURE), "loader"),
    Shape("closure without loader", counted_loop(100, step=CLOSURE), "optimizer"),
    Shape("lbfgs", loop(step=CLOSURE).replace("torch.optim.SGD(", "torch.optim.LBFGS(max_iter=4, params="), "loader", 4),
    Shape("epochs with evaluation between", MODEL + EPOCHS.format(step=indent(STEP, 8)), "loader"),
    Shape(
        "one batch for ever",
        counted_loop(100)
        .replace("x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))", "x, y = batch")
        .replace("for i in", "batch = next(iter(loader()))\nfor i in"),
        "optimizer",
    ),
    Shape("endless iterator", MODEL + "train = loader()\nwhile True:\n    x, y = next(iter(train))\n" + indent(STEP), "loader"),
    Shape("one-line body", MODEL + "def step(x, y):\n" + indent(STEP) + "for x, y in loader(): step(x, y)\n", "loader"),
    Shape(
        "scheduler around step",
        loop()
        .replace("for x", "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)\nfor x")
        .replace("optimizer.step()\n", "optimizer.step()\n    scheduler.step()\n"),
        "loader",
    ),
    Shape("gradient scaler", loop(step=SCALER).replace("for x", "scaler = torch.amp.GradScaler('cpu')\nfor x"), "loader"),
    Shape(
        "optimizers inside backward",
        counted_loop(100, step="criterion(model(x), y).backward()\n").replace("for i in", LAYERWISE + "for i in"),
        "backward",
    ),
    Shape("duck-typed optimizer", loop().replace("for x", DUCK + "for x"), "loader"),
    Shape("steps within a step", counted_loop(100, step=STEPS_WITHIN), "optimizer", 16),
    Shape("update by hand", counted_loop(100, step=BY_HAND), "backward"),
    Shape("checkpoint", counted_loop(100).replace("for i in", CHECKPOINT.format(reentrant=False) + "for i in"), "optimizer"),
    Shape("reentrant checkpoint", counted_loop(100).replace("for i in", CHECKPOINT.format(reentrant=True) + "for i in"), "optimizer"),
    Shape("odd calls", loop().replace("for x", ODD_CALLS + "for x"), "loader"),
    Shape("data parallel", loop().replace("for x", "model = nn.DataParallel(model)\nfor x"), "loader"),
    Shape("scripted", loop().replace("for x", SCRIPTED + "for x"), "loader"),
    Shape("sparse gradients", counted_loop(100, step=SPARSE), "optimizer"),
    Shape(
        "user's own ranges",
        MODEL + "from torch.profiler import record_function\nfor x, y in loader():\n    with record_function('step'):\n" + indent(STEP, 8),
        "loader",
    ),
    Shape(
        "user's range across steps",
        MODEL + "from torch.profiler import record_function\nwhile True:\n    with record_function('step'):\n"
        "        x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\n" + indent(STEP, 8),
        "optimizer",
    ),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
def test_a_loop_of_this_shape_is_recorded(tmp_path: Path, shape: Shape) -> None:
    run = record_text(tmp_path, shape.script)
    assert run.code == 0, run.err
    bundle = run.bundle
    check_bundle(bundle)
    check_nesting(markers(bundle))
    assert check_sites(bundle) > 5
    assert bundle.manifest["step"]["by"] == shape.by, bundle.manifest["step"]
    assert bundle.manifest["steps_measured"] == 5
    assert [w["code"] for w in bundle.manifest["warnings"]] == ["no_optimizer"] * (shape.name == "update by hand")
    root = next(m["id"] for m in bundle.model["modules"] if m["path"] == "")
    assert [c["module"] for c in bundle.model["calls"] if c["parent"] == -1].count(root) == shape.calls_of_model


def test_steps_at_the_end_of_an_epoch_are_not_steps(tmp_path: Path) -> None:
    """Three batches an epoch: the fetch that finds the end, and the evaluation after it, are in no step."""
    script = MODEL + "import time\n" + EPOCHS.format(step=indent(STEP, 8)).replace("loader(64)", "loader(24)") + "    time.sleep(0.5)\n"
    bundle = record_text(tmp_path, script).bundle
    names = [e["name"] for e in bundle.trace("trace-0.json.gz")]
    steps = [e for e in bundle.trace("trace-0.json.gz") if e["name"].startswith("ProfilerStep#")]
    assert len(steps) == 5 and any(n.startswith("between steps") for n in names)
    assert max(bundle.manifest["profiled_step_ns"] + bundle.manifest["plain_step_ns"]) < 400_000_000
    assert all(e["dur"] < 400_000 for e in steps)


def test_a_script_at_the_recursion_limit_loses_the_map_step_and_says_so(tmp_path: Path) -> None:
    run = record_text(tmp_path, loop(step=DEEP + STEP))
    assert run.code == 0 and [w["code"] for w in run.bundle.manifest["warnings"]] == ["map_step_failed"]
    check_bundle(run.bundle)


def test_recomputed_modules_are_calls_too(tmp_path: Path) -> None:
    bundle = record_text(tmp_path, counted_loop(100).replace("for i in", CHECKPOINT.format(reentrant=False) + "for i in")).bundle
    model = bundle.model
    inner = bundle.module("inner.a")["id"]
    assert [c["module"] for c in model["calls"]].count(inner) == 2
    checkpointed = bundle.module("inner")["id"]
    sites = {bundle.text(c["site"]) for c in model["calls"] if c["module"] == checkpointed}
    assert len(sites) == 1 and sites.pop().startswith("checkpoint(self.inner")
    assert model["roots"] == [{"module": 0, "role": "model"}, {"module": model["roots"][1]["module"], "role": "loss"}]


def test_a_direct_forward_is_a_call(tmp_path: Path) -> None:
    bundle = record_text(tmp_path, loop().replace("for x", ODD_CALLS + "for x")).bundle
    a = bundle.module("a")["id"]
    sites = [bundle.text(c["site"]) for c in bundle.model["calls"] if c["module"] == a]
    assert sites == ["self.a(x)", "self.a(x[:, :3])", "self.a.forward(x)"]


def test_a_criterion_may_return_its_losses_by_name(tmp_path: Path) -> None:
    losses = (
        "class Set(nn.Module):\n    def forward(self, out, y):\n        return {'ce': F.cross_entropy(out, y), 'x': out.abs().mean()}\n"
    )
    script = loop(step=STEP.replace("loss = criterion(model(x), y)", "loss = sum(criterion(model(x), y).values())"))
    run = record_text(tmp_path, script.replace("for x", "F = nn.functional\n" + losses + "criterion = Set()\nfor x"))
    assert [r["role"] for r in run.bundle.model["roots"]] == ["model", "loss"]
    assert run.bundle.stages()["loss"] == ["criterion(model(x), y)"] and run.bundle.stages()["forward"] == ["model(x)"]


def test_gradients_may_be_emptied_by_the_model(tmp_path: Path) -> None:
    run = record_text(tmp_path, loop(step=STEP.replace("optimizer.zero_grad()", "model.zero_grad()")))
    assert run.bundle.stages()["zero_grad"] == ["model.zero_grad()"]


# -- the finder alone


def feed(finder: StepFinder, events: str) -> list:
    """f/g = fetch from loader 1/2, e = end of loader 1, o/p = optimizer 1/2, i = optimizer in backward, b/c = backward (fresh/not)."""
    actions = {
        "f": lambda: finder.fetch(1),
        "g": lambda: finder.fetch(2),
        "e": lambda: finder.exhausted(1),
        "o": lambda: finder.optimizer(1, False),
        "p": lambda: finder.optimizer(2, False),
        "i": lambda: finder.optimizer(1, True),
        "b": lambda: finder.backward(True),
        "c": lambda: finder.backward(False),
    }
    return [(n, found.by) for n, e in enumerate(events) for found in [actions[e]()] if found is not None]


@pytest.mark.parametrize(
    "events, at, by",
    [
        ("fbofbofbof", 9, "loader"),
        ("fbobobo", 6, "optimizer"),  # the whole data in one fetch
        ("bobobo", 5, "optimizer"),
        ("fbfcofbfcofbfco", 14, "optimizer"),  # accumulation over two batches
        ("fbofbofegggfbofbof", 14, "loader"),  # an epoch ends, another loader evaluates
        ("ffbofbofbof", 10, "loader"),  # one batch ahead
        ("bobpbobpbobp", 11, "optimizer"),  # two optimizers: the last of the cycle
        ("fbobpfbobpfbobpf", 15, "loader"),
        ("bbbbb", 4, "backward"),
        ("fbfbfbfbfbf", 10, "loader"),  # no optimizer that torch knows
        ("bibibibibi", 8, "backward"),
    ],
)
def test_the_finder_chooses(events: str, at: int, by: str) -> None:
    found = feed(StepFinder(3), events)
    assert found and found[0] == (at, by)


def test_the_finder_waits_for_as_many_steps_as_asked() -> None:
    assert feed(StepFinder(5), "fbo" * 5 + "f")[0] == (15, "loader")
    assert feed(StepFinder(0), "fbof")[0] == (3, "loader")
    assert feed(StepFinder(3), "fbofbof") == []
