"""An error about profiles.yml shows what stands in the file, never what the environment gave."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.project.profile import read_profile, render_value
from planproof.project.reads import ProjectError
from planproof_engine import bounded, budget
from planproof_engine.conf import SETTINGS, UNFOLLOWED

SECRET = "hunter2-of-the-environment"
VALUE = "{{ env_var('DBT_SECRET') }}"
SOUND = {"type": "spark", "method": "session", "schema": "shop", "threads": "1", "host": "NA"}


@pytest.mark.parametrize(
    "key", ["type", "threads", "method", "schema", "use_ssl", "host", "port", "server_side_parameters"]
)
@pytest.mark.parametrize(
    "of",
    [
        *("{v}", "x{v}", "{v}.nothing", "{{{{ env_var('DBT_SECRET').nothing.more }}}}", "{v}{{% if %}}"),
        "{{{{ {{}}[env_var('DBT_SECRET')] }}}}",
        "{{{{ env_var(env_var('DBT_SECRET')) }}}}",
        "{{{{ 1 / env_var('DBT_SECRET') }}}}",
        "{{{{ env_var('DBT_SECRET') | int(5, 99) }}}}",
        "{{{{ env_var('DBT_SECRET') | nofilter }}}}",
    ],
)
@pytest.mark.parametrize("method", ["session", "thrift"])
def test_no_error_tells_a_secret(
    key: str, of: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_SECRET", SECRET)
    given = {**SOUND, "method": method, key: of.format(v=VALUE)}
    lines = "\n".join(f'          {name}: "{value}"' for name, value in given.items())
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "profiles.yml").write_text(f"shop:\n  target: dev\n  outputs:\n    dev:\n{lines}\n")
    said = ""
    try:
        read_profile(tmp_path, tmp_path)
    except ProjectError as error:
        said = f"{error} {error.__context__!r}"
    assert SECRET not in said


@pytest.mark.parametrize(
    "text",
    [
        "{{ 10 ** 10 ** 10 }}",
        "{{ 'a' * 10 ** 10 }}",
        "{% for a in 'xxxxxxxxxx' %}{% for b in 'xxxxxxxxxx' %}{{ a }}{% endfor %}{% endfor %}",
        "{{ cycler.__init__ }}",
        "{{ ''.__class__ }}",
        "{{ 'a'.join(env_var('HOME')) }}",
        "{% include '/etc/passwd' %}",
    ],
)
def test_a_profile_computes_nothing(text: str) -> None:
    with pytest.raises(ProjectError, match="cannot be rendered"):
        render_value(text, "profiles.yml")


@pytest.mark.parametrize("text", ["{{ 'a' }}" * 10**5, "{{ " + " ~ ".join(["'a'"] * 10**5) + " }}"])
def test_a_template_is_short(text: str) -> None:
    """Jinja takes a minute for some megabytes."""
    began = time.process_time()
    with pytest.raises(ProjectError, match="characters") as refused:
        render_value(text, "profiles.yml")
    assert time.process_time() - began < 1
    assert len(str(refused.value)) < 1000


def test_many_templates_end_with_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded.__wrapped__, "__defaults__", (0.3, budget.BYTES))
    parameters = {f"spark.{i}": "{{ 'a' }}" * 1000 for i in range(300)}
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "profiles.yml").write_text(
        json.dumps({"shop": {"target": "dev", "outputs": {"dev": {**SOUND, "server_side_parameters": parameters}}}})
    )
    with pytest.raises(ProjectError, match="seconds of the processor"):
        read_profile(tmp_path, tmp_path)


def test_a_profile_chooses_between_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_TARGET_KIND", " Prod ")
    for text, found in (
        ("{{ env_var('DBT_TARGET_KIND') | trim | lower }}_x", "prod_x"),
        ("{{ 'a' if env_var('NONE_SUCH', 'b') == 'b' else 'c' }}", "a"),
        ("{{ env_var('NONE_SUCH', '8') | as_number }}", "8"),
        ("{{ 'u_' ~ env_var('DBT_TARGET_KIND') }}", "u_ Prod "),
    ):
        assert render_value(text, "profiles.yml") == found


@pytest.mark.parametrize("place", ["profile", "target"])
def test_no_name_tells_a_secret(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_SECRET", SECRET)
    profile, target = (VALUE if place == name else "shop" for name in ("profile", "target"))
    (tmp_path / "dbt_project.yml").write_text(f'name: shop\nprofile: "{profile}"\n')
    (tmp_path / "profiles.yml").write_text(f'shop:\n  target: "{target}"\n  outputs: {{dev: {{type: spark}}}}\n')
    with pytest.raises(ProjectError) as caught:
        read_profile(tmp_path, tmp_path)
    assert SECRET not in str(caught.value)
    assert VALUE in str(caught.value)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dbt_manifest: Any) -> Path:
    """A compiled project, in whose folder the test is."""
    monkeypatch.setenv("DBT_SECRET", SECRET)
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "target").mkdir()
    times = "select current_timestamp() as a, cast(current_date() as timestamp_ntz) as b"
    promised = {"columns": {"a": "int"}, "contract": True}
    models = {"m": f"select a > b as a from ({times})", "n": "select '${spark.x}', '${spark.sql.session.timeZone}'"}
    manifest = dbt_manifest({name: {"sql": sql, **promised} for name, sql in models.items()})
    (tmp_path / "target" / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_profile(home: Path, **given: Any) -> None:
    target = {**SOUND, **given}
    (home / "profiles.yml").write_text(json.dumps({"shop": {"target": "dev", "outputs": {"dev": target}}}))


@pytest.mark.parametrize("key", sorted({*SETTINGS, *UNFOLLOWED, "spark.x"}))
def test_no_finding_tells_what_a_setting_was_given(key: str, shop: Path) -> None:
    """A pull request may set what it wants to see."""
    write_profile(shop, server_side_parameters={key: VALUE})
    for words in (["check", "--no-cache"], ["check", "--no-cache", "--json", "--verbose"], ["explain", "m", "--plan"]):
        said = CliRunner().invoke(cli, words).output
        assert said
        assert SECRET not in said


@pytest.mark.parametrize("key", ["host", "port", "auth", "user", "kerberos_service_name", "method"])
@pytest.mark.parametrize("command", ["freeze", "audit", "recover"])
def test_no_failure_to_connect_tells_a_secret(
    key: str, command: str, shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("pyhive.hive")
    write_profile(shop, **{"method": "thrift", "host": "127.0.0.1", "port": "9", key: VALUE})
    said = CliRunner().invoke(cli, [command])
    assert said.exit_code == 2
    assert SECRET not in said.output + caplog.text
    assert "internal error" not in said.output
    if key in ("host", "port", "auth", "method"):
        assert VALUE in said.output.replace("\n", " ")
