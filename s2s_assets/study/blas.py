"""Statistics on one thread of BLAS, so that they are the same to the last bit whatever OPENBLAS_NUM_THREADS says.

With more threads BLAS cuts matrices otherwise, and adds up in another order. The matrices here are small: one thread is
also the quickest. The limit holds for the process while the function runs.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
T = TypeVar("T")

_KEPT_BYTES = 2**24


def one_blas_thread(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with BLAS on one thread."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@cache
def _controller() -> ThreadpoolController:
    """Of the BLAS libraries loaded by the first call: those of numpy and scipy, which whoever computes has imported."""
    _keep_freed_memory()
    return ThreadpoolController()


def _keep_freed_memory() -> None:
    """Let glibc keep some tens of MB for the next arrays.

    It hands freed memory back beyond twice the largest block that was ever freed, 128 kB at first; fetching its pages anew
    for every array took a third of the time of a fit.
    """
    np.empty(_KEPT_BYTES, np.uint8)
