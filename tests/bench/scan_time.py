"""What `hotlens whatif scan_time` makes of gated recurrences: verified in pairs of runs, before and after.

    python tests/bench/scan_time.py

Each row is a model of two layers `h = a[:, t] * h + (1 - a[:, t]) * x[:, t]`, of so many sequences, steps and numbers a step. Needs
HOTLENS_BIN and HOTLENS_TEST_PYTHON.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

HOTLENS = os.environ["HOTLENS_BIN"]
PYTHON = os.environ["HOTLENS_TEST_PYTHON"]
SHAPES = ((4, 64, 16), (8, 256, 32), (4, 512, 64), (32, 64, 64))  # the last one's state is too large for chunks on a CPU

SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)
ROWS, STEPS, WIDTH = {shape}


class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.into = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        gate, step = torch.sigmoid(self.gate(x)), self.into(x)
        state, states = x.new_zeros(x.size(0), x.size(2)), []
        for t in range(x.size(1)):
            state = gate[:, t] * state + (1 - gate[:, t]) * step[:, t]
            states.append(state)
        return torch.stack(states, 1)


model = nn.Sequential(nn.Embedding(64, WIDTH), Mixer(WIDTH), Mixer(WIDTH), nn.Linear(WIDTH, 64))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for update in range(80):
    tokens = torch.randint(0, 64, (ROWS, STEPS + 1))
    loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def verified(kind: str, folder: Path) -> str:
    command = [HOTLENS, "whatif", kind, "--verify", "--python", PYTHON, "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["items"][0]["verified"]
    return f"{found['ratio']:.3f} of its time ({found['low']:.3f}..{found['high']:.3f}), {found['pairs']} pairs, losses {found['losses']}"


def main() -> None:
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "train.py").write_text(SCRIPT.format(shape=shape))
            subprocess.run([HOTLENS, "run", "--python", PYTHON, "train.py"], cwd=folder, capture_output=True, check=True)
            for kind in ("scan_time", "unbind_time"):
                print(f"{shape} {kind}: {verified(kind, folder)}", flush=True)


if __name__ == "__main__":
    main()
