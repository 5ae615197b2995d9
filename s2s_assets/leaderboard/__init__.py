"""Tables, page and charts of a board; sealed releases.

A draft is built at each refit (`build_board`), stored as files, and replaced by the next; a release seals the files of
one draft (`seal`), is never changed, and is listed in `releases/index.json` once it is complete.
"""

from s2s_assets.drawing import png_width, svg_to_png, thumbnail
from s2s_assets.leaderboard.assemble import Board, build_board, read_board
from s2s_assets.leaderboard.board import headline_of
from s2s_assets.leaderboard.charts import ForestRow, Matrix, forest, heatmap
from s2s_assets.leaderboard.clustering import clusters_of
from s2s_assets.leaderboard.dot_chart import Dot, DotRow, dot_chart
from s2s_assets.leaderboard.inputs import BoardInputs, Clusters, Facts, Previous, Run, coverage, facts_of
from s2s_assets.leaderboard.line_chart import Line, line_chart
from s2s_assets.leaderboard.ranking_files import write_ranking
from s2s_assets.leaderboard.recovery import recovered
from s2s_assets.leaderboard.release import Sealing, damage, last_release, previous_release, read_index, seal
from s2s_assets.leaderboard.write import table_files

__all__ = [
    "Board",
    "BoardInputs",
    "Clusters",
    "Dot",
    "DotRow",
    "Facts",
    "ForestRow",
    "Line",
    "Matrix",
    "Previous",
    "Run",
    "Sealing",
    "build_board",
    "clusters_of",
    "coverage",
    "damage",
    "dot_chart",
    "facts_of",
    "forest",
    "headline_of",
    "heatmap",
    "last_release",
    "line_chart",
    "png_width",
    "previous_release",
    "read_board",
    "read_index",
    "recovered",
    "seal",
    "svg_to_png",
    "table_files",
    "thumbnail",
    "write_ranking",
]
