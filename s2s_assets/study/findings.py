"""One thing that is wrong with, or missing from, a study folder, and where."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """A place in a study folder and what is to be said about it."""

    file: str
    """Path below the study folder."""
    line: int | None
    """Line in that file, the first is 1; None where the whole file is meant."""
    key: str
    """Dotted key in YAML, column in CSV; empty where the whole file or row is meant."""
    message: str
    """What was found, what was expected, what to do."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"
