"""What planproof says about each version of Spark, against the facts that each Spark gave. No Spark runs here."""

from __future__ import annotations

import importlib.util
import itertools
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from planproof_engine.conf import SETTINGS, UNFOLLOWED, Conf
from planproof_engine.functions.names import SINCE, release
from planproof_engine.sql.keywords import SPELLINGS, keywords
from spark_upgrade import answers, facts, page, places, raised, sparks

_SPEC = importlib.util.spec_from_file_location("gaps", Path(__file__).parent / "gaps.py")
assert _SPEC is not None
assert _SPEC.loader is not None
gaps = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(gaps)
KNOWN = facts.read_known()
DOCS = (Path(__file__).parents[2] / "core" / "planproof_engine" / "NEW_SPARK.md").read_text()
NEWEST = list(KNOWN.values())[-1]
VERSIONS = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")


def find_missing(names: Iterable[str]) -> list[str]:
    """Which of the dotted names stand for no class, function or table of the engine."""

    def is_defined(name: str) -> bool:
        try:
            return not isinstance(pkgutil.resolve_name(f"planproof_engine.{name}"), ModuleType)
        except (ImportError, AttributeError):
            return False

    return sorted({name for name in names if not is_defined(name)})


def test_the_facts_of_each_version_are_there_in_their_order() -> None:
    assert tuple(KNOWN) == VERSIONS


@pytest.mark.parametrize("path", sorted(facts.FOLDER.glob("*.json")), ids=lambda p: p.stem)
def test_a_file_of_facts_is_as_the_command_writes_it(path: Path) -> None:
    form = json.loads(path.read_text())
    assert path.stem == form["version"]
    assert facts.format_facts(form) == path.read_text()


def test_each_rule_of_the_grammar_has_its_place() -> None:
    assert sorted(NEWEST.grammar.keys() - places.places().keys()) == []


def test_no_place_is_named_for_a_rule_that_no_spark_has() -> None:
    rules = set().union(*(found.grammar for found in KNOWN.values()))
    assert sorted(places.places().keys() - rules) == []


def test_each_place_stands_in_the_code() -> None:
    assert find_missing(name for place in places.places().values() for name in place.names) == []


def test_a_place_that_is_gone_is_told() -> None:
    named = ["sql.parse.parse", "sql.parse.gone", "sql.gone.parse", "sql.cursor.Cursor.gone", "sql.queries"]
    assert find_missing(named) == sorted(named[1:])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_keywords_are_those_of_spark_s_lexer(version: str) -> None:
    spark = KNOWN[version]
    words = {token for token in spark.tokens if token.isidentifier() and token not in _NO_WORDS}
    assert words == keywords(spark.minor).keys() - SPELLINGS.keys()


_NO_WORDS = {
    *("BACKQUOTED_IDENTIFIER", "DOUBLEQUOTED_STRING", "STRING_LITERAL", "UNRECOGNIZED", "WS"),
    *("BEGIN_DOLLAR_QUOTED_STRING", "DOLLAR_QUOTED_STRING_BODY", "END_DOLLAR_QUOTED_STRING"),
    *("BIGDECIMAL_LITERAL", "BIGINT_LITERAL", "DOUBLE_LITERAL", "FLOAT_LITERAL", "SMALLINT_LITERAL", "TINYINT_LITERAL"),
    *("BRACKETED_COMMENT", "SIMPLE_COMMENT", "DECIMAL_VALUE", "EXPONENT_VALUE", "INTEGER_VALUE", "EQ", "GTE", "LTE"),
}
"""Tokens that are no words: what names, numbers, texts and comments are made of, spaces, and signs."""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_function_is_there_from_its_version_on(version: str) -> None:
    listed = KNOWN[version].functions.keys()
    ours = {name for name, since in SINCE.items() if release(since) <= KNOWN[version].release}
    assert sorted(listed - ours) == []
    # A word of the grammar was called before it was a function: SHOW FUNCTIONS of Spark 3.5 has no percentile_cont.
    spoken = {name for name in ours if name.upper() in KNOWN[version].tokens}
    assert sorted((ours & NEWEST.functions.keys()) - listed - spoken) == []


def test_each_function_is_one_of_spark_s() -> None:
    words = {token.lower() for token in NEWEST.tokens}
    assert sorted(SINCE.keys() - NEWEST.functions.keys() - words) == []


def test_each_setting_that_conf_follows_is_one_of_spark_s() -> None:
    assert sorted(SETTINGS.keys() - NEWEST.settings.keys()) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_the_defaults_of_conf_are_spark_s(version: str) -> None:
    conf, settings = Conf.of(version), KNOWN[version].settings
    said = {key: settings[key][0] for key in SETTINGS if key in settings and key not in _OF_THE_MACHINE}
    ours = {key: getattr(conf, SETTINGS[key]) for key in said}
    assert {key: str(v).lower() if isinstance(v, bool) else v for key, v in ours.items()} == said


_OF_THE_MACHINE = {"spark.sql.session.timeZone"}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_planned_without_a_setting_is_planned_by_spark_s_default(version: str) -> None:
    settings = KNOWN[version].settings
    said = {key: settings[key][0] for key in UNFOLLOWED if key in settings}
    assert {key: UNFOLLOWED[key] for key in said} == said
    if version == VERSIONS[-1]:
        assert sorted(UNFOLLOWED.keys() - settings.keys()) == []
        assert sorted(UNFOLLOWED.keys() & SETTINGS.keys()) == []


def test_each_text_of_the_form_of_a_condition_is_one_of_spark_s() -> None:
    conditions = {name for found in KNOWN.values() for name in found.conditions}
    of_classes = {name.partition(".")[2] for name in conditions}
    tokens = set().union(*(found.tokens for found in KNOWN.values()))
    others = {text for text in raised.list_written() if text not in conditions | of_classes | tokens}
    assert others == _NO_CONDITIONS


_NO_CONDITIONS = {
    *("DBT_INTERNAL_DEST", "DBT_INTERNAL_SOURCE"),
    *("UTF8_BINARY", "UTF8_LCASE", "ACCENT_SENSITIVITY", "CASE_SENSITIVITY", "PAD_ATTRIBUTE", "ICU_VERSION"),
    *("TIMESTAMP_NANOS", "HINT_END", "IDENTIFIER_TOKEN", "SPARK_PARTITION_ID"),
    *("AGGREGATE_FUNC", "MAP_KEY", "APPEAR_IN_OPERATION", "MISSING_FROM_INPUT"),
    *("INVALID_EXTRACT", "UNSUPPORTED_GROUPING"),
}
"""Names of types, tokens, columns and marks; and what Spark says without a condition."""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_is_refused_by_its_own_conditions_and_has_a_line_of_each_of_its_functions(version: str) -> None:
    # What is mended goes from the list by `python tests/tools/gaps.py`; nothing may come to it.
    assert gaps.gaps(version) == json.loads(gaps.KEPT.read_text())[version]


def test_the_newest_spark_has_no_gap() -> None:
    assert json.loads(gaps.KEPT.read_text())[NEWEST.version] == {"conditions": [], "functions": []}


def test_alternatives_of_a_rule_are_those_of_its_one_block() -> None:
    assert facts.split_alternatives("(a | b (c | d)? | '(' e ')' | '|')") == ["a", "b (c | d)?", "'(' e ')'", "'|'"]
    assert facts.split_alternatives("(a | b) c") == ["(a | b) c"]
    assert facts.split_alternatives("(a)? (b)?") == ["(a)? (b)?"]
    assert facts.split_alternatives("a") == ["a"]
    assert facts.split_alternatives("'(' a ')'") == ["'(' a ')'"]
    looped = "(NOT e[5] | '(' e ')') (({from 2}? AND e[3] | {from 1}? OR '(' e[2]))*"
    assert facts.split_alternatives(looped) == [
        *("NOT e[5]", "'(' e ')'"),
        *("... {from 2}? AND e[3]", "... {from 1}? OR '(' e[2]"),
    ]


def test_a_function_is_told_by_its_usages_and_by_a_hash_of_what_is_said_of_it() -> None:
    lines = [
        "Function: f",
        "Class: org.apache.spark.F",
        "Usage: f(a) - Gives a.\n\n    f(a, b) - Gives b: both.",
        "Extended Usage:\n    Examples:\n      > SELECT f(1);\n    Note:\n      Not of NULL.\n    Since: 9.1.0\n",
    ]
    [cls, since, usages, text] = facts._parse_description(lines)
    assert [cls, since, usages] == ["F", "9.1.0", ["f(a)", "f(a, b)"]]
    other_example = [line.replace("f(1)", "f(2)") for line in lines]
    other_note = [line.replace("Not of", "Of") for line in lines]
    assert facts._parse_description(other_example)[3] == text
    assert facts._parse_description(other_note)[3] != text


def _changed() -> facts.Facts:
    """The newest Spark, as it might be in a version to come."""
    told = NEWEST.conditions["UNRESOLVED_ROUTINE"]
    return replace(
        NEWEST,
        version="9.0.0",
        functions={
            **{name: found for name, found in NEWEST.functions.items() if name != "abs"},
            "brandnew": facts.Described("brandnew", "Abs", "9.0.0", ("brandnew(a)",), "000000"),
            "acos": replace(NEWEST.functions["acos"], usages=("acos(expr, mode)",)),
        },
        grammar={
            **NEWEST.grammar,
            "queryPrimary": (*NEWEST.grammar["queryPrimary"], "GRAPH graphPattern"),
            "graphPattern": ("'(' identifier ')'",),
        },
        tokens=(*NEWEST.tokens, "GRAPH"),
        settings={**NEWEST.settings, "spark.sql.ansi.enabled": ("false", "3.0.0"), "spark.sql.new": ("1", "9.0.0")},
        conditions={
            **{name: found for name, found in NEWEST.conditions.items() if name != "UNRESOLVED_ROUTINE"},
            "NO_ROUTINE": replace(told, name="NO_ROUTINE"),
        },
        types=(*NEWEST.types, "GraphType"),
        type_names={**NEWEST.type_names, "graph": "graph"},
    )


@cache
def _told() -> list[str]:
    return page.render_page(NEWEST, _changed()).splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "- new: `brandnew(a)` (Abs, since 9.0.0). **planproof has no line for it: Unknown.**",
        "- gone: `abs` (Abs)",
        "- changed: `acos(expr)` (Acos, since 1.4.0) is now `acos(expr, mode)` (Acos, since 1.4.0)",
        "- new tokens (`sql.keywords`, `sql.tokens`): `GRAPH`",
        "- new: `graphPattern`: **not in grammar.yml: say where planproof answers for it**",
        "- changed: `queryPrimary`: `sql.queries.query_primary`, `sql.primary.is_query_at`",
        "    - with ``GRAPH graphPattern``",
        "- **followed by `Conf.ansi`**: `spark.sql.ansi.enabled` was `true`, is `false`",
        "- new: `spark.sql.new` = `1` (of 9.0.0)",
        "- renamed: `UNRESOLVED_ROUTINE` is now `NO_ROUTINE`, **which planproof raises**",
        "- new classes of `org.apache.spark.sql.types`: `GraphType`",
        "- new name in DDL: `graph`, for `graph`",
        "| 4.3.0 | 9.0.0 | 1 / 1 / 1 | 1 / 0 / 1 | 1 / 0 / 0 | 1 / 0 / 1 | 0 / 0 / 1 | 1 / 1 / 0 | 1 / 0 / 0 |",
    ],
)
def test_the_page_tells_each_change_and_whom_it_concerns(line: str) -> None:
    assert line in _told()


def test_a_spark_beside_itself_has_no_change() -> None:
    told = page.render_page(NEWEST, NEWEST)
    assert told.count("Nothing changed.") == 5
    assert "| 0 / 0 / 0 " * 7 in told


def test_the_docs_tell_what_the_command_tells_of_each_step() -> None:
    steps = "\n".join(page.summary(itertools.pairwise(KNOWN.values())))
    assert steps in DOCS, "write what `python tools/spark_upgrade --steps` prints into NEW_SPARK.md of planproof_engine"


@pytest.mark.parametrize("version", sorted({f.minor for f in KNOWN.values()}))
def test_the_docs_name_each_version(version: str) -> None:
    assert version in DOCS


def _other(name: str, ansi: bool = True) -> dict[str, object]:
    return {
        "name": name,
        "text": f"{name}(\n a)",
        "ansi": ansi,
        "golden": '"a", "int", true',
        "spark": "PARSE_SYNTAX_ERROR",
    }


def test_golden_cases_are_told_by_function_with_a_few_of_each() -> None:
    answer = {"version": "9.0.0", "asked": 50, "other": [*(_other("abs", i != 1) for i in range(4)), _other("acos")]}
    assert answers.list_golden_lines(answer) == [
        "Of 50 golden cases Spark 9.0.0 answers 5 otherwise, of 2 functions and files.",
        "",
        "- `abs`: 4",
        '    - `abs( a)` [ansi]: `"a", "int", true` became `PARSE_SYNTAX_ERROR`',
        '    - `abs( a)` [legacy]: `"a", "int", true` became `PARSE_SYNTAX_ERROR`',
        '    - `abs( a)` [ansi]: `"a", "int", true` became `PARSE_SYNTAX_ERROR`',
        "- `acos`: 1",
        '    - `acos( a)` [ansi]: `"a", "int", true` became `PARSE_SYNTAX_ERROR`',
    ]


def test_a_spark_is_a_python_a_package_or_a_distribution(tmp_path: Path) -> None:
    package, distribution = tmp_path / "site" / "pyspark", tmp_path / "spark"
    for folder in (
        package / "jars",
        package / "python" / "lib",
        distribution / "jars",
        distribution / "python" / "lib",
    ):
        folder.mkdir(parents=True)
    (package / "__init__.py").touch()
    py4j = distribution / "python" / "lib" / "py4j-0.10.9.9-src.zip"
    py4j.touch()
    assert sparks.find_command(sys.executable) == (sys.executable, [])
    assert sparks.find_command(str(package)) == (sys.executable, [str(package.parent)])
    assert sparks.find_command(str(distribution)) == (sys.executable, [str(distribution / "python"), str(py4j)])
    with pytest.raises(sparks.NoSpark):
        sparks.find_command(str(tmp_path))
    with pytest.raises(sparks.NoSpark):
        sparks.facts_of("9.0.0")


def test_the_facts_of_a_version_are_read_and_not_asked() -> None:
    assert sparks.facts_of("4.0.5") == KNOWN["4.0.5"]


def test_what_a_script_prints_comes_back_and_its_failure_is_raised(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; print(sys.argv[1]); sys.exit(int(sys.argv[2]))")
    assert sparks.run_script(sys.executable, script, ["said", "1"], ends=(0, 1)) == "said\n"
    with pytest.raises(subprocess.CalledProcessError):
        sparks.run_script(sys.executable, script, ["said", "1"])
