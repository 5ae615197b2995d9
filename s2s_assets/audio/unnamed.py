"""A file without a name, in memory where the system has such files.

libsndfile asks a Python file object for every few kilobytes, and its thread waits for the interpreter each time; a
descriptor it reads and writes by itself. So threads decode and encode beside each other and beside a busy event loop.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO


@contextmanager
def unnamed_file(data: bytes = b"") -> Iterator[BinaryIO]:
    """A file that holds the data and stands at its start; it is gone afterwards."""
    in_memory = sys.platform == "linux"
    with os.fdopen(os.memfd_create("audio"), "w+b") if in_memory else tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file
