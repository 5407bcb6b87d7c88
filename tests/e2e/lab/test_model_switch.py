"""A model of a library that checkpoints its own layers: its switch is the edit, and the peak is what it then needs."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from conftest import PYTHON
from test_checkpoint import ask, document, record

SCRIPT = """\
import torch
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(0)
config = BertConfig(vocab_size=100, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256)
model = BertForMaskedLM(config).to("cpu")
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.randint(0, 100, (24, 64))
for _ in range(14):
    optimizer.zero_grad()
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
"""
MADE = 'model = BertForMaskedLM(config).to("cpu")\n'


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("switch") / "bert"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    record(folder, "train.py")
    return folder


def rise(folder: Path) -> int:
    """Of the recorded step, above what lay there when it began."""
    newest = max(folder.glob(".hotlens/profiles/2*"))
    allocator = json.loads(gzip.decompress((newest / "program.json.gz").read_bytes()))["allocator"]
    return int(allocator["peak_bytes"] - allocator["start_bytes"])


def test_the_switch_of_the_model_is_the_edit_and_the_peak_is_as_predicted(bert: Path, tmp_path: Path) -> None:
    (item,) = document(bert)["items"]
    curve = item["curve"]
    assert [len(point["blocks"]) for point in curve["points"]] == [0, 3], "all layers or none"
    assert "all of these layers, or none" in curve["note"]
    source = bert / "train.py"
    try:
        done = ask(bert, "--apply")
        assert done.returncode == 0, done.stderr + done.stdout
        new = source.read_text()
    finally:
        source.write_text(SCRIPT)
    (line,) = set(new.splitlines()) - set(SCRIPT.splitlines())
    assert line.startswith("model.") and line.endswith('_checkpointing_kwargs={"use_reentrant": False})')
    assert new == SCRIPT.replace(MADE, MADE + line + "\n")

    told = "    print(loss.item().hex())\n"
    losses = [
        subprocess.run([PYTHON, "-c", text + told], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
        for text in (SCRIPT, new)
    ]
    assert losses[0] == losses[1] and losses[0].count("\n") == 14
    predicted = item["peak_bytes"] - item["peak_was_bytes"] + rise(bert)
    assert predicted < rise(bert)
    assert peak_of(new, tmp_path) == pytest.approx(predicted, rel=0.003)
    assert peak_of(SCRIPT, tmp_path) == pytest.approx(rise(bert), rel=0.003)


# One step of the script after the others, by the events of the allocator.
PEAK = """
from torch.profiler import profile
with profile(profile_memory=True) as seen:
    optimizer.zero_grad()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
import json
seen.export_chrome_trace("peak.json")
held, most = 0, 0
for event in json.load(open("peak.json"))["traceEvents"]:
    if event.get("name") == "[memory]":
        held += event["args"]["Bytes"]
        most = max(most, held)
print(most)
"""


def peak_of(script: str, folder: Path) -> int:
    done = subprocess.run([PYTHON, "-c", script + PEAK], check=True, capture_output=True, text=True, cwd=folder)
    return int(done.stdout.split()[-1])


def test_a_model_that_a_function_makes_is_switched_by_hand(bert: Path, tmp_path: Path) -> None:
    script = SCRIPT.replace("model = BertForMaskedLM(config)", "make = lambda: BertForMaskedLM(config)\nmodel = make()")
    (tmp_path / "train.py").write_text(script)
    record(tmp_path, "train.py")
    done = ask(tmp_path, "--apply")
    assert done.returncode == 3
    assert "is not one name and one call" in done.stdout
