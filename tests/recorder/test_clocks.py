"""Clocks of the loop's statements: what a file's statements are, what is counted on them, and that the script does not notice.

The scripts of this file live in a time of their own that only `work(ms)` lets pass, so every number is known exactly. Nothing here needs
torch: `opt.step()` makes an update as the recorder's hooks would.
"""

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
from hotlens import clock, clocks
from hotlens.clocking import Clocking
from hotlens.frames import Files

MS = 1_000_000


class World:
    """A script's time, and what it is given by name."""

    def __init__(self) -> None:
        self.now = 1
        self.clocks: Any = None
        self.profiled = False

    def work(self, ms: int) -> int:
        self.now += ms * MS
        return ms

    def step(self, closure: Any = None) -> None:
        if closure is not None:
            closure()
        self.work(2)
        self.clocks.first_update()
        self.clocks.pause()
        self.clocks.settle()
        self.now += 100 * MS  # the recorder's own work
        if not self.profiled:
            self.clocks.watch()

    def profile(self, on: bool) -> None:
        """Whether a profiler runs in the step that begins next."""
        self.profiled = on


class Result:
    def __init__(self, text: str, whole: dict[str, Any], names: dict[str, Any]) -> None:
        self.whole, self.names = whole, names
        lines = text.splitlines()
        self.rows = [{**row, "text": lines[row["line"]].strip()} for row in whole["statements"] if row["file"] == 0]

    def __getitem__(self, text: str) -> tuple[int, int]:
        """Calls and milliseconds of the statement that begins with a line."""
        row = self.row(text)
        assert row["timed_ns"] % MS == 0
        return row["calls"], row["timed_ns"] // MS

    def row(self, text: str) -> dict[str, Any]:
        found = [r for r in self.rows if r["text"] == text]
        assert len(found) == 1, (text, [r["text"] for r in self.rows])
        return found[0]


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, **names: Any) -> Result:
    return run_in(World(), folder, monkeypatch, text, **names)


def run_in(world: World, folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, **names: Any) -> Result:
    for module in (clock, clocks):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter_ns=lambda: world.now))
    text = textwrap.dedent(text)
    path = folder / "train.py"
    path.write_text(text)
    clocking = Clocking(Files([str(folder)]), None)
    world.clocks = clocking.clocks
    clocking.install()
    space = {"opt": world, "work": world.work, "__name__": "__main__", **names}
    try:
        exec(clocking.script(compile(text, str(path), "exec"), text.encode(), str(path)), space)
        clocking.clocks.end()
    finally:
        clocking.remove()
    return Result(text, clocking.clocks.as_json(lambda filename: int(filename != str(path))), space)


RARE = """
import time
for i in range(13):
    work(1)
    if i % 4 == 3:
        work(10)
    opt.step()
    work(3)
"""


def test_work_that_comes_now_and_then_has_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, RARE)
    # From the first update on: 12 more of them, then the end of the loop.
    assert result["work(1)"] == (12, 12)
    assert result["work(3)"] == (13, 39)
    assert result["opt.step()"] == (12, 24)
    assert result["work(10)"] == (3, 30)
    rare = result.row("work(10)")
    # Where i % 4 == 3, counted from the second update on.
    assert (rare["in_updates"], rare["first_update"], rare["last_update"]) == (3, 2, 10)
    assert result.whole["updates"] == result.whole["made"] == 12
    assert rare["per_update_ns"] == 30 * MS // 12


OFTEN_WATCHED = """
for i in range(33):
    profile(i < 16)
    work(1)
    if i % 16 == 15:
        work(32)
    opt.step()
"""


def watched_from(folder: Path, monkeypatch: pytest.MonkeyPatch, watched: int, updates: int) -> tuple[Result, dict[str, Any]]:
    """OFTEN_WATCHED with so many updates, a profiler in those before `watched`; and its row of what comes in every sixteenth."""
    world = World()
    text = OFTEN_WATCHED.replace("range(33)", f"range({updates})").replace("i < 16", f"i < {watched - 1}")
    result = run_in(world, folder, monkeypatch, text, profile=world.profile)
    assert (result.whole["updates"], result.whole["made"]) == (updates - watched, updates - 1)
    total = sum(row["total_ns"] for row in result.rows)
    assert total <= result.whole["watched_ns"] <= total + len(result.rows)
    return result, result.row("work(32)")


@pytest.mark.parametrize(("watched", "updates"), [(17, 33), (14, 18), (14, 30), (3, 20), (20, 40)])
def test_what_comes_every_sixteenth_update_counts_for_one_in_sixteen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: int, updates: int
) -> None:
    """However often it came among those watched."""
    result, rare = watched_from(tmp_path, monkeypatch, watched, updates)
    assert (rare["calls"], rare["timed_ns"]) == (1, 32 * MS)
    assert rare["total_ns"] == 32 * MS * result.whole["updates"] // 16


def test_what_came_once_and_not_again_has_no_rhythm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = OFTEN_WATCHED.replace("i % 16 == 15", "i == 3").replace("i < 16", "i < 2")
    world = World()
    result = run_in(world, tmp_path, monkeypatch, text, profile=world.profile)
    rare = result.row("work(32)")
    assert (result.whole["updates"], result.whole["made"], rare["in_updates"]) == (30, 32, 1)
    assert rare["total_ns"] == 32 * MS * 30 // 32


def test_the_statements_add_up_to_what_was_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, RARE)
    assert sum(r["total_ns"] for r in result.rows) == result.whole["watched_ns"] == sum(result.whole["update_ns"]) + 3 * MS
    assert [loop["updates"] for loop in result.whole["loops"]] == [12]
    assert result.row("work(1)")["startup_ns"] == MS and result.whole["startup_ns"] == 3 * MS


FORMS = {
    "a helper makes the update": (
        """
        def train_step():
            work(5)
            opt.step()
            return work(1)

        for i in range(4):
            train_step()
            work(2)
        """,
        {"work(5)": (3, 15), "return work(1)": (4, 4), "train_step()": (3, 25), "work(2)": (4, 8)},
    ),
    "a class": (
        """
        class Trainer:
            def fit(self):
                for i in range(4):
                    self.__work(i)
                    opt.step()

            def __work(self, i):
                work(7)

        Trainer().fit()
        """,
        {"self.__work(i)": (3, 21), "opt.step()": (3, 6), "Trainer().fit()": (0, 27)},
    ),
    "a generator whose consumer works": (
        """
        def steps():
            for i in range(4):
                work(1)
                opt.step()
                yield i
                work(3)

        def main():
            for i in train(steps()):
                work(50)

        def train(steps):
            yield from steps

        main()
        """,
        {"work(1)": (3, 3), "yield i": (4, 0), "work(3)": (4, 12), "work(50)": (4, 200), "for i in train(steps()):": (4, 21)},
    ),
    "a generator as loader": (
        """
        def batches():
            while True:
                yield work(9)

        for i, batch in zip(range(4), batches()):
            opt.step()
        """,
        {"for i, batch in zip(range(4), batches()):": (4, 27), "opt.step()": (3, 6)},
    ),
    "async": (
        """
        async def main():
            async for i in stream():
                await work_async(4)
                async with lock():
                    work(1)
                opt.step()

        async def stream():
            for i in range(4):
                work(6)
                yield i

        asyncio.run(main())
        """,
        {"async for i in stream():": (4, 18), "await work_async(4)": (3, 12), "async with lock():": (3, 24), "work(1)": (3, 3)},
    ),
    "try, with, continue and break": (
        """
        i = 0
        while True:
            i += work(1)
            try:
                if i == 3:
                    work(20)
                    continue
                with lock():
                    work(5)
                if i == 6:
                    raise ValueError
            except ValueError:
                work(30)
                break
            finally:
                work(2)
            opt.step()
        """,
        {"i += work(1)": (5, 5), "work(20)": (1, 20), "work(5)": (4, 20), "with lock():": (4, 32), "work(30)": (1, 30), "work(2)": (5, 10)},
    ),
    "a loop that makes no update is one statement": (
        """
        for i in range(4):
            total = 0
            for j in range(100):
                total += work(1)
            opt.step()
        """,
        {"for j in range(100):": (3, 300), "opt.step()": (3, 6)},
    ),
    "gradients of a function, without backward()": (
        """
        gradients = vmap(grad_and_value(lambda i: i))
        for i in range(4):
            work(3)
            gradients(i)
            advance()
        """,
        {"work(3)": (3, 9), "gradients(i)": (3, 0), "advance()": (3, 6)},
    ),
    "tokens, in a function without gradients": (
        """
        @no_grad()
        def answer():
            work(7)
            for token in range(3):
                work(2)
                advance()

        for batch in range(2):
            answer()
        """,
        {"work(7)": (1, 7), "work(2)": (5, 10), "advance()": (5, 10)},
    ),
    "what a package's loop calls": (
        """
        class OwnTrainer(Trainer):
            def compute_loss(self, i):
                work(4)
                work(1)

        def together(rows):
            return work(5)

        OwnTrainer(collate_fn=together, advance=advance).go()
        """,
        {
            "work(4)": (3, 12),
            "work(1)": (3, 3),
            "return work(5)": (3, 15),
            "OwnTrainer(collate_fn=together, advance=advance).go()": (0, 36),
        },
    ),
    "an evaluation by another function": (
        """
        def evaluate():
            for j in range(3):
                work(10)

        def main():
            for i in range(6):
                opt.step()
                if i % 2 == 0:
                    evaluate()

        main()
        """,
        {"evaluate()": (3, 90), "opt.step()": (5, 10), "main()": (0, 100)},
    ),
    "a closure": (
        """
        def closure():
            work(4)
            return 1

        for i in range(4):
            opt.step(closure)
            work(1)
        """,
        {"opt.step(closure)": (3, 18), "work(1)": (4, 4)},
    ),
}


class Trainer:
    """A package's: its own lines have no clock."""

    def __init__(self, collate_fn: Any, advance: Any) -> None:
        self._advance, self._collate = advance, collate_fn

    def go(self) -> None:
        for i in range(4):
            self._collate([])
            self.compute_loss(i)
            self._advance()

    def compute_loss(self, i: int) -> None:
        raise NotImplementedError


class Lock:
    """Entering takes 3 ms and leaving 5."""

    def __init__(self, work: Any) -> None:
        self._work = work

    def __enter__(self) -> None:
        self._work(3)

    def __exit__(self, *error: Any) -> None:
        self._work(5)

    async def __aenter__(self) -> None:
        self._work(3)

    async def __aexit__(self, *error: Any) -> None:
        self._work(5)


PRELUDE = """
import asyncio
lock = lambda: Lock(work)
advance = opt.step
no_grad = lambda: lambda function: function
vmap = grad_and_value = no_grad()
async def work_async(ms):
    work(ms)
"""


@pytest.mark.parametrize("name", FORMS)
def test_time_is_on_its_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    script, expected = FORMS[name]
    result = run(tmp_path, monkeypatch, PRELUDE + textwrap.dedent(script), Lock=Lock, Trainer=Trainer)
    assert {text: result[text] for text in expected} == expected


# -- the script does not notice

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
    assert sorted(w.clock.plan.function for w in clocking.clocks._clocks) == ["<module>", "manual"]


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
    assert result["thread.join()"][0] == 3
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
    assert result["work(9)  # saves"] == (2, 18)


def test_a_module_that_cannot_be_imported_is_said_as_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_engine.py").write_text("def step(:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = "import traceback\ntry:\n    import broken_engine\nexcept SyntaxError:\n    said = traceback.format_exc()\n"
    plain: dict[str, Any] = {}
    (tmp_path / "train.py").write_text(text)
    exec(compile(text, str(tmp_path / "train.py"), "exec"), plain)
    assert run(tmp_path, monkeypatch, text).names["said"] == plain["said"]
