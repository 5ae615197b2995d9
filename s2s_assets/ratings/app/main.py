"""The app: its routes, what it says when something goes wrong, and the guard around all of it."""

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from s2s_assets.ratings.app import (
    admin,
    admin_access,
    admin_invitations,
    admin_records,
    arrivals,
    listening,
    review,
    tasks,
)
from s2s_assets.ratings.app.context import Context, ElsewhereError, RefusedError, context_of, no_nul, see_other
from s2s_assets.ratings.app.pages import STATIC, page, source
from s2s_assets.ratings.app.security import Guarded
from s2s_assets.ratings.store import Clock, utc_now
from s2s_assets.study import Settings

_KEYS = {404: "no_page", 405: "no_page", 413: "too_large", 429: "too_many"}


def create_app(settings: Settings | None = None, clock: Clock = utc_now) -> ASGIApp:
    """The whole app for one server process.

    Args:
        settings: By default the environment's.
        clock: Tells the time.

    Raises:
        StudyError: the study folder cannot be used.
        IdentityError: the ratings database belongs to another study.
    """
    settings = settings or Settings.from_environment()
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, dependencies=[Depends(no_nul)])
    app.state.context = Context(settings, clock)
    for part in (arrivals, listening, tasks, admin_access, admin, admin_records, admin_invitations, review):
        app.include_router(part.router)
    app.add_api_route("/static/{name}", static)
    app.add_api_route("/health", health, methods=["GET", "HEAD"])
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(ElsewhereError, _elsewhere)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _no_such_address)
    app.add_exception_handler(Exception, _failed)
    return Guarded(app, app.state.context.secure)


def static(name: str) -> Response:
    """Style and script; their address changes with them."""
    if name not in STATIC:
        raise HTTPException(404)
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(source(name), media_type=STATIC[name], headers=headers)


def health(request: Request) -> Response:
    """Whether the database answers."""
    with context_of(request).store.reading() as connection:
        connection.exec_driver_sql("SELECT 1")
    return JSONResponse({"ok": True})


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return _words(request, error.status, error.key, error.language)


def _elsewhere(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ElsewhereError)
    return see_other(error.path)


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _words(request, error.status_code, _KEYS.get(error.status_code, "bad_request"))


def _no_such_address(request: Request, _error: Exception) -> Response:
    return _words(request, 404, "no_page")


def _failed(request: Request, _error: Exception) -> Response:
    return _words(request, 500, "failed")


def _words(request: Request, status: int, key: str, language: str | None = None) -> Response:
    context = context_of(request)
    return page(context, "message", language or context.language(request), {"key": key}, status=status)
