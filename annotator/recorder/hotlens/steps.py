"""What one training step is: the finder watches the first steps and chooses the event that marks the boundary.

Pure bookkeeping: `hooks` feeds it events, nothing here knows torch. The choice, best first:
  loader     a batch is fetched from one DataLoader exactly once per update, so that fetching belongs to the step that uses it;
  optimizer  the last optimizer of the cycle has stepped (accumulation, several optimizers, closures, no DataLoader);
  backward   a backward pass has ended (no torch optimizer at all, or optimizers that step inside backward).
"""

from __future__ import annotations

from dataclasses import dataclass, field

# A training loop without torch.optim is believed only after this many more passes than were asked as warm-up.
PATIENCE = 2


@dataclass(frozen=True)
class Boundary:
    """The chosen step: which event, of which object (an identity; 0 where it does not matter), and why."""

    by: str
    key: int
    why: str
    steps_seen: int


@dataclass
class LoaderLog:
    """What happened since the last fetch from one DataLoader."""

    waiting: bool = False  # a batch was handed out and the next fetch has not come yet
    good: int = 0  # fetches in a row with exactly one update between
    fetches: int = 0
    updates: dict[int, int] = field(default_factory=dict)
    fresh_backwards: int = 0

    def one_update(self, optimizers_exist: bool) -> bool:
        """Exactly one update since the fetch; without optimizers a backward from fresh gradients stands for it."""
        if self.updates:
            return min(self.updates.values()) == 1
        return not optimizers_exist and self.fresh_backwards > 0


@dataclass
class StepFinder:
    """Fed with events in order; each method returns the choice as soon as `warmup` whole steps support it."""

    warmup: int
    loaders: dict[int, LoaderLog] = field(default_factory=dict)
    optimizers: dict[int, int] = field(default_factory=dict)  # steps outside backward
    inner_optimizers: dict[int, int] = field(default_factory=dict)  # steps inside backward
    backwards: int = 0
    fresh_backwards: int = 0

    @property
    def needed(self) -> int:
        return max(1, self.warmup)

    def fetch(self, loader: int) -> Boundary | None:
        """A batch is about to be fetched."""
        log = self.loaders.setdefault(loader, LoaderLog())
        log.fetches += 1
        if log.waiting:
            good = log.one_update(bool(self.optimizers or self.inner_optimizers))
            log.good = log.good + 1 if good else 0
        log.waiting, log.updates, log.fresh_backwards = True, {}, 0
        guessed = not (self.optimizers or self.inner_optimizers)
        if log.good < self.needed + (PATIENCE if guessed else 0):
            return None
        update = "backward pass" if guessed else "optimizer step"
        why = f"one DataLoader batch per {update} in {log.good} of {log.good} warm-up steps"
        return Boundary("loader", loader, why, log.good)

    def exhausted(self, loader: int) -> None:
        """The loader had no further batch."""
        self.loaders[loader].waiting = False

    def optimizer(self, optimizer: int, in_backward: bool) -> Boundary | None:
        """An optimizer has stepped."""
        for log in self.loaders.values():
            log.updates[optimizer] = log.updates.get(optimizer, 0) + 1
        counts = self.inner_optimizers if in_backward else self.optimizers
        counts[optimizer] = counts.get(optimizer, 0) + 1
        if in_backward:
            return None
        seen = counts[optimizer]
        last_of_cycle = min(counts.values()) >= self.needed or seen >= 4 * self.needed
        if not last_of_cycle or self._loader_may_win(seen):
            return None
        return Boundary("optimizer", optimizer, self._why_optimizer(len(counts)), seen)

    def _loader_may_win(self, updates: int) -> bool:
        return any(log.waiting and log.good >= updates - 1 for log in self.loaders.values())

    def _why_optimizer(self, optimizers: int) -> str:
        if optimizers > 1:
            return f"{optimizers} optimizers take turns; a step ends with the last of them"
        if not self.loaders:
            return "no DataLoader is used; a step ends with the optimizer"
        return "batches and optimizer steps do not come one to one; a step ends with the optimizer"

    def backward(self, fresh: bool) -> Boundary | None:
        """A backward pass has ended; `fresh` = it started from empty gradients."""
        self.backwards += 1
        if fresh:
            self.fresh_backwards += 1
            for log in self.loaders.values():
                log.fresh_backwards += 1
        passes = self.fresh_backwards
        if self.optimizers or passes < self.needed + PATIENCE or self._loader_may_win(passes - 1):
            return None
        reason = "optimizers step inside the backward pass" if self.inner_optimizers else "no torch optimizer is used"
        return Boundary("backward", 0, f"{reason}; a step ends with the backward pass", passes)

    def batches_per_step(self, boundary: Boundary) -> int | None:
        """DataLoader batches in one step, where every step of the warm-up had as many."""
        if boundary.by == "loader":
            return 1
        fetches = sum(log.fetches for log in self.loaders.values())
        steps = boundary.steps_seen
        return fetches // steps if fetches and steps and fetches % steps == 0 else None

    def seen(self) -> str:
        """What was seen, for the message when no step was found."""
        parts = [
            f"{sum(log.fetches for log in self.loaders.values())} DataLoader batches" if self.loaders else "",
            f"{self.backwards} backward passes" if self.backwards else "",
            f"{sum(self.optimizers.values()) + sum(self.inner_optimizers.values())} optimizer steps"
            if self.optimizers or self.inner_optimizers
            else "",
        ]
        found = [p for p in parts if p]
        return ", ".join(found) if found else "no DataLoader batch, no backward pass, no optimizer step"
