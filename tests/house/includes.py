"""Every include stays inside the rooms that its room may know: the table of README.md ("The house"), read from the CMake link graph.

A room may include its own headers, `annotator/common`, and the headers of every room it links, directly or through PUBLIC links.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOM = re.compile(r"(?:hotlens_room\((\w+)|target_link_libraries\((hotlens)\b)(.*?)\)", re.S)
INCLUDE = re.compile(r'^#include "((?:annotator|protocol|server)/[^"]+)"', re.M)


def room_folders() -> dict[str, Path]:
    """The folder of each room's target."""
    folders = {}
    for lists in ROOT.glob("**/CMakeLists.txt"):
        if "build" in lists.relative_to(ROOT).parts:
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


def main() -> int:
    folders = room_folders()
    wrong = []
    for room, folder in sorted(folders.items()):
        allowed = reachable(room, folders)
        for source in sorted([*(ROOT / folder).glob("*.h"), *(ROOT / folder).glob("*.cpp")]):
            for header in INCLUDE.findall(source.read_text()):
                if Path(header).parent not in allowed:
                    wrong.append(f"{source.relative_to(ROOT)}: {room} may not know {Path(header).parent}")
                if not (ROOT / header).is_file():
                    wrong.append(f"{source.relative_to(ROOT)}: {header} does not exist")
    print("\n".join(wrong) if wrong else f"{len(folders)} rooms, every include allowed")
    return 1 if wrong or len(folders) < 8 else 0


if __name__ == "__main__":
    sys.exit(main())
