"""`hotlens predict --edited` on real recordings: its peak memory against a run of the script that was really edited so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import PYTHON, ask
from training import LOOP, edit, predicted, record, record_all, recorded_peak

# A class that nothing makes has no part in the step, whatever is edited in it.
PICTURES = LOOP.format(
    model="""
WIDTH = 16
class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.Dropout(0.2)
    def forward(self, x):
        return self.drop(F.relu(self.norm(self.conv(x))))
class Spare(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, padding=1)
    def forward(self, x):
        return self.conv(x) * WIDTH
model = nn.Sequential(
    Block(3, WIDTH), nn.MaxPool2d(2), Block(WIDTH, 2 * WIDTH), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * WIDTH, 10))
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randn(n, 3, 32, 32), torch.randint(10, (n,)))
"""
)

WORDS = LOOP.format(
    model="""
from dataclasses import dataclass
@dataclass
class Config:
    width: int = 32
    heads: int = 4
class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.width
        self.heads, self.causal = config.heads, True
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))
    def forward(self, x):
        b, l, w = x.shape
        q, k, v = (part.view(b, l, self.heads, w // self.heads).transpose(1, 2) for part in self.qkv(self.norm(x)).split(w, 2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).reshape(b, l, w))
        return x + self.mlp(x)
class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed, self.places = nn.Embedding(50, config.width), nn.Parameter(torch.zeros(1, 12, config.width))
        self.layers = nn.ModuleList(Layer(config) for _ in range(2))
        self.head = nn.Linear(config.width, 10)
    def forward(self, x):
        x = self.embed(x) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])
model = Model(Config())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
tensors = lambda n: (torch.randint(50, (n, 12)), torch.randint(10, (n,)))
"""
)

MEMORY = LOOP.format(
    model="""
class Tagger(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(500, 48), nn.LSTM(48, hidden, batch_first=True), nn.Linear(hidden, 500)
    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0].mean(1))
model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
tensors = lambda n: (torch.randint(500, (n, 16)), torch.randint(500, (n,)))
"""
)

# Nearly all of its step is the fetch.
WAITING = MEMORY.replace(
    "model = Tagger()",
    """class Slow(TensorDataset):
    def __getitem__(self, at):
        time.sleep(0.01)
        return super().__getitem__(at)
model = Tagger()""",
)
WAITING = "import time\n" + WAITING.replace("TensorDataset(*tensors", "Slow(*tensors")

SCRIPTS = {"pictures": PICTURES, "words": WORDS, "memory": MEMORY, "waiting": WAITING}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(tmp_path_factory.mktemp("edited"), SCRIPTS)


def edited(folder: Path, old: str, new: str) -> str:
    return edit(folder, SCRIPTS[folder.name], old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("pictures", "WIDTH = 16", "WIDTH = 24"),
        ("pictures", "i, o, 3, padding=1", "i, o, 5, padding=2"),
        ("pictures", "i, o, 3, padding=1", "i, o, 3, stride=2"),
        ("pictures", "Dropout(0.2)", "Dropout(0.0)"),
        ("words", "width: int = 32", "width: int = 64"),
        ("words", "heads: int = 4", "heads: int = 8"),
        ("words", "4 * width", "2 * width"),
        ("words", "nn.GELU", "nn.ReLU"),
        ("memory", "hidden=64", "hidden=96"),
    ],
)
def test_the_peak_is_that_of_the_script_really_edited_so(recorded: Path, tmp_path: Path, name: str, old: str, new: str) -> None:
    text = edited(recorded / name, old, new)
    document = predicted(recorded / name)
    assert not document["refused"] + document["misfits"]
    record(tmp_path / "truth", text)
    real = recorded_peak(tmp_path / "truth")
    for row in document["edits"]:
        assert row["peak_bytes"] == real
        assert row["low_ns"] <= row["step_ns"] <= row["high_ns"]


def test_the_fetch_of_a_batch_stays_as_it_is(recorded: Path) -> None:
    alike = {}
    for name in ("memory", "waiting"):
        edited(recorded / name, "hidden=64", "hidden=192")
        (row,) = predicted(recorded / name)["edits"][:1]
        alike[name] = row["step_ns"] / row["step_was_ns"]
    assert alike["memory"] > 1.5
    assert alike["waiting"] < 1.2


def test_a_copy_that_leads_out_of_the_bundle_is_not_read(recorded: Path, tmp_path: Path) -> None:
    edited(recorded / "memory", "hidden=64", "hidden=96")
    assert predicted(recorded / "memory")["edits"]
    (copy,) = (recorded / "memory").glob(".hotlens/profiles/*/files/*train.py")
    outside = copy.rename(tmp_path / "train.py")
    copy.symlink_to(outside)
    try:
        done = ask(recorded / "memory", "--edited", "--format", "json")
        assert '"step_ns"' not in done.stdout
    finally:
        copy.unlink()
        outside.rename(copy)


def test_an_edit_names_its_line_its_modules_and_both_numbers(recorded: Path) -> None:
    text = edited(recorded / "words", "4 * width", "2 * width")
    edits = {edit["what"]: edit for edit in predicted(recorded / "words", "train.py")["edits"]}
    first = next(edit for what, edit in edits.items() if what.startswith("Linear(32, 128 → 64"))
    assert first["modules"] == ["layers.0.mlp.0", "layers.1.mlp.0"]
    assert "nn.GELU" in text.splitlines()[first["line"]]
    assert first["peak_bytes"] < first["peak_was_bytes"]


def test_what_does_not_fit_is_said_with_both_lines_and_the_operators_words(recorded: Path) -> None:
    text = edited(recorded / "pictures", "nn.Linear(2 * WIDTH", "nn.Linear(3 * WIDTH")
    (misfit,) = predicted(recorded / "pictures")["misfits"]
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "nn.Conv2d" in one)
    assert misfit["reason"].startswith(f"Linear(48, 10) gets 32 features from line {line}: mat1 and mat2 shapes cannot be multiplied")
    assert (misfit["module"], misfit["operator"]) == ("5", "aten::linear")
    assert "nn.Linear(3 * WIDTH" in text.splitlines()[misfit["line"]]
    done = subprocess.run([PYTHON, "train.py"], cwd=recorded / "pictures", capture_output=True, text=True, check=False)
    assert "mat1 and mat2 shapes cannot be multiplied (8x32 and 48x10)" in done.stderr


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("pictures", "F.relu", "2 * F.relu", "Block.forward was edited"),
        ("pictures", "torch.optim.Adam(", "torch.optim.RMSprop(", "torch.optim.RMSprop"),
        ("pictures", "batch_size=8", "batch_size=16", "hotlens run --batch-sizes 8,6"),
        ("pictures", "    loss.backward()", "    loss.backward()\n    print(loss)", "something else than layers was edited"),
        ("pictures", "randn(n, 3, 32, 32)", "randn(n, 3, 16, 16)", "was edited"),
        ("pictures", "nn.MaxPool2d(2)", "nn.MaxPool2d(2, dilation=2)", "a new MaxPool2d calls is not known"),
        ("memory", "500", "800", "was edited"),  # also what the data are made of
        ("words", "config.heads, True", "config.heads, False", "uses causal, which was edited"),
        ("words", "width = config.width", "width = int(torch.ones(32).sum())", "something else than layers was edited: width = int("),
        ("pictures", "nn.Dropout(0.2)", "nn.Dropout(0.2, generator=None)", "what `generator` changes in Dropout"),
    ],
)
def test_what_cannot_be_known_is_refused_with_its_reason(recorded: Path, name: str, old: str, new: str, reason: str) -> None:
    edited(recorded / name, old, new)
    document = predicted(recorded / name)
    (refusal,) = document["refused"]
    assert reason in refusal["reason"]
    assert all("peak_bytes" not in edit for edit in document["edits"])


# Each of them was once passed over, and the number beside it was wrong.
@pytest.mark.parametrize(
    ("name", "old", "new", "module"),
    [
        ("pictures", "nn.Linear(2 * WIDTH, 10)", "nn.Linear(2 * WIDTH, 10).requires_grad_(False)", "5"),
        ("pictures", "nn.Linear(2 * WIDTH, 10)", "nn.Linear(2 * WIDTH, 10).to(torch.bfloat16)", "5"),
        ("pictures", "nn.Linear(2 * WIDTH, 10)", "nn.Linear(2 * WIDTH, 10, dtype=torch.bfloat16)", "5"),
        ("pictures", "nn.Linear(2 * WIDTH, 10)", "torch.compile(nn.Linear(2 * WIDTH, 10))", ""),
        ("pictures", "i, o, 3, padding=1), nn.B", "i, o, 3, padding=1, padding_mode='circular'), nn.B", "0.conv"),
        ("pictures", "optimizer = ", "model.requires_grad_(False)\noptimizer = ", ""),
        ("pictures", "optimizer = ", "model = model.to(memory_format=torch.channels_last)\noptimizer = ", ""),
        ("pictures", "optimizer = ", "model.eval()\noptimizer = ", ""),
        ("pictures", "model.parameters())", "model.parameters(), capturable=True)", ""),
        ("pictures", "F.relu(self.norm(self.conv(x)))", "F.relu(self.norm(self.conv(x)))[:, :, ::2]", "0"),
        ("pictures", "F.relu(self.norm(self.conv(x)))", "F.avg_pool2d(F.relu(self.norm(self.conv(x))), 2)", "0"),
        ("pictures", "F.relu(self.norm(self.conv(x)))", "F.relu(self.norm(self.conv(x)).detach())", "0"),
        ("words", "x[:, 0])", "x[0, :])", ""),
        ("words", "        for layer in self.layers:", "        for layer in self.layers[:1]:", ""),
        ("words", "    def forward(self, x):\n        b, l", "    @torch.no_grad()\n    def forward(self, x):\n        b, l", "layers.0"),
        (
            "memory",
            "    loss = F.cross_entropy(model(x), y)",
            "    with torch.autocast('cpu', torch.float16):\n        loss = F.cross_entropy(model(x), y)",
            "",
        ),
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_an_edit_beside_layers_gives_no_number_but_its_line(
    recorded: Path, name: str, old: str, new: str, module: str, beside: bool
) -> None:
    layers = {"pictures": ("WIDTH = 16", "WIDTH = 24"), "words": ("4 * width", "2 * width"), "memory": ("hidden=64", "hidden=96")}
    folder = recorded / name
    text = SCRIPTS[name].replace(*layers[name]) if beside else SCRIPTS[name]
    text = edit(folder, text, old, new)
    document = predicted(folder)
    (refusal,) = document["refused"]
    assert not any("step_ns" in edit or "peak_bytes" in edit for edit in document["edits"])
    assert refusal["reason"]
    assert refusal.get("module", "") == module
    first = next(at for at, (one, other) in enumerate(zip(text.splitlines(), SCRIPTS[name].splitlines(), strict=False)) if one != other)
    assert refusal["line"] >= first or beside


def test_a_text_that_changes_no_layer_is_told_so(recorded: Path) -> None:
    edited(recorded / "pictures", "WIDTH = 16", "WIDTH = 8 * 2  # the same")
    done = ask(recorded / "pictures", "--edited")
    assert done.returncode == 0
    assert "no layer differs" in done.stdout


def test_a_text_that_is_no_python_yet_and_a_file_that_did_not_run_are_errors(recorded: Path) -> None:
    edited(recorded / "pictures", "WIDTH = 16", "WIDTH = (16")
    done = ask(recorded / "pictures", "--edited")
    assert done.returncode == 3
    assert "no complete Python" in done.stderr
    done = ask(recorded / "pictures", "--edited", "other.py")
    assert done.returncode == 2
    assert "ran none of it" in done.stderr


def test_edited_and_a_batch_size_are_one_or_the_other(recorded: Path) -> None:
    for arguments in ((), ("--edited", "--batch-size", "8")):
        done = ask(recorded / "pictures", *arguments)
        assert done.returncode == 2
        assert "one of --batch-size N, --edited and --device NAME" in done.stderr


def test_nothing_of_the_users_code_runs(recorded: Path) -> None:
    edited(recorded / "pictures", "WIDTH = 16", "open('ran', 'w').close()\nWIDTH = 24")
    document = predicted(recorded / "pictures")
    assert document["edits"] or document["refused"]
    assert not (recorded / "pictures" / "ran").exists()
