"""What all admin pages have: their frame, and the form by which something is decided with author and reason."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from s2s_assets.ratings.app.admin_access import Admin
from s2s_assets.ratings.app.admin_tables import TABLES, leads, shown
from s2s_assets.ratings.app.context import Context
from s2s_assets.ratings.app.pages import page
from s2s_assets.ratings.app.words import DEFAULT
from s2s_assets.ratings.records import Decision

LONGEST = {"author": 100, "reason": 500}


def admin_page(
    context: Context, admin: Admin, template: str, here: str, values: Mapping[str, Any], status: int = 200
) -> Response:
    """An admin page; `here` names what is lit in the navigation."""
    shared = {"here": here, "tables": TABLES, "shown": shown, "leads": leads, "end_nonce": admin.nonce("end")}
    return page(context, template, DEFAULT, shared | {"longest": LONGEST, "keep": {}} | dict(values), status=status)


def decision(
    admin: Admin, act: str, scope: str, target: str, fault: str | None, history: Sequence[Decision] = ()
) -> dict[str, Any]:
    """What the form of a page decides."""
    nonce = admin.nonce(act, scope, target)
    return {"act": act, "scope": scope, "target": target, "nonce": nonce, "fault": fault, "history": history}


def author_and_reason(form: Mapping[str, str]) -> tuple[str, str]:
    """Who decides and why, as a form says."""
    author, reason = (form.get(name, "").strip()[:longest] for name, longest in LONGEST.items())
    return author, reason
