"""The program of a step runs again without the script: its replay holds what the step held, to the byte."""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, environment, printed_alone, record_text, warm_python
from hotlens.bundle import program_file, same
from scripts import loop

REPLAY = Path(__file__).parent / "replay.py"
HEAD = """\
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
"""
LOOP = """\
for i in range(24):
    batch = data()
    optimizer.zero_grad()
    loss = compute(*batch)
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""
MODELS = {
    "residual network": """\
class Block(nn.Module):
    def __init__(self, wide, step):
        super().__init__()
        self.a, self.b = nn.Conv2d(wide, wide * step, 3, step, 1, bias=False), nn.Conv2d(wide * step, wide * step, 3, 1, 1, bias=False)
        self.n, self.m, self.act = nn.BatchNorm2d(wide * step), nn.BatchNorm2d(wide * step), nn.ReLU(inplace=True)
        self.short = nn.Conv2d(wide, wide * step, 1, step) if step > 1 else nn.Identity()

    def forward(self, x):
        y = self.act(self.n(self.a(x)))
        y = self.m(self.b(y))
        y += self.short(x)
        return self.act(y)


pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2), Block(8, 1), Block(8, 2), pool, nn.Linear(16, 4))
criterion = nn.CrossEntropyLoss()
data = lambda: (torch.randn(6, 3, 20, 20), torch.randint(0, 4, (6,)))
compute = lambda x, y: criterion(model(x), y)
""",
    "mobile network": """\
def block(i, o):
    return nn.Sequential(nn.Conv2d(i, i, 3, 1, 1, groups=i), nn.BatchNorm2d(i), nn.Hardswish(), nn.Conv2d(i, o, 1), nn.BatchNorm2d(o))


model = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.Hardswish(), block(8, 16), block(16, 24), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Dropout(0.2), nn.Linear(24, 4))
data = lambda: (torch.randn(6, 3, 24, 24), torch.randint(0, 4, (6,)))
compute = lambda x, y: F.cross_entropy(model(x), y, label_smoothing=0.1)
""",
    "transformer": """\
class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(50, 16), nn.Embedding(12, 16)
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)
        self.register_buffer("mask", torch.tril(torch.ones(12, 12)))
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.token.weight

    def forward(self, x):
        b, t = x.shape
        x = self.token(x) + self.place(torch.arange(t))
        q, k, v = (a.view(b, t, 2, 8).transpose(1, 2) for a in self.qkv(self.norm(x)).split(16, dim=2))
        w = (q @ k.transpose(-2, -1) * 8**-0.5).masked_fill(self.mask[:t, :t] == 0, float("-inf")).softmax(-1)
        x = x + self.out((F.dropout(w, 0.1, self.training) @ v).transpose(1, 2).reshape(b, t, 16))
        return self.head(x)


model = Language()
data = lambda: (torch.stack([torch.arange(s, s + 13) for s in torch.randint(0, 30, (5,)).tolist()]),)
compute = lambda x: F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
""",
    "recurrent language model": """\
class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.cells, self.head = nn.Embedding(40, 12), nn.LSTM(12, 20, 2, batch_first=True, dropout=0.1), nn.Linear(20, 40)

    def forward(self, x):
        return self.head(self.cells(self.token(x))[0])


model = Language()
data = lambda: (torch.randint(0, 40, (5, 11)),)
compute = lambda x: F.cross_entropy(model(x[:, :-1]).reshape(-1, 40), x[:, 1:].reshape(-1))
""",
    "u-net": """\
def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.GroupNorm(2, o), nn.SiLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.mid, self.up = block(1, 8), block(8, 16), nn.ConvTranspose2d(16, 8, 2, 2)
        self.last, self.out = block(16, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.down(x)
        return self.out(self.last(torch.cat([self.up(self.mid(F.max_pool2d(a, 2))), a], 1)))


model = Net()
data = lambda: (torch.randn(4, 1, 16, 16), torch.randint(0, 2, (4, 16, 16)))
compute = lambda x, y: F.cross_entropy(model(x), y)
""",
    "recommender": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(100, 8, mode="sum") for _ in range(4))
        self.dense, self.top = nn.Linear(5, 8), nn.Linear(8 + 10, 1)

    def forward(self, dense, kinds):
        x = self.dense(dense).relu()
        z = torch.stack([x] + [table(kinds[:, i : i + 1]) for i, table in enumerate(self.tables)], 1)
        pairs = torch.bmm(z, z.transpose(1, 2))
        i, j = torch.tril_indices(5, 5, -1)
        return self.top(torch.cat([x, pairs[:, i, j]], 1))


model = Net()
data = lambda: (torch.randn(7, 5), torch.randint(0, 100, (7, 4)), torch.rand(7, 1).round())
compute = lambda dense, kinds, y: F.binary_cross_entropy_with_logits(model(dense, kinds), y)
""",
}
OPTIMIZERS = {
    "SGD": "optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)\n",
    "AdamW": "optimizer = torch.optim.AdamW(model.parameters(), 0.01)\n",
}
SMALL = """\
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
data = lambda: (torch.randn(6, 8), torch.randint(0, 3, (6,)))
compute = lambda x, y: F.cross_entropy(model(x), y)
"""


def program(run: Run) -> dict[str, Any]:
    assert run.code == 0, run.err
    with gzip.open(run.bundle.path / run.bundle.manifest["program"]) as file:
        return json.load(file)


def names(found: dict[str, Any], stage: str | None = None) -> list[str]:
    return [o["op"] for o in found["operators"] if stage in (None, o["stage"])]


def replay_of(path: Path) -> dict[str, int]:
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as complained, open("/dev/null") as empty:
        streams = [empty.fileno(), printed.fileno(), complained.fileno()]
        code = warm_python().run([sys.executable, str(REPLAY), str(path)], path.parent, environment(), streams)
        for file in (printed, complained):
            file.seek(0)
        assert code == 0, complained.read()
        return json.load(printed)


def check_replay(run: Run) -> dict[str, Any]:
    found = program(run)
    assert found["refused"] is None, found["refused"]
    assert replay_of(run.bundle.path / run.bundle.manifest["program"]) == found["allocator"]
    assert found["allocator"]["peak_bytes"] > found["allocator"]["start_bytes"] > 0
    return found


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_the_replay_holds_what_the_step_held_to_the_byte(tmp_path: Path, model: str, optimizer: str) -> None:
    text = HEAD + MODELS[model] + OPTIMIZERS[optimizer] + LOOP
    run = record_text(tmp_path, text, ["--keep-going"])
    assert run.out == printed_alone(tmp_path)  # to the last bit of every loss
    assert run.bundle.manifest["warnings"] == []
    found = check_replay(run)
    assert found["format"] == 1 and found["device"] == "cpu" and found["threads"] == 1


CHECKPOINT = "from torch.utils.checkpoint import checkpoint\n"
CHECKPOINTED = (
    CHECKPOINT
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Dropout(0.1), nn.Linear(128, 64)) for _ in range(4))
        self.head = nn.Linear(64, 3)

    def forward(self, x):
        mask = x > 0
        for number, block in enumerate(self.blocks):
            x = block(x) if number == 2 else checkpoint(lambda h: h + block(h) * mask, x, use_reentrant=False)
        return self.head(x)


model = Net()
data = lambda: (torch.randn(500, 64), torch.randint(0, 3, (500,)))
compute = lambda x, y: F.cross_entropy(model(x), y)
"""
)
# Within a checkpointed block others, one within itself, and what is none.
NESTED = (
    CHECKPOINT
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 160), nn.GELU(), nn.Dropout(0.1), nn.Linear(160, 64))
        self.head = nn.Linear(64, 3)

    def inner(self, x):
        return x + self.layers(x)

    def outer(self, x, depth):
        for _ in range(3):
            x = checkpoint(self.inner, x, use_reentrant=False).tanh()
        return checkpoint(self.outer, x, depth - 1, use_reentrant=False) if depth > 1 else x

    def forward(self, x):
        for _ in range(2):
            x = checkpoint(self.outer, x, 3, use_reentrant=False)
        return self.head(x)


model = Net()
data = lambda: (torch.randn(500, 64), torch.randint(0, 3, (500,)))
compute = lambda x, y: F.cross_entropy(model(x), y)
"""
)
ODD = {
    "gradients stay, and are set to zero": SMALL + OPTIMIZERS["SGD"] + LOOP.replace("zero_grad()", "zero_grad(set_to_none=False)"),
    "gradients are cut, and cleared last": SMALL
    + OPTIMIZERS["AdamW"]
    + LOOP.replace("    optimizer.step()\n", "    nn.utils.clip_grad_norm_(model.parameters(), 0.5)\n    optimizer.step()\n").replace(
        "    optimizer.zero_grad()\n", ""
    )
    + "    optimizer.zero_grad()\n",
    "autocast": SMALL
    + OPTIMIZERS["SGD"]
    + LOOP.replace("    loss = compute(*batch)\n", "    with torch.autocast('cpu', torch.bfloat16):\n        loss = compute(*batch)\n"),
    "what is left of the last step is large": SMALL.replace("F.cross_entropy(model(x), y)", "F.cross_entropy(keep(model(x)), y)")
    + "kept = {}\nkeep = lambda out: kept.setdefault('last', [None]).__setitem__(0, out.detach().repeat(50, 50)) or out\n"
    + OPTIMIZERS["SGD"]
    + LOOP,
    "an average of the weights": SMALL
    + OPTIMIZERS["SGD"]
    + "average = torch.optim.swa_utils.AveragedModel(model)\n"
    + LOOP.replace("    optimizer.step()\n", "    optimizer.step()\n    average.update_parameters(model)\n"),
    "weights are changed as data": SMALL + OPTIMIZERS["SGD"] + LOOP + "    for p in model.parameters():\n        p.data.mul_(0.999)\n",
    "a closure": SMALL
    + "optimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor i in range(24):\n    batch = data()\n\n    def closure():\n"
    + "        optimizer.zero_grad()\n        loss = compute(*batch)\n        loss.backward()\n        return loss\n\n"
    + "    print(optimizer.step(closure).item().hex())\n",
    "several tensors in one call": SMALL + "optimizer = torch.optim.AdamW(model.parameters(), 0.1, foreach=True)\n" + LOOP,
    "a fused update": SMALL + "optimizer = torch.optim.AdamW(model.parameters(), 0.1, fused=True)\n" + LOOP,
    "no optimizer": SMALL
    + LOOP.replace("    optimizer.zero_grad()\n", "    model.zero_grad()\n").replace(
        "    optimizer.step()\n",
        "    with torch.no_grad():\n        for p in model.parameters():\n            p -= 0.1 * p.grad\n",
    ),
    "a mask by vmap, without gradients": SMALL.replace(
        "compute = lambda x, y:", "compute = lambda x, y: torch.vmap(lambda a: a * 2)(torch.ones(3)).sum() +"
    )
    + OPTIMIZERS["SGD"]
    + LOOP,
    "checkpointed blocks": CHECKPOINTED + OPTIMIZERS["AdamW"] + LOOP,
    "checkpointed blocks within checkpointed blocks": NESTED + OPTIMIZERS["AdamW"] + LOOP,
    "a block within another alone, and one that keeps a tensor of its own": NESTED.replace(
        "self.outer, x, 3,", "self.outer, x, 1,"
    ).replace("self.inner, x,", "lambda a, m=x.sigmoid(): self.inner(a) * m, x,")
    + OPTIMIZERS["SGD"]
    + LOOP,
    "checkpointed blocks under autocast, with a validation": CHECKPOINTED
    + OPTIMIZERS["SGD"]
    + LOOP.replace(
        "    loss = compute(*batch)\n",
        "    with torch.autocast('cpu', torch.bfloat16):\n        loss = compute(*batch)\n"
        "    with torch.no_grad():\n        compute(*(of[:9] for of in batch))\n",
    ),
    "an input that wants a gradient": SMALL.replace("model(x)", "model(x.requires_grad_())") + OPTIMIZERS["SGD"] + LOOP,
}


@pytest.mark.parametrize("name", ODD)
def test_steps_of_other_shapes_replay_to_the_byte(tmp_path: Path, name: str) -> None:
    run = record_text(tmp_path, HEAD + ODD[name], ["--keep-going"])
    assert run.out == printed_alone(tmp_path)
    check_replay(run)


ACCUMULATION = """\
(criterion(model(x), y) / 2).backward()
n = globals().get("n", 0) + 1
if n % 2 == 0:
    optimizer.step()
    optimizer.zero_grad()
"""


def test_accumulation_gets_its_second_batch_within_the_step(tmp_path: Path) -> None:
    found = check_replay(record_text(tmp_path, loop("loader()", ACCUMULATION)))
    assert names(found).count("hotlens::backward") == 2 and names(found).count("hotlens::input") >= 1
    assert found["batch_size"] == 8


def test_each_batch_of_an_accumulated_step_has_memory_of_its_own(tmp_path: Path) -> None:
    """Of a batch that is gone the next one may get the address."""
    step = """
loss = criterion(model(x), y)
loss.backward()
seen = globals().get("seen", 0) + 1
if seen % 16 == 0:
    optimizer.step()
    optimizer.zero_grad()
"""
    found = program(record_text(tmp_path, loop("loader(24_000)", step=step)))
    batches = [t for t in found["tensors"] if t["kind"] == "input"]
    assert len(batches) == 32
    assert len({t["storage"] for t in batches}) == 32


BATCHES = {
    "a prefetch of slices": """
def get_batch():
    rows = torch.randint(len(data) - 8, (batch_size,))
    return torch.stack([data[i : i + 8] for i in rows]), torch.stack([labels[i] for i in rows])


x, y = get_batch()
for _ in range(24):
    loss = F.cross_entropy(model(x), y)
    x, y = get_batch()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "accumulated batches of arrays": """
array = np.arange(400, dtype=np.float32)
for _ in range(24):
    for _ in range(3):
        rows = torch.randint(len(data) - 8, (batch_size,))
        x = torch.stack([torch.from_numpy(array[i : i + 8]) for i in rows]).to(torch.float64).float()
        F.cross_entropy(model(x), labels[rows]).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "views of the batch that comes next": """
batch = torch.randn(batch_size, 9)
for _ in range(24):
    loss = F.cross_entropy(model(batch[:, :-1]), batch[:, -1].long().clamp(0, 2))
    batch = torch.cat([data[int(i) : int(i) + 9].unsqueeze(0) for i in torch.randint(len(data) - 9, (batch_size,))])
    loss.backward()
    loss = F.cross_entropy(model(batch[:, :-1]), batch[:, -1].long().clamp(0, 2))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""",
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_that_is_made_within_the_step_is_an_input(tmp_path: Path, name: str) -> None:
    """However many operators make it: the steps of two batch sizes have the same."""
    start = "import numpy as np\ndata, labels = torch.randn(400), torch.randint(0, 3, (400,))\n"
    programs = []
    for size in (6, 9):
        (folder := tmp_path / str(size)).mkdir()
        text = HEAD + SMALL + OPTIMIZERS["SGD"] + start + f"batch_size = {size}\n" + BATCHES[name]
        programs.append(check_replay(record_text(folder, text)))
    assert same.difference(*programs) is None
    assert names(programs[0]).count("hotlens::input") >= 2
    assert not {"aten::stack", "aten::unbind", "aten::_local_scalar_dense"} & set(names(programs[0]))


AVERAGED = (
    SMALL
    + """
import copy
average = copy.deepcopy(model)
"""
)
FOLLOW = """    with torch.no_grad():
        for a, b in zip(average.parameters(), model.parameters()):
            a.lerp_(b, 0.1)
"""


def test_parameters_of_a_copy_have_names_of_their_own(tmp_path: Path) -> None:
    """What an optimizer knows is told by its parameter's name."""
    found = check_replay(record_text(tmp_path, HEAD + AVERAGED + OPTIMIZERS["AdamW"] + LOOP + FOLLOW))
    parameters = [t["name"] for t in found["tensors"] if t["kind"] == "parameter"]
    assert len(parameters) == len(set(parameters)) == 8
    states = {t["name"].partition(" of ")[2] for t in found["tensors"] if t["kind"] == "state"}
    assert states == {"0.weight", "0.bias", "3.weight", "3.bias"}


STREAM = """
library = torch.library.Library("aten", "IMPL")
library.impl("record_stream", lambda tensor, stream: None, "CPU")
""" + SMALL.replace("F.cross_entropy(model(x), y)", "(F.cross_entropy(model(x), y), x.record_stream(torch.Stream(device='cpu')))[0]")


def test_what_tells_the_allocator_of_another_stream_is_no_operator(tmp_path: Path) -> None:
    """On a CPU it has to be made first."""
    found = check_replay(record_text(tmp_path, HEAD + STREAM + OPTIMIZERS["SGD"] + LOOP))
    assert "aten::record_stream" not in names(found)


GIVEN = (
    SMALL.replace("model(x), y)", "model(x) + counted(y), y)").replace("torch.randint(0, 3, (6,))", "torch.randperm(6) % 3")
    + """
def counted(y):
    classes, counts = torch.unique(y, return_counts=True)
    chosen = y[y > {least}]
    return counts.sum() + torch.zeros(6, 3).index_add(0, chosen, torch.ones(len(chosen), 3)) + torch.nonzero(classes).sum()


torch.manual_seed({seed})
"""
)


def test_what_values_alone_give_a_size_is_given_where_no_gradient_flows_through(tmp_path: Path) -> None:
    """Two steps are the same where it has the same size, whatever the values are."""
    programs = []
    for least, seed in ((-1, 1), (-1, 2), (0, 1)):
        (folder := tmp_path / f"{least}.{seed}").mkdir()
        text = HEAD + GIVEN.format(least=least, seed=seed) + OPTIMIZERS["SGD"] + LOOP
        programs.append(check_replay(record_text(folder, text, ["--keep-going"])))
    given = [[o["kwargs"]["sizes"] for o in found["operators"] if "sizes" in o["kwargs"]] for found in programs]
    assert given[0] == ["[3]", "[0]", "[3]", "[6]", "[2, 1]"] == given[1]
    assert given[2] == ["[3]", "[0]", "[3]", "[4]", "[2, 1]"]
    assert not {"aten::index", "aten::nonzero", "aten::_unique2"} & set(names(programs[0]))
    assert same.difference(*programs[:2]) is None
    assert "hotlens::input" in (same.difference(programs[0], programs[2]) or "")


ROLLOUT = """\
def rollout():
    with torch.no_grad():
        for _ in range(60):
            torch.sin(model[0](torch.randn(64, 8)))

"""


@pytest.mark.parametrize("offset", range(3))
def test_the_step_of_the_program_has_no_work_that_comes_now_and_then(tmp_path: Path, offset: int) -> None:
    """Whichever step comes first, one of three offsets meets it."""
    every = f"    if i % 3 == {offset}:\n        rollout()\n    batch = data()\n"
    loop_of_40 = LOOP.replace("range(24)", "range(40)").replace("    batch = data()\n", every)
    run = record_text(tmp_path, HEAD + ROLLOUT + SMALL + OPTIMIZERS["SGD"] + loop_of_40, ["--keep-going"])
    found = check_replay(run)
    assert "aten::sin" not in names(found) and "aten::linear" in names(found)
    assert run.out == printed_alone(tmp_path)


REFUSED = {
    "custom autograd function CheckpointFunction": CHECKPOINT
    + SMALL.replace("model(x)", "checkpoint(model, x.requires_grad_(), use_reentrant=True)"),
    "keeps a part of what": CHECKPOINT
    + "from torch.utils.checkpoint import create_selective_checkpoint_contexts as contexts\n"
    + "keep = lambda: contexts([torch.ops.aten.addmm.default])\n"
    + SMALL.replace("model(x)", "checkpoint(model, x, use_reentrant=False, context_fn=keep)"),
    "does not stop early": CHECKPOINT
    + SMALL.replace("compute = lambda", "torch.utils.checkpoint._enable_checkpoint_early_stop = False\ncompute = lambda").replace(
        "model(x)", "checkpoint(model, x, use_reentrant=False)"
    ),
    "hooks on saved tensors": SMALL
    + "whole = compute\ndef compute(x, y):\n    with torch.autograd.graph.save_on_cpu():\n        return whole(x, y)\n",
    "aten::index returns depends on values": SMALL.replace("model(x)", "model(x)[y > -1]"),
    "how much aten::index_put_ writes depends on values": SMALL.replace("model(x)", "zeroed(model(x))")
    + "def zeroed(h):\n    h = h.clone()\n    h[h < 0] = 0\n    return h\n",
    "hooks on gradients": SMALL + "model[0].weight.register_hook(lambda g: g * 2)\n",
    "code that is no list of operators": SMALL.replace("model(x)", "torch.vmap(lambda a: a * 2)(model(x))"),
    "tensors of a class of their own (Image)": "class Image(torch.Tensor):\n    pass\n\n\n"
    + SMALL.replace("(torch.randn(6, 8)", "(torch.randn(6, 8).as_subclass(Image)"),
    "the model runs within torch.func": SMALL.replace("model(x)", "torch.vmap(model[0])(x)"),
    "layout sparse_coo": SMALL.replace("nn.Linear(8, 16)", "nn.Embedding(9, 2, sparse=True), nn.Flatten()").replace(
        "torch.randn(6, 8)", "torch.randint(0, 9, (6, 8))"
    ),
    "set by hand": SMALL.replace("model(x), y)", "model(x), by_hand() or y)")
    + "def by_hand():\n    model[0].bias.grad = torch.zeros(16)\n",
    "torch.compile": SMALL + "model = torch.compile(model, backend='eager')\n",
    "no way to see operators": SMALL + "del torch._C._EnablePythonDispatcher\n",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_replayed_is_refused_with_the_reason(tmp_path: Path, words: str) -> None:
    optimizer = OPTIMIZERS["SGD"].replace(", momentum=0.9, weight_decay=1e-4", "")
    run = record_text(tmp_path, HEAD + REFUSED[words] + optimizer + LOOP, ["--keep-going"])
    found = program(run)
    assert words in found["refused"] and found["operators"] == [] and found["allocator"] is None
    assert {w["code"] for w in run.bundle.manifest["warnings"]} <= {"compiled"}


def test_a_step_of_too_many_operators_is_refused(tmp_path: Path) -> None:
    step = "x = batch[0]\n    for _ in range(60001):\n        x = x.view(6, 8)\n    loss = compute(x, batch[1])"
    run = record_text(tmp_path, HEAD + SMALL + OPTIMIZERS["SGD"] + LOOP.replace("loss = compute(*batch)", f"model(batch[0])\n    {step}"))
    assert "more than 60000 operators" in program(run)["refused"]


def test_a_program_that_is_too_large_leaves_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_file, "LARGEST_BYTES", 100)
    text = {"refused": None, "modules": [1], "tensors": list(range(1000)), "operators": [1]}
    found = json.loads(gzip.decompress(program_file.compressed(text)))
    assert found == {"refused": program_file.TOO_LARGE, "modules": [], "tensors": [], "operators": []}


@pytest.mark.parametrize("broken", ["torch.nn.modules.module.register_module_forward_hook", "torch.Tensor.untyped_storage"])
def test_a_failure_of_the_recording_is_a_warning_and_the_profile_is_whole(tmp_path: Path, broken: str) -> None:
    """Broken under its hands once the step is known, as another PyTorch might be."""
    breaks = f"    if i == 6:\n        {broken} = None\n    batch = data()\n"
    text = HEAD + SMALL + OPTIMIZERS["SGD"] + LOOP.replace("    batch = data()\n", breaks)
    run = record_text(tmp_path, text, ["--keep-going"])
    assert run.code == 0, run.err
    manifest = run.bundle.manifest
    assert [w["code"] for w in manifest["warnings"]] == ["program_failed"] and "TypeError" in manifest["warnings"][0]["message"]
    assert "program" not in manifest and manifest["steps_measured"] == 5 and "map_trace" in manifest
    assert run.out == printed_alone(tmp_path)


def test_kinds_names_modules_and_stages(tmp_path: Path) -> None:
    found = program(record_text(tmp_path, loop().replace("optim.SGD(model.parameters(), lr=0.1)", "optim.Adam(model.parameters())")))
    kinds = {(t["kind"], t["name"]) for t in found["tensors"] if t["kind"] not in ("input", "other")}
    parameters = ("a.weight", "a.bias", "b.weight", "b.bias")
    states = {("state", f"{name} of {p}") for name in ("exp_avg", "exp_avg_sq", "step") for p in parameters}
    assert kinds == {("parameter", p) for p in parameters} | states
    inputs = [t for t in found["tensors"] if t["kind"] == "input"]
    assert [t["shape"] for t in inputs] == [[8, 8], [8]] and 0 <= inputs[1]["min"] <= inputs[1]["max"] <= 2
    assert found["batch_size"] == 8 and found["minor_faults"] >= 0
    modules = {m["path"]: m for m in found["modules"]}
    assert modules["a"]["class"] == "Linear" and modules["a"]["attributes"] == {"in_features": 8, "out_features": 16}
    assert found["modules"][0]["path"] == "" and modules[""]["attributes"] == {}
    first = next(o for o in found["operators"] if o["op"] == "aten::linear")
    assert found["modules"][first["module"]]["path"] == "a" and first["stage"] == "forward" and first["grad"] and first["shapes"] == [8, 16]
    assert names(found, "forward")[0] == "aten::linear" and "aten::cross_entropy_loss" in names(found, "loss")
    assert "aten::addcdiv_" in names(found, "optimizer") and not any(o["grad"] for o in found["operators"] if o["op"] == "aten::addcdiv_")


def test_zeros_of_a_state_are_counted(tmp_path: Path) -> None:
    rows = """
model = nn.Sequential(nn.Embedding(100, 4), nn.Linear(4, 3))
optimizer = torch.optim.Adam(model.parameters())
data = lambda: (torch.arange(10), torch.randint(0, 3, (10,)))
compute = lambda x, y: F.cross_entropy(model(x), y)
"""
    found = program(record_text(tmp_path, HEAD + rows + LOOP))["tensors"]
    assert {t["name"]: t["zeros"] for t in found if "zeros" in t} == {"exp_avg of 0.weight": 0.9, "exp_avg_sq of 0.weight": 0.9}


def test_columns_of_whole_numbers_have_bounds_of_their_own(tmp_path: Path) -> None:
    table = """
class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.large, self.idle = nn.Embedding(3, 4), nn.Embedding(90, 4), nn.Linear(5, 5)
        self.head = nn.Linear(4, 3)
    def forward(self, codes):
        return self.head(self.small(codes[:, 0]) + self.large(codes[:, 1]))
model = Table()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
codes = torch.stack([torch.arange(100) % 3, 5 + torch.arange(100) % 80], 1)
data = lambda: (codes, torch.randint(0, 3, (100,)))
compute = lambda x, y: F.cross_entropy(model(x), y)
"""
    found = program(record_text(tmp_path, HEAD + table + LOOP))["tensors"]
    (codes,) = [t for t in found if t["kind"] == "input" and t["shape"] == [100, 2]]
    assert (codes["min"], codes["max"]) == (0, 84) and codes["slices"] == [{"dim": 1, "min": [0, 5], "max": [2, 84]}]
    # What the model holds is in memory, whoever calls it.
    assert {"idle.weight", "idle.bias"} < {t["name"] for t in found if t["kind"] == "parameter"}


def test_nothing_of_the_recording_stays_in_torch(tmp_path: Path) -> None:
    look = """
def look():
    from torch.autograd.graph import saved_tensors_hooks
    from torch.nn.modules import module
    from torch.utils import checkpoint
    from torch.utils.data import dataloader
    values = (torch.autograd._engine_run_backward, vars(torch.autograd.Function)["apply"], torch.clear_autocast_cache,
              saved_tensors_hooks.__enter__, torch.Tensor.register_hook, torch._ops.HigherOrderOperator.__call__,
              torch._ops.OpOverload._get_dispatch, torch.optim.Optimizer.zero_grad, torch.nn.Module.zero_grad,
              dataloader._SingleProcessDataLoaderIter._next_data, torch._functorch.vmap._vmap_increment_nesting,
              checkpoint._checkpoint_without_reentrant_generator)
    key = torch._C.DispatchKey.PreDispatch
    return [id(v) for v in values], len(module._global_forward_hooks), torch._C._dispatch_tls_is_dispatch_key_included(key)
before = look()
"""
    run = record_text(tmp_path, HEAD + look + SMALL + OPTIMIZERS["SGD"] + LOOP + "print(look() == before)\n", ["--keep-going"])
    assert run.out.splitlines()[-1] == "True" and program(run)["refused"] is None
