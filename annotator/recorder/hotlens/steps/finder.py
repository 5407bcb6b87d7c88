"""What one training step is: the finder watches the first steps and chooses the event that marks the boundary.

Pure bookkeeping: `hooks` feeds it events; nothing here knows torch. The choice, best first:
  loader     a batch is fetched from one DataLoader exactly once per update, so that fetching belongs to the step that uses it;
  optimizer  the last optimizer of the cycle has stepped (accumulation, several optimizers, closures, no DataLoader);
  backward   a backward pass has ended (no torch optimizer at all, or optimizers that step inside backward);
  forward    a model is called (inference: neither a backward pass nor an optimizer; with a DataLoader its batches are the steps).
The user may ask for one of the kinds; then only events of that kind count.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

KINDS = ("optimizer", "forward", "loader")
# A loop that torch's own optimizers do not confirm is believed only after this many more passes than were asked as warm-up.
PATIENCE = 2
# The same for a forward pass that could still be followed by a backward pass (gradients are on), and for passes while an optimizer waits.
LONG_PATIENCE = 10
# An optimizer is waited for while it has stepped within so many times the warm-up.
CYCLE = 4
# So many steps show what a step is, however many are asked as warm-up: a script's second training may be shorter than its first.
EVIDENCE = 3
LOG_LIMIT = 4096  # events remembered to learn what belongs to a step
SIDE_EVENTS = ("fetch", "end", "evaluation")
Log = list[tuple[str, int]]  # (kind of event, identity of its object)


@dataclass(frozen=True)
class Boundary:
    """The chosen step: which event, of which object (an identity; 0 where it does not matter), and why."""

    by: str
    key: int
    why: str
    steps_seen: int
    inference: bool = False
    usual: frozenset[tuple[str, int]] = frozenset()  # side events that steps of this loop have


@dataclass
class LoaderLog:
    """What happened since the last fetch from one DataLoader."""

    waiting: bool = False  # a batch was handed out and the next fetch has not come yet
    good: int = 0  # fetches in a row with exactly one update between
    served: int = 0  # fetches in a row with at least one forward pass between
    fetches: int = 0
    updates: dict[int, int] = field(default_factory=dict)
    fresh_backwards: int = 0
    forwards: int = 0

    def one_update(self, optimizers_exist: bool) -> bool:
        """Exactly one update since the fetch; without optimizers a backward from fresh gradients stands for it."""
        if self.updates:
            return min(self.updates.values()) == 1
        return not optimizers_exist and self.fresh_backwards > 0

    def fetched(self, good: bool) -> None:
        if self.waiting:
            self.good = self.good + 1 if good else 0
            self.served = self.served + 1 if self.forwards or self.updates or self.fresh_backwards else 0
        self.fetches += 1
        self.waiting, self.updates, self.fresh_backwards, self.forwards = True, {}, 0, 0

    def take_over(self, other: LoaderLog, good: bool) -> None:
        """The batches of `other` come after those of this one, whose last was `good`."""
        fetches = self.fetches + other.fetches
        self.fetched(good)
        if other.fetches > 1:
            self.good, self.served = other.good, other.served
        self.fetches, self.waiting = fetches, other.waiting
        self.updates, self.fresh_backwards, self.forwards = other.updates, other.fresh_backwards, other.forwards


@dataclass
class StepFinder:
    """Fed with events in order; each method returns the choice as soon as `warmup` steps are over and the last ones support it."""

    warmup: int
    wanted: str | None = None  # one of KINDS; None: chosen
    loaders: dict[int, LoaderLog] = field(default_factory=dict)
    optimizers: dict[int, int] = field(default_factory=dict)  # steps outside backward
    inner_optimizers: dict[int, int] = field(default_factory=dict)  # steps inside backward
    idle_optimizers: int = 0  # made, alive, and never stepped; kept up to date from outside
    roots: dict[int, int] = field(default_factory=dict)  # calls of models by the loop itself
    backwards: int = 0
    fresh_backwards: int = 0
    log: Log = field(default_factory=list)
    last_step_of: dict[int, int] = field(default_factory=dict)  # optimizer -> number of the update
    last_call_of: dict[int, int] = field(default_factory=dict)  # model -> number of the call

    @property
    def needed(self) -> int:
        """Steps in a row that show what one is."""
        return max(1, min(self.warmup, EVIDENCE))

    @property
    def trains(self) -> bool:
        return bool(self.optimizers or self.inner_optimizers or self.backwards)

    # -- events

    def fetch(self, loader: int) -> Boundary | None:
        """A batch is about to be fetched."""
        log = self.loaders.setdefault(loader, LoaderLog())
        stepped = bool(self.optimizers or self.inner_optimizers)
        log.fetched(log.one_update(stepped))
        self._note("fetch", loader)
        if self.wanted == "loader":
            enough = log.served >= self.needed and (not self.trains or log.good > 0 or log.served >= self.needed * CYCLE)
            enough = enough and (self.trains or log.served >= self.needed + PATIENCE)
            why = f"--step loader: a batch is fetched, {log.served} times in warm-up"
            return self._chosen("loader", loader, why, log.served, not self.trains) if enough else None
        if self.wanted is not None:
            return None
        if not self.trains:
            return self._served(loader, log)
        if log.good < self.needed + (0 if stepped else PATIENCE):
            return None
        update = "optimizer step" if stepped else "backward pass"
        return self._chosen("loader", loader, f"one DataLoader batch per {update} in {log.good} of {log.good} warm-up steps", log.good)

    def exhausted(self, loader: int) -> None:
        """The loader had no further batch."""
        self.loaders[loader].waiting = False
        self._note("end", loader)

    def renumber(self, loader: int, number: int) -> None:
        """A loader turns out to have the part of another, which is at rest: its batches are that one's."""
        mine, its = self.loaders.pop(loader, None), self.loaders.setdefault(number, LoaderLog())
        self.log = [(kind, number if kind in ("fetch", "end") and key == loader else key) for kind, key in self.log]
        if mine is not None:
            its.take_over(mine, its.one_update(bool(self.optimizers or self.inner_optimizers)))

    def evaluation(self) -> None:
        """A model was switched to evaluation."""
        self._note("evaluation", 0)

    def optimizer(self, optimizer: int, in_backward: bool) -> Boundary | None:
        """An optimizer has stepped."""
        for loader in self.loaders.values():
            loader.updates[optimizer] = loader.updates.get(optimizer, 0) + 1
        counts = self.inner_optimizers if in_backward else self.optimizers
        counts[optimizer] = counts.get(optimizer, 0) + 1
        self._note("optimizer", optimizer)
        if in_backward or self.wanted not in (None, "optimizer"):
            return None
        number = sum(counts.values())
        self.last_step_of[optimizer] = number
        seen = counts[optimizer]
        if not self._ends_the_cycle(number, seen) or (self.wanted is None and self._loader_may_win(seen)):
            return None
        return self._chosen("optimizer", optimizer, self._why_optimizer(), seen)

    def backward(self, fresh: bool) -> Boundary | None:
        """A backward pass has ended; `fresh` = it started from empty gradients."""
        self.backwards += 1
        if fresh:
            self.fresh_backwards += 1
            for log in self.loaders.values():
                log.fresh_backwards += 1
        self._note("backward", 0)
        passes = self.fresh_backwards
        patience = LONG_PATIENCE if self.idle_optimizers else PATIENCE
        if self.wanted is not None or self.optimizers or passes < self.needed + patience or self._loader_may_win(passes - 1):
            return None
        reason = "optimizers step inside the backward pass" if self.inner_optimizers else "no torch optimizer is used"
        return self._chosen("backward", 0, f"{reason}; a step ends with the backward pass", passes)

    def forward(self, root: int, gradients: bool) -> Boundary | None:
        """The loop is about to call a model that has parameters."""
        for log in self.loaders.values():
            log.forwards += 1
        before = self.roots.get(root, 0)
        self.roots[root] = before + 1
        number = sum(self.roots.values())
        self.last_call_of[root] = number
        self._note("forward", root)
        others = [self.roots[r] for r, last in self.last_call_of.items() if r != root and number - last < CYCLE * self.needed]
        if others and min(others) < before:
            return None  # of the models that a step calls, the one that is called first and least begins it
        if self.wanted == "forward":
            why = f"--step forward: the model is called, {before} times in warm-up"
            enough = before >= self.needed and (self.trains or not self.idle_optimizers)
            return self._chosen("forward", root, why, before, not self.trains) if enough else None
        if self.wanted is not None or self.trains or self.idle_optimizers or self._loader_may_serve(before):
            return None
        if before < self.needed + (LONG_PATIENCE if gradients else PATIENCE):
            return None
        why = f"no backward pass and no optimizer in {before} calls of the model: inference, a step begins with the call"
        return self._chosen("forward", root, why, before, inference=True)

    # -- the choice

    def _served(self, loader: int, log: LoaderLog) -> Boundary | None:
        """Batches that are only computed on: inference, when nothing says that training follows."""
        if self.idle_optimizers or log.served < self.needed + PATIENCE:
            return None
        why = f"no backward pass and no optimizer in {log.served} batches: inference, a step is one DataLoader batch"
        return self._chosen("loader", loader, why, log.served, inference=True)

    def _ends_the_cycle(self, number: int, seen: int) -> bool:
        """Every optimizer that still takes part has stepped often enough, and no other is waited for."""
        if min(self.optimizers[o] for o in self._taking_part(number)) < self.needed:
            return False
        return not self.idle_optimizers or seen >= CYCLE * self.needed

    def _loader_may_win(self, updates: int) -> bool:
        return any(log.waiting and log.good >= updates - 1 for log in self.loaders.values())

    def _loader_may_serve(self, calls: int) -> bool:
        """A DataLoader that is in use gives the batches, unless the model runs many times on one."""
        return any(log.waiting and log.fetches > 1 for log in self.loaders.values()) or (bool(self.loaders) and calls < LONG_PATIENCE)

    def _why_optimizer(self) -> str:
        if self.wanted is not None:
            return "--step optimizer: the last optimizer of a step has stepped"
        taking_turns = len(self._taking_part(sum(self.optimizers.values())))
        if taking_turns > 1:
            return f"{taking_turns} optimizers take turns; a step ends with the last of them"
        if not self.loaders:
            return "no DataLoader is used; a step ends with the optimizer"
        return "batches and optimizer steps do not come one to one; a step ends with the optimizer"

    def _updates(self) -> int:
        """Of all trainings so far, each time an optimizer has stepped that takes part now and then all others that do."""
        number = sum(self.optimizers.values())
        return number // max(1, len(self._taking_part(number)))

    def _taking_part(self, number: int) -> list[int]:
        """The optimizers that have stepped not long before update `number`."""
        return [o for o, last in self.last_step_of.items() if number - last < CYCLE * self.needed]

    def _chosen(self, by: str, key: int, why: str, seen: int, inference: bool = False) -> Boundary | None:
        if max(seen, self._updates()) < self.warmup:
            return None
        return Boundary(by, key, why, seen, inference, usual_side_events(self.log, _event(by, key), self.needed))

    def _note(self, kind: str, key: int) -> None:
        self.log.append((kind, key))
        del self.log[:-LOG_LIMIT]

    # -- what was seen

    def events_of(self, boundary: Boundary) -> int:
        """How often the boundary's event has come so far."""
        return self.log.count(_event(boundary.by, boundary.key))

    def batches_per_step(self, boundary: Boundary) -> tuple[int, int] | None:
        """(loader, its batches in one step), where each of the last steps of the warm-up had as many."""
        if boundary.by == "loader":
            return boundary.key, 1
        parts = whole_steps(self.log, (boundary.by, boundary.key), self.needed)
        for loader in self.loaders:
            counts = {part.count(("fetch", loader)) for part in parts}
            if len(counts) == 1 and min(counts) > 0:
                return loader, counts.pop()
        return None

    def seen(self) -> str:
        """What was seen, for the message when no step was found."""
        counts = {
            "DataLoader batches": sum(log.fetches for log in self.loaders.values()),
            "calls of a model": sum(self.roots.values()),
            "backward passes": self.backwards,
            "optimizer steps": sum(self.optimizers.values()) + sum(self.inner_optimizers.values()),
        }
        found = [f"{n} {what}" for what, n in counts.items() if n]
        return ", ".join(found) if found else "no DataLoader batch, no call of a model, no backward pass, no optimizer step"


def _event(by: str, key: int) -> tuple[str, int]:
    return ("fetch" if by == "loader" else by), key


def whole_steps(log: Log, boundary: tuple[str, int], steps: int) -> list[Log]:
    """The events of each of the last `steps` whole steps in the log."""
    marks = [i for i, event in enumerate(log) if event == boundary][-(steps + 1) :]
    return [log[a + 1 : b] for a, b in zip(marks, marks[1:])]


def usual_side_events(log: Log, boundary: tuple[str, int], steps: int) -> frozenset[tuple[str, int]]:
    """Fetches, ends of a loader and evaluations that most of the last `steps` whole steps have. Any other means that a step holds something
    else than training: an epoch ended, a model was evaluated."""
    parts = whole_steps(log, boundary, steps)
    counts = Counter(event for part in parts for event in set(part) if event[0] in SIDE_EVENTS)
    return frozenset(event for event, n in counts.items() if 2 * n >= len(parts))
