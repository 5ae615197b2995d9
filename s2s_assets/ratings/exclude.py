"""What does not count: a rating, a rater or a response, by whom and why.

An exclusion is a row with author and reason; lifting it is a note on that row. No answer is deleted or changed, and one
that is excluded is published as such. Excluding a response is its *withdrawal*: its pairs become void in the same
transaction, and the pairing plan heals the hole in a new epoch. Excluding a rater gives back the slots of that rater's
votes, so that others are asked in their place; a rating gives its slot back once all ratings of its task are excluded.
Restoring takes a slot back where it is still free; where another has voted by then, both votes count.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, exists, or_, select

from s2s_assets.ratings.leases import give_back_slots, take_slots_back
from s2s_assets.ratings.schema import answer, assignment, exclusion, media, pair, rater
from s2s_assets.ratings.store import RatingsStore, insert_new
from s2s_assets.study import RatingsError

Scope = Literal["rating", "rater", "response"]
_UNKNOWN = {
    "rating": "no rating has this id",
    "rater": "no rater has this name",
    "response": "no pair in the ratings database holds this response",
}


def exclude(store: RatingsStore, scope: Scope, target: str, author: str, reason: str, now: datetime) -> bool:
    """Exclude a rating (by id), a rater (by name) or a response (by id).

    Returns:
        False where it was excluded already.

    Raises:
        RatingsError: there is no such target, or author or reason is empty.
    """
    signed(author, reason, target)
    with store.writing() as connection:
        if not _exists(connection, scope, target):
            raise RatingsError(f"{scope} {target!r}: {_UNKNOWN[scope]}")
        if target in live_targets(connection, scope):
            return False
        row = {"scope": scope, "target": target, "author": author, "reason": reason, "created_at": now}
        insert_new(connection, exclusion, [row])
        if scope == "response":
            _void(connection, target)
        else:
            give_back_slots(connection, _votes(connection, scope, target))
    return True


def withdraw(store: RatingsStore, response: str, author: str, reason: str, now: datetime) -> bool:
    """Withdraw a response: its pairs become void and its answers are excluded.

    Returns:
        False where it was withdrawn already.

    Raises:
        RatingsError: no pair holds this response, or author or reason is empty.
    """
    return exclude(store, "response", response, author, reason, now)


def restore(store: RatingsStore, scope: Scope, target: str, author: str, reason: str, now: datetime) -> bool:
    """Lift an exclusion; a response's pairs are open again where their other response is not withdrawn too.

    Returns:
        False where nothing was excluded.

    Raises:
        RatingsError: author or reason is empty.
    """
    signed(author, reason, target)
    live = (exclusion.c.scope == scope) & (exclusion.c.target == target) & exclusion.c.lifted_at.is_(None)
    lifted = {"lifted_at": now, "lifted_by": author, "lifted_reason": reason}
    with store.writing() as connection:
        votes = [] if scope == "response" else _votes(connection, scope, target)
        done = connection.execute(exclusion.update().where(live).values(lifted)).rowcount > 0
        if done and scope == "response":
            _reopen(connection, target)
        elif done:
            take_slots_back(connection, votes)
    return done


def live_targets(connection: Connection, scope: Scope) -> frozenset[str]:
    """Targets of a scope that are excluded now."""
    query = select(exclusion.c.target).where(exclusion.c.scope == scope, exclusion.c.lifted_at.is_(None))
    return frozenset(connection.execute(query).scalars())


def is_excluded(connection: Connection, scope: Scope, target: str) -> bool:
    """Whether a target is excluded now."""
    return bool(connection.execute(select(excluded_now(scope, target))).scalar())


def excluded_now(scope: Scope, target: str | ColumnElement[str]) -> ColumnElement[bool]:
    """The same as an expression of a query."""
    live = (exclusion.c.scope == scope) & (exclusion.c.target == target) & exclusion.c.lifted_at.is_(None)
    return exists(select(exclusion.c.id).where(live))


def withdrawn(store: RatingsStore) -> frozenset[str]:
    """Ids of the responses that are withdrawn: the pairing plan leaves their cells open."""
    with store.reading() as connection:
        return live_targets(connection, "response")


def signed(author: str, reason: str, target: str) -> None:
    """Check who decides and why.

    Raises:
        RatingsError: author or reason is empty, or a text is none that a database can hold.
    """
    if not author.strip() or not reason.strip():
        raise RatingsError("author and reason: expected both; a decision is kept with them")
    for name, text in (("author", author), ("reason", reason), ("target", target)):
        try:
            text.encode()
        except UnicodeEncodeError as error:  # bytes of a command line that are in another encoding
            raise RatingsError(f"{name} {text!r}: not UTF-8; give it in the terminal's encoding") from error


def _exists(connection: Connection, scope: Scope, target: str) -> bool:
    queries = {
        "rating": select(answer.c.id).where(answer.c.rating_id == target),
        "rater": select(rater.c.id).where(rater.c.name == target),
        "response": select(pair.c.id).where(or_(pair.c.response_a == target, pair.c.response_b == target)),
    }
    return connection.execute(queries[scope].limit(1)).first() is not None


def _votes(connection: Connection, scope: Scope, target: str) -> list[int]:
    """Assignments whose votes stand or fall with a rater or rating."""
    query = select(assignment.c.id).join(rater, rater.c.id == assignment.c.rater_id).where(rater.c.name == target)
    if scope == "rating":
        query = select(answer.c.assignment_id).where(answer.c.rating_id == target, answer.c.assignment_id.is_not(None))
    found = connection.execute(query).scalars().all()
    return [one for one in found if scope == "rater" or _all_excluded(connection, one)]


def _all_excluded(connection: Connection, assignment_id: int) -> bool:
    of_task = select(answer.c.rating_id).where(answer.c.assignment_id == assignment_id)
    return set(connection.execute(of_task).scalars()) <= live_targets(connection, "rating")


def _void(connection: Connection, response: str) -> None:
    found = _holders(connection, response, "open")
    ids = [row.id for row in found]
    connection.execute(pair.update().where(pair.c.id.in_(ids)).values(state="void"))


def _reopen(connection: Connection, response: str) -> None:
    withdrawn_now = live_targets(connection, "response")
    heard = {tuple(row) for row in connection.execute(select(*media.c["kind", "subject"]))}
    ids = [
        row.id
        for row in _holders(connection, response, "void")
        if withdrawn_now.isdisjoint((row.response_a, row.response_b))
        and heard.issuperset((("prompt", row.prompt), ("response", row.response_a), ("response", row.response_b)))
    ]
    connection.execute(pair.update().where(pair.c.id.in_(ids)).values(state="open"))


def _holders(connection: Connection, response: str, state: str) -> Sequence[Row[Any]]:
    """Pairs of a state that hold a response, locked in one order everywhere, so that nobody waits in a circle."""
    holds = or_(pair.c.response_a == response, pair.c.response_b == response)
    query = select(pair).where(holds, pair.c.state == state).order_by(pair.c.id)
    return connection.execute(query.with_for_update(key_share=True)).all()
