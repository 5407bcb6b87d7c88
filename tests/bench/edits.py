"""How far `hotlens predict --edited` is off: models of predict_models.py with a source really edited, peak and step time against real runs.

Each edit is a replacement in the text of the models. Real steps are those of processes of one text each, which take turns; how far the
processes of the text as it is lie apart is the control. Every error is printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HOTLENS = os.environ.get("HOTLENS_BIN", str(HERE.parents[1] / "build/release/bin/hotlens"))
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
SOURCE = (HERE / "predict_models.py").read_text()

EDITS = {
    "resnet": [
        ("((16, 16), (16, 32), (32, 64))", "((16, 16), (16, 32), (32, 96))"),
        ("nn.Linear(64, CLASSES)", "nn.Linear(64, 2 * CLASSES)"),
    ],
    "mobilenet": [
        (
            "conv(i, 4 * i, 1), conv(4 * i, 4 * i, 3, 2, 4 * i), conv(4 * i, o, 1)",
            "conv(i, 6 * i, 1), conv(6 * i, 6 * i, 3, 2, 6 * i), conv(6 * i, o, 1)",
        )
    ],
    "unet": [
        ("[conv(3, 16), conv(16, 32), conv(32, 64)]", "[conv(3, 16), conv(16, 32), conv(32, 64, 5)]"),
        ("self.head = nn.Conv2d(16, CLASSES, 1)", "self.head = nn.Conv2d(16, CLASSES, 3, padding=1)"),
    ],
    "gpt": [
        ("causal: bool, width: int = 96", "causal: bool, width: int = 128"),
        (
            "nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)",
            "nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)",
        ),
        ("nn.GELU()", "nn.ReLU()"),
        ("Layer(width, 4, causal)", "Layer(width, 8, causal)"),
    ],
    "bert": [("causal: bool, width: int = 96", "causal: bool, width: int = 64"), ("nn.Dropout(0.1)", "nn.Dropout(0.0)")],
    "vit": [("def __init__(self, width: int = 96) -> None:", "def __init__(self, width: int = 160) -> None:")],
    "lstm": [
        ("nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, WORDS)", "nn.LSTM(64, 192, 2, batch_first=True), nn.Linear(192, WORDS)")
    ],
    "dlrm": [("nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width)", "nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, width)")],
    "gnn": [
        ("width: int = 64, depth: int = 3", "width: int = 96, depth: int = 3"),
        ("nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES)", "nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, CLASSES)"),
    ],
    "diffusion": [
        ("width: int = 16, moment: int = 64", "width: int = 24, moment: int = 64"),
        ("width: int, heads: int = 2", "width: int, heads: int = 4"),
        ("nn.Conv2d(width, CLASSES, 3, padding=1)", "nn.Conv2d(width, CLASSES, 1)"),
    ],
}
RELU, NORM, MLP = "nn.BatchNorm2d(o), nn.ReLU())", "nn.BatchNorm2d(o)", "nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))"
BLOCKS, WORDS = "((16, 16), (16, 32), (32, 64))", "nn.Linear(width, WORDS if causal else CLASSES)"
DEPTH, DEEP = "nn.ModuleList(Layer(width, 4, causal) for _ in range(3))", "nn.ModuleList(Layer(width, 4, causal) for _ in range({}))"
INVERTED = "conv(i, 4 * i, 1), conv(4 * i, 4 * i, 3, 2, 4 * i), conv(4 * i, o, 1)"
# Layers that come, go, are repeated or of another kind.
STRUCTURAL = {
    "resnet": [
        (BLOCKS, "((16, 16), (16, 16), (16, 32), (32, 64))"),
        (BLOCKS, "((16, 16), (16, 32), (32, 64), (64, 64), (64, 64))"),
        (BLOCKS, "((16, 32), (32, 64))"),
        (RELU, "nn.BatchNorm2d(o), nn.GELU())"),
        (NORM, "nn.GroupNorm(4, o)"),
        (NORM + ", ", ""),
        ("nn.Flatten(), nn.Linear(64, CLASSES)", "nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, CLASSES)"),
        ("nn.Flatten(), nn.Linear(64, CLASSES)", "nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, CLASSES)"),
    ],
    "mobilenet": [
        (RELU, "nn.BatchNorm2d(o), nn.Hardswish())"),
        ("((16, 24), (24, 32), (32, 48))", "((16, 24), (24, 32), (32, 32), (32, 48))"),
        ("((16, 24), (24, 32), (32, 48))", "((16, 24), (24, 48))"),
        (INVERTED, INVERTED + ", nn.Dropout2d(0.1)"),
        (INVERTED, INVERTED + ", conv(o, o, 1)"),
    ],
    "unet": [
        (RELU, "nn.BatchNorm2d(o), nn.LeakyReLU(0.1))"),
        (NORM, "nn.GroupNorm(8, o)"),
        ("nn.Conv2d(16, CLASSES, 1)", "nn.Sequential(conv(16, 16), nn.Conv2d(16, CLASSES, 1))"),
        (RELU, "nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, 1, 1), nn.ReLU())"),
        ("conv(32, 64)]", "conv(32, 64), conv(64, 64)]"),
    ],
    "gpt": [
        (DEPTH, DEEP.format(5)),
        (DEPTH, DEEP.format(1)),
        ("nn.GELU()", "nn.SiLU()"),
        (MLP, "nn.GELU(), nn.Linear(4 * width, 4 * width), " + MLP),
        (MLP, "nn.GELU(), nn.Linear(4 * width, width))"),
        ("nn.LayerNorm(width), nn.LayerNorm(width)", "nn.RMSNorm(width), nn.RMSNorm(width)"),
        ("nn.LayerNorm(width), nn.LayerNorm(width)", "nn.LayerNorm(width), nn.Identity()"),
        (WORDS, f"nn.Sequential(nn.LayerNorm(width), {WORDS})"),
    ],
    "bert": [
        (DEPTH, DEEP.format(6)),
        (DEPTH, DEEP.format(2)),
        (MLP, "nn.GELU(), nn.Linear(4 * width, width))"),
        ("nn.LayerNorm(width), nn.LayerNorm(width)", "nn.RMSNorm(width), nn.RMSNorm(width)"),
        (WORDS, f"nn.Sequential(nn.Linear(width, width), nn.Tanh(), {WORDS})"),
        ("nn.GELU()", "nn.GELU(), nn.Dropout(0.1)"),
    ],
    "vit": [
        ("for _ in range(3)])", "for _ in range(5)])"),
        ("for _ in range(3)])", "for _ in range(2)])"),
        ("nn.GELU()", "nn.ReLU()"),
        ("nn.Conv2d(3, width, 8, 8)", "nn.Sequential(nn.Conv2d(3, width, 8, 8), nn.BatchNorm2d(width))"),
        (
            "self.head = nn.Linear(width, CLASSES)\n\n    def forward(self, x: Tensor) -> Tensor:\n        x = self.patches",
            "self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, CLASSES))\n\n    def forward(self, x: Tensor) -> Tensor:\n"
            "        x = self.patches",
        ),
    ],
    "lstm": [
        ("nn.LSTM(", "nn.GRU("),
        ("nn.Linear(128, WORDS)", "nn.Sequential(nn.Dropout(0.1), nn.Linear(128, WORDS))"),
        ("nn.Linear(128, WORDS)", "nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, WORDS))"),
    ],
    "dlrm": [
        ("(tables + 1) ** 2, 64), nn.ReLU()", "(tables + 1) ** 2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()"),
        ("nn.Linear(13, 64), nn.ReLU()", "nn.Linear(13, 64), nn.GELU()"),
        ("nn.Linear(13, 64), nn.ReLU()", "nn.Linear(13, 64), nn.ReLU(), nn.Dropout(0.1)"),
        ("nn.Linear(13, 64), nn.ReLU()", "nn.Linear(13, 64)"),
        ("tables: int = 8", "tables: int = 7"),
    ],
    "gnn": [
        ("depth: int = 3", "depth: int = 5"),
        ("nn.Linear(width, width), nn.LayerNorm(width)", "nn.Linear(width, width), nn.Identity()"),
        ("nn.ReLU(), nn.Linear(width, CLASSES)", "nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, CLASSES)"),
        ("nn.ReLU(), nn.Linear(width, CLASSES)", "nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES)"),
    ],
    "diffusion": [
        ("nn.SiLU(), nn.Conv2d(o, o, 3, padding=1)", "nn.SiLU(), nn.Dropout(0.1), nn.Conv2d(o, o, 3, padding=1)"),
        ("Mixing(2 * width)", "nn.Identity()"),
        ("nn.GroupNorm(8, o), nn.SiLU()", "nn.GroupNorm(8, o), nn.GELU()"),
        ("nn.GroupNorm(8, i), nn.SiLU()", "nn.SiLU()"),
    ],
}
BATCH, ROUNDS, PAIRS, QUIET = 8, 15, 3, 0.03


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
    return done.stdout


# With the seconds that each answer took.
Answers = list[tuple[float, dict[str, Any]]]


def asked(folder: Path, *options: str) -> Answers:
    command = [HOTLENS, "predict", "--edited", "--python", PYTHON, "--format", "json", *options]
    begin, answers, text = time.monotonic(), [], ""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for line in process.stdout or ():
            text += line
            if line == "}\n":  # where a document ends
                answers.append((time.monotonic() - begin, json.loads(text)))
                text = ""
    return answers


def ratio(document: dict[str, Any]) -> float:
    return float(document["edits"][0]["step_ns"] / document["edits"][0]["step_was_ns"])


def record(folder: Path, model: str, text: str, steps: int) -> int:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    run(folder, HOTLENS, "run", "--python", PYTHON, "--warmup", "2", "--steps", str(steps), "train.py", model, str(BATCH))
    newest = max(folder.glob(".hotlens/profiles/*/program.json.gz"))
    return int(json.loads(gzip.decompress(newest.read_bytes()))["allocator"]["peak_bytes"])


# One text in a process of its own: caches and page faults are those of a training, not of several that take turns.
TIMES = """
import importlib, json, sys, time, torch
file, name, batch, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
module = importlib.import_module(file)
build, make = module.MODELS[name]
torch.manual_seed(0)
model = build()
optimizer, batches, found = torch.optim.Adam(model.parameters()), module.loader(make, batch, rounds + 3), []
for number in range(rounds + 3):
    begin = time.perf_counter()
    module.step(model, optimizer, next(batches))
    if number >= 3:
        found.append(time.perf_counter() - begin)
print(json.dumps(found))
"""


def real_ratios(folder: Path, model: str) -> tuple[float, float]:
    """Edited to plain, and plain to plain: processes in turn, the edited ones between plain ones."""
    (folder / "plain.py").write_text(SOURCE)
    (folder / "times.py").write_text(TIMES)

    def seconds(file: str) -> float:
        return statistics.median(json.loads(run(folder, PYTHON, "times.py", file, model, str(BATCH), str(ROUNDS))))

    plain, edited = [seconds("plain")], []
    for _ in range(PAIRS):
        edited.append(seconds("train"))
        plain.append(seconds("plain"))
    ratios = [2 * between / (before + after) for before, between, after in zip(plain, edited, plain[1:])]
    return statistics.median(ratios), statistics.median(after / before for before, after in zip(plain, plain[1:]))


# Errors of memory and, where it was measured, of time; the control; predicted and real ratio of times.
Row = tuple[float, float | None, float, float, float]


def one(model: str, place: Path, edits: list[tuple[str, str]], peaks: bool) -> list[Row]:
    folder, rows = place / model, []
    record(folder, model, SOURCE, 9)
    for number, (old, new) in enumerate(edits):
        assert old in SOURCE, old
        (folder / "train.py").write_text(SOURCE.replace(old, new))
        *first, (took, document) = asked(folder, *["--quick", "--checked"][: 2 * int(peaks)])
        name = f"{model:10} {' '.join(new.split())[:60]:60}"
        refused = document["refused"] + document["misfits"]
        if refused or not document["edits"]:
            print(f"{name} refused: {refused[0] if refused else 'no edit'}", flush=True)
            continue
        edit = document["edits"][0]
        truth = place / f"{model}-{number}"
        peak = record(truth, model, SOURCE.replace(old, new), 1)
        error = edit["peak_bytes"] / peak - 1
        predicted = ratio(document)
        if peaks:
            rows.append((error, None, 0.0, predicted, 0.0))
            early = "".join(f", first {ratio(one) / predicted - 1:+.1%} from it in {seconds:.2f} s" for seconds, one in first)
            print(f"{name} memory {peak:11} error {error:+.4%}, time {predicted - 1:+6.1%} in {took:.2f} s{early}", flush=True)
            continue
        real, control = real_ratios(truth, model)
        rows.append((error, predicted / real - 1, control - 1, predicted, real))
        print(
            f"{name} memory {peak:11} error {error:+.4%}, time {predicted - 1:+6.1%} real {real - 1:+6.1%} "
            f"error {predicted / real - 1:+6.1%} control {control - 1:+.1%}{'' if abs(control - 1) <= QUIET else '  not quiet'}",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(EDITS))
    parser.add_argument("--edits", choices=["sizes", "structural", "all"], default="all")
    parser.add_argument("--peaks", action="store_true", help="memory alone, with replays as short as while typing")
    options = parser.parse_args()
    rows: list[Row] = []
    edits = 0
    with tempfile.TemporaryDirectory() as place:
        for model in options.models.split(","):
            some = [*(EDITS[model] if options.edits != "structural" else []), *(STRUCTURAL[model] if options.edits != "sizes" else [])]
            edits += len(some)
            rows += one(model, Path(place), some, options.peaks)
    exact = sum(row[0] == 0 for row in rows)
    print(f"{edits} edits; memory to the byte: {exact} of {len(rows)}, worst {max((abs(row[0]) for row in rows), default=0):.4%}")
    for name, limit in (("all", math.inf), ("control within 3 %", QUIET)):
        timed = [(row[1], row[3], row[4]) for row in rows if row[1] is not None and abs(row[2]) <= limit]
        if timed:
            errors = [abs(error) for error, _, _ in timed]
            signs = [(predicted > 1) == (real > 1) for _, predicted, real in timed if abs(real - 1) > 0.05]
            print(f"time, {name}: {len(errors)} cases, mean {statistics.mean(errors):.1%}, worst {max(errors):.1%}, ", end="")
            print(f"right sign where it changes by more than 5 %: {sum(signs)} of {len(signs)}")


if __name__ == "__main__":
    main()
