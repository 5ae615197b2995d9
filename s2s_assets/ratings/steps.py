"""The pages of a task: the study's groups of questions one after the other, Overall by itself at the end.

Groups come in the study's order. Within a group the questions are shuffled for each rater, by a seed of the rater's
name, so that a rater meets one order and the raters together meet all.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from s2s_assets.study import OVERALL, Rubric, generator


@dataclass(frozen=True)
class Step:
    """One page: a group and its questions in the order they are asked."""

    group: str
    questions: tuple[Rubric, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The questions' ids."""
        return tuple(q.id for q in self.questions)


def steps_of(rubrics: Iterable[Rubric], rater: str) -> tuple[Step, ...]:
    """The pages of a task with these questions, as this rater gets them."""
    groups: dict[str, list[Rubric]] = {}
    last: list[Rubric] = []
    for rubric in rubrics:
        (last if rubric.id == OVERALL else groups.setdefault(rubric.group, [])).append(rubric)
    steps = [Step(group, _shuffled(questions, rater, group)) for group, questions in groups.items()]
    return (*steps, *(Step(OVERALL, (rubric,)) for rubric in last))


def due(steps: Iterable[Step], answered: Collection[str]) -> Step | None:
    """The first page with a question that is not answered; None where all are."""
    return next((step for step in steps if not set(step.ids) <= set(answered)), None)


def _shuffled(questions: list[Rubric], rater: str, group: str) -> tuple[Rubric, ...]:
    order = generator("question order", rater, group).permutation(len(questions))
    return tuple(questions[k] for k in order)
