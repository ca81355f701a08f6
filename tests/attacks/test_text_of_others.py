"""Names and messages of others in every form of a report: no line is a runner's command, no mark turns the writing."""

from __future__ import annotations

import json
import logging
import re
import time
import unicodedata
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import planproof
from planproof.project.check import check_project
from planproof.project.manifest import read_project
from planproof.report.formats import FORMATS, Form, render
from planproof.report.model import Report
from planproof.report.run import run_report
from planproof_engine.finding import Finding, Verdict
from planproof_engine.origin import Origin

TEXTS = (
    "a\n::error::b",
    "a\r\n  ::stop-commands::x",
    "::add-mask::x",
    "\n##[error]b",
    "a##vso[task.setvariable variable=x]b ##[group]",
    "a\n##teamcity[buildStatus status='SUCCESS']",
    "a\n \u2713 shop.b  table  proved",
    "a\x1b]0;title\x07\x1b[2Jb",
    "a\u202eb\u2066c\u200fd\u061ce",
    "a\u2028::error::b",
    "a\x85::error::b\x0b::error::c\x0c::error::d",
)
FORMS = ("text", "github", "markdown", "html", "junit")
KEPT = {"\n"}


def foreign(text: str) -> Report:
    found = Finding(Verdict.VIOLATED, "PP505", "files", text, text, text, text)
    return Report(f"shop.{text}", "rejected", (found,), error=text, sql=f"select '{text}'")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_of_others_is_text(text: str, form: str) -> None:
    run = run_report("check", [foreign(text), foreign("fine")], datetime.now(timezone.utc))
    shown = render(run, form)
    lines = [line.strip() for line in shown.splitlines()]
    if form == "github":
        lines = [line.split("::", 2)[2] for line in lines if line.startswith("::")]
    assert not [line for line in lines if line.startswith("::")]
    assert not re.search(r"##\w*\[", shown)
    if form in ("text", "markdown"):
        assert not [line for line in lines if line.startswith("\u2713 shop.b")]
    own = "\u200b" if form == "markdown" else ""
    unseen = {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - {*KEPT, *own}
    assert not unseen, unseen


@pytest.mark.parametrize("prefix", ["", "dbt/"])
@pytest.mark.parametrize("file", ["//evil.example/share/m.sql", "/etc/passwd", "../../../m.sql", "a/../../../../m.sql"])
def test_a_place_in_sarif_lies_below_the_repository(file: str, prefix: str) -> None:
    """A viewer on Windows asks the host `evil.example` for `//evil.example/share`, with its user's name."""
    at = Origin(1, 1, file=file)
    found = [
        Finding(Verdict.VIOLATED, "PP505", "files", origin=at),
        Finding(Verdict.UNPROVED, "PP505", "files", promise=at),
    ]
    run = run_report("check", [Report("shop.m", "checked", tuple(found))], datetime.now(timezone.utc))
    places = re.findall('"uri": "(.*)"', render(run, "sarif", Form(prefix)))
    assert len(places) == 3
    assert not [place for place in places if place.startswith("/") or ".." in place]


@pytest.mark.parametrize("form", ["json", "sarif", "openlineage"])
@pytest.mark.parametrize("text", [text for text in TEXTS if "##" in text])
def test_json_is_no_command_either(text: str, form: str) -> None:
    """Azure's agent looks for its commands anywhere in a line; a program reads the text as it is."""
    run = run_report("check", [foreign(text)], datetime.now(timezone.utc), remarks=[text])
    shown = render(run, form)
    assert not re.search(r"##\w*\[", shown)
    assert not re.search(r"##\w*\[", "".join(run.to_lines()))
    assert form != "json" or text in texts(json.loads(shown))
    assert text in texts(json.loads("".join(run.to_lines())))


@pytest.mark.parametrize("text", [*TEXTS, "[here](https://a.b)", r"[here\](https://a.b)"])
def test_a_message_of_sarif_is_text(text: str) -> None:
    """Code scanning shows it beside the pull request, with links where it has them."""
    failed = replace(foreign(text), outcome="failed")
    log = json.loads(render(run_report("check", [failed], datetime.now(timezone.utc)), "sarif"))["runs"][0]
    for one in (*log["results"], *log["invocations"][0]["toolExecutionNotifications"]):
        shown = one["message"]["text"]
        assert not {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - KEPT
        assert not re.search(r"(?<!\\)(?:\\\\)*\]\(", shown)


@pytest.mark.parametrize(
    "text", ["https://evil.example/x", "HTTP://evil.example", "www.evil.example", "a@evil.example"]
)
def test_a_comment_links_nowhere(text: str) -> None:
    """GitHub makes links of bare addresses, under the name of the bot that comments."""
    shown = render(run_report("check", [foreign(text)], datetime.now(timezone.utc)), "markdown")
    assert "evil.example" in shown
    assert not re.search(r"://|www\.|@[^\u200b]", shown)


def texts(form: Any) -> set[str]:
    inner = form.values() if isinstance(form, dict) else form if isinstance(form, list) else ()
    return {form} if isinstance(form, str) else {text for value in inner for text in texts(value)}


@pytest.mark.parametrize("text", TEXTS)
def test_a_task_of_airflow_logs_text(text: str) -> None:
    """Airflow's page of a log obeys escape sequences, and folds lines by `::group::`."""
    pytest.importorskip("airflow.providers.common.compat.sdk")
    from airflow_planproof import message

    reports = [foreign(text), foreign("fine")]
    said = [
        message.describe_violation(reports, reports),
        message.describe_failure(reports, reports),
        message.describe_breaking([text], text),
        message.join_names([text, "fine"]),
    ]
    for shown in (*said, message.describe_dbt_failure("build", text), *message.summary(reports)):
        assert not [line for line in shown.splitlines() if line.strip().startswith("::") or re.search(r"##\w*\[", line)]
        unseen = {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - KEPT
        assert not unseen, unseen
    assert all("\n" not in line for line in message.summary(reports))


def test_a_text_without_end_is_cut_for_people() -> None:
    """A manifest can name a column by a hundred MB; breaking that into lines once took minutes."""
    long = "x" * 10_000_000
    began = time.process_time()
    shown = render(run_report("check", [foreign(long)], datetime.now(timezone.utc)), "text")
    assert time.process_time() - began < 5
    assert "10,000,000 characters" in shown


@pytest.mark.parametrize(
    "sql",
    [
        "select {name} from t",
        "select t.`{name}`.`{name}` from t",
        "select * from {name}",
        "select b.{name} from t",
        "select {name}(a) from t",
        "select a as {name}, a as {name} from t",
        "select cast(a as {name}) from t",
        "select sum(1), `{name}` from (select 1 as `{name}`)",
        "select {name} {name} {name}",
        "select 1 union select struct(1 as {name})",
    ],
)
@pytest.mark.parametrize("name", ["x" * 5000, "x y " * 5000], ids=["a word", "words"])
def test_a_message_shows_the_beginning_of_a_long_name(sql: str, name: str) -> None:
    catalog = planproof.Catalog({"t": [("a", "int", True), ("b", "struct<c:int>", True)]})
    try:
        said = [f.message for f in planproof.plan(sql.replace("{name}", name), catalog).findings]
    except (planproof.AnalysisError, planproof.Unknown) as error:
        said = [str(error)]
    assert said
    assert max(map(len, said)) < 6000 if " " in name else max(map(len, said)) < 2000


def test_a_type_is_told_in_full() -> None:
    sql = "select 1 union select struct(" + ", ".join(f"1 as column_{n}" for n in range(100)) + ")"
    with pytest.raises(planproof.AnalysisError, match="column_99"):
        planproof.plan(sql)


@pytest.mark.parametrize("text", TEXTS)
def test_a_dbt_elsewhere_logs_text(text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("airflow.providers.common.compat.sdk")
    from airflow_planproof.dbt_command import DbtElsewhere

    said = tmp_path / "said"
    said.write_text(f"\x1b[0m12:00  fine\n  {text}\n{'x' * 200_000}\n", newline="")
    with caplog.at_level("INFO"):
        ended = DbtElsewhere("cat", logging.getLogger("dbt")).run([str(said)])
    lines = [record.getMessage() for record in caplog.records]
    assert "12:00  fine" in lines
    assert max(map(len, lines)) <= 2**16
    for shown in (*lines, *ended.message.split("\n")):
        assert not shown.strip().startswith("::")
        assert not re.search(r"##\w*\[", shown)
        assert shown.isprintable(), shown


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("half", [chr(0xD800), chr(0xDCFF)], ids=["of a manifest", "of a file's name"])
def test_half_a_character_is_told_in_every_form(half: str, name: str, dbt_manifest: Any) -> None:
    """JSON may hold half of a surrogate pair, and Python has one for each byte of a name that is no UTF-8."""
    given = {"name": f"m{half}", "original_file_path": f"models/m{half}.sql", "description": half}
    columns = {f"c{half}": {"data_type": "int"}}
    model = {"sql": f"select nope(1) as `c{half}`", "columns": columns, "contract": True, **given}
    manifest = dbt_manifest({"m": model})
    manifest["nodes"]["model.shop.m"] |= given | {
        "relation_name": f"shop.`m{half}`",
        "unique_id": f"model.shop.m{half}",
    }
    reports = list(check_project(read_project(manifest)))
    run = run_report("check", reports, datetime.now(timezone.utc), project=f"shop{half}", remarks=[half])
    assert render(run, name).encode("utf-8", "backslashreplace")
