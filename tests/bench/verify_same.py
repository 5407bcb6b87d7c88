"""How often `hotlens whatif KIND --verify` calls a change that changes nothing faster or slower.

    python tests/bench/verify_same.py record POOL [--pairs 60]
    python tests/bench/verify_same.py judge POOL
    python tests/bench/verify_same.py whole [--times 5]

`record` runs short scripts, a model each, as `--verify` runs them: fresh processes in pairs, as they are and with a comment more,
every second pair the other way round; the models take turns, pair by pair. POOL (a file, one pair a line) grows with each call. `judge`
gives pairs of the pool to the rule of `--verify` (judge_pairs): as they ran, from every pair on, in both directions; and 50 seeded draws
a model of any two runs as pairs. `whole` is the command itself on a script where the change does next to nothing: a fused
update of eight times 256 weights. Needs HOTLENS_BIN and HOTLENS_TEST_PYTHON.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent
HOTLENS = Path(os.environ["HOTLENS_BIN"])
PYTHON = os.environ["HOTLENS_TEST_PYTHON"]
RECORDER = BENCH.parents[1] / "annotator/recorder/hotlens/__main__.py"
JUDGE = HOTLENS.parents[1] / "tests/bench/judge_pairs"
MODELS = ["mobilenet", "gpt"]
DRAWS, MOST_PAIRS, SEED = 50, 20, 5

SCRIPT = f"""\
import sys
sys.path.insert(0, {str(BENCH)!r})
import torch
from predict_models import MODELS, loader
from torch.nn import functional as F
build, make = MODELS[sys.argv[1]]
torch.manual_seed(0)
model = build()
optimizer = torch.optim.Adam(model.parameters())
for *inputs, target in loader(make, 8, 220):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(*inputs), target.flatten())
    loss.backward()
    optimizer.step()
"""

# The update is next to nothing of the step, fused or not.
NEXT_TO_NOTHING = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(256, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
x, y = torch.randn(4096, 256), torch.randint(8, (4096,))
for step in range(400):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(torch.tanh(x).sin().cos()), y)
    loss.backward()
    optimizer.step()
"""


def run(script: Path, model: str, changed: bool) -> float:
    """Nanoseconds of a step, the median of one process."""
    with tempfile.TemporaryDirectory() as name:
        result, text = Path(name) / "result.json", Path(name) / "text.py"
        text.write_text(SCRIPT + "# the same\n")
        given = [f"--with={script}={text}"] if changed else []
        command = [
            PYTHON,
            str(RECORDER),
            "time",
            "--result",
            str(result),
            "--warmup",
            "5",
            "--steps",
            "200",
            *given,
            "--",
            str(script),
            model,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return statistics.median(json.loads(result.read_text())["steps_ns"])


def record(pool: Path, pairs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "train.py"
        script.write_text(SCRIPT)
        for number in range(pairs):
            for model in MODELS:
                order = [False, True] if number % 2 == 0 else [True, False]
                took = {changed: run(script, model, changed) for changed in order}
                with pool.open("a") as out:
                    out.write(json.dumps({"model": model, "before": took[False], "after": took[True]}) + "\n")


def verdicts(verifications: list[list[tuple[float, float]]]) -> collections.Counter[str]:
    lines = "\n".join(" ".join(f"{int(before)} {int(after)}" for before, after in pairs) for pairs in verifications)
    done = subprocess.run([JUDGE], input=lines + "\n", capture_output=True, text=True, check=True)
    told = [line.split() for line in done.stdout.splitlines()]
    found = collections.Counter(words[0] for words in told)
    found["pairs"] = sum(int(words[1]) for words in told if words[0] != "short")
    return found


def said(name: str, found: collections.Counter[str]) -> None:
    judged = found["faster"] + found["slower"] + found["none"]
    mean = found["pairs"] / max(judged, 1)
    print(f"{name:34} {judged:4} verifications, faster {found['faster']}, slower {found['slower']}, {mean:.1f} pairs each")


def judge(pool: Path) -> None:
    rows = [json.loads(line) for line in pool.read_text().splitlines()]
    chance = random.Random(SEED)
    for model in MODELS:
        ran = [(row["before"], row["after"]) for row in rows if row["model"] == model]
        single = [time for pair in ran for time in pair]
        middle = statistics.median(single)
        spread = statistics.quantiles([time / middle - 1 for time in single], n=10)
        print(f"{model}: {len(single)} processes, step {middle / 1e6:.2f} ms, 80 % of them within {spread[0]:+.1%} and {spread[-1]:+.1%}")
        starts = range(len(ran) - MOST_PAIRS + 1)
        turned = [(after, before) for before, after in ran]
        as_ran = [pairs[start : start + MOST_PAIRS] for pairs in (ran, turned) for start in starts]
        said("  as they ran, from every pair on", verdicts(as_ran))
        drawn = [chance.sample(single, 2 * MOST_PAIRS) for _ in range(DRAWS)]
        said("  any two runs as a pair", verdicts([list(zip(times[::2], times[1::2], strict=True)) for times in drawn]))


def whole(times: int) -> None:
    found: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "train.py").write_text(NEXT_TO_NOTHING)
        subprocess.run([HOTLENS, "run", "--python", PYTHON, "train.py"], cwd=name, check=True, capture_output=True)
        command = [HOTLENS, "whatif", "fused_optimizer", "--verify", "--python", PYTHON, "--format", "json"]
        for _ in range(times):
            done = subprocess.run(command, cwd=name, capture_output=True, text=True)
            document = json.loads(done.stdout)
            assert document["items"], document["refused"]
            verified = document["items"][0]["verified"]
            found["faster" if verified["faster"] else "slower" if verified["low"] > 1.0 and verified["ratio"] > 1.01 else "none"] += 1
            found["pairs"] += verified["pairs"]
            found["losses " + verified["losses"]] += 1
    said("hotlens whatif --verify", found)
    print({key: count for key, count in found.items() if key.startswith("losses")})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "judge", "whole"])
    parser.add_argument("pool", type=Path, nargs="?")
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    if options.what == "whole":
        return whole(options.times)
    assert options.pool is not None, "name the pool"
    return record(options.pool, options.pairs) if options.what == "record" else judge(options.pool)


if __name__ == "__main__":
    main()
