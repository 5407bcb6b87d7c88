"""Two models that nobody here wrote: hints must stand in the user's script and in the package's own model file.

Needs HOTLENS_BIN (the built program) and HOTLENS_TEST_PYTHON (an interpreter with torch and transformers).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
HOTLENS = os.environ["HOTLENS_BIN"]
PYTHON = os.environ["HOTLENS_TEST_PYTHON"]
MODELS_PYTHON = os.environ.get("HOTLENS_MODELS_PYTHON", "")
TORCHVISION = HERE.parents[2] / "build" / "torchvision"


def hotlens(folder: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [HOTLENS, *arguments], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def checked(folder: Path, file: Path) -> dict[str, Any]:
    (shown,) = json.loads(hotlens(folder, "check", str(file), "--format", "json"))["files"]
    return dict(shown)


def labels(shown: dict[str, Any], file: Path) -> dict[str, str]:
    """Hint labels by the source line they stand on."""
    lines = file.read_text().splitlines()
    return {lines[hint["line"]].strip(): hint["label"] for hint in shown["hints"]}


def milliseconds(label: str) -> float:
    match = re.search(r"([\d.]+) (ns|µs|ms|s)\b", label)
    assert match, label
    return float(match[1]) * {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}[match[2]]


def package_file(module: str, **environment: str) -> Path:
    code = f"import importlib.util; print(importlib.util.find_spec({module!r}).origin)"
    done = subprocess.run([PYTHON, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def test_transformers_bert(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    shutil.copy(HERE / "bert_train.py", script)
    hotlens(tmp_path, "run", "--python", PYTHON, "train.py")

    mine = labels(checked(tmp_path, script), script)
    assert milliseconds(mine["output = model(input_ids=batch, labels=batch)"]) > 0
    assert milliseconds(mine["output.loss.backward()"]) > 0
    assert milliseconds(mine["optimizer.step()"]) > 0

    package = package_file("transformers.models.bert.modeling_bert")
    shown = checked(tmp_path, package)
    theirs = labels(shown, package)
    definition = next(line for line in theirs if line.startswith("self.layer = nn.ModuleList("))
    call = next(line for line in theirs if line.startswith("hidden_states = layer_module("))
    # Three layers from one line, and one line that calls them three times: the same work.
    assert "×3" in theirs[definition] and "×3" in theirs[call]
    assert milliseconds(theirs[call]) == pytest.approx(milliseconds(theirs[definition]), rel=0.25)
    assert all(anchor["state"] == "fresh" for anchor in shown["anchors"])
    assert all(anchor["confirmed"] for anchor in shown["anchors"])


def test_transformers_trainer(tmp_path: Path) -> None:
    """The loop is the package's: its stages stand at the user's line that runs it, the layers in the package's model file."""
    if subprocess.run([PYTHON, "-c", "import accelerate"], capture_output=True, check=False).returncode != 0:
        pytest.skip("accelerate is not installed")
    script = tmp_path / "train.py"
    shutil.copy(HERE / "trainer_train.py", script)
    said = hotlens(tmp_path, "run", "--python", PYTHON, "train.py")
    assert "step: one DataLoader batch per optimizer step" in said

    mine = labels(checked(tmp_path, script), script)
    assert milliseconds(mine["trainer.train()"]) > 0
    assert milliseconds(mine["model = AutoModelForMaskedLM.from_config(config)"]) > 0

    package = package_file("transformers.models.bert.modeling_bert")
    theirs = labels(checked(tmp_path, package), package)
    definition = next(line for line in theirs if line.startswith("self.layer = nn.ModuleList("))
    assert "×3" in theirs[definition]
    report = json.loads(hotlens(tmp_path, "report", "--format", "json"))
    assert {"data", "forward", "backward", "optimizer"} <= {s["name"] for s in report["stages"] if s["wall_ns"] > 0}


@pytest.fixture(scope="session")
def torchvision_path() -> str:
    """A folder for PYTHONPATH: of the models' environment where there is one, else of one package of its own."""
    if MODELS_PYTHON:
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return subprocess.run([MODELS_PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    if not (TORCHVISION / "torchvision").is_dir():
        command = [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", str(TORCHVISION)]
        subprocess.run([*command, "torchvision==0.28.0", "pillow==12.0.0"], check=True, timeout=600)
    return str(TORCHVISION)


def test_torchvision_resnet(tmp_path: Path, torchvision_path: str) -> None:
    script = tmp_path / "train.py"
    shutil.copy(HERE / "resnet_train.py", script)
    hotlens(tmp_path, "run", "--python", PYTHON, "train.py", PYTHONPATH=torchvision_path)

    mine = labels(checked(tmp_path, script), script)
    assert milliseconds(mine["model = torchvision.models.resnet18(weights=None, num_classes=10)"]) > 0
    assert milliseconds(mine["loss = F.cross_entropy(model(images), labels)"]) > 0

    package = package_file("torchvision", PYTHONPATH=torchvision_path).parent / "models" / "resnet.py"
    theirs = labels(checked(tmp_path, package), package)
    assert "×8" in theirs["self.conv1 = conv3x3(inplanes, planes, stride)"]
    assert milliseconds(theirs["self.layer1 = self._make_layer(block, 64, layers[0])"]) > 0
    assert milliseconds(theirs["x = self.layer4(x)"]) > 0
