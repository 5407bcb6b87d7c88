"""The events of the allocator in a trace, as torch writes it and as others do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hotlens.program.allocator import _events, highest_rise
from hotlens.program.program import BEGIN, END

KEPT_BYTES = 4 * 1000 * 1000


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trace in which a range has a name that torch does not escape."""
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as recorded:
        with torch.profiler.record_function(BEGIN):
            pass
        with torch.profiler.record_function('of "epoch" {1}, "name": "[memory]"'):
            kept = torch.ones(1000, 1000)
        with torch.profiler.record_function(END):
            pass
    del kept
    recorded.export_chrome_trace(str(path))
    return Path(path).read_text()


def test_the_rise_is_read_beside_names_that_are_no_json(written: str) -> None:
    with pytest.raises(ValueError, match="delimiter"):
        json.loads(written)
    assert highest_rise(_events(written.replace(', "name": "[memory]""', '"')), "cpu") == KEPT_BYTES


def test_a_trace_written_in_another_way_is_parsed_whole(written: str) -> None:
    plain = json.loads(written.replace('of "epoch" {1}, "name": "[memory]"', "epoch"))
    assert highest_rise(_events(json.dumps(plain)), "cpu") == KEPT_BYTES
    assert sorted(e["name"] for e in _events(json.dumps(plain, indent=2))) == sorted(e["name"] for e in plain["traceEvents"])


def test_what_is_no_trace_is_an_error() -> None:
    with pytest.raises(ValueError):
        _events('{"traceEvents": [')
