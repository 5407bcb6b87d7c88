"""Scripts and sources that are not as expected: recorded as far as they go, and never broken."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from conftest import plain, record, record_text
from scripts import MODEL, STEP, counted_loop, indent, loop
from test_bundle import check_bundle
from test_map_step import check_nesting, markers

FORKS = (
    "import os\nchild = os.fork()\nif child == 0:\n    model(torch.randn(2, 8)).sum().backward()\n    os._exit(0)\nos.waitpid(child, 0)\n"
)
SLOTS = """\
class Slotted(nn.Module):
    __slots__ = ("kept",)
    def __init__(self):
        super().__init__()
        self.kept = 3
        self.inner = nn.Linear(8, 3)
    def forward(self, x):
        return self.inner(x)
model = Slotted()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
CYCLE = """\
class Child(nn.Module):
    def __init__(self, owner):
        super().__init__()
        self.layer = nn.Linear(8, 3)
        object.__setattr__(self, "owner", owner)
    def forward(self, x):
        return self.layer(x)
class Owner(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Child(self)
        self.me = [self]
    def forward(self, x):
        return self.child(x)
model = Owner()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
FLOW = """\
class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Net(), nn.Identity()])
    def likelihood(self, x):
        return self.parts[1](self.parts[0](x))
model = Flow()
"""
TWICE = """\
def first():
    class Same(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(8, 8)
        def forward(self, x):
            return self.l(x)
    return Same()
def second():
    class Same(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(8, 3)
        def forward(self, x):
            return self.l(x).relu()
    return Same()
model = nn.Sequential(first(), second())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
GENERATED = """\
exec(compile('''
class Made(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 3)
    def forward(self, x):
        return self.l(x)
''', "<ipython-input-1-abc>", "exec"))
model = Made()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
TRACED = "model = torch.fx.symbolic_trace(model)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
SAVED = "import copy, io, pickle\nbefore = copy.deepcopy(model)\n"
SAVES = "torch.save(model, io.BytesIO())\ncopy.deepcopy(model)\npickle.loads(pickle.dumps(optimizer))\n"
OVERRIDDEN = """\
class Called(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 3)
    def __call__(self, x):
        return self.forward(x)
    def forward(self, x):
        return self.l(x)
model = Called()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
SCRIPTS = {
    "forks": loop(step=STEP).replace("for x", FORKS + "for x"),
    "slots": loop().replace("for x", SLOTS + "for x"),
    "cycles": loop().replace("for x", CYCLE + "for x"),
    "one class name twice": loop().replace("for x", TWICE + "for x"),
    "generated source": loop().replace("for x", GENERATED + "for x"),
    "torch.fx": loop().replace("for x", TRACED + "for x"),
    "saved and copied while recorded": loop(step=STEP + SAVES).replace("for x", SAVED + "for x"),
    "overridden __call__": loop().replace("for x", OVERRIDDEN + "for x"),
    "Windows line ends": loop().replace("\n", "\r\n"),
    "tabs and wide characters": loop().replace("    ", "\t").replace("criterion = ", "größe = '漢字'\ncriterion = "),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_odd_script_is_recorded(tmp_path: Path, name: str) -> None:
    (tmp_path / "train.py").write_bytes(SCRIPTS[name].encode())
    run = record(tmp_path, ["train.py"])
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    check_nesting(markers(run.bundle))
    assert run.bundle.manifest["steps_measured"] == 5 and run.bundle.manifest["warnings"] == []
    stages = run.bundle.stages()
    assert stages["backward"] == ["loss.backward()"] and stages["forward"] == ["model(x)"]
    called = {run.bundle.model["modules"][c["module"]]["class"] for c in run.bundle.model["calls"]}
    assert "Linear" in called


def test_modules_of_one_class_name_have_their_own_lines(tmp_path: Path) -> None:
    bundle = record_text(tmp_path, SCRIPTS["one class name twice"]).bundle
    lines = [bundle.module(path)["attached"]["line"] for path in ("0.l", "1.l")]
    assert [SCRIPTS["one class name twice"].splitlines()[n].strip() for n in lines] == [
        "self.l = nn.Linear(8, 8)",
        "self.l = nn.Linear(8, 3)",
    ]


def test_a_model_that_is_never_called_itself_is_the_model(tmp_path: Path) -> None:
    script = loop().replace("model = Net()\n", FLOW).replace("model(x)", "model.likelihood(x)")
    bundle = record_text(tmp_path, script).bundle
    assert bundle.module("")["class"] == "Flow"
    assert bundle.text(bundle.module("parts.0")["attached"]) == "Net()"


def test_columns_count_bytes_whatever_ends_the_lines(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(SCRIPTS["Windows line ends"].encode())
    bundle = record(tmp_path, ["train.py"]).bundle
    assert bundle.text(bundle.module("a")["attached"]) == "self.a = nn.Linear(8, 16)"


def test_a_model_from_a_zip_is_recorded_without_its_lines(tmp_path: Path) -> None:
    source = MODEL[: MODEL.index("model = Net()")]
    with zipfile.ZipFile(tmp_path / "models.zip", "w") as archive:
        archive.writestr("zipped.py", source)
    script = (
        "import sys\nsys.path.insert(0, 'models.zip')\nfrom zipped import *\n"
        + MODEL[MODEL.index("model = Net()") :]
        + "for x, y in loader():\n"
        + indent(STEP)
    )
    run = record_text(tmp_path, script)
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    assert run.bundle.module("a")["class"] == "Linear"
    for file in run.bundle.model["files"]:
        assert file["copy"] is not None or "models.zip" in file["path"]


def test_a_model_that_is_deleted_in_the_middle(tmp_path: Path) -> None:
    remake = "if i == 9:\n    del model, optimizer\n    model = Net()\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    run = record_text(tmp_path, counted_loop(60, step=remake + STEP, after="print('end')\n"))
    assert run.code == 0 and run.out in ("", "end\n")
    assert run.bundles == [] or run.bundle.manifest["steps_measured"] >= 1


@pytest.mark.parametrize("end", ["import sys; sys.exit(5)", "raise RuntimeError('second')"])
def test_an_end_in_the_second_step_is_the_scripts(tmp_path: Path, end: str) -> None:
    script = "count = 0\n" + loop(step=f"count += 1\nif count == 2: {end}\n" + STEP)
    run = record_text(tmp_path, script)
    expected = plain(tmp_path, ["train.py"])
    assert run.code == expected.returncode and run.bundles == []
    assert expected.stderr in run.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_workspace_needs_another_place(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(loop())
    folder.chmod(0o555)
    try:
        run = record(folder, ["train.py"])
        assert run.code == 3 and "--out DIR" in run.err
        assert record(folder, ["train.py"], out=tmp_path / "elsewhere").code == 0
    finally:
        folder.chmod(0o755)


def test_compiled_modules_are_measured_as_a_whole_and_it_is_said(tmp_path: Path) -> None:
    script = counted_loop(60).replace("for i in", "model = torch.compile(model, backend='eager')\nfor i in")
    run = record_text(tmp_path, script)
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    assert [w["code"] for w in run.bundle.manifest["warnings"]] == ["compiled"]
    assert "TORCH_COMPILE_DISABLE=1" in run.err and run.bundle.manifest["steps_measured"] == 5
    model = run.bundle.model
    root = model["modules"][model["roots"][0]["module"]]
    assert root["class"] == "OptimizedModule" and root["id"] in [c["module"] for c in model["calls"]]


def test_a_compiled_function_leaves_the_marks_uncompiled(tmp_path: Path) -> None:
    """Its compiler would take up the trace function that runs beneath it, and drop what that marks."""
    setup = "@torch.compile(backend='eager')\ndef predicted(x):\n    return model(x).relu()\n"
    script = counted_loop(60, step=STEP.replace("model(x)", "predicted(x)")).replace("for i in", setup + "for i in")
    run = record_text(tmp_path, script)
    assert run.code == 0 and "record function" not in run.err, run.err
    check_bundle(run.bundle)
    found = markers(run.bundle)
    check_nesting(found)
    assert {f"hotlens.call#{c['id']}" for c in run.bundle.model["calls"]} <= {e["name"] for e in found}
    assert [e["name"] for e in run.bundle.trace("trace-map.json.gz") if "compile_id" in e["name"]] == []


HOLDER = """\
class Holder(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def loss_of(self, x, y):
        return criterion(self.net(x), y)
"""
SEQUENTIAL = "holder = Holder(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)))\n"
RING = """\
class Ring(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = self
        self.inner = Holder(nn.Linear(8, 3))
        self.inner.back = self
top = nn.Module()
top.ring = Ring()
holder = top.ring.inner
"""


@pytest.mark.parametrize(
    "made, root, path",
    [(SEQUENTIAL, "Holder", "net.0"), ("holder = Holder(model)\n", "Net", "a"), (RING, "Holder", "net")],
    ids=["layers", "own", "ring"],
)
def test_the_model_is_the_users_own_class_that_holds_what_the_loop_calls(tmp_path: Path, made: str, root: str, path: str) -> None:
    setup = HOLDER + made + "optimizer = torch.optim.SGD(holder.net.parameters(), lr=0.1)\n"
    script = loop(step=STEP.replace("criterion(model(x), y)", "holder.loss_of(x, y)")).replace("for x", setup + "for x")
    run = record_text(tmp_path, script)
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    model = run.bundle.model
    assert model["modules"][model["roots"][0]["module"]]["class"] == root
    assert run.bundle.module(path)["class"] == "Linear"


METHODS = """\
class Parted(Net):
    def encode(self, x):
        return self.a(x).relu()
    def loss_of(self, x, y):
        return nn.functional.cross_entropy(self.b(self.encode(x)), y)
    def update(self, x, y):
        optimizer.zero_grad()
        loss = self.loss_of(x, y)
        loss.backward()
        optimizer.step()
model = Parted()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOSS_OF = "model.loss_of(x, y)"


@pytest.mark.parametrize(
    "step, forward",
    [(STEP.replace("criterion(model(x), y)", LOSS_OF), LOSS_OF), ("model.update(x, y)\n", "self.loss_of(x, y)")],
    ids=["loop", "method"],
)
def test_a_method_of_the_model_is_the_model_unless_it_is_the_loop(tmp_path: Path, step: str, forward: str) -> None:
    stages = record_text(tmp_path, loop(step=step).replace("for x", METHODS + "for x")).bundle.stages()
    assert stages["forward"] == stages["loss"] == [forward]
    assert stages["backward"] == ["loss.backward()"] and stages["optimizer"] == ["optimizer.step()"]


TEACHER = "teacher = nn.Sequential(nn.Linear(8, 900), nn.ReLU(), nn.Linear(900, 3)).requires_grad_(False)\n"


def test_of_models_of_one_size_the_model_is_the_one_made_first(tmp_path: Path) -> None:
    """Not the one that is called first, which may change from step to step: names would change with it."""
    script = """
import torch
from torch import nn
model = nn.Linear(6, 6)
target = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(40):
    x = torch.randn(12, 6)
    loss = (model(x) - target(x).detach()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    for number, text in enumerate((script, script.replace("(model(x) - target(x).detach())", "(target(x).detach() - model(x))"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        bundle = record_text(folder, text).bundle
        assert bundle.text(bundle.module("")["attached"]) == "model = nn.Linear(6, 6)"


def test_the_model_is_what_is_trained_not_a_larger_teacher(tmp_path: Path) -> None:
    step = STEP.replace("criterion(model(x), y)", "nn.functional.mse_loss(model(x), teacher(x))")
    bundle = record_text(tmp_path, loop(step=step).replace("for x", TEACHER + "for x")).bundle
    assert bundle.module("")["class"] == "Net" and bundle.module("Sequential.2")["class"] == "Linear"


PUT_TOGETHER = """
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Scaled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


model = nn.Sequential(weight_norm(Scaled(8, 8)), nn.ReLU(), Scaled(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).mean().backward()
    optimizer.step()
"""


def test_a_class_that_is_put_together_at_run_time_has_the_header_of_its_base(tmp_path: Path) -> None:
    bundle = record_text(tmp_path, PUT_TOGETHER).bundle
    scaled = [module for module in bundle.model["modules"] if "Scaled" in module["class"]]
    assert [module["class"] for module in scaled] == ["ParametrizedScaled", "Scaled"]
    assert all(bundle.text(module["class_site"]).startswith("class Scaled(") for module in scaled)


def test_who_asks_whether_torch_is_there_does_not_hide_its_import(tmp_path: Path) -> None:
    """As transformers does before it imports torch, in a script that imports transformers first."""
    asks = "import importlib.util\nassert importlib.util.find_spec('torch')\n"
    bundle = record_text(tmp_path, asks + loop(), fresh=True).bundle
    assert bundle.manifest["steps_measured"] == 5


TRAINER_ALONE = """
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
rows = [{"input_ids": [1, 2, 3, 4], "labels": 0} for _ in range(64)]
arguments = TrainingArguments("out", max_steps=20, per_device_train_batch_size=4, report_to=[], save_strategy="no", use_cpu=True)
Trainer(BertForSequenceClassification(config), arguments, train_dataset=rows).train()
"""


def test_a_script_that_never_imports_torch_itself_is_seen(tmp_path: Path) -> None:
    bundle = record_text(tmp_path, TRAINER_ALONE, fresh=True).bundle
    assert bundle.manifest["steps_measured"] == 5
    assert bundle.module("")["class"] == "BertForSequenceClassification"
