"""The admin pages of invitations: made, listed and revoked as `s2s ratings invite`, `invitations` and `revoke` do it.

A link is shown on the page that answers the form and nowhere else, since its secret is stored as a hash.
"""

import base64
from collections.abc import Mapping
from typing import Any, get_args

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from s2s_assets.ratings.app.admin_access import Admin, CurrentAdmin, admin_of
from s2s_assets.ratings.app.admin_page import admin_page, author_and_reason, decision
from s2s_assets.ratings.app.admin_tables import arrange, leads
from s2s_assets.ratings.app.context import AppContext, Context, Form, RefusedError, see_other
from s2s_assets.ratings.invitations import Panel, Work, completion_codes, invitation_of, revoke
from s2s_assets.ratings.links import LONGEST_LABEL, MOST, Link, links_csv, make_links
from s2s_assets.ratings.progress import invitations_use, sittings_by
from s2s_assets.study import RatingsError

router = APIRouter(prefix="/admin", dependencies=[Depends(admin_of)])
_HERE = "invitations"
_EMPTY = {"panel": "personal", "work": "pairs", "label": "", "count": "1", "return_url": ""}


@router.get("/invitations")
def invitations(request: Request, context: AppContext, admin: CurrentAdmin) -> Response:
    """Every invitation with its state and use, and a form for more."""
    return _invitations_page(context, admin, request.query_params, _EMPTY, None)


@router.post("/invitations")
def make(context: AppContext, admin: CurrentAdmin, form: Form) -> Response:
    """Make invitations; the page that answers has their links."""
    admin.check(form, "invite")
    entered = {name: form.get(name, "").strip() for name in _EMPTY}
    try:
        links = _made(context, entered)
    except RatingsError as error:
        return _invitations_page(context, admin, {}, entered, str(error))
    file = base64.b64encode(links_csv(links).encode()).decode()
    return admin_page(context, admin, "admin_links", _HERE, {"links": links, "file": file})


@router.get("/invitation")
def invitation(context: AppContext, admin: CurrentAdmin, id: str = "") -> Response:  # noqa: A002 - the query's name
    """All about one invitation."""
    return _invitation_page(context, admin, id, None)


@router.post("/revoke")
def close(context: AppContext, admin: CurrentAdmin, form: Form) -> Response:
    """Revoke an invitation."""
    number = form.get("target", "")
    admin.check(form, "revoke", "invitation", number)
    try:
        revoke(context.store, int(number), *author_and_reason(form), context.desk.clock())
    except RatingsError as error:
        return _invitation_page(context, admin, number, str(error))
    return see_other(leads("invitation", number) or "/admin")


def _made(context: Context, entered: Mapping[str, str]) -> list[Link]:
    """The links that a form asks for.

    Raises:
        RatingsError: it asks for what there is not.
    """
    panel: Panel | None = next((one for one in get_args(Panel) if one == entered["panel"]), None)
    work: Work | None = next((one for one in get_args(Work) if one == entered["work"]), None)
    count = entered["count"]
    if panel is None or work is None or not (count.isascii() and count.isdecimal() and len(count) < 9):
        raise RatingsError("form: expected a panel, a kind of work and a number of links")
    return make_links(
        context.store,
        context.desk.clock(),
        context.rater_url,
        panel,
        work,
        entered["label"],
        count=int(count),
        return_url=entered["return_url"] or None,
    )


def _invitations_page(
    context: Context, admin: Admin, asked: Mapping[str, str], entered: Mapping[str, str], fault: str | None
) -> Response:
    values = {
        "table": arrange(invitations_use(context.store), asked, "invitation", descending=True),
        "entered": entered,
        "fault": fault,
        "most": MOST,
        "longest_label": LONGEST_LABEL,
        "nonce": admin.nonce("invite"),
    }
    return admin_page(context, admin, "admin_invitations", _HERE, values, 200 if fault is None else 422)


def _invitation_page(context: Context, admin: Admin, number: str, fault: str | None) -> Response:
    known = number.isascii() and number.isdecimal() and len(number) < 16
    found = invitation_of(context.store, int(number)) if known else None
    if found is None:
        raise RefusedError(404, "no_page")
    values: dict[str, Any] = {
        "found": found,
        "codes": completion_codes(context.store, found),
        "sittings": sittings_by(context.store, found.id).to_dicts(),
        "decision": decision(admin, "revoke", "invitation", number, fault),
    }
    return admin_page(context, admin, "admin_invitation", _HERE, values, 200 if fault is None else 422)
