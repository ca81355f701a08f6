"""Options that several commands share."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import click
import yaml

from planproof.cli.output import Wanted
from planproof.project.target_folder import target_folder
from planproof.project.yaml_text import load_yaml
from planproof.report.formats import FORMATS
from planproof.session.jvm_log import log_to
from planproof.settings import BY_NAME, MAPPINGS, SETTINGS, Setting, SettingsError

F = TypeVar("F", bound=Callable[..., Any])

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Which project": ("project_dir", "manifest", "profiles_dir", "target", "target_path"),
    "Which models": ("select", "exclude", "selector", "state"),
    "The report": ("formats", "files", "as_json", "html", "markdown"),
    "Spark": ("conf", "functions"),
    "Settings, for models that do not set them": tuple(setting.name for setting in SETTINGS),
}
"""The options that several commands share, by the titles under which `--help` lists them."""

_SECTION_OF = {name: title for title, names in SECTIONS.items() for name in names}

_DIRECTORY = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)


class Sectioned(click.Command):
    """A command whose help lists its own options first, and those that several commands share in sections below. What a
    Spark that it starts says of itself goes to planproof/spark.log in dbt's target folder."""

    def invoke(self, ctx: click.Context) -> Any:
        directory, given = ctx.params.get("project_dir"), ctx.params.get("target_path")
        with log_to(lambda: target_folder(directory or Path(), given) / "planproof" / "spark.log"):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], **{title: [] for title in SECTIONS}}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                sections[_SECTION_OF.get(option.name or "", "Options")].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def find_project() -> Path:
    """The nearest folder with a dbt_project.yml, from here upwards, as dbt looks for it; here where none has one."""
    here = Path.cwd()
    for steps, folder in enumerate((here, *here.parents)):
        if (folder / "dbt_project.yml").is_file():
            return Path(*[os.pardir] * steps)
    return Path()


def project(function: F) -> F:
    """--project-dir, --manifest, --profiles-dir, --target, --target-path."""
    return _with(
        function,
        click.option(
            "--project-dir",
            type=_DIRECTORY,
            default=find_project,
            envvar="DBT_PROJECT_DIR",
            help="The dbt project. Default: DBT_PROJECT_DIR, else this folder or the nearest one above it.",
        ),
        click.option("--manifest", type=FILE, help="A manifest.json to read in place of the project's own."),
        click.option("--profiles-dir", type=_DIRECTORY, help="Where profiles.yml is. Default: as dbt looks for it."),
        click.option(
            "--target", "-t", envvar="DBT_TARGET", help="The profile's target. Default: DBT_TARGET, else its own."
        ),
        click.option(
            "--target-path",
            type=_DIRECTORY,
            help="Where dbt writes. Default: DBT_TARGET_PATH, else `target-path` of dbt_project.yml, else target.",
        ),
    )


def location(function: F) -> F:
    """The options of `project`, which the command gets as one `ProjectLocation`, `location`."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        from planproof.project import ProjectLocation

        given = {name: kwargs.pop(name) for name in SECTIONS["Which project"]}
        return function(*args, location=ProjectLocation(**given), **kwargs)

    return project(cast(F, called))


class Words(click.Option):
    """An option that takes several words, as dbt's `--select a b` does: all up to the next option."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        for name in self.opts:
            option = parser._long_opt.get(name) or parser._short_opt.get(name)
            if option is not None:
                option.process = functools.partial(_all_words, option.process)


def _all_words(process: Callable[[Any, Any], None], value: Any, state: Any) -> None:
    process(value, state)
    while state.rargs and not state.rargs[0].startswith("-"):
        process(state.rargs.pop(0), state)


def selection(function: F) -> F:
    """--select, --exclude, --selector, --state."""
    syntax = (
        "dbt's syntax: names, globs, `+name`, `name+`, tag:, path:, config.materialized:, source:; the rest (state:, "
    )
    syntax += "result:, package:, `@name`, ...) where dbt is installed. Several words, or repeated."
    return _with(
        function,
        click.option("--select", "-s", cls=Words, multiple=True, help=f"Which models, in {syntax}"),
        click.option("--exclude", cls=Words, multiple=True, help="Models to leave out, in the same syntax."),
        click.option("--selector", help="A selector of the project's selectors.yml, in place of --select."),
        click.option(
            "--state",
            type=_DIRECTORY,
            envvar="DBT_STATE",
            help="The folder of an older manifest.json, for state: and result:.",
        ),
    )


def report_options(function: F) -> F:
    """--fail-on, and the report's forms."""
    return _with(report(function), _setting_option(BY_NAME["fail_on"]))


def report(function: F) -> F:
    """--format and -o, and the older --json, --html, --markdown; the command gets them as one `Wanted`, `wanted`."""

    @functools.wraps(function)
    def called(
        *args: Any, as_json: bool, html: Path | None, markdown: Path | None, formats: Any, files: Any, **kwargs: Any
    ) -> Any:
        return function(*args, wanted=Wanted.of(as_json, html, markdown, formats, files), **kwargs)

    return _with(
        cast(F, called),
        click.option(
            "--format",
            "formats",
            type=click.Choice(FORMATS),
            multiple=True,
            help="The form of the report. Default: text.",
        ),
        click.option(
            "-o",
            "--output",
            "files",
            type=FILE,
            multiple=True,
            metavar="FILE",
            help="Writes the report in --format to FILE. Repeat the two for more forms.",
        ),
        click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output."),
        click.option("--html", type=FILE, help="Writes the report as one HTML page."),
        click.option("--markdown", type=FILE, help="Writes the report as Markdown, for a comment on a pull request."),
    )


verbose = click.option(
    "--verbose", is_flag=True, help="JSON also has plans, lineage, and what was read of healthy models."
)
"""For commands about many models."""

cache = click.option(
    "--cache/--no-cache", default=True, help="Whether results of earlier checks are used. Default: yes."
)
sources = click.option("--sources", type=FILE, help="A freeze file with source schemas.")


def settings(command: str) -> Callable[[F], F]:
    """One option for each setting that can matter to the command, which gets those that were given as one mapping,
    `settings`."""
    offered = [setting for setting in SETTINGS if command in setting.commands]

    def decorated(function: F) -> F:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            found = {s.name: _parse_value(s, kwargs.pop(s.name)) for s in offered}
            given = {name: value for name, value in found.items() if value is not None}
            return function(*args, settings=given, **kwargs)

        return _with(cast(F, called), *(_setting_option(setting) for setting in offered))

    return decorated


def option_of(setting: Setting) -> str:
    """The name of a setting's option, such as `--fail-on`."""
    return f"--{setting.name.replace('_', '-')}"


def _setting_option(setting: Setting) -> Callable[[F], F]:
    name = option_of(setting)
    default = ", ".join(setting.default) if isinstance(setting.default, tuple) else str(setting.default or "").lower()
    said = f"{setting.sentence[0].upper()}{setting.sentence[1:]}."
    said += f" Default: {default}." if default else ""
    if setting.form == "flag":
        return click.option(f"{name}/--no-{name[2:]}", setting.name, default=None, help=said)
    if setting.form == "names":
        metavar = "NAMES" if setting.choices else "CODES"
        return click.option(
            name, setting.name, multiple=True, metavar=metavar, help=f"{said} With commas, or repeated."
        )
    if setting.form not in ("choice", "flag"):
        metavar = {"spark": "VERSION", "column": "COLUMN"}.get(setting.form, "YAML")
        return click.option(name, setting.name, metavar=metavar, help=said)
    return click.option(name, setting.name, type=click.Choice(setting.choices), help=said)


def _parse_value(setting: Setting, value: Any) -> Any:
    """A setting's value on the command line; None where it is not given."""
    if setting.form not in ("names", "spark", *MAPPINGS):
        return value
    if not value:
        return None
    if setting.form in MAPPINGS:
        value = _parse_yaml(value, option_of(setting))
    if setting.form == "names":
        value = [name.strip() for text in value for name in text.split(",") if name.strip()]
    try:
        found = setting.check_value(value, option_of(setting))
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    # A request is written as JSON: a mapping stays one.
    return value if setting.form in MAPPINGS else found


def spark(function: F) -> F:
    """--conf, which the command gets as `conf`."""
    return _with(
        function,
        click.option(
            "--conf",
            multiple=True,
            metavar="KEY=VALUE",
            help="A Spark setting, before the profile's. spark.remote names a Spark Connect server, thrift.host a "
            "Thrift server (with thrift.port, thrift.username, thrift.auth, ...). May be repeated.",
        ),
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


def convert_to_plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a `Request` takes them: texts for paths."""
    return {key: str(value) if isinstance(value, Path) else value for key, value in given.items()}


def parse_vars(given: str | None) -> Mapping[str, Any]:
    """The mapping in `--vars`, YAML or JSON as in dbt."""
    found = _parse_yaml(given, "--vars") if given else {}
    if not isinstance(found, Mapping):
        raise click.BadParameter("is not a mapping such as '{key: value}'", param_hint="--vars")
    return {str(key): value for key, value in found.items()}


def _parse_yaml(given: str, option: str) -> Any:
    try:
        return load_yaml(given)
    except yaml.YAMLError as error:
        raise click.BadParameter(f"is no YAML: {error}", param_hint=option) from error


def parse_conf(given: tuple[str, ...]) -> dict[str, str]:
    """`--conf key=value` options."""
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{text!r} is not key=value", param_hint="--conf")
        found[key.strip()] = value.strip()
    return found
