"""The admin pages of one rater, prompt, response or rating, with their sounds, and what is decided about them."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import polars as pl
from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from starlette.responses import FileResponse, Response

from s2s_assets.ratings.app.admin_access import Admin, CurrentAdmin, admin_of
from s2s_assets.ratings.app.admin_page import admin_page, author_and_reason, decision
from s2s_assets.ratings.app.admin_tables import arrange, leads
from s2s_assets.ratings.app.context import AppContext, Context, Form, RefusedError, see_other
from s2s_assets.ratings.exclude import Scope, exclude, restore
from s2s_assets.ratings.quality import QUALITY_VERSION
from s2s_assets.ratings.records import Decision, prompt_record, rater_record, rating_record, response_record
from s2s_assets.ratings.schema import media
from s2s_assets.study import RatingsError

router = APIRouter(prefix="/admin", dependencies=[Depends(admin_of)])


@router.get("/rater")
def one_rater(request: Request, context: AppContext, admin: CurrentAdmin) -> Response:
    """All about one rater."""
    return _rater_page(context, admin, request.query_params, None)


@router.get("/response")
def one_response(request: Request, context: AppContext, admin: CurrentAdmin) -> Response:
    """All about one response, with its sound."""
    return _response_page(context, admin, request.query_params, None)


@router.get("/prompt")
def one_prompt(request: Request, context: AppContext, admin: CurrentAdmin) -> Response:
    """All about one prompt, with its sound."""
    asked = request.query_params
    found = prompt_record(context.store, asked.get("id", ""))
    if found is None:
        raise RefusedError(404, "no_page")
    values = {
        "record": found,
        "script": context.desk.scripts.get(found.prompt),
        "table": arrange(found.responses, asked, "config"),
        "keep": {"id": found.prompt},
    }
    return admin_page(context, admin, "admin_prompt", "prompts", values)


@router.get("/rating")
def one_rating(request: Request, context: AppContext, admin: CurrentAdmin) -> Response:
    """All about one rating, with the sounds that it is about."""
    return _rating_page(context, admin, request.query_params, None)


@router.get("/audio/{kind}")
def audio(context: AppContext, kind: str, of: str = "") -> Response:
    """A stored recording as raters hear it."""
    query = select(media.c.blob).where(media.c.kind == kind, media.c.subject == of)
    with context.store.reading() as connection:
        blob = connection.execute(query).scalar()
    if blob is None:
        raise RefusedError(404, "unknown_media")
    return FileResponse(context.media.path(blob, "plain"), media_type="audio/flac")


@router.post("/decide")
def decide(context: AppContext, admin: CurrentAdmin, form: Form) -> Response:
    """Exclude or restore a rating, a rater or a response."""
    scope, target, act = (form.get(name, "") for name in ("scope", "target", "act"))
    admin.check(form, act, scope, target)
    known: Scope | None = next((one for one in get_args(Scope) if one == scope), None)
    if known is None:
        raise RefusedError(404, "no_page")
    try:
        do = exclude if act == "exclude" else restore
        do(context.store, known, target, *author_and_reason(form), context.desk.clock())
    except RatingsError as error:
        show = {"rating": _rating_page, "rater": _rater_page, "response": _response_page}[known]
        return show(context, admin, {"name": target, "id": target}, str(error))
    return see_other(leads(scope, target) or "/admin")


def _rater_page(context: Context, admin: Admin, asked: Mapping[str, str], fault: str | None) -> Response:
    name = asked.get("name", "")
    found = rater_record(context.store, context.watch.look(), context.desk.study.cleaning, name)
    if found is None:
        raise RefusedError(404, "no_page")
    values = {
        "record": found,
        "decision": _exclusion(admin, "rater", name, found.decisions, fault),
        "rules": QUALITY_VERSION,
        "flags": found.measures.filter(pl.col("flag").is_not_null()).to_dicts(),
        "table": arrange(found.answers, asked, "submitted_at", descending=True),
        "keep": {"name": name},
    }
    return admin_page(context, admin, "admin_rater", "raters", values, 200 if fault is None else 422)


def _response_page(context: Context, admin: Admin, asked: Mapping[str, str], fault: str | None) -> Response:
    found = response_record(context.store, context.watch.look(), asked.get("id", ""))
    if found is None:
        raise RefusedError(404, "no_page")
    values = {
        "record": found,
        "decision": _exclusion(admin, "response", found.response, found.decisions, fault),
        "rules": QUALITY_VERSION,
        "table": arrange(found.answers, asked, "submitted_at", descending=True),
        "keep": {"id": found.response},
    }
    return admin_page(context, admin, "admin_response", "responses", values, 200 if fault is None else 422)


def _rating_page(context: Context, admin: Admin, asked: Mapping[str, str], fault: str | None) -> Response:
    found = rating_record(context.store, context.watch.look(), asked.get("id", ""))
    if found is None:
        raise RefusedError(404, "no_page")
    values = {
        "record": found,
        "decision": _exclusion(admin, "rating", found.answer["rating_id"], found.decisions, fault),
        "rules": QUALITY_VERSION,
    }
    return admin_page(context, admin, "admin_rating", "flags", values, 200 if fault is None else 422)


def _exclusion(
    admin: Admin, scope: Scope, target: str, decisions: Sequence[Decision], fault: str | None
) -> dict[str, Any]:
    """The form that excludes, or that restores what is excluded."""
    excluded = any(one.lifted_at is None for one in decisions)
    return decision(admin, "restore" if excluded else "exclude", scope, target, fault, decisions)
