"""How loops are compiled: kernels, which Python calls, and what only kernels call.

The first use on a machine waits for the compiler, so it is spared what is not needed: ways into functions that nobody
goes, files for functions that are part of a kernel anyway, and counting of references, a third of the work. For
the last, compiled code allocates nothing and returns no arrays: it writes into those it is given, which the caller
keeps alive. What would allocate does not compile. A division by zero does not raise, as in numpy: kernels divide by
nothing that can be 0.

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
