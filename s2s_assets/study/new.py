"""A new study folder from the template."""

import re
import shutil
from pathlib import Path

from s2s_assets.study.errors import StudyError
from s2s_assets.study.load import STUDY_FILE

TEMPLATE = Path(__file__).parent / "template"
_PLACEHOLDER = "my-study"


def new_study(folder: Path) -> list[str]:
    """Copy the template into `folder`, named after it; returns the files made, as paths below it.

    Raises:
        StudyError: the folder holds something already, or cannot be made.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise StudyError(f"{folder} is not an empty folder; name a new one")
        shutil.copytree(TEMPLATE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        raise StudyError(f"{folder} cannot be made: {error}") from error
    settings = folder / STUDY_FILE
    text = settings.read_text(encoding="utf-8").replace(_PLACEHOLDER, _study_id(folder.resolve().name))
    settings.write_text(text, encoding="utf-8")
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def _study_id(name: str) -> str:
    """A folder's name in the alphabet of keys."""
    legal = re.sub(r"[^A-Za-z0-9_+-]+", "-", name).strip("-")[:64]
    return legal or _PLACEHOLDER
