"""Hints, hover, lenses and actions of a real profile, and documents that change."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import RICH, Client, uri_of

Start = Callable[..., Client]


def line_of(path: Path, text: str) -> int:
    return next(number for number, line in enumerate(path.read_text().splitlines()) if text in line)


def text_of(hint: dict[str, Any]) -> str:
    label: str | list[dict[str, Any]] = hint["label"]
    return label if isinstance(label, str) else "".join(part["value"] for part in label)


def by_line(hints: list[dict[str, Any]]) -> dict[int, str]:
    return {hint["position"]["line"]: text_of(hint) for hint in hints}


def opened(start: Start, folder: Path, name: str = "model.py", **options: Any) -> tuple[Client, str]:
    client = start()
    client.initialize([folder], **options)
    uri = client.open(folder / name)
    client.hints_when_known(uri)
    return client, uri


def at(line: int, character: int = 0) -> dict[str, int]:
    return {"line": line, "character": character}


def test_layers_have_their_times_at_the_end_of_their_lines(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    hints = client.hints(uri)
    lines = (example / "model.py").read_text().splitlines()
    assert [h["position"] for h in hints] == sorted((h["position"] for h in hints), key=lambda p: p["line"])
    assert len(by_line(hints)) == len(hints)
    for hint in hints:
        label = text_of(hint)
        assert 0 < len(label) <= 20 and "\n" not in label
        assert hint["position"]["character"] == len(lines[hint["position"]["line"]])
        assert hint["paddingLeft"] is True and "textEdits" not in hint and "kind" not in hint
        assert hint["tooltip"]["kind"] == "markdown" and hint["tooltip"]["value"]
    assert line_of(example / "model.py", "self.layer1 = ") in by_line(hints)
    assert line_of(example / "model.py", "x = self.layer3(x)") in by_line(hints)
    assert client.hints(uri) == hints


def test_several_calls_of_a_line_are_parts_of_its_label(start: Start, example: Path) -> None:
    client, uri = opened(start, example, "blocks.py")
    lines = (example / "blocks.py").read_text().splitlines()
    parted = [hint for hint in client.hints(uri) if isinstance(hint["label"], list)]
    assert parted != []
    for hint in parted:
        line, label = lines[hint["position"]["line"]], hint["label"]
        told = [part for part in label if "location" in part]
        assert len(label) >= 3 and told != []
        assert all(part["value"] for part in label) and "tooltip" not in label[-1]
        # Left to right, like the calls: each part leads to the definition of a name that the line calls.
        names = [lines[part["location"]["range"]["start"]["line"]].split("self.")[1].split(" =")[0] for part in told]
        places = [line.index(f"self.{name}(") for name in names]
        assert places == sorted(places)
        assert all(part["location"]["uri"] == uri and name in part["tooltip"]["value"] for part, name in zip(told, names))


def test_the_range_is_exact_at_both_ends(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    all_lines = sorted(by_line(client.hints(uri)))
    for line in all_lines:
        assert sorted(by_line(client.hints(uri, line, line + 1))) == [line]
    assert client.hints(uri, 0, 1) == [] or 0 in all_lines
    assert sorted(by_line(client.hints(uri, all_lines[1], 2**31 - 1))) == all_lines[1:]
    assert client.hints(uri, 5000, 6000) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_in_each_encoding(start: Start, example: Path, encoding: str) -> None:
    path = example / "model.py"
    text = path.read_text().replace("        x = self.layer1(x)", '        x = self.layer1(x); "é漢😀"', 1)
    client = start()
    rich = {**RICH, "general": {"positionEncodings": [encoding, "utf-16"]}}
    assert client.initialize([example], capabilities=rich)["capabilities"]["positionEncoding"] == encoding
    uri = client.open(path, text)
    client.hints_when_known(uri)
    line = next(n for n, content in enumerate(text.splitlines()) if "漢" in content)
    content = text.splitlines()[line]
    units = {"utf-8": len(content.encode()), "utf-16": len(content.encode("utf-16-le")) // 2, "utf-32": len(content)}
    (hint,) = client.hints(uri, line, line + 1)
    assert hint["position"] == at(line, units[encoding])


def test_hover_says_what_was_measured_and_where(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    line = line_of(example / "model.py", "self.layer1 = ")
    column = (example / "model.py").read_text().splitlines()[line].index("layer1") + 2
    hover = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at(line, column)})
    assert hover["contents"]["kind"] == "markdown" and "layer1" in hover["contents"]["value"]
    assert hover["range"]["start"]["line"] <= line <= hover["range"]["end"]["line"]
    blank = line_of(example / "model.py", '"""A small')
    assert client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at(blank, 3)}) is None


def test_lens_and_action_offer_to_profile(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    (lens,) = client.offered_lenses(uri)
    assert lens["range"]["start"]["line"] == lens["range"]["end"]["line"]
    assert lens["command"]["command"] == "hotlens.server.profile" and lens["command"]["arguments"] == [{"uri": uri}]
    ask = {"textDocument": {"uri": uri}, "range": {"start": at(0), "end": at(0)}}

    def titles(**context: Any) -> list[str]:
        actions = client.request("textDocument/codeAction", {**ask, "context": {"diagnostics": [], **context}})
        assert all(a["kind"] in ("hotlens.profile", "hotlens.whatIf") for a in actions)
        return [a["title"] for a in actions]

    assert titles() == titles(triggerKind=2) == titles(only=["hotlens"]) == ["Profile again", "What would help here?"]
    assert titles(only=["hotlens.profile"]) == ["Profile again"]
    assert titles(only=["quickfix"]) == titles(only=["source.organizeImports"]) == titles(only=["source"]) == []


def test_lazy_tooltips_come_on_request_and_only_for_their_version(start: Start, example: Path) -> None:
    lazy = {**RICH, "textDocument": {**RICH["textDocument"], "inlayHint": {"resolveSupport": {"properties": ["tooltip"]}}}}
    client, uri = opened(start, example, capabilities=lazy)
    hint = client.hints(uri)[0]
    assert "tooltip" not in hint
    assert client.request("inlayHint/resolve", hint)["tooltip"]["value"]
    for foreign in (
        {**hint, "data": {"from": "elsewhere"}},
        {**hint, "data": [999, 1]},
        {**hint, "data": 5},
        {k: v for k, v in hint.items() if k != "data"},
    ):
        assert client.request("inlayHint/resolve", foreign) == foreign
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "x = 1\n"}]})
    assert client.request("inlayHint/resolve", hint) == hint


def change(client: Client, uri: str, version: int, *changes: dict[str, Any]) -> None:
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)})


def test_hints_follow_edits_and_come_back_with_undo(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    before = by_line(client.hints(uri))
    change(client, uri, 2, {"range": {"start": at(0), "end": at(0)}, "text": "# one\n# two\n"})
    assert by_line(client.hints(uri)) == {line + 2: label for line, label in before.items()}
    change(client, uri, 3, {"range": {"start": at(0), "end": at(2)}, "text": ""})
    assert by_line(client.hints(uri)) == before

    line = line_of(example / "model.py", "self.layer1 = ")
    old = (example / "model.py").read_text().splitlines()[line]
    change(client, uri, 9, {"range": {"start": at(line), "end": at(line, len(old))}, "text": old.replace("layers[0]", "1 + layers[0]")})
    edited = by_line(client.hints(uri))[line]
    assert edited != before[line] and "≠" in edited
    change(client, uri, 10, {"text": (example / "model.py").read_text()})
    assert by_line(client.hints(uri)) == before


def test_random_edits_equal_the_whole_text(start: Start, example: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    client, uri = opened(start, example)
    text = (example / "model.py").read_text()
    pieces = ["x", "\n", "\r\n", "    pass\n", "é漢😀", "(", "'", "\t"]
    version = 1
    for _ in range(60):
        changes = []
        for _ in range(chance.randrange(1, 4)):
            begin = chance.randrange(len(text) + 1)
            end = min(len(text), begin + chance.randrange(6))
            insert = "".join(chance.choice(pieces) for _ in range(chance.randrange(4)))
            if "\r" in text[max(0, begin - 1) : end + 1]:
                continue  # positions inside \r\n do not exist in the protocol
            changes.append({"range": {"start": position(text, begin), "end": position(text, end)}, "text": insert})
            text = text[:begin] + insert + text[end:]
        version += 1
        change(client, uri, version, *changes)
        hints = client.hints(uri)
        other = client.open(example / "copy" / "model.py", text)  # never profiled: only proves that the text parses without harm
        assert client.hints(other) is not None
    change(client, uri, version + 1, {"text": text})
    assert client.hints(uri) == hints, f"seed {seed}"


def position(text: str, offset: int) -> dict[str, int]:
    before = text[:offset].replace("\r\n", "\n").split("\n")
    return at(len(before) - 1, len(before[-1].encode("utf-16-le")) // 2)


def test_an_edit_that_does_not_fit_shows_nothing_until_the_whole_text_comes(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    before = client.hints(uri)
    change(client, uri, 2, {"range": {"start": at(9000), "end": at(9000)}, "text": "x"})
    assert client.hints(uri) is None
    change(client, uri, 3, {"text": (example / "model.py").read_text()})
    assert client.hints(uri) == before


def test_odd_texts_are_survived(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    text = (example / "model.py").read_text()
    odd = [
        "",
        "\x00",
        "\r" * 50,
        text.replace("\n", "\r\n"),
        text.replace("\n", "\r"),
        "\ufeff" + text,
        "def f(:\n" * 200,
        "(" * 5000,
        "x" * 10**6,
    ]
    for version, content in enumerate(odd, start=2):
        change(client, uri, version, {"text": content})
        assert client.hints(uri) is not None
        client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at(3, 10)})
    change(client, uri, 50, {"text": text.replace("\n", "\r\n")})
    assert len(client.hints(uri)) > 3


def test_documents_of_others_and_closed_ones(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    for foreign in ("untitled:Untitled-1", "git:/model.py?x", "vscode-notebook-cell:/a.ipynb#1", "file://server/share/a.py", "nonsense"):
        client.notify("textDocument/didOpen", {"textDocument": {"uri": foreign, "languageId": "python", "version": 1, "text": "x"}})
        assert client.hints(foreign) is None
    for _ in range(2):
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.hints(uri) is None
    change(client, uri, 2, {"text": "x"})
    assert client.hints(uri) is None
    client.open(example / "model.py")
    client.open(example / "model.py")
    assert client.hints_when_known(uri)


def test_the_clients_spelling_of_a_uri_is_kept(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example])
    spelled = uri_of(example / "model.py").replace("model.py", "%6Dodel.py")
    text = (example / "model.py").read_text()
    client.notify("textDocument/didOpen", {"textDocument": {"uri": spelled, "languageId": "python", "version": 1, "text": text}})
    client.hints_when_known(spelled)
    (lens,) = client.offered_lenses(spelled)
    assert lens["command"]["arguments"] == [{"uri": spelled}]


def test_a_profile_that_appears_on_disk_is_shown_after_one_refresh(start: Start, example: Path) -> None:
    profiles = example / ".hotlens" / "profiles"
    hidden = example / "hidden"
    (profiles).rename(hidden)
    client = start()
    client.initialize([example], capabilities={**RICH, "workspace": {"inlayHint": {"refreshSupport": True}}})  # does not watch files
    uri = client.open(example / "model.py")
    assert client.hints(uri) == []
    time.sleep(0.5)
    assert client.messages("workspace/inlayHint/refresh") == []
    hidden.rename(profiles)
    client.next_message("workspace/inlayHint/refresh", limit=5)
    assert client.hints(uri)
    time.sleep(2.5)
    assert len(client.messages("workspace/inlayHint/refresh")) == 1
    assert client.messages("workspace/codeLens/refresh") == []


def test_a_bundle_that_cannot_be_read_is_said_once_and_the_old_hints_stay(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    before = client.hints(uri)
    broken = example / ".hotlens" / "profiles" / "29991231T000000Z-ffffff"
    broken.mkdir()
    (broken / "manifest.json").write_text('{"schema": "hotlens.bundle/99"}')
    said = client.next_message("window/showMessage", limit=5)
    assert said["type"] == 2 and said["message"]
    assert client.hints(uri) == before
    time.sleep(2.5)
    assert len(client.messages("window/showMessage")) == 1


def test_a_bundle_that_was_cut_short_does_not_hide_the_one_before(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    before = client.hints(uri)
    broken = example / ".hotlens" / "profiles" / "29991231T000000Z-ffffff"
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    time.sleep(2.5)
    assert client.hints(uri) == before
    assert client.messages("window/showMessage") == []


def test_a_refused_refresh_is_not_repeated(start: Start, example: Path) -> None:
    client = start()
    client.answer["workspace/codeLens/refresh"] = lambda _: {"error": {"code": -32601, "message": "no such method"}}
    client.initialize([example])
    uri = client.open(example / "model.py")
    client.hints_when_known(uri)
    asked = len(client.messages("workspace/codeLens/refresh"))
    client.notify("hotlens/trust", {"trusted": False})
    client.settings = {"hints": {"enabled": False}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: len(client.messages("workspace/inlayHint/refresh")) > 1)
    assert len(client.messages("workspace/codeLens/refresh")) == asked == 1


@pytest.mark.parametrize("way", ["options", "pull", "push", "dotted"])
def test_settings_by_each_way_have_the_same_effect(start: Start, example: Path, way: str) -> None:
    client = start()
    nested = {"hints": {"enabled": True, "minPercent": 60}}
    if way == "pull":
        client.settings = nested
    options = {"options": nested, "dotted": {"hotlens.hints.minPercent": 60}}.get(way)
    client.initialize([example], options=options)
    uri = client.open(example / "model.py")
    client.hints_when_known(uri)
    if way == "push":
        client.notify("workspace/didChangeConfiguration", {"settings": {"hotlens": nested}})
    few = len(client.hints(uri))
    client.settings = {"hints": {"minPercent": 0}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: len(client.hints(uri)) > few)
    client.settings = {"hints": {"enabled": False}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: client.hints(uri) == [])


def test_hints_above_their_lines_are_lenses(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example])
    uri = client.open(example / "model.py")
    labels = {(hint["position"]["line"], text_of(hint)) for hint in client.hints_when_known(uri)}

    def refreshes() -> tuple[int, int]:
        return len(client.messages("workspace/inlayHint/refresh")), len(client.messages("workspace/codeLens/refresh"))

    def lenses() -> set[tuple[int, str]]:
        found = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        return {(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in found}

    hints_before, lenses_before = refreshes()
    client.settings = {"hints": {"place": "above"}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: refreshes() >= (hints_before + 1, lenses_before + 1))
    assert client.hints(uri) == [] and lenses() >= labels
    # They follow edits, and other units ask for lenses alone.
    start_of_file = {"line": 0, "character": 0}
    change = {"range": {"start": start_of_file, "end": start_of_file}, "text": "# new\n"}
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]})
    assert lenses() >= {(line + 1, label) for line, label in labels}
    hints_before, lenses_before = refreshes()
    client.command("hotlens.server.hintUnit", {"unit": "share"})
    client.wait(lambda: refreshes()[1] > lenses_before)
    assert refreshes()[0] == hints_before and not lenses() & {(line + 1, label) for line, label in labels}
    client.settings = {"hints": {"place": "endOfLine"}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: client.hints(uri))
    assert len(lenses()) < len(labels)


def test_a_setting_of_the_wrong_type_is_said_once(start: Start, example: Path) -> None:
    client = start()
    client.settings = {"hints": {"enabled": "yes"}}
    client.initialize([example])
    for _ in range(3):
        client.notify("workspace/didChangeConfiguration", {"settings": None})
    said = client.next_message("window/showMessage")
    assert "hotlens.hints.enabled" in said["message"]
    uri = client.open(example / "model.py")
    assert client.hints_when_known(uri)
    assert len(client.messages("window/showMessage")) == 1
