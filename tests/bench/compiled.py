"""How far the time of layers in compiled code is from a truth: compiled with operators between layers that nothing is fused across.

    HOTLENS_BIN=... HOTLENS_TEST_PYTHON=... python tests/bench/compiled.py [--models gpt,vit]
    HOTLENS_TEST_PYTHON=... python tests/bench/compiled.py --costs

Compared are shares of the time of all layers without children, by layer and direction: half the sum of their differences is the share on
a wrong layer. What fusion saves is gone in the truth, so a difference is not all Hotlens's. What no layer or, in the truth, several
layers at once work for is left out and printed beside it. There is no such truth of convolutional models, where the operators between
make Inductor keep images and masks in another order of memory, of an LSTM, whose operators stay torch's, nor of tables that are one
kernel. With --costs: nanoseconds an element of compiled loops of one operation each, of which `COSTS` in
annotator/recorder/hotlens/compiled/provenance.py is made.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOTLENS = os.environ.get("HOTLENS_BIN", str(HERE.parents[1] / "build/release/bin/hotlens"))
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
SCRIPT = HERE / "compiled_models.py"
NAMES = ["gpt", "bert", "vit", "gnn", "mixer"]
ROOT = "_orig_mod."

Times = dict[tuple[str, str], float]  # nanoseconds by layer and direction


def recorded(model: str, folder: Path) -> tuple[Times, float]:
    """Of the leaves, and the share of all time that is in them."""
    subprocess.run([HOTLENS, "run", "--python", PYTHON, str(SCRIPT), model], cwd=folder, capture_output=True, check=True)
    said = subprocess.run([HOTLENS, "report", "latest", "--format", "json"], cwd=folder, capture_output=True, text=True, check=True)
    modules = {row["path"]: row for row in json.loads(said.stdout)["modules"]}
    leaves = [path for path in modules if path.startswith(ROOT) and not any(other.startswith(path + ".") for other in modules)]
    times = {
        (path.removeprefix(ROOT), way): float(modules[path][way]["cpu_total_ns"]) for path in leaves for way in ("forward", "backward")
    }
    whole = sum(modules[""][way]["cpu_total_ns"] for way in ("forward", "backward"))
    return times, sum(times.values()) / whole


def truth(model: str) -> tuple[Times, float, float]:
    """Of the leaves, and the shares of no layer and of several at once."""
    done = subprocess.run([PYTHON, SCRIPT, model, "--marked"], capture_output=True, text=True, check=True)
    every = {(path, way): float(took) for key, took in json.loads(done.stdout).items() for path, way in [key.split("|")]}
    whole = sum(every.values())
    none, several = (sum(took for (path, _), took in every.items() if path == name) / whole for name in ("", "?"))
    return {key: took for key, took in every.items() if key[0] not in ("", "?")}, none, several


def one(model: str, folder: Path) -> float:
    ours, in_layers = recorded(model, folder)
    true, none, several = truth(model)
    shares = [{key: took / sum(times.values()) for key, took in times.items()} for times in (ours, true)]
    apart = {key: shares[0].get(key, 0) - shares[1].get(key, 0) for key in set(shares[0]) | set(shares[1])}
    wrong = sum(map(abs, apart.values())) / 2
    print(f"{model:10} on a wrong layer {wrong:.1%}; in layers {in_layers:.1%}; truth of no layer {none:.1%}, of several {several:.1%}")
    for key in sorted(apart, key=lambda key: -abs(apart[key]))[:4]:
        print(f"{'':10} {key[0]} {key[1]}: {shares[0].get(key, 0):.1%}, truth {shares[1].get(key, 0):.1%}", flush=True)
    return wrong


COSTS = """
import time, torch
from torch.nn import functional as F
N = 200_000
x, y, at = torch.rand(N) + 0.5, torch.rand(N), torch.randint(N, (N,))
loops = {"copy": lambda: x + 0, "add": lambda: x + y, "where": lambda: torch.where(x > y, x, y), "div": lambda: x / y,
         "exp": lambda: x.exp(), "log": lambda: x.log(), "erf": lambda: x.erf(), "tanh": lambda: x.tanh(),
         "sigmoid": lambda: x.sigmoid(), "sqrt": lambda: x.rsqrt(), "sin": lambda: x.sin(), "pow": lambda: x.pow(2.5),
         "gelu": lambda: F.gelu(x), "index": lambda: x[at],
         "rand": lambda: torch.rand_like(x) + x}
for name, loop in loops.items():
    torch._dynamo.reset()
    compiled, best = torch.compile(loop), float("inf")
    for turn in range(60):
        begin = time.perf_counter_ns()
        compiled()
        best = min(best, time.perf_counter_ns() - begin) if turn > 5 else best
    print(f"{name:8} {best / N:.3f} ns", flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(NAMES))
    parser.add_argument("--costs", action="store_true")
    options = parser.parse_args()
    if options.costs:
        subprocess.run([PYTHON, "-c", COSTS], check=True)
        return
    begin, found = time.monotonic(), []
    for model in options.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            found.append(one(model, Path(folder)))
    print(f"{len(found)} models: mean {statistics.mean(found):.1%}, worst {max(found):.1%}; {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
