"""Everything Dagster loads, and nothing else."""

import warnings

import dagster as dg

# partitions_def on a check spec is marked preview; without it a partitioned asset's check would mix all partitions
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

from s2s_assets.leaderboard import assets as leaderboard  # noqa: E402
from s2s_assets.orchestration import StudyResource, TableIOManager  # noqa: E402
from s2s_assets.pairing import assets as pairing  # noqa: E402
from s2s_assets.pairing import sensors as pairing_sensors  # noqa: E402
from s2s_assets.prompts import assets as prompts  # noqa: E402
from s2s_assets.prompts import sensors as prompts_sensors  # noqa: E402
from s2s_assets.ranking import assets as ranking  # noqa: E402
from s2s_assets.ratings import assets as ratings  # noqa: E402
from s2s_assets.ratings import sensors as ratings_sensors  # noqa: E402
from s2s_assets.responses import assets as responses  # noqa: E402
from s2s_assets.responses import sensors as responses_sensors  # noqa: E402
from s2s_assets.rubrics import assets as rubrics  # noqa: E402

JOBS = {
    "prepare": "recorded prompts and their normalized audio",
    "collect": "one config's responses and what raters hear of them",
    "plan": "new epochs of the pairing plan and rounds of adaptive votes, handed to the ratings database",
    "refit": "from the settled ratings to the draft leaderboard",
    "publish": "seal a release of the current leaderboard",
}
SELECTIONS = {
    "prepare": [prompts.recorded_prompts, prompts.normalized_audio],
    "collect": [responses.responses, responses.response_audio],
    "plan": [pairing.pairing_plan, ratings.rating_tasks],
    "refit": [
        ratings.ratings,
        ratings.rater_quality,
        ranking.bt_fits,
        ranking.bootstrap_cis,
        rubrics.rubric_clusters,
        leaderboard.leaderboard,
    ],
    "publish": [leaderboard.release],
}

study = StudyResource()

defs = dg.Definitions(
    assets=[asset for selection in SELECTIONS.values() for asset in selection]
    + [ratings.recording_verdicts, ratings.ratings_log],
    jobs=[
        dg.define_asset_job(name, selection=dg.AssetSelection.assets(*SELECTIONS[name]), description=text)
        for name, text in JOBS.items()
    ],
    sensors=[
        prompts_sensors.verdicts_to_prompts,
        responses_sensors.registry_to_responses,
        pairing_sensors.cells_to_plan,
        ratings_sensors.ratings_to_refit,
        ratings_sensors.fit_to_tasks,
    ],
    resources={
        "study": study,
        "reviews": ratings.DatabaseReviews(study=study),
        "withdrawals": ratings.DatabaseWithdrawals(study=study),
        "last_fit": ranking.StoredFit(study=study),
        "io_manager": TableIOManager(study=study),
    },
    executor=dg.in_process_executor,
)
