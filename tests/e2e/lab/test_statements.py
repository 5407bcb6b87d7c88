"""What comes or goes after a statement of `forward` that takes several tensors: found by the line in which the step ran it."""

from __future__ import annotations

from pathlib import Path

import pytest
from designs_classifying import SEQUENCES
from training import LOOP, edit, predicted, record, told_as_run

# Sums, parts, products, functions of several tensors, and one that has another name in torch; one module does not hold what it works on.
TEXT = LOOP.format(
    model="""
class Mix(nn.Module):
    def forward(self, a, b):
        both = a * b - a
        return both
class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.mix = heads, Mix()
        self.qkv, self.out, self.after = nn.Linear(width, 3 * width), nn.Linear(2 * width, width), nn.LayerNorm(width)
    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = self.qkv(x).view(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        y = y.transpose(1, 2).reshape(batch, time, width)
        scores = torch.einsum("btw,bsw->bts", x, y) / width
        near = scores.softmax(-1) @ x
        wide = torch.cat([y, near], dim=-1)
        mixed = self.mix(x, self.out(wide))
        coarse = F.interpolate(mixed.transpose(1, 2), scale_factor=2.0)
        first = coarse[:, :, ::2]
        total = (
            x
            + first.transpose(1, 2)
        )
        return self.after(total)
model = nn.Sequential(nn.Linear(12, 24), Attention(24, 4), Attention(24, 2), nn.Flatten(), nn.Linear(24 * 6, 10))
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randn(n, 6, 12), torch.randint(10, (n,)))"""
)
AFTER = {  # the statement's end, what comes after it, and how it is called
    "attention": ("scaled_dot_product_attention(q, k, v)", "y = F.gelu(y)", "gelu"),
    "a quotient": ("x, y) / width", "scores = F.dropout(scores, 0.2)", "dropout"),
    "a product": ("softmax(-1) @ x", "near = torch.tanh(near)", "tanh"),
    "tensors together": ("near], dim=-1)", "wide = F.relu(wide)", "relu"),
    "another name": ("scale_factor=2.0)", "coarse = F.silu(coarse)", "silu"),
    "a part": ("[:, :, ::2]", "first = F.gelu(first)", "gelu"),
    "several lines": ("transpose(1, 2)\n        )", "total = F.relu(total)", "relu"),
    "a module without parameters": ("a * b - a", "both = F.gelu(both)", "gelu"),
    "a layer of its own": ("near], dim=-1)", "wide = self.between(wide)", "LayerNorm(48)"),
}
LAYER = ("nn.LayerNorm(width)\n", "nn.LayerNorm(width)\n        self.between = nn.LayerNorm(2 * width)\n")


def with_more(name: str) -> str:
    end, more, called = AFTER[name]
    text = TEXT.replace(*LAYER) if called.startswith("LayerNorm") else TEXT
    return text.replace(end, f"{end}\n        {more}")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("statements")
    record(folder, TEXT)
    return folder


@pytest.mark.parametrize("name", AFTER)
def test_what_comes_after_a_statement_takes_its_value(recorded: Path, tmp_path: Path, name: str) -> None:
    text = edit(recorded, TEXT, TEXT, with_more(name))
    assert f"{AFTER[name][2]} added" in told_as_run(recorded, text, tmp_path)


def test_what_went_is_found_in_its_line(tmp_path: Path) -> None:
    """Two of one kind, in different modules; the second of two in one module."""
    more = with_more("tensors together").replace("a * b - a", "a * b - a\n        both = F.relu(both)")
    text = more.replace("softmax(-1) @ x", "softmax(-1) @ x\n        near = F.relu(near)")
    record(tmp_path, text)
    now = edit(tmp_path, text, "\n        wide = F.relu(wide)", "")
    assert told_as_run(tmp_path, now, tmp_path / "truth") == ["relu removed"]


def test_the_value_of_a_layer_with_several_tensors_is_not_guessed(recorded: Path) -> None:
    """What it gives is not what the line's last operator gives."""
    edit(recorded, TEXT, "self.out(wide))", "self.out(wide))\n        mixed = F.relu(mixed)")
    (refused,) = predicted(recorded)["refused"]
    assert refused["reason"] == "where this is called in the recorded step cannot be told"


def test_a_variable_that_lives_on_holds_what_it_was_given(tmp_path: Path) -> None:
    """`y` is given something else in a loop, while `x` keeps its tensor until `forward` returns."""
    text = SEQUENCES.replace("        y = x\n", "        y = F.gelu(x)\n")
    record(tmp_path, text)
    now = edit(tmp_path, text, "y = F.gelu(x)", "y = x")
    assert told_as_run(tmp_path, now, tmp_path / "truth") == ["gelu removed"]


# A loop over blocks, one over pairs of a number and a block, and one that calls a function in each round.
ROUNDS = LOOP.format(
    model="""
class Rounds(nn.Module):
    def __init__(self, width=24, depth=3):
        super().__init__()
        self.first = nn.Linear(12, width)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)) for _ in range(depth))
        self.more = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)
    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        for at, block in enumerate(self.more):
            x = block(x)
            x = F.silu(x)
        x = self.norm(x)
        return self.head(x)
model = Rounds()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randn(8 * n, 12), torch.randint(10, (8 * n,)))"""
).replace("batch_size=8", "batch_size=64")
FIRST, SECOND = "self.blocks:\n            x = block(x)", "(self.more):\n            x = block(x)"


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rounds")
    record(folder, ROUNDS)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (FIRST, FIRST + "\n            x = F.relu(x)", ["relu added"]),
        (FIRST, FIRST + "\n            x = self.norm(x)", ["LayerNorm(24) called"]),
        (FIRST, FIRST.replace("block(x)", "F.dropout(block(x), 0.1)"), ["dropout added"]),
        (SECOND, SECOND + "\n            x = torch.tanh(x)", ["tanh added"]),
        ("            x = F.silu(x)\n", "", ["silu removed"]),
        ("F.silu(x)", "F.gelu(x)", ["silu → gelu"]),
    ],
)
def test_rounds_of_a_loop_do_more_or_less(rounds: Path, tmp_path: Path, old: str, new: str, what: list[str]) -> None:
    text = edit(rounds, ROUNDS, old, new)
    assert told_as_run(rounds, text, tmp_path) == what


@pytest.mark.parametrize("other", ["for block in self.blocks:\n            x = x + block(x)", "x = self.blocks[0](x)"])
def test_layers_that_something_else_calls_too_are_not_taken_for_those_of_the_loop(tmp_path: Path, other: str) -> None:
    text = ROUNDS.replace("x = self.first(x)\n", f"x = self.first(x)\n        {other}\n")
    record(tmp_path, text)
    at = "x = block(x)\n        for at"
    edit(tmp_path, text, at, at.replace("x)\n", "x)\n            x = F.relu(x)\n"))
    (refused,) = predicted(tmp_path)["refused"]
    assert refused["reason"] == "where this is called in the recorded step cannot be told"


def test_a_round_that_calls_its_block_twice_or_never_is_refused(rounds: Path) -> None:
    for new in (FIRST + "\n            x = block(x)", FIRST.replace("x = block(x)", "pass")):
        edit(rounds, ROUNDS, FIRST, new)
        (refused,) = predicted(rounds)["refused"]
        assert refused["reason"] == "Rounds.forward was edited; only plain calls of layers in it are followed"
