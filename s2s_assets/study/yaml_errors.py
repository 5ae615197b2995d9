"""Pydantic's errors in the words of this package, at the line and key they are about."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import ValidationError

from s2s_assets.study.findings import Finding
from s2s_assets.study.yaml_lines import LocatedYaml

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_KEY_FIRST = re.compile(r"([a-z_]+(?:\.[a-z_]+)*): (.+)", re.DOTALL)


def plain_message(fault: "ErrorDetails") -> str:
    """One error's message: what was found, what was expected."""
    if fault["type"] == "missing":
        return "missing; it has no default"
    if fault["type"] == "extra_forbidden":
        return "unknown key; correct its spelling or remove it"
    message = fault["msg"].removeprefix("Value error, ")
    given = fault.get("input")
    if fault["type"] in ("value_error", "assertion_error") or isinstance(given, dict | list):
        return message
    return f"{message}, found {str(given)[:80]!r}"


def located_errors(error: ValidationError, document: LocatedYaml) -> Iterator[Finding]:
    """Every error of a validation, once for each place and message."""
    seen: set[Finding] = set()
    for fault in error.errors():
        path: tuple[int | str, ...] = fault["loc"]
        message = plain_message(fault)
        inner = _KEY_FIRST.fullmatch(message)
        if fault["type"] == "value_error" and inner and document.locate((*path, *inner[1].split(".")))[1]:
            path, message = (*path, *inner[1].split(".")), inner[2]
        finding = document.finding(path, message)
        if finding not in seen:
            seen.add(finding)
            yield finding
