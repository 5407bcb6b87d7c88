"""Attention that a script writes out, as one call of torch's: the edited text trains as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_layer_edits import losses
from test_whatif import Change, answer, ask, changed, record, row
from training import LOOP

# As nanoGPT writes it.
GPT = LOOP.format(
    model="""import math
class CausalSelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.c_attn, self.c_proj, self.n_head = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.attn_dropout = nn.Dropout(0.0)
        self.register_buffer("bias", torch.tril(torch.ones(24, 24)).view(1, 1, 24, 24))
    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        # causal self-attention
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))  # no look into the future
        att = F.softmax(att, dim=-1)
        att = self.attn_dropout(att)
        y = att @ v
        return x + self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))
model = nn.Sequential(nn.Embedding(100, 64), CausalSelfAttention(64, 4), CausalSelfAttention(64, 4), nn.Flatten(), nn.Linear(64 * 24, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tensors = lambda n: (torch.randint(100, (n, 24)), torch.randint(10, (n,)))
"""
)
GPT_NOW: list[Change] = [
    ("        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))\n", ""),
    ('        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))  # no look into the future\n', ""),
    ("        att = F.softmax(att, dim=-1)\n        att = self.attn_dropout(att)\n", ""),
    (
        "y = att @ v",
        "y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias[:, :, :T, :T] != 0, "
        "dropout_p=self.attn_dropout.p if self.training else 0.0)",
    ),
]

# As BERT's is in libraries: a mask that may be None, a size of its own.
BERT = LOOP.format(
    model="""import math
class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_size = heads, width // heads
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = nn.Dropout(0.0)
    def split(self, x):
        return x.view(*x.shape[:2], self.heads, self.head_size).permute(0, 2, 1, 3)
    def forward(self, x, attention_mask=None):
        query_layer, key_layer, value_layer = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        attention_scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))
        attention_scores = attention_scores / math.sqrt(self.head_size)
        if attention_mask is not None:
            attention_scores = attention_scores + attention_mask
        attention_probs = nn.functional.softmax(attention_scores, dim=-1)
        attention_probs = self.dropout(attention_probs)
        context = torch.matmul(attention_probs, value_layer)
        return context.permute(0, 2, 1, 3).flatten(2)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(100, 64), nn.Linear(64, 10)
        self.first, self.second = SelfAttention(64, 4), SelfAttention(64, 2)
    def forward(self, x):
        mask = (x < 10)[:, None, None, :] * -1e9
        return self.head(self.second(self.first(self.words(x), mask)).mean(1))
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tensors = lambda n: (torch.randint(100, (n, 24)), torch.randint(10, (n,)))
"""
)
BERT_NOW: list[Change] = [
    ("        attention_scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))\n", ""),
    ("        attention_scores = attention_scores / math.sqrt(self.head_size)\n", ""),
    ("        if attention_mask is not None:\n            attention_scores = attention_scores + attention_mask\n", ""),
    (
        "        attention_probs = nn.functional.softmax(attention_scores, dim=-1)\n"
        "        attention_probs = self.dropout(attention_probs)\n",
        "",
    ),
    (
        "torch.matmul(attention_probs, value_layer)",
        "F.scaled_dot_product_attention(query_layer, key_layer, value_layer, attn_mask=attention_mask, "
        "dropout_p=self.dropout.p if self.training else 0.0, scale=1.0 / math.sqrt(self.head_size))",
    ),
]

# A function of no class, one expression, and a condition that chooses.
OTHERS = LOOP.format(
    model="""import math
def attention(query, key, value, mask):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    scores = scores.masked_fill(mask == 0, -1e9)
    return torch.matmul(scores.softmax(dim=-1), value)
class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.scale = nn.Linear(width, 3 * width), width**-0.5
        self.bias = nn.Parameter(torch.zeros(24, 24))
        self.register_buffer("seen", torch.ones(24, 24).tril() == 1)
class First(Part):
    def forward(self, x):
        return attention(*self.qkv(x).chunk(3, 2), self.seen)
class Second(Part):
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, 2)
        return torch.bmm(torch.softmax((q * self.scale) @ k.mT + self.bias, dim=2), v)
class Third(Part):
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, 2)
        scores = self.scale * (q @ k.transpose(1, 2))
        scores = torch.where(self.seen, scores, float("-inf"))
        return F.softmax(scores, 2).to(v.dtype).matmul(v)
model = nn.Sequential(nn.Embedding(100, 32), First(32), Second(32), Third(32), nn.Flatten(), nn.Linear(32 * 24, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tensors = lambda n: (torch.randint(100, (n, 24)), torch.randint(10, (n,)))
"""
)
CALL = "F.scaled_dot_product_attention"
OTHERS_NOW: list[Change] = [
    ("    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)\n    scores = scores.masked_fill(mask == 0, -1e9)\n", ""),
    (
        "torch.matmul(scores.softmax(dim=-1), value)",
        f"{CALL}(query, key, value, attn_mask=mask != 0, scale=1.0 / math.sqrt(d_k))",
    ),
    (
        "torch.bmm(torch.softmax((q * self.scale) @ k.mT + self.bias, dim=2), v)",
        f"{CALL}(q * self.scale, k, v, attn_mask=self.bias, scale=1.0)",
    ),
    (
        '        scores = self.scale * (q @ k.transpose(1, 2))\n        scores = torch.where(self.seen, scores, float("-inf"))\n',
        "",
    ),
    ("F.softmax(scores, 2).to(v.dtype).matmul(v)", f"{CALL}(q, k, v, attn_mask=self.seen, scale=float(self.scale))"),
]

CASES: dict[str, tuple[str, list[Change]]] = {"gpt": (GPT, GPT_NOW), "bert": (BERT, BERT_NOW), "others": (OTHERS, OTHERS_NOW)}


@pytest.mark.parametrize("name", CASES)
def test_attention_as_one_call_trains_as_before(tmp_path: Path, name: str) -> None:
    script, changes = CASES[name]
    folder = tmp_path / "work"
    record(folder, script)
    item = row(answer(folder, "fused_attention")["items"], "fused_attention")
    shown = ask(folder, "fused_attention", "--apply", "--dry-run")
    assert "` removed\n" in shown.stdout and "` → `F.scaled_dot_product_attention(" in shown.stdout
    assert shown.returncode == 0 and (folder / "train.py").read_text() == script
    done = ask(folder, "fused_attention", "--apply")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (folder / "train.py").read_text()
    assert text == changed(script, changes)
    assert losses(text) == pytest.approx(losses(script), rel=1e-5)
    assert item["peak_bytes"] == pytest.approx(record(tmp_path / "after", text), rel=0.001)


def test_scores_that_are_used_elsewhere_stay(tmp_path: Path) -> None:
    script = changed(GPT, [("        y = att @ v\n", "        y = att @ v\n        self.last_shape = att.shape\n")])
    record(tmp_path / "work", script)
    done = ask(tmp_path / "work", "fused_attention", "--apply")
    assert done.returncode == 3
    assert "`att` is used elsewhere in the function, too" in done.stdout
    assert "by hand: call F.scaled_dot_product_attention" in done.stdout
