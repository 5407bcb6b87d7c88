"""A page in a browser that points at modules: `python point_from_page.py ADDRESS`, a module a line on stdin; empty: the pointer leaves."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from page_socket import Address, Json, Page


def lines_of(page: Page, module: str) -> list[Json]:
    """Where the module is made and called, as the page asks for it."""
    (match, *_) = [each for each in page.ask("search", query=module)["matches"] if each["label"] == module]
    places = page.ask("details", path=match["path"])["places"]
    return [{key: place[key] for key in ("file", "line", "endLine")} for place in places if place["what"] != "class"]


def main() -> None:
    address = Address(sys.argv[1])
    page = Page(address, Origin=f"http://{address.host}")
    for module in map(str.strip, sys.stdin):
        page.ask("point", lines=lines_of(page, module) if module else [])
    page.close()


if __name__ == "__main__":
    main()
