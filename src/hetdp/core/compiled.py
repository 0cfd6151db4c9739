"""Compile loops with numba: kernels, which Python calls, and inner functions, which only kernels call.

The first use on a machine waits for the compiler. Three settings shorten the wait: no entry points that nobody calls,
no cache files for inner functions, and no reference counting, which is a third of the work.

Without reference counting, compiled code must not allocate memory or return arrays; such code does not compile. It
writes into arrays that the caller passes and keeps alive. As in numpy, a division by zero does not raise an error, so
kernels never divide by a number that can be 0.

Importing this module loads the compiler.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core.options import DefaultOptions

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: What all compiled code has. A numba without the switch for references counts them, and takes longer.
_LEAN: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
if hasattr(DefaultOptions, "_nrt"):
    _LEAN["_nrt"] = False
_KERNEL: dict[str, Any] = {**_LEAN, "cache": True}
_INNER: dict[str, Any] = {**_LEAN, "no_cpython_wrapper": True}
_INLINED: dict[str, Any] = {**_INNER, "inline": "always"}


def kernel(function: _Function) -> _Function:
    """Compile a function when Python first calls it, and keep it on disk; it runs without the interpreter's lock."""
    compiled: _Function = njit(**_KERNEL)(function)
    return compiled


def inner(function: _Function) -> _Function:
    """Compile a function as part of the kernels that call it. Python cannot."""
    compiled: _Function = njit(**_INNER)(function)
    return compiled


def inlined(function: _Function) -> _Function:
    """Write a function of a few lines into the kernels that call it, as if it stood there; see `inner`."""
    compiled: _Function = njit(**_INLINED)(function)
    return compiled
