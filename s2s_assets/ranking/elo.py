"""The Elo scale: 1000 + (400 / ln 10) · s, where s are strengths centred to mean 0 over the entities published together.

A gap of 400 points multiplies the odds of a score above any given threshold by ten; with seven scores that is not "wins
ten to one". The scale belongs to one table: strengths of different engines or boards have different spreads.
"""

import math

from s2s_assets.study import Floats

ANCHOR_ELO = 1000.0
ELO_PER_STRENGTH = 400.0 / math.log(10.0)


def to_elo(strength: Floats) -> Floats:
    """Strengths s in logits, any shape, to Elo points; ±inf and NaN stay what they are."""
    return ANCHOR_ELO + ELO_PER_STRENGTH * strength
