"""From captured construction and the map step to the rows of `model.json`: roots, paths, modules, parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..source.cell_names import running
from ..source.frames import INLINE_CODE, Files
from .calls import ModuleCall
from .capture import Attachment, Capture, Construction, Step
from .mapping import MapStep
from .sites import Site, Sites


@dataclass
class ModuleRow:
    module: Any
    path: str
    parent: int
    root: int
    attached: Site | None = None
    constructed: Site | None = None
    class_site: Site | None = None


@dataclass
class ParameterRow:
    id: int
    module: int
    name: str
    parameter: Any


@dataclass
class Tree:
    """Rows in the order of their numbers; `number` finds a module's row by identity."""

    modules: list[ModuleRow] = field(default_factory=list)
    roots: list[tuple[int, str]] = field(default_factory=list)  # (row, role)
    parameters: list[ParameterRow] = field(default_factory=list)
    number: dict[int, int] = field(default_factory=dict)


def build(capture: Capture, mapped: MapStep | None, sites: Sites, files: Files) -> Tree:
    calls = mapped.calls.rows if mapped else []
    alive = _alive(capture, calls)
    tree = Tree()
    roots = _ranked_roots(alive, calls, files)
    # Modules that a forward reaches without holding them as children are trees of their own.
    roots += [(c.module, _role(c.module, False, False)) for c in calls]
    used: set[str] = set()
    for root, role in roots:
        if id(root) not in tree.number:
            prefix = _unique_name(type(root).__name__, used) if tree.roots else ""
            _add_root(tree, root, role, prefix)
    for row in tree.modules:
        _place(row, tree, capture, sites, files)
    _add_parameters(tree, mapped.parameters if mapped else {})
    return tree


def _alive(capture: Capture, calls: list[ModuleCall]) -> list[Any]:
    found = {id(m): m for m in capture.alive()}
    found.update((id(c.module), c.module) for c in calls)
    return list(found.values())


# -- roots


def _ranked_roots(alive: list[Any], calls: list[ModuleCall], files: Files) -> list[tuple[Any, str]]:
    """The main model first: what is trained before a teacher or an encoder that is not, most bytes, then what was made first. Which one is
    called first may differ from step to step (a policy that acts now and then)."""
    outermost = [c for c in calls if c.parent < 0 and not c.in_backward]
    roots = _called_roots(alive, outermost, files) if outermost else [m for m in _tops(alive) if _has_parameters(m) or _is_criterion(m)]
    order = {id(m): i for i, m in enumerate(alive)}
    roots.sort(key=lambda m: (-parameter_bytes(m, trained=True), -parameter_bytes(m), order[id(m)]))
    scalar = {id(c.module) for c in outermost if c.scalar_result}
    return [(m, _role(m, i == 0, id(m) in scalar)) for i, m in enumerate(roots)]


def _role(module: Any, is_main: bool, returned_scalar: bool) -> str:
    if is_main:
        return "model"
    return "loss" if _is_criterion(module) or returned_scalar else "other"


def _is_criterion(module: Any) -> bool:
    return any(cls.__module__ == "torch.nn.modules.loss" for cls in type(module).__mro__)


def _is_list(module: Any) -> bool:
    lists = ("ModuleList", "ModuleDict")
    return any(cls.__module__ == "torch.nn.modules.container" and cls.__name__ in lists for cls in type(module).__mro__)


def _has_parameters(module: Any) -> bool:
    return next(iter(module.parameters()), None) is not None


def _tops(modules: list[Any]) -> list[Any]:
    held = {id(child) for m in modules for child in m._modules.values() if child is not None}
    return [m for m in modules if id(m) not in held]


def _called_roots(alive: list[Any], outermost: list[ModuleCall], files: Files) -> list[Any]:
    """Per tree of modules the one that holds everything the loop called, in order of the first call."""
    called: dict[int, Any] = {id(c.module): c.module for c in outermost}
    roots: dict[int, Any] = {}
    left = dict(called)
    for top in _tops(alive):
        inside = [m for m in top.modules() if id(m) in left]
        if not inside:
            continue
        root = _common_holder(top, {id(m) for m in inside}, files)
        for m in inside:
            del left[id(m)]
            roots[id(m)] = root
    ordered = [roots.get(k, m) for k, m in called.items()]
    return list({id(m): m for m in ordered}.values())


def _common_holder(top: Any, wanted: set[int], files: Files) -> Any:
    """The smallest holder of the user's own classes, else of any: whose `training_step` calls `self.net` means itself by the model.

    A list of modules has no forward: whose it is has methods that the loop calls.
    """
    holder = named = top
    own, passed = None, set()  # a module may hold the one that holds it
    while True:
        passed.add(id(holder))
        if id(holder) in wanted or not _is_list(holder):
            named = holder
        if files.in_workspace(class_file(type(holder)) or ""):
            own = holder
        covering = [c for c in holder.children() if id(c) not in passed and wanted <= {id(m) for m in c.modules()}]
        if id(holder) in wanted or not covering:
            return named if own is None else own
        holder = covering[0]


def _unique_name(name: str, used: set[str]) -> str:
    candidate, n = name, 1
    while candidate in used:
        n += 1
        candidate = f"{name}#{n}"
    used.add(candidate)
    return candidate


def _add_root(tree: Tree, root: Any, role: str, prefix: str) -> None:
    first = len(tree.modules)
    by_path = dict(root.named_modules())
    for path, module in by_path.items():
        if id(module) in tree.number:
            continue
        holder = path.rpartition(".")[0]
        parent = tree.number[id(by_path[holder])] if path else -1
        tree.number[id(module)] = len(tree.modules)
        full = path if not prefix else (f"{prefix}.{path}" if path else prefix)
        tree.modules.append(ModuleRow(module, full, parent, first))
    tree.roots.append((first, role))


# -- places


def _place(row: ModuleRow, tree: Tree, capture: Capture, sites: Sites, files: Files) -> None:
    module = row.module
    construction = capture.construction(module)
    built = _first(construction.chain) if construction else None
    row.class_site = _class_site(type(module), sites, files)
    row.constructed = sites.expression(built.at) if built else None
    if row.parent < 0:
        row.attached = _obtained(construction, sites, files)
    else:
        name = row.path.rpartition(".")[2]
        attachment = capture.attachment(tree.modules[row.parent].module, name, module)
        if attachment is not None:
            row.attached = _attached(name, construction, attachment, sites)
        elif construction is not None and construction.copied:
            row.attached = row.constructed  # a copied parent brings its children: the line that copied is all there is
    if row.attached and row.constructed and (row.attached.file, row.attached.line) == (row.constructed.file, row.constructed.line):
        row.constructed = None


def _obtained(construction: Construction | None, sites: Sites, files: Files) -> Site | None:
    """A root has no parent that names it: the user's own statement that led to it, also through a package's factory."""
    chain = construction.chain if construction else []
    own = next((step for step in chain if files.in_workspace(step.at.code.co_filename)), None)
    return sites.statement(own.at) if own else None


def _attached(name: str, construction: Construction | None, attachment: Attachment, sites: Sites) -> Site | None:
    """A container's entry: the expression that made it, seen from the frame that filled the container. Else the naming statement."""
    if name.isdigit() and construction is not None:
        entry = _entry(construction.chain, attachment.chain)
        if entry is not None:
            return sites.expression(entry.at)
    naming = _first(attachment.chain)
    return sites.statement(naming.at) if naming else None


def _entry(built: list[Step], filled: list[Step]) -> Step | None:
    position = {(s.frame, s.at.code): i for i, s in enumerate(built)}
    for k, step in enumerate(filled):
        i = position.get((step.frame, step.at.code))
        if i is None or not _same_caller(built[i + 1 :], filled[k + 1 :]):
            continue
        while i > 0 and built[i - 1].at.code.co_name in INLINE_CODE and built[i - 1].at.code in step.at.code.co_consts:
            i -= 1  # a comprehension's own frame, before Python 3.12
        return built[i]
    return _first(built)


def _same_caller(built: list[Step], filled: list[Step]) -> bool:
    """A frame's identity is used again once it has returned; a frame that still runs has its caller where it was."""
    if not built or not filled:
        return True
    return (built[0].frame, built[0].at) == (filled[0].frame, filled[0].at)


def _first(chain: list[Step]) -> Step | None:
    return chain[0] if chain else None


def _class_site(cls: type, sites: Sites, files: Files) -> Site | None:
    """The header of the class; of one that was put together while the script ran (FSDP's, of a parametrization) that of its base."""
    return next((site for each in cls.__mro__ if (site := _header(each, sites, files)) is not None), None)


def _header(cls: type, sites: Sites, files: Files) -> Site | None:
    filename = class_file(cls)
    if filename is None or files.is_library(filename):
        return None
    codes = (getattr(member, "__code__", None) for member in vars(cls).values())
    lines = (code.co_firstlineno for code in codes if code is not None and code.co_filename == filename)
    return sites.class_header(filename, cls.__qualname__, next(lines, None))


def model_files(modules: list[Any], files: Files) -> set[str]:
    """The files of the classes of some modules and of their bases, torch's and the standard library's left out."""
    found = {class_file(cls) for m in modules for cls in type(m).__mro__}
    return {f for f in found if f is not None and not files.is_library(f)}


def class_file(cls: type) -> str | None:
    """The file of the module that defines a class, by the name frames have for it."""
    notebook = running()
    if notebook is not None and cls.__module__ == "__main__":
        return notebook.path
    return getattr(sys.modules.get(cls.__module__), "__file__", None)


# -- parameters


def parameter_bytes(module: Any, trained: bool = False) -> int:
    """Of all parameters, or of those that are trained alone."""
    return sum(_bytes(p) for p in module.parameters() if p.requires_grad or not trained)


def _bytes(parameter: Any) -> int:
    try:
        return int(parameter.numel() * parameter.element_size())
    except (RuntimeError, ValueError):
        return 0  # a lazy parameter has no shape yet


def _add_parameters(tree: Tree, numbered: dict[int, int]) -> None:
    """Parameters whose gradient was marked have the number of the mark; the others follow."""
    found = list(_parameters(tree))
    taken = {numbered[id(p)] for _, _, p in found if id(p) in numbered}
    free = (n for n in range(len(found) + len(numbered)) if n not in taken)
    for row, name, parameter in found:
        number = numbered[id(parameter)] if id(parameter) in numbered else next(free)
        tree.parameters.append(ParameterRow(number, row, name, parameter))
    tree.parameters.sort(key=lambda p: p.id)


def _parameters(tree: Tree) -> Iterator[tuple[int, str, Any]]:
    seen = set()
    for i, row in enumerate(tree.modules):
        for name, parameter in row.module.named_parameters(recurse=False):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield i, name, parameter


def parameter_facts(parameter: Any) -> dict[str, Any]:
    try:
        shape = [int(n) for n in parameter.shape]
    except (RuntimeError, ValueError):
        shape = []
    return {
        "bytes": _bytes(parameter),
        "shape": shape,
        "dtype": str(parameter.dtype).replace("torch.", ""),
        "requires_grad": bool(parameter.requires_grad),
    }
