"""How fast the language server answers, and what it weighs.

    python tests/bench/lsp_latency.py [--requests 1000] [--trace TRACE.json]

Records a real profile of a generated 10,000-line training program (many small layers, most of them used), then measures, each in a fresh
server:

- idle memory: resident set of the initialized server, before and after a profile is loaded;
- server start to first hint: process start to the first non-empty hint answer after didOpen, and didOpen to that answer, on the residual
  network of examples/ and on the generated file;
- hint requests (whole file, and a screen) on the generated file with every hint shown: quiet, while a profile loads, after an edit;
  the marks and the document symbols of the whole file after an edit;
- a new profile on disk to the refresh of hints, where the client watches no files (the server looks again and again) and where it does;
- with --trace, alone: what a person asks of such a file (hints of a screen, hover, lenses, actions) while that trace is read.

Needs HOTLENS_BIN and HOTLENS_TEST_PYTHON.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e" / "lsp"))
from lsp_client import RICH, SERVER, Client

PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
LINES = 10_000
ROOT = Path(__file__).resolve().parents[2]


def program(lines: int, count: int = 150) -> str:
    """A training script whose model has `count` blocks of four layers and functions between them up to `lines` lines."""
    classes, calls = [], []
    for i in range(count):
        classes.append(
            f"class Block{i}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            f"        self.norm = nn.LayerNorm(16)\n        self.up = nn.Linear(16, 32)\n        self.act = nn.GELU()\n"
            f"        self.down = nn.Linear(32, 16)\n\n    def forward(self, x):\n        h = self.norm(x)\n        h = self.up(h)\n"
            f"        h = self.act(h)\n        h = self.down(h)\n        return x + h\n\n\n"
        )
        calls.append(f"        x = self.block{i}(x)\n")
    attributes = "".join(f"        self.block{i} = Block{i}()\n" for i in range(count))
    model = (
        f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{attributes}\n"
        f"    def forward(self, x):\n{''.join(calls)}        return x\n\n\n"
    )
    loop = (
        "model = Model()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)\nfor step in range(20):\n"
        "    optimizer.zero_grad()\n    loss = model(torch.randn(8, 16)).pow(2).mean()\n    loss.backward()\n    optimizer.step()\n"
    )
    head = "import torch\nfrom torch import nn\n\n\n"
    used = (head + "".join(classes) + model + loop).count("\n")
    filler = "".join(f"def unused_{i}(a, b):\n    c = a * {i} + b\n    return c\n\n\n" for i in range((lines - used) // 5))
    text = head + "".join(classes) + filler + model + loop
    return text + "# end\n" * (lines - text.count("\n"))


def record(folder: Path) -> None:
    command = [SERVER, "run", "--python", PYTHON, "--warmup", "1", "--steps", "5", "train.py"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def resident_mb(client: Client) -> float:
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def quantiles(samples: list[float]) -> str:
    ordered = sorted(samples)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]
    return f"p50 {statistics.median(ordered):6.2f} ms  p99 {p99:6.2f} ms  max {ordered[-1]:6.2f} ms  ({len(ordered)} requests)"


def timed(client: Client, uri: str, begin: int, end: int) -> tuple[float, int]:
    started = time.perf_counter()
    hints = client.hints(uri, begin, end)
    took = (time.perf_counter() - started) * 1000
    client.responses.clear()  # kept answers would only measure this program's memory
    return took, len(hints)


def first_hint(folder: Path, file: str) -> tuple[float, float]:
    started = time.perf_counter()
    client = Client(cwd=folder)
    client.initialize([folder])
    opened = time.perf_counter()
    uri = client.open(folder / file)
    client.hints_when_known(uri)
    done = time.perf_counter()
    client.kill()
    return (done - started) * 1000, (done - opened) * 1000


def report_first_hint(folder: Path, file: str, what: str) -> None:
    runs = [first_hint(folder, file) for _ in range(9)]
    from_start, from_open = (statistics.median(run[i] for run in runs) for i in (0, 1))
    print(f"first hint, {what:<18}{from_open:6.1f} ms after didOpen, {from_start:6.1f} ms after process start (medians of 9)")


def report_idle_memory() -> None:
    with tempfile.TemporaryDirectory() as name:
        client = Client(cwd=Path(name))
        client.initialize([Path(name)])
        time.sleep(0.5)
        print(f"idle memory, no profile       {resident_mb(client):6.1f} MB")
        client.kill()


def report_requests(folder: Path, bundle: Path, percent: int, what: str, requests: int) -> None:
    """Hint requests as VS Code (a screen) and Neovim (the whole file) make them: tooltips are resolved later."""
    lazy = {**RICH, "textDocument": {**RICH["textDocument"], "inlayHint": {"resolveSupport": {"properties": ["tooltip"]}}}}
    client = Client(cwd=folder)
    client.initialize([folder], capabilities=lazy, options={"hints": {"minPercent": percent}})
    uri = client.open(folder / "train.py")
    hints = client.hints_when_known(uri)
    time.sleep(1.5)
    print(f"\n{what}: {len(hints)} hints, {resident_mb(client):.1f} MB with the profile")
    print("  quiet, a screen             ", quantiles([timed(client, uri, 100, 160)[0] for _ in range(requests)]))
    print("  quiet, whole file           ", quantiles([timed(client, uri, 0, LINES)[0] for _ in range(requests)]))
    loading, loads = while_loading(client, uri, bundle, len(hints), requests)
    print("  a profile loads, whole file ", quantiles(loading), f"over {loads} loads")
    edits = min(requests, 300)
    print("  after an edit, whole file   ", quantiles(after_edits(client, uri, 2, edits)))
    print("  after an edit, marks        ", quantiles(after_edits(client, uri, 2 + edits, edits, "hotlens/heat")))
    print("  after an edit, symbols      ", quantiles(after_edits(client, uri, 2 + 2 * edits, edits, "textDocument/documentSymbol")))
    print(f"  memory at the end            {resident_mb(client):6.1f} MB")
    client.kill()


def asked_by_a_person(client: Client, uri: str, line: int) -> dict[str, Callable[[], object]]:
    """By name; each sends one request about the line and waits for its answer."""
    document, at = {"uri": uri}, {"line": line, "character": 12}
    range_of_line = {"start": at, "end": at}
    return {
        "hints": lambda: client.hints(uri, max(0, line - 30), line + 30),
        "hover": lambda: client.request("textDocument/hover", {"textDocument": document, "position": at}),
        "lenses": lambda: client.request("textDocument/codeLens", {"textDocument": document}),
        "actions": lambda: client.request(
            "textDocument/codeAction", {"textDocument": document, "range": range_of_line, "context": {"diagnostics": []}}
        ),
    }


def report_beside_trace(folder: Path, trace: Path, requests: int) -> None:
    """The trace is shown and taken away again until every kind was asked `requests` times while it was read."""
    (folder / "train.py").write_text(program(LINES, 170))
    record(folder)
    client = Client(cwd=folder)
    client.initialize([folder], options={"hints": {"minPercent": 0}})
    uri = client.open(folder / "train.py")
    hints = client.hints_when_known(uri)
    time.sleep(1.5)
    print(f"{LINES} lines, {len(hints)} hints, {resident_mb(client):.1f} MB, while {trace.stat().st_size / 1e6:.1f} MB are read")
    lines = [hint["position"]["line"] for hint in hints]
    samples: dict[str, list[float]] = {}
    loads = asked = 0
    while len(samples.get("actions", [])) < requests:
        loads += 1
        for shown in (str(trace), ""):
            refreshes = len(client.messages("workspace/inlayHint/refresh"))
            client.settings = {"hints": {"minPercent": 0}, "profile": {"trace": shown}}
            client.notify("workspace/didChangeConfiguration", {"settings": None})
            while len(client.messages("workspace/inlayHint/refresh")) == refreshes:
                asked += 1
                for name, ask in asked_by_a_person(client, uri, lines[asked % len(lines)]).items():
                    started = time.perf_counter()
                    assert ask(), f"nothing for {name} while a trace is read"
                    if shown:
                        samples.setdefault(name, []).append((time.perf_counter() - started) * 1000)
                    client.responses.clear()
    for name, each in samples.items():
        print(f"  {name:<28}", quantiles(each))
    print("  all of them                 ", quantiles([took for each in samples.values() for took in each]), f"over {loads} loads")
    client.kill()


def while_loading(client: Client, uri: str, bundle: Path, expected: int, requests: int) -> tuple[list[float], int]:
    samples: list[float] = []
    copies: list[Path] = []
    while len(samples) < requests:
        copies.append(bundle.parent / f"2999{len(copies):04d}T000000Z-aaaaaa")
        shutil.copytree(bundle, copies[-1])
        refreshes = len(client.messages("workspace/inlayHint/refresh"))
        client.notify("workspace/didChangeWatchedFiles", {"changes": []})
        while len(client.messages("workspace/inlayHint/refresh")) == refreshes and len(samples) < requests:
            took, found = timed(client, uri, 0, LINES)
            assert found == expected, "hints vanished while a profile loads"
            samples.append(took)
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    for copy in copies:
        shutil.rmtree(copy)
    client.open(Path(uri.removeprefix("file://")))
    client.hints_when_known(uri)
    return samples, len(copies)


def timed_whole(client: Client, uri: str, method: str) -> float:
    started = time.perf_counter()
    client.request(method, {"textDocument": {"uri": uri}})
    took = (time.perf_counter() - started) * 1000
    client.responses.clear()
    return took


def after_edits(client: Client, uri: str, first: int, edits: int, method: str = "") -> list[float]:
    samples = []
    for version in range(first, first + edits):
        line = 20 + version // 2
        end = {"line": line, "character": version % 2}
        edit = {"range": {"start": {"line": line, "character": 0}, "end": end}, "text": "" if version % 2 else "#"}
        client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [edit]})
        samples.append(timed_whole(client, uri, method) if method else timed(client, uri, 0, LINES)[0])
    return samples


def new_profiles(folder: Path, bundle: Path, watched: bool, count: int = 25) -> list[float]:
    """From a profile's coming to the refresh, in ms. `watched`: the client says at once that it came, so what is left is reading it."""
    client = Client(cwd=folder)
    client.initialize([folder])
    uri = client.open(folder / "train.py")
    client.hints_when_known(uri)
    samples, copies = [], []
    for n in range(count):
        copies.append(bundle.parent / f"2999{n:04d}T000000Z-aaaaaa")
        shutil.copytree(bundle, folder / "coming")
        time.sleep(0.037 * (n % 11))  # at any moment between two looks
        refreshes = len(client.messages("workspace/inlayHint/refresh"))
        (folder / "coming").rename(copies[-1])
        came = time.perf_counter()
        if watched:
            client.notify("workspace/didChangeWatchedFiles", {"changes": []})
        client.wait(lambda before=refreshes: len(client.messages("workspace/inlayHint/refresh")) > before)
        samples.append((time.perf_counter() - came) * 1000)
    client.kill()
    for copy in copies:
        shutil.rmtree(copy)
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--trace", type=Path)
    options = parser.parse_args()
    requests = options.requests
    gc.disable()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.trace:
            return report_beside_trace(folder, options.trace.resolve(), requests)
        (folder / "train.py").write_text(program(LINES))
        record(folder)
        (bundle,) = (folder / ".hotlens" / "profiles").iterdir()
        size = sum(file.stat().st_size for file in bundle.rglob("*")) / 1e6
        print(f"{LINES} lines, bundle {size:.1f} MB")

        report_idle_memory()
        example = folder / "example"
        shutil.copytree(ROOT / "examples" / "resnet_digits", example, ignore=shutil.ignore_patterns(".hotlens", "__pycache__"))
        record(example)
        report_first_hint(example, "model.py", "example")
        report_first_hint(folder, "train.py", f"{LINES} lines")

        print("a new profile to its hints    ", quantiles(new_profiles(folder, bundle, watched=False)))
        print("  of it reading and binding   ", quantiles(new_profiles(folder, bundle, watched=True)))

        for percent, what in ((1, "lines of at least 1 %"), (0, "every line")):
            report_requests(folder, bundle, percent, what, requests)


if __name__ == "__main__":
    main()
