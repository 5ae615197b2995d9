"""Links to hand out, as many as are wanted at once; each is told here and nowhere else, in a list or as a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from s2s_assets.ratings.invitations import Panel, Work, completion_codes, invite, invited, link
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.storage import guarded
from s2s_assets.study import RatingsError

MOST = 200
"""Links that are made at once."""
LONGEST_LABEL = 200


@dataclass(frozen=True)
class Link:
    """A link that was made, and the codes that its panel must know beforehand, by outcome."""

    invitation: int
    panel: Panel
    work: Work
    label: str
    url: str
    codes: dict[str, str]


def make_links(
    store: RatingsStore,
    now: datetime,
    base_url: str,
    panel: Panel = "personal",
    work: Work = "pairs",
    label: str = "",
    *,
    count: int = 1,
    return_url: str | None = None,
) -> list[Link]:
    """Make invitations and their links.

    Args:
        store: The study's database.
        now: Aware time.
        base_url: Where raters reach the app.
        panel: Whose raters come by them.
        work: Pairs, or single responses (MOS).
        label: For the people who run the study; several get a number behind it.
        count: How many, up to `MOST`; a panel's link is one for everybody.
        return_url: As `invite` takes it.

    Raises:
        RatingsError: a count out of range, more than one link of a panel, a label that is too long, or a return address
            that is none.
    """
    if not 1 <= count <= MOST:
        raise RatingsError(f"count {count}: expected 1 to {MOST} links at once")
    if count > 1 and panel != "personal":
        raise RatingsError(f"count {count}: the link of a panel is one for everybody; expected 1")
    if len(label) > LONGEST_LABEL or not (label.isprintable() or not label):
        raise RatingsError(f"label: expected one line of up to {LONGEST_LABEL} characters")
    labels = [label] if count == 1 else [f"{label} {k}".strip() for k in range(1, count + 1)]
    return [_link(store, now, base_url, panel, work, one, return_url) for one in labels]


def links_csv(links: Sequence[Link]) -> str:
    """The links as CSV, a row each, with texts that no spreadsheet runs."""
    rows = [(one.invitation, one.label, one.panel, one.work, one.url) for one in links]
    names = ("invitation", "label", "panel", "work", "url")
    return guarded(pl.DataFrame(rows, schema=names, orient="row")).write_csv()


def _link(
    store: RatingsStore, now: datetime, base_url: str, panel: Panel, work: Work, label: str, return_url: str | None
) -> Link:
    token = invite(store, now, panel, work, label, return_url=return_url)
    found = invited(store, token)
    assert found is not None
    return Link(found.id, panel, work, label, link(base_url, token, panel), completion_codes(store, found))
