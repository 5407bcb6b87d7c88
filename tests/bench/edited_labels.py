"""From a keystroke in a layer to its label, in milliseconds: texts that are new, and texts that had their answer.

    python tests/bench/edited_labels.py [--edits 12]

Needs HOTLENS_BIN, HOTLENS_TEST_PYTHON, and a worker that is built (tests/e2e/lab leaves one in build/cache). A text is typed whole;
its label is asked for every 5 ms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e" / "lsp"))
from lsp_client import RICH, Client
from test_edited_layers import SCRIPT, Typist, predicts, until

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)


def waits(typist: Typist, texts: Iterable[str]) -> list[float]:
    found = []
    for text in texts:
        typist.types(SCRIPT)
        until(lambda: not predicts(typist.hint(3)))
        begin = time.monotonic()
        typist.types(text)
        while not predicts(typist.hint(3)) and time.monotonic() < begin + 60:
            time.sleep(0.005)
        found.append(1000 * (time.monotonic() - begin))
    return found


def row(name: str, found: list[float]) -> str:
    quick = sum(one < 1000 for one in found)
    return f"{name}: median {statistics.median(found):.0f} ms, worst {max(found):.0f} ms, {quick} of {len(found)} under 1 s"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edits", type=int, default=12)
    edits = parser.parse_args().edits
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(SCRIPT)
        client = Client(cwd=Path(folder), env={"XDG_CACHE_HOME": str(ROOT / "build/cache")})
        try:
            client.initialize([Path(folder)], RICH, {"python": PYTHON, "profile": {"warmup": 1, "steps": 2}})
            typist = Typist(client, Path(folder) / "train.py")
            typist.profiles()
            until(lambda: typist.hint(9) != "")
            texts = [SCRIPT.replace("512", str(600 + 8 * at)) for at in range(edits)]
            print(row("new text", waits(typist, texts)))
            print(row("text that had its answer", waits(typist, texts)))
        finally:
            client.kill()


if __name__ == "__main__":
    main()
