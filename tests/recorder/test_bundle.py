"""The bundle has the shape FORMAT.md promises."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from conftest import Bundle, Run

NUMBER = (int, float)
OPTIONAL_SITE = "site or null"
MANIFEST = {
    "schema": str,
    "id": str,
    "created": str,
    "hotlens": str,
    "argv": list,
    "cwd": str,
    "python": dict,
    "libraries": dict,
    "threads": int,
    "devices": list,
    "step": dict,
    "samples_per_step": (int, type(None)),
    "batch_size": (int, type(None)),
    "warmup_steps": int,
    "steps_asked": int,
    "steps_measured": int,
    "plain_step_ns": list,
    "plain_step_faults": list,
    "plain_step_fetching_ns": list,
    "page_faults": dict,
    "cudnn_benchmark": (bool, type(None)),
    "profiled_step_ns": list,
    "map_step_ns": (int, type(None)),
    "optimizers": list,
    "stopped_early": bool,
    "exit_code": (int, type(None)),
    "error": (dict, type(None)),
    "stopped_by": (str, type(None)),
    "git": (dict, type(None)),
    "warnings": list,
    "traces": list,
    "map_trace": str,
    "loop": str,
    "compiled": dict,
    "saved": str,
    "program": str,
    "programs": list,
    "varied": list,
}
SOMETIMES = ("map_trace", "saved", "loop", "compiled", "program", "programs", "varied")
LOOP_ROWS: dict[str, dict[str, Any]] = {
    "loops": {"id": int, "parent": int, "file": int, "line": int, "end_line": int, "kind": str, "function": str, "updates": int},
    "statements": {"loop": int, "function": str, "file": int, "line": int, "end_line": int, "column": int, "kind": str}
    | {
        "calls": int,
        "timed_ns": int,
        "total_ns": int,
        "per_update_ns": int,
        "in_updates": int,
        "in_watched": int,
        "first_update": int,
        "last_update": int,
        "usual_ns": (list, type(None)),
    }
    | {"startup_calls": int, "startup_ns": int},
}
ROWS: dict[str, dict[str, Any]] = {
    "files": {"path": str, "sha256": (str, type(None)), "copy": (str, type(None)), "workspace": bool},
    "modules": {
        "id": int,
        "path": str,
        "class": str,
        "python_module": str,
        "parent": int,
        "root": int,
        "parameters_bytes": int,
        "attached": OPTIONAL_SITE,
        "constructed": OPTIONAL_SITE,
        "class_site": OPTIONAL_SITE,
    },
    "roots": {"module": int, "role": str},
    "parameters": {"id": int, "module": int, "name": str, "bytes": int, "shape": list, "dtype": str, "requires_grad": bool}
    | {"gradient_bytes": (int, type(None)), "optimizer_bytes": (int, type(None))},
    "calls": {"id": int, "module": int, "parent": int, "site": OPTIONAL_SITE},
    "lines": {"id": int, "file": int, "line": int, "function": str},
    "stages": {"stage": str, "site": "site"},
}
SITE = {
    "file": int,
    "line": int,
    "end_line": int,
    "column": (int, type(None)),
    "end_column": (int, type(None)),
    "function": str,
}


def check_site(site: dict[str, Any], files: int) -> None:
    assert set(site) == set(SITE)
    assert all(isinstance(site[k], t) for k, t in SITE.items())
    assert 0 <= site["file"] < files
    assert 0 <= site["line"] <= site["end_line"]


def check_fetches(model: dict[str, Any]) -> None:
    """Stacks that workers ran for a batch, absent where no worker was looked at; shares of the whole fetch."""
    for row in model.get("fetches", []):
        assert set(row) == {"lines", "weight"} and row["lines"] and 0 < row["weight"] <= 1
        assert all(0 <= line < len(model["lines"]) for line in row["lines"])
    assert sum(row["weight"] for row in model.get("fetches", [])) <= 1 + 1e-6


def check_rows(model: dict[str, Any]) -> None:
    assert set(model) - {"fetches"} == {"schema", *ROWS}
    check_fetches(model)
    for table, columns in ROWS.items():
        for row in model[table]:
            assert set(row) - {"cells", "checkpoint_switch", "watching_ns"} == set(columns), table  # test_notebook.py; below
            for key, kind in columns.items():
                if isinstance(kind, str):
                    if row[key] is None:
                        assert kind == OPTIONAL_SITE
                    else:
                        check_site(row[key], len(model["files"]))
                else:
                    assert isinstance(row[key], kind), (table, key)


def check_switches(modules: list[dict[str, Any]]) -> None:
    """Of the layers that a method of their model makes run again in backward; the model is above them."""
    for row in modules:
        if (switch := row.get("checkpoint_switch")) is not None:
            assert set(switch) == {"module", "method"} and switch["method"]
            assert 0 <= switch["module"] < row["id"] and modules[switch["module"]]["root"] == row["root"]


def check_numbers(model: dict[str, Any]) -> None:
    """Ids are positions; what a row refers to exists and comes before it."""
    for table in ("modules", "parameters", "calls", "lines"):
        assert [r["id"] for r in model[table]] == list(range(len(model[table]))), table
    for m in model["modules"]:
        assert -1 <= m["parent"] < m["id"]
        assert (m["parent"] == -1) == (m["root"] == m["id"])
        assert m["parent"] == -1 or model["modules"][m["parent"]]["root"] == m["root"]
    assert {r["module"] for r in model["roots"]} == {m["root"] for m in model["modules"]}
    for c in model["calls"]:
        assert -1 <= c["parent"] < c["id"] and 0 <= c["module"] < len(model["modules"])
    paths = [m["path"] for m in model["modules"]]
    assert len(set(paths)) == len(paths)


def check_saved(saved: dict[str, Any], model: dict[str, Any]) -> None:
    assert saved["schema"] == "hotlens.saved/1"
    if saved["refused"] is not None:
        assert set(saved) == {"schema", "refused"} and isinstance(saved["refused"], str)
        return
    tables = {"savers", "storages", "hooked", "opaque"}
    assert set(saved) == {"schema", "refused", "pass", "passes", "unreadable"} | tables
    assert 1 <= saved["pass"] <= saved["passes"]
    for saver in saved["savers"]:
        assert set(saver) == {"node", "module", "line"}
        assert -1 <= saver["module"] < len(model["modules"]) and -1 <= saver["line"] < len(model["lines"])
    for storage in saved["storages"]:
        assert set(storage) == {"kind", "device", "bytes", "count", "by"} and storage["count"] > 0 and storage["by"]
        assert all(set(by) == {"saver", "as", "elements"} and by["saver"] < len(saved["savers"]) for by in storage["by"])


def check_bundle(bundle: Bundle) -> None:
    manifest, model = bundle.manifest, bundle.model
    assert manifest["schema"] == "hotlens.bundle/1" and model["schema"] == "hotlens.model/1"
    expected = {k: v for k, v in MANIFEST.items() if k in manifest or k not in SOMETIMES}
    assert set(manifest) == set(expected)
    for key, kind in expected.items():
        assert isinstance(manifest[key], kind), key
    assert manifest["id"] == bundle.path.name
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{6}", bundle.path.name)
    assert manifest["step"]["by"] in ("loader", "optimizer", "forward", "backward", "profiler") and manifest["step"]["why"]
    assert len(manifest["profiled_step_ns"]) == manifest["steps_measured"] >= 1
    assert all(isinstance(n, int) and n > 0 for n in manifest["plain_step_ns"] + manifest["profiled_step_ns"])
    check_rows(model)
    check_switches(model["modules"])
    check_numbers(model)
    for file in model["files"]:
        if file["copy"] is not None:
            assert hashlib.sha256((bundle.path / file["copy"]).read_bytes()).hexdigest() == file["sha256"]
    listed = {
        "manifest.json",
        "model.json",
        "files",
        *(t["file"] for t in manifest["traces"]),
        manifest.get("map_trace"),
        manifest.get("loop"),
        manifest.get("saved"),
        manifest.get("program"),
        *(row["file"] for row in [*manifest.get("programs", []), *manifest.get("varied", [])]),
    }
    assert {p.name for p in bundle.path.iterdir()} == listed - {None}
    assert ("saved" in manifest) == ("map_trace" in manifest)
    if "saved" in manifest:
        check_saved(json.loads((bundle.path / manifest["saved"]).read_text(encoding="utf-8")), model)
    if "loop" in manifest:
        check_loop(json.loads((bundle.path / manifest["loop"]).read_text(encoding="utf-8")), len(model["files"]))


def check_loop(loop: dict[str, Any], files: int) -> None:
    assert loop["schema"] == "hotlens.loop/1" and loop["updates"] > 0 and loop["startup_ns"] > 0
    assert len(loop["update_ns"]) == loop["updates"] <= loop["made"] and min(loop["update_ns"]) > 0
    for table, columns in LOOP_ROWS.items():
        for row in loop[table]:
            assert set(row) == set(columns) and all(isinstance(row[k], kind) for k, kind in columns.items())
            assert 0 <= row["file"] < files and 0 <= row["line"] <= row["end_line"]
    assert [row["id"] for row in loop["loops"]] == list(range(len(loop["loops"])))
    assert all(-1 <= row["parent"] < row["id"] and row["updates"] <= loop["updates"] for row in loop["loops"])
    for row in loop["statements"]:
        assert -1 <= row["loop"] < len(loop["loops"]) and row["total_ns"] <= loop["watched_ns"]
        assert row["per_update_ns"] == row["total_ns"] // loop["updates"]
        assert row["in_watched"] <= min(row["in_updates"], loop["updates"])
        assert (row["usual_ns"] is not None) == (row["in_watched"] >= 3)
        assert row["usual_ns"] is None or (len(row["usual_ns"]) == 3 and row["usual_ns"] == sorted(row["usual_ns"]))
        assert (row["in_updates"] > 0) == (row["first_update"] >= 0) and row["first_update"] <= row["last_update"]


def test_an_example_gives_a_bundle_of_the_promised_shape(example: Run) -> None:
    assert example.code == 0, example.err
    check_bundle(example.bundle)
    manifest = example.bundle.manifest
    assert manifest["steps_measured"] == 5 and len(manifest["plain_step_ns"]) == 3 and manifest["map_step_ns"] > 0
    assert manifest["stopped_early"] and manifest["exit_code"] == 0 and manifest["error"] is None and manifest["warnings"] == []


def test_the_profiles_folder_ignores_itself(example: Run) -> None:
    assert (example.bundle.path.parents[1] / ".gitignore").read_text() == "*\n!runs.json\n"


def test_nothing_of_the_recorder_is_on_the_scripts_stderr(example: Run) -> None:
    assert example.err == ""


def test_progress_tells_each_phase_and_ends_with_the_bundle(example: Run) -> None:
    phases = [p["phase"] for p in example.progress]
    assert phases[:2] == ["start", "warmup"] and phases[-2:] == ["write", "done"]
    assert phases.count("plain") == 5 and "map" in phases and phases.count("measured") >= 5
    assert example.progress[-1]["bundle"] == str(example.bundle.path)


def test_parameters_are_listed_once_with_their_bytes(digits: Run) -> None:
    model = digits.bundle.model
    assert sum(p["bytes"] for p in model["parameters"]) == digits.bundle.module("")["parameters_bytes"]
    weight = next(p for p in model["parameters"] if model["modules"][p["module"]]["path"] == "stem.0")
    assert (weight["name"], weight["shape"], weight["bytes"], weight["dtype"]) == ("weight", [16, 1, 3, 3], 576, "float32")


def test_the_state_of_the_optimizer_is_with_its_parameters(digits: Run, gpt: Run) -> None:
    momentum = digits.bundle
    assert all(p["optimizer_bytes"] == p["gradient_bytes"] == p["bytes"] for p in momentum.model["parameters"])
    size = momentum.module("")["parameters_bytes"]
    assert momentum.manifest["optimizers"] == [{"class": "SGD", "state_bytes": size, "elsewhere_bytes": 0}]
    adam = gpt.bundle
    assert all(p["optimizer_bytes"] == 2 * p["bytes"] + 4 for p in adam.model["parameters"])  # two averages and the count of steps
    assert [o["class"] for o in adam.manifest["optimizers"]] == ["AdamW"]


def test_a_shared_weight_belongs_to_the_first_module_that_holds_it(gpt: Run) -> None:
    model = gpt.bundle.model
    owners = [model["modules"][p["module"]]["path"] for p in model["parameters"]]
    assert "token_embedding" in owners and "lm_head" not in owners
    assert gpt.bundle.module("lm_head")["parameters_bytes"] == gpt.bundle.module("token_embedding")["parameters_bytes"]


def test_the_criterion_is_a_root_of_its_own(digits: Run) -> None:
    model = digits.bundle.model
    assert [(model["modules"][r["module"]]["path"], r["role"]) for r in model["roots"]] == [("", "model"), ("CrossEntropyLoss", "loss")]


def test_the_manifest_says_what_a_step_is(digits: Run, gpt: Run) -> None:
    assert digits.bundle.manifest["step"]["by"] == "loader" and digits.bundle.manifest["samples_per_step"] == 64
    assert gpt.bundle.manifest["step"]["by"] == "optimizer" and gpt.bundle.manifest["samples_per_step"] == 16


def test_json_files_are_compact_utf8(example: Run) -> None:
    text = (example.bundle.path / "model.json").read_text(encoding="utf-8")
    assert json.loads(text) and "\n" not in text.rstrip("\n")
