"""Profiles without dbt."""

from __future__ import annotations

import pytest

from planproof.project import ProjectError
from planproof.project.profile import read_profile

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
    with pytest.raises(ProjectError, match="'duck' is of type 'duckdb'"):
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
