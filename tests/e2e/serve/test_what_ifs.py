"""What `hotlens whatif` kept of a profile, as a page is told it; a bundle and a ledger may come from anybody."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from page_socket import Json, Page, Server
from small_bundle import SITE, small_bundle

HOSTILE = '<img src=x onerror="alert(1)">\x1b[2J'
MB = 1_000_000
MINUS = "\N{MINUS SIGN}"


def point(peak: int, *blocks: str, ratio: float = 1.1, **rest: Any) -> dict[str, Any]:
    spread = {"ratio": ratio, "low": ratio - 0.02, "high": ratio + 0.02} if blocks else {"ratio": 1, "low": 1, "high": 1}
    return {"blocks": list(blocks), "peak_bytes": peak * MB, "step_ns": int(100 * MB * spread["ratio"]), **spread, **rest}


def document(bundle: Path, *points: dict[str, Any], **rest: Any) -> dict[str, Any]:
    curve = {"blocks": 2, "chosen": 1, "points": list(points), **rest.pop("curve", {})}
    item = {"kind": "checkpoint", "title": "checkpoint", "curve": curve, **rest.pop("item", {})}
    return {"schema": "hotlens.whatif/1", "profile": bundle.name, "items": [item], "refused": [], **rest}


def kept(bundle: Path, *points: dict[str, Any], **rest: Any) -> None:
    (bundle / "checkpoints.json").write_text(json.dumps(document(bundle, *points, **rest)))


def record(bundle: Path, event: str, kind: str, ratio: float, **rest: Any) -> dict[str, Any]:
    told = {"schema": "hotlens.ledger/1", "event": event, "time": "2026-11-21T10:23:00Z", "profile": bundle.name, "kind": kind}
    return {**told, "torch": "2.13", "ratio": ratio, "low": ratio - 0.03, "high": ratio + 0.03, **rest}


def ledger(bundle: Path, *lines: dict[str, Any] | str) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (bundle.parent.parent / "ledger.jsonl").write_text("\n".join(texts) + "\n")


def asked(workspace: Path) -> Json:
    with Server(workspace) as server:
        page = Page(server)
        found = page.ask("whatIfs")
        page.close()
    return found


def with_blocks(bundle: Path, program: bool = True) -> None:
    """Two blocks of one class, each with a layer of its own, and a recorded program."""
    model = json.loads((bundle / "model.json").read_text())
    for at, name in enumerate(["a", "b"]):
        block = {"id": 2 + 2 * at, "path": name, "class": "Block", "parent": 0, "attached": SITE}
        model["modules"] += [block, {"id": 3 + 2 * at, "path": f"{name}.fc", "class": "Linear", "parent": 2 + 2 * at, "attached": SITE}]
    (bundle / "model.json").write_text(json.dumps(model))
    if program:
        (bundle / "program.json.gz").write_bytes(b"")
        manifest = json.loads((bundle / "manifest.json").read_text())
        (bundle / "manifest.json").write_text(json.dumps({**manifest, "program": "program.json.gz"}))


def test_where_nothing_was_replayed_nothing_is_told(tmp_path: Path) -> None:
    small_bundle(tmp_path)
    told = asked(tmp_path)
    assert told["outcomes"] == [] and not told["edits"]
    assert "checkpoints" not in told and "command" not in told


def test_the_curve_is_told_with_its_intervals(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    kept(
        bundle,
        point(84),
        point(60, "a"),
        point(48, "a", "b", ratio=1.2),
        item={"file": str(tmp_path / "model.py"), "line": 2},
        curve={"note": HOSTILE},
    )
    curve = asked(tmp_path)["checkpoints"]
    assert [(one["peak"] // MB, one["blocks"]) for one in curve["points"]] == [(84, []), (60, ["a"]), (48, ["a", "b"])]
    assert curve["points"][0] == {"blocks": [], "peak": 84 * MB, "step": 100 * MB, "low": 100 * MB, "high": 100 * MB}
    assert (curve["points"][1]["low"], curve["points"][1]["high"]) == (pytest.approx(108 * MB), pytest.approx(112 * MB))
    assert curve["points"][1]["change"] == "≈ +10 % (+8.0…+12)"
    assert (curve["blocks"], curve["note"], curve["file"], curve["line"]) == (2, HOSTILE, str(tmp_path / "model.py"), 2)


def test_why_there_is_no_curve_is_told(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    refused = [{"kind": "channels_last", "reason": "no"}, {"kind": "checkpoint", "reason": "the peak, 3.00 MB, is in the optimizer"}]
    kept(bundle, items=[], refused=refused)
    curve = asked(tmp_path)["checkpoints"]
    assert curve["refused"] == "the peak, 3.00 MB, is in the optimizer" and curve["points"] == []


def test_points_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    odd = [
        point(84),  # a second unchanged step
        point(90, "a"),  # no less than before
        point(0, "a"),
        point(-3, "a"),
        point(70, "a", step_ns=0),
        point(70, "a", step_ns=1e300),
        point(70, "a", low=0),
        point(70, "a", high=0.5),
        point(70, "a", ratio=1e9),
        point(70, "a" * 5000),
        point(70, *["a"] * 2000),
    ]
    kept(bundle, point(84), *odd, point(60, "a"), item={"file": "/etc/passwd", "line": 1})
    curve = asked(tmp_path)["checkpoints"]
    assert [one["peak"] // MB for one in curve["points"]] == [84, 60]
    assert "file" not in curve, "a file that the profile does not name"


def test_at_most_so_many_points(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    kept(bundle, point(2000), *[point(1000 - at, "a") for at in range(500)])
    assert len(asked(tmp_path)["checkpoints"]["points"]) == 32


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        "[" * 100_000,
        "9" * 300_000,
        '{"schema": "hotlens.whatif/1", "profile": "another", "items": [], "refused": []}',
        '{"schema": "hotlens.whatif/1", "profile": "20261121T102300Z-aaaaaa", "items": {}, "refused": 7}',
        '{"schema": "hotlens.whatif/1", "profile": "20261121T102300Z-aaaaaa", "items": [7, {"kind": "checkpoint"}], "refused": [[]]}',
    ],
)
def test_a_file_that_is_none_is_none(tmp_path: Path, text: str) -> None:
    (small_bundle(tmp_path) / "checkpoints.json").write_text(text)
    assert "checkpoints" not in asked(tmp_path)


@pytest.mark.parametrize("blocks", [-1, 1e300, 1 << 62, "2", None])
def test_a_count_of_blocks_that_cannot_be_is_no_curve(tmp_path: Path, blocks: Any) -> None:
    bundle = small_bundle(tmp_path)
    kept(bundle, point(84), point(60, "a"), curve={"blocks": blocks})
    assert "checkpoints" not in asked(tmp_path)


def test_a_file_outside_of_the_bundle_is_not_read(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    kept(bundle, point(84), point(60, "a"))
    (bundle / "checkpoints.json").rename(tmp_path / "elsewhere.json")
    (bundle / "checkpoints.json").symlink_to(tmp_path / "elsewhere.json")
    assert "checkpoints" not in asked(tmp_path)


def test_the_ledger_is_told_by_kind_the_last_of_each(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    ledger(
        bundle,
        record(bundle, "predicted", "fused_optimizer", 0.5, method="replay"),
        record(
            bundle,
            "predicted",
            "fused_optimizer",
            0.87,
            method="replay",
            assumes=[HOSTILE],
            file=str(tmp_path / "model.py"),
            line=2,
        ),
        record(bundle, "verified", "fused_optimizer", 0.872, pairs=6, losses="equal"),
        record(bundle, "predicted", "channels_last+autocast_bf16", 0.8, method="replay", file="/etc/passwd", line=0),
        record(bundle, "predicted", "pin_memory", 0.9, method="bound"),
        record(bundle, "predicted", HOSTILE, 0.9, method="replay"),
        record(bundle, "verified", HOSTILE, 0.9, pairs=3),
        record(bundle, "predicted", "no_dropout", -4, method="replay"),
        record(bundle, "predicted", "gelu_tanh", 1e200, method="replay"),
        {**record(bundle, "predicted", "gelu_to_relu", 0.9, method="replay"), "profile": "another"},
        "{",
        "[]",
    )
    outcomes = {one["kind"]: one for one in asked(tmp_path)["outcomes"]}
    assert set(outcomes) == {"fused_optimizer", "channels_last+autocast_bf16"}
    fused = outcomes["fused_optimizer"]
    assert fused["predicted"]["words"] == "≈ -13 % (-16…-10)".replace("-", MINUS)
    assert fused["verified"]["words"] == f"{MINUS}12.8 % ± 3.0 %, 6 pairs"
    assert fused["verified"]["losses"] == "the first losses are equal"
    assert (fused["file"], fused["line"], fused["assumes"]) == (str(tmp_path / "model.py"), 2, [HOSTILE])
    both = outcomes["channels_last+autocast_bf16"]
    assert " and " in both["title"] and "file" not in both


def test_blocks_that_can_be_replayed_have_a_command(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    with_blocks(bundle, program=False)
    assert "command" not in asked(tmp_path)
    with_blocks(bundle)
    assert asked(tmp_path)["command"] == f"hotlens whatif checkpoint {bundle.name}"


def test_a_page_hears_of_a_curve_and_of_the_ledger(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    with Server(tmp_path) as server:
        page = Page(server)
        assert "checkpoints" not in page.ask("whatIfs")
        time.sleep(1.2)  # it has looked once
        kept(bundle, point(84), point(60, "a"))
        assert json.loads(page.read_message())["method"] == "hotlens/timeline/whatIfsChanged"
        assert len(page.ask("whatIfs")["checkpoints"]["points"]) == 2
        ledger(bundle, record(bundle, "predicted", "fused_optimizer", 0.87, method="replay"))
        assert json.loads(page.read_message())["method"] == "hotlens/timeline/whatIfsChanged"
        assert len(page.ask("whatIfs")["outcomes"]) == 1
        page.close()


def swept(bundle: Path, *attempts: dict[str, Any], **rest: Any) -> list[Json]:
    tried = {"loss": "loop", "optimizer": "SGD", "passes": 1, "attempts": list(attempts)}
    card = {"schema": "hotlens.sweep/1", "profile": bundle.name, "obstacles": [], "tried": tried, **rest}
    (bundle / "sweep.json").write_text(json.dumps(card))
    return [one for one in asked(bundle.parents[2])["outcomes"] if one["kind"] == "sweep"]


def test_several_models_as_one_are_told_as_they_were_measured(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path)
    pays = {"models": 4, "pays": True, "speedup": 2.0, "low": 1.6, "high": 2.5}
    (told,) = swept(bundle, {**pays, "models": 2, "speedup": 0.9, "low": 0.8, "high": 1.0, "pays": False}, pays)
    verified = told["verified"]
    assert (verified["ratio"], verified["low"], verified["high"]) == (0.5, pytest.approx(0.4), pytest.approx(0.625))
    assert verified["words"] == "4 models as one take 0.50 of the time of one after another (0.40 to 0.62)"
    # As fast, but with other results; of another profile; what cannot be.
    assert swept(bundle, {**pays, "pays": False}) == []
    assert swept(bundle, pays, profile="another") == []
    assert swept(bundle, {**pays, "speedup": 1e-300}, {**pays, "models": HOSTILE}) == []
