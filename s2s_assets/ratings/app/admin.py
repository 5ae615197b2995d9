"""The admin pages: how far the study is, who answers how, what was reported; and what is decided about it."""

from collections.abc import Iterator
from typing import Any, get_args

import polars as pl
from fastapi import APIRouter, Depends, Request
from markupsafe import Markup
from sqlalchemy import select
from starlette.responses import FileResponse, Response

from s2s_assets.ratings.app.admin_access import Admin, CurrentAdmin, admin_of
from s2s_assets.ratings.app.admin_tables import TABLES, arrange, leads, shown
from s2s_assets.ratings.app.context import AppContext, Context, Form, RefusedError, see_other
from s2s_assets.ratings.app.pages import page
from s2s_assets.ratings.app.words import DEFAULT
from s2s_assets.ratings.exclude import Scope, exclude, restore
from s2s_assets.ratings.measures import ALL
from s2s_assets.ratings.progress import paces, pairs_progress, problems_told, totals
from s2s_assets.ratings.quality import QUALITY_VERSION
from s2s_assets.ratings.records import rater_record, response_record
from s2s_assets.ratings.schema import media, settled
from s2s_assets.ratings.watch_charts import order_chart, raters_chart, scores_chart, votes_chart
from s2s_assets.study import RatingsError, StoreError

router = APIRouter(prefix="/admin", dependencies=[Depends(admin_of)])
LONGEST = {"author": 100, "reason": 500}
_RATE = {"alpha", "alpha_cleaned", "icc", "icc_mean", "kappa", "sign_agreement", "order_effect"}


@router.get("")
def overview(context: AppContext, admin: CurrentAdmin) -> Response:
    """How far it is, and whether all is well."""
    counts = totals(pairs_progress(context.store))
    now = context.desk.clock()
    values = {
        "counts": counts,
        "paces": paces(context.store, counts["slots"] - counts["done"], now),
        "health": list(_health(context)),
        "problems": problems_told(context.store).head(5).to_dicts(),
        "now": now,
    }
    return _page(context, admin, "admin_overview", "overview", values)


@router.get("/table/{name}")
def table(request: Request, context: AppContext, admin: CurrentAdmin, name: str) -> Response:
    """One of the tables."""
    if name not in TABLES:
        raise RefusedError(404, "no_page")
    of = TABLES[name]
    arranged = arrange(of.read(context), request.query_params, of.sort, of.descending)
    return _page(context, admin, "admin_table", name, {"of": of, "table": arranged})


@router.get("/quality")
def quality(context: AppContext, admin: CurrentAdmin, rubric: str = ALL) -> Response:
    """Charts and agreement."""
    look = context.watch.look()
    rubrics = [ALL, *(r.id for r in context.desk.study.rubrics)]
    chosen = rubric if rubric in rubrics else ALL
    of_all = look.quality.filter(pl.col("scope").is_in(["study", "rubric"]) & pl.col("measure").is_in(sorted(_RATE)))
    charts = {
        "Votes over time": votes_chart(look.ratings),
        "Scores": scores_chart(look.ratings, chosen),
        "Order effect": order_chart(look.quality),
        "Raters": raters_chart(look.quality),
    }
    values = {
        "look": look,
        "charts": {name: Markup(svg) for name, svg in charts.items()},  # noqa: S704 - drawing escapes every name
        "rubrics": rubrics,
        "rubric": chosen,
        "agreement": of_all.select("scope", "name", "measure", "value", "low", "high", "n").to_dicts(),
    }
    return _page(context, admin, "admin_quality", "quality", values)


@router.get("/rater")
def one_rater(context: AppContext, admin: CurrentAdmin, name: str = "") -> Response:
    """All about one rater."""
    return _rater_page(context, admin, name, None)


@router.get("/response")
def one_response(request: Request, context: AppContext, admin: CurrentAdmin) -> Response:
    """All about one response, with its sound."""
    return _response_page(context, admin, request.query_params, None)


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
    """Exclude or restore a rater or a response."""
    scope, target, act = (form.get(name, "") for name in ("scope", "target", "act"))
    admin.check(form, act, scope, target)
    author, reason = (form.get(name, "").strip()[:longest] for name, longest in LONGEST.items())
    known: Scope | None = next((one for one in get_args(Scope) if one == scope), None)
    if known is None:
        raise RefusedError(404, "no_page")
    try:
        do = exclude if act == "exclude" else restore
        do(context.store, known, target, author, reason, context.desk.clock())
    except RatingsError as error:
        if known == "rater":
            return _rater_page(context, admin, target, str(error))
        return _response_page(context, admin, {"id": target}, str(error))
    return see_other(leads(scope, target) or "/admin")


def _rater_page(context: Context, admin: Admin, name: str, fault: str | None) -> Response:
    found = rater_record(context.store, context.watch.look(), context.desk.study.cleaning, name)
    if found is None:
        raise RefusedError(404, "no_page")
    values = {
        "record": found,
        "decision": _decision(admin, "rater", name, found.decisions, fault),
        "rules": QUALITY_VERSION,
        "flags": found.measures.filter(pl.col("flag").is_not_null()).to_dicts(),
    }
    return _page(context, admin, "admin_rater", "raters", values, 200 if fault is None else 422)


def _response_page(context: Context, admin: Admin, asked: Any, fault: str | None) -> Response:
    found = response_record(context.store, context.watch.look(), asked.get("id", ""))
    if found is None:
        raise RefusedError(404, "no_page")
    values = {
        "record": found,
        "decision": _decision(admin, "response", found.response, found.decisions, fault),
        "rules": QUALITY_VERSION,
        "table": arrange(found.answers, asked, "submitted_at", descending=True),
        "keep": {"id": found.response},
    }
    return _page(context, admin, "admin_response", "responses", values, 200 if fault is None else 422)


def _decision(admin: Admin, scope: str, target: str, decisions: Any, fault: str | None) -> dict[str, Any]:
    """What the form of a page decides."""
    excluded = any(one.lifted_at is None for one in decisions)
    act = "restore" if excluded else "exclude"
    nonce = admin.nonce(act, scope, target)
    return {"scope": scope, "target": target, "act": act, "nonce": nonce, "fault": fault, "history": decisions}


def _health(context: Context) -> Iterator[tuple[str, bool, str]]:
    """What the app needs: name, whether it works, and how it is."""
    with context.store.reading() as connection:
        version = connection.execute(select(settled).order_by(settled.c.id.desc()).limit(1)).first()
        some = connection.execute(select(media.c.blob).limit(1)).scalar()
    yield "Database", True, context.store.engine.dialect.name
    try:
        told = "nothing to hear yet" if some is None else f"{len(context.blobs.get_blob(some)):,} bytes read of a clip"
        yield "Media store", True, told
    except StoreError as error:
        yield "Media store", False, str(error)
    if version is None:
        yield "Settled version", True, "none yet"
    else:
        told = f"{version.answers:,} answers up to {shown(version.watermark)} UTC"
        yield "Settled version", True, f"{version.version[:12]}: {told}"


def _page(
    context: Context, admin: Admin, template: str, here: str, values: dict[str, Any], status: int = 200
) -> Response:
    shared = {"here": here, "tables": TABLES, "shown": shown, "leads": leads, "end_nonce": admin.nonce("end")}
    return page(context, template, DEFAULT, shared | {"longest": LONGEST, "keep": {}} | values, status=status)
