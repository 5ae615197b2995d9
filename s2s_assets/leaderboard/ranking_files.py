"""The files of `s2s rank --out`: the same tables, charts and page as a board's, without a study behind them."""

from importlib.metadata import version as package_version
from pathlib import Path

from s2s_assets.leaderboard.assemble import CONTENT_FILE, build_board
from s2s_assets.leaderboard.inputs import BoardInputs, Facts, Run
from s2s_assets.ranking import RankResult, fits_to_frame, intervals_to_frame


def write_ranking(result: RankResult, out_dir: Path, title: str = "Ranking") -> Path:
    """Write page, tables, charts and method of a ranking.

    Names are shown exactly as they are in the ratings file; file names made from them are made safe.

    Args:
        result: fits and intervals.
        out_dir: made where it is missing; files of an earlier ranking are replaced.
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
    out_dir.mkdir(parents=True, exist_ok=True)
    for name, data in board.files.items():
        if name != CONTENT_FILE:
            (out_dir / name).write_bytes(data)
    return out_dir / "index.html"
