"""What is asked of several steps at once: the recording on one axis, two steps beside each other, a search in all of them."""

from __future__ import annotations

from pathlib import Path

from page_socket import Json, Page, Server
from small_trace import Trace


def blocks_of(track: Json) -> list[tuple[str, str, int, int, str]]:
    """Label, kind, start and end in ns, segment."""
    columns = track["blocks"]
    each = zip(columns["label"], columns["kind"], columns["start"], columns["duration"], columns["segment"], strict=True)
    return [(columns["labels"][label], columns["kinds"][kind], start, start + long, segment) for label, kind, start, long, segment in each]


def test_the_recording_holds_every_step_where_it_is(tmp_path: Path) -> None:
    trace = Trace()
    trace.add("cpu_op", "aten::warm", 0, 300)
    for number, at in [(4, 1000.0), (5, 2000.0), (7, 4500.0)]:
        trace.step(number, at)
    trace.add("cpu_op", "aten::save", 6000, 500)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running)
        whole = page.ask("recording", width=2000)
        assert whole["extent"] == whole["window"] == [0, 6_500_000]
        tracks = {track["name"]: blocks_of(track) for track in whole["tracks"]}
        assert tracks["steps"] == [
            ("before the first step", "gap", 0, 1_000_000, ""),
            ("step 4", "step", 1_000_000, 2_000_000, "0"),
            ("step 5", "step", 2_000_000, 3_000_000, "1"),
            ("between steps", "gap", 3_000_000, 4_500_000, ""),
            ("step 7", "step", 4_500_000, 5_500_000, "2"),
            ("after the last step", "gap", 5_500_000, 6_500_000, ""),
        ]
        host = tracks["CPU main"]
        assert ("outside the steps", "stage", 0, 300_000, "") in host
        assert ("optimizer", "stage", 2_700_000, 2_800_000, "1") in host
        # The device's track is busy as long as its steps say.
        (device,) = [track for track in whole["tracks"] if track["kind"] == "device"]
        assert device["busy"] == sum(step["device"] for step in page.ask("overview")["steps"])
        # A part of it is that part, as fine as was asked for.
        part = page.ask("recording", width=100, **{"from": 4_500_000, "to": 5_500_000})
        assert [each[0] for each in blocks_of(part["tracks"][0])] == ["step 7"]
        beyond = page.ask("recording", width=1, **{"from": -5, "to": 10**15})
        assert beyond["window"] == [0, 6_500_000]
        page.close()


def test_two_steps_differ_beyond_the_noise_of_all_or_not_at_all(tmp_path: Path) -> None:
    """Layer 0 takes 60 µs give or take 5 in every step; in the last one layer 1 takes three times as long."""
    trace = Trace()
    for number, jitter in enumerate([0, 5, -4, 3, -5, 2]):
        at = number * 1000.0
        trace.add("user_annotation", f"ProfilerStep#{number}", at, 1000)
        for layer, long in [(0, 60 + jitter), (1, 180 if number == 5 else 60)]:
            trace.add("python_function", f"nn.Module: Linear_{layer}", at + 100 + layer * 300, 290)
            trace.add("cpu_op", "aten::linear", at + 105 + layer * 300, 280)
            trace.launch("gemm", at + 110 + layer * 300, at + 120 + layer * 300, long)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running)
        rows = page.ask("compare", before="t.json", after="t.json", beforeStep=4, afterStep=5)["rows"]
        layers = {row["module"]: row for row in rows if row["kind"] == "module"}
        assert layers["Linear_1"]["change"] == "slower"
        assert layers["Linear_0"]["change"] == "same"
        assert layers["Linear_0"]["after"] - layers["Linear_0"]["before"] == 7_000 <= layers["Linear_0"]["noise"]
        page.close()


def test_search_knows_modules_and_stages_of_other_steps(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(3):
        trace.step(number, number * 1000.0)
    trace.add("python_function", "nn.Module: Rare_0", 2850, 100)
    trace.add("cpu_op", "aten::rare", 2860, 20)
    trace.add("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 1900, 50)
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running)
        found = [each for each in page.ask("search", query="Rare_0", step=0)["matches"] if each["kind"] == "module"]
        assert [(each["label"], each["step"], each["steps"], "path" in each) for each in found] == [("Rare_0", 2, 1, False)]
        (there,) = [each for each in page.ask("search", query="Rare_0", step=2)["matches"] if each["kind"] == "module"]
        assert there["label"] == "Rare_0" and there["path"] and "step" not in there
        stages = [each for each in page.ask("search", query="zero_grad", step=0)["matches"] if each["kind"] == "stage"]
        assert [(each["step"], each["time"]) for each in stages] == [(1, 50_000)]
        page.close()
