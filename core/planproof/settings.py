"""What a user may configure, per project, folder, model, operator argument or CLI option: one table for all doors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planproof.limits import LimitError, Limits
from planproof.quarantine import Quarantine, QuarantineError
from planproof_engine.conf import SPARKS, UnknownSpark, spark_version
from planproof_engine.finding import CODES
from planproof_engine.records import record

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
        "whether a model is published only when its contract holds (on); is published all the same, and a warning says "
        "what would have stopped it (watch); or is left to dbt as if planproof were absent (off): dbt may drop the "
        "table, and then fail",
        ("on", "watch", "off"),
    ),
    Setting(
        "fail_on",
        "choice",
        "violated",
        "the least verdict that fails: the exit code, the dbt node or the task",
        ("violated", "unproved", "warning", "never"),
    ),
    Setting("enforce", "names", ENFORCEABLE, "the terms of a contract that count", ENFORCEABLE),
    Setting("allow", "names", (), "codes of findings that are accepted, such as PP101"),
    Setting(
        "planning",
        "choice",
        "warn",
        "what becomes of a difference between planproof's plan and Spark's: a warning (warn), or a violation (strict)",
        ("warn", "strict"),
    ),
    Setting(
        "unproved",
        "choice",
        "count",
        "what becomes of a declared term that is still unproved after the audit: a violation (count), or it stays "
        "unproved (allow)",
        ("count", "allow"),
    ),
    Setting(
        "rewrite",
        "choice",
        "on",
        "whether rewritten SQL runs in place of the compiled text (on), is only reported (suggest), or is not looked "
        "for (off); inside dbt the default is suggest",
        ("off", "suggest", "on"),
    ),
    Setting(
        "batches",
        "choice",
        "sample",
        "how many of the written row groups are decoded and validated",
        ("off", "sample", "all"),
        commands=("run", "audit"),
    ),
    Setting(
        "changes",
        "choice",
        "values",
        "what a publish says of how it changes the table: rows, nulls and each column's least and greatest value "
        "(values), the same without those values (counts), or nothing (off)",
        ("off", "counts", "values"),
        commands=("run",),
    ),
    Setting(
        "limits",
        "limits",
        NO_LIMITS,
        "what a publish may make of the table, such as {rows: {min: 1, change: -20%..+50%}, nulls: {amount: 1%}, "
        "partition_rows: -20%.., fresh: {column: loaded_at, within: 26h}}; one that is broken stops it",
        commands=("run",),
    ),
    Setting(
        "on_violation",
        "choice",
        "stop",
        "what becomes of rows that break a term of the contract: nothing is published (stop), or they are quarantined "
        "in <table>__quarantine and the others are published (quarantine)",
        ("stop", "quarantine"),
        commands=("run",),
    ),
    Setting(
        "quarantine",
        "quarantine",
        ANY_ROWS,
        "how many rows may be quarantined, above which nothing is published, and for how long they are kept, such as "
        "{limit: 1%, keep: 30d}",
        commands=("run",),
    ),
    Setting(
        "overflow",
        "choice",
        "",
        "what becomes of casts and arithmetic that may lose a value with ANSI off: decided by footers and counts, else "
        "unproved (count); a warning (warn); or not looked for (off). Without it they are decided where that costs "
        "little or a contract promises the column",
        ("count", "warn", "off"),
    ),
    Setting(
        "append_only",
        "column",
        "",
        "a column of an incremental model in which each load of its source brings greater values than all loads "
        "before: with it, planproof proves that an incremental run makes what a full refresh would, or says what the "
        "proof lacks",
    ),
    Setting("keep_rejected", "flag", False, "keeps the staged data of a model that was rejected", commands=("run",)),
    Setting(
        "samples",
        "choice",
        "none",
        "what a report shows of the rows that break a promise: up to five of their keys (keys), up to five rows "
        "(rows), or only the query that shows them (none)",
        ("none", "keys", "rows"),
        commands=("run", "audit"),
    ),
    Setting(
        "tests",
        "choice",
        "after",
        "when the data tests of a model run: where dbt runs them (after); there, but without a query of their own "
        "where plan or files decide (answered); or over the staged rows, where a failure stops the publish (before)",
        ("after", "answered", "before"),
        commands=("run",),
    ),
    Setting(
        "on_internal_error",
        "choice",
        "fail",
        "what an internal error of planproof does to a dbt build: stops the model (fail), or leaves it to dbt (pass)",
        ("fail", "pass"),
        commands=(),
    ),
    Setting(
        "spark",
        "spark",
        "",
        "the version of Spark for which an offline check answers, such as 3.5, or databricks-16.4 for that of a "
        "Databricks Runtime; without it the one that `planproof freeze` saw, else the newest that planproof knows",
        commands=("check",),
    ),
)
"""Every setting, in the order in which all doors show them."""

BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one model, as `SETTINGS` describes them."""

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
        watched, and no row of it is set aside."""
        if self.guard != "watch":
            return self
        return replace(self, fail_on="never", on_violation="stop", on_internal_error="pass")


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
