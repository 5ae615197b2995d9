"""What ratings can be sliced by: a column of theirs, or what the two answers of a rating share.

A column (a prompt's category, a rater's age band, a tag) belongs to the row: a slice holds the rows with one value of it.
A row with an empty cell is in no slice.

`voice`, `thinking` and `family` are of the configs, so of each answer: a slice holds the ratings in which both answers
have the value, and those that compare two values are in no slice. They come from the config keys; a voice is known there
by its name, which means little across providers, so a table of kinds (a study's genders) may stand in its place. Ratings
that have a column of such a name are sliced by that column.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from s2s_assets.ranking.spec import entity_of
from s2s_assets.study import DIMENSIONS, SHARED, ConfigKey, InputError

LIMIT = 50
"""Values of an attribute above which it is taken for an id or a number."""
_OWN = frozenset({"all", "a", "b", "left"})
"""Names that boards and coded ratings have for themselves."""
_RESERVED = _OWN | {
    *("prompt", "rater", "rubric", "config_a", "config_b", "score", "rating_id", "response_a", "response_b"),
    *("first", "submitted_at", "excluded_by", "excluded_reason", "file_row"),
}


@dataclass(frozen=True)
class Kinds:
    """What the configs' models and voices are, where keys do not say it."""

    families: Mapping[str, str]
    """Model → family."""
    voices: Mapping[str, str | None] | None = None
    """Voice (`model|voice`) → its kind, None for one of no kind; None altogether: kinds are the voices' names."""

    def of(self, config: str, name: str) -> str | None:
        """A config's voice, thinking level or family.

        Raises:
            ConfigKeyError: no config key.
            InputError: a model without a family, or a voice without a kind.
        """
        key = ConfigKey.parse(config)
        if name == "thinking":
            return key.thinking
        if name == "family":
            return entity_of(config, "family", self.families)
        if self.voices is None:
            return key.voice
        voice = f"{key.model}|{key.voice}"
        if voice not in self.voices:
            raise InputError(f"voice {voice!r} has no kind: add it to the voices file or to the study")
        return self.voices[voice]


def with_attribute(ratings: pl.DataFrame, name: str, kinds: Kinds) -> pl.DataFrame:
    """The ratings with the attribute as a column of texts, null in rows of no slice.

    Args:
        ratings: with `config_a` and `config_b`.
        name: a column, or `voice`, `thinking` or `family`.
        kinds: for the latter.

    Raises:
        InputError: no such column, or one that is no attribute.
        ConfigKeyError: a config that is no key where the attribute is read off keys.
    """
    if name in _RESERVED:
        raise InputError(
            f"ratings cannot be sliced by {name!r}, which has a meaning of its own here; rename the column"
            if name in _OWN
            else f"ratings cannot be sliced by {name!r}, which says what a rating is; choose an attribute"
        )
    if name in ratings.columns:
        return _of_column(ratings, name)
    if name in SHARED:
        return _of_both(ratings, name, kinds)
    given = [c for c in ratings.columns if c not in _RESERVED]
    raise InputError(f"ratings have no column {name!r} to slice by; they have {', '.join([*given, *SHARED])}")


def attribute_values(ratings: pl.DataFrame, name: str) -> tuple[str, ...]:
    """The values of an attribute that occur, numbers by size and others as texts."""
    values: list[str] = ratings[name].drop_nulls().unique().sort().to_list()
    numbers = pl.Series(values, dtype=pl.String).cast(pl.Float64, strict=False)
    if values and numbers.is_finite().fill_null(False).all():
        values = [value for _, value in sorted(zip(numbers.to_list(), values, strict=True))]
    return tuple(values)


def _of_column(ratings: pl.DataFrame, name: str) -> pl.DataFrame:
    kind = ratings.schema[name]
    if kind.is_nested() or kind == pl.Binary:
        raise InputError(f"ratings cannot be sliced by {name!r}: it holds {kind}; expected texts or numbers")
    sliced = ratings.with_columns(pl.col(name).cast(pl.String).str.strip_chars().replace("", None).alias(name))
    different = sliced[name].drop_nulls().n_unique()
    if different > LIMIT and name not in DIMENSIONS:
        raise InputError(
            f"ratings cannot be sliced by {name!r}: its {different:,} values look like ids or numbers; slice by a column "
            f"of at most {LIMIT} values, such as bands of it"
        )
    return sliced


def _of_both(ratings: pl.DataFrame, name: str, kinds: Kinds) -> pl.DataFrame:
    configs = pl.concat([ratings["config_a"], ratings["config_b"]]).cast(pl.String).unique().drop_nulls().sort()
    known = {config: kinds.of(config, name) for config in configs}
    a, b = (
        pl.col(side).cast(pl.String).replace_strict(known, default=None, return_dtype=pl.String)
        for side in ("config_a", "config_b")
    )
    return ratings.with_columns(pl.when(a == b).then(a).alias(name))
