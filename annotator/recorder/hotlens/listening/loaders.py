"""Which part each DataLoader has in a loop: one number for all that feed the same updates, over a whole run.

A loader may be replaced in every epoch, by one that lies beside it, and one line may run the epochs of training and of evaluation in turn:
neither the object nor the place says which is which. What does is an update while a loader is in use. So each use, a loader at a place in
the code, has a number of its own until an update comes; then it takes over that of a use which has fed updates before and is at rest: of
the same loader elsewhere, or of another one at the same place.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..source.frames import Stack, stack

# Batches from one iterator after which it is known whether updates follow (one may be fetched ahead).
TRIES = 2


@dataclass(eq=False)
class _Use:
    loader: weakref.ref[Any] | None  # its sampler, which outlives the iterators of single epochs; None: cannot be referred to weakly
    place: int
    number: int
    feeds: bool = False
    claims: int = 0  # the number that it takes over if an update comes
    rivals: int = (
        0  # the same where its iterator is still there, broken off: taken over if that gives no batch while this one feeds two updates
    )
    alone: int = 0  # updates without a batch of the rival
    batches: int = 0  # asked of the iterator at work, until it is known to feed
    iterator: weakref.ref[Any] | None = None  # None: at its end

    @property
    def running(self) -> bool:
        return self.iterator is not None and self.iterator() is not None

    def of(self, loader: Any) -> bool:
        return self.loader is None or self.loader() is loader


class Loaders:
    """Holds no loader and no iterator. Numbers are positive."""

    def __init__(self) -> None:
        self._uses: dict[tuple[int, int], _Use] = {}
        self._running: dict[int, tuple[weakref.ref[Any], _Use]] = {}  # by id of the iterator
        self._fed: dict[int, set[int]] = {}  # numbers of what has fed updates there
        self._undecided: list[_Use] = []
        self._last: _Use | None = None
        self._fetched: set[int] = set()  # since the last update, while something is undecided
        self._updates = False
        self._given = 0
        self._places: dict[tuple[int, ...], int] = {}  # by the instructions at which the frames stand
        self._stacks: list[Stack] = []  # hold their codes, so that no other code has the place of one that has gone

    def fetch(self, iterator: Any, frame: FrameType | None) -> int:
        """The number of an iterator that is asked for a batch; `frame`: by whom, of interest the first time alone."""
        known = self._running.get(id(iterator))
        use = known[1] if known is not None and known[0]() is iterator else self._start(iterator, frame)
        self._last = use
        if self._undecided:
            self._fetched.add(use.number)
        if not use.feeds:
            use.batches += 1
        return use.number

    def exhausted(self, iterator: Any) -> int:
        """Its number."""
        _, use = self._running.pop(id(iterator))
        use.iterator = None
        return use.number

    def updated(self) -> list[tuple[int, int]]:
        """An update has been made. The numbers that have changed, old and new: of what is in use or was the last to give a batch."""
        if not self._updates:
            return self._first_update()
        return self._decide() if self._undecided else []

    def served(self) -> list[tuple[int, int]]:
        """The same for a loop that makes no updates, when a batch has been computed on."""
        return self._decide() if self._undecided and not self._updates else []

    def tries(self, number: int) -> bool:
        """The last fetch was one of the first from an iterator that may have the part of `number`."""
        use = self._last
        return use is not None and not use.feeds and number in (use.claims, use.rivals) and use.batches <= TRIES

    def samplers_of(self, number: int) -> set[int]:
        """Identities of the samplers of all loaders with this number."""
        return {sampler for (sampler, _), use in self._uses.items() if use.number == number}

    # -- uses

    def _start(self, iterator: Any, frame: FrameType | None) -> _Use:
        loader = getattr(iterator, "_index_sampler", iterator)
        key = id(loader), self._place(frame)
        use = self._uses.get(key)
        if use is None or not use.of(loader):
            self._given += 1
            use = self._uses[key] = _Use(_reference(loader), key[1], self._given)
        use.iterator = reference = weakref.ref(iterator)
        self._running[id(iterator)] = (reference, use)
        if not use.feeds:
            self._running = {number: row for number, row in self._running.items() if row[0]() is not None}
            use.batches, use.alone = 0, 0
            use.claims, use.rivals = self._claim(use, loader)
            self._undecided = [u for u in self._undecided if u.running and u is not use] + [use]
        return use

    def _claim(self, use: _Use, loader: Any) -> tuple[int, int]:
        """The first number that is at rest and that nobody else at work may have; without one, the first that is not; 0 for none."""
        at_work = [u for _, u in self._running.values() if u is not use]
        claimed = {u.claims for u in at_work if not u.feeds}
        taken = {u.number for u in at_work} | claimed
        elsewhere = {u.number for (number, _), u in self._uses.items() if u.feeds and number == id(loader) and u.of(loader)}
        here = self._fed.get(use.place, set())
        claims = min((here | elsewhere) - taken, default=0)
        return claims, 0 if claims else min(here - claimed - {use.number}, default=0)

    def _first_update(self) -> list[tuple[int, int]]:
        """What has only been computed on so far was no training, and nothing that trains has its number."""
        self._updates = True
        self._fed.clear()
        for use in self._uses.values():
            use.feeds, use.claims, use.rivals = False, 0, 0
        self._undecided = [u for u in self._uses.values() if u.running or u is self._last]
        for use in self._undecided:
            if any(u.number == use.number for u in self._uses.values() if u is not use):
                self._given += 1
                use.claims = self._given
        return self._decide()

    def _decide(self) -> list[tuple[int, int]]:
        changed, undecided = [], []
        for use in self._undecided:
            if use.running or use is self._last:
                if use.rivals:
                    use.alone = use.alone + 1 if use.number in self._fetched and use.rivals not in self._fetched else 0
                    if use.alone < TRIES:
                        undecided.append(use)
                        continue
                    use.claims = use.rivals
                use.feeds = True
                if use.claims not in (0, use.number):
                    changed.append((use.number, use.claims))
                    use.number = use.claims
                self._fed.setdefault(use.place, set()).add(use.number)
        self._undecided = undecided
        self._fetched.clear()
        return changed

    def _place(self, frame: FrameType | None) -> int:
        outward = frame
        instructions: list[int] = []
        while outward is not None:
            instructions += (id(outward.f_code), outward.f_lasti)
            outward = outward.f_back
        key = tuple(instructions)
        known = self._places.get(key)
        if known is None:
            self._stacks.append(stack(frame))
            known = self._places[key] = next(number for number, place in enumerate(self._stacks) if place == self._stacks[-1])
        return known


def _reference(thing: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(thing)
    except TypeError:  # a list of batches
        return None
