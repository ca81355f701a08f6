"""Profiles without dbt."""

from __future__ import annotations

import pytest

from planproof.project import ProjectError
from planproof.project.location import ProjectLocation
from planproof.project.profile import read_profile
from planproof.project.request import Request

PROFILES = """
shop:
  target: "{{ env_var('SHOP_TARGET', 'dev') }}"
  outputs:
    dev:
      type: spark
      method: session
      schema: shop
      server_side_parameters:
        spark.sql.session.timeZone: UTC
        spark.sql.shuffle.partitions: 2
        spark.sql.ansi.enabled: true
        spark.sql.warehouse.dir: "{{ env_var('SHOP_HOME') }}/warehouse"
    duck: {type: duckdb}
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    monkeypatch.setenv("SHOP_HOME", "/home/shop")
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "profiles.yml").write_text(PROFILES)
    return tmp_path


def test_settings_are_texts_and_ansi_is_off_as_dbt_spark_has_it(shop):
    profile = read_profile(shop)
    assert (profile.name, profile.target, profile.method, profile.schema) == ("shop", "dev", "session", "shop")
    assert profile.settings == {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.warehouse.dir": "/home/shop/warehouse",
    }


def test_the_environment_names_the_directory_and_the_target(shop, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (shop / "profiles.yml").rename(elsewhere / "profiles.yml")
    monkeypatch.setenv("DBT_PROFILES_DIR", str(elsewhere))
    assert read_profile(shop).file == str(elsewhere / "profiles.yml")
    monkeypatch.setenv("SHOP_TARGET", "duck")
    with pytest.raises(ProjectError, match=r"env_var\('SHOP_TARGET', 'dev'\).* is of type 'duckdb'"):
        read_profile(shop)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("other: {}", "there is no profile 'shop'"),
        ("shop: {target: x, outputs: {dev: {type: spark}}}", "has no target 'x'; it has: dev"),
        ("shop: {outputs: {default: {type: spark, server_side_parameters: [1]}}}", "is not a mapping"),
        ("shop: {target: \"{{ env_var('NOT_SET_ANYWHERE') }}\"}", "NOT_SET_ANYWHERE is not set"),
        ("shop: {target: \"{{ ''.__class__.__mro__ }}\"}", "cannot be rendered"),
        ("shop: {target: \"{{ var('x') }}\"}", "cannot be rendered"),
    ],
)
def test_profiles_that_cannot_be_used(shop, text, said):
    (shop / "profiles.yml").write_text(text)
    with pytest.raises(ProjectError) as caught:
        read_profile(shop)
    assert said in str(caught.value)


def test_a_directory_without_profiles(shop, tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(ProjectError, match=r"there is no profiles\.yml in"):
        read_profile(shop, tmp_path / "none")


SERVERS = """
shop:
  target: dev
  outputs:
    dev: {type: spark, method: session, host: NA, schema: shop, threads: "{{ env_var('SHOP_THREADS', '3') }}"}
    connect: {type: spark, method: session, schema: shop, server_side_parameters: {spark.remote: "sc://here:15002"}}
    thrift:
      {type: spark, method: thrift, host: here, port: 10001, user: ada, auth: LDAP, password: secret, schema: shop}
    bare: {type: spark, method: thrift, host: here, user: ada, schema: shop}
    tls: {type: spark, method: thrift, host: here, user: ada, schema: shop, use_ssl: true}
    none: {type: spark, method: session, schema: shop, threads: 0}
    cloud: {type: spark, method: http, host: there, schema: shop}
    odd: {type: spark, method: session, schema: "{{ target.name }}"}
"""


@pytest.fixture
def servers(tmp_path):
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "profiles.yml").write_text(SERVERS)
    return tmp_path


def test_a_thrift_target_names_its_server(servers):
    assert read_profile(servers, servers, "thrift").server == {
        "thrift.host": "here",
        "thrift.port": "10001",
        "thrift.username": "ada",
        "thrift.auth": "LDAP",
        "thrift.password": "secret",
    }
    # dbt-spark's default port.
    assert read_profile(servers, servers, "bare").server["thrift.port"] == "443"
    assert (read_profile(servers, servers).threads, read_profile(servers, servers).server) == (3, {})
    with pytest.raises(ProjectError, match="with use_ssl"):
        read_profile(servers, servers, "tls")
    with pytest.raises(ProjectError, match="threads of 'none' is '0'"):
        read_profile(servers, servers, "none")


@pytest.mark.parametrize(
    ("target", "settings", "said"),
    [
        ("dev", {}, None),
        ("dev", {"spark.remote": "sc://there"}, None),
        ("connect", {"spark.remote": "sc://here:15002"}, None),
        ("thrift", {"thrift.host": "here", "thrift.port": "10001"}, None),
        ("dev", {"thrift.host": "there"}, "would run on the Thrift server there:10000"),
        ("connect", {"spark.remote": "sc://there"}, "would run on the Spark Connect server sc://there"),
        ("thrift", {"spark.remote": "sc://there"}, "would run on the Spark Connect server sc://there"),
        ("thrift", {"thrift.host": "here"}, "would run on the Thrift server here:10000"),
    ],
)
def test_a_server_that_dbt_would_not_ask_is_refused(servers, target, settings, said):
    location = ProjectLocation(servers, None, servers, target)
    if said is None:
        location.refuse_other_server(settings)
        return
    with pytest.raises(ProjectError, match=said):
        location.refuse_other_server(settings)


def test_the_session_is_the_target_s(servers, monkeypatch):
    opened = []
    for way in ("open_embedded", "open_connect", "open_thrift"):
        monkeypatch.setattr(f"planproof.session.{way}", lambda conf, way=way: opened.append((way, conf)))
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setenv("DBT_PROFILES_DIR", str(servers))

    def open_session(target, **settings):
        ProjectLocation(servers, None, None, target).open_session(
            {key.replace("_", "."): v for key, v in settings.items()}
        )
        return opened[-1]

    assert open_session(None)[0] == "open_embedded"
    assert open_session("connect")[0] == "open_connect"
    assert open_session("thrift", spark_x="1") == (
        "open_thrift",
        {**read_profile(servers, servers, "thrift").server, "spark.sql.ansi.enabled": "false", "spark.x": "1"},
    )
    assert open_session("thrift", spark_remote="sc://a")[0] == "open_connect"
    monkeypatch.setenv("SPARK_REMOTE", "sc://env")
    assert open_session(None)[1]["spark.remote"] == "sc://env"
    with pytest.raises(ProjectError, match="connects by 'http'; planproof reaches Spark by"):
        open_session("cloud")


def test_a_profile_that_only_dbt_reads_needs_a_master(servers, monkeypatch):
    """What the settings say then is where Spark is; any other setting leaves the profile to be asked."""
    (servers / "profiles.yml").write_text(SERVERS.replace("target: dev", "target: odd"))
    opened = []
    monkeypatch.setattr("planproof.session.open_embedded", opened.append)
    monkeypatch.setenv("DBT_PROFILES_DIR", str(servers))
    with pytest.raises(ProjectError, match="cannot be rendered"):
        ProjectLocation(servers).open_session({"spark.sql.shuffle.partitions": "2"})
    ProjectLocation(servers).open_session({"spark.master": "local[1]"})
    assert opened[0]["spark.sql.ansi.enabled"] == "false"
    assert ProjectLocation(servers).threads() == 1


@pytest.mark.parametrize(("method", "starts"), [("session", ["Spark", "dbt"]), ("thrift, host: h", ["dbt"])])
def test_a_check_that_compiles_starts_spark_itself(tmp_path, monkeypatch, method, starts):
    """dbt takes the session that runs: what the JVM says then goes to planproof's file, as in a run."""
    began = []

    class Dbt:
        def missing(self):
            return None

        def compile_project(self, *args, **named):
            began.append("dbt")
            raise ProjectError("the warehouse is away")

    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    target = f"{{type: spark, schema: shop, method: {method}}}"
    (tmp_path / "profiles.yml").write_text(f"shop: {{target: dev, outputs: {{dev: {target}}}}}\n")
    monkeypatch.setattr("planproof.session.open_embedded", lambda conf: began.append("Spark"))
    with pytest.raises(ProjectError, match="the warehouse is away"):
        Request("check", project_dir=str(tmp_path), compiles=True, compiler=Dbt()).reports(None)
    assert began == starts
