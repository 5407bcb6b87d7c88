"""The outline of a file with its times: lines with hints inside their functions and classes, and nothing where nothing was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import RICH, Client, text_of

Start = Callable[..., Client]
TREES = {**RICH, "textDocument": {**RICH["textDocument"], "documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
CLASS, METHOD, FIELD, FUNCTION, EVENT = 5, 6, 8, 12, 24


def symbols(client: Client, uri: str) -> Any:
    return client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})


def flat(tree: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for symbol in tree for each in (symbol, *flat(symbol.get("children", [])))]


def labels(client: Client, uri: str) -> dict[int, str]:
    return {hint["position"]["line"]: text_of(hint["label"]) for hint in client.hints(uri)}


def is_inside(inner: Any, outer: Any) -> bool:
    def at(position: Any) -> tuple[int, int]:
        return position["line"], position["character"]

    return at(outer["start"]) <= at(inner["start"]) and at(inner["end"]) <= at(outer["end"])


def check_ranges(tree: list[dict[str, Any]]) -> None:
    for symbol in tree:
        assert symbol["name"] and is_inside(symbol["selectionRange"], symbol["range"])
        assert all(is_inside(child["range"], symbol["range"]) for child in symbol.get("children", []))
        check_ranges(symbol.get("children", []))


def named(tree: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(each for each in tree if each["name"] == name)


def test_every_hint_is_the_detail_of_a_symbol_inside_its_class_and_method(start: Start, example: Path) -> None:
    client = start()
    offers = client.initialize([example], TREES)["capabilities"]
    assert offers["documentSymbolProvider"] == {"label": "Hotlens"}
    for file in ("blocks.py", "model.py", "train.py"):
        uri = client.open(example / file)
        client.hints_when_known(uri)
        tree = symbols(client, uri)
        check_ranges(tree)
        told = {each["selectionRange"]["start"]["line"]: each["detail"] for each in flat(tree) if each["detail"]}
        assert told == labels(client, uri)
    blocks = symbols(client, (example / "blocks.py").as_uri())
    block = named(blocks, "BasicBlock")
    assert block["kind"] == CLASS and "×" in block["detail"]
    init = named(block["children"], "__init__")
    assert init["kind"] == METHOD and init["detail"] == ""
    assert named(init["children"], "conv1")["kind"] == FIELD
    assert named(block["children"], "forward")["children"]
    train = symbols(client, uri)
    stages = [each for each in flat(train) if each["kind"] == EVENT]
    assert "loss.backward()" in [each["name"] for each in stages]
    assert named(train, "train_epoch")["kind"] == FUNCTION


def test_symbols_follow_edits_and_the_unit(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example], TREES)
    uri = client.open(example / "blocks.py")
    client.hints_when_known(uri)
    before = flat(symbols(client, uri))
    edit = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "# 😀\n"}
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [edit]})
    after = flat(symbols(client, uri))
    assert [each["name"] for each in after] == [each["name"] for each in before]
    assert [each["range"]["start"]["line"] for each in after] == [each["range"]["start"]["line"] + 1 for each in before]
    client.command("hotlens.server.hintUnit", {"unit": "share"})
    told = {each["selectionRange"]["start"]["line"]: each["detail"] for each in flat(symbols(client, uri)) if each["detail"]}
    assert told == labels(client, uri)
    assert all(" ms" not in label for label in told.values())


def test_a_file_without_measured_lines_leaves_the_outline_to_others(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example], TREES)
    client.hints_when_known(client.open(example / "blocks.py"))
    (example / "other.py").write_text("class A:\n    def f(self):\n        pass\n")
    assert symbols(client, client.open(example / "other.py")) is None
    client.settings = {"symbols": False}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: len(client.messages("workspace/configuration")) > 1)
    client.wait(lambda: symbols(client, (example / "blocks.py").as_uri()) is None)
    with pytest.raises(Exception, match="expected"):
        client.request("textDocument/documentSymbol", {})


def test_a_client_that_registers_is_registered_again_with_each_refresh(start: Start, example: Path) -> None:
    client = start()
    dynamic = {"hierarchicalDocumentSymbolSupport": True, "dynamicRegistration": True}
    can = {**RICH, "textDocument": {**RICH["textDocument"], "documentSymbol": dynamic}}
    assert "documentSymbolProvider" not in client.initialize([example], can)["capabilities"]

    def ours(method: str, key: str) -> int:
        return sum(each["method"] == "textDocument/documentSymbol" for params in client.messages(method) for each in params[key])

    client.wait(lambda: ours("client/registerCapability", "registrations") == 1)
    uri = client.open(example / "blocks.py")
    client.hints_when_known(uri)
    refreshes = len(client.messages("workspace/inlayHint/refresh"))
    client.wait(lambda: ours("client/registerCapability", "registrations") == 1 + refreshes)
    assert ours("client/unregisterCapability", "unregisterations") == refreshes
    selector = client.messages("client/registerCapability")[-1]["registrations"][0]["registerOptions"]["documentSelector"]
    assert selector == [{"scheme": "file", "language": "python"}, {"notebook": "jupyter-notebook", "language": "python"}]


def test_a_client_without_trees_is_not_offered_any(start: Start, example: Path) -> None:
    client = start()
    assert "documentSymbolProvider" not in client.initialize([example])["capabilities"]
