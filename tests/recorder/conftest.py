"""Runs the recorder as its users do: another process, by path, on a script in a folder of its own."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from warm import WarmPython

ROOT = Path(__file__).resolve().parents[2]
RECORDER = ROOT / "annotator" / "recorder" / "hotlens" / "__main__.py"
EXAMPLES = ROOT / "examples"

if str(RECORDER.parents[1]) not in sys.path:
    sys.path.insert(0, str(RECORDER.parents[1]))


@dataclass
class Bundle:
    path: Path

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.path / "manifest.json").read_text(encoding="utf-8"))

    @property
    def model(self) -> dict[str, Any]:
        return json.loads((self.path / "model.json").read_text(encoding="utf-8"))

    def trace(self, name: str) -> list[dict[str, Any]]:
        with gzip.open(self.path / name) as file:
            return [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]

    def text(self, site: dict[str, Any]) -> str:
        """The source a site covers, from the copy in the bundle."""
        file = self.model["files"][site["file"]]
        lines = (self.path / file["copy"]).read_bytes().splitlines(keepends=True)[site["line"] : site["end_line"] + 1]
        lines[-1] = lines[-1][: site["end_column"]]
        lines[0] = lines[0][site["column"] :]
        return b"".join(lines).decode()

    def module(self, path: str) -> dict[str, Any]:
        return next(m for m in self.model["modules"] if m["path"] == path)

    def stages(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for s in self.model["stages"]:
            found.setdefault(s["stage"], []).append(self.text(s["site"]))
        return found


@dataclass
class Run:
    code: int
    out: str
    err: str
    progress: list[dict[str, Any]]
    folder: Path
    bundles: list[Bundle]

    @property
    def bundle(self) -> Bundle:
        assert len(self.bundles) == 1, f"{len(self.bundles)} bundles\n{self.err}"
        return self.bundles[0]

    def own_messages(self) -> list[str]:
        return [line[len("hotlens: ") :] for line in self.err.splitlines() if line.startswith("hotlens: ")]


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", **extra}


def bundles_in(out: Path) -> list[Bundle]:
    folder = out / ".hotlens" / "profiles"
    return [Bundle(p) for p in sorted(folder.iterdir()) if (p / "manifest.json").exists()] if folder.is_dir() else []


def command(out: Path, arguments: Sequence[str], options: Sequence[str] = (), fd: int | None = None) -> list[str]:
    progress = ["--progress-fd", str(fd)] if fd is not None else []
    return [sys.executable, str(RECORDER), "record", "--out", str(out), *progress, *options, "--", *arguments]


@functools.cache
def warm_python() -> WarmPython:
    python = WarmPython()
    atexit.register(python.close)
    return python


def record(
    folder: Path,
    arguments: Sequence[str],
    options: Sequence[str] = (),
    stdin: str = "",
    out: Path | None = None,
    fresh: bool = False,
) -> Run:
    """`fresh`: in a Python of its own, in which torch is imported by the script; else in one that has it (warm.py)."""
    out = out or folder
    with contextlib.ExitStack() as files:
        given, printed, complained, told = (files.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in range(4))
        given.write(stdin)
        given.seek(0)
        parts = command(out, arguments, options, told.fileno())
        if fresh:
            streams = {"stdin": given, "stdout": printed, "stderr": complained}
            done = subprocess.run(parts, cwd=folder, timeout=300, pass_fds=(told.fileno(),), env=environment(), check=False, **streams)
            code = done.returncode
        else:
            code = warm_python().run(parts, folder, environment(), [f.fileno() for f in (given, printed, complained)], [told.fileno()])
        for file in (printed, complained, told):
            file.seek(0)
        progress = [json.loads(line) for line in told]
        return Run(code, printed.read(), complained.read(), progress, folder, bundles_in(out))


def record_text(folder: Path, text: str, options: Sequence[str] = (), arguments: Sequence[str] = (), **more: Any) -> Run:
    (folder / "train.py").write_text(text, encoding="utf-8")
    return record(folder, ["train.py", *arguments], options, **more)


fresh_record = functools.partial(record, fresh=True)
fresh_record_text = functools.partial(record_text, fresh=True)


def printed_alone(folder: Path) -> str:
    """What train.py prints without a recorder, in a Python that has torch: what to compare a run with that has it, too."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed, open(os.devnull) as empty:
        code = warm_python().run([sys.executable, "train.py"], folder, environment(), [empty.fileno(), printed.fileno(), 2])
        assert code == 0
        printed.seek(0)
        return printed.read()


def plain(folder: Path, arguments: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The same without a recorder, in a Python of its own."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, input=stdin, text=True, capture_output=True, timeout=300, env=environment(), check=False
    )


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fresh_record(EXAMPLES / "resnet_digits", ["train.py"], out=tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="session")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fresh_record(EXAMPLES / "gpt_text", ["train.py"], out=tmp_path_factory.mktemp("gpt"))


@pytest.fixture(scope="session", params=["digits", "gpt"])
def example(request: pytest.FixtureRequest) -> Run:
    run: Run = request.getfixturevalue(request.param)
    return run
