"""The files of `s2s rank --out`: the same tables, charts and page as a board's, without a study behind them.

`ranking.sha256` lists them. A later ranking into the same folder removes the charts that it lists and does not draw any
more, unless they were changed since; whatever else lies there stays.
"""

import re
from collections.abc import Mapping
from importlib.metadata import version as package_version
from pathlib import Path

from s2s_assets.leaderboard.assemble import CONTENT_FILE, build_board
from s2s_assets.leaderboard.inputs import BoardInputs, Facts, Run
from s2s_assets.leaderboard.write import read_sums, sums_bytes
from s2s_assets.ranking import RankResult, fits_to_frame, intervals_to_frame
from s2s_assets.study import sha256_hex

MANIFEST = "ranking.sha256"
_CHART = re.compile(r"(forest|pairs)-[A-Za-z0-9._-]+\.(svg|png)")


def write_ranking(result: RankResult, out_dir: Path, title: str = "Ranking") -> Path:
    """Write page, tables, charts and method of a ranking.

    Names are shown exactly as they are in the ratings file; file names made from them are made safe.

    Args:
        result: fits and intervals.
        out_dir: made where it is missing; files of an earlier ranking are replaced, and its other charts removed.
        title: of the page.

    Returns:
        The page's path.

    Raises:
        ReleaseError: nothing was ranked.
    """
    inputs = BoardInputs(
        facts=Facts(title=title),
        run=Run(
            method_version=result.method_version,
            code_version=package_version("s2s-assets"),
            seed=result.seed,
            resamples=result.resamples,
        ),
        fits=fits_to_frame(result.fits),
        cis=intervals_to_frame(result.intervals),
    )
    board = build_board(inputs, draft=False, every_forest=True)
    files = {name: data for name, data in board.files.items() if name != CONTENT_FILE}
    out_dir.mkdir(parents=True, exist_ok=True)
    _remove_earlier_charts(out_dir, files)
    for name, data in {**files, MANIFEST: sums_bytes(files)}.items():
        (out_dir / name).write_bytes(data)
    return out_dir / "index.html"


def _remove_earlier_charts(folder: Path, files: Mapping[str, bytes]) -> None:
    """Remove the charts of an earlier ranking that are as it left them and that this one does not replace."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return
    for name, digest in read_sums(manifest.read_text("utf-8", "replace").splitlines()).items():
        chart = folder / name
        if name in files or not _CHART.fullmatch(name) or not chart.is_file():
            continue
        if sha256_hex(chart.read_bytes()) == digest:
            chart.unlink()
