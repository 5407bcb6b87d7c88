"""What ran in a stretch of time, added up, and its events for other viewers: of a step and of the whole recording."""

from __future__ import annotations

import json
from pathlib import Path

from page_socket import Json, Page, Server, page_of
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


def test_a_range_tells_stages_layers_and_exposed_communication(tmp_path: Path) -> None:
    trace = Trace()
    trace.add("user_annotation", "ProfilerStep#0", 0, 1000)
    trace.add("python_function", "nn.Module: Net_0", 100, 500)
    trace.add("python_function", "nn.Module: Linear_0", 110, 90)
    trace.add("cpu_op", "aten::linear", 115, 60)
    trace.launch("sgemm", 120, 200, 100)
    trace.add("cpu_op", "c10d::allreduce_", 610, 30)
    trace.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 615, 280, 60)
    trace.write(tmp_path / "layers.json")
    with page_of(tmp_path / "layers.json") as page:
        sums = page.ask("range", path=[], **{"from": 0, "to": 1_000_000})
        assert sums["layers"] == [{"name": "Net_0/Linear_0", "time": 100_000}]
        assert sums["device"] == sum(part["time"] for part in sums["stages"]) == 140_000
        assert sums["exposedCommunication"] == 40_000
        half = page.ask("range", path=[], **{"from": 250_000, "to": 320_000})
        assert half["layers"] == [{"name": "Net_0/Linear_0", "time": 50_000}]
        assert half["exposedCommunication"] == 20_000


def test_the_calls_of_one_name_are_walked_in_order_of_time(page: Page) -> None:
    [first] = [match for match in page.ask("search", query="aten::linear")["matches"] if match["kind"] == "operator"]
    path, seen = first["path"], [first["path"]]
    while (answer := page.ask("call", path=path, back=False)) and "path" in answer:
        path = answer["path"]
        seen.append(path)
        assert (answer["position"], answer["count"]) == (len(seen) - 1, first["count"])
    assert len(seen) == len({tuple(each) for each in seen}) == first["count"] == 4
    starts = [page.ask("details", path=each)["start"] for each in seen]
    assert starts == sorted(starts)
    assert page.ask("call", path=path, back=True)["path"] == seen[-2]


def test_an_export_keeps_arguments_and_arrows(tmp_path: Path) -> None:
    trace = Trace()
    trace.step(0, 0.0)
    trace.step(1, 1000.0)
    for at, ending in ((130.0, "s"), (150.0, "f"), (1130.0, "s"), (1150.0, "f")):
        trace.events.append({"ph": ending, "id": 7, "cat": "ac2g", "name": "ac2g", "pid": "9", "tid": "1", "ts": at})
    trace.events.append({"ph": "M", "name": "thread_name", "pid": "9", "tid": "1", "args": {"name": "python"}})
    trace.write(tmp_path / "arrows.json")
    with page_of(tmp_path / "arrows.json") as page:
        exported = json.loads(page.ask("export", step=1)["text"])["traceEvents"]
    wanted = [e for e in trace.events if e["ph"] == "M" or 1000 <= e["ts"] < 2000]
    assert exported == wanted
    assert any("correlation" in event.get("args", {}) for event in exported)
