"""Custom autograd functions: the operators of both passes are in the program, and its replay holds what the step held, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import printed_alone, record_text
from test_program import CHECKPOINT, HEAD, LOOP, OPTIMIZERS, check_replay, program

# A model that applies `call` to what is between its layers.
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(64, 512), nn.Linear(512, 3)

    def forward(self, x):
        h = self.first(x)
        for _ in range(3):
            h = {call}
        return self.last(h)


model = Net()
data = lambda: (torch.randn(300, 64), torch.randint(0, 3, (300,)))
compute = lambda x, y: F.cross_entropy(model(x), y)
"""
SWISH = """
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x * torch.sigmoid(x)
        ctx.save_for_backward(x)
        return result

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return gradient * (s * (1 + x * (1 - s)))
"""
SEVERAL = """
class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, weight, unused):
        ctx.scale, ctx.shape = scale, x.shape
        opened = torch.sigmoid(x * scale)
        ctx.save_for_backward(x, opened, None, weight)
        ctx.mask = opened > 0.5
        return x * opened * weight, opened.mean(1)

    @staticmethod
    def backward(ctx, by_result, by_mean):
        x, opened, nothing, weight = ctx.saved_tensors
        inner = by_result * opened
        inner.add_(by_mean.unsqueeze(1).expand(ctx.shape) * 0.1)
        return inner * weight * ctx.mask, None, (by_result * ctx.saved_tensors[0] * opened).sum((0,)), None
"""
SETUP = """
class Squared(torch.autograd.Function):
    @staticmethod
    def forward(x, weight):
        return x * x + weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def vjp(ctx, gradient):
        x, output = ctx.saved_tensors
        return 2 * gradient * x * torch.tanh(output), gradient.sum(0)
"""
REVERSED = """
class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient.neg()
"""
WRITTEN = """
class Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.empty_like(x)
        torch.mul(x, 2, out=result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        return gradient.mul_(2)
"""
UNDER_AUTOCAST = """
class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight.t(), x.t() @ gradient
"""
CASES = {
    "one that saves its input": SWISH + NET.format(call="Swish.apply(h)"),
    "several results, a tensor that it keeps, numbers, what is not there": SEVERAL
    + NET.format(call="(lambda pair: pair[0] + pair[1].unsqueeze(1))(Gate.apply(h, 0.5, self.last.weight[0], None))"),
    "a result that nobody reads": SEVERAL + NET.format(call="Gate.apply(h, 0.5, self.last.weight[0], None)[0]"),
    "a context that is set up apart": SETUP + NET.format(call="Squared.apply(h, self.last.weight[1])"),
    "an input that it returns": REVERSED + NET.format(call="Reversed.apply(h) * 2"),
    "memory that an operator fills": WRITTEN + NET.format(call="Written.apply(h)"),
    "in a checkpointed block": CHECKPOINT + SWISH + NET.format(call="checkpoint(lambda a: Swish.apply(a * 2), h, use_reentrant=False)"),
    "without gradients": SWISH
    + NET.format(call="Swish.apply(h)").replace(
        "model = Net()", "model = Net()\nfor p in model.first.parameters():\n    p.requires_grad_(False)"
    ),
    "its own autocast": UNDER_AUTOCAST
    + NET.format(call="Product.apply(h, self.square)").replace(
        "        self.first,", "        self.square = nn.Parameter(torch.randn(512, 512) / 23)\n        self.first,"
    ),
}
AUTOCAST = LOOP.replace("    loss = compute(*batch)\n", "    with torch.autocast('cpu', torch.bfloat16):\n        loss = compute(*batch)\n")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", CASES)
def test_a_custom_function_replays_to_the_byte(tmp_path: Path, name: str, optimizer: str) -> None:
    text = HEAD + CASES[name] + OPTIMIZERS[optimizer] + (AUTOCAST if "autocast" in name else LOOP)
    run = record_text(tmp_path, text, ["--keep-going"])
    assert run.out == printed_alone(tmp_path)  # to the last bit of every loss
    assert run.bundle.manifest["warnings"] == []
    check_replay(run)


def applications(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [o for o in found["operators"] if o["op"] == "hotlens::function"]


def ops(row: list[dict[str, Any]]) -> list[str]:
    return [o["op"].partition("::")[2] for o in row if o["op"] != "hotlens::free"]


def test_both_passes_are_told_with_the_module_that_applies_it(tmp_path: Path) -> None:
    found = program(record_text(tmp_path, HEAD + CASES["one that saves its input"] + OPTIMIZERS["SGD"] + LOOP))
    rows = applications(found)
    assert len(rows) == 3
    for row in rows:
        assert row["kwargs"] == {"name": "Swish"}
        assert ops(row["forward"]) == ["sigmoid", "mul", "returned", "save"]
        assert ops(row["backward"]) == ["received", "saved", "sigmoid", "rsub", "mul", "add", "mul", "mul", "returned"]
        assert row["forward"][-1]["args"] == row["args"]
        assert {o["module"] for o in row["backward"]} == {row["module"]} and not any(o["grad"] for o in row["backward"])
    assert [row["out"] for row in rows[:2]] == [[row["args"][0]["t"]] for row in rows[1:]]


def test_one_whose_result_needs_no_gradient_has_ordinary_operators(tmp_path: Path) -> None:
    text = HEAD + CASES["without gradients"] + OPTIMIZERS["SGD"] + LOOP
    found = program(record_text(tmp_path, text, ["--keep-going"]))
    assert applications(found) == [] and [o["op"] for o in found["operators"]].count("aten::sigmoid") == 3


BODY = """
class Odd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        {forward}

    @staticmethod
    def backward(ctx, gradient):
        {backward}
"""


def odd(forward: str = "return x * 2", backward: str = "return gradient * 2", call: str = "Odd.apply(h)") -> str:
    return BODY.format(forward=forward, backward=backward) + NET.format(call=call)


REFUSED = {
    "reads values in its backward pass": odd(backward="return gradient * (2 if gradient.sum() > 0 else 3)"),
    "changes its input (mark_dirty)": odd("ctx.mark_dirty(x); return x.mul_(2)", call="Odd.apply(h * 1)"),
    "gives something without a gradient (mark_non_differentiable)": odd(
        "a = x * 2; ctx.mark_non_differentiable(b := x > 0); return a, b", "return a * 2", "Odd.apply(h)[0]"
    ).replace("backward(ctx, gradient)", "backward(ctx, a, b)"),
    "gets no gradient for one of its results": odd(
        "ctx.set_materialize_grads(False); return x * 2, x * 3", "return a * 2", "Odd.apply(h)[0]"
    ).replace("backward(ctx, gradient)", "backward(ctx, a, b)"),
    "computes with code that is no operator": odd("y = torch.empty_like(x); y.numpy()[:] = x.numpy(); return y"),
    "does something that is no list of operators": odd("return torch.from_numpy(x.numpy() * 2)"),
    "runs autograd within": odd(
        "ctx.save_for_backward(x); return x * 2",
        "x = ctx.saved_tensors[0].detach().requires_grad_()\n        with torch.enable_grad():\n            y = x * 2\n"
        "        return torch.autograd.grad(y, x, gradient)[0]",
    ),
    "runs in a backward pass that has a gradient itself": odd().replace(
        "compute = lambda x, y: F.cross_entropy(model(x), y)",
        "def compute(x, y):\n    x.requires_grad_()\n    loss = F.cross_entropy(model(x), y)\n"
        "    return loss + torch.autograd.grad(loss, x, create_graph=True)[0].square().sum()",
    ),
    "runs its backward pass more than once": odd().replace(
        "compute = lambda x, y: F.cross_entropy(model(x), y)",
        "def compute(x, y):\n    loss = F.cross_entropy(model(x), y)\n    loss.backward(retain_graph=True)\n    return loss",
    ),
    "keeps its own result": odd("ctx.y = x * 2; return ctx.y", "return gradient * ctx.y.sign()"),
    "works on gradients of parameters": odd(backward="model.last.bias.grad.mul_(2); return gradient * 2"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_only_running_it_tells_is_refused(tmp_path: Path, words: str) -> None:
    kept = LOOP.replace("zero_grad()", "zero_grad(set_to_none=False)")
    run = record_text(tmp_path, HEAD + REFUSED[words] + OPTIMIZERS["SGD"] + kept, ["--keep-going"])
    assert run.out == printed_alone(tmp_path)
    found = program(run)
    assert f"the custom autograd function Odd {words}" in found["refused"] and found["operators"] == []
    assert run.bundle.manifest["warnings"] == []
