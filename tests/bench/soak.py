"""Whether the language server grows: hours of an editor in minutes, and its resident memory over time.

    python tests/bench/soak.py [--minutes 60] [--per-second 1000] [--limit-mb 2]

Records examples/resnet_digits once. Then one server answers, as fast as it can or `--per-second`: hints, hovers, lenses, actions, resolved
hints and requests of the timeline, between edits of two files that are closed and opened anew, while bundles are replaced by newer ones and
profiling runs are started and cancelled. Prints the resident memory each minute and, of the last half, its slope, its least and its most.
The exit code is 1 where the last half grew by more than `--limit-mb`.

Needs HOTLENS_BIN and HOTLENS_TEST_PYTHON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e" / "lsp"))
from lsp_client import RICH, SERVER, Client

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
CAPABLE: dict[str, Any] = {**RICH, "experimental": {"hotlens": {}}}
BATCH = 100  # requests on the way at a time
BUNDLE_EVERY, RUN_EVERY, REOPEN_EVERY, SAMPLE_EVERY = 2.0, 15.0, 5.0, 1.0  # seconds


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def slope(samples: list[tuple[float, float]]) -> float:
    """Least squares, in the samples' units."""
    count = len(samples)
    mean_x, mean_y = sum(x for x, _ in samples) / count, sum(y for _, y in samples) / count
    square = sum((x - mean_x) ** 2 for x, _ in samples)
    return sum((x - mean_x) * (y - mean_y) for x, y in samples) / square if square else 0.0


@dataclass
class Counts:
    requests: int = 0
    edits: int = 0
    bundles: int = 0
    runs: int = 0
    opened: int = 0


@dataclass
class Soak:
    folder: Path
    client: Client
    seed: random.Random = field(default_factory=lambda: random.Random(7))
    counts: Counts = field(default_factory=Counts)
    versions: dict[str, int] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)

    def open(self, name: str) -> str:
        self.counts.opened += 1
        uri = self.client.open(self.folder / name)
        self.versions[uri] = 1
        return uri

    def reopen(self) -> None:
        for uri in list(self.versions):
            self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            self.open(Path(uri).name)

    def edit(self, uri: str) -> None:
        """A line comes or goes at the top, so that the text stays as long as it is."""
        self.counts.edits += 1
        self.versions[uri] += 1
        top, next_line = {"line": 0, "character": 0}, {"line": 1, "character": 0}
        grows = self.versions[uri] % 2 == 0
        change = {"range": {"start": top, "end": top if grows else next_line}, "text": f"# {self.versions[uri]}\n" if grows else ""}
        self.client.notify(
            "textDocument/didChange", {"textDocument": {"uri": uri, "version": self.versions[uri]}, "contentChanges": [change]}
        )

    def ask(self, uri: str) -> int:
        self.counts.requests += 1
        line = self.seed.randrange(80)
        document, at = {"textDocument": {"uri": uri}}, {"line": line, "character": 9}
        span = {"start": {"line": line, "character": 0}, "end": {"line": line + 40, "character": 0}}
        kinds: list[tuple[str, dict[str, Any]]] = [
            ("textDocument/inlayHint", {**document, "range": span}),
            ("textDocument/inlayHint", {**document, "range": span}),
            ("hotlens/hints", document),
            ("textDocument/hover", {**document, "position": at}),
            ("textDocument/hover", {**document, "position": at}),
            ("textDocument/codeLens", document),
            ("textDocument/codeAction", {**document, "range": span, "context": {"diagnostics": []}}),
            ("inlayHint/resolve", {"position": at, "label": "x", "data": [1, 1]}),
            ("hotlens/profileState", document),
            ("hotlens/timeline/level", {"path": self.path, "width": 800}),
            ("hotlens/timeline/details", {"path": self.path}),
            ("hotlens/timeline/overview", {}),
        ]
        return self.client.send(*self.seed.choice(kinds))

    def batch(self) -> None:
        uris = list(self.versions)
        last = 0
        for number in range(BATCH):
            if number % 10 == 0:
                self.edit(self.seed.choice(uris))
            last = self.ask(self.seed.choice(uris))
        self.client.wait(lambda: self.client.responses.get(json.dumps(last)), 60)
        end = self.client.send("hotlens/profileState")  # the timeline's answers come out of order: let the strand settle
        self.client.wait(lambda: self.client.responses.get(json.dumps(end)), 60)
        with self.client.changed:
            self.client.seen.clear()
            self.client.responses.clear()

    def replace_bundle(self) -> None:
        """The newest bundle under a newer name, written as the recorder does; those before the last three go."""
        store = self.folder / ".hotlens" / "profiles"
        known = sorted(store.iterdir())
        self.counts.bundles += 1
        name = f"{30000000 + self.counts.bundles}T000000Z-{self.counts.bundles:06x}"
        shutil.copytree(known[-1], store / f"{name}.partial")
        manifest = json.loads((store / f"{name}.partial" / "manifest.json").read_text())
        (store / f"{name}.partial" / "manifest.json").write_text(json.dumps({**manifest, "id": name}))
        (store / f"{name}.partial").rename(store / name)
        for old in known[:-2]:
            shutil.rmtree(old)

    def cancel_a_run(self) -> None:
        started = self.client.command("hotlens.server.profile", {"script": "train.py", "python": PYTHON})
        if not started["started"]:
            return
        self.counts.runs += 1
        time.sleep(self.seed.random())
        self.client.command("hotlens.server.cancel", {"runId": started["runId"]})


def soak(folder: Path, minutes: float, per_second: float) -> list[tuple[float, float]]:
    client = Client(cwd=folder)
    client.initialize([folder], CAPABLE)
    run = Soak(folder, client)
    client.hints_when_known(run.open("model.py"))
    run.open("train.py")
    begin = time.monotonic()
    due = dict.fromkeys(("bundle", "run", "reopen", "sample", "print"), begin)
    samples: list[tuple[float, float]] = []

    def is_due(what: str, every: float) -> bool:
        if time.monotonic() < due[what]:
            return False
        due[what] = time.monotonic() + every
        return True

    print("minutes  resident MB  requests    edits  bundles  runs  opened", flush=True)
    while (now := time.monotonic() - begin) < minutes * 60:
        run.batch()
        if per_second:
            time.sleep(max(0.0, run.counts.requests / per_second - (time.monotonic() - begin)))
        if is_due("bundle", BUNDLE_EVERY):
            run.replace_bundle()
        if is_due("reopen", REOPEN_EVERY):
            run.reopen()
        if is_due("run", RUN_EVERY):
            run.cancel_a_run()
        if is_due("sample", SAMPLE_EVERY):
            samples.append((now / 60, resident_mb(client.process.pid)))
        if is_due("print", 60):
            count = run.counts
            told = f"{count.requests:9} {count.edits:8} {count.bundles:8} {count.runs:5} {count.opened:7}"
            print(f"{now / 60:7.1f} {samples[-1][1]:12.2f} {told}", flush=True)
    count = run.counts
    print(f"{count.requests} requests, {count.edits} edits, {count.bundles} bundles replaced, {count.runs} runs cancelled")
    assert client.stop() == 0
    return samples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--per-second", type=float, default=0, help="requests; 0: as many as there can be")
    parser.add_argument("--limit-mb", type=float, default=2, help="what the last half may grow by")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "resnet_digits"
        shutil.copytree(ROOT / "examples" / "resnet_digits", folder, ignore=shutil.ignore_patterns(".hotlens", "__pycache__"))
        command = [SERVER, "run", "--python", PYTHON, "--warmup", "1", "--steps", "3", "train.py", "--epochs", "1"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        samples = soak(folder, options.minutes, options.per_second)
    half = samples[len(samples) // 2 :]
    grown = slope(half) * (half[-1][0] - half[0][0])
    memory = [mb for _, mb in half]
    print(f"last half ({half[-1][0] - half[0][0]:.1f} min): {grown:+.2f} MB by slope, {slope(half) * 60:+.2f} MB an hour, ", end="")
    print(f"from {min(memory):.1f} to {max(memory):.1f} MB")
    return 1 if grown > options.limit_mb else 0


if __name__ == "__main__":
    sys.exit(main())
