"""Changes of `hotlens whatif --apply` that leave the computation as it is: the edited script prints the losses of the unedited one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import CACHE, HOTLENS, PYTHON
from warm import interpreter

# In float64, so that another order of a sum is no other loss. A batch takes long to make, or workers would not be advised.
SCRIPT = """\
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class Pictures(Dataset):
    def __len__(self):
        return 80

    def __getitem__(self, at):
        time.sleep(0.002)
        return torch.sin(torch.arange(3.0 * 12 * 12) * (at + 1)).view(3, 12, 12), at % 4


model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(288, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for x, y in DataLoader(Pictures(), batch_size=4, shuffle=True):
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    print(loss.item())
"""
# Kind: what the edited script has that the other one has not.
KINDS = {
    "foreach_optimizer": "foreach=True",
    "fused_optimizer": "fused=True",
    "zero_grad_none": "set_to_none=True",
    "channels_last": "memory_format=torch.channels_last",
    "loader_workers": "num_workers=",
}


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("losses") / "work"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def losses(folder: Path) -> list[float]:
    done = subprocess.run([PYTHON, "train.py"], cwd=folder, capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


@pytest.fixture(scope="module")
def unedited(profiled: Path) -> list[float]:
    found = losses(profiled)
    assert len(found) == 20 and len(set(found)) == 20
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_an_applied_change_leaves_the_losses_as_they_are(profiled: Path, unedited: list[float], kind: str) -> None:
    source = profiled / "train.py"
    try:
        settings = {**os.environ, "XDG_CACHE_HOME": str(CACHE)}
        command = [HOTLENS, "whatif", kind, "--apply"]
        done = subprocess.run(command, cwd=profiled, capture_output=True, text=True, timeout=300, env=settings)
        assert done.returncode == 0, done.stdout + done.stderr
        assert KINDS[kind] in source.read_text() and KINDS[kind] not in SCRIPT
        assert losses(profiled) == pytest.approx(unedited, rel=1e-9)
    finally:
        source.write_text(SCRIPT)
