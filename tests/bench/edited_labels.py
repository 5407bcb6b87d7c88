"""From a keystroke in a layer to its label, in milliseconds: texts that are new, and texts that had their answer.

    python tests/bench/edited_labels.py [--models resnet,gpt,lstm,dlrm]

The edits are those of edits.py in the models of predict_models.py: sizes, and layers that come, go or are of another kind. A text is typed
whole; its labels are asked for every 5 ms. What is refused has no label and is printed. Needs HOTLENS_BIN, HOTLENS_TEST_PYTHON, and a
worker that is built (tests/e2e/lab leaves one in build/cache).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e" / "lsp"))
from edits import EDITS, PYTHON, SOURCE, STRUCTURAL, record
from lsp_client import RICH, Client, text_of
from test_edited_layers import Typist, predicts, until

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 60.0  # seconds for a label
STEPS = 5


def labels(typist: Typist) -> list[str]:
    """Of the whole document."""
    place = {"start": {"line": 0, "character": 0}, "end": {"line": SOURCE.count("\n"), "character": 0}}
    hints = typist.client.request("textDocument/inlayHint", {"textDocument": {"uri": typist.uri}, "range": place}) or []
    return [text_of(hint["label"]) for hint in hints]


def predicted(typist: Typist) -> bool:
    return any(map(predicts, labels(typist)))


def refusal(typist: Typist) -> str:
    marks = typist.marks("not-predicted") + typist.marks("misfit")
    return str(marks[0]["message"]) if marks else ""


def wait(typist: Typist, text: str) -> float | str:
    """Milliseconds to the label, or why there is none. The text before it is the unedited one."""
    typist.types(SOURCE)
    until(lambda: not predicted(typist) and not refusal(typist))
    begin = time.monotonic()
    typist.types(text)
    while not predicted(typist) and time.monotonic() < begin + LONGEST:
        if reason := refusal(typist):
            return reason
        time.sleep(0.005)
    return 1000 * (time.monotonic() - begin)


def texts(model: str) -> list[str]:
    return [SOURCE.replace(old, new) for old, new in EDITS[model] + STRUCTURAL[model]]


def waits(model: str, folder: Path) -> tuple[list[float], list[float]]:
    """New texts, and these once more."""
    record(folder, model, SOURCE, STEPS)
    client = Client(cwd=folder, env={"XDG_CACHE_HOME": str(ROOT / "build/cache")})
    new, again = [], []
    try:
        client.initialize([folder], RICH, {"python": PYTHON})
        typist = Typist(client, folder / "train.py")
        until(lambda: labels(typist) != [])
        for text in texts(model):
            took = wait(typist, text)
            if isinstance(took, str):
                print(f"{model}: refused, {took}", flush=True)
                continue
            new.append(took)
            cached = wait(typist, text)
            assert isinstance(cached, float)
            again.append(cached)
    finally:
        client.kill()
    return new, again


def row(name: str, found: list[float]) -> str:
    quick = sum(one < 1000 for one in found)
    return f"{name}: median {statistics.median(found):.0f} ms, worst {max(found):.0f} ms, {quick} of {len(found)} under 1 s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(EDITS))
    new: list[float] = []
    again: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        for model in parser.parse_args().models.split(","):
            found = waits(model, Path(place) / model)
            print(row(model, found[0]), flush=True)
            new += found[0]
            again += found[1]
    print(row("new text", new))
    print(row("text that had its answer", again))


if __name__ == "__main__":
    main()
