"""A real model file as people change it: its hints stay with the statements they belong to."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lsp_client import Client
from real_file import labels, profiled_copy, statement_at

Placed = list[tuple[str, str, str]]  # names around the statement, what it says, label
Edit = Callable[[str], str]


class Editor:
    """The file open in an editor: gives its hints for any text."""

    def __init__(self, folder: Path) -> None:
        self.model = profiled_copy(folder)
        self.original = self.model.read_text()
        self.client = Client(cwd=folder)
        self.client.initialize([folder], options={"hints": {"minPercent": 0}})
        self.uri = self.client.open(self.model)
        self.client.hints_when_known(self.uri)
        self.version = 1

    def type(self, text: str) -> Placed:
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        hints = labels(self.client.hints(self.uri))
        return [(around, says, label) for line, label in hints for says, around in [statement_at(text, line)]]


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    opened = Editor(tmp_path_factory.mktemp("real").resolve())
    yield opened
    opened.client.kill()


def formatted(text: str, *options: str) -> str:
    return subprocess.run(["ruff", "format", *options, "-"], input=text, check=True, capture_output=True, text=True).stdout


def with_tabs(text: str) -> str:
    """Indented by tabs; what stands inside of texts stays."""
    strings = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.STRING]
    inside = {line for token in strings for line in range(token.start[0] + 1, token.end[0] + 1)}
    tabs = re.compile(r"^(?: {4})+")
    lines = text.splitlines(keepends=True)
    return "".join(
        line if number in inside else tabs.sub(lambda blanks: "\t" * (len(blanks[0]) // 4), line) for number, line in enumerate(lines, 1)
    )


def class_of(text: str, name: str) -> str:
    found = re.search(rf"(?ms)^class {name}\b.*?(?=^\S)", text)
    assert found
    return found[0]


def with_a_base(text: str) -> str:
    """The layers of GPT2MLP in a base class of their own."""
    whole = class_of(text, "GPT2MLP")
    header, forward = whole.index("class GPT2MLP("), whole.index("    def forward")
    base = whole[header:forward].replace("class GPT2MLP(", "class MLPLayers(", 1)
    return text.replace(whole, base + "\n\nclass GPT2MLP(MLPLayers):\n" + whole[forward:])


def with_a_helper(text: str) -> str:
    """A layer of GPT2MLP made by a method."""
    whole = class_of(text, "GPT2MLP")
    line = next(each for each in whole.splitlines(keepends=True) if "self.c_fc = " in each)
    moved = whole.replace(line, "        self.make(intermediate_size, embed_dim)\n").replace(
        "    def forward", "    def make(self, intermediate_size, embed_dim):\n" + line + "\n    def forward", 1
    )
    return text.replace(whole, moved)


def with_a_condition(text: str) -> str:
    """What GPT2MLP's forward does, under a condition."""
    whole = class_of(text, "GPT2MLP")
    head, body = re.split(r"(?m)(?<=:\n)(?=        hidden_states = self.c_fc)", whole, maxsplit=1)
    return text.replace(whole, head + "        if hidden_states is not None:\n" + textwrap.indent(body.rstrip() + "\n", "    ") + "\n\n")


def retyped(text: str) -> str:
    """A layer commented out, and typed again below."""
    line = next(each for each in text.splitlines(keepends=True) if "self.c_attn = Conv1D(3" in each)
    return text.replace(line, "            # " + line.strip() + "\n" + line, 1)


def copied_above(text: str) -> str:
    """A copy of a class under another name, above the original."""
    whole = class_of(text, "GPT2MLP")
    return text.replace(whole, whole.replace("GPT2MLP", "WiderMLP") + whole)


SAME_STATEMENTS: dict[str, Edit] = {
    "wide": lambda text: formatted(text, "--line-length", "200", "--config", "format.quote-style='single'"),
    "tabs": with_tabs,
    "retyped": retyped,
    "copied class": copied_above,
    "lines above": lambda text: "# one\n\n" * 40 + text,
}


@pytest.mark.parametrize("edit", SAME_STATEMENTS.values(), ids=SAME_STATEMENTS)
def test_a_change_of_form_leaves_every_hint_on_its_statement(editor: Editor, edit: Edit) -> None:
    before = editor.type(editor.original)
    text = edit(editor.original)
    assert len(before) > 40 and text != editor.original
    assert editor.type(text) == before
    assert editor.type(editor.original) == before


def test_calls_that_get_a_line_of_their_own_have_a_hint_there(editor: Editor) -> None:
    before = editor.type(editor.original)
    after = editor.type(formatted(editor.original, "--line-length", "60"))
    assert {each[:2] for each in after} == {each[:2] for each in before}
    assert set(before) <= set(after) and not any(label[0] in "~≠" for _, _, label in after)


MOVED: dict[str, tuple[Edit, int]] = {  # and how many statements have other names around them then
    "base class": (with_a_base, 4),
    "helper": (with_a_helper, 1),
    "condition": (with_a_condition, 0),
}


@pytest.mark.parametrize(("edit", "moved"), MOVED.values(), ids=MOVED)
def test_a_layer_that_is_moved_takes_its_hint_along(editor: Editor, edit: Edit, moved: int) -> None:
    before = editor.type(editor.original)
    text = edit(editor.original)
    after = editor.type(text)
    plain = [(says, label.lstrip("~≠ ")) for _, says, label in after]
    assert sorted(plain) == sorted((says, label) for _, says, label in before)
    assert len({(around, says) for around, says, _ in after} - {(around, says) for around, says, _ in before}) == moved
    assert editor.type(editor.original) == before


def test_a_renamed_class_has_its_hints_under_the_new_name(editor: Editor) -> None:
    before = editor.type(editor.original)
    after = editor.type(re.sub(r"\bGPT2MLP\b", "FeedForward", editor.original))
    renamed = [(around.replace("GPT2MLP", "FeedForward"), says.replace("GPT2MLP", "FeedForward"), label) for around, says, label in before]
    assert [each[:2] for each in after] == [each[:2] for each in renamed]
    touched = [now for now, old in zip(after, before, strict=True) if now[1] != old[1]]
    assert touched and all(label[0] in "~≠" for _, _, label in touched)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_stash_and_another_branch_map_by_content(editor: Editor) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *identity, *words], cwd=editor.model.parent, check=True, capture_output=True, text=True)
        return done.stdout

    original = editor.type(editor.original)
    git("init", "-q", "-b", "main")
    git("add", "gpt.py", "train.py")
    git("commit", "-q", "-m", "as profiled")
    try:
        editor.model.write_text(with_a_base(with_a_condition(editor.original)))
        edited = editor.type(editor.model.read_text())
        assert edited != original
        git("stash", "-q")
        assert editor.type(editor.model.read_text()) == original
        git("checkout", "-q", "-b", "other")
        editor.model.write_text(re.sub(r"\bGPT2Attention\b", "Attention", editor.original))
        git("commit", "-q", "-am", "another name")
        other = editor.type(editor.model.read_text())
        assert len(other) == len(original) and other != original
        git("checkout", "-q", "main")
        assert editor.type(editor.model.read_text()) == original
        git("stash", "pop", "-q")
        assert editor.type(editor.model.read_text()) == edited
    finally:
        editor.model.write_text(editor.original)
