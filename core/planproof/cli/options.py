"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import yaml

from planproof.settings import CHOICES

F = TypeVar("F", bound=Callable[..., Any])

_DIRECTORY = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


def place(function: F) -> F:
    """--project-dir, --manifest, --profiles-dir, --target."""
    return _with(
        function,
        click.option("--project-dir", type=_DIRECTORY, default=Path(), help="The dbt project. Default: here."),
        click.option("--manifest", type=_FILE, help="A manifest.json in place of the project's target/manifest.json."),
        click.option("--profiles-dir", type=_DIRECTORY, help="Where profiles.yml is. Default: as dbt looks for it."),
        click.option("--target", "-t", help="The profile's target. Default: the profile's own."),
    )


def selection(function: F) -> F:
    """--select, --exclude."""
    syntax = "Names, globs, `+name`, `name+`, tag:, path:, config.materialized:, source:. May be repeated."
    return _with(
        function,
        click.option("--select", "-s", multiple=True, help=f"Which models. {syntax}"),
        click.option("--exclude", multiple=True, help="Which models not, in the same syntax."),
    )


def outcome(function: F) -> F:
    """--fail-on, --json, --html."""
    return _with(
        function,
        click.option(
            "--fail-on",
            type=click.Choice(CHOICES["fail_on"]),
            help="The least verdict that makes the exit code 1. Default: each model's own setting, else violated.",
        ),
        click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output."),
        click.option("--html", type=_FILE, help="Writes the report as one HTML page."),
    )


def python_functions(function: F) -> F:
    """--functions."""
    return _with(
        function,
        click.option(
            "--functions",
            metavar="MODULE:NAME",
            multiple=True,
            help="Python functions for SQL, lambdas too: a mapping {name: planproof.Function or pyspark UDF}, or one "
            "function. MODULE is looked for in the project's folder too. May be repeated.",
        ),
    )


def _with(function: F, *decorators: Callable[[F], F]) -> F:
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def settings(fail_on: str | None) -> dict[str, Any]:
    """The settings that the command line puts before the models' own."""
    return {} if fail_on is None else {"fail_on": fail_on}


def variables(given: str | None) -> Mapping[str, Any]:
    """The mapping in `--vars`, YAML or JSON as in dbt."""
    try:
        found = yaml.safe_load(given) if given else {}
    except yaml.YAMLError as error:
        raise click.BadParameter(f"is no YAML: {error}", param_hint="--vars") from error
    if not isinstance(found, Mapping):
        raise click.BadParameter("is not a mapping such as '{key: value}'", param_hint="--vars")
    return {str(key): value for key, value in found.items()}


def spark_settings(given: tuple[str, ...]) -> dict[str, str]:
    """`--conf key=value` options."""
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{text!r} is not key=value", param_hint="--conf")
        found[key.strip()] = value.strip()
    return found
