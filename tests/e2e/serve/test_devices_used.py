"""A trace names every device of its machine: the page tells those that did something in it."""

from __future__ import annotations

import json
from pathlib import Path

from page_socket import page_of
from small_trace import small_trace


def with_devices(path: Path, *ids: int) -> Path:
    document = json.loads(small_trace(path).read_text())
    document["deviceProperties"] = [{"id": each, "name": f"GPU model {each}", "totalGlobalMem": 1 << 30} for each in ids]
    path.write_text(json.dumps(document))
    return path


def test_devices_without_work_are_left_out(tmp_path: Path) -> None:
    with page_of(with_devices(tmp_path / "eight.json", *range(8))) as page:
        assert page.ask("overview")["profile"]["devices"] == ["GPU model 0"]


def test_where_no_device_worked_none_is_told(tmp_path: Path) -> None:
    with page_of(with_devices(tmp_path / "other.json", 3)) as page:
        assert page.ask("overview")["profile"]["devices"] == []
