"""Where the time is spent, over all files: the list, the way through it, the word after a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, move_outside
from lsp_client import RICH, Client, text_of, uri_of

Start = Callable[..., Client]
PROFILE, HOT = "hotlens.server.profile", "hotlens.server.hotLine"
RUN_LIMIT = 90.0
SHOWS = {"workDoneProgress": True, "showDocument": {"support": True}, "showMessage": {"messageActionItem": {}}}
TALKS = {**RICH, "window": SHOWS, "experimental": {"hotlens": {"protocolVersion": 1, "dialogs": True}}}


def known(client: Client, **params: Any) -> Any:
    """The list, once the profile is loaded."""
    client.wait(lambda: client.request("hotlens/profileState").get("profile"))
    return client.request("hotlens/hotLines", params)


def test_the_list_says_what_the_hints_say(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example], TALKS, {"hints": {"minPercent": 0}})  # on a busy machine some lines have less than the usual 1 %
    unopened = known(client)
    lines = unopened["lines"]
    assert unopened["total"] == len(lines) > 10
    assert [each["share"] for each in lines] == sorted((each["share"] for each in lines), reverse=True)
    hints: dict[tuple[str, int], str] = {}
    for file in {each["uri"].rsplit("/", 1)[1] for each in lines}:
        uri = client.open(example / file)
        for hint in client.hints_when_known(uri):
            hints[uri, hint["position"]["line"]] = text_of(hint["label"])
    for each in lines:
        place = each["uri"], each["position"]["line"]
        assert hints[place] == each["label"]
        source = (example / each["uri"].rsplit("/", 1)[1]).read_text().splitlines()[place[1]]
        assert source.strip() == each["text"] and source.index(each["text"]) == each["position"]["character"]
    assert known(client) == unopened  # open or not
    assert known(client, limit=2)["lines"] == lines[:2]
    texts = [each["text"] for each in lines]
    assert not any(text.startswith(("class ", "main()", "loss = train_epoch(", "loss.backward()", "outputs = model(")) for text in texts)
    assert any(text.startswith("self.conv") for text in texts)
    assert not any(text.startswith("return nn.Conv2d(") for text in texts)  # in a helper


def test_an_edit_moves_and_marks_the_lines_of_the_list(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example], TALKS)
    before = next(each for each in known(client)["lines"] if each["uri"].endswith("/blocks.py"))
    uri = client.open(example / "blocks.py")
    client.hints_when_known(uri)
    edit = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "\n\n"}
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [edit]})
    after = next(each for each in known(client)["lines"] if each["uri"] == uri)
    assert after["text"] == before["text"] and after["position"]["line"] == before["position"]["line"] + 2


def test_next_and_previous_go_through_the_list_and_round(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example], TALKS)
    lines = known(client)["lines"]
    here: dict[str, Any] = {"uri": uri_of(example / "train.py"), "position": {"line": 0, "character": 0}}
    for rank, each in enumerate([*lines, lines[0]]):
        shown = client.command(HOT, here)
        assert shown["shown"] is True and shown["rank"] == rank % len(lines) + 1 and shown["total"] == len(lines)
        place = client.messages("window/showDocument")[-1]
        assert (place["uri"], place["selection"]["start"]) == (each["uri"], each["position"])
        here = {"uri": place["uri"], "position": place["selection"]["start"]}
    assert client.command(HOT, {**here, "back": True})["rank"] == len(lines)
    assert client.command(HOT)["rank"] == 1
    assert client.command(HOT, {"back": True})["rank"] == len(lines)


def test_without_a_profile_the_next_step_is_said(start: Start, tmp_path: Path) -> None:
    client = start()
    client.initialize([tmp_path], TALKS)
    assert client.request("hotlens/hotLines", {}) == {"lines": [], "total": 0}
    answer = client.command(HOT)
    assert answer["shown"] is False and "Profile" in answer["message"]


@pytest.mark.parametrize("params", [{"limit": "x"}, {"textDocument": {}}, {"textDocument": {"uri": 5}}])
def test_wrong_requests_are_refused(start: Start, tmp_path: Path, params: Any) -> None:
    client = start()
    client.initialize([tmp_path], TALKS)
    with pytest.raises(Exception, match="expected"):
        client.request("hotlens/hotLines", params)
    with pytest.raises(Exception, match="expected"):
        client.command(HOT, {"position": 5})


def test_in_an_untrusted_workspace_no_file_outside_of_it_is_read(start: Start, example: Path, tmp_path: Path) -> None:
    move_outside(example / "blocks.py", tmp_path / "elsewhere")
    client = start()
    client.initialize([example], TALKS, {"trusted": False})
    assert not any(each["uri"].endswith("blocks.py") for each in known(client)["lines"])
    client.notify("hotlens/trust", {"trusted": True})
    assert any(each["uri"].endswith("blocks.py") for each in known(client)["lines"])


def test_after_a_run_the_hottest_line_is_said_and_shown(start: Start, unprofiled: Path) -> None:
    client = start()
    client.answer["window/showMessageRequest"] = lambda params: {"result": params["actions"][0]}
    options = {"python": PYTHON, "profile": {"warmup": 1, "steps": 2, "args": ["--epochs", "1"]}}
    client.initialize([unprofiled], TALKS, options)
    uri = client.open(unprofiled / "train.py")
    client.command(PROFILE, {"uri": uri})
    said = client.next_message("window/showMessageRequest", limit=RUN_LIMIT)
    assert said["type"] == 3 and [action["title"] for action in said["actions"]] == ["Show line", "Hot lines"]
    hottest = client.request("hotlens/hotLines", {})["lines"][0]
    file, line = hottest["uri"].rsplit("/", 1)[1], hottest["position"]["line"] + 1
    assert said["message"].startswith("train.py: ") and said["message"].endswith(f"Hottest line: {file}:{line}, {hottest['label']}.")
    # The first time it is shown at once, where it takes no focus, and again when somebody asks.
    at_once, shown = client.next_message("window/showDocument"), client.next_message("window/showDocument", after=1)
    assert (shown["uri"], shown["selection"]["start"]) == (hottest["uri"], hottest["position"])
    assert at_once == {**shown, "takeFocus": False} and shown["takeFocus"]
    client.answer["window/showMessageRequest"] = lambda params: {"result": params["actions"][1]}
    client.command(PROFILE, {"uri": uri})
    client.next_message("hotlens/showHotLines", limit=RUN_LIMIT)
    assert len(client.messages("window/showDocument")) == 2
