"""The admin pages of the whole study: how far it is, whether all is well, who answers how."""

from fastapi import APIRouter, Depends, Request
from markupsafe import Markup
from starlette.responses import Response

from s2s_assets.ratings.app.admin_access import CurrentAdmin, admin_of
from s2s_assets.ratings.app.admin_health import health
from s2s_assets.ratings.app.admin_page import admin_page
from s2s_assets.ratings.app.admin_tables import TABLES, arrange
from s2s_assets.ratings.app.context import AppContext, RefusedError
from s2s_assets.ratings.measures import ALL
from s2s_assets.ratings.progress import paces, pairs_progress, problems_told, totals
from s2s_assets.ratings.quality_report import agreement_report, alike_report, one_opinion, raters_report
from s2s_assets.ratings.watch_charts import order_chart, raters_chart, scores_chart, votes_chart

router = APIRouter(prefix="/admin", dependencies=[Depends(admin_of)])
_ALIKE = 12
"""Pairs of questions that the page shows, the most alike; the table `rater_quality` has them all."""


@router.get("")
def overview(context: AppContext, admin: CurrentAdmin) -> Response:
    """How far it is, and whether all is well."""
    counts = totals(pairs_progress(context.store))
    now = context.desk.clock()
    values = {
        "counts": counts,
        "paces": paces(context.store, counts["slots"] - counts["done"], now),
        "health": health(context),
        "problems": problems_told(context.store).head(5).to_dicts(),
        "now": now,
    }
    return admin_page(context, admin, "admin_overview", "overview", values)


@router.get("/health")
def how_it_is(context: AppContext, admin: CurrentAdmin) -> Response:
    """What the app needs, and how it is."""
    return admin_page(
        context, admin, "admin_health", "health", {"health": health(context), "now": context.desk.clock()}
    )


@router.get("/table/{name}")
def table(request: Request, context: AppContext, admin: CurrentAdmin, name: str) -> Response:
    """One of the tables."""
    if name not in TABLES:
        raise RefusedError(404, "no_page")
    of = TABLES[name]
    arranged = arrange(of.read(context), request.query_params, of.sort, of.descending)
    return admin_page(context, admin, "admin_table", name, {"of": of, "table": arranged})


@router.get("/quality")
def quality(request: Request, context: AppContext, admin: CurrentAdmin) -> Response:
    """Charts, agreement, questions that are answered as one, and the raters."""
    look, asked = context.watch.look(), request.query_params
    rubrics = [ALL, *(r.id for r in context.desk.study.rubrics)]
    chosen = asked.get("rubric", ALL)
    chosen = chosen if chosen in rubrics else ALL
    charts = {
        "Votes over time": votes_chart(look.ratings),
        "Scores": scores_chart(look.ratings, chosen),
        "Order effect": order_chart(look.quality),
        "Raters": raters_chart(look.quality),
    }
    alike = alike_report(look.quality)
    values = {
        "look": look,
        "charts": {name: Markup(svg) for name, svg in charts.items()},  # noqa: S704 - drawing escapes every name
        "rubrics": rubrics,
        "rubric": chosen,
        "agreement": agreement_report(look.quality).to_dicts(),
        "alike": alike.head(_ALIKE).to_dicts(),
        "questions_pairs": alike.height,
        "one_opinion": one_opinion(look.quality),
        "raters": arrange(raters_report(look.quality), asked, "share", descending=True),
        "keep": {"rubric": chosen},
    }
    return admin_page(context, admin, "admin_quality", "quality", values)
