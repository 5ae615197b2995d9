"""How pairs are made and shown: the balanced plan, and the adaptive votes that may top it up."""

from typing import Annotated, Literal

from pydantic import Field

from s2s_assets.study.record import Record

By = Literal["config", "model", "family", "voice", "thinking"]
MAX_ADAPTIVE_SHARE = 0.2
"""Of all votes, at most."""
MIN_ADAPTIVE_RESAMPLES = 100
"""Resamples from which a covariance is worth asking for votes by."""


class Adaptive(Record):
    """Votes beyond the plan, asked where the last stored fit's intervals are widest."""

    share: Annotated[float, Field(gt=0, le=MAX_ADAPTIVE_SHARE)] = MAX_ADAPTIVE_SHARE
    """Of all votes, at most."""
    by: By = "model"
    """Whose intervals are to shrink: those of the overall board that ranks this."""
    rounds: Annotated[int, Field(ge=1, le=100)] = 4
    """Parts in which the votes are asked for, each by the fit that has the votes of the one before."""
    after: Annotated[float, Field(ge=0.5, le=1)] = 0.95
    """Share of the votes asked for so far, the plan's and those of earlier rounds, that must be in before a round."""


class Pairing(Record):
    """The design of pairs and slots."""

    slots: Annotated[int, Field(ge=1, le=10)] = 2
    """Ratings asked of each pair."""
    units: Annotated[int, Field(ge=1, le=9)] = 1
    """Hamiltonian cycles (odd n) or paths (even n) a prompt gets."""
    without: tuple[str, ...] = ()
    """Config keys that an epoch does not wait for."""
    adaptive: Adaptive | None = None
    """The adaptive top-up; none by default."""
