"""Collecting anew on purpose: a stored success is superseded by a write-once record, and its next repeat is wanted.

`records/superseded/<model>/<voice>/<thinking>/<response id>.json` says by whom, why and when. The old attempts stay
where they are; the new response has an id of its own, since the repeat is part of it, so nothing that was said about the
old one is ever read as being about the new one. A response that has answers is frozen; it must be withdrawn first.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, InputError

KIND = "superseded"
_SHOWN = 5


@dataclass(frozen=True)
class Answered:
    """A stored success of a config: its response id, its prompt and its repeat."""

    response_id: str
    prompt: str
    repeat: int


def superseded(store: StudyStore, config: Config) -> frozenset[str]:
    """Ids of a config's responses that are to be collected anew, or have been."""
    names = store.record_names(KIND, f"{config.key.path}/")
    return frozenset(name.rpartition("/")[2] for name in names)


def supersede(
    store: StudyStore,
    config: Config,
    answered: Sequence[Answered],
    frozen: Collection[str],
    *,
    author: str,
    reason: str,
    now: datetime,
) -> int:
    """Mark responses of a config as superseded; returns how many were not before.

    Args:
        store: the study's store.
        config: whose responses they are.
        answered: what is to be collected anew.
        frozen: ids of responses that have answers which count.
        author: who decides.
        reason: why.
        now: UTC, aware.

    Raises:
        InputError: author or reason is empty, or some of the responses are frozen; nothing is marked then.
    """
    if not author.strip() or not reason.strip():
        raise InputError("--by and --reason: expected both; they are kept with what is collected anew")
    _require_free(config, answered, frozen)
    signed = {"author": author, "reason": reason, "at": now.isoformat(), "config": str(config.key)}
    return sum(
        store.put_record(
            KIND,
            f"{config.key.path}/{a.response_id}",
            {"response_id": a.response_id, "prompt": a.prompt, "repeat": a.repeat, **signed},
        )
        for a in answered
    )


def _require_free(config: Config, answered: Sequence[Answered], frozen: Collection[str]) -> None:
    held = [a for a in answered if a.response_id in frozen]
    if held:
        shown = ", ".join(f"{a.response_id} ({a.prompt})" for a in held[:_SHOWN])
        more = f" and {len(held) - _SHOWN} more" if len(held) > _SHOWN else ""
        raise InputError(
            f"config {config.key}: {len(held)} of {len(answered)} responses have answers and are frozen: {shown}{more}. "
            "Name other prompts with --prompt, or withdraw these first with `s2s ratings withdraw ID`; nothing was marked"
        )
