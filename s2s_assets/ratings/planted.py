"""The truth that simulated raters answer from, kept beside their answers; empty where people rate."""

from collections.abc import Mapping

from sqlalchemy import select

from s2s_assets.ratings.schema import planted
from s2s_assets.ratings.store import RatingsStore, insert_new
from s2s_assets.study import OVERALL


def plant(store: RatingsStore, truth: Mapping[str, Mapping[str, float]]) -> None:
    """Record the strengths, config → rubric → logits, that simulated raters answer from; known ones stay."""
    rows = [
        {"config": config, "rubric": rubric, "strength": strength}
        for config, strengths in truth.items()
        for rubric, strength in strengths.items()
    ]
    with store.writing() as connection:
        insert_new(connection, planted, rows)


def planted_strengths(store: RatingsStore, rubric: str = OVERALL) -> dict[str, float]:
    """Config → planted strength on a rubric, in logits; empty where nobody simulated raters."""
    query = select(planted.c.config, planted.c.strength).where(planted.c.rubric == rubric)
    with store.reading() as connection:
        return dict(connection.execute(query).tuples().all())
