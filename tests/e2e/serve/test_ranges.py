"""What ran in a stretch of time, added up, and its events for other viewers: of a step and of the whole recording."""

from __future__ import annotations

import json
from pathlib import Path

from page_socket import Json, Page, Server
from small_trace import Trace


def test_ranges_side_by_side_add_up(page: Page) -> None:
    def time_of(uses: Json) -> dict[str, int]:
        return {use["name"]: use["time"] for use in uses}

    whole = page.ask("range", path=["forward"], **{"from": 0, "to": 1_000_000})
    details = page.ask("details", path=["forward"])
    assert time_of(whole["kernels"]) == time_of(details["kernels"])
    assert whole["device"] == details["times"]["device"]
    parts = [page.ask("range", path=["forward"], **{"from": at, "to": at + 7_000}) for at in range(whole["from"], whole["to"], 7_000)]
    for what in ("kernels", "operators"):
        sums: dict[str, int] = {}
        for part in parts:
            for name, time in time_of(part[what]).items():
                sums[name] = sums.get(name, 0) + time
        assert sums == time_of(whole[what])
    assert sum(part["device"] for part in parts) == whole["device"]
    inside = page.ask("range", path=["forward"], **{"from": 500_000, "to": 500_000 - 1})
    assert inside["to"] - inside["from"] == 1
    assert page.refused("range", path=["forward"])["code"] == -32602


def test_ranges_of_the_recording_hold_those_of_its_steps(page: Page) -> None:
    recording = page.ask("recording", width=1000)
    steps = recording["tracks"][0]["blocks"]
    third = steps["segment"].index("2")
    start, duration = steps["start"][third], steps["duration"][third]
    of_step = page.ask("range", step=2, path=[], **{"from": 0, "to": duration})
    of_all = page.ask("range", recording=True, **{"from": start, "to": start + duration})
    for what in ("device", "kernels", "operators"):
        assert of_step[what] == of_all[what]
    whole = page.ask("range", recording=True, **{"from": -5, "to": 10**15})
    assert [whole["from"], whole["to"]] == recording["extent"]
    busy = [{track["name"]: track["busy"] for track in each["tracks"] if track["busy"]} for each in (whole, recording)]
    assert busy[0] == busy[1]
    assert page.refused("range", recording=True)["code"] == -32602
    assert page.refused("range", recording="yes", **{"from": 0, "to": 1})["code"] == -32602


def test_what_a_list_of_operators_leaves_out_is_told_as_a_sum(tmp_path: Path) -> None:
    trace = Trace()
    trace.add("user_annotation", "ProfilerStep#0", 0, 1000)
    for number in range(60):
        trace.add("cpu_op", f"aten::op{number}", 10 * number, 1 + number % 7)
    trace.write(tmp_path / "many.json")
    with Server(tmp_path, "many.json") as server:
        page = Page(server)
        of_range = page.ask("range", path=[], **{"from": 0, "to": 1_000_000})
        details = page.ask("details", path=[])
        page.close()
    total = sum(1 + number % 7 for number in range(60)) * 1000
    for listed, others in ((of_range["operators"], of_range["moreOperators"]), (details["kernels"], details["moreKernels"])):
        assert len(listed) == 40
        assert others["count"] == 20
        assert sum(each["time"] for each in listed) + others["time"] == total
    assert "moreKernels" not in of_range


def test_export_holds_the_window(page: Page) -> None:
    exported = page.ask("export", **{"from": 0, "to": 100_000})
    assert "DataLoader" in exported["text"]
    assert "aten::linear" not in exported["text"]


def test_export_of_the_recording_holds_its_window(page: Page) -> None:
    def names(exported: Json) -> list[str]:
        return [event["name"] for event in json.loads(exported["text"])["traceEvents"] if event["ph"] == "X"]

    steps = page.ask("recording", width=1000)["tracks"][0]["blocks"]
    second = steps["segment"].index("1")
    window = {"from": steps["start"][second], "to": steps["start"][second] + steps["duration"][second]}
    of_all = page.ask("export", recording=True, **window)
    of_step = page.ask("export", step=1, **{"from": 0, "to": steps["duration"][second]})
    assert names(of_all) == names(of_step)
    assert [of_all["name"], of_step["name"]] == ["hotlens-recording.json", f"hotlens-step-{page.ask('overview')['steps'][1]['index']}.json"]
    assert len(names(page.ask("export", recording=True))) >= 3 * len(names(of_all))
