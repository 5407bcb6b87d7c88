"""Does Hotlens tell the truth on this machine's device? One command, for a bare machine with torch on it; nothing is fetched.

    python tests/device/run.py --wheel hotlens-*.whl [--python PYTHON] [--device cuda|cpu] [--json FILE] [--keep FOLDER]

Unpacks the portable wheel, trains a small ResNet and a small GPT with and without it (pinned loader with workers, autocast,
`torch.compile`, CUDA graphs; where they are installed also with transformers' Trainer and Lightning) and compares what Hotlens says with
what is known otherwise:

    losses      of the profiled script with those of a plain run
    exit        of the profiled script
    stages      add up to the step, to the nanosecond
    step        the unprofiled step with the script's own clock in a plain run (told, not judged: it is another process)
    owners      operators' time, and on a GPU kernels' time, on the module whose range was around it (CUPTI's own ranges there)
    linked      kernels' time that has a launch, hence a stage
    memory      the peak with the allocator's own counter (GPU)
    cause       a loader that sleeps is data-bound; on a GPU a small model is launch-bound and a large one compute-bound
    lasts       a step of that large one takes as long as the device's own events say, however far ahead the host is
    prediction  the peak at twice the batch size with that of a real run (within 1 % on a GPU)

Prints a table, a line a check. Exit code 1 where one is wrong; what the machine lacks (a GPU, a compiler) is said and is not wrong.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import gzip
import json
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODULE_GOAL, LINKED_GOAL, MEMORY_GOAL = 0.99, 0.999, 0.001
BLOCKS_GOAL = 0.01  # of a predicted peak on a GPU: its allocator's blocks are larger than what was asked for
STEP_GOAL = 0.05  # steps differ
LONGEST = 280  # seconds that one training may take


@dataclass(frozen=True)
class Check:
    """`right` is None where the figure is told and not judged."""

    case: str
    what: str
    figure: str
    right: bool | None


@dataclass(frozen=True)
class Case:
    """A training: its name and the arguments of train.py."""

    name: str
    arguments: tuple[str, ...]
    only_on: str = ""  # a device


CASES = (
    Case("ResNet", ("resnet", "--batch-size", "16", "--truth")),
    Case("ResNet, AMP, pinned, workers", ("resnet", "--batch-size", "16", "--amp", "--workers", "2")),
    Case("GPT", ("gpt", "--truth")),
    Case("GPT, AMP", ("gpt", "--amp", "--truth", "--width", "128")),
    Case("GPT, compiled", ("gpt", "--compile")),
    Case("GPT, CUDA graphs", ("gpt", "--graphs"), "cuda"),
)


@dataclass(frozen=True)
class Machine:
    """The program under test, the interpreter that has torch, the device."""

    program: Path
    python: str
    device: str

    def train(
        self, folder: Path, arguments: tuple[str, ...], hotlens: tuple[str, ...] = (), script_name: str = "train.py"
    ) -> subprocess.CompletedProcess[str]:
        script = [str(HERE / script_name), *arguments, "--device", self.device]
        command = [str(self.program), "run", "--python", self.python, *hotlens, *script] if hotlens else [self.python, *script]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST)

    def say(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST)

    def report(self, folder: Path) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.say(folder, "report", "latest", "--format", "json").stdout)
        return document


def keep(place: Path, name: str, machine: Machine, to: Path | None) -> None:
    """The profiles of a folder and their reports as one archive, to look at elsewhere."""
    if to is None or not (place / ".hotlens/profiles").is_dir():
        return
    to.mkdir(parents=True, exist_ok=True)
    (place / "report.txt").write_text(machine.say(place, "report", "latest").stdout, encoding="utf-8")
    with tarfile.open(to / f"{name}.tar.gz", "w:gz") as archive:
        for what in (".hotlens/profiles", "report.txt"):
            archive.add(place / what, arcname=f"{name}/{what}")


def told_by(output: str) -> dict[str, Any]:
    """The script's own words: the last line that is an object."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[:120] if lines else "no word"


def trace_of(folder: Path) -> list[dict[str, Any]]:
    """The measured trace's events, as the profiler wrote them."""
    (file,) = sorted(folder.glob(".hotlens/profiles/*/trace-0.json.gz"))[-1:]
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        events: list[dict[str, Any]] = json.load(opened)["traceEvents"]
    return events


def inner_ranges(events: list[dict[str, Any]], category: str) -> dict[Any, tuple[list[float], list[dict[str, Any]]]]:
    """Truth ranges of a category by thread or stream, by their start."""
    by_track: dict[Any, list[dict[str, Any]]] = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and event.get("cat") == category and event["name"].startswith("truth."):
            by_track[event["tid"]].append(event)
    ordered = {track: sorted(found, key=lambda event: event["ts"]) for track, found in by_track.items()}
    return {track: ([event["ts"] for event in found], found) for track, found in ordered.items()}


def share_on_right_module(folder: Path, machine: Machine, kind: str, ranges: str) -> tuple[float, float]:
    """Share of the time of events of a kind inside truth ranges that Hotlens puts on the range's module, and their milliseconds."""
    output = machine.say(folder, "report", "latest", "--events").stdout
    said = {line["event"]: line for line in map(json.loads, output.splitlines())}
    events = trace_of(folder)
    by_track = inner_ranges(events, ranges)
    right = total = 0.0
    for index, event in enumerate(events):
        if event.get("ph") != "X" or event.get("cat") != kind or index not in said or event["tid"] not in by_track:
            continue
        starts, found = by_track[event["tid"]]
        nearest = found[: bisect.bisect_right(starts, event["ts"])][-8:]
        around = [one for one in nearest if event["ts"] + event["dur"] <= one["ts"] + one["dur"]]
        if around:
            total += event["dur"]
            right += event["dur"] * (said[index]["module"] == around[-1]["name"].split(".", 2)[2])
    return (right / total if total else 0.0), total / 1000


def judged(case: Case, machine: Machine, folder: Path) -> Iterator[Check]:
    """Everything that one training can show."""

    def check(what: str, figure: str, right: bool | None) -> Check:
        return Check(case.name, what, figure, right)

    plain = machine.train(folder, (*case.arguments, "--clock"))
    if plain.returncode:
        yield check("plain run", "this machine cannot: " + last_line(plain.stderr), None)
        return
    profiled = machine.train(folder, case.arguments, ("--keep-going",))
    yield check("exit", str(profiled.returncode), profiled.returncode == 0)
    if profiled.returncode:
        yield check("words", last_line(profiled.stderr), False)
        return
    known, told = told_by(plain.stdout), told_by(profiled.stdout)
    apart = max((abs(a - b) for a, b in zip(known["losses"], told.get("losses", []), strict=False)), default=1.0)
    limit = 0.0 if machine.device == "cpu" else 1e-2  # a GPU's sums come in another order
    yield check("losses", f"{apart:.2g} apart", len(told.get("losses", [])) == len(known["losses"]) and apart <= limit)
    report = machine.report(folder)
    yield stages(case.name, report)
    step = report["profile"]["plain_step_ns"] / 1e6
    yield check("step", f"{step:.2f} ms; own clock {known['step_ms']:.2f} ms, in the profiled run {told['step_ms']:.2f} ms", None)
    if "--truth" in case.arguments:
        share, ms = share_on_right_module(folder, machine, "cpu_op", "user_annotation")
        yield check("owners of operators", f"{share:.2%} of {ms:.1f} ms", share >= MODULE_GOAL)
    yield check("verdict", report["verdict"]["kind"], None)
    for warning in report["warnings"]:
        yield check("warning", warning["message"][:120] if isinstance(warning, dict) else str(warning)[:120], None)
    if machine.device != "cpu":
        yield from judged_device(case, machine, folder, report, known)


def judged_device(case: Case, machine: Machine, folder: Path, report: dict[str, Any], known: dict[str, Any]) -> Iterator[Check]:
    """What only a GPU has: kernels and the allocator's counter."""
    if "--truth" in case.arguments:
        share, ms = share_on_right_module(folder, machine, "kernel", "gpu_user_annotation")
        yield Check(case.name, "owners of kernels", f"{share:.2%} of {ms:.1f} ms", share >= MODULE_GOAL)
    totals = report["totals"]
    yield linked(case.name, report)
    ours, real = totals.get("memory_at_peak", {}).get("total_bytes", 0), known["peak_bytes"]
    yield Check(case.name, "memory", f"{ours} of {real} bytes", abs(ours - real) <= MEMORY_GOAL * real)


def stages(name: str, report: dict[str, Any]) -> Check:
    parts, step = sum(stage["wall_ns"] for stage in report["stages"]), report["totals"]["wall_ns"]
    return Check(name, "stages", f"{parts - step} ns beside the step", parts == step)


def linked(name: str, report: dict[str, Any]) -> Check:
    told, all_of_it = sum(stage["device_ns"] for stage in report["stages"]), report["totals"]["device_ns"]
    share = told / all_of_it if all_of_it else 0.0
    return Check(name, "linked", f"{share:.2%} of {all_of_it / 1e6:.2f} ms", share >= LINKED_GOAL)


def causes(machine: Machine, folder: Path) -> Iterator[Check]:
    """Loops whose cause is known because it was put there."""
    wanted: list[tuple[str, str, tuple[str, ...]]] = [("a loader that sleeps", "data", ("resnet", "--slow", "0.02"))]
    if machine.device != "cpu":
        wanted.append(("a small model", "launch", ("gpt", "--width", "32", "--batch-size", "1")))
        wanted.append(("a large model", "compute", ("gpt", "--width", "1024", "--batch-size", "64")))
    for name, cause, arguments in wanted:
        place = folder / cause
        place.mkdir()
        done = machine.train(place, arguments, ("--steps", "3"))
        found = machine.report(place)["verdict"]["kind"] if done.returncode == 0 else last_line(done.stderr)
        yield Check(name, "cause", f"{found}, wanted {cause}", found == cause)
        if cause == "compute" and done.returncode == 0:
            yield lasts(name, machine.report(place), place)


def lasts(name: str, report: dict[str, Any], folder: Path) -> Check:
    (manifest,) = sorted(folder.glob(".hotlens/profiles/*/manifest.json"))[-1:]
    real = statistics.median(json.loads(manifest.read_text(encoding="utf-8"))["profiled_step_ns"]) / 1e6
    told = report["totals"]["wall_ns"] / 1e6
    return Check(name, "lasts", f"{told:.2f} of {real:.2f} ms", abs(told - real) <= STEP_GOAL * real)


def frameworks(machine: Machine, folder: Path) -> Iterator[Check]:
    """Trainers that hide the loop."""
    for name in ("transformers", "lightning"):
        if subprocess.run([machine.python, "-c", f"import {name}"], capture_output=True, check=False).returncode:
            yield Check(name, "training", "not installed here", None)
            continue
        place = folder / name
        place.mkdir()
        done = machine.train(place, (name,), ("--steps", "5"), "trainers.py")
        yield Check(name, "exit", str(done.returncode), done.returncode == 0)
        if done.returncode:
            yield Check(name, "words", last_line(done.stderr), False)
            continue
        report = machine.report(place)
        yield stages(name, report)
        yield Check(name, "verdict", report["verdict"]["kind"], None)
        if machine.device != "cpu":
            yield linked(name, report)


def prediction(machine: Machine, folder: Path) -> Iterator[Check]:
    """The peak at twice the batch size, from recordings at two others."""
    name = "GPT, batch size 16 from 6 and 8"
    done = machine.train(folder, ("gpt",), ("--steps", "3", "--batch-sizes", "6,8"))
    if done.returncode:
        yield Check(name, "prediction", last_line(done.stderr), False)
        return
    answer = machine.say(folder, "predict", "--batch-size", "16", "--python", machine.python, "--format", "json")
    if answer.returncode:
        yield Check(name, "prediction", "refused: " + last_line(answer.stderr), None)
        return
    points = {point["batch_size"]: point for point in json.loads(answer.stdout)["points"]}
    truth = folder / "truth"
    truth.mkdir()
    machine.train(truth, ("gpt", "--batch-size", "16"), ("--steps", "3"))
    (program,) = truth.glob(".hotlens/profiles/*/program.json.gz")
    real = json.loads(gzip.decompress(program.read_bytes()))["allocator"]["peak_bytes"]
    predicted, goal = points[16]["peak_bytes"], MEMORY_GOAL if machine.device == "cpu" else BLOCKS_GOAL
    yield Check(name, "prediction", f"{predicted} of {real} bytes", abs(predicted - real) <= goal * real)


def unpacked(wheel: Path, folder: Path) -> Path:
    """The program of a wheel, the recorder where the program alone looks for it: beside what it shares."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (data,) = folder.glob("hotlens-*.data")
    (data / "scripts").rename(folder / "bin")
    (data / "data" / "share").rename(folder / "share")
    recorder = folder / "share" / "hotlens" / "recorder"
    recorder.mkdir()
    (folder / "hotlens").rename(recorder / "hotlens")
    program = folder / "bin" / "hotlens"
    program.chmod(0o755)
    return program


def has_gpu(python: str) -> bool:
    asked = subprocess.run([python, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"], check=False)
    return asked.returncode == 0


def checks(machine: Machine, folder: Path, to: Path | None) -> Iterator[Check]:
    for number, case in enumerate(CASES):
        if case.only_on in ("", machine.device):
            place = folder / f"case{number}"
            place.mkdir()
            yield from judged(case, machine, place)
            keep(place, place.name, machine, to)
    for more in (frameworks, causes, prediction):
        place = folder / more.__name__
        place.mkdir()
        yield from more(machine, place)
        for inner in [place, *sorted(each for each in place.iterdir() if each.is_dir())]:
            keep(inner, more.__name__ if inner == place else f"{more.__name__}-{inner.name}", machine, to)


def main() -> int:
    """A line a check as it is known, then the count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    under_test = parser.add_mutually_exclusive_group(required=True)
    under_test.add_argument("--wheel", type=Path, help="what .ci/package made")
    under_test.add_argument("--program", type=Path, help="a built one, its recorder beside it")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has torch")
    parser.add_argument("--device", choices=["cuda", "cpu"], help="default: the GPU where there is one")
    parser.add_argument("--json", type=Path, help="the table once more")
    parser.add_argument("--keep", type=Path, help="a folder for the profiles")
    options = parser.parse_args()
    done: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="hotlens-device-") as name:
        folder = Path(name)
        program = unpacked(options.wheel, folder / "wheel") if options.wheel else options.program.resolve()
        device = options.device or ("cuda" if has_gpu(options.python) else "cpu")
        python = Path(shutil.which(options.python) or options.python).absolute()
        machine = Machine(program, str(python), device)
        print(f"device: {device}")
        for check in checks(machine, folder, options.keep):
            done.append(check)
            mark = {True: "ok", False: "WRONG", None: ""}[check.right]
            print(f"{mark:6}{check.case:34}{check.what:22}{check.figure}", flush=True)
    wrong = sum(check.right is False for check in done)
    judged_ones = sum(check.right is not None for check in done)
    print(f"{judged_ones - wrong} of {judged_ones} right, {len(done) - judged_ones} told")
    if options.json:
        options.json.write_text(json.dumps([asdict(check) for check in done], indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
