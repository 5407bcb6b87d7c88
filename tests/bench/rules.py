"""Whether what rules give at most holds: scripts with their evidence, really changed. With --labels whether they are right to speak.

    HOTLENS_BIN=... HOTLENS_TEST_PYTHON=... python tests/bench/rules.py [--pairs 5]
    ... HOTLENS_MODELS_PYTHON=... python tests/bench/rules.py --labels [WORD...]

With --labels every model of rule_labels.json (those whose line holds a WORD) is recorded, and what is told of it is held against its label,
which was written by hand. Without it each script is recorded and its report asked for the finding. The truth are the
script as it is and as changed, in fresh processes in turn: the median of their step times, and of the ratios of the pairs. A bound holds
where the real ratio is not below it by more than the pairs themselves differ.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HOTLENS = os.environ.get("HOTLENS_BIN", str(HERE.parents[1] / "build/release/bin/hotlens"))
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
UNJUDGED = {"keep_freed"}  # whether a process has page faults is chance

LOOP = """
import math, sys, time, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset
torch.manual_seed(0)
{model}
times, last = [], time.perf_counter()
for number, (x, y) in enumerate(loader):
    optimizer.zero_grad(set_to_none=NONE)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    now = time.perf_counter()
    times.append(now - last)
    last = now
    if number == 39:
        break
print(sorted(times[8:])[16])
"""

WORDS = """
NONE, DROP = True, 0.0
class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm, self.again = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
    def attend(self, q, k, v):
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        return F.softmax(scores, dim=-1) @ v
    def bend(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm(x)).split(c, 2))
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).reshape(b, t, c))
        return x + self.down(self.bend(self.up(self.again(x))))
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layers = nn.Embedding(200, 96), nn.Sequential(*[Layer(96, 4) for _ in range(3)])
        self.head = nn.Linear(96, 10)
    def forward(self, x):
        return self.head(self.layers(self.embed(x)).mean(1))
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randint(200, (400, 128)), torch.randint(10, (400,))), batch_size=8)
"""

TABLES = """
NONE = False
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
loader = DataLoader(TensorDataset(torch.randn(400, 64), torch.randint(10, (400,))), batch_size=8)
"""

SERIES = """
NONE = True
class Leaky(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.decay, self.head = nn.Linear(32, 64), nn.Parameter(torch.rand(64)), nn.Linear(64, 10)
    def steps(self, x):
        return [x[:, t] for t in range(x.shape[1])]
    def forward(self, x):
        state, x = 0.0, self.into(x)
        for step in self.steps(x):
            state = self.decay * state + step
        return self.head(state)
model = Leaky()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
loader = DataLoader(TensorDataset(torch.randn(400, 128, 32), torch.randint(10, (400,))), batch_size=8)
"""

PICTURES = """
NONE = True
class Pictures(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, at):
        picture = torch.rand(3, 48, 48)
        for _ in range(6):
            picture = (picture.flip(2) * 0.5 + picture.roll(3, 1) * 0.5).clamp(0, 1)
        return picture, at % 10
model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
model(torch.zeros(1, 3, 48, 48))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
torch.set_num_threads(1)
loader = DataLoader(Pictures(), batch_size=8)
"""


@dataclass(frozen=True)
class Case:
    """A change of a script: `was` becomes `now`."""

    kind: str
    model: str
    was: str
    now: str


CASES = [
    Case("gelu_tanh", WORDS, WORDS[WORDS.index("        return 0.5 * x *") : WORDS.index("    def forward(self, x):\n        b")],
         '        return F.gelu(x, approximate="tanh")\n'),
    Case("fused_attention", WORDS, WORDS[WORDS.index("        scores = ") : WORDS.index("    def bend")],
         "        return F.scaled_dot_product_attention(q, k, v)\n"),
    Case("fused_optimizer", WORDS, "lr=1e-3)", "lr=1e-3, fused=True)"),
    Case("fused_optimizer", TABLES, "foreach=False", "fused=True"),
    Case("zero_grad_none", TABLES, "NONE = False", "NONE = True"),
    Case("unbind_time", SERIES, "[x[:, t] for t in range(x.shape[1])]", "x.unbind(1)"),
    Case("loader_workers", PICTURES, "batch_size=8)", "batch_size=8, num_workers=2)"),
]  # fmt: skip


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def bound(folder: Path, kind: str) -> float | None:
    """The least ratio that the report tells; None where the rule says nothing."""
    run(folder, HOTLENS, "run", "--python", PYTHON, "before.py")
    report: dict[str, Any] = json.loads(run(folder, HOTLENS, "report", "--format", "json"))
    return next((found.get("low") for found in report["findings"] if found["kind"] == kind), None)


def real(folder: Path, pairs: int) -> list[float]:
    """Ratios of step times, changed to unchanged."""
    ratios = []
    for number in range(pairs):
        order = ["before.py", "after.py"] if number % 2 == 0 else ["after.py", "before.py"]
        took = {script: float(run(folder, PYTHON, script)) for script in order}
        ratios.append(took["after.py"] / took["before.py"])
    return ratios


def told_of(line: str) -> set[str]:
    """The kinds that the report of a recorded script tells."""
    script, *arguments = line.split()
    python = os.environ["HOTLENS_MODELS_PYTHON"] if "real_models" in script else PYTHON
    with tempfile.TemporaryDirectory() as name:
        run(Path(name), HOTLENS, "run", "--python", python, str((HERE / script).resolve()), *arguments)
        report: dict[str, Any] = json.loads(run(Path(name), HOTLENS, "report", "--format", "json"))
    return {found["kind"] for found in report["findings"]}


def judge(words: list[str]) -> None:
    """Prints what is told of each model, and the share of it that its label has."""
    labels: dict[str, list[str]] = json.loads((HERE / "rule_labels.json").read_text())["models"]
    right = wrong = quiet = cases = 0
    for name, wanted in labels.items():
        if words and not any(word in name for word in words):
            continue
        try:
            told = told_of(name) - UNJUDGED
        except RuntimeError as error:
            print(f"{name}: left out, {error}", flush=True)
            continue
        cases += 1
        good, bad, silent = told & set(wanted), told - set(wanted), set(wanted) - told
        right, wrong, quiet = right + len(good), wrong + len(bad), quiet + len(silent)
        words_of_it = [*sorted(good), *(f"WRONG {kind}" for kind in sorted(bad)), *(f"({kind} not told)" for kind in sorted(silent))]
        print(f"{name}: {', '.join(words_of_it) or '-'}", flush=True)
    share = f"{100 * right / (right + wrong):.1f} %" if right + wrong else "nothing told"
    print(f"{cases} models, {right} of {right + wrong} right, {share}; {quiet} that would be right are not told (most take less than 2 %)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--labels", nargs="*", metavar="WORD")
    options = parser.parse_args()
    if options.labels is not None:
        judge(options.labels)
        return
    held = 0
    for case in CASES:
        assert case.was in case.model, case.kind
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            script = LOOP.replace("{model}", case.model)
            (folder / "before.py").write_text(script)
            (folder / "after.py").write_text(script.replace(case.was, case.now))
            least, ratios = bound(folder, case.kind), real(folder, options.pairs)
        middle, spread = statistics.median(ratios), max(ratios) - min(ratios)
        holds = least is not None and middle >= least - spread / 2
        held += holds
        said = "nothing said" if least is None else f"at most {100 * (least - 1):+.1f} %"
        truth = f"real {100 * (middle - 1):+6.1f} % (pairs differ by {100 * spread:.1f})"
        print(f"{case.kind:16} {said:18} {truth}  {'holds' if holds else 'DOES NOT'}", flush=True)
    print(f"{held} of {len(CASES)} bounds hold")


if __name__ == "__main__":
    main()
