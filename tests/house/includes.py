"""Every include stays inside the rooms that its room may know: the table of ARCHITECTURE.md ("Rooms"), read from the CMake link graph.

A room may include its own headers, `annotator/common`, and the headers of every room it links, directly or through PUBLIC links. Computed
from the includes and imports themselves, no folder leads back to itself: of the C++ program, the recorder and the timeline's page.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOM = re.compile(r"(?:hotlens_room\((\w+)|target_link_libraries\((hotlens)\b)(.*?)\)", re.S)
INCLUDE = re.compile(r'^#include "((?:annotator|protocol|server)/[^"]+)"', re.M)
RECORDER, PAGE = ROOT / "annotator/recorder/hotlens", ROOT / "editor_clients/timeline/src"
TYPESCRIPT_IMPORT = re.compile(r"""\bfrom ['"](\.[^'"]+)['"]""")
Known = dict[Path, set[Path]]


def room_folders() -> dict[str, Path]:
    """The folder of each room's target."""
    folders = {}
    for lists in ROOT.glob("**/CMakeLists.txt"):
        if lists.relative_to(ROOT).parts[0] in ("build", lists.name):  # the root says how a room is made, and has none
            continue
        for match in ROOM.finditer(lists.read_text()):
            folders[match[1] or match[2]] = lists.parent.relative_to(ROOT)
    return folders


def links(folder: Path) -> set[str]:
    """The rooms named in a room's link lists."""
    text = (ROOT / folder / "CMakeLists.txt").read_text()
    return {name for match in ROOM.finditer(text) for name in re.findall(r"\bhotlens_\w+", match[3])} - {"hotlens_warnings"}


def reachable(room: str, folders: dict[str, Path]) -> set[Path]:
    """The folders a room may include from."""
    seen: set[str] = set()
    todo = [room]
    while todo:
        name = todo.pop()
        if name in seen or name not in folders:
            continue
        seen.add(name)
        todo.extend(links(folders[name]))
    return {folders[name] for name in seen} | {Path("annotator/common")}


def home(place: Path, folders: dict[str, Path]) -> Path:
    """The room that a folder is part of: itself, or the nearest one around it."""
    rooms = {*folders.values(), Path("annotator/common")}
    return next((folder for folder in (place, *place.parents) if folder in rooms), place)


def sources(folder: Path) -> list[Path]:
    """The C++ files of a room: those of its folder, and of folders below it, however deep, that are no room of their own."""
    below = [path for path in (ROOT / folder).iterdir() if path.is_dir() and not (path / "CMakeLists.txt").exists()]
    own = [path for ending in ("*.h", "*.cpp") for path in (ROOT / folder).glob(ending)]
    return sorted([*own, *(path for place in below for path in sources(place.relative_to(ROOT)))])


def circle(known: Known) -> list[Path]:
    """Folders that know each other in a circle, the first one again at the end; empty where there is none."""
    finished: set[Path] = set()

    def walk(folder: Path, way: list[Path]) -> list[Path]:
        if folder in way:
            return [*way[way.index(folder) :], folder]
        if folder in finished:
            return []
        for other in sorted(known.get(folder, ())):
            if found := walk(other, [*way, folder]):
                return found
        finished.add(folder)
        return []

    return next((found for folder in sorted(known) if (found := walk(folder, []))), [])


def python_imports(package: Path) -> Known:
    """What each folder of a package imports; its own `__init__` and `__main__` hold it together and are left out."""
    known: Known = {}
    for file in package.rglob("*/*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                target = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                folder = target if target.is_dir() else target.parent
                if folder not in (package, file.parent):
                    known.setdefault(file.parent.relative_to(ROOT), set()).add(folder.relative_to(ROOT))
    return known


def page_imports(page: Path) -> Known:
    """What each folder of the page imports; tests may know everything."""
    known: Known = {}
    for file in page.rglob("*.ts"):
        folder = file.parent
        others = {(folder / name).resolve().parent for name in TYPESCRIPT_IMPORT.findall(file.read_text())} - {folder}
        if folder.name != "test":
            known.setdefault(folder.relative_to(ROOT), set()).update(other.relative_to(ROOT) for other in others)
    return known


def main() -> int:
    folders = room_folders()
    wrong = []
    known: Known = {}
    for room, folder in sorted(folders.items()):
        allowed = reachable(room, folders)
        for source in sources(folder):
            place = source.parent.relative_to(ROOT)
            for header in INCLUDE.findall(source.read_text()):
                known.setdefault(place, set()).update({Path(header).parent} - {place})
                if home(Path(header).parent, folders) not in allowed:
                    wrong.append(f"{source.relative_to(ROOT)}: {room} may not know {Path(header).parent}")
                if not (ROOT / header).is_file():
                    wrong.append(f"{source.relative_to(ROOT)}: {header} does not exist")
    known.update(python_imports(RECORDER))
    known.update(page_imports(PAGE))
    if found := circle(known):
        wrong.append("folders in a circle: " + " -> ".join(map(str, found)))
    print("\n".join(wrong) if wrong else f"{len(folders)} rooms, every include allowed, no circle among {len(known)} folders")
    return 1 if wrong or len(folders) < 8 else 0


if __name__ == "__main__":
    sys.exit(main())
