"""The worker's own promises: every line gets one answer, whatever it says; nothing of a request stays behind."""

from __future__ import annotations

import json
import math
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from worker import Worker, op, program, tensor

SQUARE = program([tensor([64, 64])], [op("aten::mm", {"t": 0}, {"t": 0}, out=1)])


def error(answer: dict[str, Any]) -> dict[str, str]:
    assert "error" in answer, answer
    found: dict[str, str] = answer["error"]
    return found


def peak_of(worker: Worker, document: dict[str, Any]) -> int:
    worker.load(document)
    answer = worker.ask(do="step", batch=1)
    assert "error" not in answer, answer
    peak: int = answer["replays"][0]["peak_bytes"]
    return peak


def test_it_says_hello(worker: Worker) -> None:
    answer = worker.ask(do="hello", id=7)
    assert answer["id"] == 7
    assert answer["torch"]


def test_the_peak_counts_what_is_there_and_what_comes(worker: Worker) -> None:
    square = 64 * 64 * 4
    assert peak_of(worker, SQUARE) == 2 * square
    twice = [op("aten::mm", {"t": 0}, {"t": 0}, out=1), op("aten::mm", {"t": 1}, {"t": 0}, out=2)]
    assert peak_of(worker, program([tensor([64, 64])], twice)) == 3 * square
    freed = [twice[0], op("hotlens::free", 1), op("aten::mm", {"t": 0}, {"t": 0}, out=2)]
    assert peak_of(worker, program([tensor([64, 64])], freed)) == 2 * square


def test_what_comes_during_the_step_is_not_there_before(worker: Worker) -> None:
    tensors = [tensor([64, 64]), tensor([64, 64], "input", storage=1)]
    operators = [op("aten::mm", {"t": 0}, {"t": 0}, out=2), op("hotlens::free", 2), op("hotlens::input", 1)]
    worker.load(program(tensors, operators))
    (replay,) = worker.ask(do="step", batch=1)["replays"]
    assert replay["start_bytes"] == 64 * 64 * 4
    assert replay["peak_bytes"] == 2 * 64 * 64 * 4


def test_memory_that_no_allocator_counts_is_not_counted(worker: Worker) -> None:
    tensors = [tensor([64, 64]), tensor([64, 64], "input", storage=1, foreign=True)]
    assert peak_of(worker, program(tensors, [op("aten::mm", {"t": 0}, {"t": 1}, out=2), op("hotlens::free", 1)])) == 2 * 64 * 64 * 4


def test_autograd_makes_the_backward_pass(worker: Worker) -> None:
    tensors = [tensor([64, 64], name="w", requires_grad=True)]
    forward = [{**op("aten::mm", {"t": 0}, {"t": 0}, out=1), "grad": True}, {**op("aten::sum", {"t": 1}, out=2), "grad": True}]
    backward = [op("hotlens::backward", {"t": 2}, None), op("aten::mul_", {"gradient": 0}, 2.0, overload="Scalar", out=None)]
    cleared = [op("hotlens::clear_gradient", 0)]
    assert peak_of(worker, program(tensors, forward + backward + cleared)) > 3 * 64 * 64 * 4


def test_each_step_begins_with_the_same_values(worker: Worker) -> None:
    """The length of a range is the value of a state that each step doubles."""
    tensors = [tensor([1], "state", "int64", value=400)]
    operators = [op("aten::mul_", {"t": 0}, 2, overload="Scalar", out=0), op("aten::arange", {"t": 0}, out=1)]
    worker.load(program(tensors, operators))
    for _ in range(3):
        (replay,) = worker.ask(do="step", batch=1, rounds=3)["replays"]
        assert replay["peak_bytes"] == 8 + 800 * 8


def test_a_state_has_its_share_of_zeros(worker: Worker) -> None:
    tensors = [tensor([1000], "state", zeros=0.75)]
    worker.load(program(tensors, [op("aten::nonzero", {"t": 0}, out=1)]))
    (replay,) = worker.ask(do="step", batch=1, events=True)["replays"]
    assert 250 * 8 in replay["events"]


def test_numbers_that_follow_the_batch_do(worker: Worker) -> None:
    rows = {"batch": [0, 1, 1]}
    x = {**tensor([1, 4], "input"), "shape": [rows, 4], "storage_bytes": {"batch": [0, 16, 1]}}
    worker.load(program([x], [op("aten::view", {"t": 0}, [{"batch": [0, 1, 2]}, 8], out=1), op("aten::clone", {"t": 1}, out=2)]))
    answer = worker.ask(do="step", batch=[4, 10], rounds=2)
    assert [replay["peak_bytes"] for replay in answer["replays"]] == [4 * 32, 10 * 32]
    assert [len(replay["wall_ns"]) for replay in answer["replays"]] == [2, 2]
    odd = error(worker.ask(do="step", batch=7))
    assert odd["operator"] == "aten::view"
    assert "not whole at 7" in odd["message"]


def test_an_operators_own_words_and_its_module(worker: Worker) -> None:
    broken = {**op("aten::mm", {"t": 0}, {"t": 1}, out=2), "module": 0}
    worker.load(program([tensor([3, 4]), tensor([5, 6], storage=1)], [broken]))
    found = error(worker.ask(do="step", batch=1))
    assert found["operator"] == "aten::mm"
    assert found["module"] == "net.fc"
    assert "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)" in found["message"]
    assert peak_of(worker, SQUARE) == 2 * 64 * 64 * 4


@pytest.mark.parametrize(
    "operator",
    [
        op("aten::mm", {"t": 0}),
        op("aten::mm", {"t": 0}, {"t": 0}, {"t": 0}),
        op("aten::mm", {"t": 0}, "text"),
        op("aten::mm", {"t": 0}, [1, 2]),
        op("aten::mm", {"t": 0}, {"t": 0}, out=[1, 2, 3]),
        op("aten::sum", {"t": 0}, dtype={"dtype": "float31"}),
        op("aten::to", {"t": 0}, {"device": "toaster"}, {"dtype": "float32"}, overload="device"),
        op("aten::reshape", {"t": 0}, [2**40, 2**40]),
        op("aten::zeros", [2**50]),
        op("hotlens::backward", {"t": 0}, None),
        op("hotlens::backward"),
        op("hotlens::grad", {"t": 0}),
    ],
)
def test_operators_that_cannot_be_called_are_answers(worker: Worker, operator: dict[str, Any]) -> None:
    worker.load(program([tensor([64, 64])], [operator]))
    found = error(worker.ask(do="step", batch=1))
    assert found["operator"] == operator["op"]
    assert found["message"]
    assert peak_of(worker, SQUARE) == 2 * 64 * 64 * 4


def test_memory_beyond_the_limit_is_an_operators_error(worker: Worker) -> None:
    answer = worker.ask(do="load", program=program([tensor([64, 64])], [op("aten::ones", [2_000_000_000], out=1)]), memory_bytes=2**30)
    assert "error" not in answer
    assert error(worker.ask(do="step", batch=1))["operator"] == "aten::ones"
    assert peak_of(worker, SQUARE) == 2 * 64 * 64 * 4


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "null",
        "[]",
        "7",
        '"load"',
        "{}",
        '{"do": 3}',
        '{"do": "dance"}',
        '{"do": "load"}',
        '{"do": "load", "program": null}',
        '{"do": "load", "program": {"format": 1, "tensors": {}, "operators": []}}',
        '{"do": "load", "program": {"format": 1, "threads": "many", "tensors": [], "operators": []}}',
        '{"do": "step"}',
        '{"do": "step", "batch": "all"}',
        '{"do": "step", "id": "x"}',
        '{"do": "step", "id": 99999999999999999999999}',
        "[" * 100_000 + "]" * 100_000,
        '{"do": "load", "program": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '\x00\x01\x02"',
        '{"do": "h\\ud800"}',
    ],
)
def test_whatever_a_line_says_it_gets_one_answer(worker: Worker, line: str) -> None:
    worker.send(line)
    assert error(worker.receive())["message"]
    assert "torch" in worker.ask(do="hello")


@pytest.mark.parametrize("batch", [0, -1, "8", 1.5, None, [], [0], list(range(1, 100))])
def test_batch_sizes_that_are_none_are_refused(worker: Worker, batch: Any) -> None:
    worker.load(SQUARE)
    answer = worker.ask(do="step", batch=batch)
    assert "error" in answer or batch == []


def test_a_request_ends_with_its_budget(worker: Worker) -> None:
    worker.load(program([tensor([512, 512])], [op("aten::mm", {"t": 0}, {"t": 0}, out=1)] * 20_000))
    start = time.monotonic()
    assert error(worker.ask(do="step", batch=1, budget_ms=100))["code"] == "budget"
    assert time.monotonic() - start < 10


def test_a_request_can_be_cancelled_between_operators(worker: Worker) -> None:
    worker.load(program([tensor([512, 512])], [op("aten::mm", {"t": 0}, {"t": 0}, out=1)] * 20_000))
    worker.send(json.dumps({"do": "step", "batch": 1, "id": 41}))
    worker.send('{"cancel": 40}')
    worker.send('{"cancel": 41}')
    start = time.monotonic()
    answer = worker.receive()
    assert time.monotonic() - start < 10
    assert answer["id"] == 41
    assert error(answer)["code"] == "cancelled"


def test_it_ends_with_who_asked_even_within_an_operator(worker: Worker) -> None:
    worker.load(program([tensor([512, 512])], [op("aten::mm", {"t": 0}, {"t": 0}, out=1)] * 50_000))
    worker.send(json.dumps({"do": "step", "batch": 1}))
    assert worker.process.stdin is not None
    worker.process.stdin.close()
    assert worker.process.wait(timeout=20) == 0


def test_a_crash_says_which_operator_it_was(worker: Worker) -> None:
    index = tensor([1, 1], "input", "int64", storage=1, value=2**44)
    values = tensor([1], storage=2, value=1.0)
    sparse = op("aten::_sparse_coo_tensor_unsafe", {"t": 0}, {"t": 1}, [4], out=2)
    worker.load(program([{**index, "storage": 0}, values], [sparse, op("aten::to_dense", {"t": 2}, out=3)]))
    worker.send(json.dumps({"do": "step", "batch": 1}))
    assert worker.process.wait(timeout=60) == -signal.SIGSEGV
    assert worker.process.stderr is not None
    assert "running aten::to_dense" in worker.process.stderr.read()


def test_one_that_is_stopped_says_what_it_was_doing(worker: Worker) -> None:
    worker.load(program([tensor([512, 512])], [op("aten::mm", {"t": 0}, {"t": 0}, out=1)] * 50_000))
    worker.send(json.dumps({"do": "step", "batch": 1}))
    time.sleep(1)
    worker.process.terminate()
    assert worker.process.wait(timeout=20) == -signal.SIGTERM
    assert worker.process.stderr is not None
    assert "running aten::mm" in worker.process.stderr.read()


def test_nothing_grows_over_many_requests(worker: Worker) -> None:
    def resident() -> int:
        with open(f"/proc/{worker.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    worker.load(SQUARE)
    for _ in range(200):
        worker.ask(do="step", batch=1)
    before = resident()
    for _ in range(2000):
        worker.ask(do="step", batch=1)
    assert resident() - before < 2000


TWICE = program([tensor([64, 64])], [op("aten::mm", {"t": 0}, {"t": 0}, out=1), op("aten::mm", {"t": 1}, {"t": 0}, out=2)])


def test_an_edited_program_takes_turns_with_the_recorded_one(worker: Worker) -> None:
    assert worker.ask(do="load", program=SQUARE, edited=TWICE)["operators"] == 1
    square = 64 * 64 * 4
    replays = worker.ask(do="step", batch=[1, 2], rounds=3, edited=True)["replays"]
    assert [(replay["batch"], replay.get("edited", False)) for replay in replays] == [(1, False), (1, True), (2, False), (2, True)]
    assert [replay["peak_bytes"] for replay in replays] == [2 * square, 3 * square] * 2
    assert all(len(replay["wall_ns"]) == 3 for replay in replays)
    (alone,) = worker.ask(do="step", batch=1)["replays"]
    assert alone["peak_bytes"] == 2 * square


def test_memory_that_is_kept_spares_page_faults(worker_program: Path) -> None:
    made = list(range(1, 41))  # of 1 MB each
    negated = [op("aten::neg", {"t": 0}, out=one) for one in made]
    wide = program([tensor([512, 512])], [*negated, op("hotlens::free", *made)])
    # Where the heap ends is chance, and with it whether freed memory goes back; with a fixed threshold it always would, 40 MB a round.
    with Worker(worker_program, MALLOC_MMAP_THRESHOLD_="131072") as worker:
        worker.ask(do="load", program=wide)
        (replay,) = worker.ask(do="step", batch=1, rounds=9)["replays"]
    assert sum(replay["minor_faults"][3:]) < 6 * 10_000 / 50  # the heap may still grow by a tensor


def test_an_edited_program_that_cannot_be_replayed_leaves_none(worker: Worker) -> None:
    assert error(worker.ask(do="load", program=SQUARE, edited={}))["code"] == "program"
    assert error(worker.ask(do="step", batch=1))["code"] == "usage"
    worker.load(SQUARE)
    assert "no edited program" in error(worker.ask(do="step", batch=1, edited=True))["message"]


def chain_in_a_block(length: int) -> dict[str, Any]:
    """Squares of squares in one block, each kept by the graph alone, and their sum backward."""
    operators = [op("hotlens::block", 0, checkpointed=True)]
    for at in range(length):
        operators.append(op("aten::mul", {"t": at}, {"t": at}, out=at + 1, overload="Tensor"))
        if at > 0:
            operators.append(op("hotlens::free", at))
    operators += [op("hotlens::block_end", length), op("aten::sum", {"t": length}, out=length + 1), op("hotlens::free", length)]
    operators += [op("hotlens::backward", {"t": length + 1}, None), op("hotlens::clear_gradient", 0)]
    return program([tensor([64, 64], name="w", requires_grad=True)], [{**each, "grad": True} for each in operators])


def test_a_block_keeps_nothing_and_runs_again(worker: Worker) -> None:
    worker.load(chain_in_a_block(6))
    kept, again = worker.ask(do="step", batch=1, rounds=2, plans=[[], [0]])["replays"]
    square = 64 * 64 * 4
    forward_kept, forward_again = kept["segments"][1], again["segments"][1]
    assert (forward_kept["block"], forward_kept["backward"]) == (0, False)
    assert forward_kept["net_bytes"] > 5 * square
    assert forward_again["net_bytes"] < 2 * square
    assert [(each["block"], each["backward"]) for each in again["segments"]] == [(-1, False), (0, False), (0, True), (-1, True)]
    assert kept["blocks"] == []
    (run,) = again["blocks"]
    assert run["block"] == 0 and run["saved"] == 12 and len(run["again_ns"]) == 2
    assert worker.ask(do="step", batch=1)["replays"][0]["peak_bytes"] == again["peak_bytes"]  # as the program says


@pytest.mark.parametrize("plans", ["all", [0], [["0"]], [[0]] * 100])
def test_plans_that_are_none_are_refused(worker: Worker, plans: Any) -> None:
    worker.load(chain_in_a_block(2))
    assert error(worker.ask(do="step", batch=1, plans=plans))["code"] in ("usage", "failed")
    assert "replays" in worker.ask(do="step", batch=1)


def squares(marks: dict[int, list[str]]) -> dict[str, Any]:
    """Squares of squares of 1.0625, with marks of blocks before some; then as many numbers as 1000 times the gradient of the first."""
    operators: list[dict[str, Any]] = []
    for at in range(5):
        operators += [
            op("hotlens::block", number, checkpointed=True, inputs=[{"t": at}]) if what == "begin" else op("hotlens::block_end", at)
            for number, what in enumerate(marks.get(at, []), 10 * at)
        ]
        if at < 4:
            operators.append(op("aten::mul", {"t": at}, {"t": at}, out=at + 1, overload="Tensor"))
    operators = [{**each, "grad": True} for each in operators]
    operators += [
        {**op("hotlens::backward", {"t": 4}, None), "grad": True},
        op("aten::mul", {"gradient": 0}, 1000.0, out=5, overload="Tensor"),
    ]
    operators += [op("aten::view", {"t": 5}, [1], out=6), op("aten::arange", {"t": 6}, out=7), op("hotlens::clear_gradient", 0)]
    return program([tensor([1], name="w", requires_grad=True, value=1.0625)], operators)


BLOCKS: dict[str, dict[int, list[str]]] = {
    "none": {},
    "one": {0: ["begin"], 4: ["end"]},
    "one within another": {0: ["begin"], 1: ["begin"], 3: ["end"], 4: ["end"]},
    "two within another": {0: ["begin", "begin"], 2: ["end", "begin"], 4: ["end", "end"]},
    "three, each within the one before": {0: ["begin", "begin"], 1: ["begin"], 3: ["end", "end"], 4: ["end"]},
}


@pytest.mark.parametrize("blocks", BLOCKS)
def test_blocks_change_no_gradient(worker: Worker, blocks: str) -> None:
    worker.load(squares(BLOCKS[blocks]))
    (replay,) = worker.ask(do="step", batch=1, events=True)["replays"]
    assert max(replay["events"]) / 4 == math.ceil(1000 * 16 * 1.0625**15)


def test_a_block_within_another_runs_again_once_it_has(worker: Worker) -> None:
    worker.load(squares(BLOCKS["one within another"]))
    (replay,) = worker.ask(do="step", batch=1, plans=[[0, 10]])["replays"]
    assert {run["block"] for run in replay["blocks"]} == {0, 10}
    assert [segment["block"] for segment in replay["segments"]].count(10) == 0


@pytest.mark.parametrize("changes", [False, True])
def test_a_state_has_fewer_zeros_at_a_larger_batch(worker: Worker, changes: bool) -> None:
    """What no sample has named: half at one sample, a quarter at two, a sixteenth at four; whether or not a step changes the state."""
    steps = [op("aten::nonzero", {"t": 0}, out=1), op("hotlens::free", 1)]
    if changes:
        steps.append(op("aten::add_", {"t": 0}, 1.0, out=0, overload="Scalar"))
    document = program([tensor([1000], "state", name="exp_avg of net.fc.weight", zeros=0.5)], steps)
    worker.load({**document, "zeros_batch": 1})
    answer = worker.ask(do="step", batch=[1, 2, 4], rounds=2)
    assert "error" not in answer, answer
    rows = [(one["peak_bytes"] - one["start_bytes"]) // 8 for one in answer["replays"]]
    assert rows == [500, 750, 938]
