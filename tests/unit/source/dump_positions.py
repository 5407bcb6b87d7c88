"""Print, one JSON object a line, what Python itself says about the positions in source files.

Per file: the statements of its syntax tree, and the positions of the instructions that call, store and iterate, with the qualified name of
the code they belong to. Lines and columns are 0-based, columns count UTF-8 bytes. Files that this Python cannot compile are left out.
Usage: dump_positions.py [--library] [--list] FILE…
--library adds files of the standard library and of installed model packages; --list prints only the paths.
"""

from __future__ import annotations

import ast
import dis
import importlib.util
import json
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

Span = tuple[int, int, int, int]

STANDARD = ["argparse.py", "ast.py", "dataclasses.py", "inspect.py", "typing.py", "asyncio/base_events.py", "statistics.py"]
STANDARD += ["unittest/mock.py"]
PACKAGES = {
    "transformers": ["models/bert/modeling_bert.py", "models/gpt2/modeling_gpt2.py"],
    "torch": ["nn/modules/transformer.py", "nn/modules/module.py", "utils/data/dataloader.py"],
}


def span(node: ast.expr | ast.stmt | ast.ExceptHandler) -> Span:
    return (node.lineno - 1, node.col_offset, (node.end_lineno or 0) - 1, node.end_col_offset or 0)


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def assigned(node: ast.AST) -> Iterator[ast.expr]:
    """The targets of an assignment, those inside tuples one by one."""
    if isinstance(node, ast.Assign):
        targets = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    else:
        return
    while targets:
        target = targets.pop()
        if isinstance(target, (ast.Tuple, ast.List)):
            targets.extend(target.elts)
        else:
            yield target.value if isinstance(target, ast.Starred) else target


def place(instruction: dis.Instruction) -> Span | None:
    at = instruction.positions
    if at is None or at.lineno is None or at.col_offset is None or at.end_lineno is None or at.end_col_offset is None:
        return None
    return (at.lineno - 1, at.col_offset, at.end_lineno - 1, at.end_col_offset)


def inside_formatted(nodes: list[ast.AST]) -> set[Span]:
    """Calls inside f-strings, whose positions before Python 3.12 are not those of the text."""
    if sys.version_info >= (3, 12):
        return set()
    strings = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    return {span(inner) for string in strings for inner in ast.walk(string) if isinstance(inner, ast.Call)}


def describe(path: Path) -> dict[str, object] | None:
    try:
        text = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            code = compile(text, str(path), "exec")
        text.decode("utf-8")
    except (SyntaxError, UnicodeDecodeError, ValueError, OSError):
        return None
    nodes = list(ast.walk(tree))
    calls = {span(node) for node in nodes if isinstance(node, ast.Call)}
    unknown = inside_formatted(nodes)
    targets = {span(target) for node in nodes for target in assigned(node)}
    loops = {span(node.iter) for node in nodes if isinstance(node, (ast.For, ast.AsyncFor))}
    found: dict[str, set[tuple[int | str, ...]]] = {"calls": set(), "other_calls": set(), "stores": set(), "loops": set()}
    for part in codes(code):
        for instruction in dis.get_instructions(part):
            where = place(instruction)
            if where is None or where in unknown:
                continue
            at = (*where, part.co_qualname)
            if instruction.opname.startswith("CALL"):
                found["calls" if where in calls else "other_calls"].add(at)
            elif instruction.opname.startswith("STORE_") and where in targets:
                found["stores"].add(at)
            elif instruction.opname == "GET_ITER" and where in loops:
                found["loops"].add(at)
    statements = [
        (*span(node), hasattr(node, "body") or hasattr(node, "cases")) for node in nodes if isinstance(node, (ast.stmt, ast.ExceptHandler))
    ]
    return {"path": str(path), "statements": sorted(statements), **{key: sorted(value) for key, value in found.items()}}


def library_files() -> Iterator[Path]:
    standard = Path(sysconfig.get_paths()["stdlib"])
    yield from (standard / name for name in STANDARD)
    for package, names in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            yield from (Path(spec.submodule_search_locations[0]) / name for name in names)


def main(arguments: list[str]) -> int:
    paths = list(library_files()) if "--library" in arguments else []
    paths += [Path(argument) for argument in arguments if not argument.startswith("--")]
    paths = [path for path in paths if path.is_file()]
    if "--list" in arguments:
        print("\n".join(map(str, paths)))
        return 0
    if sys.version_info < (3, 11):
        return 3
    for path in paths:
        if (described := describe(path)) is not None:
            print(json.dumps(described))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
