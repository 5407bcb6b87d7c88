"""Designs that most people start from: GANs, autoencoders, diffusion, rotary attention, tables of blocks, recommenders."""

from __future__ import annotations

from pathlib import Path

import pytest
from designs_classifying import CLICKS, OPTIONAL, ROTARY, SEQUENCES, SETS, SIDE_BY_SIDE, TABLE
from designs_configured import CONFIGURED, SHORTCUTS
from designs_generative import AUTOENCODER, DIFFUSION, GAN
from training import edit, predicted, record_all, told_as_run

SCRIPTS = {
    "gan": GAN, "coder": AUTOENCODER, "diffusion": DIFFUSION, "rotary": ROTARY, "table": TABLE, "clicks": CLICKS, "sets": SETS,
    "beside": SIDE_BY_SIDE, "sequences": SEQUENCES, "optional": OPTIONAL, "configured": CONFIGURED, "shortcuts": SHORTCUTS,
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(tmp_path_factory.mktemp("designs"), SCRIPTS)


@pytest.mark.parametrize(
    ("name", "old", "new", "what"),
    [
        ("gan", "judged = 24, 8, 10", "judged = 24, 8, 14", "Conv2d(3, 10 → 14, 4, stride=2, padding=1)"),
        ("gan", "judged = 24, 8, 10", "judged = 36, 8, 10", "ConvTranspose2d(24 → 36, 16, 4, bias=False)"),
        ("gan", "            nn.Conv2d(judged, 1, 4))", "            nn.Conv2d(judged, judged, 3, padding=1), nn.Conv2d(judged, 1, 4))",
         "Conv2d(10, 10) added"),
        ("coder", "[8, 16]", "[8, 24]", "ConvTranspose2d(16 → 24, 8, 2, stride=2)"),
        ("coder", "Coder()", "Coder(widths=[4, 8])", "Linear(256 → 128, 16)"),
        ("diffusion", "width=16", "width=24", "Net.width 16 → 24"),
        ("diffusion", "GroupNorm(4,", "GroupNorm(8,", "GroupNorm(4 → 8, 16)"),
        ("rotary", "width: int = 60", "width: int = 84", "Embedding(70, 60 → 84)"),
        ("rotary", "shared: int = 2", "shared: int = 3", "Attention.times 3 → 2"),
        ("rotary", "longest: int = 40", "longest: int = 80", "Model.cos"),
        ("rotary", "words: int = 70", "words: int = 90", "Embedding(70 → 90, 60)"),
        ("table", "[3, 3, 16, 1, 1]", "[3, 4, 16, 1, 1]", "Conv2d(12, 36 → 48, 1, bias=False)"),
        ("table", "        [5, 3, 16, 1, 1],\n    ]", "    ]", "Unit() removed"),
        ("table", "factor=1.0", "factor=2.0", "Linear(16 → 32, 10)"),
        ("clicks", '"5-24-8"', '"5-40-8"', "Linear(5, 24 → 40)"),
        ("clicks", '"5-24-8"', '"5-24-24-8"', "Linear(24, 24) added"),
        ("clicks", '"40-30"', '"80-30"', "EmbeddingBag(40 → 80, 8)"),
        ("sets", "seeds=6", "seeds=9", "Model.seeds"),
        ("beside", "24, 3, 3", "24, 4, 3", "Head() added"),
        ("beside", "24, 3, 3", "24, 2, 3", "Head() removed"),
        ("beside", "24, 3, 3", "24, 3, 5", "Sequential() added"),
        ("beside", "24, 3, 3", "24, 3, 2", "Sequential() removed"),
        ("sequences", "kernel=3", "kernel=2", "Cut.amount 8 → 4"),
        ("sequences", "widths=(8, 8, 8)", "widths=(8, 8, 8, 8)", "Cut() added"),
        ("sequences", "widths=(8, 8, 8)", "widths=(8, 12)", "ReLU() removed"),
        ("sequences", "units=3", "units=5", "Unit() added"),
        ("sequences", "units=3", "units=2", "Unit() removed"),
        ("sequences", "sums=4", "sums=5", "Unit() added"),
        ("sequences", "sums=4", "sums=3", "Unit() removed"),
        ("optional", "norm=True", "norm=False", "LayerNorm(24) removed"),
        ("optional", "drop=None", "drop=0.1", "Dropout(0.1) added"),
        ("optional", "before=None", "before=True", "Linear(24, 24) added"),
        ("optional", "depth=3", "depth=4", "Block() added"),
        ("optional", "depth=3", "depth=2", "Net.depth 3 → 2"),
        ("optional", "layers=1", "layers=2", "GRU(24, 24, num_layers=1 → 2, batch_first=True)"),
        ("optional", "nn.GRU", "nn.LSTM", "GRU → LSTM"),
        ("configured", "width=24", "width=36", "Embedding(40, 24 → 36)"),
        ("configured", "factor=2", "factor=3", "Linear(24, 48 → 72)"),
        ("configured", "rows=[9, 40, 3]", "rows=[9, 60, 3]", "Embedding(40 → 60, 24)"),
        ("configured", "depths=[2, 1]", "depths=[2, 3]", "Mixer() added"),
        ("configured", "normed=False", "normed=True", "BatchNorm1d(24) added"),
        ("configured", "return self.norm(x + self.mix(x))", "return x + self.mix(x)", "LayerNorm(24) not called"),
        ("configured", "(x)))).view(-1, 10)", "(x)))).view(-1, 10).relu()", "relu added"),
        ("configured", "in (2, 3)]", "in (2, 3, 3)]", "Applied() added"),
        ("shortcuts", "[24, 24, 24]", "[24, 32, 24]", "Linear(24, 32) added"),
        ("shortcuts", "[24, 24, 24]", "[24, 24, 32]", "Sequential() added"),
        ("shortcuts", "rate=0.0, switched", "rate=0.1, switched", "dropout added"),
        ("shortcuts", "switched=0.2", "switched=0.4", "Asked.rate 0.2 → 0.4"),
        ("shortcuts", "switched=0.2", "switched=0.0", "dropout removed"),
        ("shortcuts", "self.own, self.last = LayerNorm(24)", "self.own, self.last = nn.LayerNorm(24)", "LayerNorm() → LayerNorm(24)"),
        ("shortcuts", "        x = self.norm(x)\n", "", "LayerNorm(24) not called"),
        ("shortcuts", "self.norm(self.act(self.wide(x)))", "self.norm(F.gelu(self.act(self.wide(x))))", "gelu added"),
        ("shortcuts", "        return self.act(out)", "        out = self.act(out)\n        return F.gelu(out)", "gelu added"),
    ],
)  # fmt: skip
def test_the_peak_is_that_of_the_script_really_edited_so(recorded: Path, tmp_path: Path, name: str, old: str, new: str, what: str) -> None:
    text = edit(recorded / name, SCRIPTS[name], old, new)
    assert what in told_as_run(recorded / name, text, tmp_path / "truth")


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("sets", "heads=4", "heads=8", "into how many parts it splits"),
        ("rotary", "shared: int = 2", "shared: int = 6", "uses times, which was edited"),
        ("clicks", '"40-30"', '"40-30-20"', "where its entries come and go"),
        ("optional", "places=[1]", "places=[2]", "uses places, which was edited"),
        ("optional", "layers, batch_first=True", "layers, batch_first=False", "GRU and GRU are not called alike"),
        ("sequences", "total = 0", "total = 1", "Net.forward was edited"),
        ("configured", "in (2, 3)]", "in (2, 3, 5)]", "what a new Applied calls is not known"),
        ("configured", "width=24", "width=26", "the script ends here: assert settings.width % 4 == 0 does not hold"),
        ("configured", "rows in settings.rows", "rows in settings.rows[5]", "settings.rows[5] is beyond the last one"),
        (
            "shortcuts",
            "        out = self.body(x)\n",
            "        out = self.body(x)\n        out = self.body(x)\n",
            "Chosen.forward was edited",
        ),
        ("clicks", "int(bottom[-1]), mode", "2 * int(bottom[-1]), mode", "it picks by numbers that Python makes"),
    ],
)
def test_what_would_be_another_step_is_refused(recorded: Path, name: str, old: str, new: str, why: str) -> None:
    edit(recorded / name, SCRIPTS[name], old, new)
    (refused,) = predicted(recorded / name)["refused"]
    assert why in refused["reason"]
