"""One run from the import of torch to its bundle: warm-up until the step is known, then its course, then the end.

A session is told about every event by the hooks. During warm-up they go to the finder; afterwards boundaries and side events go to the
course.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import traceback
from typing import Any, Callable, TypeVar, cast

from ..bundle import bundle, result
from ..bundle.delivery import Delivery
from ..bundle.held import Held, look
from ..compiled import compilation
from ..listening.evaluations import Evaluations
from ..loop.clocking import Clocking
from ..loop.worker_lines import WorkerLines
from ..map_step.capture import Capture
from ..map_step.mapping import MapStep
from ..map_step.tree import model_files
from ..process.ending import end_now
from ..process.interrupts import held_back
from ..process.options import Options
from ..process.report import RecorderError, Reporter, Warnings
from ..program.interception import missing
from ..program.program import COMPILED, SEVERAL, Program
from ..program.step import ProgramStep
from ..source.frames import Files
from ..steps.course import Course, plan
from ..steps.finder import Boundary, StepFinder
from ..steps.first import BOUNDARY, FirstStep
from ..steps.hooks import Hooks, steps_left
from ..steps.loader_steps import LoaderSteps
from ..steps.measure import OWN_PROFILER, device_module
from ..steps.phases import Farewell, Measured, Phase
from ..storage import store
from . import variants
from .replacing import ways

# A script that swallows the early stop is asked this often again before the process ends.
STOP_TRIES = 3
Event = TypeVar("Event", bound=Callable[..., None])
CANNOT_RECORD = 3  # exit status


def _harmless(method: Event) -> Event:
    """A fault of the recorder's own ends the recording, never the script."""

    @functools.wraps(method)
    def guarded(session: Session, *args: Any) -> None:
        if session.over:
            return
        try:
            method(session, *args)
        except RecorderError as error:
            session.give_up(str(error))
        except Exception as error:
            fault = "".join(traceback.format_exception(type(error), error, error.__traceback__)) if os.environ.get("HOTLENS_DEBUG") else ""
            session.give_up(
                f"the recorder failed ({type(error).__name__}: {error}); the script goes on without it. Please report this{fault}"
            )

    return cast(Event, guarded)


class Session:
    """One run. All methods are called on the training thread, between two lines of the user's code."""

    def __init__(self, options: Options, reporter: Reporter, folder: str, files: Files) -> None:
        self.options = options
        self.reporter = reporter
        self.folder = folder
        self.files = files
        self.capture = Capture(files)
        self.clocking = Clocking(files, options.argv[1] if options.argv[:1] == ["-m"] else None)
        self.clocking.install()
        self.evaluations = Evaluations(files, self.clocking.clocks.aside)
        self.clocking.clocks.unused_graphs = self.evaluations.unused
        self.finder = StepFinder(options.warmup, options.step)
        self.hooks: Hooks | None = None
        self.warnings = Warnings()
        self.course: Course | None = None
        self.loader_steps: LoaderSteps | None = None  # with the course
        self.batch_sizes: dict[int, Any] = {}  # by loader
        self.samples: int | None = None
        self.held = Held()  # as the last phase began
        self.over = False
        self.delivery = Delivery(options, reporter, self.warnings, folder, self.capture, files, self.clocking.clocks)
        self.first = FirstStep(self.delivery.draft, options.warmup == 0 and self.delivery.ranks is None)
        self.yields = False  # a profiler of the script's is at work
        self.profiles_itself = False
        self.worker_lines = WorkerLines(files)
        self.stop_tries = 0
        self.stopping = False  # the SystemExit on its way is ours

    # -- life

    def torch_imported(self) -> None:
        """torch has just been imported, by the script or before it."""
        import torch

        self.files.set_torch(os.path.dirname(torch.__file__))
        self.hooks = Hooks(self, self.options.step)
        self.hooks.gradients_are_fresh = self._gradients_are_fresh  # type: ignore[method-assign]
        self._listen()
        self.reporter.progress("warmup", step=0, of=self.options.warmup)
        os.register_at_fork(before=self._fork_begins, after_in_child=self._in_worker)

    def _listen(self) -> None:
        import torch

        assert self.hooks is not None
        self.capture.install(torch.nn.Module)
        self.hooks.watch()

    def _fork_begins(self) -> None:
        if not self.over:
            with contextlib.suppress(Exception):
                self.worker_lines.fork_begins()

    def _in_worker(self) -> None:
        """A forked process neither records nor writes; of a loader's first one it is known at which lines it is."""
        recording = not self.over
        self.leave()
        if self.course is not None:
            self.course.forked()
        if recording:
            with contextlib.suppress(Exception):
                self.worker_lines.forked()

    def leave(self) -> None:
        """Takes everything of ours out of the process."""
        self.over = True
        self.evaluations.forget()
        self.clocking.remove()
        self.capture.uninstall()
        if self.hooks is not None:
            self.hooks.remove()
            self.hooks.graphs.leave()

    # -- events from the hooks

    @_harmless
    def on_fetch(self, loader: int, iterator: Any) -> None:
        if self.loader_steps is None:
            self.first.begin()
            loader = self._served(loader)
            self.batch_sizes[loader] = getattr(getattr(iterator, "_index_sampler", None), "batch_size", None)
            self._choose(self._finder().fetch(loader), iterator)
        elif self.loader_steps.fetched(loader):
            self._next_step()

    def starting_workers(self, loader: Any) -> contextlib.AbstractContextManager[None]:
        return self.worker_lines.starting(loader) if not self.over else contextlib.nullcontext()

    def on_fetched(self, ns: int) -> None:
        if self.course is not None:
            self.course.fetched(ns)

    @_harmless
    def on_exhausted(self, iterator: Any) -> None:
        assert self.hooks is not None
        loader = self.hooks.loaders.exhausted(iterator)
        if self.loader_steps is None:
            self.finder.exhausted(loader)
        else:
            if self.loader_steps.exhausted(loader):
                self.clocking.clocks.no_update()

    @_harmless
    def on_evaluation(self, model: Any) -> None:
        self.clocking.clocks.evaluation()
        if model is not None and self.hooks is not None and not self.hooks.compiles:
            self.evaluations.turned(model)
        if self.course is None:
            self.finder.evaluation()
        else:
            self.course.side_event("evaluation", 0)

    @_harmless
    def on_profiler(self, at_work: bool) -> None:
        """Ours gives way before one of the script's starts, and is not started while that is at work."""
        self.yields, self.profiles_itself = at_work, True
        self.first.drop()
        if at_work and self.course is not None and not self.course.over:
            self._give_way()

    @_harmless
    def on_optimizer(self, optimizer: int, in_backward: bool) -> None:
        self._updated()
        self.clocking.clocks.first_update()
        if self.course is None and not in_backward:
            self.first.update(self._finder().idle_optimizers)
        self._stepped("optimizer", lambda: self._finder().optimizer(optimizer, in_backward))

    @_harmless
    def on_newcomer(self, optimizer: int) -> None:
        """An optimizer that has not been there yet has stepped, beside the one that ends the steps."""
        if self.course is not None:
            self.course.side_event("optimizer", optimizer)
            if self._ends_with_training() and self.clocking.clocks.leaves():
                self._next_step()

    @_harmless
    def on_other_model(self) -> None:
        self.clocking.clocks.another_model()

    @_harmless
    def on_backward(self, fresh: bool) -> None:
        if self.course is not None and self.course.boundary.inference:
            self._start_over()
        if not (self.finder.optimizers or self.finder.inner_optimizers or self._finder().idle_optimizers):
            self._updated()
        if self.course is not None:
            self.course.backward()
        elif not self.finder.optimizers:
            self.first.update(self._finder().idle_optimizers)
        self._stepped("backward", lambda: self._finder().backward(fresh))

    @_harmless
    def on_forward(self, root: int, gradients: bool) -> None:
        if self.course is None:
            self.first.call(gradients, self.finder.trains)
            if not gradients:
                self.clocking.clocks.inference()
        self._stepped("forward", lambda: self._finder().forward(root, gradients))

    def _stepped(self, by: str, tell_finder: Callable[[], Boundary | None]) -> None:
        if self.course is None:
            self._choose(tell_finder(), None)
        elif self.course.boundary.by == by:
            self._next_step()

    def _finder(self) -> StepFinder:
        self.finder.idle_optimizers = self.hooks.optimizers.idle() if self.hooks is not None else 0
        return self.finder

    # -- loaders

    def _served(self, loader: int) -> int:
        """The number of a loader that is asked for a batch, while nothing but calls of a model has been seen."""
        log = self.finder.loaders.get(loader)
        if log is None or not log.forwards or self.finder.trains:
            return loader
        assert self.hooks is not None
        changed = self.hooks.loaders.served()
        self._renumber(changed)
        return dict(changed).get(loader, loader)

    def _updated(self) -> None:
        assert self.hooks is not None
        self._renumber(self.hooks.loaders.updated())

    def _renumber(self, changed: list[tuple[int, int]]) -> None:
        for loader, number in changed:
            if self.loader_steps is not None:
                self.loader_steps.renumber(loader, number)
            else:
                self.finder.renumber(loader, number)
                self.batch_sizes[number] = self.batch_sizes.get(loader)

    # -- steps

    def _choose(self, boundary: Boundary | None, iterator: Any) -> None:
        if boundary is None or self.yields:
            return
        assert self.hooks is not None
        clocks = self.clocking.clocks
        clocks.first_update()
        farewell = self.delivery.leads_others and not self.options.keep_going
        self.first.drop()
        past = self.first.measured()
        left = None if past else steps_left(iterator)
        self._refuse_program()
        program = self._program_step if self.delivery.program is None else None
        map_step = self._map_step if self.delivery.leads else None
        alone_on_gpu = self.delivery.ranks is None and device_module() is not None and not past
        settled = clocks.settled if alone_on_gpu else None
        phases = plan(self.options.steps, left, boundary, map_step, farewell, clocks.unseen, program, clocks.has_rare_work, settled)
        self.course = Course(boundary, phases[len(past) :], self.delivery.draft, self.reporter, self.warnings, past)
        self.samples = self._samples_per_step(boundary)
        self.delivery.batch_size = self._batch_size(boundary)
        self.course.boundaries = self.finder.events_of(boundary) - 1
        clocks.begins_at(self.course.boundaries + (boundary.by not in ("loader", "forward")), not boundary.inference)
        by_optimizers = bool(self.finder.optimizers or self.finder.inner_optimizers)
        self.loader_steps = LoaderSteps(self.course, self.hooks, by_optimizers, clocks.no_update)
        self.capture.uninstall()
        self.hooks.keep_only(boundary)
        self._next_step()

    def _start_over(self) -> None:
        """What looked like inference was the evaluation before a training: that is to be measured."""
        assert self.hooks is not None and self.course is not None
        self.course.abandon()
        self.delivery.draft.discard()
        self.course, self.loader_steps, self.samples = None, None, None
        self.finder = StepFinder(self.options.warmup, self.options.step)
        self.hooks.remove()
        self._listen()

    def _map_step(self) -> MapStep:
        assert self.course is not None and self.hooks is not None
        modules = self.capture.alive()
        updates = self.hooks.optimizers.of(self.finder.optimizers) if self.course.boundary.by == "loader" else frozenset()
        return MapStep(self.files, model_files(modules, self.files), modules, updates)

    def _refuse_program(self) -> None:
        """Where it is known already that a step's operators do not make it again."""
        assert self.hooks is not None
        why = SEVERAL if self.delivery.ranks is not None else COMPILED if self.hooks.compiles and compilation.look() else missing()
        self.delivery.program = Program(refused=why) if why is not None else None

    def _program_step(self) -> ProgramStep:
        assert self.hooks is not None
        return ProgramStep(self.capture.alive(), self.hooks.optimizers.stepped())

    def _next_step(self) -> None:
        """At a boundary: the step that was open ends, the next begins."""
        assert self.course is not None
        another = not self.course.watches_on and self._ends_with_training() and self.clocking.clocks.leaves()
        self.clocking.clocks.pause()
        self.evaluations.forget()
        if another:
            with held_back():
                self.course.finish()
        self.course.boundaries += 1
        stop = self.delivery.leads or self.delivery.leader_stops(self.course.boundaries)
        try:
            if stop and not self.delivery.leads:
                self.course.finish()
                self.delivery.leave()
            delicate = self.course.delicate
            with held_back() if delicate else contextlib.nullcontext():
                self.course.next_step(self._phase_starts, self.clocking.clocks.settle)
                if self.course.over and self.delivery.bundle is None:
                    self._tell_what_is_to_come()
                    code = None if self.options.keep_going else 0
                    self._write(result.End(stopped_early=not self.options.keep_going, exit_code=code))
                if delicate and gc.isenabled():
                    gc.collect(1)  # what we made is not for the script's next collection to look through
        except OSError as error:
            self.give_up(str(store.cannot_write(self.folder, error)))
            self.stopping = True
            raise SystemExit(CANNOT_RECORD) from None
        if self.course.over and stop:
            self._stop_script()
        if self.course.without_profiler:
            self.clocking.clocks.watch(self.course.after_profiler_ns)

    def _ends_with_training(self) -> bool:
        """Whether the course is to end where another training begins: all is measured, or something is, and no other rank waits."""
        assert self.course is not None
        measured = self.delivery.ranks is None and not self.course.over and result.longest(self.course.past) is not None
        return self.course.watches_on or measured

    def _tell_what_is_to_come(self) -> None:
        assert self.course is not None
        clocks = self.clocking.clocks
        said = result.other_trainings(clocks.next_training(), clocks.not_reached())
        if said is not None and not self.course.boundary.inference:
            self.warnings.add("other_training", said)
        if (said := result.work_to_come(clocks.to_come(), clocks.updates_made)) is not None:
            self.warnings.add("work_to_come", said)

    def _phase_starts(self, phase: Phase) -> None:
        self._look_at_optimizers()
        if isinstance(phase, Measured) and device_module() is not None:
            self.clocking.clocks.disturbed()
        if isinstance(phase, Farewell):
            assert self.course is not None
            self.delivery.announce_stop(self.course.boundaries + 1)

    def _look_at_optimizers(self) -> None:
        with contextlib.suppress(Exception):  # an optimizer that is one only by name: nothing is known of its state
            assert self.hooks is not None
            self.held = look(self.hooks.optimizers.stepped())

    # -- the end

    def give_up(self, message: str) -> None:
        if self.course is not None:
            self.course.abandon()
        self.first.drop()
        self.leave()
        self.delivery.draft.discard()
        self.delivery.tell_leader(message)
        self.reporter.fail(message)

    def _give_way(self) -> None:
        """The script goes on alone; what was measured so far is kept."""
        assert self.course is not None
        self.clocking.clocks.end()
        with held_back():
            self.course.finish()
            if result.longest(self.course.past) is None:
                self.give_up(OWN_PROFILER)
            else:
                self.warnings.add("own_profiler", OWN_PROFILER)
                self.leave()
                self._write(result.End())

    def _stop_script(self) -> None:
        """Everything is recorded: the script ends here, or goes on alone."""
        if self.options.keep_going:
            self.leave()
            return
        self.stop_tries += 1
        if self.stop_tries <= STOP_TRIES:
            self.stopping = True
            raise SystemExit(0)  # as sys.exit would: clean-up handlers run, and a thread ends silently
        end_now(0)

    def script_ended(self, exit_code: int | None, error: dict[str, Any] | None, stopped_by: str | None, said: str | None = None) -> None:
        """The script is over before the window was full: by itself, by an exception or `stopped_by` a signal. Never raises.

        `said`: a sentence about an end by itself, for a run that has nothing to keep.
        """
        self.delivery.leave()
        if self.delivery.bundle is not None:
            if self.options.keep_going and self.delivery.leads:
                bundle.update_manifest(self.delivery.bundle, {"exit_code": exit_code, "error": error})
            return
        if self.over:
            return
        try:
            self._settle(result.End(False, exit_code, error, stopped_by), said)
        except OSError as problem:
            self.reporter.fail(str(store.cannot_write(self.folder, problem)))
        except Exception as problem:
            self.reporter.fail(f"what was measured could not be kept ({type(problem).__name__}: {problem}). Please report this")
        finally:
            self.delivery.draft.discard()

    def _settle(self, end: result.End, said: str | None) -> None:
        self.clocking.clocks.end()
        self.leave()
        nothing = OWN_PROFILER if self.profiles_itself else result.why_nothing(self.finder, self.course is not None)
        if self.course is not None:
            self.course.finish()
        else:
            self.first.drop()
            self.course = Course(BOUNDARY, [], self.delivery.draft, self.reporter, self.warnings, self.first.measured())
            self._look_at_optimizers()
        if result.longest(self.course.past) is not None:
            self._write(end)
        elif not self.delivery.leads:
            self.delivery.tell_leader("its script failed" if end.error is not None else nothing)
        elif end.stopped_by is not None:
            message = f"{end.stopped_by} stopped the run before a step was measured; there is nothing to keep. Let it run longer"
            self.reporter.fail(message, end.error)
        elif end.error is not None:
            self.reporter.progress("failed", message="the script failed before a step was measured", error=end.error)
        else:
            self.reporter.fail(said or nothing)

    def _write(self, end: result.End) -> None:
        assert self.course is not None and self.hooks is not None
        missing = result.without_optimizer(self.course.boundary, self.finder, self.course.past)
        if missing is not None:
            self.warnings.add("no_optimizer", missing)
        batches = self.finder.batches_per_step(self.course.boundary)
        if batches is not None:
            self.delivery.worker_lines = self.worker_lines.of(self.hooks.loaders.samplers_of(batches[0]))
        if self.delivery.batch_size is None:
            self._look_for_batch_size()
        graphs = self.hooks.graphs if self.hooks.compiles else None
        self.delivery.write(self.course, self.samples, self.held, graphs, end)

    def _look_for_batch_size(self) -> None:
        """Without a DataLoader it is the number that is called so, where the models that the step trains get so many samples."""
        assert self.course is not None
        mapped = result.map_step(self.course.past)
        if mapped is None or mapped.map is None:
            return
        for way in ways(self.options.argv, variants.script(self.options.argv), None):
            batches = mapped.map.calls.batches_of(way.was)
            if batches is not None and way.was > 1:
                self.delivery.batch_size, self.samples = way.was, way.was * batches
                return

    # -- small facts

    def _gradients_are_fresh(self) -> bool:
        return self.course is not None or self.over or self.capture.gradients_are_fresh()

    def _samples_per_step(self, boundary: Boundary) -> int | None:
        batches = self.finder.batches_per_step(boundary)
        size = self._batch_size(boundary)
        return size * batches[1] if batches and size is not None else None

    def _batch_size(self, boundary: Boundary) -> int | None:
        batches = self.finder.batches_per_step(boundary)
        size = self.batch_sizes.get(batches[0]) if batches else None
        return size if isinstance(size, int) else None
