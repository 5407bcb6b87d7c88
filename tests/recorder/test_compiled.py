"""torch.compile: what was compiled is noted, kernels of compiled code are seen and have layers, and the script runs as it would alone."""

from __future__ import annotations

import gzip
import json
import re
import sys
import types
from pathlib import Path

import pytest
from conftest import Run, fresh_record_text, plain
from hotlens.compiled import compilation, generated, graphs, provenance

START = """\
import torch
from torch import nn
import torch.nn.functional as F

"""
LOOP = """\
for step in range(40):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item().hex())
"""
NETWORK = """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.up = nn.Linear(16, 16)
    def forward(self, x):
        return x + F.gelu(self.up(self.norm(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(16, 3)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        BREAK
        return self.head(x)

torch.manual_seed(0)
model = Net()
COMPILE
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 16), torch.randint(0, 3, (8,))
"""
MODEL = START + NETWORK + LOOP
WHOLE = MODEL.replace("BREAK", "pass").replace("COMPILE", "model = torch.compile(model)")
BROKEN = MODEL.replace("BREAK", "torch._dynamo.graph_break()").replace("COMPILE", "model.compile()")
UNUSED = MODEL.replace("BREAK", "pass").replace("COMPILE", "unused = torch.compile(lambda x: x.sin())")
IN_PARTS = MODEL.replace("BREAK", "pass").replace("COMPILE", "for block in model.blocks:\n    block.compile()")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("inductor"))


def recorded(folder: Path, text: str, cache: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", cache)
    run = fresh_record_text(folder, text, ["--keep-going"])
    assert run.code == 0, run.err
    assert run.out == plain(folder, ["train.py"]).stdout
    return run


def kernels(run: Run, trace: str) -> list[str]:
    return [e["name"] for e in run.bundle.trace(trace) if e["name"].startswith("cpp_fused") and e["cat"] == "cpu_op"]


def paths(run: Run) -> set[str]:
    """Of the innermost modules that kernels work for."""
    shares = [share for part in run.bundle.model["parts"] for share in part["shares"]]
    return {share["modules"][-1]["path"] for share in shares if share["modules"]}


def test_kernels_of_a_compiled_model_are_seen_and_have_layers_and_lines(
    tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded(tmp_path, WHOLE, cache, monkeypatch)
    assert run.bundle.manifest["warnings"] == []
    assert kernels(run, "trace-map.json.gz") and len(set(kernels(run, "trace-0.json.gz"))) == len(set(kernels(run, "trace-map.json.gz")))
    assert {"head", *(f"blocks.{i}.{name}" for i in range(2) for name in ("norm", "up"))} <= paths(run)
    parts = run.bundle.model["parts"]
    assert all(sum(share["weight"] for share in part["shares"]) == pytest.approx(1) for part in parts)
    marks = {e["name"] for e in run.bundle.trace("trace-map.json.gz") if e["name"].startswith("hotlens.part#")}
    assert marks == {f"hotlens.part#{i}" for i in range(len(parts))}
    lines = run.bundle.model["lines"]
    told = {lines[line]["function"] for part in parts for share in part["shares"] for line in share["lines"]}
    assert told == {"Net.forward", "Block.forward"}
    compiled = run.bundle.manifest["compiled"]
    assert compiled["count"] == 1 and compiled["took_ns"] > 0 and compiled["breaks"] == [] and compiled["missing"] == []
    assert not [file for file in run.bundle.model["files"] if "inductor" in file["path"]]


def test_graph_breaks_have_their_line_and_reason(tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded(tmp_path, BROKEN, cache, monkeypatch)
    compiled = run.bundle.manifest["compiled"]
    (found,) = compiled["breaks"]
    assert Path(found["file"]).name == "train.py" and "graph_break" in BROKEN.splitlines()[found["line"]]
    assert "graph_break" in found["reason"] and found["function"] == "forward"
    assert compiled["count"] == 2
    assert "blocks.1.up" in paths(run)
    # Dynamo cuts the function in two: the line that breaks ends where the second part begins, and both stand for the function.
    lines = run.bundle.model["lines"]
    assert {line["function"] for line in lines} <= {"<module>", "Net.forward", "Block.forward"}
    ranges = [e for e in run.bundle.trace("trace-map.json.gz") if e["name"].startswith("hotlens.line#")]
    (broke,) = (line["id"] for line in lines if line["line"] == found["line"])
    after = [line["id"] for line in lines if line["function"] == "Net.forward" and line["line"] > found["line"]]
    assert after
    for outer in (e for e in ranges if e["name"] == f"hotlens.line#{broke}"):
        end = outer["ts"] + outer["dur"]
        inside = [e["name"] for e in ranges if outer["ts"] <= e["ts"] < end and e["name"] in {f"hotlens.line#{i}" for i in after}]
        assert not inside


def test_layers_that_share_compiled_code_are_told_apart_by_their_calls(tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded(tmp_path, IN_PARTS, cache, monkeypatch)
    assert {"norm", "up"} <= paths(run)  # below the block whose call runs the code
    calls = {run.bundle.model["modules"][call["module"]]["path"] for call in run.bundle.model["calls"]}
    assert {"blocks.0", "blocks.1", "head"} <= calls


def test_a_function_that_is_compiled_and_never_called_is_no_compilation(
    tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in packages that bring compiled forms of what they offer."""
    run = recorded(tmp_path, UNUSED, cache, monkeypatch)
    assert run.bundle.manifest["warnings"] == [] and "compiled" not in run.bundle.manifest
    with gzip.open(run.bundle.path / run.bundle.manifest["program"]) as file:
        assert not json.load(file).get("refused")


def test_books_that_are_kept_otherwise_are_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", types.ModuleType("other"))
    found = compilation.look()
    assert found is not None
    assert (found.count, found.breaks) == (0, [])
    assert [re.sub(r":.*", "", text) for text in found.missing] == ["compilations", "graph breaks"]


def test_recompilations_and_breaks_are_read_from_torch_s_books(monkeypatch: pytest.MonkeyPatch) -> None:
    def metrics(**told: object) -> types.SimpleNamespace:
        return types.SimpleNamespace(compile_id="0/0", co_name="forward", co_filename="m.py", co_firstlineno=3, **told)

    at = types.SimpleNamespace(filename="m.py", lineno=7, name="forward")
    reason = types.SimpleNamespace(reason="Unsupported item()\n  Hint: Do without.", user_stack=[at], graph_break=True)
    books = types.SimpleNamespace(
        graph_break_reasons=[reason, reason],
        compilation_time_metrics={},
        get_compilation_metrics=lambda: [
            metrics(entire_frame_compile_time_s=1.5, is_forward=True, recompile_reason="0/0: size mismatch"),
            types.SimpleNamespace(compile_id="0/0", is_forward=False, duration_us=250),
        ],
    )
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", books)
    found = compilation.look()
    assert found is not None
    assert (found.count, found.took_ns) == (1, 1_500_250_000)
    assert [(c.function, c.again, c.backward) for c in found.compilations] == [("forward", "size mismatch", False), ("forward", "", True)]
    assert [(b.line, b.reason, b.count) for b in found.breaks] == [(7, "Unsupported item(). Do without.", 2)]


def test_a_torch_that_does_not_tell_what_kernels_are_made_from_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import compile_fx, debug  # noqa: F401  (what needs the name is loaded before it is gone)
    from torch._inductor.codegen import cpp

    for place in (debug, cpp):
        monkeypatch.delattr(place, "set_kernel_post_grad_provenance_tracing")
    with pytest.raises(provenance.Cannot, match=r"2\.9 and newer do"):
        list(provenance.lowered([graphs.Graph(None, [], {}, True)]))


GENERATED = """\
# AOT ID: ['0_forward', None]
cpp_fused_add_0 = async_compile.cpp_pybinding(['float*'], r'''void kernel() {}''')
class Runner:
    def call(self, args):
        buf0 = empty_strided_cpu((8, 16), (16, 1), torch.float32)
        # Topologically Sorted Source Nodes: [x], Original ATen: [aten.addmm]
        extern_kernels.addmm(arg1, arg2, out=buf0)
        cpp_fused_add_0(buf0, arg3)
        buf1 = torch.ops.aten.convolution.default(buf0)
        return (buf1, )
def get_args():
    return extern_kernels.mm()
"""


def test_calls_of_kernels_are_found_in_a_generated_file() -> None:
    found = [(call.line, call.name) for call in generated.kernel_calls(GENERATED)]
    assert found == [(7, "extern_kernels.addmm"), (8, "cpp_fused_add_0"), (9, "torch.ops.aten.convolution.default")]


@pytest.mark.parametrize(
    ("path", "readable"),
    [
        ("L['self'].blocks.0.up", "self.blocks.0.up"),
        ("L['self']._modules['blocks']._modules['0']", "self.blocks.0"),
        ("L['self'].blocks[0]", "self.blocks.0"),
        ("G['model'].head", "G:model.head"),
        ("L['___stack0']", "___stack0"),
    ],
)
def test_a_module_has_one_path_however_torch_writes_it(path: str, readable: str) -> None:
    assert graphs.readable_path(path) == readable


def test_a_kernel_has_its_name_while_the_profiler_is_on_and_is_itself_again_after() -> None:
    from torch._inductor import codecache

    module = types.ModuleType("made")
    kernel = module.cpp_fused_add_0 = lambda value: value + 1  # type: ignore[attr-defined]
    codecache.PyCodeCache.modules.append(module)
    try:
        named = generated.NamedKernels()
        named.put()
        assert module.cpp_fused_add_0 is not kernel and module.cpp_fused_add_0(1) == 2
        named.take_back()
        assert module.cpp_fused_add_0 is kernel
    finally:
        codecache.PyCodeCache.modules.remove(module)


PICTURES = """\
torch.manual_seed(0)
last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)]
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), *last)
model = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 3, 16, 16), torch.randint(0, 3, (8,))
"""


def test_the_backward_pass_of_pictures_has_layers_too(tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inductor gives pictures another order of memory, and lowers the backward pass for it."""
    run = recorded(tmp_path, START + PICTURES + LOOP, cache, monkeypatch)
    assert not [line for line in run.own_messages() if "makes other code" in line]
    ids = {share["modules"][-1]["id"] for part in run.bundle.model["parts"] for share in part["shares"] if share["modules"]}
    layers = {run.bundle.model["modules"][at]["path"] for at in ids}
    assert layers >= {f"_orig_mod.{at}" for at in (0, 1, 3, 6)}


DROPPED = """\
torch.manual_seed(0)
model = torch.compile(nn.Sequential(nn.LayerNorm(16), nn.Dropout(0.1), nn.Linear(16, 3)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 16), torch.randint(0, 3, (8,))
"""


def test_a_mask_takes_most_of_the_kernel_that_it_is_fused_into(tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded(tmp_path, START + DROPPED + LOOP, cache, monkeypatch)
    modules = run.bundle.model["modules"]
    shared = []
    for part in run.bundle.model["parts"]:
        weights = {modules[share["modules"][-1]["id"]]["path"]: share["weight"] for share in part["shares"] if share["modules"]}
        if {"_orig_mod.0", "_orig_mod.1"} <= set(weights):
            shared.append(weights)
    assert any(weights["_orig_mod.1"] > 0.7 > 0.3 > weights["_orig_mod.0"] for weights in shared), shared


def test_random_numbers_cost_more_than_what_is_fused_with_them() -> None:
    assert provenance._cost("inductor_random") > 20 * provenance._cost("exp")
    assert provenance._cost("native_dropout_backward") == provenance._cost("add") == 1.0
    assert provenance._cost("expand") == provenance._cost("logical_and") == 1.0
