"""Edits that nobody chose: scripts changed by chance, each prediction compared with the script really run so.

    python tests/bench/mutated_edits.py --seed 1 --count 20 [SCRIPT…]

A mutation changes one number, flag or layer before the loop, or doubles, drops or adds a statement of a `forward`. A prediction is right if
its peak is that of the run to the byte; a misfit, if the run fails; a refusal claims nothing. Everything else is printed with its
difference. Without scripts: those of tests/e2e/lab/designs_*.py. Scripts whose peak differs from run to run are left out.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "e2e/lab"), str(TESTS)]

import designs_classifying  # noqa: E402
import designs_configured  # noqa: E402
import designs_generative  # noqa: E402
from conftest import ask  # noqa: E402
from training import record, recorded_peak  # noqa: E402

LAYERS = ("nn.ReLU()", "nn.GELU()", "nn.SiLU()", "nn.Tanh()", "nn.Identity()")
FUNCTIONS = ("relu", "gelu", "dropout")
Places = Iterator[tuple[int, int, int, str]]  # line, first character, end, what stands there instead


def designs() -> dict[str, str]:
    modules = (designs_classifying, designs_configured, designs_generative)
    return {
        name.lower(): text
        for module in modules
        for name, text in vars(module).items()
        if name.isupper() and name not in ("LOOP", "HEADER") and isinstance(text, str)
    }


def before_the_loop(lines: list[str]) -> int:
    """Lines that make the model: down to the first loop at the left margin."""
    return next((at for at, line in enumerate(lines) if line.startswith("for ")), len(lines))


def replacements(lines: list[str], end: int, chance: random.Random) -> Places:
    for at, line in enumerate(lines[:end]):
        if line.lstrip().startswith(("import", "from", "class", "#")):
            continue
        for found in re.finditer(r"(?<![\w.])([1-9]\d{0,4})(?![\w.])", line):
            number = int(found[1])
            yield at, *found.span(), str(chance.choice([number + 1, 2 * number, max(1, number // 2)]))
        for found in re.finditer(r"(?<![\w.])0\.\d+(?![\w.])", line):
            yield at, *found.span(), chance.choice(["0.0", "0.25", "0.75"])
        for found in re.finditer(r"\b(True|False)\b", line):
            yield at, *found.span(), "False" if found[0] == "True" else "True"
        for found in re.finditer(r"nn\.(ReLU|GELU|SiLU|Tanh|LeakyReLU|BatchNorm\dd|LayerNorm)\([^()]*\)", line):
            yield at, *found.span(), chance.choice(LAYERS)


def statements(lines: list[str], end: int) -> Iterator[int]:
    """Lines of assignments in methods that are called `forward`."""
    inside = False
    for at, line in enumerate(lines[:end]):
        if re.match(r"\s*(def|class) ", line):
            inside = "def forward" in line
        elif inside and re.match(r"\s+\w+ \+?= ", line):
            yield at


def mutated(text: str, chance: random.Random) -> str:
    """Another script, or the same where nothing was found."""
    lines = text.split("\n")
    end = before_the_loop(lines)
    assignments = list(statements(lines, end))
    if assignments and chance.random() < 0.3:
        at = chance.choice(assignments)
        indent, name = re.match(r"(\s+)(\w+)", lines[at]).groups()  # type: ignore[union-attr]
        added = f"{indent}{name} = F.{chance.choice(FUNCTIONS)}({name})"
        lines[at : at + 1] = chance.choice([[], [lines[at], lines[at]], [lines[at], added]])
    elif places := list(replacements(lines, end, chance)):
        at, first, last, instead = chance.choice(places)
        lines[at] = lines[at][:first] + instead + lines[at][last:]
    return "\n".join(lines)


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def difference(was: str, now: str) -> str:
    lines = difflib.unified_diff(was.split("\n"), now.split("\n"), lineterm="", n=0)
    return "  ".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def peak(folder: Path, text: str) -> int | None:
    """Of the script really run; nothing where it fails."""
    try:
        record(folder, text)
    except Exception:
        return None
    return recorded_peak(folder)


def verdict(folder: Path, text: str, truth: Path, unedited: int) -> tuple[str, str]:
    (folder / "train.py").write_text(text)
    done = ask(folder, "--edited", "--format", "json")
    if done.returncode:
        return "no answer", done.stderr[-200:]
    told = json.loads(done.stdout)
    if told["refused"]:
        return "refused", ""
    real = peak(truth, text)
    if told["misfits"]:
        reasons = [one["reason"] for one in told["misfits"]]
        return ("right misfit", "") if real is None else ("WRONG misfit", str(reasons))
    if not told["edits"]:
        return ("nothing told, rightly", "") if real == unedited else ("nothing told", f"{unedited} became {real}")
    peaks = {edit["peak_bytes"] for edit in told["edits"]}
    return ("right", "") if peaks == {real} else ("WRONG", f"{peaks}, really {real}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="mutations of each script")
    a = parser.parse_args()
    scripts = {path.stem: path.read_text() for path in a.scripts} or designs()
    chance, all_verdicts = random.Random(a.seed), Counter[str]()
    for name, text in scripts.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "recorded"
            unedited = peak(folder, text)
            if unedited is None or unedited != peak(Path(place) / "again", text):
                print(f"{name}: left out, its peak differs from run to run", flush=True)
                continue
            others = dict.fromkeys(mutated(text, chance) for _ in range(a.count))
            for number, other in enumerate(one for one in others if one != text and parses(one)):
                kind, detail = verdict(folder, other, Path(place) / f"truth{number}", unedited)
                all_verdicts[kind] += 1
                if detail:
                    print(f"{name}: {kind}: {difference(text, other)}: {detail}", flush=True)
    print(", ".join(f"{kind} {count}" for kind, count in all_verdicts.most_common()))


if __name__ == "__main__":
    main()
