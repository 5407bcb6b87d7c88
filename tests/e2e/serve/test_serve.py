"""The timeline's requests over a page's own connection."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from page_socket import Json, Page, Server
from small_bundle import small_bundle
from small_trace import HOSTILE, LONG, Trace, small_trace


def labels(level: Json, track: int = 0) -> list[str]:
    blocks = level["tracks"][track]["blocks"]
    return [blocks["labels"][at] for at in blocks["label"]]


def segment(level: Json, label: str) -> str:
    for track in level["tracks"]:
        blocks = track["blocks"]
        for at, name in enumerate(blocks["label"]):
            if blocks["labels"][name] == label and blocks["segment"][at]:
                return str(blocks["segment"][at])
    raise AssertionError(f"no {label} among {[labels(level, track) for track in range(len(level['tracks']))]}")


def test_profiles_and_overview_agree(page: Page) -> None:
    listed = page.ask("profiles")
    assert listed["current"] == "small.json"
    overview = page.ask("overview")
    assert overview["profile"]["id"] == "small.json"
    assert [step["wall"] for step in overview["steps"]] == [1_000_000] * 3
    assert overview["median"] == 1_000_000
    assert overview["hasDevice"]
    assert sum(bucket["wall"] for bucket in overview["buckets"]) == 1_000_000


def test_a_page_brings_its_first_answers(server: Server, page: Page) -> None:
    overview = page.ask("overview")  # the profile is open from now on
    body = server.get(f"/?token={server.token}")[2].decode()
    text = body.split('<script type="application/json" id="first">')[1].split("</script>")[0]
    assert "<" not in text
    first = json.loads(text)
    level = page.ask("level", path=[], width=first["width"])
    assert (first["profiles"], first["overview"], first["level"]) == (page.ask("profiles"), overview, level)
    assert HOSTILE in labels(first["level"])


def test_levels_lead_from_the_step_to_a_kernel(page: Page) -> None:
    path: list[str] = []
    step = page.ask("level", path=path, width=1000)
    assert step["extent"] == [0, 1_000_000]
    for label in ("forward", "Linear_0 ×4", "Linear_2", "aten::linear"):
        path.append(segment(step, label))
        step = page.ask("level", path=path, width=1000)
    host, device = (track for track in step["tracks"] if track["kind"] != "path")
    assert labels(step) == ["cudaLaunchKernel"]
    assert sorted(device["blocks"]["kinds"]) == ["idle", "kernel"]
    assert device["busy"] == 50_000
    assert host["busy"] == 4_000
    assert [crumb["label"] for crumb in step["crumbs"]] == ["step 0", "forward \u203a Net_0", "Linear_0 ×4", "Linear_2", "aten::linear"]
    # The fold may be left out of a path, and a level opened by it is the same.
    short = page.ask("level", path=[*path[:1], *path[2:]], width=1000)
    assert short["tracks"] == step["tracks"]


def test_the_model_that_fills_its_stage_costs_no_level(page: Page) -> None:
    stage = page.ask("level", path=["forward"], width=1000)
    model = page.ask("level", path=["forward", "Net_0"], width=1000)
    assert labels(stage) == labels(model) == ["no operator", "Linear_0 ×4", "no operator"]
    named = page.ask("level", path=["forward", "Net_0", segment(stage, "Linear_0 ×4")], width=1000)
    assert named["path"] == ["forward", segment(stage, "Linear_0 ×4")]


def test_folds_open_in_place(page: Page) -> None:
    folded = page.ask("level", path=["forward", "Net_0"], width=1000)
    assert labels(folded).count("Linear_0 ×4") == 1
    unfolded = page.ask("level", path=["forward", "Net_0"], width=1000, unfold=True)
    assert [name for name in labels(unfolded) if name.startswith("Linear")] == ["Linear_0", "Linear_1", "Linear_2", "Linear_3"]


def test_details_say_what_ran_and_for_how_long(page: Page) -> None:
    details = page.ask("details", path=["forward", "Net_0"])
    assert details["class"] == "Net"
    assert details["calls"] == 1
    assert details["times"]["cpuTotal"] == 500_000
    assert details["times"]["cpuSelf"] == 500_000 - 4 * 90_000
    assert details["times"]["device"] == 4 * 50_000
    assert details["kernels"][0]["calls"] == 4
    assert details["kernels"][0]["family"] == "gemm"
    assert details["forward"]["device"] == 4 * 50_000
    for path in (["forward"], ["forward", "Net_0"]):
        found = page.ask("details", path=path)
        both = sum(found.get(way, {}).get("device", 0) for way in ("forward", "backward")) or found["times"]["device"]
        assert found["spread"]["of"] == "device busy"
        assert found["spread"]["median"] == both


def test_arrows_join_launch_and_kernel(page: Page) -> None:
    found = page.ask("arrows", path=["forward", "Net_0"])
    assert found["total"] == 4
    first = found["arrows"][0]
    assert (first["launchTrack"], first["delay"]) == ("main", 16_000)
    assert first["end"] - first["start"] == 50_000
    kernel = page.ask("search", query="sgemm")["matches"][0]["path"]
    assert page.ask("arrows", path=kernel)["arrows"] == [first]


def test_arrows_are_those_of_the_window(tmp_path: Path) -> None:
    trace = Trace()
    trace.add("user_annotation", "ProfilerStep#0", 0, 10_000)
    for number in range(450):
        trace.add("cpu_op", "aten::mm", 10 + number * 20, 10)
        trace.launch("gemm", 12 + number * 20, 25 + number * 20, 5)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running, Origin=f"http://{running.host}")
        whole = page.ask("arrows", path=["forward"])
        part = page.ask("arrows", path=["forward"], **{"from": 5_000_000, "to": 5_400_000})
        nothing = page.ask("arrows", path=["forward"], **{"from": 9_900_000, "to": 9_990_000})
        page.close()
    starts = [arrow["start"] for arrow in whole["arrows"]]
    assert whole["total"] == 450
    assert 100 < len(starts) <= 200
    assert starts == sorted(starts)
    assert starts[-1] > 8_000_000  # of the whole block, not its beginning
    seen = [n for n in range(450) if 5000 <= 25 + 20 * n <= 5400 or 5000 <= 12 + 20 * n <= 5400]
    assert part["total"] == len(part["arrows"]) == len(seen)
    assert [arrow["start"] for arrow in part["arrows"]] == [25_000 + 20_000 * n for n in seen]
    assert nothing == {"arrows": [], "total": 0}


def test_search_looks_at_the_whole_tree(page: Page) -> None:
    found = page.ask("search", query="LINEAR")
    assert [match["kind"] for match in found["matches"]] == ["module"] * 4 + ["operator"]
    operator = found["matches"][-1]
    assert (operator["count"], operator["time"]) == (4, 4 * 60_000)
    assert page.ask("details", path=operator["path"])["label"] == "aten::linear"
    assert page.ask("search", query="")["total"] == 0
    assert page.ask("search", query="linear", limit=2)["total"] == 5


def test_breakdown_adds_up(page: Page) -> None:
    rows = page.ask("breakdown", metric="time")
    assert rows["total"] == 1_000_000
    assert sum(row["value"] for row in rows["rows"]) == 1_000_000
    net = next(row for row in rows["rows"] if row["kind"] == "module")
    inside = page.ask("breakdown", metric="time", module=net["module"])
    assert inside["total"] == net["value"] == 4 * 50_000
    assert {"device idle"} <= {row["label"] for row in rows["rows"]}


def test_two_steps_beside_each_other_add_up_and_the_slow_one_says_where(tmp_path: Path) -> None:
    trace = Trace()
    trace.step(0, 0.0)
    trace.step(1, 1000.0)
    trace.step(2, 2000.0)
    trace.add("user_annotation", "ProfilerStep#3", 3000, 1400)
    trace.add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 3005, 480)
    trace.launch("a_kernel_of_its_own", 3600, 3700, 200)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running, Origin=f"http://{running.host}")
        sides = {"before": "t.json", "after": "t.json", "beforeStep": 1, "afterStep": 3}
        compared = page.ask("compare", **sides)
        assert [(compared[side]["step"], compared[side]["stepNs"]) for side in ("before", "after")] == [(1, 1_000_000), (3, 1_400_000)]
        for side, wall in (("before", 1_000_000), ("after", 1_400_000)):
            assert sum(row.get(side, 0) for row in compared["rows"]) == wall
        changes = {row["label"]: row["change"] for row in compared["rows"]}
        assert changes["device idle"] == "slower"
        assert next(row["change"] for row in compared["rows"] if row["kind"] == "module") == "removed"
        same = page.ask("compare", **{**sides, "afterStep": 2})
        assert {row["change"] for row in same["rows"]} == {"same"}
        net = next(row for row in same["rows"] if row["kind"] == "module")
        inside = page.ask("compare", **{**sides, "afterStep": 2}, module=net["module"])
        assert sum(row["after"] for row in inside["rows"]) == net["after"] == 4 * 50_000
        assert page.ask("details", step=2, path=net["path"])["module"] == net["module"]
        assert page.refused("compare", **{**sides, "afterStep": 9})["data"]["gone"]
        page.close()


def test_work_without_a_launch_is_told_apart_in_the_breakdown(tmp_path: Path) -> None:
    trace = Trace()
    trace.add("kernel", "before_the_recording", 1, 30, thread="7", correlation=77)
    trace.step(0, 0.0)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running, Origin=f"http://{running.host}")
        rows = page.ask("breakdown", metric="time")["rows"]
        page.close()
    assert {row["kind"]: row["value"] for row in rows}["earlier_step"] == 30_000
    assert sum(row["value"] for row in rows) == 1_000_000


def test_evidence_leads_to_the_block_it_names(page: Page) -> None:
    evidence = [item for item in page.ask("overview")["verdict"]["evidence"] if "Linear" in item["where"] or "Net" in item["where"]]
    assert evidence
    for item in evidence:
        assert page.ask("details", path=item["path"])["module"] == item["where"]


def test_hostile_names_stay_text_and_long_ones_are_cut(page: Page) -> None:
    level = page.ask("level", path=[], width=1000)
    shown = [name for track in range(len(level["tracks"])) for name in labels(level, track)]
    assert HOSTILE in shown
    assert all(len(name.encode()) <= 200 for name in shown)
    found = page.ask("search", query="long_long")["matches"][0]
    assert len(found["label"]) < 400
    assert page.ask("details", path=found["path"])["kernels"][0]["name"].startswith(LONG[:900])


def test_windows_of_every_width_and_place(page: Page) -> None:
    for width in (1, 200, 4000, 10**9):
        for begin, end in ((0, 1_000_000), (-(10**18), 10**18), (999_999, 1_000_000), (5, 5), (10, -10)):
            level = page.ask("level", path=[], width=width, **{"from": begin, "to": end})
            assert level["window"][0] < level["window"][1]
            assert level["window"][0] >= -50_000
            assert level["window"][1] <= 1_050_000
    assert page.refused("level", path=[], width=-1)["code"] == -32602
    assert page.refused("level", path=[])["code"] == -32602
    assert page.refused("level", path="forward", width=10)["code"] == -32602
    assert page.refused("level", path=[], width=10, **{"from": "0"})["code"] == -32602


def test_what_is_gone_is_said(page: Page) -> None:
    for error in (
        page.refused("level", path=["nobody"], width=100),
        page.refused("level", path=[], width=100, step=99),
        page.refused("overview", profile="nobody"),
        page.refused("breakdown", metric="time", module="nobody"),
    ):
        assert error["code"] == -32602
        assert error["data"] == {"gone": True}
    assert page.refused("nonsense")["code"] == -32601
    assert page.refused("breakdown", metric="colour")["code"] == -32602


def test_a_page_without_an_editor_cannot_reveal(page: Page) -> None:
    assert page.ask("reveal", file="/nowhere.py", line=1) == {"shown": False}


def test_two_profiles_side_by_side(tmp_path: Path) -> None:
    small_trace(tmp_path / "after.json")
    faster = Trace()
    for number in range(3):
        faster.step(number, number * 1000.0)
    for event in faster.events:
        if event["name"].startswith("ampere"):
            event["dur"] = 10
    faster.write(tmp_path / "before.json")
    with Server(tmp_path, "after.json", "before.json") as server:
        page = Page(server)
        rows = page.ask("compare", before="before.json")["rows"]
        assert [(row["change"], row["before"], row["after"]) for row in rows] == [("slower", 40_000, 200_000)]
        below = page.ask("compare", before="before.json", module="Net_0")["rows"]
        assert len(below) == 4
        page.close()


def test_a_profile_that_vanishes_stays_open_and_a_new_one_is_read(tmp_path: Path) -> None:
    trace = small_trace(tmp_path / "x.json")
    with Server(tmp_path, "x.json") as server:
        page = Page(server)
        assert len(page.ask("overview")["steps"]) == 3
        trace.unlink()
        assert len(page.ask("overview", profile="x.json")["steps"]) == 3
        small_trace(trace, steps=5)
        os.utime(trace, (1, 1))
        assert len(page.ask("overview", profile="x.json")["steps"]) == 5
        page.close()


@pytest.mark.parametrize("what", ["host", "one", "flat"])
def test_traces_with_little_in_them(tmp_path: Path, what: str) -> None:
    trace = Trace()
    trace.add("cpu_op", "aten::add", 10, 5)
    if what != "one":
        for number in range(20):
            trace.add("cpu_op", f"aten::op{number % 3}", 20 + number * 10, 8)
    if what == "flat":
        trace.launch("k", 300, 310, 5)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as server:
        page = Page(server)
        level = page.ask("level", path=[], width=500)
        assert level["tracks"]
        assert page.ask("overview")["hasDevice"] == (what == "flat")
        rows = page.ask("breakdown", metric="time")
        assert sum(row["value"] for row in rows["rows"]) == rows["total"]
        assert page.ask("breakdown", metric="memory")["rows"] == []
        page.close()


def test_search_knows_what_only_other_steps_have(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(4):
        trace.step(number, number * 1000.0)
    trace.add("cpu_op", "aten::rare", 3850, 20)
    trace.launch("rare_kernel", 3855, 3880, 30)
    trace.add("cpu_op", "aten::seldom", 850, 10)
    trace.add("cpu_op", "aten::seldom", 2850, 10)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running, Origin=f"http://{running.host}")
        found = page.ask("search", query="rare", step=1)["matches"]
        assert [(each["label"], each["kind"], each["step"], each["steps"], each["time"]) for each in found] == [
            ("rare_kernel", "kernel", 3, 1, 30_000),
            ("aten::rare", "operator", 3, 1, 20_000),
        ]
        assert all("path" not in each for each in found)
        there = page.ask("search", query="aten::rare", step=3)["matches"]
        assert page.ask("details", step=3, path=there[0]["path"])["label"] == "aten::rare"
        (seldom,) = page.ask("search", query="seldom", step=3)["matches"]
        assert (seldom["step"], seldom["steps"], seldom["count"], seldom["time"]) == (2, 2, 2, 20_000)
        linear = next(each for each in page.ask("search", query="aten::linear", step=0)["matches"] if each["kind"] == "operator")
        assert (linear["steps"], "step" in linear) == (4, False)
        page.close()


def test_the_overview_says_what_could_help_and_where(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(3):
        trace.add("python_function", "train.py(12): main", number * 1000.0, 999)
        trace.step(number, number * 1000.0)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running)
        overview = page.ask("overview")
        page.close()
    assert overview["sensitivity"] == {"kernels": 1.0, "host": 0.5}
    launches, loader = overview["findings"]
    assert (launches["kind"], loader["kind"]) == ("fewer_launches", "loader_workers")
    assert launches["low"] < loader["low"]
    assert "file" not in launches and "line" not in launches
    assert loader == {
        "kind": "loader_workers",
        "title": "Make batches in worker processes (num_workers)",
        "file": "train.py",
        "line": 11,
        "low": 0.92,
        "savedAtMost": 80_000,
        "evidence": [{"what": "the training process makes the batches itself", "time": 80_000, "where": ""}],
        "assumes": ["processors are free for the workers, and they are as fast as this process"],
    }


def test_an_overview_of_a_step_that_nothing_helps_says_so(tmp_path: Path) -> None:
    trace = Trace()
    trace.add("user_annotation", "ProfilerStep#0", 0, 1000)
    trace.add("cpu_op", "aten::linear", 10, 980)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running)
        overview = page.ask("overview")
        page.close()
    assert overview["findings"] == []
    assert "sensitivity" not in overview


def test_what_only_runs_tell_is_told_without_a_number(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(2):
        at = number * 1000.0
        trace.add("user_annotation", f"ProfilerStep#{number}", at, 1000)
        trace.add("cpu_op", "aten::cudnn_convolution", at + 10, 20)
        trace.launch("sm80_xmma_fprop_implicit_gemm_f32f32", at + 15, at + 30, 900)
        trace.add("cpu_op", "aten::item", at + 50, 900)
        trace.add("cuda_runtime", "cudaStreamSynchronize", at + 55, 880, correlation=99 + number)
    for told, found in ((False, True), (True, False), (None, False)):
        bundle = small_bundle(tmp_path / str(told), cudnn_benchmark=told)
        trace.write(bundle / "trace-0.json")
        with Server(tmp_path / str(told)) as running:
            page = Page(running)
            findings = [one for one in page.ask("overview")["findings"] if one["kind"] == "cudnn_benchmark"]
            page.close()
        assert bool(findings) is found
        assert all(one["onlyMeasured"] and one["low"] == 1 and one["savedAtMost"] == 0 for one in findings)
