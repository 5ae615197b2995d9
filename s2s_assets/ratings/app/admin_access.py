"""The door of the admin pages: a link is opened by a button, so that no preview of it uses it up; a cookie then stands for it.

Nothing of a rater's opens it. Every form carries a nonce that is signed for this browser and for what the form is about.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.responses import Response

from s2s_assets.ratings.access import ACCESS_AGE, end_access, has_access, open_access
from s2s_assets.ratings.app.context import AppContext, Context, Form, RefusedError, context_of, see_other
from s2s_assets.ratings.app.pages import page
from s2s_assets.ratings.app.words import DEFAULT
from s2s_assets.ratings.invitations import hashed

router = APIRouter()
_AGE_S = int(ACCESS_AGE.total_seconds())


class Admin:
    """The browser that has the admin pages open, and the forms it is given."""

    def __init__(self, context: Context, cookie: str) -> None:
        self.cookie = cookie
        self._forms = URLSafeTimedSerializer(context.key, salt=f"s2s admin form {context.desk.study.study}")

    def nonce(self, *about: str) -> str:
        """For a form about something."""
        return str(self._forms.dumps([hashed(self.cookie), *about]))

    def check(self, form: Form, *about: str) -> None:
        """Hold a form's nonce against what it is about.

        Raises:
            RefusedError: the nonce is none, of another browser or form, or too old.
        """
        try:
            told = self._forms.loads(form.get("nonce", ""), max_age=_AGE_S)
        except BadSignature as error:
            raise RefusedError(403, "no_admin") from error
        if told != [hashed(self.cookie), *about]:
            raise RefusedError(403, "no_admin")


def admin_of(request: Request) -> Admin:
    """The admin whose cookie came with the request.

    Raises:
        RefusedError: there is none, or it is over.
    """
    context = context_of(request)
    cookie = request.cookies.get(context.admin_cookie, "")
    if not cookie or not has_access(context.store, cookie, context.desk.clock()):
        context.take_turn(request)
        raise RefusedError(403, "no_admin")
    return Admin(context, cookie)


CurrentAdmin = Annotated[Admin, Depends(admin_of)]


@router.get("/admin/open/{token}")
def ask(request: Request, context: AppContext, token: str) -> Response:
    """A button that opens the link."""
    context.take_turn(request)
    response = page(context, "admin_open", DEFAULT, {"token": token})
    response.headers["referrer-policy"] = "no-referrer"
    return response


@router.post("/admin/open/{token}")
def open_link(request: Request, context: AppContext, token: str) -> Response:
    """Take the link for this browser."""
    context.take_turn(request)
    cookie = open_access(context.store, token, context.desk.clock())
    if cookie is None:
        raise RefusedError(403, "no_admin")
    response = see_other("/admin")
    context.set_cookie(response, context.admin_cookie, cookie, _AGE_S, samesite="strict")
    return response


@router.post("/admin/end")
def end(context: AppContext, admin: CurrentAdmin, form: Form) -> Response:
    """Close this browser's admin pages."""
    admin.check(form, "end")
    end_access(context.store, context.desk.clock(), admin.cookie)
    response = page(context, "admin_ended", DEFAULT)
    response.delete_cookie(context.admin_cookie, path="/", secure=context.secure, httponly=True, samesite="strict")
    return response
