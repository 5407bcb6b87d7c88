"""Which tensor is which within one step: a number for each, what it is, and when the script has let go of it.

No tensor is kept alive: the table holds weak references, and a tensor that is gone reports itself.
"""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

# More tensors than this are no model but data that lies about; what of them a step uses is taken to have existed before it.
MOST_TENSORS = 200_000
MOST_SAMPLED = 50_000  # elements whose zeros are counted
MOST_SLICES = 64  # columns of a table: a dimension with more of them is one of samples or of places in a text
DEEPEST_STATE = 4  # nested so deep, an optimizer's state is no container of tensors


class Unreplayable(Exception):
    """The step cannot be run again from its list of operators; the message is the sentence that says why."""


@dataclass(frozen=True)
class Role:
    kind: str  # parameter, buffer, state
    owner: Any = None  # the module that has it
    name: str = ""  # in its module; of a state its name in the optimizer
    parameter: int = 0  # identity of the parameter that it is, or whose state it is


@dataclass
class Known:
    """A tensor of the step. `made` by one of its operators, else it has `facts`."""

    number: int
    storage: int
    made: bool
    role: Role | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    gradient_of: Known | None = None
    requires_grad: bool = False  # when it was last seen
    origin: str | None = None  # of what is no part of the model's work (batch_making.py): data, numbers
    base: Known | None = None  # of such a view
    left_out: bool = False
    used: bool = False
    died: bool = False
    reference: Any = None


class Tensors:
    """The table of one step. `dead`: what has gone since that was last read, in order."""

    def __init__(self) -> None:
        self.rows: list[Known] = []
        self.dead: list[Known] = []
        self.whole = False  # everything that existed when the step began is known
        self._by_id: dict[int, Known] = {}
        self._sharing: dict[int, set[int]] = {}  # storage -> numbers of living tensors
        self._storages: dict[int, Any] = {}  # weak references, so that no later storage gets the address of one that is gone
        self._roles: dict[int, Role] = {}

    # -- before the step

    def know_roles(self, modules: Iterable[Any], optimizers: Iterable[Any]) -> list[Any]:
        """Returns the parameters."""
        parameters: dict[int, Any] = {}
        for module in modules:
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    parameters.setdefault(id(parameter), parameter)
                    self._roles.setdefault(id(parameter), Role("parameter", module, name, id(parameter)))
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    self._roles.setdefault(id(buffer), Role("buffer", module, name))
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameters.setdefault(id(parameter), parameter) is parameter:
                        self._roles.setdefault(id(parameter), Role("parameter", None, f"parameter{len(parameters) - 1}", id(parameter)))
            for parameter, state in optimizer.state.items():
                for name, tensor in _named_tensors(state, "", DEEPEST_STATE):
                    self._roles.setdefault(id(tensor), Role("state", None, name, id(parameter)))
        return list(parameters.values())

    def take_stock(self) -> None:
        """Every tensor that Python has."""
        import torch

        found = [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]
        if len(found) > MOST_TENSORS:
            return
        # A gradient that Python has never looked at is no object yet.
        with_gradients = [each for each in found if each.requires_grad and (each.is_leaf or each.retains_grad)]
        found += [each.grad for each in with_gradients if each.grad is not None]
        for tensor in found:
            if id(tensor) not in self._by_id and why_not(tensor) is None:
                self.adopt(tensor)
        self.whole = True

    def adopt_gradient(self, gradient: Any, parameter: Known, made: bool) -> Known:
        known = self.adopt(gradient) if not made else self.add(gradient)
        known.gradient_of = parameter
        return known

    # -- in the step

    def adopt(self, tensor: Any) -> Known:
        """One that no operator of the step has made."""
        known = self.add(tensor, made=False)
        known.role = self._roles.get(id(tensor))
        known.facts = facts(tensor)
        return known

    def add(self, tensor: Any, made: bool = True) -> Known:
        from torch.multiprocessing import reductions

        storage = tensor.untyped_storage()._cdata
        if storage not in self._storages:
            weak: Any = reductions.StorageWeakRef
            self._storages[storage] = weak(tensor.untyped_storage())
        known = Known(len(self.rows), storage, made, requires_grad=tensor.requires_grad)
        key = id(tensor)
        rows, sharing, dead = self._by_id, self._sharing, self.dead

        def gone(_: Any) -> None:
            known.died = True
            if rows.get(key) is known:
                del rows[key]
            sharing[storage].discard(known.number)
            dead.append(known)

        known.reference = weakref.ref(tensor, gone)
        self.rows.append(known)
        self._by_id[key] = known
        self._sharing.setdefault(storage, set()).add(known.number)
        return known

    def of(self, tensor: Any) -> Known | None:
        return self._by_id.get(id(tensor))

    def numbers(self, values: Iterable[Any]) -> Iterator[int]:
        """Of those among them that are known."""
        rows = self._by_id
        for value in values:
            known = rows.get(id(value))
            if known is not None:
                yield known.number

    def role(self, tensor: Any) -> Role | None:
        return self._roles.get(id(tensor))

    def sharing(self, tensor: Any) -> Known | None:
        """A living tensor with the same memory."""
        numbers = self._sharing.get(tensor.untyped_storage()._cdata)
        return self.rows[min(numbers)] if numbers else None

    def forget(self) -> None:
        """Nothing is told any more."""
        for known in self.rows:
            known.reference = None
        self._by_id.clear()
        self._sharing.clear()
        self._storages.clear()

    def listed(self) -> list[Known]:
        """What existed before the step and belongs into its list: what was used, what was let go, what keeps such memory, and all that the
        models and optimizers hold: a layer that nobody calls has its weights in memory too."""
        own = [k for k in self.rows if not k.made and not k.left_out]
        storages = {k.storage for k in own if k.died}
        return [k for k in own if k.used or k.died or k.storage in storages or k.role is not None]


def _named_tensors(value: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    import torch

    if isinstance(value, torch.Tensor):
        yield name, value
    elif depth > 0 and isinstance(value, (dict, list, tuple)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _named_tensors(each, f"{name}.{key}" if name else str(key), depth - 1)


def why_not(tensor: Any) -> str | None:
    """The sentence for a tensor that a list of operators cannot name."""
    import torch

    if tensor.layout is not torch.strided:
        return f"it uses a tensor of layout {str(tensor.layout).replace('torch.', '')}"
    if tensor.is_quantized or tensor.is_nested or tensor.device.type == "meta":
        return "it uses a quantized, nested or meta tensor"
    if hasattr(tensor, "__tensor_flatten__") or torch._C._dispatch_keys(tensor).has(torch._C.DispatchKey.Python):
        return own_class(tensor)
    if is_transformed(tensor):
        return "it uses tensors within torch.func (vmap, grad), which stand for several"
    return None


def own_class(tensor: Any) -> str:
    return f"it uses tensors of a class of their own ({type(tensor).__name__})"


def is_transformed(tensor: Any) -> bool:
    """Of a torch.func that runs; it has no memory of its own to ask for."""
    import torch

    wrapped = getattr(getattr(torch._C, "_functorch", None), "is_functorch_wrapped_tensor", None)  # since torch 2.0
    return bool(wrapped is not None and wrapped(tensor))


def dtype_name(dtype: Any) -> str:
    return str(dtype).replace("torch.", "")


def facts(tensor: Any) -> dict[str, Any]:
    storage = tensor.untyped_storage()
    found = {
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "dtype": dtype_name(tensor.dtype),
        "device": str(tensor.device),
        "requires_grad": bool(tensor.requires_grad),
        "offset": tensor.storage_offset(),
        "storage_bytes": storage.nbytes(),
    }
    # Memory of NumPy's, of another process, pinned for a device: not of the allocator whose counter the replay reads.
    if tensor.device.type == "cpu" and (not storage.resizable() or tensor.is_shared() or tensor.is_pinned()):
        found["foreign"] = True
    return found


def zeros(tensor: Any) -> dict[str, Any]:
    """The share of zeros, by a sample: of rows of an embedding that no batch has named a state stays 0, and the square root of 0 may take
    twenty times as long as another (MKL's on some processors, 25 to 740 µs of 160,000)."""
    count = tensor.numel()
    held = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
    if not count or held < count or tensor.device.type != "cpu" or not tensor.is_floating_point():
        return {}
    apart = max(1, count // MOST_SAMPLED)
    sample = tensor.detach().as_strided((count // apart,), (apart,))
    share = 1 - sample.count_nonzero().item() / sample.numel()
    return {"zeros": round(share, 4)} if share else {}


def contents(tensor: Any) -> dict[str, Any]:
    """The one value, or the smallest and the largest: what an index must stay within."""
    if not tensor.numel() or tensor.is_complex():
        return {}
    with_bounds = tensor.detach()
    if tensor.numel() == 1:
        value = with_bounds.item()
        return {"value": value} if math.isfinite(value) else {}
    if not tensor.is_floating_point() and dtype_name(tensor.dtype) == "bool":
        return {}
    try:
        least, most = (each.item() for each in with_bounds.aminmax())
        apart = _slices(with_bounds) if not tensor.is_floating_point() and least < most else []
    except (RuntimeError, NotImplementedError):  # not for every type there is
        return {}
    if not math.isfinite(least) or not math.isfinite(most):
        return {}
    found = {"min": least, "max": most}
    return {**found, "slices": apart} if apart else found


def _slices(tensor: Any) -> list[dict[str, Any]]:
    """The same along short dimensions, where it differs: columns of a table have categories of their own, rows of another one tables."""
    found = []
    for dim, size in enumerate(tensor.shape):
        others = [other for other in range(tensor.dim()) if other != dim]
        if others and 1 < size <= MOST_SLICES:
            least, most = tensor.amin(others).tolist(), tensor.amax(others).tolist()
            if len(set(least)) > 1 or len(set(most)) > 1:
                found.append({"dim": dim, "min": least, "max": most})
    return found
