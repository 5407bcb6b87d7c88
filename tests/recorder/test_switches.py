"""Layers that a model checkpoints by its own switch, as transformers' do."""

from __future__ import annotations

from typing import Any

import pytest
from hotlens.program.switches import switch_of

transformers = pytest.importorskip("transformers")


def switches(model: Any) -> dict[str, dict[str, Any] | None]:
    """By path, of modules that have one; numbers of modules become paths."""
    modules = list(model.named_modules())
    number = {path: at for at, (path, _) in enumerate(modules)}
    parents = [number[path.rpartition(".")[0]] if path else -1 for path, _ in modules]
    found = {path: switch_of(at, lambda row: modules[row][1], lambda row: parents[row]) for at, (path, _) in enumerate(modules)}
    return {path: {**one, "module": modules[one["module"]][0]} for path, one in found.items() if one}


def bert(**sizes: int) -> Any:
    small = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    return transformers.BertForMaskedLM(transformers.BertConfig(**{**small, **sizes}))


def test_the_layers_of_a_model_have_the_switch_of_the_outermost_that_has_one() -> None:
    model = bert()
    found = switches(model)
    assert set(found) == {"bert.encoder.layer.0", "bert.encoder.layer.1"}
    method = found["bert.encoder.layer.0"]["method"]
    assert found["bert.encoder.layer.1"] == {"module": "", "method": method}
    # It is what it says: called, the layers have it no more, since it is on.
    getattr(model, method)(**{method.replace("_enable", "_kwargs"): {"use_reentrant": False}})
    assert switches(model) == {}


def test_a_model_that_does_not_support_it_has_none() -> None:
    model = bert()
    for module in model.modules():
        if hasattr(module, "supports_gradient_checkpointing"):
            module.supports_gradient_checkpointing = False
    assert switches(model) == {}
