"""Updates by what was at work in them, so that a mean update has as much of each kind as all updates made, not only those that were timed.

Few updates are timed: if an evaluation ends one of nine of them, though one of sixteen made, its time would count nearly twice. Each kind
of update (the rare statements at work in it) gets the weight that makes its part of the timed ones its part of all: post-stratification
(Holt and Smith, Post Stratification, J. R. Statist. Soc. A 142, 1979). What comes every k-th update is in one of k, wherever counting
stops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

Statement = tuple[int, int]  # number of the clock, number in its plan
MOST_KINDS = 500


@dataclass
class _Kind:
    made: int = 0
    last: int = 0  # the last of them, counted from the first update of the run, which is 1
    timed: int = 0
    timed_ns: int = 0
    statements: Counter[Statement] = field(default_factory=Counter)  # ns in the timed ones

    def take(self, other: _Kind) -> None:
        self.made += other.made
        self.last = max(self.last, other.last)
        self.timed += other.timed
        self.timed_ns += other.timed_ns
        self.statements.update(other.statements)


@dataclass(frozen=True)
class Fair:
    """What to add to what was timed, ns over all timed updates; less than 0 for what came too often among them."""

    watched_ns: int
    statements: dict[Statement, int]
    usual_ns: int  # what an update without rare statements takes; 0 where none was timed


class Kinds:
    """All updates of a run but the first `before`, of which nothing is known."""

    def __init__(self) -> None:
        self.before = 1
        self._made = 0
        self._kinds: dict[frozenset[Statement], _Kind] = {}

    def add(self, worked: dict[Statement, int], timed_ns: int | None) -> None:
        """`worked`: ns of each statement at work; `timed_ns`: None of an update that was not timed"""
        key = frozenset(worked)
        if key not in self._kinds and len(self._kinds) >= MOST_KINDS:
            key = frozenset()
        kind = self._kinds.setdefault(key, _Kind())
        self._made += 1
        kind.made += 1
        kind.last = self.before + self._made
        if timed_ns is not None:
            kind.timed += 1
            kind.timed_ns += timed_ns
            kind.statements.update(worked)

    def forget_time(self, worked: dict[Statement, int], timed_ns: int) -> None:
        """Of an update that was added with these."""
        key = frozenset(worked)
        kind = self._kinds[key if key in self._kinds else frozenset()]
        kind.timed -= 1
        kind.timed_ns -= timed_ns
        kind.statements.subtract(worked)

    def again(self, worked: Iterable[Statement]) -> None:
        """What is rare of this came once more, after the last update."""
        rare = self.rare()
        kind = next((kind for known, kind in self._kinds.items() if known & rare == rare.intersection(worked) and known & rare), None)
        if kind is not None:
            kind.made += 1
            kind.last = self.before + self._made

    def rare(self) -> frozenset[Statement]:
        """What was at work in less than half of the updates."""
        seen: Counter[Statement] = Counter()
        for worked, kind in self._kinds.items():
            seen.update(dict.fromkeys(worked, kind.made))
        return frozenset(statement for statement, updates in seen.items() if 2 * updates < self._made)

    def fair(self) -> Fair:
        """A kind of which none was timed is left out: nothing is known of its time."""
        usual, *rare = self._by_rare_work()
        timed = [kind for kind in (usual, *rare) if kind.timed]
        all_timed = sum(kind.timed for kind in timed)
        watched, statements = Fraction(0), Counter[Statement]()
        for kind, share in zip(timed, self._shares(timed) if usual.timed else _counted(timed)):
            more = share * all_timed / kind.timed - 1
            watched += more * kind.timed_ns
            for statement, ns in kind.statements.items() if more else ():
                statements[statement] += more * ns  # type: ignore[assignment]  # whole only once they are added up
        # Rounded so that the statements never take more than the whole.
        usual_ns = usual.timed_ns // usual.timed if usual.timed else 0
        return Fair(ceil(watched), {statement: floor(ns) for statement, ns in statements.items()}, usual_ns)

    def _by_rare_work(self) -> list[_Kind]:
        """That without any is the first."""
        rare = self.rare()
        grouped = {frozenset[Statement](): _Kind()}
        for worked, kind in self._kinds.items():
            grouped.setdefault(worked & rare, _Kind()).take(kind)
        return list(grouped.values())

    def _shares(self, kinds: list[_Kind]) -> list[Fraction]:
        """Of all updates, the usual ones first; they add up to one."""
        counted = _counted(kinds)
        rhythmic = [self._rhythmic(kind) or share for kind, share in zip(kinds[1:], counted[1:])]
        usual = 1 - sum(rhythmic, Fraction(0))
        return [usual, *rhythmic] if usual > Fraction(1, 2) else counted

    def _rhythmic(self, kind: _Kind) -> Fraction | None:
        """Of work that may come every k-th update, counted until it came last; None where it should have come again since."""
        rhythm = Fraction(kind.last, kind.made)
        return 1 / rhythm if kind.last + rhythm > self.before + self._made else None


def _counted(kinds: list[_Kind]) -> list[Fraction]:
    made = sum(kind.made for kind in kinds)
    return [Fraction(kind.made, made) for kind in kinds]
