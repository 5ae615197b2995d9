"""Rounds of adaptive votes: when one is due, and what was asked in those before.

A round is a write-once record of the store, with its pairs and the fit that it went by; the database gets its slots from
there as it gets the plan's from the plan, so writing them again changes nothing. One is due where

* the last stored fit had none yet, so that each round goes by the votes of the one before;
* of the votes asked for by the plan, and of those by earlier rounds, the share `after` is in;
* a whole pair is left of what `share` allows (`pairing.round_pairs`), of the plan's votes that are in.

Votes of void pairs, and of those held for technical problems, are none of the plan's; adaptive ones are counted however
their pair fares. So at no time are more than that share of the votes adaptive, unless votes of the plan are excluded or
withdrawn later. A pair that the plan makes in a later epoch is the plan's from then on: the round's is void and keeps its
votes.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass

import polars as pl
from sqlalchemy import func, select

from s2s_assets.pairing import ADAPTIVE, ADAPTIVE_VERSION, empty_plan, round_pairs, top_up
from s2s_assets.ratings.assign import HELD
from s2s_assets.ratings.schema import assignment, pair, slot
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.storage import StudyStore, from_parquet, to_parquet
from s2s_assets.study import Adaptive, Study, Uncertainty, percent

DRAWS = "bootstrap_cis"
"""The table of a fit's draws: its version is the fit that a round goes by."""
_KIND = "adaptive"
_COMPARED = ["prompt", "response_a", "response_b"]


@dataclass(frozen=True)
class Round:
    """What was asked in one round, and by which fit."""

    round: int
    """From 1."""
    fit: str
    """Id of the fit."""
    versions: dict[str, str]
    """Table → the stored version that the fit was read from."""
    method_version: str
    pairs: int
    widest_se: float
    """The largest standard error of a strength by that fit, in logits."""
    widest_se_after: float
    """As expected with the round's votes."""
    blob: str
    """Its rows, one a slot, in the columns of the plan."""
    note: str = ""
    """Why it has no pairs."""


@dataclass(frozen=True)
class Votes:
    """Votes asked for and given, of pairs that raters can be given unless it says otherwise."""

    baseline_asked: int
    """Slots of the plan."""
    baseline_given: int
    adaptive_asked: int
    """Slots of the rounds, those of void and held pairs among them."""
    adaptive_open: int
    adaptive_given: int


def rounds(store: StudyStore) -> tuple[Round, ...]:
    """The rounds so far, in order."""
    return tuple(Round(**record) for _, record in store.records(_KIND))


def round_rows(store: StudyStore) -> pl.DataFrame:
    """The rows of all rounds, in the columns of the plan."""
    return _rows(store, rounds(store))


def _rows(store: StudyStore, made: Iterable[Round]) -> pl.DataFrame:
    return pl.concat([empty_plan(), *(from_parquet(store.get_blob(one.blob)) for one in made)])


def open_round(
    store: StudyStore,
    study: Study,
    plan: pl.DataFrame,
    cells: pl.DataFrame,
    withdrawn: Collection[str],
    known: Uncertainty,
    pairs: int,
) -> Round:
    """Choose a round's pairs and write it once; where another run was first, its round stands.

    Args:
        store: the study's.
        study: for its id and the votes that a pair is asked for.
        plan: all epochs.
        cells: the responses of active configs that can be played (`pairing.playable_cells`).
        withdrawn: ids of withdrawn responses.
        known: the fit to go by.
        pairs: how many at most (`pairs_due`).
    """
    earlier = rounds(store)
    if (one := _round_of(earlier, known.versions.get(DRAWS))) is not None:
        return one
    number = len(earlier) + 1
    made = top_up(
        plan,
        _rows(store, earlier),
        cells,
        withdrawn,
        known,
        study=study.study,
        number=number,
        slots=study.pairing.slots,
        pairs=pairs,
    )
    note = "" if made.pairs else "no pair that is allowed would tell anything"
    return _put(store, number, known.fit, known.versions, made.rows, made.pairs, made.widest, note)


def pass_over(store: StudyStore, draws: str, why: str) -> Round:
    """Write down that a fit is of no use, so that nobody asks by it again; `draws` is the version of its draws."""
    earlier = rounds(store)
    made = _round_of(earlier, draws)
    return made or _put(store, len(earlier) + 1, "", {DRAWS: draws}, empty_plan(), 0, (0.0, 0.0), why)


def _round_of(made: Iterable[Round], draws: str | None) -> Round | None:
    """The round that went by a version of the draws."""
    return next((one for one in made if one.versions.get(DRAWS) == draws), None)


def _put(
    store: StudyStore,
    number: int,
    fit: str,
    versions: Mapping[str, str],
    rows: pl.DataFrame,
    pairs: int,
    widest: tuple[float, float],
    note: str,
) -> Round:
    blob, name = store.put_blob(to_parquet(rows), "parquet"), f"{number:06d}"
    made = Round(number, fit, dict(versions), ADAPTIVE_VERSION, pairs, *widest, blob, note)
    if store.put_record(_KIND, name, asdict(made)):
        return made
    return Round(**(store.get_record(_KIND, name) or {}))


def all_pairs(plan: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """The plan and the rounds' rows, without pairs that the plan has made since in either order."""
    turned = plan.select("prompt", response_a="response_b", response_b="response_a")
    made = pl.concat([plan.select(_COMPARED), turned])
    return pl.concat([plan, asked.join(made, on=_COMPARED, how="anti", maintain_order="left")])


def count_votes(store: RatingsStore) -> Votes:
    """Slots and votes as they stand."""
    joined = slot.join(pair, pair.c.id == slot.c.pair_id).outerjoin(
        assignment,
        (assignment.c.pair_id == slot.c.pair_id) & (assignment.c.slot == slot.c.slot) & (assignment.c.state == "done"),
    )
    columns = (slot.c.source, func.count(), func.count(assignment.c.id))
    can_be_given = (pair.c.state == "open", pair.c.id.not_in(HELD))
    query = select(*columns).select_from(joined).where(*can_be_given).group_by(slot.c.source)
    of_rounds = select(func.count()).select_from(slot).where(slot.c.source == ADAPTIVE)
    asked, given = Counter[bool](), Counter[bool]()
    with store.reading() as connection:
        for source, n_slots, n_done in connection.execute(query).tuples():
            asked[source == ADAPTIVE] += n_slots
            given[source == ADAPTIVE] += n_done
        ever = connection.execute(of_rounds).scalar_one()
    return Votes(asked[False], given[False], ever, asked[True], given[True])


def round_due(store: StudyStore, database: RatingsStore, study: Study) -> int | str:
    """How many pairs a round may have now by the fit in force, or in words why there is to be none."""
    rules, fit = study.pairing.adaptive, store.head(DRAWS, None)
    if rules is None:
        return "pairing.adaptive is not set in study.yaml"
    if fit is None:
        return "no fit is stored yet"
    if (made := _round_of(rounds(store), fit)) is not None:
        without = f"the last stored fit had a round without pairs: {made.note}"
        return (
            without if made.note else "the last stored fit had its round; the next one goes by a fit that has its votes"
        )
    return pairs_due(count_votes(database), rules, study.pairing.slots)


def pairs_due(votes: Votes, rules: Adaptive, slots: int) -> int | str:
    """How many pairs a round would have now, or in words why there is none."""
    for whose, given, asked in (
        ("the plan", votes.baseline_given, votes.baseline_asked),
        ("the rounds so far", votes.adaptive_given, votes.adaptive_open),
    ):
        if given < rules.after * asked:
            return f"{given} of the {asked} votes of {whose} are in; a round waits for {percent(rules.after)} of them"
    wanted = round_pairs(
        votes.baseline_given, votes.adaptive_asked, slots=slots, share=rules.share, rounds=rules.rounds
    )
    if wanted:
        return wanted
    return (
        f"{votes.adaptive_asked} adaptive votes are asked for beside {votes.baseline_given} of the plan: no whole pair is left "
        f"of {percent(rules.share)} of all"
    )
