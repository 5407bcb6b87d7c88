"""The subject of a commit has at most 72 characters (CONTRIBUTING.md); older ones stay as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = 72
CHECKED_SINCE = "2dbc7b1"  # nobody looked before it


def subjects() -> list[str]:
    """Of the commits since then; none where the history is not at hand, as in a source archive or a shallow clone."""
    said = subprocess.run(["git", "log", "--format=%s", f"{CHECKED_SINCE}..HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return said.stdout.splitlines() if said.returncode == 0 else []


def main() -> int:
    too_long = [subject for subject in subjects() if len(subject) > MOST]
    for subject in too_long:
        print(f"subject of {len(subject)} characters, at most {MOST}: {subject}", file=sys.stderr)
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
