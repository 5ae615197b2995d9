"""The ratings database: handing out work, answers, import and export, cleaning, agreement."""

from s2s_assets.ratings.assign import next_assignment
from s2s_assets.ratings.exclude import exclude, restore, withdraw, withdrawn
from s2s_assets.ratings.export import export_ratings
from s2s_assets.ratings.files import RatingsFile, read_ratings
from s2s_assets.ratings.foreign import import_votes
from s2s_assets.ratings.forget import Forgotten, forget
from s2s_assets.ratings.handing import Desk, next_task
from s2s_assets.ratings.invitations import invitations, invite, revoke
from s2s_assets.ratings.leases import Assignment, Handout, expire_leases, heartbeat, media_blob
from s2s_assets.ratings.options import by_option, families_option
from s2s_assets.ratings.planted import plant, planted_strengths
from s2s_assets.ratings.project import write_project
from s2s_assets.ratings.quality import QUALITY_VERSION, RATER_QUALITY, rater_quality_table
from s2s_assets.ratings.quality_controls import CONTROLS
from s2s_assets.ratings.quality_report import agreement_report, alike_report, one_opinion, raters_report
from s2s_assets.ratings.quality_tasks import HEARD
from s2s_assets.ratings.reading import Reading, reading_options
from s2s_assets.ratings.reconcile import Reconciled, read_submissions, reconcile, sittings_table
from s2s_assets.ratings.replies import controls_table, heard_table, mos_table
from s2s_assets.ratings.review import RecordedTable
from s2s_assets.ratings.rounds import (
    DRAWS,
    Round,
    all_pairs,
    open_round,
    pass_over,
    round_due,
    round_rows,
    rounds,
)
from s2s_assets.ratings.settled import Settled, board_level, settled_version
from s2s_assets.ratings.snapshot import EXCLUSION_RULES, RATINGS, snapshot
from s2s_assets.ratings.store import Rater, RatingsStore, enrol, status, utc_now
from s2s_assets.ratings.submit import submit
from s2s_assets.ratings.tasks import RATING_TASKS, rating_tasks_table, task_media, upsert_tasks
from s2s_assets.ratings.transfer import import_file, import_ratings
from s2s_assets.ratings.verdicts import judge, verdicts_given, verdicts_in_force, verdicts_to_take

__all__ = [
    "CONTROLS",
    "DRAWS",
    "EXCLUSION_RULES",
    "HEARD",
    "QUALITY_VERSION",
    "RATER_QUALITY",
    "RATINGS",
    "RATING_TASKS",
    "Assignment",
    "Desk",
    "Forgotten",
    "Handout",
    "Rater",
    "RatingsFile",
    "RatingsStore",
    "Reading",
    "Reconciled",
    "RecordedTable",
    "Round",
    "Settled",
    "agreement_report",
    "alike_report",
    "all_pairs",
    "board_level",
    "by_option",
    "controls_table",
    "enrol",
    "exclude",
    "expire_leases",
    "export_ratings",
    "families_option",
    "forget",
    "heard_table",
    "heartbeat",
    "import_file",
    "import_ratings",
    "import_votes",
    "invitations",
    "invite",
    "judge",
    "media_blob",
    "mos_table",
    "next_assignment",
    "next_task",
    "one_opinion",
    "open_round",
    "pass_over",
    "plant",
    "planted_strengths",
    "rater_quality_table",
    "raters_report",
    "rating_tasks_table",
    "read_ratings",
    "read_submissions",
    "reading_options",
    "reconcile",
    "restore",
    "revoke",
    "round_due",
    "round_rows",
    "rounds",
    "settled_version",
    "sittings_table",
    "snapshot",
    "status",
    "submit",
    "task_media",
    "upsert_tasks",
    "utc_now",
    "verdicts_given",
    "verdicts_in_force",
    "verdicts_to_take",
    "withdraw",
    "withdrawn",
    "write_project",
]
