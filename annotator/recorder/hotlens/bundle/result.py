"""What a run has measured, put together for the bundle: which window counts, and what is missing."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from ..process.options import Options
from ..process.report import Warnings
from ..program.allocator import Memory
from ..program.allocator import memory as measured_memory
from ..program.program import Program
from ..source.cell_names import place_of
from ..steps.finder import Boundary, StepFinder
from ..steps.first import FIRST
from ..steps.measure import median
from ..steps.phases import Mapped, Measured, Phase, Plain, Recorded
from ..storage.ranks import Part
from .bundle import PROGRAM_FAILED, Recording

NO_OPTIMIZER = (
    "no optimizer was seen, neither torch's nor an object with step and zero_grad: what updates the weights by hand may be in no stage. {}"
)
TAKEN_AS_STEP = {
    "loader": "One DataLoader batch is taken as a step",
    "forward": "A step is taken to begin with a call of the model",
    "backward": "A step is taken to end with the backward pass",
}
SLOWED = 0.1  # of a step: less may be noise
MOST_NAMED = 3  # places of one message
WARM = 5  # updates of a training before it is measured
ANOMALY = (
    "torch.autograd.set_detect_anomaly is on: each operator of the forward pass notes where it was called, and each gradient is "
    "searched for NaN. That is for finding a fault; a training without it is faster"
)
LONGER = "Train longer, or measure from the first step: --warmup 0"


@dataclass(frozen=True)
class End:
    """How the script ended, as far as it has."""

    stopped_early: bool = False
    exit_code: int | None = None
    error: dict[str, Any] | None = None
    stopped_by: str | None = None  # the signal


@dataclass(frozen=True)
class Ranks:
    """Which rank this is, and what the others have measured."""

    own: int = 0
    others: list[Part] = field(default_factory=list)


def plain_phases(past: Sequence[Phase]) -> list[Plain]:
    """Those whose steps run as without us: from before a profiler, where there are some. After it caches are cold; on a GPU what it needs
    to see launches (CUPTI) stays attached to the process, and each launch takes longer from then on."""
    plain = [p for p in past if isinstance(p, Plain) and p.done]
    before = [p for p in takewhile(lambda p: not isinstance(p, Measured), past) if isinstance(p, Plain) and p.done]
    return before or [p for p in plain if p.done > 1] or plain


def _on_gpu(phase: Phase) -> bool:
    return phase.clock is not None and phase.clock.device is not None


def plain_steps(past: Sequence[Phase]) -> list[int]:
    return [n for p in plain_phases(past) for n in p.durations]


def slowed(past: Sequence[Phase]) -> float:
    """How much longer plain steps took on a GPU after a profiler than before it, at least; 0 where nothing is left out of them."""
    if not any(isinstance(p, Plain) and _on_gpu(p) for p in past):
        return 0.0
    counted = plain_phases(past)
    later = [n for p in past if isinstance(p, Plain) and p.done and p not in counted for n in p.durations]
    before = median([n for p in counted for n in p.durations])
    return min(later) / before - 1 if later and before else 0.0


def warn_of_slowed(past: Sequence[Phase], warnings: Warnings) -> None:
    """Where the loop's lines rest on steps after a profiler."""
    more = slowed(past)
    if more > SLOWED:
        warnings.add("slowed", f"steps take {more:.0%} longer once the profiler has been on; times of the loop's lines are of such steps")


def part(rank: int, past: Sequence[Phase], path: str) -> Part:
    """What a follower delivers; its trace is written to `path`."""
    measured = longest(past)
    if measured is None:
        return Part(rank, failure="it ended before one step was measured")
    measured.trace().write(path)
    return Part(rank, path, plain_steps(past), measured.durations)


def map_step(past: Sequence[Phase]) -> Mapped | None:
    """Of several the one that called most modules."""
    return max((p for p in past if isinstance(p, Mapped) and p.done), key=Mapped.reach, default=None)


def longest(past: Sequence[Phase]) -> Measured | None:
    """The longest window of measured steps; of two equal ones the later."""
    found = [p for p in past if isinstance(p, Measured) and not isinstance(p, (Mapped, Recorded)) and p.done]
    return max(reversed(found), key=lambda p: p.done, default=None)


def without_optimizer(boundary: Boundary, finder: StepFinder, past: Sequence[Phase]) -> str | None:
    """The sentence for a training in which no optimizer steps, as far as a map step has shown."""
    mapped = [p.map for p in past if isinstance(p, Mapped) and p.done and p.map is not None]
    updates = finder.optimizers or finder.inner_optimizers or any(stage == "optimizer" for m in mapped for stage, _ in m.calls.stages)
    if updates or boundary.inference or not mapped or boundary.by not in TAKEN_AS_STEP:
        return None
    return NO_OPTIMIZER.format(TAKEN_AS_STEP[boundary.by])


def why_nothing(finder: StepFinder, step_known: bool) -> str:
    """The sentence for a script that ended before a step was measured."""
    if "torch" not in sys.modules:
        return "the script never imported torch. Profile the script that trains"
    if step_known:
        return f"training ended before one step was measured. {LONGER}"
    seen = finder.seen()
    if finder.wanted is not None:
        return f"no step by --step {finder.wanted} was found ({seen}). Leave --step out, or choose another kind"
    if finder.backwards or finder.optimizers:
        advice = LONGER if finder.warmup else "Let it make at least one update"
        return f"training ended during warm-up ({seen}). {advice}"
    if finder.roots:
        return f"neither training nor steady inference was seen ({seen}). To take each call of the model as a step: --step forward"
    if started := processes_started():
        text = "1 other, which is" if started == 1 else f"{started} others, which are"
        how = f"hotlens run -m torch.distributed.run --nproc_per_node {started} SCRIPT"
        return f"no training step was seen in the script itself ({seen}); it started {text} not followed. Let torchrun start them: {how}"
    return f"no training step was seen ({seen}). Profile the script that trains the model"


def other_trainings(following: tuple[str, int, int] | None, not_reached: list[tuple[str, int]]) -> str | None:
    """What is said where more trains than what was measured: a search for the learning rate came first, or another model.

    `following`: file and line, from 1, of the loop that came next, and the updates before it; `not_reached`: the same of what may train."""
    if following is not None:
        file, line, updates = following
        how = f"`hotlens run --warmup {updates + WARM}` measures there"
        return f"this is the first training of the script, of {updates} updates; the next begins at {place_of(file, line - 1)}: {how}"
    if not not_reached:
        return None
    named = ", ".join(place_of(file, line - 1) for file, line in not_reached[:MOST_NAMED])
    how = "`hotlens run --warmup N`, with as many updates as come before, measures there"
    return f"the script may train again, where it has not come yet ({named}): {how}"


def work_to_come(rows: list[tuple[str, int, int]], made: int) -> str | None:
    """What is said of an evaluation that comes every so many steps and was not seen in `made` updates.

    `rows`: file, line from 1, rhythm; those that come first are told of. Warm-up costs least on the way there."""
    if not rows:
        return None
    every = min(row[2] for row in rows)
    places = dict.fromkeys(place_of(file, line - 1) for file, line, rhythm in rows if rhythm == every)
    named = ", ".join(list(places)[:MOST_NAMED])
    how = f"`hotlens run --warmup {every - made * 3 // 4}` would, where the training is that long"
    return f"{named}: every {every} steps, as its `if` says, and not seen in {made} updates; {how}"


def processes_started() -> int:
    """How many processes the script has started with multiprocessing (mp.spawn, Process): a process is named after their number."""
    return int(multiprocessing.Process().name.replace(":", "-").rpartition("-")[2]) - 1


def recording(
    options: Options, cwd: str, boundary: Boundary, samples: int | None, past: Sequence[Phase], warnings: Warnings, end: End, ranks: Ranks
) -> Recording:
    """Needs a measured step. What is missing is added to `warnings`."""
    measured = longest(past)
    assert measured is not None
    plain = plain_steps(past)
    mapped = map_step(past)
    fault = mapped.map.fault if mapped is not None and mapped.map is not None else None
    if fault is not None:
        warnings.add("map_step_failed", f"the map step failed ({fault}); times cannot be given to modules. Please report this")
        mapped = None
    if mapped is not None and mapped.map is not None and mapped.map.saved.anomalies_sought:
        warnings.add("anomaly_detection", ANOMALY)
    over = "this training ended" if end.stopped_early else "the script ended"
    ended = over if end.stopped_by is None else f"{end.stopped_by} stopped the run"
    if measured.done < options.steps or end.stopped_by is not None:
        text = f"{ended} after {measured.done} of {options.steps} measured steps; numbers rest on these"
        warnings.add("fewer_steps" if end.stopped_by is None else "stopped", text)
    if measured.trace_name == FIRST:
        warnings.add("first_step", "the only measured step is the script's first, which takes longer than those after it")
    if not plain:
        warnings.add("no_plain_steps", f"{ended} before steps were timed without the profiler")
    if mapped is None and fault is None:
        warnings.add("no_map_step", f"{ended} before the map step; times cannot be given to modules exactly")
    for function in sorted(mapped.map.capped) if mapped is not None and mapped.map is not None else ():
        warnings.add("lines_capped", f"{function} runs too many lines in one step; not each of them has a time of its own")
    for other in ranks.others:
        if other.failure is not None:
            warnings.add("rank_missing", f"rank {other.rank} is not in the bundle: {other.failure}")
    program, memory = _program(past, warnings)
    return Recording(
        argv=options.argv,
        cwd=cwd,
        warmup_steps=boundary.steps_seen,
        steps_asked=options.steps,
        boundary=boundary,
        samples_per_step=samples,
        plain_ns=plain,
        profiled_ns=measured.durations,
        measured=measured.trace(),
        map_ns=mapped.durations[0] if mapped else None,
        mapped=mapped.map if mapped else None,
        map_trace=mapped.trace() if mapped else None,
        warnings=warnings,
        rank=ranks.own,
        others=ranks.others,
        stopped_early=end.stopped_early,
        exit_code=end.exit_code,
        error=end.error,
        stopped_by=end.stopped_by,
        program=program,
        memory=memory,
        plain_faults=[n for p in plain_phases(past) for n in p.faults],
        plain_fetching=[n for p in plain_phases(past) for n in p.fetching],
        cudnn_benchmark=measured.cudnn_benchmark,
    )


def _program(past: Sequence[Phase], warnings: Warnings) -> tuple[Program | None, Memory | None]:
    """A failure in it is a warning and nothing else."""
    whole = [(p, step) for p in past if isinstance(p, Recorded) and (step := p.whole()) is not None]
    if not whole:
        return None, None
    recorded, step = next((each for each in whole if each[0].usual), whole[0])
    fault = step.fault
    if fault is None and step.program.refused is not None:
        return step.program, None
    if fault is None:
        try:
            return step.program, measured_memory(recorded.trace().path, step.program)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
    warnings.add("program_failed", PROGRAM_FAILED.format(fault))
    return None, None
