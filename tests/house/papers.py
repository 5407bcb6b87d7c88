"""The papers say what is there: files and tests that they name exist, rooms are listed, the README is short, commands can be followed.

README.md, ARCHITECTURE.md and CONTRIBUTING.md are read; a name in backticks with a slash or a known ending is a file, `file::test` a test.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "tests/bench/README.md")
MOST_WORDS = 900
MOST_WORDS_IN_A_SENTENCE = 25
NAMED = re.compile(r"`([\w./-]+\.(?:py|cpp|h|mjs|md|sh|json|toml|txt)(?:::\w+)?|(?:[\w.-]+/)+)`")
LINK = re.compile(r"\]\(([\w./-]+)\)")
TEST = re.compile(r"`(?:([\w/]+\.py))?::(\w+)`")
CASE = re.compile(r'`(\w+\.cpp)` "([^"]+)"')
MADE = ("build/", "share/")  # by a build or an installation
NO_INDEX_HAS_IT = re.compile("pip install " + r"hotlens(?![-.\w*/])")


def tracked() -> list[str]:
    return subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def exists(name: str, files: list[str]) -> bool:
    """A file or folder from the root, or one whose path ends so."""
    return any(file == name or file.startswith(name) or file.endswith("/" + name) or "/" + name in "/" + file for file in files)


def missing_names(files: list[str]) -> list[str]:
    found = []
    for paper in PAPERS:
        text = (ROOT / paper).read_text()
        names = [name.split("::")[0] for name in NAMED.findall(text)] + [str(Path(paper).parent / link) for link in LINK.findall(text)]
        found += [
            f"{paper}: {name} does not exist"
            for name in names
            if not exists(name.removeprefix("./"), files) and not name.startswith(MADE) and "NAME" not in name
        ]
    return found


def missing_tests(files: list[str]) -> list[str]:
    """Tests that the invariants name: a function of a file, or a case of a file in C++."""
    text = re.sub(r"\s+", " ", (ROOT / "ARCHITECTURE.md").read_text())
    found, last = [], ""
    for file, test in TEST.findall(text):
        last = file or last
        if not any(each.endswith("/" + last) and f"def {test}(" in (ROOT / each).read_text() for each in files):
            found.append(f"ARCHITECTURE.md: {last} has no {test}")
    for file, case in CASE.findall(text):
        if not any(each.endswith("/" + file) and case in re.sub(r'"\s+"', "", (ROOT / each).read_text()) for each in files):
            found.append(f'ARCHITECTURE.md: {file} has no "{case}"')
    return found


def missing_rooms(files: list[str]) -> list[str]:
    """Folders of the annotator and the server that the map does not list."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = {"/".join(file.split("/")[:2]) + "/" for file in files if re.match(r"(annotator|server)/\w+/", file)}
    return [f"ARCHITECTURE.md: {room} is not in the map of the rooms" for room in sorted(rooms) if f"`{room}`" not in text]


def long_readme() -> list[str]:
    text = (ROOT / "README.md").read_text()
    found = [f"README.md: {len(text.split())} words, at most {MOST_WORDS}"] if len(text.split()) >= MOST_WORDS else []
    prose = re.sub(r"```.*?```|^\|.*?$|^#.*?$|^!.*?$", "", text, flags=re.S | re.M)
    for sentence in re.split(r"[.:;?!]\s|\n\n|\n- |\n\d\. ", prose):
        if len(sentence.split()) > MOST_WORDS_IN_A_SENTENCE:
            found.append(f"README.md: a sentence of {len(sentence.split())} words: {' '.join(sentence.split()[:8])} …")
    return found


def uninstallable(files: list[str]) -> list[str]:
    """No message tells people to install from an index that does not have it."""
    texts = [file for file in files if file.endswith((".cpp", ".h", ".py", ".ts", ".lua", ".md", ".json", ".txt", ".sh"))]
    return [f"{file}: no index has hotlens" for file in texts if NO_INDEX_HAS_IT.search((ROOT / file).read_text(errors="replace"))]


def main() -> int:
    files = tracked()
    found = missing_names(files) + missing_tests(files) + missing_rooms(files) + long_readme() + uninstallable(files)
    for line in found:
        print(line)
    print(f"papers: {len(found)} faults in {len(PAPERS)} papers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
