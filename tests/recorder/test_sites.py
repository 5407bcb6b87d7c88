"""Sites are exact: statements that name a module, expressions that construct and call it, lines that enter a stage."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Bundle, Run

needs_columns = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.11 brought columns")
pytestmark = needs_columns
Range = tuple[int, int, int, int]


def node_ranges(source: bytes) -> tuple[set[Range], set[Range], set[tuple[int, int]]]:
    """Ranges of expressions, of simple statements, and starts of compound statements; lines 0-based."""
    expressions, simple, compound = set(), set(), set()
    for node in ast.walk(ast.parse(source)):
        if not hasattr(node, "lineno"):
            continue
        where = (node.lineno - 1, node.col_offset, node.end_lineno - 1, node.end_col_offset)
        if isinstance(node, ast.expr):
            expressions.add(where)
        elif hasattr(node, "body"):
            compound.add(where[:2])
        elif isinstance(node, ast.stmt):
            simple.add(where)
    return expressions, simple, compound


def of(site: dict[str, Any]) -> Range:
    return site["line"], site["column"], site["end_line"], site["end_column"]


def check_sites(bundle: Bundle) -> int:
    model = bundle.model
    syntax = [node_ranges((bundle.path / f["copy"]).read_bytes()) for f in model["files"]]
    checked = 0
    for kind, site in all_sites(model):
        expressions, simple, compound = syntax[site["file"]]
        where = of(site)
        if kind == "attached":
            assert where in simple or where in expressions, (kind, bundle.text(site))
        elif kind == "class_site":
            assert where[:2] in compound
            assert bundle.text(site).startswith("class ")
        elif kind == "stages":
            assert where in expressions or where[:2] in compound, (kind, bundle.text(site))
        else:
            assert where in expressions, (kind, bundle.text(site))
        checked += 1
    return checked


def all_sites(model: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for m in model["modules"]:
        for kind in ("attached", "constructed", "class_site"):
            if m[kind] is not None:
                yield kind, m[kind]
    for table in ("calls", "stages"):
        for row in model[table]:
            if row["site"] is not None:
                yield table, row["site"]


def test_every_site_is_an_expression_or_a_statement(example: Run) -> None:
    assert check_sites(example.bundle) > 100


def test_every_module_of_the_model_has_a_line_and_every_call_a_site(example: Run) -> None:
    model = example.bundle.model
    assert [m["path"] for m in model["modules"] if m["attached"] is None and m["parent"] >= 0] == []
    assert [c for c in model["calls"] if c["site"] is None] == []


DIGITS = [
    ("stem", "self.stem = nn.Sequential(", None),
    ("stem.0", "conv3x3(1, width)", "nn.Conv2d(in_channels, out_channels, kernel_size=3, stride=stride, padding=1, bias=False)"),
    ("stem.1", "nn.BatchNorm2d(width)", None),
    ("layer1", "self.layer1 = self._make_layer(width, layers[0])", "nn.Sequential(*layers)"),
    ("layer2.0", "BasicBlock(self.in_channels, channels, stride, downsample)", None),
    ("layer2.1", "BasicBlock(channels, channels)", None),
    ("layer2.0.conv1", "self.conv1 = conv3x3(in_channels, out_channels, stride)", "nn.Conv2d("),
    ("layer2.0.downsample", "self.downsample = downsample", "nn.Sequential("),
    ("layer2.0.downsample.1", "nn.BatchNorm2d(channels)", None),
    ("head.classifier.1", "nn.Linear(channels, classes)", None),
]


@pytest.mark.parametrize("path, attached, constructed", DIGITS)
def test_a_module_knows_its_line_and_where_it_was_made(digits: Run, path: str, attached: str, constructed: Any) -> None:
    row = digits.bundle.module(path)
    assert digits.bundle.text(row["attached"]).startswith(attached)
    if constructed is None:
        assert row["constructed"] is None
    else:
        assert digits.bundle.text(row["constructed"]).startswith(constructed)


def test_an_entry_made_in_a_comprehension_is_its_element(gpt: Run) -> None:
    assert gpt.bundle.text(gpt.bundle.module("blocks.2")["attached"]) == "Block(config)"
    assert gpt.bundle.text(gpt.bundle.module("blocks")["attached"]).startswith("self.blocks = nn.ModuleList(")


def test_the_model_itself_is_the_statement_of_the_script_that_led_to_it(digits: Run) -> None:
    root = digits.bundle.module("")
    assert digits.bundle.text(root["attached"]).startswith("model = ResNet(width=args.width)") and root["constructed"] is None


def test_a_call_is_the_expression_that_calls(digits: Run) -> None:
    model = digits.bundle.model
    sites = {model["modules"][c["module"]]["path"]: digits.bundle.text(c["site"]) for c in model["calls"]}
    assert sites["layer1.0.bn1"] == "self.bn1(self.conv1(x))"
    assert sites["layer1.0.conv1"] == "self.conv1(x)"
    assert sites["stem.2"] == "self.stem(x)"
    assert sites[""] == "model(images)"


def test_the_loop_names_its_stages(digits: Run, gpt: Run) -> None:
    assert digits.bundle.stages() == {
        "data": ["for images, labels in loader"],
        "zero_grad": ["optimizer.zero_grad()"],
        "forward": ["model(images)"],
        "loss": ["criterion(outputs, labels)"],
        "backward": ["loss.backward()"],
        "optimizer": ["optimizer.step()"],
    }
    assert gpt.bundle.stages()["forward"] == ["model(x, y)"]
