"""From the link to consent, and the last page: routes that a sitting begins and ends with."""

from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response

from s2s_assets.ratings.app.consent import consent_words
from s2s_assets.ratings.app.context import (
    COOKIE_AGE_S,
    AppContext,
    Arrival,
    Context,
    CurrentSitting,
    ElsewhereError,
    Form,
    RefusedError,
    Values,
    see_other,
    stage_only,
)
from s2s_assets.ratings.app.pages import page
from s2s_assets.ratings.app.words import languages
from s2s_assets.ratings.handing import more_work
from s2s_assets.ratings.invitations import Claims, Invitation, claims_of, completion_code, invitation_of, invited
from s2s_assets.ratings.sittings import (
    Sitting,
    begin,
    begin_again,
    by_token,
    known,
    latest_claim,
    set_preferences,
)
from s2s_assets.study import RatingsError

router = APIRouter()
PATHS = {"sound": "/sound", "headphones": "/headphones", "training": "/task", "tasks": "/task", "end": "/end"}


@router.get("/i/{token}")
def arrive(request: Request, context: AppContext, token: str) -> Response:
    """Somebody opens a link: remember who, and go to a clean address."""
    context.take_turn(request)
    found = invited(context.store, token)
    if found is None:
        raise RefusedError(404, "no_invitation")
    claims, language = _claims(request, context, found), context.language(request)
    if claims is None:
        return page(context, "consent", language, _seen(context, found, language, preview=True))
    if _has_sitting(request, context, found, claims):
        return see_other("/")
    response = see_other("/consent")
    context.remember_arrival(response, Arrival(found.id, claims, language))
    response.headers["referrer-policy"] = "no-referrer"
    return response


@router.get("/consent")
def consent(request: Request, context: AppContext, lang: str | None = None) -> Response:
    """What the study is, and whether one agrees."""
    arrival, found = _arrival(request, context)
    language = lang if lang in languages() else arrival.language
    seen = _seen(context, found, language, known=known(context.store, found, arrival.claims))
    response = page(context, "consent", language, seen)
    if language != arrival.language:
        context.remember_arrival(response, Arrival(arrival.invitation, arrival.claims, language))
    return response


@router.post("/consent")
def agree(request: Request, context: AppContext, form: Form) -> Response:
    """Begin the sitting, or take it up again in this browser."""
    arrival, found = _arrival(request, context)
    returning = known(context.store, found, arrival.claims)
    seen = _seen(context, found, arrival.language)
    text = seen["consent"].kept
    # what is agreed to is what the page said, and not what it would say by now
    faults = {"consent_changed": form.get("text") != text.version, "consent_needed": form.get("agree") != "yes"}
    fault = next((name for name, is_so in faults.items() if is_so), None)
    if fault is not None and not returning:
        return page(context, "consent", arrival.language, seen | {"fault": fault}, status=422)
    _, token = begin(context.store, found, arrival.claims, arrival.language, text, context.desk.clock())
    response = see_other("/")
    context.set_cookie(response, context.cookie, token, COOKIE_AGE_S)
    response.delete_cookie(context.arrival_cookie, path="/", secure=context.secure, httponly=True, samesite="lax")
    return response


@router.get("/")
def where(sat: CurrentSitting) -> Response:
    """The page that is next."""
    return see_other(PATHS[sat.stage])


@router.get("/end")
def the_end(context: AppContext, sat: CurrentSitting) -> Response:
    """How it ended, with the code for the panel."""
    stage_only(sat, "end")
    found = invitation_of(context.store, sat.invitation_id)
    assert found is not None
    assert sat.outcome is not None
    code = completion_code(context.key, found, sat.name, sat.outcome)
    address = None if found.return_url is None else _filled(found.return_url, code, sat)
    seen = {"code": code, "return_url": address, "again": _may_go_on(context, sat)}
    return page(context, "end", sat.language, seen, sat=sat)


@router.post("/again")
def again(context: AppContext, sat: CurrentSitting) -> Response:
    """Begin a further sitting."""
    stage_only(sat, "end")
    response = see_other("/")
    if _may_go_on(context, sat):
        token = begin_again(context.store, sat, context.desk.clock())
        context.set_cookie(response, context.cookie, token, COOKIE_AGE_S)
    return response


@router.post("/preferences")
def prefer(context: AppContext, sat: CurrentSitting, form: Form) -> Response:
    """Change the language or switch single-key shortcuts."""
    language = form.get("language", sat.language)
    shortcuts = form.get("shortcuts", "on" if sat.shortcuts else "off") == "on"
    set_preferences(context.store, sat, language if language in languages() else sat.language, shortcuts)
    return see_other("/")


def _seen(context: Context, found: Invitation, language: str, **more: bool) -> Values:
    shown = consent_words(context.desk.study, language, found.work, context.desk.tasks(found.work))
    return {"preview": False, "known": False, "fault": None, "consent": shown} | more


def _claims(request: Request, context: Context, found: Invitation) -> Claims | None:
    try:
        claims = claims_of(found, request.query_params)
    except RatingsError as error:
        raise RefusedError(400, "no_person") from error
    if found.panel == "personal" and claims is not None:
        return Claims(claims.person, latest_claim(context.store, found))
    return claims


def _has_sitting(request: Request, context: Context, found: Invitation, claims: Claims) -> bool:
    token = request.cookies.get(context.cookie)
    sat = by_token(context.store, token) if token else None
    return sat is not None and (sat.invitation_id, sat.person, sat.claim) == (found.id, claims.person, claims.session)


def _arrival(request: Request, context: Context) -> tuple[Arrival, Invitation]:
    """Who came by a link that still stands.

    Raises:
        ElsewhereError: nobody did, but there may be a sitting.
        RefusedError: the link was revoked since.
    """
    context.take_turn(request)
    arrival = context.arrival(request)
    if arrival is None:
        raise ElsewhereError("/")
    found = invitation_of(context.store, arrival.invitation)
    if found is None or found.revoked_at is not None:
        raise RefusedError(404, "no_invitation", arrival.language)
    return arrival, found


def _may_go_on(context: Context, sat: Sitting) -> bool:
    """Whether a rater who came by a personal link may begin a further sitting."""
    mine = sat.panel == "personal" and sat.outcome == "done" and sat.work == "pairs" and not sat.revoked
    return mine and more_work(context.desk, sat)


def _filled(template: str, code: str, sat: Sitting) -> str:
    values = {"{code}": code, "{person}": sat.person, "{session}": sat.claim}
    for name, value in values.items():
        template = template.replace(name, quote(value, safe=""))
    return template
