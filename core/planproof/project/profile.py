"""The Spark settings of a dbt profile, read without dbt.

profiles.yml may use `env_var('NAME', 'default')`, and what chooses between such texts or changes their case; nothing
else of dbt's Jinja.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from planproof.project.contracts import load_file, load_own
from planproof.project.reads import ProjectError
from planproof.regular import real_path
from planproof_engine import Conf, OverBudget, bounded, record

DBT_CONF = Conf(ansi=False, stated=frozenset({"ansi"}))
"""dbt-spark sets `spark.sql.ansi.enabled` to false in every session."""


class OfDatabricks(ProjectError):
    """A target of dbt-databricks, which sets nothing in the session and names no Spark that planproof reaches."""


_LONGEST = 10_000
"""Characters of a template."""
_TOO_SHORT = 3
"""Characters that are no secret, and stand in any message."""

_THRIFT = {
    "host": "host",
    "port": "port",
    "user": "username",
    "auth": "auth",
    "kerberos_service_name": "kerberos_service_name",
    "password": "password",
}


@record(frozen=True, slots=True)
class Profile:
    """One target: dbt-spark's connection method, the schema, and the session's settings as dbt-spark sets them.

    `server` names a Thrift server as `planproof.session.open_thrift` takes it; it is empty for another method.
    `written`: by what a template gave, its text in the file.
    """

    name: str
    target: str
    method: str
    schema: str
    settings: Mapping[str, str] = field(default_factory=dict)
    file: str | None = None
    threads: int = 1
    server: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict, repr=False)

    def hide(self, message: str) -> str:
        """The message with the file's text in place of what `env_var` gave: any key may hold a secret by mistake, or
        by a pull request."""
        for value in sorted(self.written, key=len, reverse=True):
            message = message.replace(value, self.written[value])
        return message


def read_profile(project_dir: str | Path, profiles_dir: str | Path | None = None, target: str | None = None) -> Profile:
    """The target that dbt would use: of `profiles_dir`, $DBT_PROFILES_DIR, the project's directory or ~/.dbt.

    dbt-spark turns ANSI off whatever the profile says. Raises `ProjectError`.
    """
    try:
        with bounded():
            return _read_profile(project_dir, profiles_dir, target)
    except OverBudget as over:
        raise ProjectError(f"{project_dir}: to render its profile takes more {over} than planproof spends") from None


def _read_profile(project_dir: str | Path, profiles_dir: str | Path | None, target: str | None) -> Profile:
    name, shown_name = _read_name(Path(project_dir))
    file, is_named = _find_file(Path(project_dir), profiles_dir)
    profiles = load_file(file) if is_named else load_profiles(file)
    profile = profiles.get(name) if isinstance(profiles, Mapping) else None
    if not isinstance(profile, Mapping):
        raise ProjectError(f"{file}: there is no profile {shown_name!r}, which dbt_project.yml names")
    shown = str(target or profile.get("target") or "default")
    wanted = str(target or render_value(profile.get("target") or "default", str(file)))
    outputs = profile.get("outputs")
    output = outputs.get(wanted) if isinstance(outputs, Mapping) else None
    if not isinstance(output, Mapping):
        known = ", ".join(map(str, outputs)) if isinstance(outputs, Mapping) else "none"
        raise ProjectError(f"{file}: the profile {shown_name!r} has no target {shown!r}; it has: {known}")
    adapter = render_value(output.get("type") or "", str(file))
    if adapter != "spark":
        # What stands in the file is shown, never what `env_var` gave: any key may hold a secret by mistake.
        kind = str(output.get("type") or "")
        refusal = OfDatabricks if adapter == "databricks" else ProjectError
        raise refusal(
            f"{file}: the target {shown!r} is of type {kind!r}; planproof reads targets of type spark. Where Spark has "
            "the same tables, name it by --conf spark.remote=sc://HOST:PORT, thrift.host=HOST or spark.master=URL"
        )
    given = output.get("server_side_parameters") or {}
    if not isinstance(given, Mapping):
        raise ProjectError(f"{file}: server_side_parameters of {shown!r} is not a mapping")
    settings = {str(key): render_value(value, f"{file}: {key}") for key, value in given.items()}
    method = render_value(output.get("method") or "", str(file))
    server = _read_server(output, str(file)) if method == "thrift" else {}
    found = {**settings, **server, "method": method}
    texts = {**given, **{f"thrift.{name}": output.get(key) for key, name in _THRIFT.items()}, **output}
    return Profile(
        name,
        wanted,
        method,
        render_value(output.get("schema") or "default", str(file)),
        {**settings, "spark.sql.ansi.enabled": "false"},
        str(file),
        _read_threads(output.get("threads", 1), str(file), f"{file}: threads of {shown!r}"),
        server,
        {v: str(texts[key]) for key, v in found.items() if "{" in str(texts.get(key)) and len(v) > _TOO_SHORT},
    )


def _read_threads(written: Any, file: str, where: str) -> int:
    given = render_value(written, file)
    if not (given.isdecimal() and len(given) < 6 and int(given) >= 1):
        raise ProjectError(f"{where} is {str(written)!r}, not a number of threads")
    return int(given)


def _read_server(output: Mapping[str, Any], file: str) -> dict[str, str]:
    """The Thrift server of a target, by dbt-spark's names for what PyHive's `connect` takes; 443 is its default port.

    Raises `ProjectError` for a server over TLS, for which PyHive alone has no way.
    """
    if render_value(output.get("use_ssl") or False, file) == "true":
        raise ProjectError(
            f"{file}: the target reaches its Thrift server with use_ssl; leave its models to `dbt build`"
        )
    given = {name: output.get(key) for key, name in _THRIFT.items()}
    found = {f"thrift.{name}": render_value(value, file) for name, value in given.items() if value is not None}
    if "thrift.host" not in found:
        raise ProjectError(f"{file}: the target of method thrift names no host")
    return {"thrift.port": "443", **found}


def load_profiles(file: Path) -> Any:
    """What a profiles.yml holds that no user named: it may be a link to the user's own. Where the project is no git
    checkout, as in an image that was built of it, it may lead wherever who built that keeps it. Raises `ProjectError`.
    """
    is_checkout = any((folder / ".git").exists() for folder in (real_path(file.parent) / file.name).parents)
    if not is_checkout:
        return load_file(file)
    try:
        return load_own(file, Path.home() / ".dbt")
    except ProjectError as error:
        next_step = "; one that lies elsewhere is named by --profiles-dir" if file.is_symlink() else ""
        raise ProjectError(f"{error}{next_step}") from None


def _find_file(project_dir: Path, profiles_dir: str | Path | None) -> tuple[Path, bool]:
    """The profiles.yml, and whether the user named its folder."""
    if profiles_dir is not None:
        places = [Path(profiles_dir)]
    else:
        from_environment = os.environ.get("DBT_PROFILES_DIR")
        places = [Path(from_environment)] if from_environment else [Path.cwd(), project_dir, Path.home() / ".dbt"]
    is_named = len(places) == 1
    for place in places:
        if (place / "profiles.yml").is_file():
            return place / "profiles.yml", is_named
    raise ProjectError(f"there is no profiles.yml in {' or '.join(map(str, places))}; give --profiles-dir")


def _read_name(project_dir: Path) -> tuple[str, str]:
    """The profile's name, and how the project's file writes it."""
    file = project_dir / "dbt_project.yml"
    if not file.is_file():
        raise ProjectError(f"{project_dir}: there is no dbt_project.yml, which names the profile; give --project-dir")
    form = load_own(file)
    name = form.get("profile") if isinstance(form, Mapping) else None
    if not isinstance(name, str):
        raise ProjectError(f"{file}: names no profile")
    return render_value(name, str(file)), name


def render_value(value: Any, where: str) -> str:
    """The text of a value, with dbt's `env_var` in it. Raises `ProjectError` for any other Jinja."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if "{{" not in text and "{%" not in text:
        return text
    if len(text) > _LONGEST:
        raise ProjectError(f"{where}: a template of {len(text):,} characters; planproof renders {_LONGEST:,} at most")
    # Jinja takes longer to import than a profile without it to read.
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    environment.globals.clear()
    environment.globals["env_var"] = lambda name, default=None: _read_env_var(name, default, where)
    environment.filters.update(dict.fromkeys(_AS_TEXT, str))
    try:
        _refuse_code(environment.parse(text))
        return environment.from_string(text).render()
    except ProjectError:
        raise
    except Exception as error:
        # Its message may hold what `env_var` gave: only the text of the file is shown.
        raise ProjectError(f"{where}: {text!r} cannot be rendered ({type(error).__name__})") from None


_VALUES = ("Const", "Name", "Call", "Keyword", "Filter", "Concat", "CondExpr", "Compare", "Operand", "And", "Or", "Not")
_READ = ("Template", "Output", "TemplateData", *_VALUES)
_AS_TEXT = ("as_bool", "as_native", "as_number", "as_text")
"""Filters of dbt's, which leave a text as it is written."""
_FILTERS = ("default", "float", "int", "lower", "string", "trim", "upper", *_AS_TEXT)


def _refuse_code(template: Any) -> None:
    """Raises ValueError for what loops, computes or looks into values: it could take for ever, and its errors would
    show them. A variable's name is written out, as an error shows it."""
    from jinja2 import nodes

    for node in (template, *template.find_all(nodes.Node)):
        kind = type(node).__name__
        is_foreign = isinstance(node, nodes.Filter) and node.name not in _FILTERS
        if isinstance(node, nodes.Call):
            named = isinstance(node.node, nodes.Name) and node.node.name == "env_var"
            is_foreign = not (named and node.args and isinstance(node.args[0], nodes.Const))
        if is_foreign or kind not in _READ:
            raise ValueError(kind)


def _read_env_var(name: str, default: str | None, where: str) -> str:
    found = os.environ.get(name, default)
    if found is None:
        raise ProjectError(f"{where}: the environment variable {name} is not set")
    return found
