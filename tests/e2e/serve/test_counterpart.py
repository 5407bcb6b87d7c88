"""The same block in another profile or step, and what the diff makes of it, as a page asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_socket import Json, Page, Server
from small_trace import Trace


def layers(names: list[str], kernel: float, wrapped: bool = False) -> Trace:
    """Three steps of a model with these layers, one kernel of so many microseconds in each."""
    trace = Trace()
    for number in range(3):
        at = number * 1000.0
        trace.add("user_annotation", f"ProfilerStep#{number}", at, 1000)
        trace.add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 5, 80)
        if wrapped:
            trace.add("python_function", "nn.Module: DistributedDataParallel_0", at + 95, 550)
        trace.add("python_function", "nn.Module: Net_0", at + 100, 540)
        for layer, name in enumerate(names):
            begin = at + 110 + layer * 100
            trace.add("python_function", f"nn.Module: {name}", begin, 90)
            trace.add("cpu_op", "aten::linear", begin + 5, 60)
            trace.launch("ampere_sgemm_128x64_tn", begin + 20, begin + 40, kernel)
        trace.add("user_annotation", "Optimizer.step#SGD.step", at + 700, 100)
    return trace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("counterparts")
    layers(["Linear_0", "ReLU_0", "Linear_1", "Tanh_0"], 20).write(made / "before.json")
    # Counters of frames shift: what is Linear_0 there is Linear_5 here. One layer is new.
    layers(["Linear_5", "ReLU_0", "Linear_6", "Tanh_0", "GELU_0"], 50).write(made / "after.json")
    layers(["Linear_0", "ReLU_0", "Linear_1", "Tanh_0"], 20, wrapped=True).write(made / "wrapped.json")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with Server(folder, "after.json", "before.json", "wrapped.json") as running:
        yield running


@pytest.fixture
def page(server: Server) -> Iterator[Page]:
    opened = Page(server)
    yield opened
    opened.close()


def path_of(page: Page, profile: str, module: str) -> list[str]:
    matches: Json = page.ask("search", profile=profile, query=module.rsplit("/", 1)[-1])["matches"]
    return next(match["path"] for match in matches if match["kind"] == "module" and match["label"].endswith(module))


def module_at(page: Page, profile: str, path: list[str]) -> str:
    return str(page.ask("details", profile=profile, path=path)["module"])


def test_modules_pair_as_the_diff_pairs_them(page: Page) -> None:
    sides = {"profile": "after.json", "other": "before.json", "side": "after"}
    for here, there in (("Linear_5", "Linear_0"), ("Linear_6", "Linear_1"), ("Tanh_0", "Tanh_0")):
        found = page.ask("counterpart", path=path_of(page, "after.json", here), **sides)
        assert module_at(page, "before.json", found["path"]).endswith(there)
        rows = page.ask("compare", before="before.json", after="after.json", module="Net_0")["rows"]
        row = next(row for row in rows if row["module"].endswith(here))
        assert {key: found["judged"][key] for key in ("change", "before", "after")} == {
            key: row[key] for key in ("change", "before", "after")
        }
        assert found["judged"]["of"] == "module"
    # And back again.
    back = page.ask("counterpart", profile="before.json", other="after.json", side="before", path=path_of(page, "before.json", "Linear_1"))
    assert module_at(page, "after.json", back["path"]).endswith("Linear_6")
    assert back["judged"]["before"] < back["judged"]["after"]


def test_what_is_new_has_no_counterpart(page: Page) -> None:
    path = path_of(page, "after.json", "GELU_0")
    found = page.ask("counterpart", profile="after.json", other="before.json", side="after", path=path)
    assert "path" not in found
    assert found["judged"]["change"] == "added"
    inside = page.ask("counterpart", profile="after.json", other="before.json", side="after", path=[*path, "aten::linear"])
    assert inside == {}


def test_a_wrapper_of_one_side_is_stepped_over(page: Page) -> None:
    here = path_of(page, "wrapped.json", "Linear_1")
    found = page.ask("counterpart", profile="wrapped.json", other="before.json", side="after", path=here)
    assert module_at(page, "before.json", found["path"]).endswith("Linear_1")
    back = page.ask("counterpart", profile="before.json", other="wrapped.json", side="before", path=found["path"])
    assert back["path"] == here


def test_operators_and_kernels_go_by_name_inside_their_module(page: Page) -> None:
    path = [*path_of(page, "after.json", "Linear_6"), "aten::linear"]
    found = page.ask("counterpart", profile="after.json", other="before.json", side="after", path=path)
    assert found["path"][-1] == "aten::linear"
    assert module_at(page, "before.json", found["path"][:-1]).endswith("Linear_1")
    assert "judged" not in found


def test_step_and_stages_are_judged_as_the_diff_does(page: Page) -> None:
    sides = {"profile": "after.json", "other": "before.json", "side": "after"}
    step = page.ask("counterpart", path=[], **sides)
    assert (step["path"], step["judged"]["of"], step["judged"]["before"]) == ([], "step", 1_000_000)
    stage = page.ask("counterpart", path=["forward"], **sides)
    assert (stage["path"], stage["judged"]["of"]) == (["forward"], "stage")
    assert (stage["judged"]["before"], stage["judged"]["after"]) == (4 * 20_000, 5 * 50_000)


def test_two_steps_of_one_profile(page: Page) -> None:
    path = path_of(page, "after.json", "Linear_6")
    found = page.ask("counterpart", profile="after.json", step=1, other="after.json", otherStep=0, side="after", path=path)
    assert found["path"] == path
    assert found["judged"]["change"] == "same"
    step = page.ask("counterpart", profile="after.json", step=1, other="after.json", otherStep=2, side="before", path=[])
    assert step["judged"]["of"] == "step"


def test_what_cannot_be_is_refused(page: Page) -> None:
    asked = {"profile": "after.json", "path": [], "other": "before.json", "side": "after"}
    assert page.refused("counterpart", **{**asked, "other": "nobody"})["data"] == {"gone": True}
    assert page.refused("counterpart", **{**asked, "path": ["nobody"]})["data"] == {"gone": True}
    assert page.refused("counterpart", **{**asked, "otherStep": 99})["data"] == {"gone": True}
    for wrong in ({"side": "sideways"}, {"side": 1}, {"other": 5}, {"otherStep": -1}, {"otherStep": "0"}):
        assert page.refused("counterpart", **{**asked, **wrong})["code"] == -32602
