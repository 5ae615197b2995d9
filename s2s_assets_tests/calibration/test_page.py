"""The stored page of a calibration."""

import re
from pathlib import Path

from s2s_assets.calibration.report import versions_line
from s2s_assets.calibration.study import FULL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "calibration.md"


def test_the_stored_page_is_of_this_method_and_in_full() -> None:
    """Where this fails a version has changed: run `s2s calibrate --full` and commit the page it writes."""
    text = PAGE.read_text("utf-8")
    assert versions_line("full") in text
    for design in (*FULL.coverage, *FULL.clusters):
        assert re.search(rf"^\| \*?{re.escape(design.name)}\*? \|", text, re.MULTILINE), design.name
