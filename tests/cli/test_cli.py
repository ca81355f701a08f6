"""The command line without Spark: what it says, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from planproof.cli.group import COMMANDS, cli
from planproof_engine.codes import CODES


@pytest.fixture
def invoke():
    return lambda *args, **more: CliRunner().invoke(cli, [str(arg) for arg in args], **more)


@pytest.fixture
def project(tmp_path, dbt_manifest):
    """Writes a manifest into a project directory and returns the directory."""

    def write(*args, **kwargs):
        (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
        (tmp_path / "target").mkdir(exist_ok=True)
        (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(*args, **kwargs)))
        return tmp_path

    return write


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


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_explained(invoke, code):
    found = invoke("explain", code.lower())
    assert found.exit_code == 0
    assert CODES[code].next_step in found.output
    assert json.loads(invoke("explain", code, "--json").output)["meaning"] == CODES[code].meaning


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


ORDERS = {"raw.orders": {"id": {"data_type": "bigint", "constraints": [{"type": "not_null"}]}, "amount": "double"}}


def mart(sql, **columns):
    return {"mart": {"sql": sql, "parents": ["raw.orders"], "contract": True, "columns": columns}}


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


def test_explain_shows_rewritings_before_and_after(invoke, project):
    before = "transform(split(o.who, ','), x -> concat(x, upper(o.who)))"
    sql = f"select {before} as r from (select cast(id as string) as who from raw.orders) o"
    directory = project(mart(sql, r="array<string>"), ORDERS)
    found = invoke("explain", "mart", "--rewrites", "--project-dir", directory)
    assert found.exit_code == 0
    after = "transform(array(upper(o.who)), v1 -> transform(split(o.who, ','), x -> concat(x, v1)))[0]"
    assert f"hoist_invariants (line 1)\n  before  {before}\n  after   {after}" in found.output
    form = json.loads(invoke("explain", "mart", "--rewrites", "--json", "--project-dir", directory).output)
    assert form["rewrites"] == [{"rule": "hoist_invariants", "before": before, "after": after}]


def test_explain_says_that_no_rule_fires(invoke, project):
    directory = project(mart("select id + 1 as next from raw.orders", next="bigint"), ORDERS)
    found = invoke("explain", "mart", "--rewrites", "--project-dir", directory)
    assert found.output.endswith("no rule fires: the compiled text runs byte for byte\n")


def test_files_of_packages_are_named_as_they_lie_and_their_models_in_one_line(invoke, project):
    root = project({f"m{i}": {"sql": "select 1 as id"} for i in range(8)})
    file = root / "target" / "manifest.json"
    manifest = json.loads(file.read_text())
    for node in manifest["nodes"].values():
        if node["name"] != "m0":
            node["package_name"] = "bought"
    file.write_text(json.dumps(manifest))
    explained = invoke("explain", "m1", "--project-dir", root).output
    assert "(dbt_packages/bought/models/m1.sql)" in explained
    assert "(models/m0.sql)" in invoke("explain", "m0", "--project-dir", root).output
    said = invoke("infer", "--dry-run", "--project-dir", root).output
    left = [line for line in said.splitlines() if line.startswith("left out")]
    assert left == [
        "left out m1, m2, m3, m4, m5 and 2 more (--json names them): of the package bought, whose files are not this "
        "project's"
    ]


def test_explain_answers_of_each_column_first(invoke, project):
    sql = "select id, id + 1 as next, nullif(id, 0) as most, '' as text from raw.orders where id is not null"
    directory = project(mart(sql), ORDERS)
    found = invoke("explain", "mart", "--project-dir", directory)
    assert found.exit_code == 0
    first, _, head, *rows = found.output.splitlines()
    assert (first, head.split()) == ("shop.mart (models/mart.sql)", ["column", "type", "null", "why"])
    cells = [row.split(None, 3) for row in rows]
    assert [cell[:3] for cell in cells] == [
        ["id", "bigint", "never"],
        ["next", "bigint", "never"],
        ["most", "bigint", "maybe"],
        ["text", "string", "never"],
    ]
    assert "declares it NOT NULL" in cells[0][3]
    assert cells[3][3] == "it is never null"
    assert cells[2][3] == "nothing excludes it"


def test_explain_says_of_an_aggregate_why_it_is_never_null(invoke, project):
    directory = project(mart("select count(*) as n, count(id) as m, max(id) as k from raw.orders"), ORDERS)
    rows = invoke("explain", "mart", "--project-dir", directory).output.splitlines()[3:]
    assert [row.split(None, 3)[2:] for row in rows] == [
        ["never", "count(*) is never null"],
        ["never", "count(..) is never null"],
        ["maybe", "nothing excludes it"],
    ]


def test_explain_shows_the_plan(invoke, project):
    directory = project(mart("select id + 1 as next from raw.orders", next="bigint"), ORDERS)
    found = invoke("explain", "mart", "--plan", "--project-dir", directory)
    assert found.exit_code == 0
    assert found.output.startswith("shop.mart (models/mart.sql)\n\nProject")
    assert "next" in found.output
    form = json.loads(invoke("explain", "mart", "--project-dir", directory, "--json").output)
    assert form["schema"][0]["name"] == "next"
    sql = invoke("explain", "mart", "--project-dir", directory, "--sql").output
    assert sql.startswith("SELECT `next`\nFROM (\n  SELECT (id + CAST(1 AS BIGINT)) AS `next`\n")
    wrong = invoke("explain", "marts", "--project-dir", directory)
    assert wrong.exit_code == 2
    assert "did you mean 'mart'?" in wrong.stderr


def test_explain_names_where_the_unknown_begins(invoke, project):
    models = {
        "stg": {"sql": "select id from raw.orders", "parents": ["raw.orders"], "config": {"materialized": "view"}},
        "mart": {"sql": "select id from shop.stg join raw.a using (id)", "parents": ["raw.a", "stg"]},
    }
    directory = project(models, {"raw.a": {}, "raw.orders": {}})
    assert "run `planproof freeze`" in invoke("explain", "stg", "--project-dir", directory).stderr
    found = invoke("explain", "mart", "--project-dir", directory)
    assert found.exit_code == 2
    assert "the schema of shop.stg: not read offline" in found.stderr
    assert "it begins with raw.orders: the source raw.orders declares no complete columns" in found.stderr


CASES = [
    {
        "id": "a",
        "setup": ["SET spark.sql.ansi.enabled=false"],
        "query": "select x, '1' + 1 as y from t",
        "relations": {"t": [["x", "array<struct<a:int>>", False]]},
        "ansi": True,
    },
    {"id": "b", "query": "select nope from t", "relations": {"t": [["x", "int", True]]}},
    {"id": "c", "query": "select x from t version as of 3", "relations": {"t": [["x", "int", True]]}},
    {"id": "d", "query": "select 1", "relations": {"t": [["x", "no such type", True]]}},
    {"id": "e"},
    {"id": "f", "query": "select 1 as one", "relations": 7},
    {"id": "g", "query": f"select {'(' * 50_000}1{')' * 50_000}"},
    {"id": "h", "sql": "select 1 as one"},
]


def answers(text):
    return {form["id"]: form for form in map(json.loads, text.splitlines())}


def test_derive_answers_every_case(invoke):
    lines = "\n".join([*map(json.dumps, CASES), "", "{no json", "[]"])
    found = invoke("derive", "-", input=lines)
    assert found.exit_code == 0
    said = answers(found.stdout)
    x, y = said["a"]["schema"]
    assert x.pop("relation").split(".")[-1] == "t"
    assert x == {
        "name": "x",
        "type": "array<struct<a:int>>",
        "type_json": {
            "type": "array",
            "elementType": {
                "type": "struct",
                "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}],
            },
            "containsNull": True,
        },
        "nullable": False,
    }
    assert (y["type"], y["type_json"], y["relation"]) == ("double", "double", None)
    assert said["b"]["error"].startswith("UNRESOLVED_COLUMN")
    assert (said["b"]["line"], said["b"]["column"]) == (1, 8)
    assert all(set(said[case]) == {"id", "unknown"} for case in "cdefgh")
    assert said["h"]["unknown"] == "line 8 has no `query`"
    assert len(found.stdout.splitlines()) == len(CASES) + 2


@pytest.mark.parametrize(("spark", "spelled"), [("4.0", "string collate UTF8_LCASE"), ("4.3", "string")])
def test_a_collation_stands_in_a_type_s_json_as_each_spark_writes_it(invoke, spark, spelled):
    """Since 4.3 Spark keeps it in the metadata of the field around, before that of a struct's field alone; asked of
    4.0.5, 4.1.4, 4.2.1 and 4.3.0."""
    text = "'a' collate utf8_lcase"
    query = f"select map({text}, array(named_struct('f', {text}))) m"
    found = invoke("derive", "-", input=json.dumps({"id": "a", "query": query, "spark": spark}))
    [field] = answers(found.stdout)["a"]["schema"]
    lcase = "string collate UTF8_LCASE"
    assert field["type"] == f"map<{lcase},array<struct<f:{lcase}>>>"
    assert field["type_json"]["keyType"] == spelled
    assert field["type_json"]["valueType"]["elementType"]["fields"][0]["type"] == "string"


def test_derive_works_where_neither_java_nor_pyspark_is_installed(tmp_path):
    (tmp_path / "cases.jsonl").write_text(json.dumps(CASES[0]) + "\n")
    script = (
        "import sys\n"
        "for name in ('pyspark', 'py4j', 'pyarrow', 'dbt', 'airflow'): sys.modules[name] = None\n"
        "from planproof.cli import main\n"
        "sys.argv = ['planproof', 'derive', 'cases.jsonl', '-o', 'out/answers.jsonl']\n"
        "main()"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, timeout=60, env={"PATH": "/nowhere"})
    assert answers((tmp_path / "out" / "answers.jsonl").read_text())["a"]["schema"][0]["name"] == "x"


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

    monkeypatch.setattr("planproof.session.embedded", started)
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


def test_a_plan_shows_lambdas_as_they_were_written_and_wraps(invoke, project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    sql = "select transform(array(1, 2), i -> i + 1) as xs, aggregate(array(1), 0, (acc, x) -> acc + x) as total"
    found = invoke("explain", "late", "--plan", "--project-dir", project({"late": {"sql": sql}})).output
    assert "i -> (i + 1)" in found
    assert "(acc, x) ->" in found
    assert "namedlambdavariable" not in found
    assert max(map(len, found.splitlines())) <= 60


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
