"""A recorded script is the script: arguments, __main__, imports, workers, output, exit status, tracebacks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, Run, plain
from conftest import fresh_record as record
from conftest import fresh_record_text as record_text
from scripts import MODEL, STEP, counted_loop, indent, loop
from test_bundle import check_bundle

FACTS = """
import json, os, pickle, sys
class Here: pass
main = sys.modules["__main__"]
print(json.dumps({
    "argv": sys.argv, "path": sys.path[:2], "cwd": os.getcwd(), "name": __name__, "file": __file__,
    "spec": __spec__ and __spec__.name, "package": __package__,
    "main": vars(main) is globals(), "loader": type(__loader__).__name__, "pickled": type(pickle.loads(pickle.dumps(Here()))).__qualname__,
    "doc": __doc__, "modules": sorted(m for m in sys.modules if "hotlens" in m and "_hotlens" not in m), "keys": sorted(globals()),
    "torch": "torch" in sys.modules, "trace": str(sys.gettrace()), "level": os.environ.get("KINETO_LOG_LEVEL"),
}))
"""


def test_a_script_sees_what_it_sees_under_plain_python(tmp_path: Path) -> None:
    folder = tmp_path / "with spaces ü"
    folder.mkdir()
    (folder / "train.py").write_text('"""Doc."""\n' + FACTS, encoding="utf-8")
    arguments = ["with spaces ü/train.py", "--lr", "0.1", "--", "-m"]
    expected = plain(tmp_path, arguments)
    run = record(tmp_path, arguments)
    assert run.out == expected.stdout
    assert run.code == expected.returncode == 0


def test_a_module_sees_what_it_sees_under_plain_python(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text("from . import __name__ as parent\nprint(parent)\n" + FACTS)
    arguments = ["-m", "pkg.train", "a", "b"]
    run = record(tmp_path, arguments)
    assert run.out == plain(tmp_path, arguments).stdout


def test_a_module_is_recorded(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(loop())
    run = record(tmp_path, ["-m", "pkg.train"])
    check_bundle(run.bundle)
    assert run.bundle.manifest["argv"] == ["-m", "pkg.train"]


def test_a_missing_module_is_reported_in_pythons_words(tmp_path: Path) -> None:
    run = record(tmp_path, ["-m", "no_such_thing"])
    expected = plain(tmp_path, ["-m", "no_such_thing"])
    assert expected.stderr.strip() in run.err and run.code == expected.returncode


@pytest.mark.parametrize("end, code", [("sys.exit(7)", 7), ("sys.exit()", 0), ("sys.exit('a word')", 1), ("raise SystemExit(3)", 3)])
def test_the_exit_status_is_the_scripts(tmp_path: Path, end: str, code: int) -> None:
    (tmp_path / "train.py").write_text(f"import sys\n{end}\n")
    run, expected = record(tmp_path, ["train.py"]), plain(tmp_path, ["train.py"])
    assert run.code == expected.returncode == code
    assert expected.stderr in run.err


RAISING = """
def inner():
    raise ValueError("it broke")
def outer():
    try:
        inner()
    except ValueError as error:
        raise RuntimeError("because") from error
outer()
"""


def test_a_traceback_is_the_scripts(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RAISING)
    run, expected = record(tmp_path, ["train.py"]), plain(tmp_path, ["train.py"])
    assert run.err == expected.stderr
    assert run.code == expected.returncode == 1


def test_a_traceback_through_watched_torch_has_no_frame_of_ours(tmp_path: Path) -> None:
    script = loop(
        step="model.c = nn.Linear(2, 2)\nclass Bad(nn.Module):\n    def __init__(self):\n        self.x = nn.Linear(2, 2)\nBad()\n"
    )
    (tmp_path / "train.py").write_text(script)
    run, expected = record(tmp_path, ["train.py"]), plain(tmp_path, ["train.py"])
    assert run.err == expected.stderr and "Bad" in run.err
    assert run.code == 1


def test_a_syntax_error_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\ny = = 2\n")
    run, expected = record(tmp_path, ["train.py"]), plain(tmp_path, ["train.py"])
    assert run.err == expected.stderr and run.code == 1
    assert run.progress[-1]["phase"] == "failed"
    assert (run.progress[-1]["error"]["type"], run.progress[-1]["error"]["line"]) == ("SyntaxError", 1)


def test_a_hook_of_the_users_for_uncaught_exceptions_is_called(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nsys.excepthook = lambda t, v, tb: print('mine', t.__name__)\n1 / 0\n")
    run = record(tmp_path, ["train.py"])
    assert run.out == "mine ZeroDivisionError\n" and run.code == 1


def test_torch_is_imported_by_the_script_and_not_before(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os\nos.environ['PYTORCH_JIT'] = '0'\nimport torch\nprint(torch.jit._state._enabled.enabled)\n"
    )
    assert record(tmp_path, ["train.py"]).out == "False\n"


def test_a_script_reads_stdin(tmp_path: Path) -> None:
    run = record_text(tmp_path, "import sys\nn = int(input())\nprint(n, sys.stdin.read())\n" + loop(), stdin="3\nrest")
    assert run.out == "3 rest\n"
    check_bundle(run.bundle)


WORKERS = """
import os, sys
from torch.utils.data import Dataset, get_worker_info
{model}
class Items(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, i):
        assert get_worker_info() is not None
        return torch.randn(8), i % 3

if __name__ == "__main__":
    for x, y in DataLoader(Items(), batch_size=8, num_workers=2, multiprocessing_context="{how}"):
{step}
"""


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_workers_neither_record_nor_write(tmp_path: Path, how: str) -> None:
    run = record_text(tmp_path, WORKERS.format(model=MODEL, how=how, step=indent(STEP, 8)))
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    assert [p["phase"] for p in run.progress].count("done") == 1
    assert run.bundle.manifest["step"]["by"] == "loader"


def test_output_of_a_recorded_script_is_the_scripts(tmp_path: Path) -> None:
    script = loop(
        step="print(round(criterion(model(x), y).item(), 6))\n"
        + "optimizer.zero_grad()\ncriterion(model(x), y).backward()\noptimizer.step()\n"
    )
    (tmp_path / "train.py").write_text(script)
    whole = record(tmp_path, ["train.py"], ["--keep-going"])
    expected = plain(tmp_path, ["train.py"])
    assert whole.out == expected.stdout and whole.err == expected.stderr == ""


def test_keep_going_runs_the_script_to_its_end(tmp_path: Path) -> None:
    run = record_text(tmp_path, loop(after="print('the end')\nraise SystemExit(5)\n"), ["--keep-going"])
    assert run.out == "the end\n" and run.code == 5
    assert run.bundle.manifest["stopped_early"] is False and run.bundle.manifest["exit_code"] == 5


def test_nothing_of_the_recorder_is_left_when_the_script_goes_on(tmp_path: Path) -> None:
    after = """
import gc, sys, weakref
from torch.utils.data import dataloader
from torch.optim import optimizer as o
for f in (nn.Module.__init__, nn.Module.__setattr__, nn.Module.__setstate__, nn.Module.add_module, dataloader._BaseDataLoaderIter.__next__,
          torch.autograd.backward, torch.autograd.grad, nn.Module.train, torch.compile, torch.optim.Optimizer.__init__,
          torch.amp.GradScaler.step):
    assert "recorder/hotlens" not in f.__code__.co_filename, f
assert not o._global_optimizer_post_hooks and sys.gettrace() is None
assert not any(getattr(p, "_post_accumulate_grad_hooks", None) for p in model.parameters())
held = weakref.ref(model.a.weight), weakref.ref(model), weakref.ref(criterion)
del model, optimizer, criterion, x, y, loss
gc.collect()
print([h() is None for h in held])
"""
    run = record_text(tmp_path, loop("loader(20_000)", after=after), ["--keep-going"])
    assert run.out == "[True, True, True]\n", run.err


@pytest.mark.parametrize("data", ["a loader", "no loader"])
def test_hooks_of_the_scripts_on_all_optimizers_go_on(tmp_path: Path, data: str) -> None:
    hook = """
from torch.optim import optimizer as o
seen = []
o.register_optimizer_step_post_hook(lambda *_: seen.append(1))
"""
    script = loop() if data == "a loader" else counted_loop(30)
    script = script.replace("from torch import nn\n", "from torch import nn\n" + hook, 1) + "print(len(seen), loss.item())\n"
    (tmp_path / "train.py").write_text(script)
    run = record(tmp_path, ["train.py"], ["--keep-going"])
    expected = plain(tmp_path, ["train.py"])
    assert (run.out, run.code) == (expected.stdout, 0)
    check_bundle(run.bundle)


def test_a_trace_function_of_the_users_is_put_back(tmp_path: Path) -> None:
    script = "import sys\ndef mine(frame, event, arg):\n    return None\nsys.settrace(mine)\n" + loop(
        after="print(sys.gettrace() is mine)\n"
    )
    assert record_text(tmp_path, script, ["--keep-going"]).out == "True\n"


def test_python_with_isolated_mode_runs_too(tmp_path: Path) -> None:
    import sys

    from conftest import RECORDER, environment

    (tmp_path / "train.py").write_text(loop())
    done = subprocess.run(
        [sys.executable, "-I", str(RECORDER), "record", "--out", str(tmp_path), "--", "train.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_examples_do_not_know_the_recorder() -> None:
    for file in (ROOT / "examples").rglob("*.py"):
        assert "hotlens" not in file.read_text().lower()


def test_the_random_numbers_are_the_scripts(tmp_path: Path) -> None:
    script = counted_loop(30, after="print(torch.rand(1).item(), loss.item())\n")
    (tmp_path / "train.py").write_text(script)
    run: Run = record(tmp_path, ["train.py"], ["--keep-going"])
    assert run.out == plain(tmp_path, ["train.py"]).stdout


def test_training_in_a_thread_is_recorded_and_ends_silently(tmp_path: Path) -> None:
    body = "for x, y in loader():\n" + indent(STEP)
    script = (
        MODEL
        + "import threading\ndef train():\n"
        + indent(body)
        + "t = threading.Thread(target=train)\nt.start()\nt.join()\nprint('end')\n"
    )
    run = record_text(tmp_path, script)
    assert (run.code, run.out) == (0, "end\n")
    assert "Traceback" not in run.err and run.own_messages() == []
    check_bundle(run.bundle)


def test_a_script_with_a_profiler_of_its_own_goes_on_alone(tmp_path: Path) -> None:
    script = (
        MODEL
        + "from torch.profiler import profile\nwith profile() as p:\n"
        + indent("for x, y in loader():\n" + indent(STEP))
        + "print('end')\n"
    )
    run = record_text(tmp_path, script)
    assert run.code == 0 and run.out == "end\n" and run.bundles == []
    assert "the script runs torch.profiler itself" in run.err and "on_trace_ready=hotlens.analyze(model)" in run.err
    assert run.progress[-1]["phase"] == "failed"


OWN_WINDOW = """\
from torch.profiler import profile, schedule
def train():
    optimizer.zero_grad()
    criterion(model(torch.randn(8, 8)), torch.randint(0, 3, (8,))).backward()
    optimizer.step()
for _ in range(BEFORE):
    train()
def ready(p):
    print(sum(e.name.startswith("ProfilerStep") for e in p.events()), "steps")
with profile(schedule=schedule(wait=2, warmup=1, active=3, repeat=1), on_trace_ready=ready) as p:
    for _ in range(9):
        train()
        p.step()
for _ in range(AFTER):
    train()
print("end")
"""


@pytest.mark.parametrize("before, after, measured", [(0, 0, 0), (3, 0, 0), (4, 0, 1), (6, 0, 1), (9, 0, 1), (1, 20, 5)])
def test_a_window_of_the_scripts_own_profiler_is_whole(tmp_path: Path, before: int, after: int, measured: int) -> None:
    """Wherever it opens: two profilers at once crash the process."""
    run = record_text(tmp_path, MODEL + OWN_WINDOW.replace("BEFORE", str(before)).replace("AFTER", str(after)))
    assert run.code == 0 and run.out.startswith("3 steps\n"), run.err
    assert run.out.endswith("end\n") or after
    assert ("on_trace_ready=hotlens.analyze(model)" in run.err) == (not after)
    assert [b.manifest["steps_measured"] for b in run.bundles] == [measured] * bool(measured)
    for bundle in run.bundles:
        check_bundle(bundle)


def test_a_fault_of_the_recorder_is_not_the_scripts(tmp_path: Path) -> None:
    fault = "import sys\nimport _hotlens_recorder.map_step.mapping as m\nm.MapStep._adopt_stack = lambda *a: 1 / 0\n"
    run = record_text(tmp_path, fault + loop(after="print('end')\n"))
    assert run.code == 0 and run.out == "end\n" and run.bundles == []
    assert "the recorder failed (ZeroDivisionError" in run.err


def test_a_fault_while_marking_costs_only_the_map_step(tmp_path: Path) -> None:
    fault = "import _hotlens_recorder.map_step.calls as c\nc.Calls.enter_stage = lambda *a: 1 / 0\n"
    run = record_text(tmp_path, fault + loop())
    assert run.code == 0
    manifest = run.bundle.manifest
    assert [w["code"] for w in manifest["warnings"]] == ["map_step_failed"] and "map_trace" not in manifest


YOUNG = """
import gc
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(8)])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
gc.collect()
for update in range(30):
    net(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print(len(gc.get_objects(0)) + len(gc.get_objects(1)))
"""


def test_the_scripts_next_garbage_collection_has_nothing_of_the_recorders_to_look_through(tmp_path: Path) -> None:
    """It fell into an evaluation, which took twice as long."""
    run = record_text(tmp_path, YOUNG, ["--keep-going"])
    assert int(run.out.split()[-1]) < 200
