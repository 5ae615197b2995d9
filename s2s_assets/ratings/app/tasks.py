"""Tasks: show a page, take it in, keep the lease, hear of technical problems, and give out what is heard."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import FileResponse, JSONResponse, Response

from s2s_assets.ratings.answering import (
    LONGEST_COMMENT,
    PROBLEMS,
    Page,
    Result,
    allowed,
    beat,
    problem_of,
    report_problem,
    save_page,
)
from s2s_assets.ratings.app.context import (
    AppContext,
    Context,
    CurrentSitting,
    ElsewhereError,
    Form,
    RefusedError,
    see_other,
    stage_only,
)
from s2s_assets.ratings.app.pages import page
from s2s_assets.ratings.app.words import strings, words
from s2s_assets.ratings.handing import next_task, progress_of
from s2s_assets.ratings.heard import ROLES, read_played
from s2s_assets.ratings.shown import clip_behind
from s2s_assets.ratings.sittings import Sitting, set_notice
from s2s_assets.ratings.steps import due

router = APIRouter()


@router.get("/task")
def task(context: AppContext, sat: CurrentSitting) -> Response:
    """The page that is due of the task under way, or of the next one."""
    return _task_page(context, sat, {}, None, 200)


@router.post("/task")
def answer(context: AppContext, sat: CurrentSitting, form: Form) -> Response:
    """Take in a page of a task."""
    stage_only(sat, "training", "tasks")
    values = _values(form, sat)
    sent = Page(form.get("nonce", ""), values, read_played(form.get("played", "")), form.get("comment", ""))
    result: Result = save_page(context.desk, sat, sent)
    if result == "unknown":
        raise RefusedError(404, "unknown_task", sat.language)
    if result in {"not_heard", "incomplete"}:
        return _task_page(context, sat, values, result, 422)
    if result != "repeated" and sat.notice is not None and sat.stage == "tasks":
        set_notice(context.store, sat, None)
    return see_other("/task")


@router.post("/problem")
def problem(context: AppContext, sat: CurrentSitting, form: Form) -> Response:
    """End the task without a vote."""
    stage_only(sat, "training", "tasks")
    kind, role = problem_of(form.get("problem", "")), form.get("role", "")
    if kind is None or role not in ROLES:
        return _task_page(context, sat, {}, "problem_incomplete", 422)
    if report_problem(context.desk, sat, form.get("nonce", ""), kind, role, form.get("comment", "")) == "unknown":
        raise RefusedError(404, "unknown_task", sat.language)
    set_notice(context.store, sat, "problem_reported")
    return see_other("/task")


@router.post("/beat")
def keep(context: AppContext, sat: CurrentSitting, form: Form) -> Response:
    """Note what was played and keep the lease."""
    found = beat(context.desk, sat, form.get("nonce", ""), read_played(form.get("played", "")))
    if found is None:
        return JSONResponse({"over": True})
    missing, expires_at = found
    return JSONResponse({"over": False, "missing": sorted(missing), "left_s": _left_s(context, expires_at)})


@router.get("/m/{token}")
def media(context: AppContext, sat: CurrentSitting, token: str) -> Response:
    """What is heard in the sitting's open task."""
    with context.store.reading() as connection:
        clip = clip_behind(connection, sat.id, token)
    if clip is None:
        raise RefusedError(404, "unknown_media", sat.language)
    path = context.media.path(clip.blob, clip.treatment)
    # a file's own time would tell when it was first asked for
    headers = {"etag": f'"{token}"', "last-modified": "Thu, 01 Jan 1970 00:00:00 GMT"}
    headers["cache-control"] = "private, max-age=3600, immutable"
    return FileResponse(path, media_type="audio/flac", headers=headers)


def _task_page(context: Context, sat: Sitting, values: dict[str, int], fault: str | None, status: int) -> Response:
    stage_only(sat, "training", "tasks")
    shown = next_task(context.desk, sat)
    if shown is None:
        raise ElsewhereError("/")
    steps = context.desk.steps(shown.kind, shown.prompt, sat.rater.name)
    step = due(steps, shown.replies)
    assert step is not None
    progress = progress_of(context.desk, sat, shown)
    seen: dict[str, Any] = {
        "task": shown,
        "step": step,
        "group_name": _group_name(sat.language, step.group),
        "number": steps.index(step) + 1,
        "steps": len(steps),
        "values": values,
        "fault": fault,
        "scale": allowed(shown.kind),
        "progress": progress,
        "left_s": _left_s(context, shown.expires_at),
        "problems": PROBLEMS,
        "longest": LONGEST_COMMENT,
        "last": step is steps[-1],
    }
    return page(context, "task", sat.language, seen, sat=sat, status=status)


def _group_name(language: str, group: str) -> str:
    """The app's word for one of the usual groups, else the study's own name for it."""
    if f"group_{group}" in strings()[language]:
        return words(language)(f"group_{group}")
    return group.replace("_", " ").capitalize()


def _values(form: Form, sat: Sitting) -> dict[str, int]:
    """The scores in a form that are scores."""
    scores = allowed("mos" if sat.work == "mos" else "pair")
    known = {str(score): score for score in scores}
    return {name[2:]: known[text] for name, text in form.items() if name.startswith("q.") and text in known}


def _left_s(context: Context, expires_at: Any) -> int | None:
    return None if expires_at is None else max(0, int((expires_at - context.desk.clock()).total_seconds()))
