"""What the app needs to work, and how it is: for the admin pages."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from sqlalchemy import func, select

from s2s_assets.ratings.app.admin_tables import shown
from s2s_assets.ratings.app.context import Context
from s2s_assets.ratings.migrations import revision
from s2s_assets.ratings.schema import answer, assignment, media, settled
from s2s_assets.study import StoreError, plural

Told = tuple[str, bool, str]
"""What, whether it works, and how it is."""
_HERE = {"localhost", "127.0.0.1", "::1"}


def health(context: Context) -> list[Told]:
    """Everything that has to work, in the order in which to look at it."""
    return [_database(context), _media(context), _address(context), *_work(context)]


def _database(context: Context) -> Told:
    with context.store.reading() as connection:
        return "Database", True, f"{connection.dialect.name}, tables {revision(connection)}"


def _media(context: Context) -> Told:
    with context.store.reading() as connection:
        some = connection.execute(select(media.c.blob).limit(1)).scalar()
    if some is None:
        return "Media store", True, "nothing to hear yet"
    try:
        return "Media store", True, f"{len(context.blobs.get_blob(some)):,} bytes read of a clip"
    except StoreError as error:
        return "Media store", False, str(error)


def _address(context: Context) -> Told:
    url = context.rater_url
    good = context.secure or urlsplit(url).hostname in _HERE
    return "Raters' address", good, url if good else f"{url}: no https, so cookies and answers can be read on the way"


def _work(context: Context) -> Iterator[Told]:
    """How far answers have come: handed out, landed, settled."""
    now = context.desk.clock()
    of_leases = (func.count(), func.count().filter(assignment.c.expires_at < now))
    with context.store.reading() as connection:
        leased, overdue = connection.execute(select(*of_leases).where(assignment.c.state == "leased")).one()
        newest = connection.execute(select(func.max(answer.c.landed_at))).scalar()
        version = connection.execute(select(settled).order_by(settled.c.id.desc()).limit(1)).first()
        landed = select(func.count()).select_from(answer)
        if version is not None:
            landed = landed.where(answer.c.landed_at > version.watermark)
        since = connection.execute(landed).scalar_one()
    yield "Leases", True, f"{plural(leased, 'task')} handed out, {overdue:,} overdue and free for the next who asks"
    yield "Answers", True, "none yet" if newest is None else f"the newest of {shown(newest)} UTC"
    told = f"none yet; {plural(since, 'answer')} landed"
    if version is not None:
        covers = f"{plural(version.answers, 'answer')} up to {shown(version.watermark)} UTC"
        told = f"{version.version[:12]}: {covers}; {since:,} landed since"
    yield "Settled version", True, told
