"""Each what-if's edit, made in real files at each place where it could be made, and checked.

    python tests/bench/apply_edits.py [FOLDER…] [--places 4] [--sample 30] [--refusals 3]

Files are all of the FOLDERs (without any: the packages of build/python and build/models) that train something: they make an
optimizer, a DataLoader, a dropout or a GELU, zero gradients, or go backward. Each is edited as it is, and once more as one of: with
CRLF, with a byte order mark, without its last newline, with tabs, with gradients set to zeros, with torch imported as something else.
The program that edits is told what a recording would tell (the line that calls the model, the layer that was made there); where a file
makes several of what a script has one of, the others are hidden.

Checked of every edit: the file is what it was but for the ranges that the edit names, and taking them back gives its bytes; it
compiles; its syntax tree is the one before, once the change, and the import that it needs, is taken out of the tree; the same change again
is refused as made already.
Refusals are counted by their reason. `--sample` shows so many edits, `--refusals` so many places of each reason, drawn with a fixed seed.
"""

from __future__ import annotations

import argparse
import ast
import collections
import difflib
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edits_taken_out import taken_out

ROOT = Path(__file__).resolve().parents[2]
HOTLENS = Path(os.environ.get("HOTLENS_BIN", str(ROOT / "build/release/bin/hotlens")))
EDITOR = HOTLENS.parents[1] / "tests/bench/apply_edits"
TRAINS = re.compile(rb"DataLoader\(|optim\.[A-Z]|zero_grad\(|\.backward\(|nn\.\w*Dropout\w*\(|nn\.GELU\(")
DROPOUTS = {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"}
SEED = 3
Site = dict[str, int]


@dataclass
class Place:
    """Where a change could be made: what the editor is told, and the call that it is about."""

    kind: str
    call: ast.expr
    told: dict[str, Any] = field(default_factory=dict)


def site(node: ast.AST) -> Site:
    """As bundles have it: lines from 0, columns in bytes."""
    assert isinstance(node, (ast.expr, ast.stmt))
    assert node.end_lineno is not None and node.end_col_offset is not None
    return {"line": node.lineno - 1, "end_line": node.end_lineno - 1, "column": node.col_offset, "end_column": node.end_col_offset}


class Reading:
    """A file as Python reads it."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.tree = ast.parse(text)
        # Columns are those of the text behind a byte order mark.
        self.starts = [3 if text.startswith(b"\xef\xbb\xbf") else 0, *(at.end() for at in re.finditer(rb"\n", text))]
        self.calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.names = self.imported()

    def imported(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for node in ast.walk(self.tree):
            found: list[tuple[str, str]] = []
            if isinstance(node, ast.Import):
                found = [(one.asname, one.name) if one.asname else (one.name.split(".")[0],) * 2 for one in node.names]
            elif isinstance(node, ast.ImportFrom):
                found = [(one.asname or one.name, f"{'.' * node.level}{node.module or ''}.{one.name}") for one in node.names]
            for name, what in found:
                names[name] = what if names.get(name, what) == what else ""
        return names

    def called(self, call: ast.Call) -> str:
        """ "torch.optim.Adam", whatever it is imported as."""
        dotted = ast.unparse(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else ""
        first, dot, rest = dotted.partition(".")
        return self.names.get(first, "") + dot + rest if self.names.get(first) else ""

    def bytes_of(self, node: ast.expr) -> list[int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return [self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset]

    def hidden(self, calls: list[ast.Call], but: ast.Call) -> list[list[int]]:
        return [self.bytes_of(call.func) for call in calls if call is not but]

    def statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node


def optimizers(of: Reading) -> list[ast.Call]:
    made = re.compile(r"torch\.optim\.(\w+\.)?(?!Optimizer$|lr_scheduler)[A-Z]\w+$")
    return [call for call in of.calls if made.match(of.called(call)) and ".lr_scheduler." not in of.called(call)]


def loaders(of: Reading) -> list[ast.Call]:
    return [call for call in of.calls if of.called(call).endswith(".DataLoader")]


def of_calls(of: Reading, calls: list[ast.Call], kinds: list[str], hide: list[ast.Call] | None = None) -> Iterator[Place]:
    for call in calls:
        for kind in kinds:
            yield Place(kind, call, {"hide": of.hidden(calls if hide is None else hide, call)})


def zero_grads(of: Reading) -> Iterator[Place]:
    calls = [call for call in of.calls if isinstance(call.func, ast.Attribute) and call.func.attr == "zero_grad"]
    return of_calls(of, calls, ["zero_grad_none"])


def layers(of: Reading) -> Iterator[Place]:
    for call in of.calls:
        name = of.called(call).removeprefix("torch.nn.")
        kind = "no_dropout" if name in DROPOUTS else "gelu_to_relu" if name == "GELU" else ""
        statement = of.statement(call)
        of_its_own = isinstance(statement, ast.Assign) and statement.value is call
        attached = site(statement if of_its_own else call)
        if kind:
            yield Place(kind, call, {"layers": [{"path": "layer", "class": name, "attached": attached}]})


def blocks(of: Reading) -> Iterator[Place]:
    """Calls of parts of a model in its forward: `self.layer(x)`, and of what a loop goes over."""
    for function in ast.walk(of.tree):
        if not isinstance(function, ast.FunctionDef) or function.name != "forward":
            continue
        over = {node.target.id for node in ast.walk(function) if isinstance(node, ast.For) and isinstance(node.target, ast.Name)}
        for call in ast.walk(function):
            if not isinstance(call, ast.Call):
                continue
            own = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "self"
            if own or (isinstance(call.func, ast.Name) and call.func.id in over):
                yield Place("checkpoint", call, {"layers": [{"path": "block", "class": "Block", "called": site(call)}]})


def first_call(statement: ast.stmt) -> ast.Call | None:
    compound = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)
    return None if isinstance(statement, compound) else next((node for node in ast.walk(statement) if isinstance(node, ast.Call)), None)


def goes_backward(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and ".backward(" in ast.unparse(statement)


def forwards(of: Reading) -> Iterator[Place]:
    """What is assigned from a call, before what goes backward in the same block; the last such statement may be the loss."""
    for node in ast.walk(of.tree):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            ends = [at for at, one in enumerate(block) if goes_backward(one)] if isinstance(block, list) else []
            if not ends:
                continue
            calls = [call for one in block[: ends[0]] if (call := first_call(one)) and isinstance(one, ast.Assign)]
            for call in calls:
                stages = [{"stage": "forward", "site": site(call)}]
                if call is not calls[-1]:
                    stages.append({"stage": "loss", "site": site(calls[-1])})
                yield Place("autocast_bf16", call, {"stages": stages})


def images(of: Reading) -> Iterator[Place]:
    made = optimizers(of)
    for call in made:
        model = ast.unparse(call.args[0]).removesuffix(".parameters()") if call.args else ""
        used = [one for one in of.calls if ast.unparse(one.func) == model]
        for forward in used[:1]:
            yield Place("channels_last", call, {"stages": [{"stage": "forward", "site": site(forward)}], "hide": of.hidden(made, call)})


def places(of: Reading, most: int) -> list[Place]:
    """All of a file; of the kinds that a file has many of, `most` that are spread over it."""
    found = [*of_calls(of, optimizers(of), ["fused_optimizer", "foreach_optimizer"])]
    found += of_calls(of, loaders(of), ["loader_workers", "pin_memory"])
    found += [*zero_grads(of), *images(of)]
    many = collections.defaultdict(list)
    for place in [*layers(of), *blocks(of), *forwards(of)]:
        many[place.kind].append(place)
    for some in many.values():
        found += some[:: max(1, (len(some) + most - 1) // most)]
    return found


# --- variants of a file


def with_tabs(text: bytes) -> bytes:
    return re.sub(rb"(?m)^(    )+", lambda found: b"\t" * (len(found.group()) // 4), text)


VARIANTS: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda text: text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "no last newline": lambda text: text.rstrip(b"\r\n"),
    "tabs": with_tabs,
    "torch as th": lambda text: re.sub(rb"(?m)^import torch\b(?!\.)", b"import torch as th", text),
    # Hardly a file asks for zeros any more.
    "zeros": lambda text: text.replace(b".zero_grad()", b".zero_grad(set_to_none=False)"),
}


def reading(text: bytes) -> Reading | None:
    """None of what Python does not read, or has other lines for than everybody else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text.decode()
            return None if b"\r" in text.replace(b"\r\n", b"") or b"\f" in text else Reading(text)
    except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
        return None


# --- an edit


class Editor:
    """The program that edits, and the one file that it edits."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "train.py"
        self.program = subprocess.Popen([EDITOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def edit(self, text: bytes, kind: str, told: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        assert self.program.stdin and self.program.stdout
        self.file.write_bytes(text)
        self.program.stdin.write(json.dumps({"file": str(self.file), "kind": kind, **told}) + "\n")
        self.program.stdin.flush()
        line = self.program.stdout.readline()
        if not line:
            raise RuntimeError(f"the program that edits ended with code {self.program.wait()}")
        return json.loads(line), self.file.read_bytes()


Range = tuple[int, int, bytes]  # bytes of the text before, and what stands there now


def ranges(text: bytes, edits: list[dict[str, Any]]) -> list[Range]:
    starts = [0, *(at.end() for at in re.finditer(rb"\n", text))]
    found = [
        (starts[one["line"]] + one["character"], starts[one["end_line"]] + one["end_character"], one["text"].encode()) for one in edits
    ]
    return sorted(found, key=lambda one: one[:2])


def undone(now: bytes, before: bytes, made: list[Range]) -> bytes | None:
    """The text with every range taken back; None where a range does not hold what it should."""
    whole, grown = now, 0
    for begin, end, text in made:
        at = begin + grown
        if whole[at : at + len(text)] != text:
            return None
        grown += len(text) - (end - begin)
    for begin, end, text in reversed(made):
        grown -= len(text) - (end - begin)
        at = begin + grown
        whole = whole[:at] + before[begin:end] + whole[at + len(text) :]
    return whole


def moved(place: Place, of: Reading, now: bytes, made: list[Range]) -> dict[str, Any]:
    """What is told of the place, once it has been edited."""
    starts = [3 if now.startswith(b"\xef\xbb\xbf") else 0, *(at.end() for at in re.finditer(rb"\n", now))]

    def byte(at: int, is_end: bool) -> int:
        grown = sum(len(text) - (end - begin) for begin, end, text in made if end < at or (end == at and not (is_end and begin == end)))
        return at + grown

    def position(line: int, column: int, is_end: bool) -> tuple[int, int]:
        at = byte(of.starts[line] + column, is_end)
        number = max(number for number, start in enumerate(starts) if start <= at)
        return number, at - starts[number]

    def site_now(was: Site) -> Site:
        line, column = position(was["line"], was["column"], False)
        end_line, end_column = position(was["end_line"], was["end_column"], True)
        return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}

    told = json.loads(json.dumps(place.told))
    for item in [*told.get("stages", []), *told.get("layers", [])]:
        item.update({key: site_now(item[key]) for key in ("site", "attached") if key in item})
    told["hide"] = [[byte(begin, False), byte(end, True)] for begin, end in told.get("hide", [])]
    return told


# What a recording of the edited script would tell is something else: it has no such layer any more, or calls it from torch's checkpoint.
ASKED_ONCE = {"gelu_to_relu", "checkpoint"}


def wrong(place: Place, of: Reading, now: bytes, edits: list[dict[str, Any]], editor: Editor) -> str | None:
    made = ranges(of.text, edits)
    if undone(now, of.text, made) != of.text:
        return "other bytes changed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(now, "train.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"does not compile: {error}"
    if why := taken_out(place.kind, place.call, of.text, now):
        return why
    if place.kind in ASKED_ONCE:
        return None
    again, _ = editor.edit(now, place.kind, moved(place, of, now, made))
    if "already" not in again.get("reason", ""):
        return "the same change again: " + str(again.get("reason", "is made once more"))
    return None


# --- the whole


@dataclass
class Tally:
    files: set[Path] = field(default_factory=set)
    edits: collections.Counter[str] = field(default_factory=collections.Counter)
    refused: dict[tuple[str, str], list[str]] = field(default_factory=lambda: collections.defaultdict(list))
    faults: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)


def common(reason: str) -> str:
    """A reason without the names and lines of its file."""
    reason = re.sub(r"\S+\.py:\d+(, \S+\.py:\d+)*", "FILE:LINE", reason)
    return re.sub(r"`[^`]*`", "`…`", reason)


def try_file(path: Path, name: str, text: bytes, most: int, editor: Editor, tally: Tally) -> None:
    of = reading(text)
    if of is None:
        return
    for place in places(of, most):
        where = f"{path}:{place.call.lineno} {name}".rstrip()
        told, now = editor.edit(of.text, place.kind, place.told)
        if "reason" in told:
            tally.refused[place.kind, common(told["reason"])].append(f"{where}: {told['reason']}")
            if now != of.text:
                tally.faults.append(f"{where} {place.kind}: refused and written")
            continue
        tally.edits[place.kind] += 1
        tally.files.add(path)
        if fault := wrong(place, of, now, told["edits"], editor):
            tally.faults.append(f"{where} {place.kind}: {fault}")
        lines = difflib.unified_diff(of.text.decode().splitlines(), now.decode().splitlines(), where, place.kind, n=2, lineterm="")
        tally.shown.append("\n".join(lines))


def python_files(folders: list[Path]) -> list[Path]:
    """Those that train something, the same text once, by name."""
    seen: dict[str, Path] = {}
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        text = file.read_bytes()
        if TRAINS.search(text):
            seen.setdefault(hashlib.sha256(text).hexdigest(), file)
    return list(seen.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--places", type=int, default=4, help="of layers, blocks and model calls, in one file and of one kind")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--refusals", type=int, default=0)
    options = parser.parse_args()
    own = [folder for name in ("python", "models") for folder in (ROOT / "build" / name).glob("lib/python*/site-packages")]
    files = python_files(options.folders or own)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(Path(folder))
        for number, path in enumerate(files):
            text = path.read_bytes()
            name = list(VARIANTS)[number % len(VARIANTS)]
            for variant, changed in (("", text), (f"({name})", VARIANTS[name](text))):
                try_file(path, variant, changed, options.places, editor, tally)
            print(f"\r{number + 1} of {len(files)} files", end="", file=sys.stderr)
    chance = random.Random(SEED)
    print(f"{len(files)} files, {len(tally.files)} of them edited; {sum(tally.edits.values())} edits, {len(tally.faults)} wrong")
    for kind, count in sorted(tally.edits.items()):
        print(f"  {kind:18} {count:5} edits, {sum(len(places) for (of, _), places in tally.refused.items() if of == kind):5} refused")
    for (kind, reason), where in sorted(tally.refused.items(), key=lambda one: (one[0][0], -len(one[1]))):
        print(f"  refused {len(where):5} {kind:18} {reason}")
        for one in chance.sample(where, min(options.refusals, len(where))):
            print("      " + one)
    for fault in tally.faults:
        print("WRONG " + fault)
    for shown in chance.sample(tally.shown, min(options.sample, len(tally.shown))):
        print("\n" + shown)


if __name__ == "__main__":
    main()
