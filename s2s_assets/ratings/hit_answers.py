"""What a worker answered in a HIT, by the names of its fields, whichever way MTurk's batch file tells it.

| the HIT's form | columns |
|---|---|
| plain HTML | `Answer.NAME` |
| `crowd-form` with `answer-format="flatten-objects"` | the same; of choices `Answer.NAME.VALUE`, `true` for the one chosen |
| `crowd-form` without | one, `Answer.taskAnswers`: JSON, a list of one object; of choices `{VALUE: true, …}` |
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_PREFIX = "Answer."
_DOCUMENT = "Answer.taskAnswers"


def hit_answers(row: Mapping[str, str | None]) -> dict[str, str]:
    """Field → what was answered in it; what is no text, number or choice is left out."""
    found: dict[str, str] = {}
    for column, cell in row.items():
        if column == _DOCUMENT:
            found |= dict(_told(cell or ""))
        elif column.startswith(_PREFIX):
            name, _, value = column.removeprefix(_PREFIX).partition(".")
            if not value:
                found[name] = cell or ""
            elif (cell or "").lower() == "true":
                found[name] = value
    return found


def _told(document: str) -> Iterator[tuple[str, str]]:
    try:
        forms: Any = json.loads(document)
    except ValueError:
        return
    for form in forms if isinstance(forms, list) else [forms]:
        for name, answered in form.items() if isinstance(form, dict) else ():
            if isinstance(answered, dict):
                yield from ((name, value) for value, chosen in answered.items() if chosen is True)
            elif isinstance(answered, str | int | float) and not isinstance(answered, bool):
                yield name, str(answered).strip()
