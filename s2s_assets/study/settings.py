"""Where this process finds its study, its state and its services: the environment, read once.

`S2S_STUDY`, `S2S_HOME`, `S2S_STORE`, `S2S_DATABASE_URL`, `S2S_RATER_URL`; provider keys are read where they are used, by the name that a
config gives, and are never part of a setting.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """The environment's settings, every default filled in."""

    model_config = ConfigDict(frozen=True)

    study: Path
    """Study folder."""
    home: Path
    """State on this machine: ratings SQLite, blobs, releases, provider limits."""
    store: str
    """`file:PATH` or `s3://BUCKET/PREFIX`."""
    database_url: str
    """SQLAlchemy URL of the ratings database."""
    rater_url: str = "http://127.0.0.1:8800"
    """Address at which raters reach the rating app; with https their cookies are marked secure."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Read `environ`, by default the process's; an empty value counts as unset."""
        given = {k: v for k, v in (os.environ if environ is None else environ).items() if v}
        home = Path(given.get("S2S_HOME", ".s2s"))
        return cls(
            study=Path(given.get("S2S_STUDY", "studies/demo")),
            home=home,
            store=given.get("S2S_STORE", f"file:{home / 'store'}"),
            database_url=given.get("S2S_DATABASE_URL", f"sqlite:///{home / 'ratings.sqlite'}"),
            rater_url=given.get("S2S_RATER_URL", "http://127.0.0.1:8800"),
        )
