"""Every operator that Python calls, before autograd sees it: with its arguments, and run as it would have run.

PyTorch has no public way to that. Used is what its own tracing uses: the Python dispatcher with the key PreDispatch. It is on for this
thread alone and for one step. Where a PyTorch has another shape inside, `missing` says so and nothing is touched.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Callable

# Gets the operator, its arguments, and what runs it; returns what the operator returned.
Around = Callable[[Any, Any, Any], Any]
NEEDED = ("_EnablePythonDispatcher", "_DisablePythonDispatcher", "_dispatch_tls_set_dispatch_key_included")


def missing() -> str | None:
    """The sentence for a PyTorch in which operators cannot be intercepted."""
    import torch

    overload = getattr(getattr(torch, "_ops", None), "OpOverload", None)
    key = getattr(torch._C, "DispatchKey", None)
    whole = hasattr(overload, "_get_dispatch") and hasattr(key, "PreDispatch") and all(hasattr(torch._C, name) for name in NEEDED)
    if whole and hasattr(torch.autograd, "_engine_run_backward"):
        return None
    return f"PyTorch {torch.__version__} has no way to see operators as Python calls them. PyTorch 2.3 or newer has"


class Interception:
    """On between `start` and `stop`, off within `paused`. `called` runs with the interception off."""

    def __init__(self, called: Around) -> None:
        self._called = called
        self._guard: Any = None
        self._original: Any = None

    def start(self) -> None:
        import torch

        overload = torch._ops.OpOverload
        key: Any = torch._C.DispatchKey.PreDispatch
        off: Any = torch._C._DisablePythonDispatcher
        original = self._original = overload._get_dispatch
        called = self._called

        def _get_dispatch(operator: Any, wanted: Any) -> Any:
            if wanted != key:
                return original(operator, wanted)

            def run(*args: Any, **kwargs: Any) -> Any:
                with off():
                    return called(operator, args, kwargs)

            return run

        overload._get_dispatch = _get_dispatch  # type: ignore[assignment, method-assign]
        self._guard = torch._C._EnablePythonDispatcher()
        self._guard.__enter__()
        torch._C._dispatch_tls_set_dispatch_key_included(key, True)

    def stop(self) -> None:
        """Also in a forked child."""
        if self._guard is None:
            return
        import torch

        torch._C._dispatch_tls_set_dispatch_key_included(torch._C.DispatchKey.PreDispatch, False)
        self._guard.__exit__(None, None, None)
        self._guard = None
        torch._ops.OpOverload._get_dispatch = self._original  # type: ignore[method-assign]

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        import torch

        if self._guard is None:
            yield
            return
        with torch._C._DisablePythonDispatcher():
            yield

    @contextlib.contextmanager
    def resumed(self) -> Iterator[None]:
        """On within `paused`, also on a thread of autograd's own."""
        import torch

        if self._guard is None:
            yield
            return
        key: Any = torch._C.DispatchKey.PreDispatch
        was = torch._C._dispatch_tls_is_dispatch_key_included(key)
        with torch._C._EnablePythonDispatcher():
            torch._C._dispatch_tls_set_dispatch_key_included(key, True)
            try:
                yield
            finally:
                torch._C._dispatch_tls_set_dispatch_key_included(key, was)
