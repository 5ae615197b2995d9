"""What every record of a study is made of: the base class, and the texts that are names."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from s2s_assets.study.errors import ConfigKeyError
from s2s_assets.study.keys import ConfigKey


def _key_part(text: str) -> str:
    try:
        ConfigKey.parse(f"{text}|x|x")
    except ConfigKeyError as error:
        raise ValueError(f"{text[:80]!r}: expected 1 to 64 of letters, digits and . _ + -, no leading dot") from error
    return text


KeyPart = Annotated[str, AfterValidator(_key_part)]
Name = Annotated[str, Field(min_length=1, max_length=120)]


class Record(BaseModel):
    """Frozen; unknown keys are errors, so a misspelt setting is never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")
