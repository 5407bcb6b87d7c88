"""What is told of a step of some seconds while somebody types: how soon the first figure is there, and how far from real runs.

    python tests/bench/long_steps.py

A BERT of transformers with twelve layers of 768, 8 sequences of 128 tokens, on all cores. Needs HOTLENS_BIN, HOTLENS_TEST_PYTHON with
transformers, and a worker that is built (tests/e2e/lab leaves one in build/cache). Scripts take turns: as it is, edited, as it is.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from edits import HOTLENS, PYTHON, asked, ratio

SCRIPT = """\
import torch
from transformers import BertConfig, BertForSequenceClassification

WIDTH = 768
config = BertConfig(hidden_size=WIDTH, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072, num_labels=2)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
x, y = torch.randint(0, config.vocab_size, (96, 128)), torch.randint(0, 2, (96,))
for ids, labels in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8):
    loss = model(ids, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(__import__("time").monotonic())
"""
EDITS = [("layers=12", "layers=11"), ("size=3072", "size=2048"), ("WIDTH = 768", "WIDTH = 384")]
# Freed memory stays with the process: a step has no page faults, as a replay has none.
KEEPS = {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=100000000000:glibc.malloc.mmap_threshold=100000000000"}


def seconds(folder: Path, text: str) -> float:
    """A step of a process of its own, the median."""
    (folder / "real.py").write_text(text)
    done = subprocess.run([PYTHON, "real.py"], cwd=folder, env=os.environ | KEEPS, capture_output=True, text=True, check=True)
    ends = [float(line) for line in done.stdout.split()][2:]
    return statistics.median(later - earlier for earlier, later in zip(ends, ends[1:]))


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        script = folder / "train.py"
        script.write_text(SCRIPT)
        run = [HOTLENS, "run", "--python", PYTHON, "--warmup", "2", "--steps", "3", "train.py"]
        subprocess.run(run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        before = seconds(folder, SCRIPT)
        for old, new in EDITS:
            text = SCRIPT.replace(old, new)
            script.write_text(text)
            (early, first), (late, whole) = asked(folder, "--quick", "--checked")
            edited, after = seconds(folder, text), seconds(folder, SCRIPT)
            real, told = 2 * edited / (before + after), ratio(first)
            peaks = f"{whole['edits'][0]['peak_was_bytes'] / 1e9:.3f} to {whole['edits'][0]['peak_bytes'] / 1e9:.3f} GB"
            print(
                f"{old} to {new}: first {told:.3f} in {early:.1f} s, memory {peaks} in {late:.1f} s, "
                f"real {real:.3f}, error {told / real - 1:+.1%}, control {after / before - 1:+.1%}",
                flush=True,
            )
            before = after


if __name__ == "__main__":
    main()
