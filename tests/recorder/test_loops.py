"""What a person means by a step, where the usual marks are missing, doubled or misleading.

The scripts count for themselves: each call of a model opens a range `mine` (`evaluation` where it is not training), and a measured step
holds whole ranges, as many as a person would count.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Bundle, record_text
from hotlens.steps.finder import CYCLE, LONG_PATIENCE, PATIENCE, StepFinder, usual_side_events
from scripts import indent
from test_bundle import check_bundle
from test_frameworks import whole_calls
from test_map_step import check_nesting, markers

SETUP = """\
import torch
from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, inputs=8, outputs=3):
        super().__init__()
        self.a = nn.Linear(inputs, 16)
        self.b = nn.Linear(16, outputs)

    def forward(self, x):
        with record_function("mine" if self.training else "evaluation"):
            return self.b(self.a(x).relu())


def loader(n=400, **more):
    return DataLoader(TensorDataset(torch.randn(n, 8), torch.randint(0, 3, (n,))), batch_size=8, **more)


def evaluate(calls):
    model.eval()
    with torch.no_grad():
        for _ in range(calls):
            model(torch.randn(8, 8))
    model.train()


model = Net()
"""
OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
STEP = """\
optimizer.zero_grad()
nn.functional.cross_entropy(model(x), y).backward()
optimizer.step()
"""
FRESH = "x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\n"


def over_data(step: str, data: str = "loader()") -> str:
    return f"for x, y in {data}:\n" + indent(step)


def without_data(step: str, times: int = 60) -> str:
    return f"for i in range({times}):\n" + indent(FRESH + step)


SAM = """\
class SAM(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})
        self.base = torch.optim.SGD(self.param_groups, lr=0.1)

    def step(self, closure):
        closure()
        closure()
        self.base.step()

optimizer = SAM(list(model.parameters()))
def closure():
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
"""
SCALER = """\
optimizer.zero_grad()
scale = 1e38 if i % 3 == 1 else 1.0
scaler.scale(nn.functional.cross_entropy(model(x), y) * scale).backward()
scaler.step(optimizer)
scaler.update()
"""
CRITIC = """\
for _ in range(5):
    d_optimizer.zero_grad()
    (critic(model(x).detach()).mean() - critic(torch.randn(8, 3)).mean()).backward()
    d_optimizer.step()
optimizer.zero_grad()
(-critic(model(x)).mean()).backward()
optimizer.step()
"""
FUNCTIONAL = """\
from torch.func import functional_call, grad
weights = {k: v.detach() for k, v in model.named_parameters()}
def loss(weights, x, y):
    return nn.functional.cross_entropy(functional_call(model, weights, (x,)), y)
"""
FUNCTIONAL_STEP = "gradients = grad(loss)(weights, x, y)\nweights = {k: v - 0.1 * gradients[k] for k, v in weights.items()}\n"
AUTOGRAD_STEP = """\
found = torch.autograd.grad(nn.functional.cross_entropy(model(x), y), list(model.parameters()))
for p, g in zip(model.parameters(), found):
    p.data.sub_(0.1 * g)
"""
GENERATED = """\
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        while True:
            yield torch.randn(8), torch.randint(0, 3, (), dtype=torch.long)
data = DataLoader(Stream(), batch_size=8, num_workers=2)
"""
EPOCHS_OF_ONE = "data = loader(8)\nfor epoch in range(60):\n" + indent(over_data(STEP, "data"))
BROKEN_OFF = "train, test = loader(), loader(64)\nfor epoch in range(30):\n" + indent(
    "for i, (x, y) in enumerate(train):\n"
    + indent(STEP)
    + "    if i == 3:\n        break\nmodel.eval()\nfor x, y in test:\n    model(x)\nmodel.train()\n"
)


class Loop(NamedTuple):
    name: str
    script: str
    by: str
    calls: int = 1
    options: tuple[str, ...] = ()
    seen: str = "mine"
    left_out: bool = False  # some steps are not steps of training
    by_hand: str | None = None  # no optimizer: what is said of the step


NO_GRADIENTS = "model.eval()\ntorch.set_grad_enabled(False)\n"
LOOPS = [
    Loop("inference", NO_GRADIENTS + without_data("model(x)\n"), "forward", seen="evaluation"),
    Loop("inference over data", NO_GRADIENTS + over_data("model(x)\n"), "loader", seen="evaluation"),
    Loop(
        "inference, many calls on a batch", NO_GRADIENTS + over_data("for _ in range(3):\n    model(x)\n"), "loader", 3, seen="evaluation"
    ),
    Loop(
        "inference, two models",
        NO_GRADIENTS + "second = Net(3).eval()\n" + without_data("h = model(x)\nfor _ in range(2):\n    second(h)\n"),
        "forward",
        3,
        (),
        "evaluation",
    ),
    Loop("evaluation before training", "evaluate(14)\n" + OPTIMIZER + without_data(STEP), "optimizer"),
    Loop("evaluation among steps", OPTIMIZER + without_data("if i % 4 == 0:\n    evaluate(5)\n" + STEP), "optimizer", left_out=True),
    Loop(
        "evaluation within a batch",
        OPTIMIZER + "n = 0\n" + over_data(STEP + "n += 1\nif n % 4 == 0:\n    evaluate(5)\n"),
        "loader",
        left_out=True,
    ),
    Loop("epochs that are broken off", OPTIMIZER + BROKEN_OFF, "loader", left_out=True),
    Loop("epochs of one batch", OPTIMIZER + EPOCHS_OF_ONE, "loader"),
    Loop("scaler that skips", OPTIMIZER + "scaler = torch.amp.GradScaler('cpu', init_scale=4.0)\n" + without_data(SCALER), "optimizer"),
    Loop("an optimizer around another", SAM + without_data("optimizer.step(closure)\n"), "optimizer", 2),
    Loop(
        "five of one, one of the other",
        OPTIMIZER + "critic = nn.Linear(3, 1)\nd_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)\n" + without_data(CRITIC),
        "optimizer",
        6,
    ),
    Loop("torch.func.grad", FUNCTIONAL + without_data(FUNCTIONAL_STEP), "backward", by_hand="end with the backward pass"),
    Loop("torch.func.grad over data", FUNCTIONAL + over_data(FUNCTIONAL_STEP), "loader", by_hand="One DataLoader batch"),
    Loop("torch.autograd.grad", without_data(AUTOGRAD_STEP), "backward", by_hand="end with the backward pass"),
    Loop("generated data from workers", OPTIMIZER + GENERATED + over_data(STEP, "data"), "loader"),
    Loop("two loaders", OPTIMIZER + "for (x, y), _ in zip(loader(), loader(400, shuffle=True)):\n" + indent(STEP), "loader"),
    Loop("asked for forward", OPTIMIZER + over_data(STEP), "forward", 1, ("--step", "forward")),
    Loop("asked for optimizer", OPTIMIZER + over_data(STEP), "optimizer", 1, ("--step", "optimizer")),
    Loop(
        "asked for loader",
        OPTIMIZER + "optimizer.zero_grad()\n" + over_data(STEP + "optimizer.step()\n"),
        "loader",
        1,
        ("--step", "loader"),
    ),
    Loop(
        "asked for forward, evaluated",
        OPTIMIZER + without_data("if i % 4 == 0:\n    evaluate(3)\n" + STEP),
        "forward",
        1,
        ("--step", "forward"),
        left_out=True,
    ),
]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda s: s.name)
def test_a_step_is_what_a_person_means(tmp_path: Path, loop: Loop) -> None:
    run = record_text(tmp_path, SETUP + loop.script, loop.options)
    assert run.code == 0, run.err
    bundle = run.bundle
    check_bundle(bundle)
    check_nesting(markers(bundle))
    manifest = bundle.manifest
    assert manifest["step"]["by"] == loop.by, manifest["step"]
    warnings = {w["code"]: w["message"] for w in manifest["warnings"]}
    expected = {"steps_left_out": loop.left_out, "no_optimizer": loop.by_hand is not None}
    assert set(warnings) == {code for code, said in expected.items() if said}
    assert loop.by_hand is None or loop.by_hand in warnings["no_optimizer"]
    calls = whole_calls(bundle, loop.seen)
    assert calls == [loop.calls] * 5
    check_ranges_stay_in_steps(bundle)
    other = "evaluation" if loop.seen == "mine" else "mine"
    assert whole_calls(bundle, other) == [0] * 5


def check_ranges_stay_in_steps(bundle: Bundle) -> None:
    """A range that reaches over the begin of a step would be read as what the step is in, and cut it short."""
    for name in ("trace-0.json.gz", "trace-map.json.gz"):
        ranges = [(e["ts"], e["ts"] + e["dur"], e["name"]) for e in bundle.trace(name) if e.get("cat") == "user_annotation"]
        begins = [begin for begin, _, name in ranges if name.startswith(("ProfilerStep#", "between steps"))]
        assert begins
        assert [name for begin, end, name in ranges if any(begin < at < end for at in begins)] == []


def test_torchscript_compiles_ranges_after_the_step_is_known(tmp_path: Path) -> None:
    """While steps end with an optimizer the end of torch's ranges is watched; TorchScript compiles that method, too."""
    scripted = """\
@torch.jit.script
def ranged(x):
    with torch.autograd.profiler.record_function("scripted"):
        return x + 1
"""
    body = STEP + "if i == 7:\n" + indent(scripted) + "if i > 7:\n    ranged(x)\n"
    run = record_text(tmp_path, SETUP + OPTIMIZER + without_data(body), ["--step", "optimizer"])
    assert run.code == 0, run.err
    assert sum(e["name"] == "scripted" for e in run.bundle.trace("trace-0.json.gz")) == 5


def test_a_kind_that_never_comes_is_said(tmp_path: Path) -> None:
    run = record_text(tmp_path, SETUP + without_data(AUTOGRAD_STEP), ["--step", "optimizer"])
    assert run.code == 0 and run.bundles == []
    assert "no step by --step optimizer" in run.err and "60 backward passes" in run.err


# -- the finder alone


def test_an_optimizer_that_has_not_stepped_is_waited_for() -> None:
    finder = StepFinder(2, idle_optimizers=1)
    assert [finder.optimizer(1, False) for _ in range(5)] == [None] * 5
    finder.idle_optimizers = 0
    assert finder.optimizer(2, False) is None
    found = [finder.optimizer(o, False) for o in (1, 2)]
    assert found[0] is None and found[1] is not None and found[1].key == 2


def test_an_optimizer_that_was_given_up_is_not_waited_for() -> None:
    finder = StepFinder(2)
    finder.optimizer(1, False)
    chosen = [finder.optimizer(2, False) for _ in range(12)]
    assert next(c for c in chosen if c is not None).key == 2


def test_calls_with_gradients_may_still_be_followed_by_backward() -> None:
    assert all(StepFinder(2).forward(1, True) is None for _ in range(12))
    finder = StepFinder(2)
    steps = [finder.forward(1, True) for _ in range(14)]
    assert [s is not None for s in steps] == [False] * 12 + [True] * 2
    finder = StepFinder(2, idle_optimizers=1)
    assert all(finder.forward(1, False) is None for _ in range(40))


def test_side_events_of_most_steps_are_usual() -> None:
    finder = StepFinder(3)
    for _ in range(4):
        finder.fetch(7)
        finder.evaluation()
        chosen = finder.optimizer(1, False)
    assert chosen is None  # the loader wins
    finder = StepFinder(3)
    finder.evaluation()
    found = None
    while found is None:
        finder.fetch(7)
        finder.fetch(7)
        found = finder.optimizer(1, False)
    assert found.by == "optimizer" and found.usual == {("fetch", 7)}
    assert finder.batches_per_step(found) == (7, 2)


def test_of_models_called_equally_often_the_first_begins_the_step() -> None:
    """Two models in turn, a before b: the step begins with a, although b has been called as often."""
    finder = StepFinder(2)
    found = [(model, chosen) for _ in range(8) for model in (1, 2) if (chosen := finder.forward(model, False)) is not None]
    model, boundary = found[0]
    assert (model, boundary.key, boundary.by) == (1, 1, "forward")
    assert boundary.why.startswith("no backward pass and no optimizer in 4 calls")


def test_a_model_that_is_called_more_often_begins_no_step() -> None:
    finder = StepFinder(2)
    found = [chosen for _ in range(12) for model in (1, 2, 2) if (chosen := finder.forward(model, False)) is not None]
    assert {chosen.key for chosen in found} == {1}


@pytest.mark.parametrize(("steps_with_it", "usual"), [(1, False), (2, True), (3, True)])
def test_a_side_event_is_usual_where_half_of_the_steps_have_it(steps_with_it: int, usual: bool) -> None:
    """Seen once in four steps it is something else than training: the end of an epoch, a validation."""
    step = ("optimizer", 1)
    log = [step]
    for number in range(4):
        log += [("evaluation", 0)] * (number < steps_with_it) + [step]
    assert (("evaluation", 0) in usual_side_events(log, step, 4)) == usual


def test_twice_in_one_step_is_one_step_that_has_it() -> None:
    step = ("optimizer", 1)
    log = [step, ("evaluation", 0), ("evaluation", 0), step, step, step, step]
    assert usual_side_events(log, step, 4) == frozenset()


@pytest.mark.parametrize(("idle", "passes"), [(0, 2 + PATIENCE), (1, 2 + LONG_PATIENCE)])
def test_backward_passes_wait_longer_for_an_optimizer_that_has_not_stepped(idle: int, passes: int) -> None:
    finder = StepFinder(2, idle_optimizers=idle)
    found = [finder.backward(True) is not None for _ in range(passes)]
    assert found == [False] * (passes - 1) + [True]


def test_an_idle_optimizer_is_given_up_after_so_many_steps_of_another() -> None:
    finder = StepFinder(2, idle_optimizers=1)
    found = [finder.optimizer(1, False) is not None for _ in range(2 * CYCLE)]
    assert found == [False] * (2 * CYCLE - 1) + [True]


def test_batches_with_an_idle_optimizer_are_no_inference() -> None:
    for idle in (0, 1):
        finder = StepFinder(2, idle_optimizers=idle)
        found = [(finder.forward(1, False), finder.fetch(7))[1] for _ in range(12)]
        assert any(found) == (idle == 0)
