"""Writes prompts.csv: the study's shape without its scripts, which are private.

Eleven categories × five levels × 14 scripts, and 49 scripts for the degraded set, 819 in all. The tags follow from the
category and the level here: a quota for whoever writes the scripts, to be replaced by what two taggers say of each.
"""

import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path

CATEGORIES = (
    *("facts", "how_to", "advice", "planning", "learning", "creative"),
    *("role_play", "support", "small_talk", "messages", "voice_delivery"),
)
LEVELS = ("L1", "L2", "L3", "L4", "L5")
PER_CELL = 14
DEGRADED = 49
DEGRADED_CONDITIONS = ("indoor_noise", "outdoor_noise", "far_field")

TOLD_HOW = {"how_to", "creative", "role_play", "messages", "voice_delivery"}
THOUGHT_THROUGH = {"facts", "how_to", "advice", "planning", "learning"}
FELT = {"support", "small_talk", "messages", "role_play"}


def tags(category: str, level: str, number: int) -> str:
    """Tags of one script: every second script of a fitting category, every one from L4 on."""
    due = number % 2 == 0 or level in ("L4", "L5")
    groups = (("has_instruction", TOLD_HOW), ("needs_reasoning", THOUGHT_THROUGH), ("has_emotion", FELT))
    return ";".join(tag for tag, categories in groups if category in categories and due)


def rows() -> Iterator[tuple[str, ...]]:
    """Every row of the table below its header."""
    for category, level, number in product(CATEGORIES, LEVELS, range(1, PER_CELL + 1)):
        yield f"{category}-{level}-{number:02}", "", category, level, "clean", tags(category, level, number), "private"
    for number in range(DEGRADED):
        category, level = CATEGORIES[number % len(CATEGORIES)], LEVELS[number % len(LEVELS)]
        acoustic = DEGRADED_CONDITIONS[number % len(DEGRADED_CONDITIONS)]
        yield f"degraded-{number + 1:02}", "", category, level, acoustic, tags(category, level, number), "private"


def main() -> None:
    """Write the table beside this file."""
    with (Path(__file__).parent / "prompts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("prompt", "text", "category", "level", "acoustic", "tags", "split"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
