"""Slow, plain twins of what the room computes, and a study of numbered prompts and configs."""

import itertools
from collections import Counter, defaultdict
from types import SimpleNamespace

import polars as pl
import pytest


def make_cells(n_configs, n_prompts, absent=()):
    """A table of cells; absent holds (prompt number, config number)."""
    return pl.DataFrame(
        [
            {
                "prompt": f"p{p:03d}",
                "config": f"m{c // 2}|v{c % 2}|none",
                "response_id": f"r-{p}-{c}",
                "category": f"c{p % 3}",
                "level": f"L{p % 2 + 1}",
                "acoustic": "clean" if p % 5 else "far_field",
            }
            for p in range(n_prompts)
            for c in range(n_configs)
            if (p, c) not in absent
        ],
        schema=dict.fromkeys(("prompt", "config", "response_id", "category", "level", "acoustic"), pl.String),
    )


def pair_rows(plan, withdrawn=()):
    """One dict a pair that is not void, bridges left out."""
    seen = {}
    for row in plan.iter_rows(named=True):
        if row["source"] != "bridge" and not {row["response_a"], row["response_b"]} & set(withdrawn):
            seen.setdefault(row["pair"], row)
    return list(seen.values())


def meetings(plan, withdrawn=()):
    """Pair of configs → on how many prompts they meet, pairs that never meet included."""
    rows = pair_rows(plan, withdrawn)
    names = sorted({r["config_a"] for r in rows} | {r["config_b"] for r in rows})
    counts = Counter(tuple(sorted((r["config_a"], r["config_b"]))) for r in rows)
    return {pair: counts[pair] for pair in itertools.combinations(names, 2)}


def is_connected(nodes, edges):
    """Breadth first from any node."""
    nodes = set(nodes)
    if not nodes:
        return True
    neighbours = defaultdict(set)
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    reached, todo = set(), [min(nodes)]
    while todo:
        node = todo.pop()
        if node not in reached:
            reached.add(node)
            todo += neighbours[node]
    return nodes <= reached


def split_prompts(plan, cells, withdrawn=()):
    """Prompts whose playable cells are not all in one connected graph."""
    edges, nodes = defaultdict(list), defaultdict(set)
    for row in pair_rows(plan, withdrawn):
        edges[row["prompt"]].append((row["config_a"], row["config_b"]))
    for row in cells.filter(~pl.col("response_id").is_in(list(withdrawn))).iter_rows(named=True):
        nodes[row["prompt"]].add(row["config"])
    return sorted(p for p in nodes if len(nodes[p]) > 1 and not is_connected(nodes[p], edges[p]))


@pytest.fixture(scope="session")
def twin():
    return SimpleNamespace(
        cells=make_cells, pairs=pair_rows, meetings=meetings, is_connected=is_connected, split_prompts=split_prompts
    )
