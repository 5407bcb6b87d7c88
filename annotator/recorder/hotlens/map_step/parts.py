"""The `parts` of model.json: what each kernel of compiled code that ran in the map step works for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from ..compiled.generated import bare, kernel_calls, text_of
from ..compiled.graphs import OWN, Graph, Graphs
from ..compiled.provenance import Cannot, Kernel, Key, Line, Lowered, lowered
from ..source.frames import Files
from ..source.statements import Statements
from .mapping import MapStep
from .tree import Tree

AMBIGUOUS = "several graphs make the same code, of other modules"
NO_GRAPH = "its graph was not seen, or makes other code by now"


@dataclass
class Parts:
    """`rows`: by number of a mark; `lines` numbers lines of source."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    without: list[str] = field(default_factory=list)  # why kernels are of nobody


class _Finder:
    def __init__(self, tree: Tree, files: Files, statements: Statements, line_number: Callable[[Line], int]) -> None:
        self.tree = tree
        self.files = files
        self.statements = statements
        self.line_number = line_number
        self.by_path = {row.path: i for i, row in enumerate(tree.modules)}
        self.owners = {id(p): i for i, row in enumerate(tree.modules) for p in row.module._parameters.values() if p is not None}
        self.roots: dict[tuple[int, str], int | None] = {}

    def part(self, kernel: Kernel, graph: Graph) -> list[dict[str, Any]]:
        shares: dict[str, dict[str, Any]] = {}
        for key, weight in kernel.shares.items():
            share = self._share(key, graph)
            known = shares.setdefault(repr(share), {**share, "weight": 0.0})
            known["weight"] += weight
        return list(shares.values())

    def _share(self, key: Key, graph: Graph) -> dict[str, Any]:
        stack, frames = key
        modules = [self._module(path, graph) for path, _ in stack if path != OWN]
        lines = [self.line_number(line) for frame in frames if self.files.in_workspace(frame[0]) for line in self._lines(frame)]
        return {"modules": modules, "lines": lines}

    def _lines(self, frame: Line) -> list[Line]:
        """As the map step marks a line: the first of its statement, and itself."""
        file, line, name = frame
        function = self.statements.source(file).function_at(line) or name
        return [(file, at, function) for at in dict.fromkeys((self.statements.first_line(file, line), line))]

    def _module(self, path: str, graph: Graph) -> dict[str, Any]:
        root, _, rest = path.partition(".")
        key = (id(graph), root)
        if key not in self.roots:
            self.roots[key] = self._root(root, graph)
        at = self.roots[key]
        if at is not None and rest:
            around = self.tree.modules[at].path
            at = self.by_path.get(f"{around}.{rest}" if around else rest)
        return {"path": rest if root == OWN else "", "id": at}

    def _root(self, root: str, graph: Graph) -> int | None:
        """The module that a name of the compiled function stood for: known by a parameter somewhere below it."""
        for path, reference in graph.owners.items():
            start, _, below = path.partition(".")
            at = self.owners.get(id(reference())) if start == root else None
            for _ in filter(None, below.split(".")):
                at = self.tree.modules[at].parent if at is not None and at >= 0 else None
            if at is not None and at >= 0:
                return at
        return None


def find(mapped: MapStep | None, graphs: Graphs, tree: Tree, files: Files, statements: Statements) -> Parts:
    """Never raises: what cannot be known is said."""
    found = Parts()
    if mapped is None or not mapped.kernels.numbers:
        return found
    graphs.leave()  # what is compiled from here on is ours
    found.rows = [{"shares": []} for _ in mapped.kernels.numbers]
    try:
        _fill(found, mapped, graphs, _Finder(tree, files, statements, lambda line: _number(mapped, line)))
    except Cannot as why:
        found.without.append(str(why))
    except Exception as fault:
        found.without.append(f"what its kernels work for could not be found out ({type(fault).__name__}: {fault})"[:300])
    return found


def _number(mapped: MapStep, line: Line) -> int:
    return mapped.lines.setdefault(line, len(mapped.lines))


def _fill(found: Parts, mapped: MapStep, graphs: Graphs, finder: _Finder) -> None:
    texts: dict[str, list[str]] = {}
    for filename in dict.fromkeys(filename for filename, _ in mapped.kernels.numbers):
        texts[filename] = bare(text_of(filename) or "")
    made: dict[str, list[Lowered]] = {filename: [] for filename in texts}
    try:
        for each in lowered(graphs.rows):
            for filename, text in texts.items():
                if text == each.text:
                    made[filename].append(each)
    finally:
        for filename, candidates in made.items():
            _fill_file(found, mapped, filename, candidates, finder)


def _fill_file(found: Parts, mapped: MapStep, filename: str, candidates: list[Lowered], finder: _Finder) -> None:
    if not candidates:
        found.without.append(NO_GRAPH)
        return
    calls = kernel_calls(text_of(filename) or "")
    answers = [[finder.part(kernel, each.of) for kernel in each.kernels] for each in candidates]
    for at, call in enumerate(calls):
        number = mapped.kernels.numbers.get((filename, call.line))
        if number is None:
            continue
        said = [answer[at] for answer in answers if at < len(answer)]
        if said and all(_same(one, said[0]) for one in said[1:]):
            found.rows[number]["shares"] = said[0]
        elif said:
            found.without.append(AMBIGUOUS)


def _same(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> bool:
    """For modules below the one that runs the code: which one that is, its call tells."""

    def modules(shares: list[dict[str, Any]]) -> list[Any]:
        return [[module["path"] or module["id"] for module in share["modules"]] for share in shares]

    return modules(a) == modules(b)
