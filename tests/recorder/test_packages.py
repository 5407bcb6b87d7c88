"""Models that nobody here wrote: lines must be found in the package's file and in the user's script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Bundle, record_text
from test_bundle import check_bundle
from test_map_step import check_nesting, markers, operators, step_ranges
from test_sites import check_sites

transformers = pytest.importorskip("transformers")

BERT = """\
import torch
from transformers import BertConfig, BertForMaskedLM

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
model = BertForMaskedLM(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(40):
    ids = torch.randint(0, 100, (4, 16))
    out = model(input_ids=ids, labels=ids)
    optimizer.zero_grad()
    out.loss.backward()
    optimizer.step()
"""
GPT2 = """\
import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in DataLoader(torch.randint(0, 100, (200, 16)), batch_size=4):
    loss = model(batch, labels=batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""

AUTO = """\
import torch
from transformers import AutoModelForMaskedLM, BertConfig

def build():
    config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    return AutoModelForMaskedLM.from_config(config)

model = build().train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(40):
    ids = torch.randint(0, 100, (4, 16))
    loss = model(input_ids=ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def recorded(folder: Path, text: str) -> Bundle:
    run = record_text(folder, text)
    assert run.code == 0, run.err
    return run.bundle


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return recorded(tmp_path_factory.mktemp("bert"), BERT)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return recorded(tmp_path_factory.mktemp("gpt2"), GPT2)


@pytest.fixture(params=["bert", "gpt2"])
def package(request: pytest.FixtureRequest) -> Iterator[Bundle]:
    yield request.getfixturevalue(request.param)


def file_of(bundle: Bundle, site: dict) -> str:
    return Path(bundle.model["files"][site["file"]]["path"]).name


def test_a_package_model_is_recorded_whole(package: Bundle) -> None:
    check_bundle(package)
    check_nesting(markers(package))
    assert check_sites(package) > 50
    (mapped,) = step_ranges(package.trace("trace-map.json.gz"))
    expected = operators(package.trace("trace-map.json.gz"), mapped)
    clean = package.trace("trace-0.json.gz")
    assert [operators(clean, s) == expected for s in step_ranges(clean)] == [True] * 5
    model = package.model
    assert [m["path"] for m in model["modules"] if m["parent"] >= 0 and m["attached"] is None] == []


def test_lines_are_found_in_the_package_and_in_the_script(bert: Bundle, gpt2: Bundle) -> None:
    query = bert.module("bert.encoder.layer.1.attention.self.query")
    assert file_of(bert, query["attached"]) == "modeling_bert.py"
    assert bert.text(query["attached"]).startswith("self.query = nn.Linear(")
    layer = bert.module("bert.encoder.layer.1")
    assert bert.text(layer["attached"]) == "BertLayer(config, layer_idx=i)"
    switched = [m["path"] for m in bert.model["modules"] if "checkpoint_switch" in m]
    assert switched == ["bert.encoder.layer.0", "bert.encoder.layer.1"]
    assert bert.text(bert.module("")["attached"]) == "model = BertForMaskedLM(config)"
    calls = {bert.model["modules"][c["module"]]["path"]: c["site"] for c in bert.model["calls"]}
    assert file_of(bert, calls["bert.encoder.layer.1"]) == "modeling_bert.py"
    assert bert.text(calls["bert.encoder.layer.1"]).startswith("layer_module(")
    assert file_of(bert, calls[""]) == "train.py" and bert.text(calls[""]) == "model(input_ids=ids, labels=ids)"
    act = gpt2.module("transformer.h.0.mlp.act")
    assert gpt2.text(act["attached"]) == "self.act = ACT2FN[config.activation_function]"
    assert file_of(gpt2, act["constructed"]) == "activations.py"


def test_only_the_script_is_workspace(bert: Bundle) -> None:
    own = [Path(f["path"]).name for f in bert.model["files"] if f["workspace"]]
    assert own == ["train.py"]


def test_stages_are_lines_of_the_script(gpt2: Bundle) -> None:
    assert {file_of(gpt2, s["site"]) for s in gpt2.model["stages"]} == {"train.py"}
    assert gpt2.stages()["data"] == ["for batch in DataLoader(torch.randint(0, 100, (200, 16)), batch_size=4)"]


def test_a_model_from_a_packages_factory_stands_at_the_users_line(tmp_path: Path) -> None:
    bundle = recorded(tmp_path, AUTO)
    check_bundle(bundle)
    root = bundle.module("")
    assert root["class"] == "BertForMaskedLM"
    assert bundle.text(root["attached"]) == "return AutoModelForMaskedLM.from_config(config)"
    assert file_of(bundle, root["attached"]) == "train.py" and file_of(bundle, root["class_site"]) == "modeling_bert.py"
    layers = [m for m in bundle.model["modules"] if m["parent"] >= 0]
    assert {file_of(bundle, m["attached"]) for m in layers if m["attached"]} == {"modeling_bert.py"}
    assert bundle.stages()["forward"] == ["model(input_ids=ids, labels=ids)"]
