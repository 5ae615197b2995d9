"""Processes of their own for the speech engines.

Recognition and synthesis are C libraries with global state that hold the interpreter while they work; the synthesizer is
GPL-3 besides, and is loaded nowhere else. Each gets one process, so calls to it come one after another.
"""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor


def one_process() -> ProcessPoolExecutor:
    """An executor with a single process, started at the first call, that ends when this process ends, however it ends."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), initializer=_follow_parent)


def _follow_parent() -> None:
    # Ctrl-C reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=leave, daemon=True).start()
