"""Models that torchvision and timm make: edits of the call that makes them, their peak memory against a run of the script that was really
edited so. Needs what test_truth.py needs, and a compiler for the worker."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest

HOTLENS = Path(os.environ["HOTLENS_BIN"]).resolve()
PYTHON = os.environ.get("HOTLENS_MODELS_PYTHON", "")
CACHE = Path(__file__).resolve().parents[3] / "build" / "cache"

pytestmark = pytest.mark.skipif(not PYTHON, reason="HOTLENS_MODELS_PYTHON is not set: no environment with the models' packages")

# torchvision without its compiled part, beside a torch that it is not built for.
SCRIPT = """
import torch
library = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
{model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(20):
    x, y = torch.randn(4, 3, 32, 32), torch.randint(10, (4,))
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""
SCRIPTS = {
    "resnet": SCRIPT.format(model="import torchvision\nmodel = torchvision.models.resnet18(num_classes=10)"),
    "vgg": SCRIPT.format(model="import torchvision\nmodel = torchvision.models.vgg11(num_classes=10)"),
    "efficientnet": SCRIPT.format(model="import torchvision\nmodel = torchvision.models.efficientnet_b0(num_classes=10)"),
    "named": SCRIPT.format(model="import torchvision\nmodel = torchvision.models.get_model('resnet18', num_classes=10)"),
    "created": SCRIPT.format(model="import timm\nmodel = timm.create_model('resnet18', pretrained=False, num_classes=10)"),
    "vit": SCRIPT.format(
        model="from timm.models.vision_transformer import VisionTransformer\n"
        "model = VisionTransformer(img_size=32, patch_size=8, embed_dim=64, depth=3, num_heads=4, num_classes=10)"
    ),
}


def record(folder: Path, text: str) -> int:
    """The step's peak, bytes."""
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    command = [str(HOTLENS), "run", "--python", PYTHON, "--warmup", "1", "--steps", "2", "train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (program,) = folder.glob(".hotlens/profiles/*/program.json.gz")
    return int(json.loads(gzip.decompress(program.read_bytes()))["allocator"]["peak_bytes"])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("edited_models")
    for name, text in SCRIPTS.items():
        record(place / name, text)
    return place


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("resnet", "num_classes=10", "num_classes=100"),
        ("resnet", "resnet18", "resnet34"),
        ("vgg", "vgg11", "vgg13"),
        ("efficientnet", "num_classes=10", "num_classes=100"),
        ("named", "num_classes=10", "num_classes=100"),
        ("named", "resnet18", "resnet34"),
        ("created", "num_classes=10", "num_classes=100"),
        ("vit", "depth=3", "depth=5"),
        ("vit", "embed_dim=64", "embed_dim=96"),
        ("vit", "num_heads=4", "num_heads=8"),
    ],
)
def test_the_call_that_makes_a_model(recorded: Path, tmp_path: Path, name: str, old: str, new: str) -> None:
    text = SCRIPTS[name].replace(old, new)
    assert text != SCRIPTS[name]
    (recorded / name / "train.py").write_text(text)
    command = [str(HOTLENS), "predict", "--python", PYTHON, "--edited", "--format", "json"]
    settings = {**os.environ, "XDG_CACHE_HOME": str(CACHE)}
    done = subprocess.run(command, cwd=recorded / name, capture_output=True, text=True, timeout=300, check=False, env=settings)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert not document["refused"] + document["misfits"]
    assert {one["peak_bytes"] for one in document["edits"]} == {record(tmp_path / "truth", text)}
