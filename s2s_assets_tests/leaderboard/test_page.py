"""The page: what stands first, what is said everywhere, what can never happen, how long it may get."""

import base64
import dataclasses
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

import polars as pl
import pytest

from s2s_assets.leaderboard import BoardInputs, Clusters, build_board
from s2s_assets.leaderboard.page import sort_key
from s2s_assets.study import ReleaseError, Study

Make = Callable[..., BoardInputs]


class Seen(HTMLParser):
    """Elements with their attributes, and the text of captions, table heads, scripts and styles."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}
        self._inside: list[str] = []
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {k: v or "" for k, v in attrs}))
        if tag in ("caption", "script", "style", "title", "h2"):
            self._inside.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[self._inside[-1]][-1] += data


def page_of(inputs: BoardInputs) -> bytes:
    return build_board(inputs).files["index.html"]


def test_the_same_inputs_give_the_same_bytes(full: Make) -> None:
    assert build_board(full()).files == build_board(full()).files


def test_the_first_table_is_overall_by_model(full: Make) -> None:
    text = page_of(full()).decode()
    first = text[text.index("<table") : text.index("</table>")]
    assert "Overall by model, all answers" in first
    assert [name for name in ("Aria", "Bolt", "Cedar", "Delta", "Ember") if f"<bdi>{name}</bdi>" not in first] == []
    assert re.search(r'<td data-v="1">1 \(\d(–\d)?\)</td>', first)
    assert '<td data-v="0.9167">44/48</td>' in first


def test_every_board_says_how_many_of_the_planned_responses_there_are(full: Make) -> None:
    tables = re.findall(r"<table.*?</table>", page_of(full()).decode(), re.DOTALL)
    boards = [t for t in tables if ">Elo<" in t and ">Interval, drawn<" in t]
    assert len(boards) > 5
    for table in boards:
        caption = re.search(r"<caption.*?</caption>", table, re.DOTALL)
        body = table[table.index("<tbody") :]
        covered = re.findall(r"<td[^>]*>\d+/\d+</td>", body)
        assert len(covered) == body.count("<tr"), (
            f"{caption and caption[0]}: {len(covered)} cells of {body.count('<tr')}"
        )


def test_slices_by_what_answers_share_have_their_place(full: Make) -> None:
    inputs = full()
    kinds = {"clean": "f1", "far_field": "m1"}
    renamed = inputs.fits.filter(pl.col("slice_value") != "indoor_noise").with_columns(
        slice_dimension=pl.col("slice_dimension").replace("acoustic", "voice"),
        slice_value=pl.col("slice_value").replace(kinds),
    )
    with pytest.raises(ReleaseError, match="voice 'f1'"):
        page_of(dataclasses.replace(inputs, fits=renamed))
    known = inputs.facts.known
    assert known is not None
    slices = {**known.slices, "voice": frozenset(kinds.values())}
    facts = dataclasses.replace(inputs.facts, known=dataclasses.replace(known, slices=slices))
    page = page_of(dataclasses.replace(inputs, fits=renamed, facts=facts))
    assert b"By voice: 2 slices" in page
    assert "Slices" in Seen(page).texts["h2"]


def test_every_part_of_the_method_has_its_section(full: Make) -> None:
    quality = pl.DataFrame(
        [
            ("study", "all", "alpha", 0.41, 600, 0.382, 0.44, None, None),
            ("questions", "audio_quality | delivery", "same_share", 0.97, 80, None, None, "collapse", "report"),
            ("rater", "rater-7731", "agreement", 0.1, 20, None, None, "low_agreement", "drop"),
            ("rating", "rating-9", "elapsed_share", 0.4, 1, None, None, "too_fast", "drop"),
        ],
        schema=["scope", "name", "measure", "value", "n", "low", "high", "flag", "effect"],
        orient="row",
    )
    clusters = Clusters({"Humanness": ("naturalness",)}, {"reliability": 0.82}, "")
    inputs = full(quality=quality, clusters=clusters, exclusions={"technical": 3}, paragraphs=("Recovered: 0.98.",))
    page = page_of(inputs)
    titles = Seen(page).texts["h2"]
    assert titles[0] == "Overall by model"
    wanted = {"By config", "By voice", "By thinking level", "Every question", "Kinds of prompts", "Groups of questions"}
    assert wanted | {"Cross-checks", "The raters", "What the numbers mean", "Data and citation"} <= set(titles)
    assert b"Recovered: 0.98." in page
    assert b"rater-7731" not in page, "a rater's name was published"
    assert b"rating-9" not in page, "a single answer was published"
    assert "0.410 (0.382–0.440)".encode() in page
    assert b"audio quality and delivery" in page
    assert b">agreement<" not in page, "a single rater was published"
    assert b"Insufficient data (fewer than 30 ratings or 3 raters): indoor_noise (12)" in page


def test_simulated_ratings_are_said_on_page_and_tables(full: Make) -> None:
    inputs = full()
    seen = Seen(page_of(inputs))
    assert all("simulated ratings" in caption for caption in seen.texts["caption"])
    assert "simulated ratings" in seen.texts["title"][0]
    human = dataclasses.replace(inputs, facts=dataclasses.replace(inputs.facts, simulated=False))
    assert b"imulated" not in page_of(human)


def test_scripts_and_styles_are_allowed_by_their_hash_alone(full: Make) -> None:
    seen = Seen(page_of(full()))
    policy = next(a["content"] for tag, a in seen.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        (code,) = seen.texts[kind]
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_the_page_reaches_nothing_outside(full: Make) -> None:
    page = page_of(full())
    seen = Seen(page)
    assert not [a for _, a in seen.tags for k in a if k in ("src", "srcset", "style") or k.startswith("on")]
    links = {a["href"] for tag, a in seen.tags if tag == "a" and not a["href"].startswith("#")}
    assert links <= set(build_board(full()).files) - {"board.json"}
    anchors = {a["href"][1:] for tag, a in seen.tags if tag == "a" and a["href"].startswith("#")}
    ids = [a["id"] for _, a in seen.tags if "id" in a]
    assert anchors <= set(ids)
    assert len(ids) == len(set(ids))


def test_hostile_names_are_text(foreign: Make, hostile: tuple[str, ...]) -> None:
    inputs = foreign(hostile, rubric=hostile[0])
    board = build_board(inputs, draft=False)
    seen = Seen(board.files["index.html"])
    allowed = {"img", "script"} & {tag for tag, _ in seen.tags}
    assert allowed == {"script"}
    assert sum(tag == "script" for tag, _ in seen.tags) == 1
    assert not [k for _, a in seen.tags for k in a if k.startswith("on")]
    assert {r["entity"] for r in json.loads(board.files["leaderboard.json"])} == set(hostile)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in board.files)


def test_missing_values_are_dashes_without_a_number(foreign: Make) -> None:
    inputs = foreign(["a", "b"])
    rows = inputs.cis.to_dicts()
    rows[0]["entities"][0] |= {"ci_low": None, "ci_high": None, "rank_low": None, "rank_high": None}
    rows[0]["entities"][1] |= {"ci_low": None, "bound": "below"}
    page = page_of(dataclasses.replace(inputs, cis=pl.DataFrame(rows, schema=inputs.cis.schema))).decode()
    assert "<td>–</td>" in page
    assert re.search(r"<td>−∞ to \d+</td>", page)
    assert "nan" not in re.sub(r"<(script|style)>.*?</\1>", "", page, flags=re.DOTALL).lower().replace("finance", "")


def test_groups_that_were_never_compared_have_tables_of_their_own(foreign: Make) -> None:
    one, two = foreign(["a", "b"]), foreign(["c", "d"], strengths=[0.1, -0.1])
    parts = [i.with_columns(pl.col("fit") + f"/{n}") for n, i in enumerate((one.fits, two.fits))]
    spreads = [i.with_columns(pl.col("fit") + f"/{n}") for n, i in enumerate((one.cis, two.cis))]
    fits = pl.concat(parts).with_columns(status=pl.lit("disconnected"))
    page = page_of(dataclasses.replace(one, fits=fits, cis=pl.concat(spreads)))
    captions = Seen(page).texts["caption"]
    assert [c.removeprefix("Overall ") for c in captions if "group" in c][:2] == [
        "by config, all answers, group 1 of 2 (never compared with one another)",
        "by config, all answers, group 2 of 2 (never compared with one another)",
    ]
    assert b"ranks hold within it only" in page


def test_a_page_too_long_leaves_sections_to_the_downloads(full: Make, foreign: Make) -> None:
    inputs = full()
    many = [foreign([f"m{i:03}" for i in range(40)], dimension="category", value=f"c{n:02}") for n in range(30)]
    whole = foreign([f"m{i:03}" for i in range(40)])
    fits = pl.concat([whole.fits, *(m.fits for m in many)])
    cis = pl.concat([whole.cis, *(m.cis for m in many)])
    board = build_board(dataclasses.replace(inputs, facts=whole.facts, fits=fits, cis=cis, coverage=None))
    page = board.files["index.html"]
    assert len(page) <= 300_000
    assert b"kinds of prompts" in page
    assert 'id="slices"' not in page.decode()
    assert len(json.loads(board.files["leaderboard.json"])) == 31 * 40


@pytest.mark.parametrize(
    ("value", "text"), [(1000.0, "1000"), (-0.25, "-0.25"), (1 / 3, "0.3333"), (1e-9, "0"), (5, "5")]
)
def test_sort_keys_are_numbers_without_surplus(value: float, text: str) -> None:
    assert sort_key(value) == text


def test_a_point_whose_interval_is_withheld_stands_on_the_headline_only(full: Make) -> None:
    inputs = full()
    rows = inputs.cis.to_dicts()
    for row in rows:
        row["entities"][0] |= {"ci_low": None, "ci_high": None, "valid_resamples": 900}
    page = page_of(dataclasses.replace(inputs, cis=pl.DataFrame(rows, schema=inputs.cis.schema))).decode()
    tables = re.findall(r"<caption.*?</table>", page, flags=re.DOTALL)
    bare = [
        len(re.findall(r"</th><td>–</td><td>–</td>|</td><td>–</td><td>–</td><td class=\"d\"></td>", t)) for t in tables
    ]
    assert bare[0] == 0, "the headline leaves a point out"
    assert sum(bare[1:]) >= 10


def test_boards_by_family_are_left_out_where_every_family_is_one_model(full: Make) -> None:
    inputs = full()
    assert b'id="by-family"' in page_of(inputs)
    alone = dataclasses.replace(inputs.facts, families={m: m for m in inputs.facts.families})
    assert b'id="by-family"' not in page_of(dataclasses.replace(inputs, facts=alone, coverage=None))


def with_baseline(inputs: BoardInputs, n_ratings: int, n_within: int = 0) -> BoardInputs:
    """The inputs with the headline fitted without adaptive votes, too."""
    name = "overall/model/all/all/baseline"
    lead = pl.col("fit") == "overall/model/all/all/all"
    within = inputs.fits.with_columns(n_within=pl.when(lead).then(pl.lit(n_within, pl.Int64)).otherwise("n_within"))
    baseline = within.filter(lead).with_columns(
        fit=pl.lit(name), variant=pl.lit("baseline"), n_ratings=pl.lit(n_ratings, pl.Int64)
    )
    interval = inputs.cis.filter(lead).with_columns(fit=pl.lit(name))
    return dataclasses.replace(inputs, fits=pl.concat([within, baseline]), cis=pl.concat([inputs.cis, interval]))


def test_adaptive_votes_are_counted_and_the_board_without_them_stands_below_the_headline(full: Make) -> None:
    board = build_board(with_baseline(full(), 500, n_within=25))
    page, method = board.files["index.html"].decode(), json.loads(board.files["methodology.json"])
    assert "100 of 625 votes (16.0 %) were asked for beyond the plan" in page
    assert page.index("Overall by model, all answers") < page.index("Overall by model, without adaptive votes")
    assert page.index("Overall by model, without adaptive votes") < page.index('id="by-config"')
    assert (method["adaptive_votes"], method["votes"]) == (100, 625)
    rows = board.leaderboard.filter(pl.col("variant") == "baseline")
    assert rows["entity"].n_unique() == 5


def test_a_headline_without_adaptive_votes_says_that_they_are_left_out(full: Make) -> None:
    inputs = full()
    leading = dataclasses.replace(inputs.facts, headline_variant="baseline")
    page = page_of(dataclasses.replace(with_baseline(inputs, 500), facts=leading)).decode()
    assert (
        "100 of 600 votes (16.7 %) were asked for beyond the plan, where intervals were widest; they are left out"
        in page
    )
    assert "without-adaptive" not in page


def test_where_no_vote_is_adaptive_nothing_is_said_of_them(full: Make) -> None:
    board = build_board(with_baseline(full(), 600))
    assert "beyond the plan" not in board.files["index.html"].decode()
    assert json.loads(board.files["methodology.json"])["adaptive_votes"] == 0
    assert json.loads(build_board(full()).files["methodology.json"])["adaptive_votes"] is None


def test_the_settings_of_every_config_are_told_where_the_study_shows_them(full: Make, study: Study) -> None:
    inputs = full(study.model_copy(update={"show_settings": True}))
    page = page_of(inputs).decode()
    section = page[page.index('id="settings"') :]
    for row in inputs.facts.settings:
        assert row.config in section
    assert inputs.facts.instructions["default"] in section
    assert b'id="settings"' not in page_of(full(study))


def test_a_map_of_nothing_but_withheld_values_is_not_drawn(full: Make) -> None:
    inputs = full()
    rows = inputs.cis.to_dicts()
    for row in rows:
        if "/level/" in row["fit"]:
            row["entities"] = [e | {"ci_low": None, "ci_high": None} for e in row["entities"]]
    page = page_of(dataclasses.replace(inputs, cis=pl.DataFrame(rows, schema=inputs.cis.schema)))
    assert b"by category and name" in page
    assert b"by level and name" not in page


def test_nothing_private_of_the_study_is_published(full: Make, study: Study) -> None:
    canary = "the heron opens 4711"
    models = [m.model_dump() | {"note": canary, "instruction": canary, "settings": {"k": canary}} for m in study.models]
    for model in models:
        model["voices"] = [dict(v) | {"why": canary} for v in model["voices"]]
    rubrics = [r.model_dump() | {"help": canary} for r in study.rubrics]
    private = Study.model_validate(
        study.model_dump() | {"models": models, "rubrics": rubrics, "default_instruction": canary}
    )
    quality = pl.DataFrame(
        [("rater", canary, "agreement", 0.1, 20, None, None, "low", "drop")],
        schema=["scope", "name", "measure", "value", "n", "low", "high", "flag", "effect"],
        orient="row",
    )
    files = build_board(full(private, quality=quality)).files
    tables = [pl.read_parquet(data).write_csv() for name, data in files.items() if name.endswith(".parquet")]
    assert [name for name, data in files.items() if canary.encode() in data] == []
    assert not any(canary in table for table in tables)
