"""`hotlens whatif` on real recordings: its peak memory against a run of the script that was really edited so."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import CACHE, HOTLENS, PYTHON, Done
from training import LOOP
from warm import interpreter

PICTURES = LOOP.format(
    model="""
class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.Dropout(0.2)
    def forward(self, x):
        out = self.norm(self.conv(x))
        return self.drop(F.relu(out))
model = nn.Sequential(Block(3, 16), nn.MaxPool2d(2), Block(16, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randn(n, 3, 32, 32), torch.randint(10, (n,)))
"""
)

# Weights are most of its memory, so the peak may lie in the update.
WORDS = LOOP.format(
    model="""
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))
    def forward(self, x):
        q, k, v = (part.view(*x.shape[:2], 4, -1).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, 2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, dropout_p=0.1).transpose(1, 2).reshape(x.shape))
        return x + self.mlp(x)
model = nn.Sequential(nn.Embedding(2000, 64), Layer(64), Layer(64), nn.Flatten(), nn.Linear(64 * 12, 10))
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randint(2000, (n, 12)), torch.randint(10, (n,)))
"""
)

REFUSED = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient * (2 if gradient.sum() < 1e9 else 3)
"""

Change = tuple[str, str]

ADAM = "torch.optim.Adam(model.parameters())"
LOSS = "loss = F.cross_entropy(model(x), y)"
BF16 = (LOSS, "\n    with torch.autocast('cpu', torch.bfloat16):\n        " + LOSS)
BEFORE_OPTIMIZER = "optimizer = torch"


def optimizer(expression: str) -> Change:
    return (ADAM, f"torch.optim.{expression}")


def adamw(options: str) -> Change:
    return optimizer(f"AdamW(model.parameters(), amsgrad=True, {options})")


def sgd(options: str) -> Change:
    return optimizer(f"SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1, {options})")


def coupled(options: str) -> Change:
    groups = "[{'params': model[:1].parameters()}, {'params': model[1:].parameters(), 'weight_decay': 0.1}]"
    return optimizer(f"Adam({groups}, maximize=True, {options})")


def add_before_optimizer(code: str) -> Change:
    return (BEFORE_OPTIMIZER, code + BEFORE_OPTIMIZER)


def zero_grad_last(options: str) -> list[Change]:
    return [("    optimizer.zero_grad()\n", ""), ("optimizer.step()", f"optimizer.step()\n    optimizer.zero_grad({options})")]


# Kind, script, what it is recorded with, what the changed script has.
CASES: dict[str, tuple[str, str, list[Change], list[Change]]] = {
    "adam foreach": ("foreach_optimizer", WORDS, [], [optimizer("Adam(model.parameters(), foreach=True)")]),
    "adam fused": ("fused_optimizer", WORDS, [], [optimizer("Adam(model.parameters(), fused=True)")]),
    "adamw fused": ("fused_optimizer", WORDS, [adamw("")], [adamw("fused=True")]),
    "adamw foreach": ("foreach_optimizer", WORDS, [adamw("")], [adamw("foreach=True")]),
    "adamw foreach to fused": ("fused_optimizer", WORDS, [adamw("foreach=True")], [adamw("fused=True")]),
    "two groups foreach": ("foreach_optimizer", WORDS, [coupled("")], [coupled("foreach=True")]),
    "two groups foreach to fused": ("fused_optimizer", WORDS, [coupled("foreach=True")], [coupled("fused=True")]),
    "sgd foreach": ("foreach_optimizer", WORDS, [sgd("nesterov=True")], [sgd("nesterov=True, foreach=True")]),
    "sgd fused": ("fused_optimizer", PICTURES, [sgd("")], [sgd("fused=True")]),
    "sgd without state": (
        "fused_optimizer",
        WORDS,
        [optimizer("SGD(model.parameters(), lr=0.1)")],
        [optimizer("SGD(model.parameters(), lr=0.1, fused=True)")],
    ),
    "channels last": (
        "channels_last",
        PICTURES,
        [],
        [
            add_before_optimizer("model.to(memory_format=torch.channels_last)\n"),
            (LOSS, "x = x.to(memory_format=torch.channels_last)\n    " + LOSS),
        ],
    ),
    "autocast of pictures": ("autocast_bf16", PICTURES, [], [BF16]),
    "autocast of words": ("autocast_bf16", WORDS, [], [BF16]),
    "no dropout": ("no_dropout", PICTURES, [], [("nn.Dropout(0.2)", "nn.Dropout(0)")]),
    "no dropout in attention": ("no_dropout", WORDS, [], [("nn.Dropout(0.1)", "nn.Dropout(0)"), ("dropout_p=0.1", "dropout_p=0.0")]),
    "gelu to relu": ("gelu_to_relu", WORDS, [], [("nn.GELU()", "nn.ReLU()")]),
    "batch norms": (
        "batch_norm_eval",
        PICTURES,
        [],
        [add_before_optimizer("[m.eval() for m in model.modules() if isinstance(m, nn.BatchNorm2d)]\n")],
    ),
    "no bias": ("no_conv_bias", PICTURES, [], [("3, padding=1)", "3, padding=1, bias=False)")]),
    "relu in place": ("inplace_relu", PICTURES, [], [("F.relu(out)", "F.relu(out, inplace=True)")]),
    "zero grad": ("zero_grad_none", WORDS, zero_grad_last("set_to_none=False"), zero_grad_last("")),
    "fused and autocast": ("fused_optimizer+autocast_bf16", PICTURES, [], [optimizer("Adam(model.parameters(), fused=True)"), BF16]),
}


def changed(script: str, changes: list[Change]) -> str:
    for old, new in changes:
        assert script.count(old) == 1
        script = script.replace(old, new)
    return script


def record(folder: Path, script: str) -> int:
    """The peak of the recorded step."""
    folder.mkdir()
    (folder / "train.py").write_text(script)
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "train.py"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    document = json.loads(gzip.decompress(program(folder).read_bytes()))
    peak: int = document["allocator"]["peak_bytes"]
    return peak


def program(folder: Path) -> Path:
    (only,) = folder.glob(".hotlens/profiles/*/program.json.gz")
    return only


def ask(folder: Path, *arguments: str, **environment: str) -> Done:
    settings = {**os.environ, "XDG_CACHE_HOME": str(CACHE), **environment}
    command = [HOTLENS, "whatif", *arguments]
    if "list" not in arguments:
        command += ["--python", PYTHON]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=settings)


def answer(folder: Path, *arguments: str) -> dict[str, Any]:
    done = ask(folder, *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["schema"] == "hotlens.whatif/1"
    return document


def row(rows: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = [each for each in rows if each["kind"] == kind]
    return found


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile of PICTURES. Copy before changing anything."""
    folder = tmp_path_factory.mktemp("whatif") / "pictures"
    record(folder, PICTURES)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_the_peak_of_a_change_is_that_of_the_changed_script(tmp_path: Path, name: str) -> None:
    kind, script, before, after = CASES[name]
    was = record(tmp_path / "before", changed(script, before))
    is_now = record(tmp_path / "after", changed(script, after))
    document = answer(tmp_path / "before", kind)
    assert document["self_check"]["peak_bytes_real"] == document["self_check"]["peak_bytes_replayed"] == was
    item = row(document["items"], kind)
    assert item["peak_was_bytes"] == was
    assert item["peak_bytes"] == pytest.approx(is_now, rel=0.001)
    assert item["peak_bytes_change"] == item["peak_bytes"] - was
    assert 0 < item["low"] <= item["ratio"] <= item["high"]
    assert item["step_ns"] == pytest.approx(item["step_was_ns"] * item["ratio"], rel=1e-6)


def shown_step(folder: Path) -> float:
    told = subprocess.run([HOTLENS, "report", "latest", "--format", "json"], cwd=folder, text=True, capture_output=True, check=True)
    loop = json.loads(told.stdout)["loop"]
    step: float = loop["update_ns"] - loop["rare_ns"]
    return loop["update_ns"] if loop["rare_ns"] * 20 < loop["update_ns"] else step


def test_a_change_starts_from_the_step_that_is_shown(pictures: Path) -> None:
    item = row(answer(pictures, "fused_optimizer")["items"], "fused_optimizer")
    assert item["step_was_ns"] == pytest.approx(shown_step(pictures), rel=1e-6)


def test_what_the_recording_alone_tells_starts_from_the_same_step(tmp_path: Path) -> None:
    """Without a program that can be replayed, the bounds of the recording are all there is."""
    script = "import torch\n" + REFUSED + PICTURES.replace("model(x)", "Twice.apply(model(x))")
    (tmp_path / "train.py").write_text(script)
    subprocess.run([HOTLENS, "run", "--python", interpreter(), "train.py"], cwd=tmp_path, check=True, capture_output=True)
    item = row(answer(tmp_path, "list")["items"], "fused_optimizer")
    assert item["method"] == "profile" and item["bound"]
    assert item["step_was_ns"] == pytest.approx(shown_step(tmp_path), rel=1e-6)
    assert item["saved_ns"] == pytest.approx(item["step_was_ns"] * (1 - item["ratio"]), abs=1)


def of_programs(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Without what the recording alone gives evidence for: that depends on the machine."""
    return [item for item in document["items"] if item.get("method") != "profile"]


def test_a_list_needs_no_torch_and_replays_nothing(pictures: Path, tmp_path: Path) -> None:
    done = ask(pictures, "list", PATH="/nonexistent", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0
    assert done.stderr == ""
    assert "≈" not in done.stdout
    assert not list(tmp_path.iterdir())
    document = answer(pictures, "list")
    items = of_programs(document)
    assert {item["kind"] for item in items} == {
        "foreach_optimizer",
        "fused_optimizer",
        "channels_last",
        "autocast_bf16",
        "no_dropout",
        "batch_norm_eval",
        "no_conv_bias",
        "inplace_relu",
        "checkpoint",
        "compile",
    }
    assert {refused["kind"] for refused in document["refused"]} == {
        "gelu_to_relu",
        "pool_before_relu",
        "zero_grad_none",
        "fused_attention",
        "unbind_time",
        "gelu_tanh",
        "accumulate",
        "batch_size_2x",
        "depth",
        "scan_time",
        "cudnn_benchmark",
        "tf32",
    }
    assert "self_check" not in document
    for item in items:
        assert item["evidence"] and item["assumes"]
        assert "ratio" not in item and "peak_bytes" not in item


def test_a_change_has_the_line_that_it_belongs_to(pictures: Path) -> None:
    lines = PICTURES.splitlines()
    items = of_programs(answer(pictures, "list"))
    assert "optimizer.step()" in lines[row(items, "fused_optimizer")["line"]]
    assert "model(x)" in lines[row(items, "autocast_bf16")["line"]]
    assert "nn.Dropout(0.2)" in lines[row(items, "no_dropout")["line"]]
    assert row(items, "no_dropout")["modules"] == ["0.drop", "2.drop"]
    assert {Path(item["file"]).name for item in items} == {"train.py"}


def test_tf32_is_one_line_where_the_step_ran_on_a_gpu(pictures: Path, tmp_path: Path) -> None:
    assert row(answer(pictures, "tf32")["refused"], "tf32")["reason"].startswith("the step ran on no device that has TF32; by hand: ")
    folder = tmp_path / "gpu"
    subprocess.run(["cp", "-r", pictures, folder], check=True)
    manifest = program(folder).with_name("manifest.json")
    document = json.loads(manifest.read_text().replace(str(pictures), str(folder)))
    manifest.write_text(json.dumps({**document, "devices": [{"name": "NVIDIA A100", "kind": "cuda"}]}))
    model = manifest.with_name("model.json")
    model.write_text(model.read_text().replace(str(pictures), str(folder)))
    item = row(answer(folder, "list")["items"], "tf32")
    assert "ratio" not in item and "no replay knows" in item["evidence"][0]["what"]
    assert "torch.optim.Adam" in PICTURES.splitlines()[item["line"]]
    done = ask(folder, "tf32", "--apply")
    assert done.returncode == 0, done.stdout + done.stderr
    added = 'torch.set_float32_matmul_precision("high")\n'
    assert (folder / "train.py").read_text() == changed(PICTURES, [add_before_optimizer(added)])


def test_a_sentence_for_people(pictures: Path) -> None:
    done = ask(pictures, "fused_optimizer")
    assert done.returncode == 0
    assert "replaying fused_optimizer" in done.stderr
    headline, outcome, *rest = (line for line in done.stdout.splitlines() if not line.startswith("warning: about "))
    assert headline.startswith("fused_optimizer") and "train.py:" in headline
    assert "≈ " in outcome and " % (" in outcome and "; peak " in outcome
    assert any(line.startswith("  assumes: ") for line in rest)


def test_faster_is_said_only_where_no_change_is_excluded(pictures: Path) -> None:
    text = ask(pictures).stdout.splitlines()
    for line in text:
        if "≈" in line:
            low, _, high = line.partition("(")[2].partition(")")[0].partition("…")
            certain = low[0] == high[0]
            assert ("slower:" if certain and low[0] == "+" else "faster:" if certain else "no certain change:") in line


def test_all_that_apply_are_replayed_the_fastest_first(pictures: Path) -> None:
    document = answer(pictures)
    ratios = [item["ratio"] for item in of_programs(document)]
    assert len(ratios) == 9
    assert ratios == sorted(ratios)
    assert document["self_check"]["ok"]


@pytest.mark.parametrize("kinds", ["faster", "fused_optimizer,", "list,fused_optimizer", "fused_optimizer+", "+"])
def test_kinds_that_are_none_are_wrong_usage(pictures: Path, kinds: str) -> None:
    done = ask(pictures, kinds)
    assert done.returncode == 2
    assert "fused_optimizer" in done.stderr
    assert done.stdout == ""


def test_what_does_not_apply_is_refused_with_its_reason(pictures: Path) -> None:
    document = answer(pictures, "gelu_to_relu,fused_optimizer+gelu_to_relu")
    assert document["items"] == []
    assert [refused["kind"] for refused in document["refused"]] == ["gelu_to_relu", "fused_optimizer+gelu_to_relu"]
    assert all("GELU" in refused["reason"] for refused in document["refused"])


def test_another_optimizer_is_refused_at_its_operator(tmp_path: Path) -> None:
    record(tmp_path / "radam", changed(PICTURES, [optimizer("RAdam(model.parameters())")]))
    refused = row(answer(tmp_path / "radam", "list")["refused"], "fused_optimizer")
    assert refused["operator"].startswith("aten::")
    assert "neither Adam, AdamW nor SGD" in refused["reason"]


def test_an_operator_that_fails_in_the_changed_step_is_named(tmp_path: Path) -> None:
    """A `view` of an image that is laid out in another way."""
    record(
        tmp_path / "view",
        changed(PICTURES, [("out = self.norm(self.conv(x))", "out = self.norm(self.conv(x)).view(-1).view(len(x), -1, *x.shape[2:])")]),
    )
    refused = row(answer(tmp_path / "view", "channels_last")["refused"], "channels_last")
    assert refused["operator"] == "aten::view"
    assert refused["module"] == "0"
    assert "view size is not compatible" in refused["reason"]


def test_a_replay_that_is_another_step_than_the_recorded_one_says_nothing(pictures: Path, tmp_path: Path) -> None:
    folder = tmp_path / "doubled"
    subprocess.run(["cp", "-r", pictures, folder], check=True)
    document = json.loads(gzip.decompress(program(folder).read_bytes()))
    document["allocator"]["peak_bytes"] *= 2
    program(folder).write_bytes(gzip.compress(json.dumps(document).encode()))
    done = ask(folder, "fused_optimizer")
    assert done.returncode == 3
    assert "nothing is predicted" in done.stderr
    assert done.stdout == ""


def test_a_step_whose_batch_size_nobody_knows_can_be_changed_all_the_same(tmp_path: Path) -> None:
    loop = ("for x, y in DataLoader(TensorDataset(*tensors(160)), batch_size=8):", "for _ in range(20):\n    x, y = tensors(8)")
    was = record(tmp_path / "before", changed(WORDS, [loop]))
    item = row(answer(tmp_path / "before", "fused_optimizer")["items"], "fused_optimizer")
    assert item["peak_was_bytes"] == was
