"""Another batch size for a script, or another value of one of its numbers, in memory: its files stay as they are.

A batch size has three ways, tried in this order: an argument of the command line, the one number in the script that sets it, and the
`batch_size` that every DataLoader is made with. Any other number is an argument, or the only one of its name in the project's files.
"""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any, Callable

from ..process.environment import when_imported
from ..process.report import RecorderError
from .launch import Program

_NAME = re.compile(r"(?:per_(?:device|gpu)_)?(?:train(?:ing)?_)?(?:batch_?size|batch|bsz?)", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Way:
    """`sentence` says what is replaced, for people; {} is the new size. `words` are for the recorder's own command line."""

    by: str  # argument, number, loader
    was: int
    sentence: str
    argv: Callable[[int], list[str]]
    words: Callable[[int], list[str]] = field(default=lambda size: [])
    at: dict[str, Any] | None = None  # of a number in a file: path, line (0-based), column, end_column (bytes)


def ways(argv: Sequence[str], script: bytes | None, known: int | None) -> list[Way]:
    """`known`: the batch size of the loader that feeds the updates; nothing else is its number then."""
    found = [*_argument(argv, known, _is_batch_size), *_number(argv, script, known)]
    if known is not None:
        sentence = f"the batch_size of every DataLoader, {known} -> {{}}"
        found.append(Way("loader", known, sentence, lambda size: list(argv), lambda size: ["--replace", f"loader={size}"]))
    return found


def ways_by_name(name: str, argv: Sequence[str], texts: Mapping[str, bytes]) -> list[Way]:
    """The one way of a number that is called so, `block_size`, `BLOCK_SIZE` or `--block-size`; none where nothing is. `texts` by path.

    Raises RecorderError where several numbers are: nobody knows then which one is meant.
    """
    found = list(_argument(argv, None, lambda word: _plain(word) == _plain(name)))
    if found:
        return found[:1]
    places = [(path, node) for path, text in sorted(texts.items()) for node in numbers(text, lambda word: _plain(word) == _plain(name))]
    if len(places) > 1:
        said = ", ".join(f"{os.path.basename(path)}:{node.lineno}" for path, node in places)
        raise RecorderError(f"{name} is set in several places ({said}), and nobody knows which one is meant")
    return [_in_text(node, argv, os.path.basename(path), path) for path, node in places]


def _in_text(node: Any, argv: Sequence[str], called: str, path: str | None = None) -> Way:
    """Of the script without a `path`; `called`: the file, for people."""
    place = f"{node.lineno}:{node.col_offset}:{node.end_col_offset}"
    words = place if path is None else f"{path}:{place}"
    sentence = f"the number in line {node.lineno} of {called}, {node.value} -> {{}}"
    at = {"path": path, "line": node.lineno - 1, "column": node.col_offset, "end_column": node.end_col_offset}
    return Way("number", node.value, sentence, lambda size: list(argv), lambda size: ["--replace", f"{words}={size}"], at)


def values_around(was: int) -> tuple[int, int]:
    """Two others that divide as `was` does, smaller where there is room: 64 gives 48 and 32, 224 gives 192 and 160."""
    step = was & -was
    while step > 1 and was < 3 * step:
        step //= 2
    return (was - step, was - 2 * step) if was >= 3 * step else (was + step, was + 2 * step)


def _plain(word: str) -> str:
    return word.lstrip("-").replace("-", "_").rpartition(".")[2].lower()


def _is_batch_size(word: str) -> bool:
    return _NAME.fullmatch(_plain(word)) is not None


def _argument(argv: Sequence[str], known: int | None, fits: Callable[[str], bool]) -> Iterator[Way]:
    """`--batch-size 8`, `--batch-size=8`, `data.batch_size=8`."""
    for at, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if not equals and word.startswith("-") and at + 1 < len(argv):
            value = argv[at + 1]
        if not fits(name) or _NUMBER.fullmatch(value) is None or known not in (None, int(value)):
            continue

        def with_size(size: int, at: int = at, start: str = name + equals, joined: bool = bool(equals)) -> list[str]:
            words = list(argv)
            words[at if joined else at + 1] = f"{start}{size}" if joined else str(size)
            return words

        yield Way("argument", int(value), f"the argument {name}, {value} -> {{}}", with_size)
        return


def _number(argv: Sequence[str], script: bytes | None, known: int | None) -> Iterator[Way]:
    """Only where there is one: of two numbers that are called so nobody knows which one is meant."""
    found = [node for node in numbers(script) if known in (None, node.value)] if script is not None else []
    if len(found) == 1:
        yield _in_text(found[0], argv, "the script")


def numbers(script: bytes, fits: Callable[[str], bool] = _is_batch_size) -> list[Any]:
    """Integers of a script that a batch size, or another name that fits, is set with: assigned, passed, or a default."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError):
        return []
    found = [value for node in ast.walk(tree) for name, value in _named_values(node) if fits(name)]
    whole = {
        (v.lineno, v.col_offset): v for v in found if isinstance(v, ast.Constant) and type(v.value) is int and v.lineno == v.end_lineno
    }
    return [whole[place] for place in sorted(whole)]


def _named_values(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Assign):
        yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.arguments):
        positional = [*node.posonlyargs, *node.args]
        yield from ((a.arg, value) for a, value in zip(positional[len(positional) - len(node.defaults) :], node.defaults))
        yield from ((a.arg, value) for a, value in zip(node.kwonlyargs, node.kw_defaults))
    elif isinstance(node, ast.Call):
        yield from ((word.arg, word.value) for word in node.keywords if word.arg is not None)
        if getattr(node.func, "attr", None) == "add_argument":
            flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            yield from ((flag, word.value) for flag in flags for word in node.keywords if word.arg == "default")


# -- in the process that runs the script


def arrange(replace: str, program: Program) -> None:
    what, _, size = replace.rpartition("=")
    if what == "loader":
        when_imported("torch.utils.data", lambda: replace_in_loaders(int(size)))
        return
    *path, line, begin, end = what.rsplit(":", 3)
    edit = functools.partial(edited, replace=f"{line}:{begin}:{end}={size}")
    if path:
        edit_texts({os.path.realpath(path[0]): edit}, program)
    else:
        program.edited = edit


def edit_texts(edits: Mapping[str, Callable[[bytes], bytes]], program: Program) -> None:
    """What is run of files, by real path. Neither is a compiled file of the module read, nor one written."""
    original: Callable[[SourceFileLoader, str], CodeType | None] = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        edit = edits.get(os.path.realpath(loader.path))
        if edit is None:
            return original(loader, fullname)
        return compile(edit(loader.get_data(loader.path)), loader.path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]
    script = edits.get(os.path.realpath(program.target))
    if script is not None and not program.is_module:
        program.edited = script


def edited(text: bytes, replace: str) -> bytes:
    """The script with its number replaced; `replace` is LINE:COLUMN:END=SIZE, as `numbers` counts them."""
    place, _, size = replace.partition("=")
    line, begin, end = map(int, place.split(":"))
    lines = text.splitlines(keepends=True)
    lines[line - 1] = lines[line - 1][:begin] + size.encode() + lines[line - 1][end:]
    return b"".join(lines)


def replace_in_loaders(size: int) -> None:
    """Every DataLoader that is made with a `batch_size`, or with torch's BatchSampler, gets another one."""
    from torch.utils.data import BatchSampler, DataLoader

    original = DataLoader.__init__

    @functools.wraps(original)
    def __init__(loader: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
        if args and type(args[0]) is int:
            args = (size, *args[1:])
        elif type(kwargs.get("batch_size")) is int:
            kwargs["batch_size"] = size
        elif isinstance(kwargs.get("batch_sampler"), BatchSampler):
            kwargs["batch_sampler"].batch_size = size
        original(loader, dataset, *args, **kwargs)

    DataLoader.__init__ = __init__  # type: ignore[assignment, method-assign]
