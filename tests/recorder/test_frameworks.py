"""Loops that a framework runs: what a step is, where its stages stand, and that the user's line leads to them.

Each script counts for itself: every call of its model opens a range `mine`, and a step of the trace must hold whole ones, as many as a
person would count.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Bundle, record_text
from test_bundle import check_bundle
from test_map_step import check_nesting, markers, ns, step_ranges

COMMON = """\
import logging
import warnings

import torch
from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.b = nn.Linear(16, 3)

    def forward(self, x):
        with record_function("mine" if self.training else "evaluation"):
            return self.b(self.a(x).relu())


def loader(n=400, **more):
    return DataLoader(TensorDataset(torch.randn(n, 8), torch.randint(0, 3, (n,))), batch_size=8, **more)


"""
TRAINER = (
    COMMON
    + """\
from transformers import Trainer, TrainingArguments

class Model(Net):
    def forward(self, x, labels):
        logits = super().forward(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}

rows = [{"x": x, "labels": i % 3} for i, x in enumerate(torch.randn(400, 8))]
arguments = TrainingArguments("out", per_device_train_batch_size=4, report_to=[], disable_tqdm=True, save_strategy="no", use_cpu=True,
                              gradient_accumulation_steps=ACCUMULATION, eval_strategy="steps", eval_steps=4, logging_strategy="no")
trainer = Trainer(Model(), arguments, train_dataset=rows, eval_dataset=rows[:32])
trainer.train()
"""
)
LIGHTNING = (
    COMMON
    + """\
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning

class Lit(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, i):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def validation_step(self, batch, i):
        x, y = batch
        self.log("v", nn.functional.cross_entropy(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

trainer = lightning.Trainer(max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, accelerator="cpu", val_check_interval=6)
trainer.fit(Lit(), loader(), loader(32))
"""
)
ACCELERATE = (
    COMMON
    + """\
from accelerate import Accelerator

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, optimizer, train = accelerator.prepare(model, optimizer, loader())
for x, y in train:
    with accelerator.accumulate(model):
        loss = nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
"""
)
IGNITE = (
    COMMON
    + """\
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer

model = Net()
trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss())
evaluator = create_supervised_evaluator(model)
test = loader(32)

@trainer.on(Events.ITERATION_COMPLETED(every=5))
def evaluate(engine):
    evaluator.run(test)

trainer.run(loader(), max_epochs=2)
"""
)
SKORCH = (
    COMMON
    + """\
import numpy
from skorch import NeuralNetClassifier

x, y = numpy.random.randn(400, 8).astype("float32"), numpy.random.randint(0, 3, 400)
net = NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss, max_epochs=4, lr=0.1, batch_size=8, verbose=0)
net.fit(x, y)
"""
)
FASTAI = (
    COMMON
    + """\
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader as FastLoader
from fastai.learner import Learner

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, i):
        return torch.randn(8), torch.tensor(i % 3)

data = DataLoaders(FastLoader(Rows(), bs=8, shuffle=True), FastLoader(Rows(), bs=8))
learn = Learner(data, Net(), loss_func=nn.CrossEntropyLoss())
with learn.no_logging():
    learn.fit(3, 0.01)
"""
)


class Framework(NamedTuple):
    package: str
    name: str
    script: str
    by: str
    calls: int  # of the model in one step
    run: str  # the user's line that starts the loop
    stages: tuple[str, ...]  # that stand on that line


ALL = ("data", "zero_grad", "forward", "loss", "backward", "optimizer")
FRAMEWORKS = [
    Framework(
        "transformers",
        "Trainer",
        TRAINER.replace("ACCUMULATION", "1"),
        "loader",
        1,
        "trainer.train()",
        ("data", "forward", "backward", "optimizer"),
    ),
    Framework(
        "transformers",
        "Trainer with accumulation",
        TRAINER.replace("ACCUMULATION", "2"),
        "optimizer",
        2,
        "trainer.train()",
        ("data", "forward", "backward", "optimizer"),
    ),
    Framework("lightning", "Trainer.fit", LIGHTNING, "loader", 1, "trainer.fit(Lit(), loader(), loader(32))", ALL),
    Framework("accelerate", "accelerate with accumulation", ACCELERATE, "optimizer", 2, "for x, y in train", ("data",)),
    Framework("ignite", "ignite", IGNITE, "loader", 1, "trainer.run(loader(), max_epochs=2)", ALL),
    Framework("skorch", "skorch", SKORCH, "loader", 1, "net.fit(x, y)", ALL),
    Framework("fastai", "fastai", FASTAI, "loader", 1, "learn.fit(3, 0.01)", ALL),
]


def whole_calls(bundle: Bundle, name: str = "mine") -> list[int]:
    """Ranges of the script's own in each measured step; fails on one that crosses a boundary."""
    events = bundle.trace("trace-0.json.gz")
    calls = [ns(e) for e in events if e["name"] == name and e.get("cat") == "user_annotation"]
    steps = step_ranges(events)
    for begin, end in calls:
        assert not any(b < begin < e < end or begin < b < end < e for b, e in steps), "a call of the model crosses a boundary"
    return [sum(b <= begin and end <= e for begin, end in calls) for b, e in steps]


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda f: f.name)
def test_a_frameworks_loop_is_recorded(tmp_path: Path, framework: Framework) -> None:
    if importlib.util.find_spec(framework.package) is None:
        pytest.skip(f"{framework.package} is not installed")
    run = record_text(tmp_path, framework.script)
    assert run.code == 0, run.err
    bundle = run.bundle
    check_bundle(bundle)
    check_nesting(markers(bundle))
    manifest = bundle.manifest
    assert manifest["step"]["by"] == framework.by, manifest["step"]
    assert manifest["steps_measured"] == 5 and manifest["map_step_ns"] > 0
    assert {w["code"] for w in manifest["warnings"]} <= {"steps_left_out"}
    assert whole_calls(bundle) == [framework.calls] * 5
    assert whole_calls(bundle, "evaluation") == [0] * 5
    stages = bundle.stages()
    for stage in framework.stages:
        assert framework.run in stages[stage], (stage, stages)
    files = {bundle.model["files"][s["site"]["file"]]["path"] for s in bundle.model["stages"]}
    assert files == {str(tmp_path / "train.py")}
    called = {bundle.model["modules"][c["module"]]["class"] for c in bundle.model["calls"]}
    assert "Linear" in called
