"""The settings of each version of Spark, as tests/engine/versions/settings.py heard them from that Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planproof import AnalysisError, Catalog, plan
from planproof_engine.conf import RELEASES, SETTINGS, SPARKS, Conf, UnknownSpark

SAID: dict[str, dict[str, str | None]] = json.loads(
    (Path(__file__).parent / "engine" / "cases" / "versions" / "settings.json").read_text()
)
_OTHERS: dict[Any, str] = {True: "false", False: "true"}


def test_every_version_was_asked_of_every_setting_but_the_time_zone() -> None:
    assert set(SAID) == set(SPARKS)
    assert all(set(said) == set(SETTINGS) - {"spark.sql.session.timeZone"} for said in SAID.values())


@pytest.mark.parametrize("version", SPARKS)
def test_the_defaults_are_the_version_s_own(version: str) -> None:
    conf = Conf.of(version)
    said = {SETTINGS[key]: value for key, value in SAID[version].items() if value is not None}
    found = {name: getattr(conf, name) for name in said}
    assert {n: str(v).lower() if isinstance(v, bool) else v for n, v in found.items()} == said


@pytest.mark.parametrize("version", SPARKS)
def test_a_setting_that_the_version_has_not_changes_nothing(version: str) -> None:
    conf = Conf.of(version)
    for key, value in SAID[version].items():
        current = getattr(conf, SETTINGS[key])
        if isinstance(current, bool):
            assert (conf.with_setting(key, _OTHERS[current]) == conf) is (value is None), key


def test_what_a_spark_without_a_setting_does() -> None:
    # Asked of 3.5.9 and 4.0.5: `1 ! IN (2)` is read by 3.5 alone, IDENTIFIER('a') as an alias by neither, and behind
    # ORDER BY the position 2 of one column counts where another key adds a column that the output lacks.
    older, newer = Conf.of("3.5"), Conf.of("4.0")
    assert (older.bang_equals_not, newer.bang_equals_not) == (True, False)
    assert (older.legacy_identifier_clause, newer.legacy_identifier_clause) == (True, True)
    assert (older.ordinals_first, newer.ordinals_first) == (False, False)
    over = Catalog({"t": [("a", "int", False), ("b", "int", False)]})
    assert plan("SELECT a FROM t ORDER BY b, 2", over, conf=newer).schema.names == ("a",)


def test_reset_gives_the_version_s_default() -> None:
    key = "spark.sql.ansi.enabled"
    assert not Conf.of("3.5").with_setting(key, "true").reset(key).ansi
    assert Conf.of("4.0").with_setting(key, "false").reset(key).ansi


def test_settings_come_after_the_defaults() -> None:
    assert Conf.of("3.5", {"spark.sql.ansi.enabled": "true"}).ansi


def test_a_patch_version_is_its_minor() -> None:
    assert Conf.of("3.5.9") == Conf.of("3.5")
    assert Conf(spark="4.1.0.dev1") == Conf(spark="4.1")


@pytest.mark.parametrize("given", ["9.9", "3.4.1", "4", "", "4.30"])
def test_a_version_that_is_not_known_is_refused_with_those_that_are(given: str) -> None:
    with pytest.raises(UnknownSpark, match=r"planproof knows 3\.5, 4\.0, 4\.1, 4\.2, 4\.3"):
        Conf(spark=given)
    with pytest.raises(UnknownSpark):
        Conf.of(given)


def test_the_release_of_each_version_is_one_whose_facts_are_checked_in() -> None:
    facts = Path(__file__).parents[1] / "tools" / "spark_upgrade" / "facts"
    assert tuple(RELEASES) == SPARKS
    assert {f"{release}.json" for release in RELEASES.values()} == {file.name for file in facts.iterdir()}


_GEO = "spark.sql.geospatial.enabled"


@pytest.mark.parametrize("version", ["4.1", "4.2", "4.3"])
def test_geospatial_calls_and_casts_need_their_setting_and_columns_do_not(version: str) -> None:
    # Asked of 4.1.4, 4.2.1 and 4.3.0.
    over = Catalog({"t": [("b", "binary", True), ("g", "geometry(4326)", True)]})
    on, off = (Conf.of(version, {_GEO: value}) for value in ("true", "false"))
    assert Conf.of(version) in (on, off)

    def condition(select: str, conf: Conf) -> str:
        try:
            plan(f"SELECT {select} FROM t", over, conf=conf)
        except AnalysisError as error:
            return error.condition
        return ""

    disabled = "UNSUPPORTED_FEATURE.GEOSPATIAL_DISABLED"
    for select in (
        *("CAST(NULL AS GEOMETRY(4326))", "NULL::GEOGRAPHY(ANY)", "TRY_CAST(NULL AS ARRAY<GEOMETRY(4326)>)"),
        *("st_geomfromwkb(b)", "st_geogfromwkb(b)", "st_srid(g)", "st_asbinary(g)", "st_setsrid(g, 4326)"),
        "transform(array(b), x -> st_geomfromwkb(x))",
    ):
        assert (condition(select, on), condition(select, off)) == ("", disabled), select
    for select in ("CAST(1 AS GEOMETRY(4326))", "st_geomfromwkb(1)"):
        assert condition(select, on).startswith("DATATYPE_MISMATCH.")
        assert condition(select, off) == disabled, select
    for select in ("g", "array(g)", "typeof(g)", "from_json('{}', 'g geometry(4326)')"):
        assert condition(select, off) == "", select
    for select, said in (
        ("CAST(nowhere AS GEOMETRY(4326))", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("CAST(NULL AS GEOMETRY)", "UNSUPPORTED_DATATYPE"),
        ("st_geomfromwkb()", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
    ):
        assert condition(select, off) == said, select
