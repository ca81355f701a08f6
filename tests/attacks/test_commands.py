"""A project of others at the command line: each file of it is read or refused in a line, and no name of it speaks to
the terminal or to a runner of CI."""

from __future__ import annotations

import json
import os
import re
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof_engine import budget
from planproof_engine.budget import bounded

NAMES = (
    "a\n::error::b",
    "a\r::error::b",
    "##[error]b",
    "a\n##teamcity[buildStop] ##vso[task.complete]b",
    "a\x1b]0;title\x07\x1b[2Jb",
    "a\u202eb\u2066c",
    "a\u2028::error::b\x85::error::c",
)
COMMANDS = (
    ["explain", "{name}"],
    ["explain", "{name}", "--plan"],
    ["explain", "{name}", "--sql"],
    ["explain", "{name}", "--rewrites"],
    ["explain", "no such {name}"],
    ["diff", "target/manifest.json", "old.json"],
    ["diff", "old.json", "target/manifest.json"],
    ["infer", "--dry-run"],
    ["check", "--baseline", "{name}"],
    ["check", "--select", "{name}x"],
    ["check", "--format", "json", "-o", "out/{name}"],
    ["infer", "{name}", "--dry-run"],
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dbt_manifest: Any) -> Path:
    monkeypatch.setenv("PLANPROOF_CACHE_DIR", str(tmp_path / "cache"))
    home = tmp_path / "shop"
    for folder in ("target", "models"):
        (home / folder).mkdir(parents=True)
    (home / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (home / "profiles.yml").write_text("shop: {target: dev, outputs: {dev: {type: spark, method: session}}}\n")
    write(home / "target/manifest.json", dbt_manifest({"m": {"sql": "select 1 as id"}}))
    monkeypatch.chdir(home)
    return home


def write(file: Path, form: Any) -> None:
    file.write_text(json.dumps(form))


def said(*words: str) -> str:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code in (0, 1, 2), result.output
    assert "internal error" not in result.output
    return result.output


@pytest.mark.parametrize("name", NAMES)
def test_no_name_speaks_to_a_terminal_or_a_runner(name: str, home: Path, dbt_manifest: Any) -> None:
    for file, own in (("target/manifest.json", name), ("old.json", f"{name}x")):
        form = {
            "sql": f"select 1 as `{own}`, 2 as a",
            "columns": {own: "string", "a": "int"},
            "name": own,
            "relation_name": f"shop.`{own}`",
            "original_file_path": f"models/{own}.sql",
        }
        write(home / file, dbt_manifest({"m": form}))
    for command in COMMANDS:
        shown = said(*(word.replace("{name}", name) for word in command))
        assert not [
            line for line in shown.splitlines() if line.strip().startswith("::") or re.search(r"##\w*\[", line)
        ], command
        unseen = {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - {"\n"}
        assert not unseen, (command, unseen)


@pytest.mark.parametrize(
    "text", ["[" * 3000, '{"version": 1, "findings": [{"count": 1e999}]}', "[]", "\xff", "5", "{}"]
)
def test_what_is_no_baseline_is_refused(text: str, home: Path) -> None:
    (home / "base.json").write_text(text, encoding="latin-1")
    assert "base.json" in said("check", "--baseline", "base.json")


@pytest.mark.parametrize("word", ["", "x" * 5000, "a/" * 50_000], ids=["nothing", "a name", "a path"])
@pytest.mark.parametrize("option", ["--manifest", "--profiles-dir", "--baseline", "--write-baseline", "--state", "-o"])
def test_a_path_that_no_file_has_is_told(option: str, word: str, home: Path) -> None:
    """It may come from a variable of CI."""
    assert len(said("check", *(["--format", "json"] if option == "-o" else []), option, word)) < 50_000


def test_a_baseline_has_a_size(home: Path) -> None:
    """Each of its bytes costs thirty."""
    (home / "large.json").write_bytes(b"[" + b"[]," * 2**24)
    assert "bytes, more than" in said("check", "--baseline", "large.json")


def test_pipes_and_devices_are_no_baselines(home: Path) -> None:
    """A pull request can bring a link."""
    (home / "zero.json").symlink_to("/dev/zero")
    os.mkfifo(home / "pipe.json")
    for name in ("zero.json", "pipe.json"):
        assert "is no regular file" in said("check", "--baseline", name)


SELECTORS = [
    b"a: \xff",
    "a: 1".encode("utf-16"),
    b"a: 1\n---\nb: 2\n",
    b"!!python/object/apply:os.getcwd []",
    b"\0",
    b"? {a: b}\n: 1\n",
    b"selectors: " + b"9" * 5000,
    b"selectors: !!float x",
]


@pytest.mark.parametrize("text", SELECTORS)
def test_what_is_no_selectors_yml_is_refused(text: bytes, home: Path) -> None:
    pytest.importorskip("dbt.cli.main")
    (home / "selectors.yml").write_bytes(text)
    assert "selectors.yml" in said("check", "--selector", "x")


@pytest.mark.parametrize("name", ["selectors.yml", "packages.yml", "dependencies.yml", "profiles.yml"])
@pytest.mark.parametrize(
    ("made", "why"), [(os.mkfifo, "is no regular file"), (lambda at: at.symlink_to("/dev/zero"), "lies outside of")]
)
def test_dbt_reads_no_pipe_to_select(made: Callable[[Path], None], why: str, name: str, home: Path) -> None:
    pytest.importorskip("dbt.cli.main")
    (home / name).unlink(missing_ok=True)
    made(home / name)
    # A profile may lead out of what is no checkout, and must be a file there, too.
    expected = "is no regular file" if name == "profiles.yml" else why
    assert f"{name} {expected}" in said("check", "--selector", "x").replace("\n", "")


@pytest.mark.parametrize("text", ["a: &a {<<: *a}\n", "models: &m [*m]\n", "models: 5\n", "#" * 10**6])
def test_infer_reads_a_file_of_others_or_refuses_it(
    text: str, home: Path, dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded.__wrapped__, "__defaults__", (1.0, budget.BYTES))
    (home / "models/m.yml").write_text(text)
    write(
        home / "target/manifest.json",
        dbt_manifest({"m": {"sql": "select 1 as id", "patch_path": "shop://models/m.yml"}}),
    )
    said("infer")


@pytest.mark.parametrize("text", ["models: 5\n", "#" * 2**25, "models: &m [*m]\n"])
def test_a_file_of_others_keeps_infer_from_no_other_file(text: str, home: Path, dbt_manifest: Any) -> None:
    (home / "models/m.yml").write_text(text)
    nodes = {name: {"sql": "select 1 as id", "patch_path": f"shop://models/{name}.yml"} for name in ("m", "n")}
    write(home / "target/manifest.json", dbt_manifest(nodes))
    assert "left out m: " in said("infer")
    assert (home / "models/m.yml").read_text() == text
    assert "data_type: int" in (home / "models/n.yml").read_text()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("config", "text"),
        ("depends_on", 5),
        ("depends_on", {"nodes": 5}),
        ("test_metadata", []),
        ("test_metadata", {"kwargs": 5}),
    ],
)
def test_a_test_of_another_form_is_named(key: str, value: Any, home: Path, dbt_manifest: Any) -> None:
    test = {"resource_type": "test", "unique_id": "test.shop.t", "name": "t", "test_metadata": {"name": "not_null"}}
    write(
        home / "target/manifest.json",
        dbt_manifest({"m": {"sql": "select 1 as id"}}, **{"test.shop.t": {**test, key: value}}),
    )
    for command in (["check"], ["explain", "m"], ["infer", "--dry-run"]):
        assert "test.shop.t" in said(*command)


def test_derive_answers_each_line(home: Path) -> None:
    lines = [
        b'{"id": "\\ud800", "query": "select 1 as `\\udc80`"}',
        b"\xff\xfe",
        b"[" * 10**5,
        b'{"id": "##[error]", "query": "select 1"}',
    ]
    (home / "cases.jsonl").write_bytes(b"\n".join(lines))
    output = said("derive", "cases.jsonl")
    assert "##[" not in output
    told = [json.loads(line) for line in output.splitlines()]
    assert [(one["id"], "unknown" in one) for one in told] == [
        ("\ud800", False),
        (None, True),
        (None, True),
        ("##[error]", False),
    ]
    (home / "zero").symlink_to("/dev/zero")
    assert "bytes" in said("derive", "zero")


@pytest.mark.parametrize(
    "name", ["a" * 300, f"models/{'a' * 300}.sql", ".", "models/\0.sql", "models/..", "/", "x" * 5000]
)
def test_infer_reads_no_path_that_is_none(name: str, home: Path, dbt_manifest: Any) -> None:
    for form in ({"original_file_path": name}, {"patch_path": f"shop://{name}"}):
        write(home / "target/manifest.json", dbt_manifest({"m": {"sql": "select 1 as id", **form}}))
        for words in (["infer", "--dry-run"], ["infer"], ["explain", "m"], ["check", "--no-cache"]):
            said(*words)


@pytest.mark.parametrize("half", [chr(0xD800), chr(0xDCFF)], ids=["of JSON", "of an argument"])
def test_half_a_character_in_a_column_is_quoted(half: str, home: Path, dbt_manifest: Any) -> None:
    """YAML has no such character as it is: it is written out."""
    write(home / "target/manifest.json", dbt_manifest({"m": {"sql": f"select 1 as `a{half}`, 2 as `2024-01-01`"}}))
    said("infer")
    written = (home / "models/_models.yml").read_text()
    assert f'name: "a\\u{ord(half):04X}"' in written
    assert 'name: "2024-01-01"' in written, "dbt would read a day"
    assert "--vars: is no YAML" in said("run", "--vars", f"{{a: {half}}}")


DEEP = {
    "a sum": "select " + " + ".join(["1"] * 3000) + " as a",
    "a union": " union all ".join(f"select {i} as a" for i in range(2000)),
    "joins": "select 1 as a from " + " cross join ".join(f"(select 1 as a) t{i}" for i in range(300)),
    "pipes": "from (select 1 as a) " + "|> where a > 0 " * 1000,
    "loops": "select 1 as a from (select 1 as a) t "
    + " ".join(f"lateral view explode(array(1)) e{i} as x{i}" for i in range(300)),
}


SHOWN = ([], ["--plan"], ["--sql"], ["--rewrites"], ["--sql", "--rewrites", "--json"])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        # Each option of one query, and all of them of each; the rest is shown more often than `make test` has time for.
        pytest.param(options, name, marks=[] if options == SHOWN[-1] or name == "a sum" else pytest.mark.conformance)
        for options in SHOWN
        for name in DEEP
    ],
)
def test_a_deep_query_is_explained(options: list[str], name: str, home: Path, dbt_manifest: Any) -> None:
    """It was an error of planproof's own; and its text would have been half a gigabyte of blanks."""
    write(home / "target/manifest.json", dbt_manifest({"m": {"sql": DEEP[name]}}))
    began = time.process_time()
    shown = said("explain", "m", *options)
    assert time.process_time() - began < 5
    assert "a" in shown
    assert len(shown) < 5_000_000


@pytest.mark.parametrize("selector", ["9" * 5000 + "+m", "m+" + "9" * 5000, "+" * 5000, "*" * 5000, "m," * 5000])
def test_a_selector_of_thousands_of_characters_is_read_or_refused(selector: str, home: Path) -> None:
    """The Action's input of that name may be another job's text."""
    for option in ("--select", "--exclude"):
        said("check", "--no-cache", option, selector)


@pytest.mark.parametrize("length", [29, 36, 200])
def test_no_line_that_rich_begins_is_a_command(length: int, home: Path, dbt_manifest: Any) -> None:
    """It ends a line at a blank, or within a long word: what follows stood at the beginning of one."""
    word = f"{'x' * length} ::error title=a::b"
    for name in (word, f"{'x' * (length - 8)}{'::error::' * 40}"):
        write(home / "target/manifest.json", dbt_manifest({"m": {"sql": f"select `{name}`(1) as a"}}))
        for command in (["check", "--no-cache"], ["check", "--no-cache", "--format", "text"]):
            shown = said(*command)
            assert "::error" in shown
            assert not [line for line in shown.splitlines() if line.strip().startswith("::")], command


@pytest.mark.parametrize("name", NAMES)
def test_the_next_step_names_a_column_of_others(name: str, home: Path, dbt_manifest: Any) -> None:
    model = {"sql": "select 1 as a", "columns": {name: "int"}, "contract": True}
    write(home / "target/manifest.json", dbt_manifest({"m": model}))
    shown = said("check", "--no-cache")
    assert "next  " in shown
    assert not [line for line in shown.splitlines() if line.strip().startswith("::") or re.search(r"##\w*\[", line)]
    assert not {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - {"\n"}


@pytest.mark.parametrize("count", ["9" * 4300, f'"{"9" * 4300}"', "-1", "true", "1.5"])
def test_a_baseline_counts_what_can_be_printed(count: str, home: Path) -> None:
    """The sum of two such numbers had more digits than Python prints."""
    row = f'{{"model": "model.shop.m", "code": "PP501", "column": "", "promised": "", "count": {count}}}'
    (home / "base.json").write_text(f'{{"version": 1, "findings": [{", ".join([row] * 20)}]}}')
    assert "is no baseline" in said("check", "--no-cache", "--baseline", "base.json")


def test_an_error_shows_the_beginning_of_what_others_wrote(home: Path) -> None:
    (home / "base.json").write_text(json.dumps({"version": "x" * 2_000_000}))
    shown = said("check", "--no-cache", "--baseline", "base.json")
    assert "its version is" in shown
    assert len(shown) < 50_000
