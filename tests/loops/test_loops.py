"""Every loop shape, recorded for real: Hotlens finds its steps, stages and modules in a trace that holds none of our marks.

Each shape is recorded with and without ProfilerStep ranges and Python frames. Truth comes from ranges that the loop opened itself and that
were taken out of the trace (record.py).
"""

from __future__ import annotations

import collections
import functools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import shapes
import trainers
import unusual
from compare import HOTLENS, module_pairs, operators, report, reported, step_pairs, wrong_stages
from record import STEPS, Loop, record

GOAL = 0.99  # share of operators that must be right

SHAPES: list[Callable[[Loop], None]] = [
    shapes.plain,
    shapes.zero_grad_last,
    shapes.zero_grad_between,
    shapes.zero_grad_absent,
    shapes.functional_loss,
    shapes.custom_loss_name,
    shapes.loss_in_model,
    shapes.accumulation,
    shapes.gan,
    shapes.closure,
    shapes.scaler_and_clipping,
    unusual.forward_in_thread,
    shapes.evaluation_between,
    shapes.heavy_loader,
    unusual.checkpoint_reentrant,
    unusual.checkpoint_hooks,
    unusual.custom_function,
    unusual.double_backward,
    unusual.backward_twice,
    unusual.replicas_in_threads,
    unusual.foreign_optimizer,
    unusual.update_by_hand,
    unusual.optimizer_in_hooks,
    shapes.two_forwards,
    unusual.scripted,
    unusual.compiled,
    shapes.loader_with_workers,
    unusual.annotated,
    trainers.batches_first,
    trainers.one_batch_ahead,
    trainers.optimizer_in_optimizer,
    trainers.skipped_updates,
    trainers.functional_gradients,
    trainers.functional_parameters,
    trainers.own_call,
]
# The profiler does not record threads that the program starts itself, so nothing is known of modules that run there.
UNWATCHED = {unusual.double_backward, unusual.scripted, unusual.compiled, unusual.replicas_in_threads, unusual.forward_in_thread}
MODULES = [shape for shape in SHAPES if shape not in UNWATCHED and shape.__module__ != trainers.__name__]


def named(shape: Callable[[Loop], None]) -> str:
    """For pytest's ids."""
    return shape.__name__


@pytest.mark.parametrize("stack", [False, True], ids=["ops", "frames"])
@pytest.mark.parametrize("steps_marked", [False, True], ids=["bare", "marked"])
@pytest.mark.parametrize("shape", [*SHAPES, shapes.inference], ids=named)
def test_operators_are_in_their_stage(shape: Callable[[Loop], None], steps_marked: bool, stack: bool, tmp_path: Path) -> None:
    recording = record(shape, tmp_path, steps_marked=steps_marked, stack=stack, modules=False)
    wrong, total = wrong_stages(recording, reported(recording))
    assert total > 0
    assert len(wrong) <= (1 - GOAL) * total, f"{len(wrong)} of {total}:\n" + "\n".join(wrong[:30])


@pytest.mark.parametrize("stack", [False, True], ids=["ops", "frames"])
@pytest.mark.parametrize("shape", SHAPES, ids=named)
def test_a_step_is_what_a_person_calls_one(shape: Callable[[Loop], None], stack: bool, tmp_path: Path) -> None:
    recording = record(shape, tmp_path, steps_marked=False, stack=stack, modules=False)
    said = reported(recording)
    assert len(report(recording)["steps"]) == STEPS
    pairs = step_pairs(recording, said)
    # Truth counts the steps of the loop, Hotlens those of the trace; the same order makes the same numbers.
    right = sum(count for (want, got), count in pairs.items() if want is not None and got is not None and int(want) == got)
    inside = sum(count for (want, _), count in pairs.items() if want is not None)
    added = sum(count for (want, got), count in pairs.items() if want is None and got is not None)
    assert right >= GOAL * inside, dict(pairs)
    assert added <= (1 - GOAL) * pairs.total(), dict(pairs)


def test_calls_of_the_model_are_the_steps_of_inference(tmp_path: Path) -> None:
    recording = record(shapes.inference, tmp_path, steps_marked=False, stack=True, modules=False)
    pairs = step_pairs(recording, reported(recording))
    assert all(want is not None and int(want) == got for want, got in pairs), dict(pairs)
    assert len(report(recording)["steps"]) == STEPS


@pytest.mark.parametrize("shape", MODULES, ids=named)
def test_operators_are_on_their_module_leaf(shape: Callable[[Loop], None], tmp_path: Path) -> None:
    recording = record(shape, tmp_path, steps_marked=True, stack=True)
    said = reported(recording)
    by_direction = module_pairs(recording, said)
    assert set(by_direction) >= {"forward", "backward"}
    forward = collections.Counter(by_direction["forward"])
    path_of: dict[str, str | None] = {}
    for (want, got), _count in forward.most_common():
        path_of.setdefault(want, got)
    assert len(set(path_of.values())) == len(path_of), path_of  # no two modules under one path
    for want, got in path_of.items():
        assert got is not None and got.rsplit("/", 1)[-1].rsplit("_", 1)[0] == recording.classes[want]
    for direction in ("forward", "backward"):
        pairs = by_direction[direction]
        right = sum(count for (want, got), count in pairs.items() if path_of.get(want) == got)
        wrong = {pair: count for pair, count in pairs.items() if path_of.get(pair[0]) != pair[1]}
        assert right >= GOAL * pairs.total(), f"{direction}: {wrong}"


def test_a_loader_that_computes_in_python_is_data_time(tmp_path: Path) -> None:
    recording = record(shapes.heavy_loader, tmp_path, steps_marked=False, stack=False, modules=False)
    answer = report(recording)
    wall = {stage["name"]: stage["wall_ns"] for stage in answer["stages"]}
    assert wall["data"] > 0.6 * answer["totals"]["wall_ns"]
    assert answer["verdict"]["kind"] == "data"


def test_the_same_program_is_data_bound_on_small_batches_and_compute_bound_on_large_ones(tmp_path: Path) -> None:
    kinds = {}
    for size in (16, 256):
        folder = tmp_path / str(size)
        folder.mkdir()
        recording = record(functools.partial(shapes.growing, size=size), folder, steps_marked=True, stack=False, modules=False)
        kinds[size] = report(recording)["verdict"]["kind"]
    assert kinds == {16: "data", 256: "compute"}


def test_recomputed_operators_are_backward_work_on_the_recomputed_module(tmp_path: Path) -> None:
    recording = record(unusual.checkpoint_hooks, tmp_path, steps_marked=True, stack=True)
    said = reported(recording)
    linear = [said[index] for index, event in operators(recording) if event["name"] == "aten::linear" and index in said]
    again = [line for line in linear if line["stage"] == "backward"]
    assert again and all("Net_" in line["module"] and line["direction"] == "recompute" for line in again)
    answer = report(recording)
    wall = {bucket["name"]: bucket["wall_ns"] for bucket in answer["buckets"]}
    assert wall["recompute"] > 0
    rows = {module["path"].rsplit("/", 1)[-1].rsplit("_", 1)[0]: module for module in answer["modules"]}
    assert 0 < rows["Net"]["recompute"]["cpu_total_ns"] <= rows["Net"]["backward"]["cpu_total_ns"]
    assert "recompute" not in next(module for module in answer["modules"] if module["path"].endswith("Linear_0"))


def test_ranges_that_a_person_opened_are_modules_where_there_are_no_frames(tmp_path: Path) -> None:
    recording = record(unusual.annotated, tmp_path, steps_marked=False, stack=False)
    by_direction = module_pairs(recording, reported(recording))
    for direction in ("forward", "backward"):
        pairs = by_direction[direction]
        right = sum(count for (want, got), count in pairs.items() if (got or "").split("/")[-1] == (want.partition(".")[2] or "net"))
        assert right >= GOAL * pairs.total(), pairs
    assert {module["how"] for module in report(recording)["modules"]} == {"annotations"}


def test_ranks_of_data_parallel_training_communicate_under_their_root(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = str(Path(__file__).with_name("parallel.py"))
    ranks = [subprocess.Popen([sys.executable, script, str(rank), str(port), str(tmp_path)], env=os.environ) for rank in range(2)]
    assert [rank.wait(timeout=120) for rank in ranks] == [0, 0]
    for rank in range(2):
        command = [HOTLENS, "report", str(tmp_path / f"rank-{rank}.json"), "--format", "json"]
        answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        assert len(answer["steps"]) == 3
        roots = [module["path"] for module in answer["modules"] if "/" not in module["path"]]
        assert roots == ["DistributedDataParallel_0"]
        buckets = {bucket["name"]: bucket["wall_ns"] for bucket in answer["buckets"]}
        assert buckets["communication"] > 0
        assert buckets["backward"] > 0 and buckets["gradient_accumulation"] > 0
        assert sum(buckets.values()) == answer["totals"]["wall_ns"]
