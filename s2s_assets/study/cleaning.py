"""Thresholds of the rules that clean ratings: fixed in the study before there is data, never tuned to it."""

from typing import Annotated

from pydantic import Field

from s2s_assets.study.record import Record

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Size = Annotated[float, Field(ge=0)]


class Cleaning(Record):
    """What the rules of `rater_quality` call too much, and how much they must have seen of a rater before they judge."""

    min_heard_share: Share = 0.9
    """Of the length of prompt and responses; a task that took less, and `question_s` a question, is too fast."""
    question_s: Size = 1.0
    min_coverage: Share = 0.97
    """Of each clip, played."""
    max_straight_line_share: Share = 0.6
    """Of tasks with one and the same score other than 0 on all questions."""
    min_score_sd: Size = 0.3
    straight_line_tasks: Count = 10
    max_order_t: Size = 4.0
    min_order_effect: Size = 0.5
    """Mean screen score below which a preference for one side is too small to matter, however sure it is."""
    order_tasks: Count = 20
    min_coherence: Annotated[float, Field(ge=-1, le=1)] = 0.1
    """Intraclass correlation of a rater's own scores, tasks being the classes."""
    coherence_tasks: Count = 15
    max_against_z: Size = 2.0
    """Standard errors by which a rater may go against what the others say of the same configs."""
    crowd_tasks: Count = 15
    min_rest_r: Annotated[float, Field(ge=-1, le=1)] = 0.2
    rest_tasks: Count = 15
    trap_fails: Count = 2
    min_control_share: Share = 0.7
    """Of gold and null pairs answered as an attentive rater would."""
    control_tasks: Count = 4
    max_null_score: Annotated[int, Field(ge=0, le=3)] = 1
    """On a pair of one response with itself."""
    max_repeat_gap: Annotated[int, Field(ge=0, le=6)] = 2
    """Between the scores of a pair and of its repeat, on Overall."""
    max_inconsistent_share: Share = 1.0 / 3.0
    inconsistent_p: Share = 0.01
    """Chance of so many gaps beyond that, if the share were as large as is allowed, below which it is no accident."""
    max_halo: Share = 0.95
    halo_tasks: Count = 10
    max_same_share: Share = 0.95
    """Of tasks with one score on two questions, which then measure one thing."""
    same_tasks: Count = 30
    max_share: Share = 0.2
    """Of all answers, by one rater."""
    share_raters: Count = 10
