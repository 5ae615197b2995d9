"""The recordings review: a script's recordings with sound, picture and automated check, and the form that judges one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Depends
from markupsafe import Markup
from starlette.responses import FileResponse, Response

from s2s_assets.ratings.app.admin_access import Admin, CurrentAdmin, admin_of
from s2s_assets.ratings.app.admin_page import LONGEST, admin_page, author_and_reason
from s2s_assets.ratings.app.context import AppContext, Context, Form, RefusedError, see_other
from s2s_assets.ratings.review import TakeReview, script_review
from s2s_assets.ratings.review_media import ReviewMedia
from s2s_assets.ratings.verdicts import judge, verdicts_given, verdicts_to_take
from s2s_assets.study import (
    FAULTS,
    AudioError,
    Judgement,
    ObjectNotFoundError,
    RatingsError,
    RecordingVerdict,
    StoreError,
)

router = APIRouter(prefix="/admin", dependencies=[Depends(admin_of)])
CHOICES: Mapping[str, tuple[str, Judgement | None, bool]] = {
    "select": ("Good, and take this one", "accept", True),
    "accept": ("Good", "accept", False),
    "rerecord": ("Record it again", "rerecord", False),
    "reject": ("Reject", "reject", False),
    "none": ("No verdict: take the last one back", None, False),
}
"""What a form can say: its words, the verdict, and whether the take is selected."""
_KINDS = {"sound": (ReviewMedia.sound, "audio/flac"), "spectrogram": (ReviewMedia.spectrogram, "image/png")}


@dataclass(frozen=True)
class Draft:
    """A form as it was filled in, with what was wrong with it."""

    recording: str
    choice: str
    reasons: tuple[str, ...]
    comment: str
    fault: str | None = None


@router.get("/script")
def one_script(context: AppContext, admin: CurrentAdmin, name: str = "", by: str = "") -> Response:
    """A script and its recordings; `by` is who reviews."""
    return _page(context, admin, name, by, None)


@router.get("/recording/{kind}")
def recording(context: AppContext, kind: str, of: str = "") -> Response:
    """Sound or spectrogram of a recording's file."""
    if kind not in _KINDS or of not in set(context.recorded.frame()["source_blob"]):
        raise RefusedError(404, "unknown_media")
    make, media_type = _KINDS[kind]
    try:
        return FileResponse(make(context.review_media, of), media_type=media_type)
    except (AudioError, ObjectNotFoundError) as error:
        raise RefusedError(404, "unknown_media") from error


@router.post("/judge")
def judge_recording(context: AppContext, admin: CurrentAdmin, form: Form) -> Response:
    """Store a verdict about a recording."""
    prompt, name, blob = (form.get(key, "") for key in ("script", "recording", "file"))
    admin.check(form, "judge", prompt, name, blob)
    by, comment = author_and_reason(form)
    reasons = tuple(code for code in FAULTS if form.get(f"reason.{code}"))
    draft = Draft(name, form.get("choice", ""), reasons, comment)
    try:
        judge(context.store, context.recorded.frame(), _verdict(context, draft, prompt, blob, by))
    except RatingsError as error:
        return _page(context, admin, prompt, by, Draft(name, draft.choice, reasons, comment, str(error)))
    return see_other(f"{address(prompt, by)}#take-{quote(name)}")


def address(prompt: str, by: str = "") -> str:
    """The page of a script, for who reviews."""
    return f"/admin/script?name={quote(prompt, safe='')}" + (f"&by={quote(by, safe='')}" if by else "")


def _verdict(context: Context, draft: Draft, prompt: str, blob: str, by: str) -> RecordingVerdict:
    if draft.choice not in CHOICES:
        raise RatingsError(f"recording {draft.recording!r}: choose a verdict")
    _, verdict, selected = CHOICES[draft.choice]
    return RecordingVerdict(
        prompt=prompt,
        recording=draft.recording,
        source_blob=blob,
        verdict=verdict,
        selected=selected,
        reasons=draft.reasons,
        comment=draft.comment,
        author=by,
        created_at=context.desk.clock(),
    )


def _page(context: Context, admin: Admin, prompt: str, by: str, draft: Draft | None) -> Response:
    desk = context.desk
    if prompt not in desk.scripts:
        raise RefusedError(404, "no_page")
    recorded, given = context.recorded.frame(), verdicts_given(context.store, prompt)
    in_force = verdicts_to_take(context.store, recorded)
    found = script_review(recorded, desk.scripts, given, in_force, desk.study.qa, prompt)
    values = {
        "review": found,
        "next": None if found.next is None else address(found.next, by),
        "takes": [_shown(context, admin, take, draft) for take in found.takes],
        "by": by[: LONGEST["author"]],
        "faults": FAULTS,
        "choices": {code: words for code, (words, _, _) in CHOICES.items()},
    }
    return admin_page(context, admin, "admin_script", "recordings", values, 200 if draft is None else 422)


def _shown(context: Context, admin: Admin, take: TakeReview, draft: Draft | None) -> dict[str, Any]:
    """What the page shows of a recording beside its record."""
    row = take.row
    mine = draft if draft is not None and draft.recording == row["recording"] else _as_it_is(take)
    chart, why = _chart(context, take)
    return {
        "take": take,
        "chart": chart,
        "why_no_chart": why,
        "nonce": admin.nonce("judge", row["prompt"], row["recording"], row["source_blob"] or ""),
        "draft": mine,
        "facts": list(_facts(take)),
    }


def _as_it_is(take: TakeReview) -> Draft:
    """The form as the verdict in force would fill it in."""
    last = take.in_force
    if last is None or last.verdict is None:
        return Draft(take.row["recording"], "", (), "")
    return Draft(take.row["recording"], "select" if last.selected else last.verdict, last.reasons, last.comment)


def _chart(context: Context, take: TakeReview) -> tuple[Markup | None, str | None]:
    """The recording's picture, or why there is none."""
    blob = take.row["source_blob"]
    if blob is None:
        return None, take.row["reason"]
    picture = f"/admin/recording/spectrogram?of={quote(blob)}"
    try:
        svg = context.review_media.chart(blob, take.row["recording"], take.measures, picture)
    except (AudioError, StoreError) as error:
        return None, take.row["reason"] or str(error)
    return Markup(svg), None  # noqa: S704 - drawing escapes every name


def _facts(take: TakeReview) -> Iterator[tuple[str, str]]:
    """What was measured and has no limit."""
    measures = take.measures
    if measures is not None:
        yield "Loudness", f"{measures.loudness_lufs:.1f} LUFS"
        yield "True peak", f"{measures.true_peak_dbtp:.1f} dBTP"
        yield (
            "Format",
            f"{measures.sample_rate_hz:,} Hz, {'mono' if measures.channels == 1 else f'{measures.channels} channels'}",
        )
        yield "Noticed", ", ".join(code.replace("_", " ") for code in measures.warnings) or "nothing"
    yield "Speaker", take.row["speaker"] or "–"
