"""One name is one helper in a room: files of a room are compiled together (HOTLENS_TOGETHER).

    python tests/house/helpers.py

Two files of a room with a helper of the same name in their unnamed namespaces say the same thing twice, or two things with one word.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOM = re.compile(r"hotlens_room\((\w+)\s+SOURCES\s+([^)]*?)(?:\s(?:PUBLIC|PRIVATE)\b[^)]*)?\)", re.S)
SPACE = re.compile(r"^namespace (hotlens[\w:]*) \{", re.M)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
CONSTANTS = re.compile(r"^(?:inline |static )?constexpr [^\n]*", re.M)
KIND = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?=[ {])", re.M)
ALIAS = re.compile(r"^using (\w+) = ([^;]*);", re.M)
FUNCTION = re.compile(r"^(?!using|struct|class|enum|namespace|template)[\w:<][\w:<>,&*\[\] ]*?[ &*](\w+)(\([^{;]*?\)) \{$", re.M)


def helpers(text: str) -> dict[str, str]:
    """What a file has in unnamed namespaces: each helper as it would clash, with its name."""
    return {key: name for inside in UNNAMED.findall(text) for key, name in declared(inside).items()}


def declared(inside: str) -> dict[str, str]:
    """What begins a line of a namespace: constants, types, functions."""
    found: dict[str, str] = {}
    for line in CONSTANTS.findall(inside):
        for name in re.findall(r"(?:^[^={(]*|, )\b(k[A-Z]\w*)(?= ?[={\[])", line.split("//")[0]):
            found[f"constant {name}"] = name
    for name in KIND.findall(inside):
        found[f"type {name}"] = name
    for name, of in ALIAS.findall(inside):
        found[f"type {name} = {of}"] = name
    for name, parameters in FUNCTION.findall(inside.replace("const ", "")):
        bare = [re.sub(r"\b[a-z_]+::", "", each.strip()) for each in parameters[1:-1].split(",")]  # however it spells a namespace
        types = [re.sub(r"\s*(?:=.*)?$", "", re.sub(r"\b\w+$", "", each)) for each in bare]
        found[f"function {name}({', '.join(types)})"] = name
    return found


def rooms() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for listed in [
        *ROOT.glob("annotator/**/CMakeLists.txt"),
        *ROOT.glob("server/**/CMakeLists.txt"),
        *ROOT.glob("protocol/**/CMakeLists.txt"),
    ]:
        for name, sources in ROOM.findall(listed.read_text()):
            found[name] = [listed.parent / source for source in sources.split() if source.endswith(".cpp")]
    return found


def faults() -> list[str]:
    lines: list[str] = []
    for room, files in sorted(rooms().items()):
        where: dict[str, list[str]] = defaultdict(list)
        types: dict[str, set[str]] = defaultdict(set)
        for header in {header for file in files for header in file.parent.glob("*.h")}:
            text = header.read_text()
            space = SPACE.search(text)
            for helper in declared(text):
                if not helper.startswith("function"):
                    where[f"{space[1] if space else ''} {helper}"].append(header.name)
        for file in files:
            text = file.read_text()
            space = SPACE.search(text)
            for helper, name in helpers(text).items():
                where[f"{space[1] if space else ''} {helper}"].append(file.name)
                if helper.startswith("type"):
                    types[f"{space[1] if space else ''} {name}"].add(helper)
        for helper, names in where.items():
            alias = " type " in helper and " = " in helper
            if len(names) > 1 and not alias:
                lines.append(f"{room}: {helper} in {', '.join(names)}")
        for name, kinds in types.items():
            if len(kinds) > 1:
                lines.append(f"{room}: {name} is {' and '.join(sorted(kinds))}")
    return lines


def main() -> int:
    found = faults()
    for line in found:
        print(line)
    print(f"helpers: {len(found)} names of two things in {len(rooms())} rooms")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
