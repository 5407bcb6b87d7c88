"""A folder with two profiles, and the official Python client of the Model Context Protocol beside the server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from warm import interpreter

ROOT = Path(__file__).resolve().parents[3]
HOTLENS = os.environ.get("HOTLENS_BIN", str(ROOT / "build/release/bin/hotlens"))
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)

SCRIPT = """
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(256, 1024)
        self.back = nn.Linear(1024, 256)
        if REPEAT > 1:
            self.extra = nn.Linear(256, 256)
    def forward(self, x):
        for _ in range(REPEAT):
            x = self.back(torch.relu(self.wide(x)))
        return self.extra(x) if REPEAT > 1 else x

if "--fail" in sys.argv:
    raise SystemExit("no data")
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
steps = 10**9 if "--endless" in sys.argv else 40
for _ in range(steps):
    optimizer.zero_grad()
    net(torch.randn(32, 256)).pow(2).mean().backward()
    optimizer.step()
"""

Session = Callable[..., Any]


def record(folder: Path, repeat: int) -> None:
    (folder / "train.py").write_text(SCRIPT.replace("REPEAT", str(repeat)))
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "3", "train.py"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The later profile is of a script that calls its layers eight times instead of once, and one layer more. Not to be changed."""
    folder = tmp_path_factory.mktemp("agent") / "project é"
    folder.mkdir()
    record(folder, 1)
    record(folder, 8)
    return folder


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A folder that was never profiled."""
    (tmp_path / "train.py").write_text(SCRIPT.replace("REPEAT", "1"))
    return tmp_path


def speak(folder: Path, talk: Callable[[Client], Awaitable[None]], *options: str, **client: Any) -> None:
    """Starts the server for the folder and lets `talk` use it."""

    async def run() -> None:
        arguments = ["mcp", "--folder", str(folder), "--python", PYTHON, *options]
        server = StdioServerParameters(command=HOTLENS, args=arguments, env=dict(os.environ))
        async with Client(server, **client) as session:
            await talk(session)

    asyncio.run(run())
