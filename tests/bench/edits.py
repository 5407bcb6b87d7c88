"""How far `hotlens predict --edited` is off: models of predict_models.py with a source really edited, peak and step time against real runs.

Each edit is a replacement in the text of the models. Real steps of the text as it is, of the edited one, and of the first again take turns;
the last is the control. Every error is printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

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
}
BATCH, ROUNDS, QUIET = 8, 12, 0.03


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
    return done.stdout


def record(folder: Path, model: str, text: str, steps: int) -> int:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    run(folder, HOTLENS, "run", "--python", PYTHON, "--warmup", "2", "--steps", str(steps), "train.py", model, str(BATCH))
    newest = max(folder.glob(".hotlens/profiles/*/program.json.gz"))
    return int(json.loads(gzip.decompress(newest.read_bytes()))["allocator"]["peak_bytes"])


# Both texts as modules of one process, so that their steps can take turns.
TIMES = """
import importlib, json, sys, time, torch
name, batch, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
roles = {}
for role, file in (("plain", "plain"), ("edited", "train"), ("again", "plain")):
    module = importlib.import_module(file)
    build, make = module.MODELS[name]
    torch.manual_seed(0)
    model = build()
    roles[role] = module, model, torch.optim.Adam(model.parameters()), module.loader(make, batch, rounds + 3)
found = {role: [] for role in roles}
for number in range(rounds + 3):
    for role, (module, model, optimizer, batches) in roles.items():
        begin = time.perf_counter()
        module.step(model, optimizer, next(batches))
        if number >= 3:
            found[role].append(time.perf_counter() - begin)
print(json.dumps(found))
"""


def real_ratios(folder: Path, model: str) -> tuple[float, float]:
    (folder / "plain.py").write_text(SOURCE)
    (folder / "times.py").write_text(TIMES)
    steps: dict[str, list[float]] = json.loads(run(folder, PYTHON, "times.py", model, str(BATCH), str(ROUNDS)))
    edited, again = (statistics.median(b / a for a, b in zip(steps["plain"], steps[role])) for role in ("edited", "again"))
    return edited, again


def one(model: str, place: Path) -> list[tuple[float, float, float]]:
    """Errors of memory and time, and the control, of each edit."""
    folder, rows = place / model, []
    record(folder, model, SOURCE, 9)
    for number, (old, new) in enumerate(EDITS[model]):
        assert old in SOURCE, old
        (folder / "train.py").write_text(SOURCE.replace(old, new))
        document = json.loads(run(folder, HOTLENS, "predict", "--edited", "--python", PYTHON, "--format", "json"))
        refused = document["refused"] + document["misfits"]
        if refused or not document["edits"]:
            print(f"{model:10} {new[:44]:44} refused: {refused[0]['reason'] if refused else 'no edit'}", flush=True)
            continue
        edit = document["edits"][0]
        truth = place / f"{model}-{number}"
        peak = record(truth, model, SOURCE.replace(old, new), 1)
        real, control = real_ratios(truth, model)
        predicted = edit["step_ns"] / edit["step_was_ns"]
        rows.append((edit["peak_bytes"] / peak - 1, predicted / real - 1, control - 1))
        print(
            f"{model:10} {new[:44]:44} memory {peak:11} error {rows[-1][0]:+.4%}, time {predicted - 1:+6.1%} real {real - 1:+6.1%} "
            f"error {rows[-1][1]:+6.1%} control {control - 1:+.1%}{'' if abs(control - 1) <= QUIET else '  not quiet'}",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(EDITS))
    options = parser.parse_args()
    rows: list[tuple[float, float, float]] = []
    with tempfile.TemporaryDirectory() as place:
        for model in options.models.split(","):
            rows += one(model, Path(place))
    print(
        f"memory to the byte: {sum(row[0] == 0 for row in rows)} of {len(rows)}, worst {max((abs(row[0]) for row in rows), default=0):.4%}"
    )
    for name, some in (("all", rows), ("control within 3 %", [row for row in rows if abs(row[2]) <= QUIET])):
        errors = [abs(row[1]) for row in some]
        if errors:
            print(f"time, {name}: {len(errors)} cases, mean {statistics.mean(errors):.1%}, worst {max(errors):.1%}")


if __name__ == "__main__":
    main()
