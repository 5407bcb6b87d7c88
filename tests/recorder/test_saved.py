"""What the forward pass keeps until the backward pass: to the byte what hooks on saved tensors see, and whose it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import Bundle, plain, record_text
from hotlens.map_step.saved import NO_BACKWARD, SavedTensors
from saved_hooks import hooked_bytes
from scripts import MODEL, STEP, indent
from torch import nn
from torch.utils.checkpoint import checkpoint

FLOAT = 4
Forward = Callable[[], Any]


def looked_at(modules: list[nn.Module], forward: Forward) -> SavedTensors:
    """The step as the map step runs it, all of it in one place."""
    saved = SavedTensors([m for module in modules for m in module.modules()])
    saved.start()
    try:
        forward().backward()
    finally:
        saved.stop()
    return saved


def convolutional() -> tuple[list[nn.Module], Forward]:
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.2), nn.Flatten(), nn.LazyLinear(5))
    x, y = torch.randn(4, 3, 12, 12), torch.randint(0, 5, (4,))
    net(x)
    return [net], lambda: F.cross_entropy(net(x), y)


def transformer() -> tuple[list[nn.Module], Forward]:
    net = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    x = torch.randn(3, 7, 16)
    return [net], lambda: net(x).square().mean()


def recurrent() -> tuple[list[nn.Module], Forward]:
    embed, net, head = nn.Embedding(20, 8), nn.LSTM(8, 16, num_layers=2), nn.Linear(16, 20)
    x = torch.randint(0, 20, (6, 4))
    return [embed, net, head], lambda: F.cross_entropy(head(net(embed(x))[0]).flatten(0, 1), x.flatten())


def views_and_lists() -> tuple[list[nn.Module], Forward]:
    net = nn.Linear(8, 8)
    x = torch.randn(4, 8)

    def forward() -> Any:
        a, b = net(x).chunk(2, dim=1)
        both = torch.cat([a.tanh(), b.t().contiguous().t().exp()], 1)
        return (both[:, torch.tensor([0, 3])] * both.expand(2, 4, 8)[0, :, :2]).sum()

    return [net], forward


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


def custom() -> tuple[list[nn.Module], Forward]:
    net = nn.Linear(8, 8)
    x = torch.randn(4, 8)
    return [net], lambda: Squared.apply(net(x)).sum()


def numbers() -> tuple[list[nn.Module], Forward]:
    """Numbers of Python are no tensors; those that look alike are."""
    net = nn.Linear(8, 8)
    x, double, whole = torch.randn(4, 8), torch.tensor(2.5, dtype=torch.float64), torch.tensor(3)
    return [net], lambda: ((net(x).exp() * 2.5 * double) * 3 * whole / 2).sum()


MODELS = [numbers, convolutional, transformer, recurrent, views_and_lists, custom]


@pytest.mark.parametrize("model", MODELS, ids=lambda f: f.__name__)
def test_the_sum_is_what_hooks_see_to_the_byte(model: Callable[[], tuple[list[nn.Module], Forward]]) -> None:
    modules, forward = model()
    found = looked_at(modules, forward).found
    assert found is not None and not found.hooked and not found.opaque and found.unreadable == 0
    assert found.bytes() == hooked_bytes(forward) > 0


def rows(saved: SavedTensors) -> list[tuple[str, tuple[str, ...], int]]:
    """Kind, who keeps it as what, bytes."""
    assert saved.found is not None
    return sorted((k.kind, tuple(sorted(f"{s.node}.{what}" for s, what in k.by)), k.bytes) for k in saved.found.storages.values())


def test_a_linear_layer_keeps_its_input_and_the_first_one_no_weight() -> None:
    net = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))
    x = torch.randn(3, 8)
    assert rows(looked_at([net], lambda: net(x).sum())) == [
        ("activation", ("AddmmBackward0.mat1",), 3 * 4 * FLOAT),
        ("activation", ("AddmmBackward0.mat1",), 3 * 8 * FLOAT),  # no call of the loop has been told of, so it is no input
        ("parameter", ("AddmmBackward0.mat2",), 2 * 4 * FLOAT),
    ]


def test_a_storage_that_two_nodes_keep_counts_once() -> None:
    net = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
    x = torch.randn(3, 8)
    found = rows(looked_at([net], lambda: net(x).sum()))
    assert ("activation", ("AddmmBackward0.mat1", "ReluBackward0.result"), 3 * 4 * FLOAT) in found and len(found) == 3


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpointed_block_is_not_looked_into_and_not_run_again(reentrant: bool) -> None:
    runs = []

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            runs.append(x)
            return self.inner(x).tanh()

    first, block = nn.Linear(8, 8), Block()
    x = torch.randn(3, 8)
    saved = looked_at([first, block], lambda: checkpoint(block, first(x), use_reentrant=reentrant).sum())
    assert len(runs) == 2, "the forward pass, and once more in the backward pass"
    assert saved.found is not None
    names = {s.node for kept in saved.found.storages.values() for s, _ in kept.by}
    assert "TanhBackward0" not in names
    assert {s.node for s in saved.found.hooked} == (set() if reentrant else {"AddmmBackward0", "TanhBackward0"})
    assert ("CheckpointFunctionBackward" in names) == reentrant


def test_what_hooks_of_the_script_hold_is_theirs() -> None:
    net = nn.Linear(8, 8)
    x, unpacked = torch.randn(3, 8), []

    def unpack(tensor: Any) -> Any:
        unpacked.append(tensor)
        return tensor

    def forward() -> Any:
        y = net(x).exp()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = y.sin()
        return y.sum()

    saved = SavedTensors([net])
    saved.start()
    loss = forward()
    before = len(unpacked)
    loss.backward()
    saved.stop()
    assert before == 0 and len(unpacked) == 1, "the backward pass alone has unpacked"
    assert saved.found is not None and {s.node for s in saved.found.hooked} == {"SinBackward0"}
    assert {s.node for k in saved.found.storages.values() for s, _ in k.by} == {"AddmmBackward0", "ExpBackward0"}


def test_of_several_backward_passes_the_one_that_keeps_most() -> None:
    net = nn.Linear(8, 8)
    saved = SavedTensors([net])
    saved.start()
    for rows_of_batch in (2, 5, 3):
        x = torch.randn(rows_of_batch, 8)
        net(x).tanh().sum().backward()
    saved.stop()
    assert (saved.number, saved.passes) == (2, 3)
    assert saved.found is not None and saved.found.bytes() == 2 * 5 * 8 * FLOAT


def test_a_graph_that_only_a_result_holds_counts() -> None:
    net = nn.Linear(8, 8)
    saved = SavedTensors([net])
    saved.start()
    used, beside = net(torch.randn(2, 8)), net(torch.randn(4, 8)).tanh()
    saved.left({"beside": beside})
    used.sum().backward()
    saved.stop()
    assert saved.found is not None and saved.found.bytes() == (2 * 8 + 2 * 4 * 8) * FLOAT


def test_double_backward_and_freed_graphs_are_no_fault() -> None:
    net = nn.Linear(8, 8)
    saved = SavedTensors([net])
    saved.start()
    x = torch.randn(2, 8, requires_grad=True)
    (gradient,) = torch.autograd.grad(net(x).tanh().sum(), x, create_graph=True)
    gradient.square().sum().backward()
    loss = net(x).tanh().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    torch.func.grad(lambda t: t.sin().sum())(torch.randn(3))
    saved.stop()
    assert saved.refused is None and saved.found is not None and saved.found.unreadable == 0 and saved.passes == 4


def test_a_step_without_a_backward_pass_says_so_and_torch_is_as_before() -> None:
    before = torch.autograd._engine_run_backward, vars(torch.autograd.graph.saved_tensors_hooks)["__enter__"]
    saved = SavedTensors([])
    saved.start()
    saved.stop()
    assert saved.refused == NO_BACKWARD
    assert before == (torch.autograd._engine_run_backward, vars(torch.autograd.graph.saved_tensors_hooks)["__enter__"])


# -- a run

NET = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = F.relu(self.bn(self.conv(x)))
        return self.drop(y)


class Attention(nn.Module):
    def forward(self, x):
        scores = x @ x.transpose(1, 2)
        return scores.softmax(-1) @ x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.again = Block()
        self.attention = Attention()
        self.head = nn.Linear(64, 3)

    def forward(self, x):
        x = self.first(x)
        x = checkpoint(self.again, x, use_reentrant=False)
        x = self.attention(x.flatten(2))
        return self.head(x.mean(1))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(40):
    x, y = torch.randn(2, 4, 8, 8), torch.randint(0, 3, (2,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return record_text(tmp_path_factory.mktemp("saved"), NET).bundle


def saved_json(bundle: Bundle) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bundle.path / bundle.manifest["saved"]).read_text(encoding="utf-8"))
    return found


def test_each_tensor_has_its_module_and_its_node(bundle: Bundle) -> None:
    saved, modules = saved_json(bundle), bundle.model["modules"]

    def holder(by: dict[str, Any]) -> tuple[str, str, str]:
        saver = saved["savers"][by["saver"]]
        return modules[saver["module"]]["path"] if saver["module"] >= 0 else "-", saver["node"], by["as"]

    image = 2 * 4 * 8 * 8 * FLOAT
    found = {(r["kind"], frozenset(holder(b) for b in r["by"])): (r["bytes"], r["count"]) for r in saved["storages"]}
    of = {
        ("input", frozenset({("first.conv", "ConvolutionBackward0", "input")})): image,
        ("parameter", frozenset({("first.bn", "NativeBatchNormBackward0", "weight")})): 4 * FLOAT,
        ("buffer", frozenset({("first.bn", "NativeBatchNormBackward0", "running_mean")})): 4 * FLOAT,
        ("activation", frozenset({("first.bn", "NativeBatchNormBackward0", "input")})): image,
        ("activation", frozenset({("first", "ReluBackward0", "result")})): image,
        ("activation", frozenset({("first.drop", "MulBackward0", "other")})): image,
        ("activation", frozenset({("attention", "SoftmaxBackward0", "result"), ("attention", "BmmBackward0", "self")})): 2 * 4 * 4 * FLOAT,
        ("input", frozenset({("-", "NllLossBackward0", "target")})): 2 * 8,
    }
    for key, size in of.items():
        assert found.get(key) == (size, 1), key


def test_looking_runs_no_operator() -> None:
    net, x = nn.Linear(8, 8), torch.randn(4, 8)
    loss = (net(x).exp() * 2.5).sum()
    saved = SavedTensors([net])
    saved.start()
    with torch.profiler.profile() as profile:
        saved._look((loss,))
        torch.add(x, x)
    saved.stop()
    assert saved.found is not None and [event.name for event in profile.events()] == ["aten::add"]


def test_its_line_is_the_one_that_ran(bundle: Bundle) -> None:
    saved, lines = saved_json(bundle), bundle.model["lines"]
    text = NET.splitlines()
    place = {s["node"]: text[lines[s["line"]]["line"]].strip() for s in saved["savers"]}
    assert place["ReluBackward0"] == "y = F.relu(self.bn(self.conv(x)))"
    assert place["SoftmaxBackward0"] == "return scores.softmax(-1) @ x"
    assert place["NllLossBackward0"] == "loss = F.cross_entropy(model(x), y)"


def test_a_checkpointed_block_keeps_its_input_alone(bundle: Bundle) -> None:
    saved, modules = saved_json(bundle), bundle.model["modules"]
    named = {modules[saved["savers"][row["saver"]]["module"]]["path"] for row in saved["hooked"]}
    assert named == {"again", "again.conv", "again.bn", "again.drop"}


def test_an_inference_has_nothing_to_keep(tmp_path: Path) -> None:
    text = MODEL + "del optimizer\nmodel.eval()\ntorch.set_grad_enabled(False)\nfor x, y in loader():\n    model(x)\n"
    assert saved_json(record_text(tmp_path, text).bundle) == {"schema": "hotlens.saved/1", "refused": NO_BACKWARD}


@pytest.mark.parametrize(("setting", "told"), [("True", 1), ("False", 0)])
def test_a_search_for_anomalies_is_told(tmp_path: Path, setting: str, told: int) -> None:
    run = record_text(tmp_path, NET.replace("import torch\n", f"import torch\ntorch.autograd.set_detect_anomaly({setting})\n", 1))
    assert [row["code"] for row in run.bundle.manifest["warnings"]].count("anomaly_detection") == told


def test_losses_are_the_same_to_the_last_bit(tmp_path: Path) -> None:
    """With hooks, a checkpoint, a custom function and a penalty on the gradient in the step that is looked at."""
    text = (
        MODEL
        + """
from torch.utils.checkpoint import checkpoint
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g
for x, y in loader():
    x.requires_grad_()
    h = checkpoint(model.a, x, use_reentrant=False)
    with torch.autograd.graph.save_on_cpu():
        h = h.tanh()
    out = model.b(Twice.apply(h))
    g, = torch.autograd.grad(out.sum(), x, create_graph=True)
    optimizer.zero_grad()
    loss = criterion(out, y) + g.square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""
    )
    run = record_text(tmp_path, text, ["--keep-going"])
    assert run.code == 0 and saved_json(run.bundle)["refused"] is None
    alone = plain(tmp_path, ["train.py"])
    assert run.out == alone.stdout and len(run.out.split()) == 50


def test_the_step_is_the_loop_of_the_example(tmp_path: Path) -> None:
    run = record_text(tmp_path, MODEL + "for x, y in loader():\n" + indent(STEP))
    saved = saved_json(run.bundle)
    assert saved["refused"] is None and (saved["pass"], saved["passes"]) == (1, 1)
    kept = sum(r["bytes"] * r["count"] for r in saved["storages"])
    # x, relu's result, the log-probabilities, the targets, the weight of the loss, the weight of `b`
    assert kept == 8 * 8 * FLOAT + 8 * 16 * FLOAT + 8 * 3 * FLOAT + 8 * 8 + FLOAT + 3 * 16 * FLOAT
