"""One table of settings: every door offers those that matter to it, and refuses what it does not know."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.cli.options import option_of
from planproof.project.request import Request
from planproof.settings import BY_NAME, SETTINGS, Settings, SettingsError


def test_a_field_for_each_setting_with_its_default() -> None:
    assert [(f.name, f.default) for f in fields(Settings)] == [(s.name, s.default) for s in SETTINGS]
    assert all(not s.sentence.endswith(".") for s in SETTINGS)


@pytest.mark.parametrize("command", ["check", "run", "audit"])
def test_a_command_has_an_option_for_each_setting_that_matters_to_it(command: str) -> None:
    options = {name: option for option in cli.get_command(None, command).params for name in option.opts}
    for setting in SETTINGS:
        if command not in setting.commands:
            assert option_of(setting) not in options
            continue
        option = options[option_of(setting)]
        assert setting.sentence[1:] in (option.help or "")
        if setting.form == "choice":
            assert tuple(option.type.choices) == setting.choices


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fail_on": "violatd"}, "planproof.fail_on: 'violatd' is not one of .* did you mean 'violated'"),
        ({"fail_an": "never"}, "unknown key 'fail_an'; did you mean 'fail_on'"),
        ({"keep_rejected": "yes"}, "'yes' is not true or false"),
        ({"enforce": ["type"]}, "'type' is not one of types, .* did you mean 'types'"),
        ({"allow": ["PP10"]}, "'PP10' is not a code of planproof"),
        ({"allow": 7}, "7 is neither a name nor a list of names"),
        ({"spark": "2.4"}, "'2.4' is no version of Spark that planproof knows: 3.5, "),
        ({"spark": True}, "True is no version of Spark"),
    ],
)
def test_a_value_that_is_not_known_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Settings.of(given)
    with pytest.raises(SettingsError, match=said):
        Request("run", settings=given)


def test_what_yaml_makes_of_a_setting_is_understood() -> None:
    found = Settings.of({"rewrite": False, "allow": [{"PP101": "two ids on purpose"}, "PP102"], "spark": 3.5})
    assert (found.rewrite, found.allow, found.spark) == ("off", ("PP101", "PP102"), "3.5")


def test_what_is_only_watched_is_judged_and_never_stopped() -> None:
    given = {"fail_on": "warning", "on_violation": "quarantine", "quarantine": {"limit": 3}}
    assert Settings.of(given).in_force == Settings.of(given)
    watched = Settings.of({"guard": "watch", **given}).in_force
    assert (watched.fail_on, watched.on_violation) == ("never", "stop")
    assert Settings.of({"guard": False}).guard == "off"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--planning", "strong"), "'strong' is not one of 'warn', 'strict'"),
        (("--enforce", "types,ordre"), "'ordre' is not one of types, nullability, order, extra_columns"),
        (("--spark", "9.9"), "--spark: '9.9' is no version of Spark that planproof knows: 3.5, 4.0, 4.1, 4.2, 4.3"),
        (("--allow", "PP999"), "--allow: 'PP999' is not a code of planproof"),
    ],
)
def test_a_wrong_option_ends_with_2(args: tuple[str, ...], said: str) -> None:
    for command in ("check", "run", "audit"):
        if command not in BY_NAME[args[0].removeprefix("--")].commands:
            continue
        found = CliRunner().invoke(cli, [command, *args])
        assert (found.exit_code, said in " ".join(found.stderr.split())) == (2, True), found.output


def test_options_reach_the_models(tmp_path: Path, dbt_manifest) -> None:
    """The contract names a column of another type, and the order differs: what counts is what the command line says."""
    columns = {"b": {"name": "b", "data_type": "int"}, "a": {"name": "a", "data_type": "int"}}
    mart = {"sql": "select 1 as a, 'x' as b", "columns": columns, "config": {"contract": {"enforced": True}}}
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(dbt_manifest({"mart": mart})))

    def codes(*args: str) -> set[str]:
        found = CliRunner().invoke(cli, ["check", "--manifest", str(manifest), "--json", *args])
        findings = json.loads(found.stdout)["reports"][0]["findings"]
        return {f["code"] for f in findings if f["verdict"] == "violated"}

    assert codes() == codes("--enforce", "types") != set()
    assert codes("--enforce", "order,types") > codes("--enforce", "types")
    assert codes("--allow", ",".join(codes())) == set()


def test_an_operator_has_an_argument_for_each_setting() -> None:
    pytest.importorskip("airflow")
    import inspect

    from airflow_planproof.operators.operator import PlanproofOperator

    arguments = inspect.signature(PlanproofOperator.__init__).parameters
    for setting in SETTINGS:
        assert arguments[setting.name].default is None
        assert f":param {setting.name}: " in (PlanproofOperator.__doc__ or "")
    assert list(BY_NAME) == [name for name in arguments if name in BY_NAME]
