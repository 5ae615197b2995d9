"""What one server process works with, made once at its start; and what a route learns about who asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Depends, Request
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from s2s_assets.ratings.app.limits import Limiter, veiled
from s2s_assets.ratings.app.words import DEFAULT, language_of
from s2s_assets.ratings.ear_media import EarMedia
from s2s_assets.ratings.handing import Desk
from s2s_assets.ratings.invitations import Claims, study_key
from s2s_assets.ratings.review import RecordedTable
from s2s_assets.ratings.review_media import ReviewMedia
from s2s_assets.ratings.sittings import Sitting, by_token
from s2s_assets.ratings.store import Clock, RatingsStore, utc_now
from s2s_assets.ratings.traps import trap_clips
from s2s_assets.ratings.watch import Watch
from s2s_assets.storage import StudyStore, open_engine, open_store
from s2s_assets.study import Settings, load_study

ARRIVAL_AGE_S = 24 * 3600
COOKIE_AGE_S = 30 * 24 * 3600
_MOST_FIELDS = 60


class RefusedError(Exception):
    """A request that is answered with a page of a few words."""

    def __init__(self, status: int, key: str, language: str | None = None) -> None:
        super().__init__(key)
        self.status = status
        self.key = key
        self.language = language


class ElsewhereError(Exception):
    """A request whose answer is another page."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@dataclass(frozen=True)
class Arrival:
    """Somebody who came by a link and has not consented yet."""

    invitation: int
    claims: Claims
    language: str


class Context:
    """The process's study, database, media and limits."""

    def __init__(self, settings: Settings, clock: Clock = utc_now) -> None:
        folder = load_study(settings.study)
        study = folder.study
        store = RatingsStore(open_engine(settings.database_url), study.study)
        blobs = StudyStore(open_store(settings.store), study.study)
        self.blobs = blobs
        self.desk = Desk(store, study, folder.script_of, clock, trap_clips(folder, blobs))
        self.media = EarMedia(blobs, settings.home / "ear-media", study.audio)
        self.rater_url = settings.rater_url
        self.recorded = RecordedTable(blobs)
        self.review_media = ReviewMedia(blobs, settings.home / "review-media")
        self.secure = settings.rater_url.startswith("https://")
        self.watch = Watch(self.desk)
        self.key = study_key(store)
        self.of_sitting = Limiter(rate_per_s=5.0, burst=300.0)
        self.of_address = Limiter(rate_per_s=2.0, burst=120.0)
        self._arrivals = URLSafeTimedSerializer(self.key, salt=f"s2s arrival {study.study}")

    @property
    def store(self) -> RatingsStore:
        """The ratings database."""
        return self.desk.store

    @property
    def cookie(self) -> str:
        """Name of the sitting's cookie; the prefix keeps other hosts from setting it."""
        return "__Host-s2s" if self.secure else "s2s"

    @property
    def arrival_cookie(self) -> str:
        """Name of the cookie that carries an arrival to the consent page."""
        return "__Host-s2s-arrival" if self.secure else "s2s-arrival"

    @property
    def admin_cookie(self) -> str:
        """Name of the cookie that opens the admin pages; nothing of a rater's session is in it."""
        return "__Host-s2s-admin" if self.secure else "s2s-admin"

    def arrival(self, request: Request) -> Arrival | None:
        """Who came by a link in this browser within the last day."""
        try:
            told = self._arrivals.loads(request.cookies.get(self.arrival_cookie, ""), max_age=ARRIVAL_AGE_S)
        except BadSignature:
            return None
        number, person, session, language = told
        return Arrival(number, Claims(person, session), language)

    def remember_arrival(self, response: Response, arrival: Arrival) -> None:
        """Carry an arrival to the consent page."""
        told = [arrival.invitation, arrival.claims.person, arrival.claims.session, arrival.language]
        self.set_cookie(response, self.arrival_cookie, str(self._arrivals.dumps(told)), ARRIVAL_AGE_S)

    def set_cookie(
        self, response: Response, name: str, value: str, age_s: int, samesite: Literal["lax", "strict"] = "lax"
    ) -> None:
        """Set a cookie that no script can read and no foreign page can use."""
        response.set_cookie(name, value, max_age=age_s, path="/", secure=self.secure, httponly=True, samesite=samesite)

    def language(self, request: Request) -> str:
        """The language to speak to somebody in who has chosen none yet."""
        accepted = request.headers.get("accept-language", DEFAULT)
        return language_of(request.query_params.get("lang"), accepted, self.desk.study.language)

    def take_turn(self, request: Request) -> None:
        """Count a request that no sitting vouches for.

        Raises:
            RefusedError: there were too many from this address.
        """
        host = "" if request.client is None else request.client.host
        if not self.of_address.allows(veiled(host)):
            raise RefusedError(429, "too_many")


def context_of(request: Request) -> Context:
    """The server process's context."""
    context: Context = request.app.state.context
    return context


def sitting_of(request: Request) -> Sitting:
    """The sitting whose cookie came with the request.

    Raises:
        RefusedError: there is none, it was revoked, or it asks too often.
    """
    context = context_of(request)
    token = request.cookies.get(context.cookie)
    sat = by_token(context.store, token) if token else None
    if sat is None:
        context.take_turn(request)
        raise RefusedError(403, "no_sitting")
    if sat.revoked and sat.outcome is None:
        raise RefusedError(403, "revoked", sat.language)
    if not context.of_sitting.allows(sat.name):
        raise RefusedError(429, "too_many", sat.language)
    return sat


async def form_of(request: Request) -> Mapping[str, str]:
    """The texts of a form; the last of those with one name. Postgres has no place for a NUL, so none comes in."""
    form: FormData = await request.form(max_files=0, max_fields=_MOST_FIELDS)
    return {name: value.replace("\0", "\ufffd") for name, value in form.multi_items() if isinstance(value, str)}


def no_nul(request: Request) -> None:
    """Refuse an address with a NUL in it: nothing has such a name, and Postgres cannot even be asked for one.

    Raises:
        RefusedError: there is one.
    """
    if "\0" in request.scope["path"] or b"%00" in request.scope["query_string"]:
        raise RefusedError(400, "bad_request")


def stage_only(sat: Sitting, *stages: str) -> None:
    """Send a sitting that is elsewhere to where it is.

    Raises:
        ElsewhereError: the sitting is at another stage.
    """
    if sat.stage not in stages:
        raise ElsewhereError("/")


def see_other(path: str) -> RedirectResponse:
    """The answer to a form: another page, to be asked for anew."""
    return RedirectResponse(path, 303)


AppContext = Annotated[Context, Depends(context_of)]
CurrentSitting = Annotated[Sitting, Depends(sitting_of)]
Form = Annotated[Mapping[str, str], Depends(form_of)]
Values = dict[str, Any]
