"""From a layer to its calls; and what can be copied of a line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import move_outside
from lsp_client import RICH, Client, text_of

Start = Callable[..., Client]
CALLS, DESCRIBE = "hotlens.server.calls", "hotlens.server.describe"
SHOWS = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1, "calls": True, "clipboard": True}}}


def place_in(path: Path, text: str, offset: int = 0) -> dict[str, Any]:
    for number, line in enumerate(path.read_text().splitlines()):
        if text in line:
            return {"uri": path.as_uri(), "position": {"line": number, "character": line.index(text) + offset}}
    raise AssertionError(text)


def texts(places: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(each["role"], each["uri"].rsplit("/", 1)[1], each["text"]) for each in places]


@pytest.fixture
def client(start: Start, example: Path) -> Client:
    client = start()
    client.initialize([example], SHOWS)
    client.hints_when_known(client.open(example / "blocks.py"))
    return client


def test_a_layer_leads_to_its_definition_and_calls_in_all_files_with_their_hints(client: Client, example: Path) -> None:
    found = client.command(CALLS, place_in(example / "blocks.py", "self.conv1 ="))["places"]
    assert texts(found) == [
        ("definition", "blocks.py", "self.conv1 = conv3x3(in_channels, out_channels, stride)"),
        ("constructor", "blocks.py", "return nn.Conv2d(in_channels, out_channels, kernel_size=3, stride=stride, padding=1, bias=False)"),
        ("call", "blocks.py", "out = F.relu(self.bn1(self.conv1(x)))"),
    ]
    uri = (example / "blocks.py").as_uri()
    hints = {hint["position"]["line"]: text_of(hint["label"]) for hint in client.hints(uri)}
    lines = (example / "blocks.py").read_text().splitlines()
    for each in found:
        start, end = each["range"]["start"], each["range"]["end"]
        assert each["label"] == hints[start["line"]]
        assert lines[start["line"]].strip() == each["text"] and start["line"] == end["line"]
    call = found[-1]["range"]
    assert lines[call["start"]["line"]][call["start"]["character"] : call["end"]["character"]] == "self.conv1(x)"
    # A file that is not open, as it is on the disk.
    block = client.command(CALLS, place_in(example / "blocks.py", "class BasicBlock"))["places"]
    assert {each["uri"].rsplit("/", 1)[1] for each in block} == {"blocks.py", "model.py"}
    assert ("class", "blocks.py", "class BasicBlock(nn.Module):") in texts(block)
    assert [each["role"] for each in block][-1] == "call"


def test_of_several_calls_on_a_line_the_one_at_the_cursor_counts(client: Client, example: Path) -> None:
    line = "out = F.relu(self.bn1(self.conv1(x)))"
    norm = client.command(CALLS, place_in(example / "blocks.py", line, line.index("bn1")))["places"]
    assert any("self.bn1 =" in each["text"] for each in norm) and not any("self.conv1 =" in each["text"] for each in norm)
    conv = client.command(CALLS, place_in(example / "blocks.py", line, line.index("conv1")))["places"]
    assert any("self.conv1 =" in each["text"] for each in conv) and not any("self.bn1 =" in each["text"] for each in conv)


def test_places_of_an_edited_document_are_where_they_are_now(client: Client, example: Path) -> None:
    asked = place_in(example / "blocks.py", "self.conv1 =")
    before = client.command(CALLS, asked)["places"]
    edit = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "\n"}
    client.notify("textDocument/didChange", {"textDocument": {"uri": asked["uri"], "version": 2}, "contentChanges": [edit]})
    asked["position"]["line"] += 1
    after = client.command(CALLS, asked)["places"]
    assert [each["range"]["start"]["line"] for each in after] == [each["range"]["start"]["line"] + 1 for each in before]


def test_without_a_layer_it_says_so(client: Client, example: Path) -> None:
    for argument in (
        [],
        [place_in(example / "blocks.py", "import torch")],
        [{"uri": "file:///nowhere.py", "position": {"line": 0, "character": 0}}],
    ):
        for command in (CALLS, DESCRIBE):
            answer = client.command(command, *argument)
            assert answer["message"].endswith(".") and not answer.get("places") and "markdown" not in answer
    for command in (CALLS, DESCRIBE):
        with pytest.raises(Exception, match="expected"):
            client.command(command, {"uri": 5})


def test_in_an_untrusted_workspace_no_file_outside_of_it_is_read(start: Start, example: Path, tmp_path: Path) -> None:
    move_outside(example / "model.py", tmp_path / "elsewhere")
    client = start()
    client.initialize([example], SHOWS, {"trusted": False})
    client.hints_when_known(client.open(example / "blocks.py"))
    asked = place_in(example / "blocks.py", "class BasicBlock")
    assert {each["uri"].rsplit("/", 1)[1] for each in client.command(CALLS, asked)["places"]} == {"blocks.py"}


def actions(client: Client, example: Path, text: str) -> dict[str, Any]:
    asked = place_in(example / "blocks.py", text)
    range = {"start": asked["position"], "end": asked["position"]}
    params = {"textDocument": {"uri": asked["uri"]}, "range": range, "context": {"diagnostics": [], "only": ["hotlens.show"]}}
    return {each["title"]: each for each in client.request("textDocument/codeAction", params)}


def test_code_actions_offer_both_where_the_client_can(start: Start, client: Client, example: Path) -> None:
    offered = actions(client, example, "self.conv1 =")
    assert set(offered) == {"Show calls of this layer", "Copy as Markdown"}
    command = offered["Show calls of this layer"]["command"]
    assert command["command"] == CALLS and command["arguments"] == [place_in(example / "blocks.py", "self.conv1 =")]
    assert actions(client, example, "import torch") == {}
    plain = start()
    plain.initialize([example])
    plain.hints_when_known(plain.open(example / "blocks.py"))
    assert actions(plain, example, "self.conv1 =") == {}


def test_a_line_is_copied_with_its_place_its_code_and_its_numbers(client: Client, example: Path) -> None:
    copied = client.command(DESCRIBE, place_in(example / "blocks.py", "self.conv1 ="))["markdown"]
    line = place_in(example / "blocks.py", "self.conv1 =")["position"]["line"] + 1
    assert copied.startswith(f"blocks.py:{line}\n```python\n")
    assert "self.conv1 = conv3x3(" in copied and "**conv1** Conv2d" in copied and "backward" in copied
    assert "data:image" not in copied and "command:" not in copied


def lines_seen(markdown: str) -> int:
    return sum(1 for line in markdown.splitlines() if line.strip() and not line.startswith("```"))


LINKS = {**SHOWS["experimental"]["hotlens"], "images": True, "showTimeline": {"commandLinks": True}}


def hover(client: Client, asked: dict[str, Any]) -> str:
    answer = client.request("textDocument/hover", {"textDocument": {"uri": asked["uri"]}, "position": asked["position"]})
    return str(answer["contents"]["value"]) if answer else ""


def test_hovers_have_at_most_ten_lines_and_offer_what_can_be_done(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example], {**RICH, "experimental": {"hotlens": LINKS}})
    for file in ("blocks.py", "model.py", "train.py"):
        path = example / file
        uri = client.open(path)
        for hint in client.hints_when_known(uri):
            number = hint["position"]["line"]
            line = path.read_text().splitlines()[number]
            for character in (0, len(line) - len(line.lstrip()), len(line) // 2):
                shown = hover(client, {"uri": uri, "position": {"line": number, "character": character}})
                assert 0 < lines_seen(shown) <= 10, shown
    shown = hover(client, place_in(example / "blocks.py", "self.conv1 ="))
    last = shown.splitlines()[-1]
    for title, command in (("Show in timeline", "showTimeline"), ("Show calls", "showCalls"), ("Copy as Markdown", "copyLine")):
        assert f"[{title}](command:hotlens.{command}?" in last
    assert "instances (×" in shown


def test_the_loop_names_its_largest_layers_and_what_limits_the_step(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example])
    client.hints_when_known(client.open(example / "train.py"))
    shown = hover(client, place_in(example / "train.py", "for images, labels in loader"))
    assert "largest layers: " in shown and shown.count("conv") >= 1
    assert lines_seen(shown) <= 10
    assert "largest layers" not in hover(client, place_in(example / "train.py", "loss.backward()"))
