"""Print, one JSON object a line, what Python itself says about the positions in source files.

Per file: the statements of its syntax tree, and the positions of the instructions that call, store and iterate, with the qualified name of
the code they belong to. Lines and columns are 0-based, columns count UTF-8 bytes. Files that this Python cannot compile are left out.
Usage: dump_positions.py [--library] FILE…   (--library adds files of the standard library and of installed model packages)
"""

from __future__ import annotations

import ast
import dis
import importlib.util
import json
import sys
import sysconfig
import warnings
from pathlib import Path
from types import CodeType
from typing import Iterator

Span = tuple[int, int, int, int]

STANDARD = ["argparse.py", "ast.py", "dataclasses.py", "inspect.py", "typing.py", "asyncio/base_events.py", "unittest/mock.py", "statistics.py"]
PACKAGES = {
    "transformers": ["models/bert/modeling_bert.py", "models/gpt2/modeling_gpt2.py"],
    "torch": ["nn/modules/transformer.py", "nn/modules/module.py", "utils/data/dataloader.py"],
}


def span(node: ast.expr | ast.stmt) -> Span:
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
    # Before 3.12 the positions inside f-strings are not those of the text.
    formatted = {id(inner) for node in nodes if isinstance(node, ast.JoinedStr) for inner in ast.walk(node)} if sys.version_info < (3, 12) else set()
    calls = {span(node) for node in nodes if isinstance(node, ast.Call) and id(node) not in formatted}
    unknown = {span(node) for node in nodes if isinstance(node, ast.Call) and id(node) in formatted}
    targets = {span(target) for node in nodes for target in assigned(node)}
    loops = {span(node.iter) for node in nodes if isinstance(node, (ast.For, ast.AsyncFor))}
    found: dict[str, set[tuple[int | str, ...]]] = {"calls": set(), "other_calls": set(), "stores": set(), "loops": set()}
    for part in codes(code):
        for instruction in dis.get_instructions(part):
            positions = instruction.positions
            if positions is None or None in (positions.lineno, positions.col_offset, positions.end_lineno, positions.end_col_offset):
                continue
            where = (positions.lineno - 1, positions.col_offset, positions.end_lineno - 1, positions.end_col_offset)  # type: ignore[operator]
            at = (*where, part.co_qualname)
            if where in unknown:
                continue
            if instruction.opname.startswith("CALL"):
                found["calls" if where in calls else "other_calls"].add(at)
            elif instruction.opname.startswith("STORE_") and where in targets:
                found["stores"].add(at)
            elif instruction.opname == "GET_ITER" and where in loops:
                found["loops"].add(at)
    statements = [
        (*span(node), hasattr(node, "body") or hasattr(node, "cases"))
        for node in nodes
        if isinstance(node, (ast.stmt, ast.ExceptHandler))  # type: ignore[arg-type]
    ]
    return {"path": str(path), "statements": sorted(statements), **{key: sorted(value) for key, value in found.items()}}  # type: ignore[type-var]


def library_files() -> Iterator[Path]:
    standard = Path(sysconfig.get_paths()["stdlib"])
    yield from (standard / name for name in STANDARD)
    for package, names in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            yield from (Path(spec.submodule_search_locations[0]) / name for name in names)


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):
        return 3
    paths = list(library_files()) if "--library" in arguments else []
    paths += [Path(argument) for argument in arguments if argument != "--library"]
    for path in paths:
        if path.is_file() and (described := describe(path)) is not None:
            print(json.dumps(described))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
