"""What a user may configure, per project, folder, model, operator argument or CLI option: one table for all doors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planproof.limits import LimitError, Limits
from planproof.quarantine import Quarantine, QuarantineError
from planproof_engine import CODES, SPARKS, UnknownSpark, evolve, record, spark_version

NO_LIMITS = Limits()
ANY_ROWS = Quarantine()
ENFORCEABLE = ("types", "nullability", "order", "extra_columns")


MAPPINGS: Mapping[str, type[Limits] | type[Quarantine]] = {"limits": Limits, "quarantine": Quarantine}
"""The forms of settings that are mappings, each with the function that reads it."""


class SettingsError(ValueError):
    """A key or a value that planproof does not know; the message suggests the nearest one that it does."""


@record(frozen=True, slots=True)
class Setting:
    """One setting as every door offers it: its name, what it takes, its default, one sentence about it.

    `form` is `choice` (one of `choices`), `names` (any number of `choices`, or of planproof's codes where there are
    none), `flag` (true or false), `limits` and `quarantine` (a mapping each),
    `column` (a column's name), or `spark` (a version of Spark). The sentence does not end with a full stop.
    `commands` are those of the command line that offer it: those whose outcome it can change.
    """

    name: str
    form: str
    default: str | bool | tuple[str, ...] | Limits | Quarantine
    sentence: str
    choices: tuple[str, ...] = ()
    commands: tuple[str, ...] = ("check", "run", "audit")

    def check_value(self, value: Any, where: str) -> Any:
        """The value as `Settings` holds it. Raises `SettingsError`, which begins with `where`."""
        if self.form == "flag":
            if not isinstance(value, bool):
                raise SettingsError(f"{where}: {value!r} is not true or false")
            return value
        if self.form == "names":
            return self._check_names(value, where)
        if self.form == "column":
            if not isinstance(value, str):
                raise SettingsError(f"{where}: {value!r} is not the name of a column")
            return value
        if self.form == "spark":
            return _check_spark(value, where)
        if self.form in MAPPINGS:
            return _check_mapping(MAPPINGS[self.form], value, where)
        # YAML 1.1 reads a bare `on` and `off` as booleans.
        text = ("on" if value else "off") if isinstance(value, bool) else value
        if text not in self.choices:
            raise SettingsError(
                f"{where}: {value!r} is not one of {', '.join(self.choices)}{_find_nearest(str(value), self.choices)}"
            )
        return text

    def _check_names(self, value: Any, where: str) -> tuple[str, ...]:
        given = (value,) if isinstance(value, str) else value or ()
        if not isinstance(given, Iterable):
            raise SettingsError(f"{where}: {value!r} is neither a name nor a list of names")
        # `allow` may give a reason for each code: {PP101: "two ids on purpose"}.
        names = [str(next(iter(name), "")) if isinstance(name, Mapping) else str(name) for name in given]
        known = self.choices or tuple(CODES)
        for name in names:
            if name not in known:
                kinds = f"one of {', '.join(known)}" if self.choices else "a code of planproof (`planproof explain`)"
                raise SettingsError(f"{where}: {name!r} is not {kinds}{_find_nearest(name, known)}")
        return tuple(names)


SETTINGS = (
    Setting(
        "guard",
        "choice",
        "on",
        "on: a model is published only if its contract holds; watch: it is published unless Spark or dbt refuses it, "
        "and a warning says what would have stopped it; off: planproof leaves it to dbt, which may drop the table and "
        "then fail",
        ("on", "watch", "off"),
    ),
    Setting(
        "fail_on",
        "choice",
        "violated",
        "the mildest verdict that fails the command, the dbt node or the task",
        ("violated", "unproved", "warning", "never"),
    ),
    Setting("enforce", "names", ENFORCEABLE, "which terms of a contract are enforced", ENFORCEABLE),
    Setting("allow", "names", (), "codes of findings to accept, such as PP101: they become warnings"),
    Setting(
        "planning",
        "choice",
        "warn",
        "what a difference between planproof's plan and Spark's is; warn: a warning; strict: a violation",
        ("warn", "strict"),
    ),
    Setting(
        "unproved",
        "choice",
        "count",
        "a promise that even the audit can neither prove nor break; count: is a violation; allow: stays unproved",
        ("count", "allow"),
    ),
    Setting(
        "rewrite",
        "choice",
        "on",
        "on: faster SQL with the same result runs in place of the compiled text; suggest: it is only reported, the "
        "default inside dbt; off: none is looked for",
        ("off", "suggest", "on"),
    ),
    Setting(
        "batches",
        "choice",
        "sample",
        "how many row groups of the written Parquet files are decoded and validated",
        ("off", "sample", "all"),
        commands=("run", "audit"),
    ),
    Setting(
        "changes",
        "choice",
        "values",
        "what a publish reports of how the table changes; values: rows, nulls, and each column's least and greatest "
        "value; counts: rows and nulls alone; off: nothing",
        ("off", "counts", "values"),
        commands=("run",),
    ),
    Setting(
        "limits",
        "limits",
        NO_LIMITS,
        "bounds for the table as a publish would leave it; a publish that breaks one is stopped. Such as {rows: {min: "
        "1, change: -20%..+50%}, nulls: {amount: 1%}, partition_rows: -20%.., fresh: {column: loaded_at, within: 26h}}",
        commands=("run",),
    ),
    Setting(
        "on_violation",
        "choice",
        "stop",
        "stop: a row that breaks the contract stops the publish; quarantine: such rows go to <table>__quarantine, and "
        "the others are published",
        ("stop", "quarantine"),
        commands=("run",),
    ),
    Setting(
        "quarantine",
        "quarantine",
        ANY_ROWS,
        "how many rows may go to the quarantine before nothing is published, and how long they are kept, such as "
        "{limit: 1%, keep: 30d}",
        commands=("run",),
    ),
    Setting(
        "overflow",
        "choice",
        "",
        "what happens to casts and arithmetic that may lose a value with ANSI off; count: footers or a count decide, "
        "else they are unproved; warn: a warning; off: not looked for. Not given: decided where that costs little or a "
        "contract promises the column",
        ("count", "warn", "off"),
    ),
    Setting(
        "append_only",
        "column",
        "",
        "a column of an incremental model whose values grow with each load of its source; with it, planproof proves "
        "that an incremental run makes the table that a full refresh would, or says what the proof lacks",
    ),
    Setting("keep_rejected", "flag", False, "keeps the staged rows of a model that was stopped", commands=("run",)),
    Setting(
        "samples",
        "choice",
        "none",
        "what a report shows of the rows that break a promise; none: only the query that finds them; keys: up to five "
        "of their keys; rows: up to five rows",
        ("none", "keys", "rows"),
        commands=("run", "audit"),
    ),
    Setting(
        "tests",
        "choice",
        "after",
        "when a model's data tests run; after: where dbt runs them; answered: the same, but a test that plan or files "
        "decide runs no query; before: over the staged rows, where a failure stops the publish",
        ("after", "answered", "before"),
        commands=("run",),
    ),
    Setting(
        "on_internal_error",
        "choice",
        "fail",
        "what happens in a dbt build when planproof itself fails; fail: the model is stopped; pass: it is left to dbt",
        ("fail", "pass"),
        commands=(),
    ),
    Setting(
        "spark",
        "spark",
        "",
        "the version of Spark whose rules an offline check follows, such as 3.5, or databricks-16.4 for a Databricks "
        "Runtime; without it the version that `planproof freeze` saw, else the newest",
        commands=("check",),
    ),
)
"""Every setting, in the order in which all doors show them."""

BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one model, such as `Settings(fail_on="unproved")`. docs/settings.md describes each."""

    guard: str = "on"
    fail_on: str = "violated"
    enforce: tuple[str, ...] = ENFORCEABLE
    allow: tuple[str, ...] = ()
    planning: str = "warn"
    unproved: str = "count"
    rewrite: str = "on"
    batches: str = "sample"
    changes: str = "values"
    limits: Limits = NO_LIMITS
    on_violation: str = "stop"
    quarantine: Quarantine = ANY_ROWS
    overflow: str = ""
    append_only: str = ""
    keep_rejected: bool = False
    samples: str = "none"
    tests: str = "after"
    on_internal_error: str = "fail"
    spark: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str = "planproof") -> Settings:
        """Settings from untrusted keys and values; `where` names their place in an error. Raises `SettingsError`."""
        return cls(**check_settings(given, where))

    @property
    def unenforced(self) -> tuple[str, ...]:
        """The terms that `enforce` leaves out. The order is none of them: dbt binds columns by name."""
        return tuple(term for term in ENFORCEABLE if term not in (*self.enforce, "order"))

    @property
    def in_force(self) -> Settings:
        """The settings by which a model is judged: no finding and no error of planproof's own stops one that is only
        watched, and none of its rows is quarantined."""
        if self.guard != "watch":
            return self
        return evolve(self, fail_on="never", on_violation="stop", on_internal_error="pass")


def check_settings(given: Mapping[str, Any], where: str = "planproof") -> dict[str, Any]:
    """The given keys alone, each with the value that `Settings` holds for it. Raises `SettingsError`."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        setting = BY_NAME.get(key)
        if setting is None:
            known = tuple(BY_NAME)
            raise SettingsError(
                f"{where}: unknown key {key!r}{_find_nearest(str(key), known)}; known: {', '.join(known)}"
            )
        found[key] = setting.check_value(value, f"{where}.{key}")
    return found


def _check_spark(value: Any, where: str) -> str:
    # YAML reads a bare 3.5 as a number.
    text = str(value) if isinstance(value, (str, float)) and not isinstance(value, bool) else ""
    try:
        return spark_version(text)
    except UnknownSpark as error:
        raise SettingsError(
            f"{where}: {value!r} is no version of Spark that planproof knows: {', '.join(SPARKS)}"
        ) from error


def _check_mapping(form: type[Limits] | type[Quarantine], value: Any, where: str) -> Limits | Quarantine:
    try:
        return value if isinstance(value, form) else form.of(value, where)
    except (LimitError, QuarantineError) as error:
        raise SettingsError(str(error)) from error


def _find_nearest(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
