"""The command line without Spark: what it says, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from one_model import ORDERS, mart

from planproof.cli.group import COMMANDS, cli


def test_every_command_explains_itself(invoke):
    assert invoke("--help").exit_code == 0
    for name in COMMANDS:
        found, command = invoke(name, "--help"), cli.get_command(None, name)
        assert found.exit_code == 0
        assert command.help.splitlines()[0].split(":")[0][:40] in found.output


def test_version(invoke):
    assert invoke("--version").output.startswith("planproof, version ")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["check", "--bogus"], "No such option"),
        (["check", "--fail-on", "always"], "'always' is not one of 'violated', 'unproved', 'warning', 'never'"),
        (["check", "--conf", "ansi"], "'ansi' is not key=value"),
        (["check", "--project-dir", "/no/such/place"], "there is no such directory"),
        (["check", "--manifest", "/no/such/manifest.json"], "there is no manifest; run `dbt compile`"),
        (["run", "--vars", "{"], "--vars: is no YAML"),
        (["run", "--vars", "[a]"], "is not a mapping such as"),
        (["run", "--manifest", "m.json", "--full-refresh"], "do not go with --manifest"),
        (["audit", "--contract", "c.yml"], "NAMES of the tables or paths"),
        (["audit", "shop.x", "--contract", "/no/such.yml"], "there is no such file"),
        (["derive", "/no/such.jsonl"], "No such file"),
        (["explain", "PP000"], "there is no code PP000; known: PP101"),
    ],
)
def test_what_cannot_run_ends_with_2_and_says_why(invoke, args, said):
    found = invoke(*args)
    assert found.exit_code == 2
    assert said in found.stderr
    assert "Traceback" not in found.output


def test_a_project_that_is_not_compiled(invoke, project):
    found = invoke("check", "--project-dir", project({"a": {}}))
    assert found.exit_code == 2
    assert "not compiled: model.shop.a; run `dbt compile`" in found.stderr


def test_a_selection_of_nothing_is_no_pass(invoke, project):
    found = invoke("check", "--project-dir", project({"mart": {"sql": "select 1"}}), "-s", "marts")
    assert found.exit_code == 2
    assert "selector 'marts': 'marts' names nothing in the project; did you mean 'mart'?" in found.stderr


def test_a_model_that_is_left_to_dbt_is_named_and_not_judged(invoke, project):
    off = {"meta": {"planproof": {"guard": "off"}}}
    broken = {"sql": "select 1 as a", "columns": {"b": "int"}, "contract": True}
    directory = project(
        {"mart": {**broken, "config": off}, "other": {"sql": "select a from shop.mart", "parents": ["mart"]}}
    )
    found = invoke("check", "--project-dir", directory)
    assert found.exit_code == 0, found.output
    assert "left to dbt by `guard: off`: mart" in " ".join(found.output.split())
    assert "shop.other" in found.output
    assert "shop.mart" not in found.output
    found = invoke("audit", "--project-dir", directory)
    assert "none of the selected models has an enforced contract" in found.stderr
    found = invoke("run", "--project-dir", directory, "--manifest", directory / "target/manifest.json", "-s", "mart")
    assert "left to dbt by `guard: off`: mart; `dbt build` builds what is selected" in found.stderr


def test_a_model_that_is_watched_is_judged_and_fails_no_command(invoke, project):
    watched = {"meta": {"planproof": {"guard": "watch"}}}
    broken = {"sql": "select 1 as a", "columns": {"b": "int"}, "contract": True}
    directory = project({"mart": {**broken, "config": watched}})
    for args in ((), ("--fail-on", "violated")):
        found = invoke("check", "--project-dir", directory, *args)
        assert found.exit_code == 0, found.output
        assert "PP501" in found.output
    assert invoke("check", "--project-dir", directory, "--guard", "on").exit_code == 1


def test_run_refuses_by_name_before_spark_starts(invoke, project):
    template = "select {{ run_query('select 1') }}"
    directory = project({"inc": {"sql": "select 1", "raw_code": template, "config": {"materialized": "incremental"}}})
    found = invoke("run", "--project-dir", directory, "--manifest", directory / "target" / "manifest.json")
    assert found.exit_code == 2
    assert "nothing was run" in found.stderr
    assert "inc: incremental: its compiled SQL is good only for" in found.stderr
    assert "Spark starts" not in found.stderr


def test_audit_needs_a_contract(invoke, project):
    found = invoke("audit", "--project-dir", project({"mart": {"sql": "select 1"}}), "mart")
    assert found.exit_code == 2
    assert "mart: no enforced contract in the project" in found.stderr


def test_an_error_of_ours_is_named_so(invoke, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("planproof.project.location.read_project", broken)
    monkeypatch.delenv("PLANPROOF_DEBUG", raising=False)
    found = invoke("check")
    assert found.exit_code == 2
    assert "internal error in planproof: ZeroDivisionError: oops; set PLANPROOF_DEBUG=1" in found.stderr
    monkeypatch.setenv("PLANPROOF_DEBUG", "1")
    assert "Traceback" in invoke("check").stderr


def test_an_interruption_is_no_finding(invoke, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("planproof.project.location.read_project", interrupted)
    found = invoke("check")
    assert (found.exit_code, found.stderr) == (130, "interrupted\n")
    found = invoke("run", "--manifest", "m.json")
    assert found.exit_code == 130
    assert found.stderr.endswith("interrupted before any model was begun: all tables are as they were\n")


def test_python_dash_m(tmp_path):
    found = subprocess.run(
        [sys.executable, "-m", "planproof", "explain", "PP505"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert found.returncode == 0
    assert found.stdout.startswith("PP505  NOT NULL broken")
    broken = subprocess.run(
        [sys.executable, "-m", "planproof", "check"], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert broken.returncode == 2
    assert "run `dbt compile`" in broken.stderr


def test_the_command_line_loads_neither_spark_nor_dbt():
    script = (
        "import sys, planproof.cli.group\n"
        "print([m for m in ('pyspark', 'pyarrow', 'dbt', 'airflow') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"


def test_a_check_with_nothing_new_loads_neither_grammar_nor_functions(project):
    script = (
        "import runpy, sys\n"
        "sys.argv = ['planproof', 'check', '--project-dir', sys.argv[1]]\n"
        "try: runpy.run_module('planproof', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "rooms = ('sql', 'analysis', 'functions', 'optimizer')\n"
        "print([r for r in rooms if f'planproof_engine.{r}' in sys.modules])"
    )
    place = project(mart("select id from raw.orders", id="bigint"), ORDERS)
    command = [sys.executable, "-c", script, str(place)]
    cold, warm = (
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()[-1]
        for _ in range(2)
    )
    assert "'analysis'" in cold
    assert warm == "[]"


def test_check_ends_with_0_where_every_contract_is_proved(invoke, project):
    directory = project(mart("select id from raw.orders", id=ORDERS["raw.orders"]["id"]), ORDERS)
    found = invoke("check", "--project-dir", directory)
    assert found.exit_code == 0
    assert "✓ shop.mart  table" in found.output
    assert "1 proved" in found.output
    assert "1 model · 1 proved" in found.output


def test_check_ends_with_1_where_a_contract_is_broken(invoke, project, tmp_path):
    directory = project(mart("select id, amount from raw.orders", id="bigint", amount="decimal(10,2)"), ORDERS)
    page = tmp_path / "out" / "report.html"
    found = invoke("check", "--project-dir", directory, "--html", page)
    assert found.exit_code == 1
    assert "shop.mart breaks its promise" in found.output
    assert "decimal(10,2)" in found.output
    assert "<h2>shop.mart" in page.read_text()
    assert invoke("check", "--project-dir", directory, "--fail-on", "never").exit_code == 0


def test_fail_on_unproved_is_up_to_the_caller(invoke, project):
    directory = project(
        mart("select amount from raw.orders", amount={**ORDERS["raw.orders"]["id"], "data_type": "double"}), ORDERS
    )
    assert invoke("check", "--project-dir", directory).exit_code == 0
    found = invoke("check", "--project-dir", directory, "--fail-on", "unproved", "--json")
    assert found.exit_code == 1
    form = json.loads(found.stdout)
    assert (form["command"], form["project"], form["verdict"]) == ("check", "shop", "unproved")
    assert form["reports"][0]["findings"][0]["code"] == "PP506"


def test_ansi_and_settings_are_options(invoke, project):
    directory = project(mart("select '1' + 1 as x", x="double"))
    assert invoke("check", "--project-dir", directory).exit_code == 0
    assert invoke("check", "--project-dir", directory, "--ansi").exit_code == 1
    assert invoke("check", "--project-dir", directory, "--conf", "spark.sql.ansi.enabled=true").exit_code == 1


def test_the_profile_is_read_where_there_is_one(invoke, project):
    directory = project(mart("select timestamp_ntz'2020-01-01 00:00:00' as t", t="timestamp"))
    settings = "server_side_parameters: {spark.sql.timestampType: TIMESTAMP_NTZ}"
    profile = f"shop: {{outputs: {{default: {{type: spark, method: session, {settings}}}}}}}"
    assert invoke("check", "--project-dir", directory).exit_code == 1
    (directory / "profiles.yml").write_text(profile)
    assert invoke("check", "--project-dir", directory).exit_code == 0
    missing = invoke("check", "--project-dir", directory, "--target", "prod")
    assert missing.exit_code == 2
    assert "has no target 'prod'" in missing.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--project-dir", "{}/nope"], "there is no such directory; give the dbt project's"),
        (["--project-dir", "{}"], "there is no dbt_project.yml, which names the profile; give --project-dir"),
        (["--project-dir", "{}/shop", "--target", "nope"], "has no target 'nope'; it has: dev"),
        (["--project-dir", "{}/shop", "--profiles-dir", "{}"], "there is no profiles.yml in"),
    ],
)
def test_recover_refuses_what_it_cannot_look_at_before_spark_starts(invoke, tmp_path, monkeypatch, args, said):
    def started(*_):
        raise AssertionError("Spark was started")

    monkeypatch.setattr("planproof.session.open_embedded", started)
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    target = {"type": "spark", "method": "session", "schema": "shop"}
    (tmp_path / "shop" / "profiles.yml").write_text(json.dumps({"shop": {"target": "dev", "outputs": {"dev": target}}}))
    found = invoke("recover", *[arg.format(tmp_path) for arg in args])
    assert found.exit_code == 2
    assert said in found.stderr


def test_the_report_in_every_form_to_standard_output_and_to_files(invoke, project, tmp_path):
    promised = {"id": {"name": "id", "data_type": "string"}}
    config = {"contract": {"enforced": True}}
    directory = project({"mart": {"sql": "select 1 as id", "columns": promised, "config": config}})
    check = ("check", "--project-dir", directory)
    assert json.loads(invoke(*check, "--format", "json").stdout)["command"] == "check"
    assert json.loads(invoke(*check, "--json").stdout)["reports"][0]["verdict"] == "violated"
    found = invoke(*check, "--format", "github")
    assert found.exit_code == 1
    assert found.stdout.startswith("::error title=PP504")
    files = [tmp_path / "r.sarif", tmp_path / "r.xml"]
    found = invoke(*check, "--format", "sarif", "-o", files[0], "--format", "junit", "-o", files[1])
    assert found.exit_code == 1
    assert "breaks its promise" in found.stdout, "people still read"
    assert json.loads(files[0].read_text())["runs"][0]["results"][0]["ruleId"] == "PP504"
    assert "<failure" in files[1].read_text()
    for args in (["-o", "x"], ["--format", "json", "--format", "html"], ["--json", "--format", "html"]):
        assert invoke(*check, *args).exit_code == 2


def test_a_diff_names_an_option_as_it_is_written(invoke):
    result = invoke("diff", "old", "new", "--target-path", "elsewhere")
    assert result.exit_code == 2
    assert "--target-path goes with --staged" in result.output


def test_a_diff_has_the_same_forms_and_keeps_its_own_json(invoke, tmp_path, dbt_manifest):
    for name, sql in (("old", "select 1 as id, 2 as gone"), ("new", "select 1 as id, 3 as fresh")):
        (tmp_path / f"{name}.json").write_text(json.dumps(dbt_manifest({"mart": {"sql": sql}})))
    both = ("diff", tmp_path / "old.json", tmp_path / "new.json")
    found = invoke(*both, "--format", "github")
    assert found.exit_code == 1
    assert found.stdout.startswith("::error title=PP134 shop.mart")
    assert json.loads(invoke(*both, "--json").stdout)["breaking"] is True
    form = json.loads(invoke(*both, "--format", "json").stdout)
    assert [(f["code"], f["field"]) for f in form["reports"][0]["findings"]] == [("PP134", "gone"), ("PP135", "fresh")]
    assert "1 breaking, 1 safe" in invoke(*both).stdout
    assert "column removed" in invoke(*both, "--format", "markdown").stdout
    assert invoke(*both, "--format", "text", "--fail-on", "never").exit_code == 0


def test_json_of_a_check_holds_plans_where_they_are_asked_for(invoke, project, tmp_path):
    directory = project({"good": {"sql": "select 1 as id"}, "dup": {"sql": "select 1 as id, 2 as id"}})
    check = ["check", "--project-dir", directory, "--format", "json"]
    cold, warm = (json.loads(invoke(*check).stdout)["reports"] for _ in range(2))
    assert cold == warm
    said = {r["details"]["name"]: (bool(r["planes"]), "plan" in r["details"], r["sql"]) for r in cold}
    assert said == {"good": (False, False, None), "dup": (True, False, None)}
    whole = json.loads(invoke(*check, "--verbose").stdout)["reports"]
    assert [(bool(r["planes"]), "plan" in r["details"], bool(r["sql"])) for r in whole] == 2 * [(True, True, True)]
    file = tmp_path / "report.json"
    invoke(*check, "-o", str(file))
    assert json.loads(file.read_text())["reports"] == cold


def test_two_columns_of_one_name_are_said_once(invoke, project):
    found = invoke("check", "--project-dir", project({"dup": {"sql": "select 1 as id, 2 as id"}}), "--json")
    assert [f["code"] for f in json.loads(found.stdout)["reports"][0]["findings"]] == ["PP102"]


def test_a_check_of_healthy_models_loads_no_library_that_it_does_not_need(project) -> None:
    """Most of what the check of one model takes is the loading of modules."""
    folder = project({"m": {"sql": "select 1 as id", "columns": {"id": "int"}, "contract": True}})
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "planproof", "check", "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines()}
    assert ran.returncode == 0, ran.stdout
    assert "planproof_engine" in loaded
    assert not loaded & {"jinja2", "pyspark", "pyarrow", "dbt", "airflow", "ruamel", "zipfile", "asyncio"}
