"""However a script ends, it ends as it would without a recorder, and what it was is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from conftest import RECORDER, command, environment, fresh_record_text, plain, record, record_text
from hotlens.process import ending
from scripts import MODEL, STEP, indent, loop
from test_bundle import check_bundle

FORKS = """\
count = globals().get("count", 0) + 1
if count == {at}:
    import atexit, os, sys
    child = os.fork()
    if child == 0:
        atexit.register(lambda: print("handler"))
        print("child")
        {end}
    print("status", os.waitpid(child, 0)[1])
"""


@pytest.mark.parametrize("end, status", [("sys.exit(3)", 3 << 8), ("sys.exit()", 0), ("raise ValueError('in the child')", 1 << 8)])
@pytest.mark.parametrize("at", [2, 12])
def test_a_forked_child_ends_as_it_would(tmp_path: Path, at: int, end: str, status: int) -> None:
    """Before the profiler has started, and under it."""
    script = loop(step=FORKS.format(at=at, end=end) + STEP)
    (tmp_path / "train.py").write_text(script)
    done = subprocess.run(
        command(tmp_path, ["train.py"]), cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout == f"child\nhandler\nstatus {status}\n" and done.returncode == 0
    assert ("in the child" in done.stderr) == ("Value" in end)


C_OUTPUT = """\
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.strdup.restype = ctypes.c_void_p
words = ctypes.c_void_p(libc.strdup(b"handler of C"))  # outlives Python
"""


def test_a_forked_child_keeps_what_c_has_buffered_and_its_own_handlers(tmp_path: Path) -> None:
    end = "libc.printf(b'from C\\n'); libc['__cxa_atexit'](ctypes.cast(libc.puts, ctypes.c_void_p), words, None); sys.exit(3)"
    run = record_text(tmp_path, C_OUTPUT + loop(step=FORKS.format(at=12, end=end) + STEP))
    assert "from C\n" in run.out and "handler of C\n" in run.out and f"status {3 << 8}\n" in run.out


def test_a_forked_child_leaves_the_bundle_alone(tmp_path: Path) -> None:
    child = "import os, sys\nchild = os.fork()\nif child == 0: sys.exit(9)\nos.waitpid(child, 0)\n"
    run = record_text(tmp_path, loop(after=child), ["--keep-going"])
    assert run.code == 0 and run.bundle.manifest["exit_code"] == 0


TRAINS_IN_A_CHILD = """\
import os
child = os.fork()
if child == 0:
    exec(open("child.py").read())
    os._exit(5)
assert os.waitpid(child, 0)[1] == 5 << 8
"""


def test_a_child_that_imports_torch_itself_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(loop())
    run = fresh_record_text(tmp_path, TRAINS_IN_A_CHILD)
    assert run.code == 0 and run.bundles == [], run.err
    assert [p["phase"] for p in run.progress] == ["start", "failed"]


CLOSES = "import os\nos.closerange(3, 256)\nown = open('own.txt', 'w')\nassert own.fileno() == 3\n"


@pytest.mark.parametrize("at", ["first", "in the loop"])
def test_a_script_that_closes_all_descriptors_is_recorded(tmp_path: Path, at: str) -> None:
    once = "if 'own' not in globals():\n" + indent(CLOSES)
    script = CLOSES + loop() if at == "first" else loop(step=once + STEP)
    (tmp_path / "train.py").write_text(script)
    with open(tmp_path / "progress", "w") as progress:
        os.dup2(progress.fileno(), 200)
    os.set_inheritable(200, True)
    number = 3  # as of the program that starts the recorder
    become = f"import os, sys; os.dup2(200, {number}); os.execv(sys.argv[1], sys.argv[1:])"
    started = [sys.executable, "-c", become, *command(tmp_path, ["train.py"], fd=number)]
    streams = {"capture_output": True, "text": True, "pass_fds": (200,)}
    done = subprocess.run(started, cwd=tmp_path, env=environment(), timeout=300, check=False, **streams)
    os.close(200)
    assert done.returncode == 0 and done.stderr == ""
    assert (tmp_path / "own.txt").read_text() == ""  # nothing of ours in a file of the script's
    assert '"phase": "start"' in (tmp_path / "progress").read_text()
    (bundle,) = (tmp_path / ".hotlens" / "profiles").iterdir()
    assert (bundle / "manifest.json").exists()


STUBBORN = """\
import atexit
file = open("kept.txt", "w")
file.write("not flushed ")
raw = open("raw.bin", "wb")
raw.write(b"bytes")
atexit.register(lambda: file.write("and more"))
while True:
    x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
    try:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    except BaseException:
        pass
"""


def test_a_script_that_has_to_be_ended_loses_nothing(tmp_path: Path) -> None:
    run = record_text(tmp_path, MODEL + STUBBORN)
    check_bundle(run.bundle)
    assert run.code == 0
    assert (tmp_path / "kept.txt").read_text() == "not flushed and more" and (tmp_path / "raw.bin").read_bytes() == b"bytes"


ARGPARSE = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()\n"
CLICK = """\
class UsageError(Exception):
    def format_message(self):
        return "Missing option '--data'"
import sys
try:
    raise UsageError
except UsageError:
    sys.exit(2)
"""


@pytest.mark.parametrize(
    "end, code, said",
    [
        (ARGPARSE, 2, "train.py ended with code 2 before a training step: `the following arguments are required: --data`"),
        ("import sys\nsys.exit(7)\n", 7, "train.py ended with code 7 before a training step"),
        ("import sys\nsys.exit('no data')\n", 1, "train.py ended with code 1 before a training step: `no data`"),
        (CLICK, 2, "train.py ended with code 2 before a training step: `Missing option '--data'`"),
        ("try:\n    1 / 0\nexcept ArithmeticError:\n    raise SystemExit(5)\n", 5, "`ZeroDivisionError: division by zero`"),
        ("import sys\nsys.exit('`a`\\nb')\n", 1, "step: `'a' b`"),
    ],
    ids=["argparse", "a code", "a word", "click", "handling", "lines"],
)
def test_an_end_before_the_first_step_is_told(tmp_path: Path, end: str, code: int, said: str) -> None:
    run = record_text(tmp_path, end)
    expected = plain(tmp_path, ["train.py"])
    assert run.code == expected.returncode == code and expected.stderr in run.err
    (message,) = run.own_messages()
    assert said in message
    assert run.progress[-1] == {"phase": "failed", "message": message}  # no exception of the script's


def test_a_secret_is_not_repeated(tmp_path: Path) -> None:
    run = record_text(tmp_path, "import argparse\nargparse.ArgumentParser().parse_args()\n", arguments=["--api-key", "very-hidden"])
    assert run.code == 2 and run.own_messages() == [
        "train.py ended with code 2 before a training step: `unrecognized arguments: --api-key ***`"
    ]


def test_a_module_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "trainer.py").write_text("raise SystemExit(3)\n")
    assert record(tmp_path, ["-m", "trainer"]).own_messages() == ["trainer ended with code 3 before a training step"]


@pytest.mark.parametrize("start", [["-m", "torch.distributed.run", "--nproc_per_node", "2"], ["torchrun"]])
def test_a_launcher_of_a_python_without_torch(tmp_path: Path, start: list) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    (tmp_path / "train.py").write_text("import torch\n")
    arguments = [str(tmp_path / "bare" / "bin" / "python"), *command(tmp_path, [*start, "train.py"])[1:]]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, env=environment(PYTHONPATH=""), check=False)
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert "PyTorch is not installed" in done.stderr and "--python EXE" in done.stderr


def test_a_torch_that_cannot_start_workers(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.5.0'\n")
    done = subprocess.run(
        command(tmp_path, ["-m", "torch.distributed.run", "train.py"]),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(tmp_path)),
        check=False,
    )
    assert done.returncode == 3 and "Traceback" not in done.stderr and "this torch cannot start workers" in done.stderr


def test_a_folder_that_was_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    script = tmp_path / "train.py"
    script.write_text("import torch\n")
    shell = f'rmdir "$PWD"; exec "{sys.executable}" "{RECORDER}" record -- "{script}"'
    done = subprocess.run(["sh", "-c", shell], cwd=folder, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 3 and "Traceback" not in done.stderr and "the current folder has been deleted" in done.stderr


@pytest.mark.parametrize("name", [b"a\nb", b"\xff\xfe", "ü\u202e".encode(), b"a'b\"c"])
def test_a_folder_of_any_name(tmp_path: Path, name: bytes) -> None:
    folder = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))
    folder.mkdir()
    run = record_text(folder, loop())
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    assert all(len(line) < 200 or line.startswith("hotlens: ") for line in run.err.splitlines())
    shutil.rmtree(folder)


def test_a_long_word_at_the_end_is_cut() -> None:
    said = ending.sentence("t.py", SystemExit("word " * 1000))
    assert said is not None and len(said) < 400 and said.endswith("…`")
    assert ending.sentence("t.py", SystemExit("w" * ending.LONGEST)) == f"t.py ended with code 1 before a training step: `{'w' * 300}`"
