"""The session settings that change what a query means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

from planproof_engine.zone import is_region, system_zone

_TRUE = {"true": True, "false": False}

SPARKS = ("3.5", "4.0", "4.1", "4.2", "4.3")
"""The versions of Spark that planproof knows, oldest first."""

RELEASES = {"3.5": "3.5.9", "4.0": "4.0.5", "4.1": "4.1.4", "4.2": "4.2.1", "4.3": "4.3.0"}
"""The release of each version whose answers planproof's rules for that version are tested against."""

RUNTIMES = {"14": "3.5", "15": "3.5", "16": "3.5", "17": "4.0", "18": "4.1"}
"""The Spark of which each Databricks Runtime is made, by its major version. Source: Databricks' page "Databricks
Runtime release notes versions and compatibility" (14.3, 15.4: 3.5.0; 16.4: 3.5.2; 17.3: 4.0.0; 18: 4.1.0)."""
_RUNTIME = re.compile(r"databricks[- ](\d+)(?:\.\d+)*", re.IGNORECASE)


class UnknownSpark(ValueError):
    """A version of Spark that planproof does not know; the message says which it does."""


def spark_version(given: str) -> str:
    """The minor version of a release: `3.5` of `3.5.9`; of a Databricks Runtime that of its Spark. Raises
    `UnknownSpark`.

    >>> spark_version("4.1.0.dev1"), spark_version("databricks-16.4")
    ('4.1', '3.5')
    """
    runtime = _RUNTIME.fullmatch(given.strip())
    version = RUNTIMES.get(runtime[1], "") if runtime else ".".join(given.strip().split(".")[:2])
    if version not in SPARKS:
        known = f"{', '.join(SPARKS)} and databricks-{min(RUNTIMES)} to databricks-{max(RUNTIMES)}"
        raise UnknownSpark(f"Spark {given!r} is not known; planproof knows {known}")
    return version


def _is_older(version: str, than: str) -> bool:
    return SPARKS.index(version) < SPARKS.index(than)


@cache
def _is_zone(name: str) -> bool:
    """Whether a region's name is a time zone. Anything that does not look like a region's name is left for Spark to
    judge."""
    if "/" not in name:
        return bool(name.strip())
    # Some machines have no zones for Python, or lack the older names, which Java has: there nothing is refused.
    return is_region(name) or name.startswith("SystemV/") or not is_region("US/Pacific")


def _setting(
    key: str,
    default: bool | str | Callable[[], str],
    *,
    until: tuple[str, bool | str] | None = None,
    since: tuple[str, bool] | None = None,
) -> Any:
    """A field that Spark's setting of that name sets.

    `until`: the version that changed its default, and the default before. `since`: the version that brought it, and the
    value by which a Spark without it behaves.
    """
    given: dict[str, Any] = {"default_factory": default} if callable(default) else {"default": default}
    return field(**given, metadata={"key": key, "until": until, "since": since})


@dataclass(frozen=True, slots=True)
class Conf:
    """Settings of one Spark session, with Spark 4.3's defaults, and the machine's time zone as Spark takes it.
    `ansi=False` is how dbt-spark runs.

    `spark` is the version that runs, whose patch number is dropped (`3.5.9` is `3.5`). It says what a query means, and
    how a Spark behaves that lacks some of the settings. The defaults of an older version are `Conf.of("3.5")`. Raises
    `UnknownSpark`, and ValueError for a region that is no time zone.
    """

    ansi: bool = _setting("spark.sql.ansi.enabled", True, until=("4.0", False))
    time_zone: str = _setting("spark.sql.session.timeZone", system_zone)
    timestamp_type: str = _setting("spark.sql.timestampType", "TIMESTAMP_LTZ")
    case_sensitive: bool = _setting("spark.sql.caseSensitive", False)
    size_of_null: bool = _setting("spark.sql.legacy.sizeOfNull", True)
    allow_precision_loss: bool = _setting("spark.sql.decimalOperations.allowPrecisionLoss", True)
    preserve_char_varchar: bool = _setting("spark.sql.preserveCharVarcharTypeInfo", False, since=("4.0", False))
    literal_pick_minimum_precision: bool = _setting("spark.sql.legacy.literal.pickMinimumPrecision", True)
    escaped_string_literals: bool = _setting("spark.sql.parser.escapedStringLiterals", False)
    group_by_aliases: bool = _setting("spark.sql.groupByAliases", True)
    double_quoted_identifiers: bool = _setting("spark.sql.ansi.doubleQuotedIdentifiers", False)
    enforce_reserved_keywords: bool = _setting("spark.sql.ansi.enforceReservedKeywords", False)
    concat_binary_as_string: bool = _setting("spark.sql.function.concatBinaryAsString", False)
    elt_output_as_string: bool = _setting("spark.sql.function.eltOutputAsString", False)
    legacy_interval: bool = _setting("spark.sql.legacy.interval.enabled", False)
    regex_column_names: bool = _setting("spark.sql.parser.quotedRegexColumnNames", False)
    lateral_column_alias: bool = _setting("spark.sql.lateralColumnAlias.enableImplicitResolution", True)
    order_by_ordinal: bool = _setting("spark.sql.orderByOrdinal", True)
    group_by_ordinal: bool = _setting("spark.sql.groupByOrdinal", True)
    having_as_where: bool = _setting("spark.sql.legacy.parser.havingWithoutGroupByAsWhere", False)
    ordinals_first: bool = _setting("spark.sql.prioritizeOrdinalResolutionInSort.enabled", True, since=("4.1", False))
    time_type: bool = _setting("spark.sql.timeType.enabled", False, since=("4.1", False))
    timestamp_nanos: bool = _setting("spark.sql.timestampNanosTypes.enabled", False, since=("4.3", False))
    geospatial: bool = _setting("spark.sql.geospatial.enabled", True, until=("4.2", False), since=("4.1", False))
    python_logging: bool = _setting("spark.sql.pyspark.worker.logging.enabled", False, since=("4.1", False))
    three_valued_exists: bool = _setting("spark.sql.legacy.followThreeValuedLogicInArrayExists", True)
    legacy_identifier_clause: bool = _setting("spark.sql.legacy.identifierClause", False, since=("4.1", True))
    bang_equals_not: bool = _setting("spark.sql.legacy.bangEqualsNot", False, since=("4.0", True))
    cte_precedence: str = _setting("spark.sql.legacy.ctePrecedencePolicy", "CORRECTED", until=("4.0", "EXCEPTION"))
    parameterless_count: bool = _setting("spark.sql.legacy.allowParameterlessCount", False)
    count_of_table_star: bool = _setting("spark.sql.legacy.allowStarWithSingleTableIdentifierInCount", False)
    legacy_raise_error: bool = _setting("spark.sql.legacy.raiseErrorWithoutErrorClass", False, since=("4.0", False))
    integer_grouping_id: bool = _setting("spark.sql.legacy.integerGroupingId", False)
    exponent_as_decimal: bool = _setting("spark.sql.legacy.exponentLiteralAsDecimal.enabled", False)
    empty_collections_of_strings: bool = _setting("spark.sql.legacy.createEmptyCollectionUsingStringType", False)
    brackets_around_complex_texts: bool = _setting("spark.sql.legacy.castComplexTypesToString.enabled", False)
    retain_scale: bool = _setting(
        "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate", False, since=("4.0", False)
    )
    set_operations_alike: bool = _setting("spark.sql.legacy.setopsPrecedence.enabled", False)
    consecutive_literals: bool = _setting(
        "spark.sql.legacy.consecutiveStringLiterals.enabled", False, since=("4.1", False)
    )
    create_table_provider: str = "parquet"
    spark: str = SPARKS[-1]
    databricks: bool = False
    """Whether the query is Databricks': by `spark`'s rules, but for what Databricks adds to that Spark."""
    stated: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The settings that were set by name: they hold on every version."""
    unfollowed: frozenset[tuple[str, str]] = frozenset()
    """Settings of `UNFOLLOWED` with a value other than Spark's default: what a query means under them is not known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spark", spark_version(self.spark))
        # A zone that a session has set is not checked: Spark knows zones that Python does not.
        if "time_zone" not in self.stated and not _is_zone(self.time_zone):
            raise ValueError(
                f"time_zone: {self.time_zone!r} is no time zone; give a region such as 'Europe/Berlin', an offset such "
                "as '+01:00', or 'UTC'"
            )
        for name, (since, value) in _ABSENT.items():
            if _is_older(self.spark, since):
                object.__setattr__(self, name, value)

    @classmethod
    def of(cls, spark: str, settings: Mapping[str, str] | None = None) -> Conf:
        """The defaults of a version of Spark, or of a Databricks Runtime, then `settings`. Raises `UnknownSpark`.

        >>> Conf.of("3.5.9").ansi, Conf.of("4.0").ansi, Conf.of("databricks-17.3").databricks
        (False, True, True)
        """
        version = spark_version(spark)
        is_runtime = _RUNTIME.fullmatch(spark.strip()) is not None
        older: dict[str, Any] = {n: value for n, (until, value) in _OLDER_DEFAULTS.items() if _is_older(version, until)}
        return cls(spark=version, databricks=is_runtime, **older).with_settings(settings or {})

    def on(self, spark: str) -> Conf:
        """The same settings on another version of Spark: what was set by name stays, and the rest gets that version's
        defaults.

        Raises `UnknownSpark`.

        >>> Conf().on("3.5").ansi, Conf.of("4.3", {"spark.sql.ansi.enabled": "true"}).on("3.5").ansi
        (False, True)
        """
        own, other = Conf.of(self.spark), Conf.of(spark)
        names = [f.name for f in fields(self) if f.name not in ("spark", "stated")]
        kept: dict[str, Any] = {
            name: getattr(self, name)
            for name in names
            if name in self.stated or getattr(self, name) != getattr(own, name)
        }
        return replace(other, stated=self.stated, **kept)

    def before(self, version: str) -> bool:
        """Whether the Spark is older than `version`, one of `SPARKS`."""
        return _is_older(self.spark, version)

    @property
    def grammar(self) -> str:
        """The version whose words and functions are read. Databricks has had QUALIFY, `::` and others for years when
        Spark gets them."""
        return SPARKS[-1] if self.databricks else self.spark

    @property
    def keeps_scale(self) -> bool:
        """Whether the common type of two decimals that is wider than 38 digits keeps its scale, and loses whole
        digits: before Spark 4.0, and where a setting says so."""
        return self.retain_scale or self.before("4.0")

    @property
    def without_ansi(self) -> Conf:
        """The same settings with ANSI mode off: some rules of Spark ask for it whatever the session says."""
        return replace(self, ansi=False) if self.ansi else self

    def name_key(self, name: str) -> str:
        """By what names are compared."""
        return name if self.case_sensitive else name.lower()

    def with_setting(self, key: str, value: str) -> Conf:
        """The conf after `SET key=value`; a key that changes no schema leaves it as it is."""
        name = _FIELDS.get(key.lower())
        if name is None:
            return self._with_unfollowed(key, value.strip())
        current = getattr(self, name)
        parsed: Any = _TRUE.get(value.strip().lower(), current) if isinstance(current, bool) else value.strip()
        changed: dict[str, Any] = {name: parsed, "stated": self.stated | {name}}
        return replace(self, **changed)

    def _with_unfollowed(self, key: str, value: str | None) -> Conf:
        default = _UNFOLLOWED.get(key.lower())
        if default is None:
            return self
        rest = frozenset((k, v) for k, v in self.unfollowed if k.lower() != key.lower())
        is_default = value is None or value.lower() == default.lower()
        return replace(self, unfollowed=rest if is_default else rest | {(key, value or "")})

    def reset(self, key: str) -> Conf:
        """The conf after `RESET key`."""
        name = _FIELDS.get(key.lower())
        if name is None:
            return self._with_unfollowed(key, None)
        changed: dict[str, Any] = {name: getattr(Conf.of(self.spark), name), "stated": self.stated - {name}}
        return replace(self, **changed)

    def with_settings(self, settings: Mapping[str, str]) -> Conf:
        conf = self
        for key, value in settings.items():
            conf = conf.with_setting(key, value)
        return conf


_OF_SPARK = [f for f in fields(Conf) if "key" in f.metadata]
SETTINGS: dict[str, str] = {f.metadata["key"]: f.name for f in _OF_SPARK}
"""By Spark's name for a setting, in Spark's own spelling: the field of `Conf` that it sets. A session answers to that
spelling only."""
_OLDER_DEFAULTS: dict[str, tuple[str, bool | str]] = {f.name: u for f in _OF_SPARK if (u := f.metadata["until"])}
_ABSENT: dict[str, tuple[str, bool]] = {f.name: since for f in _OF_SPARK if (since := f.metadata["since"])}

UNFOLLOWED = {
    "spark.sql.analyzer.allowSubqueryExpressionsInLambdasOrHigherOrderFunctions": "false",
    "spark.sql.analyzer.preferColumnOverLcaInArrayIndex": "true",
    "spark.sql.analyzer.singlePassResolver.enabled": "false",
    "spark.sql.analyzer.singlePassResolver.enabledTentatively": "false",
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.binByRelationOperator.enabled": "false",
    "spark.sql.collation.allowInMapKeys": "false",
    "spark.sql.collation.schemaLevel.enabled": "false",
    "spark.sql.enforceTypeCoercionBeforeUnionDeduplication.enabled": "true",
    "spark.sql.legacy.allowHashOnMapType": "false",
    "spark.sql.legacy.allowNegativeScaleOfDecimal": "false",
    "spark.sql.legacy.allowNullComparisonResultInArraySort": "false",
    "spark.sql.legacy.allowUdfParameterToShadowParameterlessFunction": "false",
    "spark.sql.legacy.allowZeroIndexInFormatString": "false",
    "spark.sql.legacy.collationAwareHashFunctions": "false",
    "spark.sql.legacy.cteDuplicateAttributeNames": "false",
    "spark.sql.legacy.fromDayTimeString.enabled": "false",
    "spark.sql.legacy.histogramNumericPropagateInputType": "true",
    "spark.sql.legacy.inSubqueryNullability": "false",
    "spark.sql.legacy.lpadRpadAlwaysReturnString": "false",
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "false",
    "spark.sql.legacy.persistentCatalogFirst": "false",
    "spark.sql.legacy.scalarSubqueryAllowGroupByNonEqualityCorrelatedPredicate": "false",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "false",
    "spark.sql.parser.eagerEvalOfUnresolvedInlineTable": "true",
    "spark.sql.runCollationTypeCastsBeforeAliasAssignment.enabled": "true",
    "spark.sql.stableDerivedColumnAlias.enabled": "false",
    "spark.sql.tvf.allowMultipleTableArguments.enabled": "false",
}
"""Settings that decide which queries Spark takes, or which types and names it gives, and that `Conf` does not follow,
with the default by which it plans: under another value every plan is `Unknown`.

Source: `SQLConf`, the settings that the parser, the analyzer and the expressions ask for.
"""

_FIELDS = {key.lower(): name for key, name in SETTINGS.items()}
_UNFOLLOWED = {key.lower(): default for key, default in UNFOLLOWED.items()}


def holds(key: str) -> bool:
    """Whether `Conf` looks at the setting; the key in any case, as SET takes it."""
    return key.lower() in _FIELDS or key.lower() in _UNFOLLOWED
