"""What only IPython understands in a cell, left out so that every other character keeps its line and its column.

The same rules as `annotator/source/notebook/magics.cpp`, so that an open cell reads as it ran; `tests/notebook_cells.json` holds
both to them. A line magic becomes `pass`, with what it was as a comment; `%time` goes and leaves its statement; what is assigned from
IPython (`files = !ls`) becomes a call of `get_ipython`, which fails where it runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

KEPT_BODIES = ("time", "timeit", "capture", "prun")  # cell magics that run their cell
BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
BLANK = " \t\v\f\r\n"
LINE_ENDS = re.compile(r"\r\n|\r|\n")
# What a name is made of: outside ASCII whatever there is.
_LETTER, _WORD = "A-Za-z_\x80-\U0010ffff", "0-9A-Za-z_\x80-\U0010ffff"
_NAME = f"[{_LETTER}][{_WORD}]*"
_COMPOUND = re.compile(f"(?:for|while|if|with|try|def|class|async)(?![{_WORD}])|@")
_MAGIC = re.compile(f"([ \\t]*)(?:%({_NAME})|(!))")
_HELP = re.compile(f"[ \\t]*(?:\\?{{1,2}}[{_WORD}.*%]+|[{_WORD}.*%]+\\?{{1,2}})[ \\t]*")
_ASSIGNED = re.compile(f"""([ \\t]*[{_LETTER}][{_WORD}.,\\[\\]'" \\t]*=[ \\t]*)(?:%[{_LETTER}]|!)""")
_FUTURE = re.compile(f"from[ \\t]+__future__[ \\t]+import[ \\t]+({_NAME}(?:[ \\t]*,[ \\t]*{_NAME})*)[ \\t]*(?:#.*)?", re.DOTALL)


@dataclass(frozen=True)
class LeftOut:
    """`line` counts in the cell, from 0; `what` is a word of it: `%cd`, `%%bash`, `!`, `?`."""

    line: int
    what: str
    text: str


@dataclass
class Cell:
    lines: list[str]  # each with its end
    left_out: list[LeftOut] = field(default_factory=list)
    futures: list[str] = field(default_factory=list)


def lines_of(text: str) -> list[str]:
    """With their ends. A text that ends without one gets it."""
    ends = [m.end() for m in LINE_ENDS.finditer(text)]
    lines = [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)])]
    if lines[-1] == "":
        lines.pop()
    elif not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    return lines


def without_magics(text: str) -> Cell:
    lines = lines_of(text)
    first = next((i for i, line in enumerate(lines) if line.strip(BLANK)), None)
    if first is None or not lines[first].startswith("%%"):
        return _line_by_line(lines, [])
    name = re.match(f"%%([{_WORD}.]*)", lines[first])
    magic = name[1] if name is not None else ""
    note = LeftOut(first, f"%%{magic}", lines[first].strip())
    if magic not in KEPT_BODIES:
        return Cell([_comment(line) for line in lines], [note])
    lines[first] = "#" + lines[first][1:]
    return _line_by_line(lines, [note])


def _comment(line: str) -> str:
    return f"# {line}" if line.strip(BLANK) else line


def _line_by_line(lines: list[str], left_out: list[LeftOut]) -> Cell:
    cell = Cell([], left_out)
    inside = _Inside()
    goes_on = False  # a magic's line that ends with a backslash
    for number, line in enumerate(lines):
        body = line.rstrip("\r\n")
        end = line[len(body) :]
        if goes_on:
            cell.lines.append(_comment(line))
            goes_on = body.endswith("\\")
        elif inside.a_statement():
            replaced, magic = _replaced(number, body, cell)
            cell.lines.append(replaced + end)
            goes_on = magic and body.endswith("\\")
            if not magic:
                inside.read(replaced)
        else:
            cell.lines.append(line)
            inside.read(body)
    return cell


def _replaced(number: int, body: str, cell: Cell) -> tuple[str, bool]:
    """The line as it runs, and whether nothing of it does."""
    found = _MAGIC.match(body)
    if found is not None and found[2] == "time" and body[found.end() :].startswith((" ", "\t")) and body[found.end() :].strip(BLANK):
        cell.left_out.append(LeftOut(number, "%time", body.strip()))
        rest = body[found.end() :].lstrip(" \t")
        if _COMPOUND.match(rest):
            return found[1] + rest, False
        return f"{found[1]}0   ;{body[found.end() :]}", False
    if found is not None or (_HELP.fullmatch(body) is not None and "?" in body):
        what = "?" if found is None else f"%{found[2]}" if found[2] else "!"
        cell.left_out.append(LeftOut(number, what, body.strip()))
        code = body.lstrip(" \t")
        return f"{body[: len(body) - len(code)]}pass  # {code}", True
    assigned = _ASSIGNED.match(body)
    if assigned is not None:
        cell.left_out.append(LeftOut(number, "=", body.strip()))
        return f"{assigned[1]}get_ipython()  # {body[assigned.end(1) :]}", True
    future = _FUTURE.fullmatch(body)
    if future is not None:
        cell.futures += [name.strip(BLANK) for name in future[1].split(",")]
        return f"pass  # {body}", True
    return body, False


class _Inside:
    """Whether a line begins a statement, or stands inside a string or brackets that an earlier one has opened."""

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.joined = False

    def a_statement(self) -> bool:
        return not self.quote and self.depth == 0 and not self.joined

    def read(self, line: str) -> None:
        at = 0
        self.joined = False
        while at < len(line):
            at = self._string(line, at) if self.quote else self._code(line, at)
        if len(self.quote) == 1 and not self.joined:
            self.quote = ""  # a string on one line that is not closed

    def _code(self, line: str, at: int) -> int:
        character = line[at]
        if character == "#":
            return len(line)
        if character in "'\"":
            self.quote = line[at : at + 3] if line[at : at + 3] == character * 3 else character
            return at + len(self.quote)
        if character == "\\" and at + 1 == len(line):
            self.joined = True
        self.depth = max(0, self.depth + BRACKETS.get(character, 0))
        return at + 1

    def _string(self, line: str, at: int) -> int:
        if line[at] == "\\":
            self.joined = at + 1 == len(line)
            return at + 2
        if line.startswith(self.quote, at):
            at += len(self.quote)
            self.quote = ""
            return at
        return at + 1
