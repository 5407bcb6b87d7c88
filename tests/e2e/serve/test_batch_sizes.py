"""What `hotlens predict --batch-size` kept in a bundle, as a page is told it; a bundle may come from anybody."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from page_socket import Json, Page, Server
from small_bundle import MODEL, small_bundle

HOSTILE = '<img src=x onerror="alert(1)">\x1b[2J'


def point(batch: int, method: str = "replay", **rest: Any) -> dict[str, Any]:
    time_of = {"step_ns": 1_000_000 * batch, "low_ns": 900_000 * batch, "high_ns": 1_100_000 * batch}
    return {"batch_size": batch, **time_of, "peak_bytes": 1_000_000 * batch, "method": method, **rest}


def kept(bundle: Path, *points: dict[str, Any], **rest: Any) -> None:
    told = {"schema": "hotlens.predict/1", "profile": bundle.name, "points": list(points), "refused": [], **rest}
    (bundle / "batch_sizes.json").write_text(json.dumps(told))


def bundle_at(workspace: Path, text: str = MODEL + "batch_size = 8\n", **manifest: Any) -> Path:
    bundle = small_bundle(workspace, samples_per_step=8, **manifest)
    (bundle / "files" / "0-model.py").write_text(text)
    return bundle


def asked(workspace: Path) -> Json:
    with Server(workspace) as server:
        page = Page(server)
        sizes = page.ask("batchSizes")
        page.close()
    return sizes


def test_without_a_prediction_the_page_says_what_to_type(tmp_path: Path) -> None:
    bundle_at(tmp_path)
    sizes = asked(tmp_path)
    assert (sizes["batchSize"], sizes["points"], sizes["predict"], sizes["edits"]) == (8, [], "none", False)
    assert sizes["commands"] == ["hotlens run --batch-sizes 6,8 train.py", "hotlens predict latest --batch-size 4,16,32"]
    assert sizes["places"] == [{"file": str(tmp_path / "model.py"), "line": 3, "before": "batch_size = ", "after": ""}]


def test_without_a_batch_size_there_is_nothing_to_say(tmp_path: Path) -> None:
    small_bundle(tmp_path)
    sizes = asked(tmp_path)
    assert "batchSize" not in sizes
    assert (sizes["points"], sizes["places"], sizes["commands"]) == ([], [], [])


def test_what_was_kept_is_told_in_order(tmp_path: Path) -> None:
    bundle = bundle_at(tmp_path)
    memory = {"bytes": 16_000_000_000, "of": "this machine", "largest_batch_size": 4000}
    untimed = {"batch_size": 512, "peak_bytes": 600_000_000, "method": "line", "note": HOSTILE}
    kept(bundle, point(16), untimed, point(8, "run"), memory=memory, refused=[{"batch_size": 7, "reason": HOSTILE}])
    sizes = asked(tmp_path)
    assert [(one["batchSize"], one["measured"]) for one in sizes["points"]] == [(8, True), (16, False), (512, False)]
    assert sizes["points"][1] == {
        "batchSize": 16,
        "measured": False,
        "step": 16_000_000,
        "low": 14_400_000,
        "high": 17_600_000,
        "samplesPerSecond": pytest.approx(1000),
        "peak": 16_000_000,
    }
    assert sizes["points"][2] == {"batchSize": 512, "measured": False, "peak": 600_000_000, "note": HOSTILE}
    assert sizes["memory"] == {"bytes": 16_000_000_000, "of": "this machine", "largest": 4000}
    assert sizes["refused"] == [{"batchSize": 7, "reason": HOSTILE}]
    assert sizes["commands"] == []


def test_points_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    bundle = bundle_at(tmp_path)
    odd = [point(0), point(-3), point(1 << 50), point(12, peak_bytes=-1), point(13, step_ns=0), point(14, low_ns=0), point(15, high_ns=1)]
    kept(bundle, *odd, point(8, "run"), point(16), point(16, peak_bytes=5))
    sizes = asked(tmp_path)
    assert [one["batchSize"] for one in sizes["points"]] == [8, 16]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "null", "9" * 300_000, '{"schema": "hotlens.predict/1", "profile": "another", "points": []}']
)
def test_a_file_that_is_none_is_none(tmp_path: Path, text: str) -> None:
    (bundle_at(tmp_path) / "batch_sizes.json").write_text(text)
    assert asked(tmp_path)["points"] == []


def test_a_file_outside_of_the_bundle_is_not_read(tmp_path: Path) -> None:
    bundle = bundle_at(tmp_path)
    kept(bundle, point(8, "run"), point(16))
    (bundle / "batch_sizes.json").rename(tmp_path / "elsewhere.json")
    (bundle / "batch_sizes.json").symlink_to(tmp_path / "elsewhere.json")
    assert asked(tmp_path)["points"] == []


def test_no_place_is_told_where_two_numbers_may_be_meant(tmp_path: Path) -> None:
    bundle_at(tmp_path, MODEL + "batch_size = 8\nbs = 8\n")
    assert asked(tmp_path)["places"] == []


def test_a_page_hears_of_new_predictions_and_can_start_nothing(tmp_path: Path) -> None:
    bundle = bundle_at(tmp_path)
    with Server(tmp_path) as server:
        page = Page(server)
        assert page.ask("batchSizes")["points"] == []
        time.sleep(1.2)  # it has looked once
        kept(bundle, point(8, "run"), point(16))
        message = json.loads(page.read_message())
        assert message["method"] == "hotlens/timeline/batchSizesChanged"
        assert len(page.ask("batchSizes")["points"]) == 2
        assert page.ask("predict")["started"] is False
        told = page.ask("setBatchSize", file=str(tmp_path / "model.py"), was=8, batchSize=16)
        assert told["applied"] is False and "no editor" in told["message"]
        page.close()
    assert (tmp_path / "model.py").read_text() == MODEL
