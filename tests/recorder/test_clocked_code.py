"""Code with clocks in it: the script, its debugger and its other processes and threads do not notice."""

from __future__ import annotations

import inspect
import pickle
import sys
import textwrap
import threading
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hotlens.loop.clocking import Clocking
from hotlens.source.frames import Files
from script_time import MS, run

LINES = '''"""Text of the script."""
from __future__ import annotations


def train(n: int) -> int:
    """Text of the function."""
    global last
    for i in range(n):
        if i == 2:
            last = (
                i,
                work(1),
            )
            continue
        opt.step()
    else:
        return (
            n
        )


def steps():
    for i in range(2):
        opt.step()
        yield i


before = sorted(globals())
found = [train(4), list(steps())]
'''


def lines_run(code: Any, names: dict[str, Any]) -> list[tuple[str, int]]:
    seen = []

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != code.co_filename:
            return None
        if event == "line":
            seen.append((frame.f_code.co_name, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code, names)
    finally:
        sys.settrace(before)
    return seen


def clocked(folder: Path, text: str) -> tuple[Any, Any, Clocking]:
    """A script's code as it is, and with clocks."""
    path = folder / "train.py"
    path.write_text(text)
    clocking = Clocking(Files([str(folder)]), None)
    clocking.install()
    plain = compile(text, str(path), "exec", dont_inherit=True)
    code = clocking.script(plain, text.encode(), str(path))
    clocking.remove()
    return plain, code, clocking


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python 3.9 cannot place code on no line")
def test_a_debugger_sees_the_lines_of_the_file(tmp_path: Path) -> None:
    plain, code, _ = clocked(tmp_path, LINES)
    seen = [lines_run(c, {"opt": SimpleNamespace(step=lambda: None), "work": lambda ms: ms}) for c in (plain, code)]
    assert seen[0] == seen[1]


def test_names_texts_and_results_are_the_scripts_own(tmp_path: Path) -> None:
    spaces = []
    for code in clocked(tmp_path, LINES)[:2]:
        space: dict[str, Any] = {"opt": SimpleNamespace(step=lambda: None), "work": lambda ms: ms, "__name__": "__main__"}
        exec(code, space)
        spaces.append(space)
    plain, ours = spaces
    assert plain["before"] == ours["before"] and plain["found"] == ours["found"] == [4, [0, 1]] and plain["last"] == ours["last"]
    assert sorted(plain) == sorted(ours)
    assert ours["train"].__doc__ == "Text of the function." and ours["__doc__"] == "Text of the script."
    assert ours["train"].__annotations__ == plain["train"].__annotations__ == {"n": "int", "return": "int"}
    assert inspect.getsource(ours["train"]) == inspect.getsource(plain["train"])
    assert set(ours["train"].__code__.co_names) - set(plain["train"].__code__.co_names) == (set() if has_monitoring() else {"count"})
    assert ours["train"].__code__.co_varnames == plain["train"].__code__.co_varnames


def has_monitoring() -> bool:
    return hasattr(sys, "monitoring")


FAILS = """
def main():
    for i in range(3):
        try:
            opt.step()
        finally:
            check(
                i
            )

def check(i):
    if i == 1:
        raise ValueError(i)

main()
"""


def test_a_traceback_is_as_without(tmp_path: Path) -> None:
    said = []
    for code in clocked(tmp_path, FAILS)[:2]:
        with pytest.raises(ValueError) as raised:
            exec(code, {"opt": SimpleNamespace(step=lambda: None)})
        said.append("".join(traceback.format_exception(raised.type, raised.value, raised.tb)))
    assert said[0] == said[1] and "raise ValueError(i)" in said[0]


@pytest.mark.skipif(has_monitoring(), reason="the code is the script's own")
def test_a_clock_that_is_copied_to_another_process_counts_nothing(tmp_path: Path) -> None:
    """cloudpickle sends a function's code with its constants."""
    _, code, _ = clocked(tmp_path, LINES)
    train = next(c for c in code.co_consts if getattr(c, "co_name", "") == "train")
    clock = next(c for c in train.co_consts if hasattr(c, "plan"))
    copied = pickle.loads(pickle.dumps(clock))
    assert copied == () and copied.count(3) == 0


@pytest.mark.skipif(has_monitoring(), reason="the code is the script's own")
def test_code_stays_as_it_is_for_who_traces_it(tmp_path: Path) -> None:
    before = sys.gettrace()
    sys.settrace(lambda *event: None)
    try:
        plain, code, _ = clocked(tmp_path, LINES)
    finally:
        sys.settrace(before)
    assert code is plain


def test_what_a_compiler_takes_has_no_clock(tmp_path: Path) -> None:
    text = """
    @torch.compile
    def first(x):
        x.backward()

    def second(x):
        x.backward()

    class Net(nn.Module):
        def forward(self, x):
            for i in range(3):
                x = self.step(x)
            return self.unroll(x)
        def unroll(self, x):
            for i in range(3):
                x = self.step(x)
        def manual(self, loss):
            loss.backward()

    second = torch.compile(second)
    for i in range(3):
        second(i)
    """
    _, _, clocking = clocked(tmp_path, textwrap.dedent(text))
    assert sorted(w.clock.plan.function for w in clocking.clocks._clocks) == ["<module>", "Net.manual"]


def test_another_thread_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """
    def rollout():
        for i in range(3):
            work(5)
            opt_of_no_one.step()

    for i in range(3):
        opt.step()
        thread = Thread(target=rollout)
        thread.start()
        thread.join()
    """
    nobody = SimpleNamespace(step=lambda: None)
    result = run(tmp_path, monkeypatch, script, Thread=threading.Thread, opt_of_no_one=nobody)
    assert result["thread.join()"][0] == 2
    assert all(row["total_ns"] == 0 for row in result.rows if row["function"] == "rollout")


def test_a_module_of_the_project_has_clocks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine.py").write_text("def train_one_epoch(opt, work):\n    for i in range(3):\n        work(4)\n        opt.step()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "engine", raising=False)
    text = "from engine import train_one_epoch\nfor epoch in range(2):\n    train_one_epoch(opt, work)\n    work(9)  # saves\n"
    result = run(tmp_path, monkeypatch, text)
    sys.modules.pop("engine", None)
    inner = [r for r in result.whole["statements"] if r["file"] == 1 and r["line"] == 2]
    assert [(r["calls"], r["total_ns"]) for r in inner] == [(5, 20 * MS)]
    assert result.row("work(9)  # saves")["total_ns"] == 5 * 9 * MS // 3


def test_a_module_that_cannot_be_imported_is_said_as_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_engine.py").write_text("def step(:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = "import traceback\ntry:\n    import broken_engine\nexcept SyntaxError:\n    said = traceback.format_exc()\n"
    plain: dict[str, Any] = {}
    (tmp_path / "train.py").write_text(text)
    exec(compile(text, str(tmp_path / "train.py"), "exec"), plain)
    assert run(tmp_path, monkeypatch, text).names["said"] == plain["said"]
