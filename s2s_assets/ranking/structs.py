"""Frozen records of plain values as polars structs, and back: text, numbers, records, lists of them, or nothing."""

import types
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import polars as pl

_PLAIN: dict[Any, pl.DataType] = {str: pl.String(), int: pl.Int64(), float: pl.Float64()}


@cache
def struct_of(record: type) -> pl.Struct:
    """The struct of a record's fields, in their order."""
    return pl.Struct({name: _dtype(hint) for name, hint in _fields_of(record)})


def record_of(record: type, row: dict[str, Any]) -> Any:
    """A record from a row of its struct."""
    return record(**{name: _value(hint, row[name]) for name, hint in _fields_of(record)})


def plain(value: Any) -> Any:
    """A record as dicts and lists, down to plain values: what JSON holds."""
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    return [plain(v) for v in value] if isinstance(value, tuple) else value


@cache
def _fields_of(record: type) -> tuple[tuple[str, Any], ...]:
    """Names and types of a record's fields, without `| None`."""
    hints = get_type_hints(record)
    return tuple((f.name, _present(hints[f.name])) for f in fields(record))


def _dtype(hint: Any) -> pl.DataType:
    hint = _present(hint)
    if get_origin(hint) is tuple:
        return pl.List(_dtype(get_args(hint)[0]))
    return struct_of(hint) if isinstance(hint, type) and is_dataclass(hint) else _PLAIN[hint]


def _value(hint: Any, value: Any) -> Any:
    hint = _present(hint)
    if value is None:
        return None
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], v) for v in value)
    return record_of(hint, value) if isinstance(hint, type) and is_dataclass(hint) else value


def _present(hint: Any) -> Any:
    """The type of `X | None` where there is a value."""
    if get_origin(hint) in {Union, types.UnionType}:
        return next(h for h in get_args(hint) if h is not type(None))
    return hint
