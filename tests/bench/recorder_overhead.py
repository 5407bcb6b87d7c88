"""What the recorder costs the steps it times.

    python tests/bench/recorder_overhead.py [--within 0.01] [--blocks 400] [--steps 4] [--only-cost]

Trains the model of `examples/resnet_digits` in one process on one thread and alternates short blocks of steps, so that other
load on the machine meets both sides alike: steps with the boundary hook of plain steps against steps without any recorder;
measured steps against steps under a bare torch.profiler with the same activities. Counts processor time of the process, which a
busy machine does not change much (`--wall` for wall time). A pair of neighbouring blocks gives one ratio; the answer is their median
with its 95 % interval (order statistics, no assumption about the noise), and blocks are added until that interval is within `--within`
of the median, at most `--blocks` of them.

That ratio says little of what is added to one step, because a step's own time varies by more. So the same is also done over many steps
that do nothing: what a pass over them takes more than without the recorder is the cost of a step, with its progress line; and a pass under
our window more than one under a bare torch.profiler, whose `step()` marks the steps. Beside the time of a real step, that is a ratio
whose interval is a hundred times narrower (`--only-cost`: only this). It leaves out what the recorder would do to the caches of a real
step; the first ratio holds that too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "annotator" / "recorder"), str(ROOT / "examples" / "resnet_digits")]
os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def training(clock: Callable[[], float]) -> Callable[..., list[float]]:
    """A function that runs some steps over one DataLoader and returns the seconds of each."""
    import torch
    from data import make_loaders
    from model import ResNet

    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader, _ = make_loaders(64)
    model = ResNet()
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader_of_steps.append(loader)

    def run(steps: int, between: Callable[[], Any] = lambda: None) -> list[float]:
        times: list[float] = []
        batches = endless(loader)
        begin = clock()
        for _ in range(steps):
            images, labels = next(batches)
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            between()
            now = clock()
            times.append(now - begin)
            begin = now
        return times

    return run


def number_of(loader: Any, session: Any) -> int:
    """The loader's number for the recorder, wherever it is used: the loops of this file are called from several places."""
    session.hooks.loaders._place = lambda frame: 0
    number: int = session.hooks.loaders.fetch(iter(loader), None)
    return number


loader_of_steps: list[Any] = []


def endless(loader: Any) -> Iterator[Any]:
    while True:
        yield from loader


ENOUGH_BLOCKS = 20  # before it, an interval may be narrow by chance


def interval(ratios: list[float]) -> tuple[float, float]:
    """Where the median lies with 95 %: the number of values below it is binomial, nearly normal for so many."""
    ordered = sorted(ratios)
    reach = 0.98 * len(ordered) ** 0.5
    middle = (len(ordered) - 1) / 2
    return ordered[max(0, int(middle - reach))], ordered[min(len(ordered) - 1, int(middle + reach + 1))]


def compare(name: str, aim: float, ours: Callable[[], list[float]], bare: Callable[[], list[float]], blocks: int, within: float) -> None:
    """Alternates blocks; the first step of a block is left out."""
    ratios: list[float] = []
    low, high = 0.0, 2.0
    while len(ratios) < blocks and (len(ratios) < ENOUGH_BLOCKS or high - low > 2 * within):
        pair = (ours, bare) if len(ratios) % 2 == 0 else (bare, ours)
        got = {side: statistics.median(side()[1:]) for side in pair}
        ratios.append(got[ours] / got[bare])
        low, high = interval(ratios)
    print(
        f"{name}: {statistics.median(ratios):.3f} [{low:.3f}..{high:.3f}], aim <= {aim} "
        f"({len(ratios)} pairs of blocks; quartiles {statistics.quantiles(ratios, n=4)[0]:.3f}..{statistics.quantiles(ratios, n=4)[2]:.3f})"
    )


EMPTY_STEPS = 10_000
EMPTY_PROFILED_STEPS = 2_000  # each leaves an event
PASSES = 15
STEPS_TIMED = 40


def added(name: str, aim: float, ours: Callable[[], float], bare: Callable[[], float], step_us: float) -> None:
    """Says what `ours` takes more than `bare`, both in microseconds for one empty step, and what that is of a step of `step_us`."""
    ours()
    more = [ours() - bare() for _ in range(PASSES)]
    low, high = interval(more)
    middle = statistics.median(more)
    ratios = ", ".join(f"{1 + us / step_us:.4f}" for us in (low, high))
    print(
        f"{name}: {middle:+.1f} us a step [{low:+.1f}..{high:+.1f}], {PASSES} pairs of passes; "
        f"of a step of {step_us / 1000:.1f} ms {1 + middle / step_us:.4f} [{ratios}], aim <= {aim}"
    )


def steps_of(loader: Any, sink: int | None = None) -> tuple[Any, Any]:
    """A session and its course of plain steps, one for each batch of the loader; `sink`: where progress is written."""
    from hotlens.cli import Options
    from hotlens.process.report import Reporter
    from hotlens.run.session import Session
    from hotlens.source.frames import Files
    from hotlens.steps.course import Course
    from hotlens.steps.finder import Boundary
    from hotlens.steps.hooks import Hooks
    from hotlens.steps.loader_steps import LoaderSteps
    from hotlens.steps.phases import Plain

    session = Session(Options(argv=["bench"]), Reporter() if sink is None else Reporter(sink), "", Files([]))
    session.hooks = Hooks(session)
    boundary = Boundary("loader", number_of(loader, session), "bench", 0)
    course = session.course = Course(boundary, [Plain(1 << 60)], session.delivery.draft, session.reporter, session.warnings)
    session.loader_steps = LoaderSteps(course, session.hooks, False, session.clocking.clocks.no_update)
    return session, course


def cost_of_a_plain_step(clock: Callable[[], float], step_us: float) -> None:
    """The hook, the clock and the progress line of a plain step."""
    from torch.utils.data import DataLoader

    loader: Any = DataLoader([0] * EMPTY_STEPS, batch_size=None, collate_fn=int)
    with open(os.devnull, "wb") as sink:
        session, course = steps_of(loader, sink.fileno())

        def whole_pass(hooked: bool) -> float:
            assert session.hooks is not None
            before = course.phases[0].done
            if hooked:
                session.hooks.keep_only(course.boundary)
            begin = clock()
            for _ in loader:
                pass
            seconds = clock() - begin
            session.hooks.remove()
            assert course.phases[0].done == before + hooked * EMPTY_STEPS
            return seconds / EMPTY_STEPS * 1e6

        added("plain steps, what is added", 1.01, lambda: whole_pass(True), lambda: whole_pass(False), step_us)


def cost_of_a_measured_step(clock: Callable[[], float], step_us: float) -> None:
    """Our ranges instead of those of the profiler's own `step`."""
    from hotlens.steps.measure import ProfiledSteps
    from torch.profiler import ProfilerAction, ProfilerActivity, profile

    def per_step(boundary: Callable[[], Any]) -> float:
        begin = clock()
        for _ in range(EMPTY_PROFILED_STEPS):
            boundary()
        return (clock() - begin) / EMPTY_PROFILED_STEPS * 1e6

    def ours() -> float:
        window = ProfiledSteps(details=False)
        window.start()
        window.begin()

        def boundary() -> None:
            window.end()
            window.begin()

        us = per_step(boundary)
        window.drop()
        window.stop()
        return us

    def bare() -> float:
        window = profile(activities=[ProfilerActivity.CPU], schedule=lambda step: ProfilerAction.RECORD)
        window.start()
        us = per_step(window.step)
        window.stop()
        return us

    added("measured steps, what is added", 1.02, ours, bare, step_us)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=400)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--within", type=float, default=0.01)
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--only-cost", action="store_true")
    arguments = parser.parse_args()
    clock = time.perf_counter if arguments.wall else time.process_time
    run = training(clock)
    run(20)
    step_us = statistics.median(run(STEPS_TIMED)) * 1e6
    cost_of_a_plain_step(clock, step_us)
    cost_of_a_measured_step(clock, step_us)
    if arguments.only_cost:
        return
    from hotlens.steps.measure import ProfiledSteps
    from torch.profiler import ProfilerActivity, profile

    session, course = steps_of(loader_of_steps[0])

    def plain() -> list[float]:
        assert session.hooks is not None
        session.hooks.keep_only(course.boundary)
        before = course.phases[0].done
        times = run(arguments.steps)
        session.hooks.remove()
        assert course.phases[0].done >= before + arguments.steps - 1, "the hook did not see the steps"
        return times

    def measured() -> list[float]:
        window = ProfiledSteps(details=False)
        window.start()
        window.begin()

        def boundary() -> None:
            window.end()
            window.begin()

        times = run(arguments.steps, boundary)
        window.drop()
        window.stop()
        return times

    def bare_profiler() -> list[float]:
        from torch.profiler import ProfilerAction

        window = profile(activities=[ProfilerActivity.CPU], schedule=lambda step: ProfilerAction.RECORD)
        window.start()
        times = run(arguments.steps, window.step)
        window.stop()
        return times

    compare("plain steps against no recorder", 1.01, plain, lambda: run(arguments.steps), arguments.blocks, arguments.within)
    compare("measured steps against bare torch.profiler", 1.02, measured, bare_profiler, arguments.blocks, arguments.within)


if __name__ == "__main__":
    main()
