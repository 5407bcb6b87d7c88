"""One number for each optimizer or model of a loop, over a whole run.

`id` will not do: it comes again as soon as an object has gone, so that what replaces it is the same or another one by chance. A loop
that makes its optimizer anew in every fold has one optimizer all the same: what is used at the place in the code where an object was used
that has gone since takes over the number.
"""

from __future__ import annotations

import weakref
from types import FrameType
from typing import Any

from ..source.frames import Stack, stack


class Numbers:
    """Holds none of the objects that it numbers. Numbers are positive; of what cannot be referred to weakly, a negative `id`."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}  # by id
        self._used_at: dict[Stack, list[tuple[weakref.ref[Any], int]]] = {}  # who has each number of that place now
        self.given = 0  # the highest number so far

    def take_over(self, thing: Any, number: int) -> bool:
        """Gives a thing the number of one that is still there, where both have been used at one place."""
        reference, own = self._known[id(thing)]
        for here in self._used_at.values():
            if {own, number} <= {n for _, n in here}:
                here[:] = [(r, n) for r, n in here if n not in (own, number)] + [(reference, number)]
                self._known[id(thing)] = (reference, number)
                return True
        return False

    def of(self, thing: Any, frame: FrameType | None) -> int:
        """`frame`: where it is used, of interest the first time alone."""
        known = self._known.get(id(thing))
        if known is not None and known[0]() is thing:
            return known[1]
        try:
            reference = weakref.ref(thing)
        except TypeError:
            return -id(thing)
        number = self._number(reference, stack(frame))
        self._known[id(thing)] = (reference, number)
        return number

    def _number(self, reference: weakref.ref[Any], place: Stack) -> int:
        here = self._used_at.setdefault(place, [])
        for at, (before, number) in enumerate(here):
            if before() is None:
                here[at] = (reference, number)
                return number
        self.given += 1
        here.append((reference, self.given))
        return self.given
