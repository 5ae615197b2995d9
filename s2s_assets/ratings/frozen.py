"""What answers have frozen: the settings of their configs and the takes of their prompts.

The ratings database knows which responses have an answer; the attempts say by which settings they were asked for, and
`recorded_prompts` which take each prompt had. `s2s study check` holds a folder's edits against this.
"""

from dataclasses import replace
from pathlib import Path

from sqlalchemy import inspect

from s2s_assets.ratings.exclude import withdrawn
from s2s_assets.ratings.schema import study_identity
from s2s_assets.ratings.store import RatingsStore, answered_responses, opening
from s2s_assets.responses import stored_attempts
from s2s_assets.storage import StudyStore, open_engine, open_store
from s2s_assets.study import Frozen, IdentityError, Settings, Study, StudyFolder, Take
from s2s_assets.study.console import console


def read_frozen(folder: StudyFolder) -> Frozen | None:
    """What is frozen of a study folder by the environment's database and store.

    None where there is no database yet; None with a warning where database or store belong to another study.
    """
    settings = Settings.from_environment()
    database = open_existing(settings, folder.study)
    if database is None:
        return None
    store = StudyStore(open_store(settings.store), folder.study.study)
    try:
        store.claim()
    except IdentityError as error:
        console.print(f"warning: edits are not held against answers: {error}", markup=False, soft_wrap=True)
        return None
    answered = answered_responses(database)
    return replace(frozen_by(answered, folder.study, store), responses=answered - withdrawn(database))


def open_existing(settings: Settings, study: Study) -> RatingsStore | None:
    """The study's ratings database, where there is one: looking never makes one."""
    path = settings.database_url.removeprefix("sqlite:///")
    if path != settings.database_url and not Path(path).is_file():
        return None
    engine = open_engine(settings.database_url)
    with opening():
        known = inspect(engine).has_table(study_identity.name)
    if not known:
        return None
    try:
        return RatingsStore(engine, study.study)
    except IdentityError as error:
        console.print(f"warning: edits are not held against answers: {error}", markup=False, soft_wrap=True)
        return None


def frozen_by(answered: frozenset[str], study: Study, store: StudyStore) -> Frozen:
    """Settings and takes of the responses that have an answer."""
    settings: dict[str, str] = {}
    prompts: set[str] = set()
    for config in study.configs:
        for response, attempts in stored_attempts(store, config).items():
            if response in answered:
                settings[str(config.key)] = str(attempts[-1]["settings_sha256"])
                prompts.add(str(attempts[-1]["prompt"]))
    return Frozen(settings, {p: take for p, take in _takes(store).items() if p in prompts})


def _takes(store: StudyStore) -> dict[str, Take]:
    """Prompt → its selected take, by the table in force."""
    version = store.head("recorded_prompts", None)
    if version is None:
        return {}
    table = store.read_table("recorded_prompts", None, version).frame
    rows = table.filter(table["selected"]).select("prompt", "recording", "source_blob")
    return {p: Take(r, None if blob is None else blob.partition(".")[0]) for p, r, blob in rows.iter_rows()}
