"""The timeline over the editor's own connection, and beside it from a page in a browser."""

from __future__ import annotations

import json
import re
import sys
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import RICH, Client, RequestError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from page_socket import Address, Page

Start = Callable[..., Client]
OPEN = "hotlens.server.openTimeline"
CAPABLE: dict[str, Any] = {**RICH, "window": {"workDoneProgress": True, "showDocument": {"support": True}}, "experimental": {"hotlens": {}}}


def opened(start: Start, folder: Path, capabilities: dict[str, Any] = CAPABLE) -> tuple[Client, str]:
    client = start()
    client.initialize([folder], capabilities)
    uri = client.open(folder / "model.py")
    client.hints_when_known(uri)
    return client, uri


def position(folder: Path, text: str) -> dict[str, int]:
    lines = (folder / "model.py").read_text().splitlines()
    return {"line": next(number for number, line in enumerate(lines) if text in line), "character": 9}


def test_the_connection_answers_the_timelines_requests(start: Start, example: Path) -> None:
    client, _ = opened(start, example)
    listed = client.request("hotlens/timeline/profiles")
    assert listed["current"] == listed["profiles"][0]["id"]
    overview = client.request("hotlens/timeline/overview", {})
    state = client.request("hotlens/profileState", {})
    assert overview["profile"]["id"] == state["profile"]["id"]
    level = client.request("hotlens/timeline/level", {"path": ["forward"], "width": 800})
    assert level["block"]["label"] == "forward"
    assert level["tracks"][0]["busy"] > 0
    with pytest.raises(RequestError) as refused:
        client.request("hotlens/timeline/level", {"path": ["nobody"], "width": 800})
    assert refused.value.code == -32602


def label_of(hint: dict[str, Any]) -> str:
    label = hint["label"]
    return label if isinstance(label, str) else "".join(part["value"] for part in label)


def test_a_stage_says_what_the_hint_of_its_line_says(start: Start, example: Path) -> None:
    """The blocks are of a step with the profiler, hints of loops are of those without one."""
    client, _ = opened(start, example)
    uri = client.open(example / "train.py")
    hints = {hint["position"]["line"]: label_of(hint) for hint in client.hints_when_known(uri)}
    lines = (example / "train.py").read_text().splitlines()
    for stage, code in (("forward", "outputs = model(images)"), ("backward", "loss.backward()")):
        number, unit = hints[next(line for line, text in enumerate(lines) if code in text)].split()[:2]
        details = client.request("hotlens/timeline/details", {"path": [stage]})
        assert details["plain"] == pytest.approx(float(number) * {"ms": 1e6, "µs": 1e3}[unit], rel=0.01)
        assert details["plain"] != details["duration"]
    assert "plain" not in client.request("hotlens/timeline/details", {"path": []})


def test_a_line_opens_its_block_and_the_cursor_selects_it(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    at = position(example, "self.layer1 = ")
    client.notify("hotlens/timeline/cursor", {"textDocument": {"uri": uri}, "position": at})  # before a timeline is open: nothing
    place = client.command(OPEN, {"uri": uri, "position": at})
    assert place["path"][-1] == "layer1"
    assert "url" not in place
    details = client.request("hotlens/timeline/details", {"path": place["path"]})
    assert details["module"] == "layer1"
    found = next(one for one in details["places"] if one["what"] == "definition")
    assert found["file"] == str(example / "model.py")
    assert found["line"] == at["line"]
    assert "self.layer1 = " in found["text"][found["line"] - found["firstLine"]]
    seen = len(client.messages("hotlens/timeline/select"))
    client.notify("hotlens/timeline/cursor", {"textDocument": {"uri": uri}, "position": position(example, "self.layer2 = ")})
    selected = client.next_message("hotlens/timeline/select", after=seen)
    assert selected["path"][-1] == "layer2"
    assert client.request("hotlens/timeline/details", selected)["module"] == "layer2"


def linked(contents: dict[str, str]) -> dict[str, Any]:
    """The argument of the command that the last line links to."""
    link = re.search(r"\[Show in timeline\]\(command:hotlens\.showTimeline\?([^)]*)\)$", contents["value"])
    assert link, contents
    (argument,) = json.loads(urllib.parse.unquote(link[1]))
    assert set(argument) == {"uri", "position"}
    return dict(argument)


def test_hover_hint_and_lens_lead_to_the_block(start: Start, example: Path) -> None:
    links = {**CAPABLE, "experimental": {"hotlens": {"showTimeline": {"commandLinks": True}}}}
    client, uri = opened(start, example, links)
    at = position(example, "self.layer1 = ")
    hover = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})
    assert client.command(OPEN, linked(hover["contents"]))["path"][-1] == "layer1"
    (hint,) = client.hints(uri, at["line"], at["line"] + 1)
    assert client.command(OPEN, linked(hint["tooltip"]))["path"][-1] == "layer1"
    again, shown = client.offered_lenses(uri)
    assert shown["range"] == again["range"]
    assert shown["command"] == {"title": "Show in timeline", "command": OPEN, "arguments": [{"uri": uri}]}
    assert client.command(OPEN, {"uri": uri}) == {"profile": client.request("hotlens/profileState", {})["profile"]["id"]}


def test_of_several_calls_on_a_line_the_one_pointed_at_is_shown(start: Start, example: Path) -> None:
    client, _ = opened(start, example)
    blocks = example / "blocks.py"
    uri = client.open(blocks)
    client.hints_when_known(uri)
    lines = blocks.read_text().splitlines()
    number = next(number for number, line in enumerate(lines) if "self.bn1(self.conv1(x))" in line)
    for name in ("bn1", "conv1"):
        at = {"line": number, "character": lines[number].index(name) + 1}
        assert client.command(OPEN, {"uri": uri, "position": at})["path"][-1] == name


@pytest.mark.parametrize("markdown", [True, False])
def test_a_client_without_links_is_told_what_to_type(start: Start, example: Path, markdown: bool) -> None:
    plain = {**RICH["textDocument"], "hover": {"contentFormat": ["markdown" if markdown else "plaintext"]}}
    words = {"hotlens": {"showTimeline": {"commandLinks": not markdown, "words": ":Hotlens timeline"}}}
    client, uri = opened(start, example, {**CAPABLE, "textDocument": plain, "experimental": words})
    asked = {"textDocument": {"uri": uri}, "position": position(example, "self.layer1 = ")}
    assert client.request("textDocument/hover", asked)["contents"]["value"].splitlines()[-1] == "Show in timeline: :Hotlens timeline"
    assert len(client.offered_lenses(uri)) == 2


def test_other_clients_are_offered_nothing(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    asked = {"textDocument": {"uri": uri}, "position": position(example, "self.layer1 = ")}
    assert "timeline]" not in client.request("textDocument/hover", asked)["contents"]["value"]
    assert all("Show in timeline" not in hint["tooltip"]["value"] for hint in client.hints(uri))
    assert len(client.offered_lenses(uri)) == 1


def test_a_page_in_a_browser_shares_the_session(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    client.answer["window/showDocument"] = lambda params: {"result": {"success": True}}
    place = client.command(OPEN, {"uri": uri, "position": position(example, "self.layer1 = "), "browser": True})
    address = Address(place["url"])
    path = [urllib.parse.unquote(segment) for segment in address.state["path"][0].split("/")]
    assert path == place["path"]
    page = Page(address, Origin=f"http://{address.host}")
    assert page.status == 101
    assert page.ask("overview") == client.request("hotlens/timeline/overview", {})
    shown = page.ask("reveal", file=str(example / "model.py"), line=3)
    assert shown == {"shown": True}
    asked = client.next_message("window/showDocument")
    assert asked["uri"] == uri
    assert asked["selection"]["start"] == {"line": 3, "character": 0}
    client.notify("hotlens/timeline/cursor", {"textDocument": {"uri": uri}, "position": position(example, "self.layer2 = ")})
    message = json.loads(page.read_message())
    assert message["method"] == "hotlens/timeline/select"
    assert message["params"]["path"][-1] == "layer2"
    assert page.refused("nonsense")["code"] == -32601
    again = client.command(OPEN, {"browser": True})["url"]
    assert address.token not in place["url"] + again  # it stands on the browser's command line
    assert (Address(again).host, Address(client.command(OPEN, {"browser": True})["url"]).token) == (address.host, address.token)
    page.close()


def test_what_a_page_points_at_is_lit_where_it_stands_now_until_the_page_goes(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    at = position(example, "self.layer1 = ")
    address = Address(client.command(OPEN, {"uri": uri, "position": at, "browser": True})["url"])
    page = Page(address, Origin=f"http://{address.host}")
    top = {"line": 0, "character": 0}
    inserted = {"range": {"start": top, "end": top}, "text": "# a line above\n\n"}
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [inserted]})
    client.hints(uri)  # the change has arrived: the page speaks on another connection

    def pointed(*lines: dict[str, Any]) -> Any:
        seen = len(client.messages("hotlens/timeline/highlight"))
        assert page.ask("point", lines=list(lines)) == {"shown": True}
        return client.next_message("hotlens/timeline/highlight", after=seen)["lines"]

    line = {"file": str(example / "model.py"), "line": at["line"], "endLine": at["line"]}
    now = {"uri": uri, "line": at["line"] + 2, "endLine": at["line"] + 2}
    assert pointed(line, {**line, "file": str(example / "train.py")}, {**line, "file": "model.py"}) == [now]  # the others are not open
    assert pointed() == []
    seen = len(client.messages("hotlens/timeline/highlight"))
    page.ask("point", lines=[])  # nothing is highlighted: nothing is told
    assert page.refused("point", lines=[{"file": 3}])["code"] == -32602
    assert len(client.messages("hotlens/timeline/highlight")) == seen
    assert pointed(line) == [now]
    page.close()
    assert client.next_message("hotlens/timeline/highlight", after=seen + 1)["lines"] == []


def test_the_connection_knows_every_request_of_the_page(start: Start, example: Path) -> None:
    client, _ = opened(start, example)
    sums = client.request("hotlens/timeline/range", {"path": [], "from": 0, "to": 10**12})
    assert sums["operators"]
    assert client.request("hotlens/timeline/point", {"lines": []}) == {"shown": True}


def test_a_new_profile_is_announced(start: Start, example: Path) -> None:
    client, _ = opened(start, example)
    before = client.request("hotlens/timeline/profiles")
    bundle = next((example / ".hotlens" / "profiles").iterdir())
    newer = bundle.with_name("9" + bundle.name[1:])
    newer.mkdir()
    for file in bundle.rglob("*"):
        if file.is_file() and file.name != "manifest.json":
            copy = newer / file.relative_to(bundle)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["id"] = newer.name
    manifest["created"] = "2999-01-01T00:00:00Z"
    (newer / "manifest.json").write_text(json.dumps(manifest))
    assert client.next_message("hotlens/timeline/changed")["current"] == newer.name
    after = client.request("hotlens/timeline/profiles")
    assert [one["id"] for one in after["profiles"]] == [newer.name, before["current"]]
    assert after["current"] == newer.name
    rows = client.request("hotlens/timeline/compare", {"before": before["current"]})["rows"]
    assert {row["change"] for row in rows} == {"same"}


def test_without_a_profile_it_says_so(start: Start, unprofiled: Path) -> None:
    client = start()
    client.initialize([unprofiled], CAPABLE)
    with pytest.raises(RequestError) as refused:
        client.command(OPEN)
    assert "Profile the script" in str(refused.value)
    assert client.request("hotlens/timeline/profiles") == {"profiles": []}


def test_what_a_run_held_over_time_is_laid_on_the_measured_step(start: Start, example: Path) -> None:
    client, _ = opened(start, example)
    overview = client.request("hotlens/timeline/overview", {})
    lanes = client.request("hotlens/timeline/lanes", {"width": 4000})
    held = next(each for each in lanes["counters"] if each["id"] == "memory")
    assert held["laid"]
    assert held["peak"]["value"] == overview["memoryPeak"]
    # A network is held for its backward: the peak is in it, or right before.
    forward, backward = (client.request("hotlens/timeline/details", {"path": [stage]}) for stage in ("forward", "backward"))
    assert forward["start"] < held["peak"]["time"] <= backward["start"] + backward["duration"]
    assert held["start"] == sorted(held["start"])
    assert lanes["threads"][0]["id"] == "main"
