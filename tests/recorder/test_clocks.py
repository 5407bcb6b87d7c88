"""Clocks of the loop's statements: what a file's statements are, and what is counted on them."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from script_time import run

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
        {"work(5)": (3, 15), "return work(1)": (3, 3), "train_step()": (3, 24), "work(2)": (3, 6)},
    ),
    "a graph of a whole step is replayed": (
        """
        from types import SimpleNamespace
        g = SimpleNamespace(replay=opt.step)
        for i in range(4):
            work(5)
            g.replay()
        """,
        {"work(5)": (3, 15), "g.replay()": (3, 6)},
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
        {"work(1)": (3, 3), "yield i": (3, 0), "work(3)": (3, 9), "work(50)": (3, 150), "for i in train(steps()):": (3, 18)},
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
        {"i += work(1)": (4, 4), "work(20)": (1, 20), "work(5)": (3, 15), "with lock():": (3, 24), "work(30)": (1, 30), "work(2)": (4, 8)},
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
    "prefill and tokens, in a function that is called without gradients": (
        """
        from contextlib import nullcontext as no_grad
        net = work
        def total(n):
            return sum(number for number in range(n))
        def slow(n):
            for i in range(n):
                total(i)
        def decode():
            net(7)
            for token in range(3):
                net(2)
                advance()

        with no_grad():
            for batch in range(2):
                decode()
                slow(3)
        """,
        {"net(7)": (1, 7), "net(2)": (5, 10), "advance()": (5, 10), "slow(3)": (2, 0)},
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
    "an evaluation in one expression": (
        """
        @no_grad()
        def evaluate():
            work(2)
            return sum(work(3) for j in range(3))

        for i in range(6):
            opt.step()
            if i % 2 == 0:
                print(f"{evaluate():.3f}")
        """,
        {"work(2)": (3, 6), "return sum(work(3) for j in range(3))": (3, 27), 'print(f"{evaluate():.3f}")': (3, 33)},
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
        {"opt.step(closure)": (3, 18), "work(1)": (3, 3)},
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
