"""Names in groups, from a YAML file of `group: [members]`."""

from pathlib import Path

import yaml

from s2s_assets.study.errors import InputError, StudyError
from s2s_assets.study.load import load_study
from s2s_assets.study.settings import Settings


def read_groups(path: Path, member: str, groups: str) -> dict[str, str]:
    """Member → group.

    Args:
        path: the file.
        member: what a member is called in messages, such as `model`.
        groups: what groups are called, such as `families`.

    Raises:
        InputError: no such file, another form, or a member in two groups.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read as YAML ({' '.join(str(error).split())})") from error
    if not isinstance(given, dict) or not all(isinstance(members, list) for members in given.values()):
        raise InputError(f"{path}: expected `name: [{member}, …]` for each of the {groups}")
    found: dict[str, str] = {}
    for group, members in given.items():
        for name in map(str, members):
            if found.setdefault(name, str(group)) != str(group):
                raise InputError(f"{path}: {member} {name!r} is in two {groups}, {found[name]!r} and {group!r}")
    return found


def families_of(path: Path | None) -> dict[str, str]:
    """Model → family, from a file, or without one from the study that the environment names.

    Raises:
        InputError: as `read_groups`, or neither a file nor a study that can be read.
    """
    if path is not None:
        return read_groups(path, "model", "families")
    try:
        return load_study(Settings.from_environment().study).study.families
    except StudyError as error:
        raise InputError(f"families are given by --families FILE or by a study; without the file, {error}") from error
