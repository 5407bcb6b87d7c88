"""Models of packages, made from a configuration or by a call: what an edit of these does to their peak, against a run of the script that
was really edited so. A project's own file that only holds numbers is such a configuration too."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import edit, predicted, record, told_as_run

SCRIPT = """
import torch
from transformers import {name}Config, {model}
config = {name}Config({config})
model = {model}(config)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(20):
    {batch}
    optimizer.zero_grad()
    loss = model({call}, labels=labels).loss
    loss.backward()
    optimizer.step()
"""
WORDS = {"batch": "words = labels = torch.randint(200, (4, 24))", "call": "words"}
BERT = "vocab_size=200, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128"
LLAMA = BERT + ", num_key_value_heads=2"
VIT = "hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8, num_labels=5"
SCRIPTS = {
    "bert": SCRIPT.format(name="Bert", model="BertForMaskedLM", config=BERT, **WORDS),
    # Keeps the keys and values of every layer from one step to the next.
    "gpt2": SCRIPT.format(name="GPT2", model="GPT2LMHeadModel", config="vocab_size=200, n_embd=64, n_layer=3, n_head=4", **WORDS),
    "llama": SCRIPT.format(name="Llama", model="LlamaForCausalLM", config=LLAMA, **WORDS),
    "t5": SCRIPT.format(
        name="T5",
        model="T5ForConditionalGeneration",
        config="vocab_size=200, d_model=64, num_layers=3, num_heads=4, d_ff=128, d_kv=16, decoder_start_token_id=0",
        **WORDS,
    ),
    "vit": SCRIPT.format(
        name="ViT",
        model="ViTForImageClassification",
        config=VIT,
        batch="pictures, labels = torch.randn(4, 3, 32, 32), torch.randint(5, (4,))",
        call="pictures",
    ),
}

EDITS = [
    ("bert", "num_hidden_layers=3", "num_hidden_layers=5"),
    ("bert", "num_hidden_layers=3", "num_hidden_layers=2"),
    ("bert", "hidden_size=64", "hidden_size=96"),
    ("bert", "vocab_size=200", "vocab_size=300"),  # tied to the embedding
    ("bert", "intermediate_size=128", 'intermediate_size=256, hidden_act="relu"'),
    ("bert", "num_attention_heads=4", "num_attention_heads=8"),  # of a batch of 4
    (
        "bert",
        "intermediate_size=128",
        "intermediate_size=128, attention_probs_dropout_prob=0.0",
    ),  # a layer that is asked for its rate alone
    ("gpt2", "n_layer=3", "n_layer=5"),
    ("gpt2", "n_layer=3", "n_layer=2"),
    ("gpt2", "n_head=4", "n_head=2"),
    ("llama", "num_hidden_layers=3", "num_hidden_layers=5"),
    ("llama", "num_key_value_heads=2", "num_key_value_heads=4"),
    ("llama", "hidden_size=64", "hidden_size=96"),
    ("t5", "num_layers=3", "num_layers=4"),
    ("t5", "d_ff=128", "d_ff=256"),
    ("vit", "num_hidden_layers=3", "num_hidden_layers=4"),
    ("vit", "patch_size=8", "patch_size=4"),  # a batch of 4, and 4 patches a side
    ("vit", "num_labels=5", "num_labels=11"),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("packages")
    for name, text in SCRIPTS.items():
        record(place / name, text)
    return place


@pytest.mark.parametrize(("name", "old", "new"), EDITS)
def test_a_configuration(recorded: Path, tmp_path: Path, name: str, old: str, new: str) -> None:
    text = edit(recorded / name, SCRIPTS[name], old, new)
    assert told_as_run(recorded / name, text, tmp_path / "truth")


# Flags choose what is done: who reads them in files that are not kept, or by their names alone, is not seen.
@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("bert", 'attn_implementation="eager"'),
        ("bert", "tie_word_embeddings=False"),
        ("llama", "use_cache=False"),
        ("bert", "is_decoder=True"),
    ],
)
def test_a_flag_is_refused(recorded: Path, name: str, flag: str) -> None:
    edit(recorded / name, SCRIPTS[name], "intermediate_size=128", f"intermediate_size=128, {flag}")
    document = predicted(recorded / name)
    assert [one["line"] for one in document["refused"]] == [3]
    assert document["edits"] == [] or all("peak_bytes" not in one for one in document["edits"])


# A layer that differs from the one it is modelled on by its own number alone has not changed in that.
def test_only_what_was_edited_is_told(recorded: Path) -> None:
    edit(recorded / "gpt2", SCRIPTS["gpt2"], "n_layer=3", "n_layer=5")
    assert {one["what"] for one in predicted(recorded / "gpt2")["edits"]} == {"GPT2Block() added"}


# A library chooses the class; a wrapper of the project's own holds it.
AUTO = SCRIPTS["bert"].replace("BertForMaskedLM", "AutoModelForMaskedLM").replace("MaskedLM(config)", "MaskedLM.from_config(config)")
WRAPPED = (
    SCRIPTS["bert"]
    .replace("BertForMaskedLM", "BertModel")
    .replace(
        "model = BertModel(config)",
        """
class Net(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.bert = BertModel(config)
        self.head = torch.nn.Linear(config.hidden_size, classes)
    def forward(self, words):
        return self.head(self.bert(words).pooler_output)
model = Net(3)""",
    )
    .replace("loss = model(words, labels=labels).loss", "loss = model(words).square().mean()")
)


@pytest.mark.parametrize(
    ("script", "old", "new"),
    [(AUTO, "num_hidden_layers=3", "num_hidden_layers=4"), (WRAPPED, "hidden_size=64", "hidden_size=96"), (WRAPPED, "Net(3)", "Net(7)")],
)
def test_a_model_around_or_behind_one(tmp_path: Path, script: str, old: str, new: str) -> None:
    record(tmp_path / "told", script)
    text = edit(tmp_path / "told", script, old, new)
    assert told_as_run(tmp_path / "told", text, tmp_path / "truth")


PROJECT = {
    "settings.py": """
from dataclasses import dataclass, field
CLASSES = 10
@dataclass
class Settings:
    width: int = 32
    depth: int = 2
    sizes: list = field(default_factory=list)
    def __post_init__(self):
        self.inner = 4 * self.width
""",
    "model.py": """
from torch import nn
import settings
class Model(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.embed = nn.Linear(16, of.width)
        self.blocks = nn.Sequential(*[nn.Sequential(nn.Linear(of.width, of.inner), nn.ReLU(), nn.Linear(of.inner, of.width))
                                      for _ in range(of.depth)])
        self.head = nn.Linear(of.width, settings.CLASSES)
    def forward(self, x):
        return self.head(self.blocks(self.embed(x)))
""",
    "train.py": """
import torch
from settings import Settings
from model import Model
model = Model(Settings())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    x, y = torch.randn(8, 16), torch.randint(5, (8,))
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize(
    ("old", "new"), [("CLASSES = 10", "CLASSES = 7"), ("width: int = 32", "width: int = 48"), ("depth: int = 2", "depth: int = 4")]
)
def test_a_file_that_only_holds_numbers(tmp_path: Path, old: str, new: str) -> None:
    settings = PROJECT["settings.py"]
    for run in ("told", "truth"):
        (tmp_path / run).mkdir()
        for name, text in PROJECT.items():
            (tmp_path / run / name).write_text(text)
    record(tmp_path / "told", PROJECT["train.py"])
    for run in ("told", "truth"):
        (tmp_path / run / "settings.py").write_text(settings.replace(old, new))
    assert told_as_run(tmp_path / "told", PROJECT["train.py"], tmp_path / "truth", "settings.py")
