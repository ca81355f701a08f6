"""Swaps dbt's Spark adapter for the guarded one, if everything is there that the guard relies on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from dbt_planproof import absence, log, relied
from dbt_planproof.command_line import read_profile_type

TESTED = {"dbt-core": ("1.10", "1.11", "1.12"), "dbt-spark": ("1.10", "1.11")}
"""Releases (major.minor) with which the tests have passed."""

_plain: list[tuple[Any, Any]] = []
_hooked: list[Callable[[], None]] = []


def choose_adapter() -> None:
    """Decides for this invocation: the guarded adapter, or dbt's own, and why that is said.

    Raises `absence.Unguarded` where dbt would write on Spark without the guard that was asked for.
    """
    remove()
    if absence.is_switched_off():
        _let_pass()
        return
    kind = read_profile_type()
    if kind is not None and kind != "spark":
        if "dbt.adapters.spark" in sys.modules and _builds_on_spark(kind):
            absence.warn(
                f"planproof does not guard this run: it guards dbt's adapter spark, and the profile's is {kind}"
            )
        return
    # A dbt that does not tell the profile's type, and has not loaded its adapter: only dbt-spark's can be guarded.
    if kind is None and "dbt.adapters.spark" not in sys.modules and find_spec("dbt.adapters.spark") is None:
        return
    lacking = relied.find_missing()
    if not lacking:
        try:
            _swap_guarded()
        except Exception as error:
            lacking = [f"the guarded adapter cannot be made: {type(error).__name__}: {error}"]
    if lacking:
        remove()
        absence.refuse_or_warn([*lacking, f"installed: {', '.join(_list_installed())}"])
    elif beyond := describe_untested():
        log.warn_once(f"planproof guards this run with releases that it was not tested with: {beyond}")


def describe_untested() -> str | None:
    """What is installed beside the tested releases, as a text; None where all are tested."""
    beside = []
    for package, releases in TESTED.items():
        found = _find_version(package)
        release = ".".join(found.split(".")[:2])
        if release not in releases:
            age = "newer" if _order_of(release) > _order_of(releases[-1]) else "older"
            beside.append(f"{package} {found}, {age} than the tested {', '.join(releases)}")
    return "; ".join(beside) or None


def remove() -> None:
    """Gives dbt its own adapter back."""
    while _hooked:
        _hooked.pop()()
    while _plain:
        plugin, plain = _plain.pop()
        plugin.adapter = plain


def _let_pass() -> None:
    """Under `PLANPROOF=off` a project that insists on the guard runs without it, and says so: dbt's adapter stays as it
    is, but for the method by which the project insists."""
    if "dbt.adapters.spark" in sys.modules:
        try:
            _swap(_make_unguarded)
        except Exception:  # dbt is to be as if planproof were absent.
            remove()


def _make_unguarded(plain: type) -> type:
    from dbt.adapters.base.meta import available

    def planproof_guards(adapter: Any) -> str:
        absence.warn("planproof does not guard this run: PLANPROOF=off switches it off")
        return ""

    own = {"__module__": plain.__module__, "__qualname__": plain.__qualname__}
    shown = available.parse(lambda *given: "")(planproof_guards)
    return type(plain)(plain.__name__, (plain,), {**own, "planproof_guards": shown})


def _swap_guarded() -> None:
    from dbt_planproof.adapter import make_guarded

    _swap(make_guarded)
    if not relied.find_missing(relied.OF_TESTS):
        from dbt_planproof import runners

        _hooked.extend(runners.swap())


def _swap(made_of: Callable[[type], type]) -> None:
    import dbt.adapters.spark as spark
    from dbt.adapters.factory import FACTORY

    plain = spark.Plugin.adapter
    spark.Plugin.adapter = made_of(plain)
    _plain.append((spark.Plugin, plain))
    if FACTORY.get_adapter_class_by_name("spark") is not spark.Plugin.adapter:
        raise RuntimeError("dbt does not use the adapter class that planproof put in the place of its own")


def _builds_on_spark(kind: str) -> bool:
    """Whether the adapter of that type is made of dbt-spark's: its models go to a Spark, past the guard."""
    from dbt.adapters.factory import FACTORY

    plugin = FACTORY.plugins.get(kind)
    return plugin is not None and "spark" in (plugin.dependencies or ())


def _list_installed() -> list[str]:
    return [f"{package} {_find_version(package)}" for package in (*TESTED, "dbt-adapters", "planproof")]


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _order_of(release: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in release.split("."))
